//! Identifiers of statements where a report gives none.

use std::hash::{Hash, Hasher};

/// An identifier of a statement's text: the same for the same words, whatever stands between them.
pub fn digest_of(statement: &str) -> String {
    let mut hasher = rustc_hash::FxHasher::default();
    for word in statement.split_ascii_whitespace() {
        word.hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}
