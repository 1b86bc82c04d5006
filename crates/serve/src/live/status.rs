//! `GET /api/v1/status`: recordings in progress.

use axum::{extract::State, http::StatusCode, response::Response};
use fenxi_model::RunId;
use fenxi_report::api::ApiError;
use fenxi_store::Recorded;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    app::Shared,
    change::blocking,
    reply::{Failure, json_reply},
};

/// Where it is given.
pub(crate) const PATH: &str = "/api/v1/status";

/// What is being recorded.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Status {
    /// Name of this machine.
    machine: String,
    /// Recordings in progress, the latest first.
    recordings: Vec<Recording>,
}

#[derive(JsonSchema, Serialize)]
struct Recording {
    #[schemars(with = "String")]
    id: RunId,
    name: String,
    /// Milliseconds since the epoch, UTC.
    start_ms: f64,
    /// Tables that have rows so far.
    tables: Vec<&'static str>,
}

/// Recordings that go on, the latest first, and the name of this machine.
pub(crate) async fn get(State(shared): State<Shared>) -> Result<Response, Failure> {
    let store = shared.settings.store.clone();
    let recordings = blocking(move || Ok(store.recordings()?)).await?;
    let recording = |r: Recorded| Recording {
        name: r.begin.name.filter(|name| !name.is_empty()).unwrap_or_else(|| r.id.to_string()),
        id: r.id,
        start_ms: r.begin.start.0 as f64 / 1e3,
        tables: r.tables,
    };
    let recordings = recordings.into_iter().map(recording).collect();
    let status = Status { machine: shared.settings.host.clone(), recordings };
    Ok(json_reply(StatusCode::OK, serde_json::to_string(&status).map_err(ApiError::from)?))
}
