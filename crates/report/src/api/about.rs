//! `/api/v1/about`: what answers here.

use serde_json::json;

use super::{ApiError, Context, Endpoint, Query, Reply};

pub(super) const ABOUT: Endpoint = Endpoint {
    path: "/api/v1/about",
    about: "The program and its version, and whether the store may be changed from here.",
    params: &[],
    answer,
};

fn answer(context: &Context<'_>, _: &Query) -> Result<Reply, ApiError> {
    Reply::json(&json!({ "program": "fenxi", "version": env!("CARGO_PKG_VERSION"), "read_only": context.read_only }))
}
