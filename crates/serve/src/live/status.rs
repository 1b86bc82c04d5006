//! `GET /api/v1/status`: recordings in progress, and what can be watched.

use axum::{http::StatusCode, response::Response};
use fenxi_api::ApiError;
use fenxi_model::RunId;
use fenxi_store::Recorded;
use schemars::JsonSchema;
use serde::Serialize;

use super::sampler::may_be_watched;
use crate::{
    change::blocking,
    reply::{Failure, json_reply},
    rights::Right,
    visit::Visit,
};

/// Where it is given.
pub(crate) const PATH: &str = "/api/v1/status";

/// What is being recorded, and what can be watched.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Status {
    /// Name of this machine.
    machine: String,
    /// Recordings in progress, the latest first.
    recordings: Vec<Recording>,
    /// Sources of this machine that can be watched here.
    sources: Vec<Watched>,
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

/// A source that can be watched.
#[derive(JsonSchema, Serialize)]
struct Watched {
    name: &'static str,
    summary: &'static str,
    /// Whether it is watched unless another one is asked for.
    live: bool,
}

/// Recordings that go on, the latest first, the name of this machine, and the sources that can be watched here.
pub(crate) async fn get(visit: Visit) -> Result<Response, Failure> {
    let asked = visit.clone();
    let recordings = blocking(move || Ok(asked.store()?.recordings()?)).await?;
    let sees_machine = visit.asker.may(Right::SeeAll).is_ok();
    let recording = |r: Recorded| Recording {
        name: r.begin.name.filter(|name| !name.is_empty()).unwrap_or_else(|| r.id.to_string()),
        id: r.id,
        start_ms: r.begin.start.0 as f64 / 1e3,
        tables: r.tables,
    };
    let recordings = recordings.into_iter().map(recording).collect();
    let allowed = fenxi_record::sources().filter(|source| sees_machine && may_be_watched(&visit, *source).is_ok());
    let databases = visit.settings.databases.iter().filter(|_| sees_machine).map(|databases| databases.spec());
    let sources = allowed.map(|source| source.spec()).chain(databases);
    let sources = sources.map(|spec| Watched { name: spec.name, summary: spec.summary, live: spec.live }).collect();
    let status = Status { machine: visit.settings.host.clone(), recordings, sources };
    Ok(json_reply(StatusCode::OK, serde_json::to_string(&status).map_err(ApiError::from)?))
}
