//! `/api/v1/about`: version and capabilities.

use serde_json::json;

use super::{ApiError, Context, Endpoint, Query, Reply};

pub(super) const ABOUT: Endpoint = Endpoint {
    path: "/api/v1/about",
    about: "Program, version, whether the store is writable through this server, and how statements are confined.",
    params: &[],
    answer,
};

fn answer(context: &Context<'_>, _: &Query) -> Result<Reply, ApiError> {
    // Where no process can be had, statements say why.
    let confined = context.engine.confined().unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    let about = json!({ "program": "fenxi", "version": version, "read_only": context.read_only, "confined": confined });
    Reply::json(&about)
}
