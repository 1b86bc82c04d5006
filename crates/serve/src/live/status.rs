//! `GET /api/v1/status`: recordings in progress.

use axum::{extract::State, http::StatusCode, response::Response};
use fenxi_store::Recorded;
use serde_json::{Value, json};

use crate::{
    app::Shared,
    change::blocking,
    reply::{Failure, json_reply},
};

/// Where it is given.
pub(crate) const PATH: &str = "/api/v1/status";

/// Recordings that go on, the latest first, and the name of this machine.
pub(crate) async fn get(State(shared): State<Shared>) -> Result<Response, Failure> {
    let store = shared.settings.store.clone();
    let recordings = blocking(move || Ok(store.recordings()?)).await?;
    let recording = |r: &Recorded| -> Value {
        let name = r.begin.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(r.id.as_str());
        json!({ "id": r.id, "name": name, "start_ms": r.begin.start.0 as f64 / 1e3, "tables": r.tables })
    };
    let recordings: Vec<Value> = recordings.iter().map(recording).collect();
    let status = json!({ "machine": shared.settings.host, "recordings": recordings });
    Ok(json_reply(StatusCode::OK, status.to_string()))
}
