//! `GET /api/v1/status`: recordings in progress, and what can be watched.

use axum::{extract::State, http::StatusCode, response::Response};
use fenxi_source::Source;
use fenxi_store::Recorded;
use serde_json::{Value, json};

use super::sampler::may_be_watched;
use crate::{
    app::Shared,
    change::blocking,
    reply::{Failure, json_reply},
};

/// Where it is given.
pub(crate) const PATH: &str = "/api/v1/status";

/// Recordings that go on, the latest first, the name of this machine, and the sources that can be watched here.
pub(crate) async fn get(State(shared): State<Shared>) -> Result<Response, Failure> {
    let store = shared.settings.store.clone();
    let recordings = blocking(move || Ok(store.recordings()?)).await?;
    let recording = |r: &Recorded| -> Value {
        let name = r.begin.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(r.id.as_str());
        json!({ "id": r.id, "name": name, "start_ms": r.begin.start.0 as f64 / 1e3, "tables": r.tables })
    };
    let recordings: Vec<Value> = recordings.iter().map(recording).collect();
    let allowed = fenxi_record::sources().filter(|source| may_be_watched(&shared, *source).is_ok());
    let source = |source: &'static dyn Source| -> Value {
        json!({ "name": source.spec().name, "summary": source.spec().summary, "live": source.spec().live })
    };
    let sources: Vec<Value> = allowed.map(source).collect();
    let status = json!({ "machine": shared.settings.host, "recordings": recordings, "sources": sources });
    Ok(json_reply(StatusCode::OK, status.to_string()))
}
