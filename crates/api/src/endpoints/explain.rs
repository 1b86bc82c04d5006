//! `/api/v1/explain`: where the time of transactions went.

use fenxi_compare::Explained;

use super::{ApiError, Context, Endpoint, Query, Reply, chosen, schema};

pub(super) const EXPLAIN: Endpoint = Endpoint {
    path: "/api/v1/explain",
    about: "The mean latency of a transaction, or the elapsed time of a command, as parts that add up to it. Each `run` is a \
            group by itself; selectors with commas between them are repeats.",
    params: &[chosen::RUN, chosen::WINDOW],
    changes: false,
    answer,
    schema: schema::of::<Explained>,
};

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let groups: Vec<&str> = query.all("run").collect();
    if groups.is_empty() {
        return Err(ApiError::Wrong("`run` is missing: whose time is asked for".to_owned()));
    }
    Reply::json(&Explained::of(context.engine, groups, chosen::window(query))?)
}
