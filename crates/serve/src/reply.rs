//! Responses: JSON and errors, in one shape everywhere.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use fenxi_api::ApiError;
use fenxi_store::StoreError;
use serde_json::json;

use crate::{pool::Refused, rights::Denied};

/// How long who is turned away should wait.
const RETRY_AFTER_S: &str = "2";

/// A reply with an error: `{"error": "…"}`.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    text: String,
    /// Names like the one that was asked for, where there is none of it.
    near: Vec<String>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Failure {
        Failure { status, text: text.into(), near: Vec::new() }
    }

    /// The message.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn wrong(text: impl Into<String>) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, text)
    }

    /// The server ends and begins nothing more.
    pub(crate) fn ending() -> Failure {
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the server is ending")
    }

    /// There is no place for it at the moment.
    pub(crate) fn busy() -> Failure {
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests wait already; try again soon")
    }

    /// It waited for a place, which all are taken `by` others.
    pub(crate) fn waited(by: &str, time: Duration) -> Failure {
        let text = format!("{by} take all places; this one waited {:.0} s for one; try again soon", time.as_secs_f64());
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, text)
    }

    pub(crate) fn unknown(text: impl Into<String>) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, text)
    }

    pub(crate) fn forbidden(text: impl Into<String>) -> Failure {
        Failure::new(StatusCode::FORBIDDEN, text)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut told = json!({ "error": self.text });
        if !self.near.is_empty() {
            told["near"] = self.near.into();
        }
        let mut response = json_reply(self.status, told.to_string());
        let waits = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS].contains(&self.status);
        if waits {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
        }
        response
    }
}

impl From<Denied> for Failure {
    fn from(Denied(text): Denied) -> Failure {
        Failure::forbidden(text)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        match refused {
            Refused::Busy => Failure::busy(),
            Refused::TooLong(limit) => Failure::new(
                StatusCode::REQUEST_TIMEOUT,
                format!(
                    "stopped: an answer may take {} s, set with `fenxi serve --time-limit`; ask for less, as fewer runs",
                    limit.as_secs_f64()
                ),
            ),
            Refused::Api(error) => error.into(),
        }
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Failure {
        let status = match error {
            ApiError::Wrong(_) | ApiError::Crashed(_) => StatusCode::BAD_REQUEST,
            ApiError::Unknown(_) | ApiError::NoRun { .. } => StatusCode::NOT_FOUND,
            ApiError::Interrupted => StatusCode::REQUEST_TIMEOUT,
            ApiError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut failure = Failure::new(status, error.to_string());
        if let ApiError::NoRun { near, .. } = error {
            failure.near = near;
        }
        failure
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let status = match &error {
            StoreError::Unknown { .. } => StatusCode::NOT_FOUND,
            StoreError::Ambiguous { .. } | StoreError::Selector(_) => StatusCode::BAD_REQUEST,
            StoreError::Recording { .. } => StatusCode::CONFLICT,
            StoreError::Filed { .. } => StatusCode::FORBIDDEN,
            StoreError::Busy { .. } => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Failure::new(status, error.to_string())
    }
}

/// JSON that is not cached: the store may change at any moment.
pub(crate) fn json_reply(status: StatusCode, body: impl Into<Body>) -> Response {
    reply(status, "application/json", body)
}

/// A body of a type, not to be kept by caches.
pub(crate) fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let head = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, head, body.into()).into_response()
}
