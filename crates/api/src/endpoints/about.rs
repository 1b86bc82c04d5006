//! `/api/v1/about`: version and capabilities.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, Context, Endpoint, Query, Reply, schema};

pub(super) const ABOUT: Endpoint = Endpoint {
    path: "/api/v1/about",
    about: "Program, version, whether the store is writable through this server, and how statements are confined.",
    params: &[],
    changes: true,
    answer,
    schema: schema::of::<About>,
};

/// The program and what it allows.
#[derive(JsonSchema, Serialize)]
struct About {
    /// The confinement of statements; empty where no process is available for them.
    confined: Vec<String>,
    program: &'static str,
    read_only: bool,
    version: &'static str,
}

fn answer(context: &Context<'_>, _: &Query) -> Result<Reply, ApiError> {
    // Where no process can be had, statements say why.
    let confined = context.engine.confined().unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    Reply::json(&About { confined, program: "fenxi", read_only: context.read_only, version })
}
