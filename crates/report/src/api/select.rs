//! `/api/v1/select`: resolves selectors to runs.

use serde_json::json;

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen};

pub(super) const SELECT: Endpoint = Endpoint {
    path: "/api/v1/select",
    about: "The ids of the runs that a selector names (an id or its beginning, a name, `@1`, `tag=value`; several \
            with commas), newest first.",
    params: &[Param::required("q", "Selector", Kind::Text)],
    answer,
};

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    Reply::json(&json!({ "runs": chosen::named(context.store, query.required("q")?)? }))
}
