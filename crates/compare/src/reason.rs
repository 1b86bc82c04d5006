//! Why a comparison is to be believed less, or not at all.

use schemars::JsonSchema;
use serde::Serialize;

/// Something to know before believing a comparison.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Reason {
    /// True if the comparison has no meaning because of it.
    pub refuses: bool,
    /// Reason in words.
    pub text: String,
}
