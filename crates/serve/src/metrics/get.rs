//! The request for metrics.

use axum::{extract::State, http::StatusCode, response::Response};

use crate::{reply::reply, shared::Shared};

/// `GET /metrics`.
pub(crate) async fn get(State(shared): State<Shared>) -> Response {
    let text = shared.metrics.text(shared.pool.load(), shared.settings.limits.engines, shared.house.load());
    reply(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
}
