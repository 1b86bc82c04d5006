//! Output of a tool: text or a picture, or why there is neither.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use fenxi_api::ApiError;
use serde_json::{Value, json};

/// Output of a tool.
#[derive(Clone, Debug)]
pub(crate) enum ToolOutput {
    /// JSON as text.
    Text(String),
    /// A picture, and in a sentence what it shows.
    Picture { mime: &'static str, bytes: Vec<u8>, caption: String },
}

impl ToolOutput {
    /// `value` as text.
    pub(crate) fn json(value: &Value) -> ToolOutput {
        ToolOutput::Text(value.to_string())
    }

    /// The content of an answer to `tools/call`; more than `most` bytes are none.
    pub(crate) fn content(self, most: usize) -> Result<Value, ApiError> {
        match self {
            ToolOutput::Text(text) if text.len() > most => Err(ApiError::Wrong(format!(
                "the answer has {} bytes, and at most {most} are given: ask for fewer rows (`limit`), fewer runs, a shorter \
                 time range, or for an aggregate",
                text.len()
            ))),
            ToolOutput::Text(text) => Ok(json!({ "content": [{ "type": "text", "text": text }] })),
            ToolOutput::Picture { mime, bytes, caption } => Ok(json!({ "content": [
                { "type": "image", "data": STANDARD.encode(bytes), "mimeType": mime },
                { "type": "text", "text": caption },
            ] })),
        }
    }
}

/// An error as the tool's answer: who asked can read it and ask again.
pub(crate) fn failure(error: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": error }], "isError": true })
}
