//! `/api/v1/select`: resolves selectors to runs.

use fenxi_model::RunId;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen, schema};

pub(super) const SELECT: Endpoint = Endpoint {
    path: "/api/v1/select",
    about: "The ids of the runs that a selector names (an id or its beginning, a name, `@1`, `tag=value`; several \
            with commas), newest first.",
    params: &[Param::required("q", "Selector", Kind::Text)],
    changes: true,
    answer,
    schema: schema::of::<Selected>,
};

/// The runs that a selector names.
#[derive(JsonSchema, Serialize)]
struct Selected {
    /// Ids, newest first.
    #[schemars(with = "Vec<String>")]
    runs: Vec<RunId>,
}

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    Reply::json(&Selected { runs: chosen::named(context.store, query.required("q")?)? })
}
