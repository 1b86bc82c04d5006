//! `/api/v1/representative`: the representative run of a group.

use fenxi_compare::{Representative, Room};

use super::{ApiError, Context, Endpoint, Query, Reply, chosen, schema};

pub(super) const REPRESENTATIVE: Endpoint = Endpoint {
    path: "/api/v1/representative",
    about: "The representative run of a group (medoid), the distance of every run from it, and outliers.",
    params: &[chosen::RUN, chosen::WINDOW],
    changes: false,
    answer,
    schema: schema::of::<Representative>,
};

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let runs = chosen::runs(context, query)?;
    Reply::json(&Representative::of(context.store, &runs, chosen::window(query), Room::of(context.engine))?)
}
