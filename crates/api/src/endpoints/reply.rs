//! Serialised responses.

use serde::Serialize;

use super::ApiError;

/// What an endpoint answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What the bytes are, as a header of HTTP says it.
    pub content_type: &'static str,
    /// The answer.
    pub bytes: Vec<u8>,
}

impl Reply {
    /// The type of most answers.
    pub(super) const JSON: &'static str = "application/json";

    /// `value` as JSON.
    ///
    /// # Errors
    /// When it cannot be written as such.
    pub(super) fn json(value: &impl Serialize) -> Result<Reply, ApiError> {
        Ok(Reply { content_type: Reply::JSON, bytes: serde_json::to_vec(value)? })
    }
}
