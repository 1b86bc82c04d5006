//! `/api/v1/representative`: which of several runs stands best for all of them.

use fenxi_compare::Representative;

use super::{ApiError, Context, Endpoint, Query, Reply, chosen};

pub(super) const REPRESENTATIVE: Endpoint = Endpoint {
    path: "/api/v1/representative",
    about: "Which of several runs stands best for all of them, how far each is from it, and which are outliers.",
    params: &[chosen::RUN, chosen::WINDOW],
    answer,
};

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let runs = chosen::runs(context, query)?;
    Reply::json(&Representative::of(context.store, &runs, chosen::window(query))?)
}
