//! Recognising a format from the first kilobytes of an input.

use super::{Format, Head, Sure, document::is_document, formats};

/// The format that is surest that `head` is its own; of equals the first in the list. None when
/// nobody claims it.
pub fn detect(head: &Head<'_>) -> Option<&'static Format> {
    detect_all(head).first().map(|(_, format)| *format)
}

/// All formats that claim `head`, the surest first. A document or a source that quotes what tools print is nobody's.
pub fn detect_all(head: &Head<'_>) -> Vec<(Sure, &'static Format)> {
    if is_document(head.text) {
        return Vec::new();
    }
    let mut claims: Vec<_> = formats().map(|f| ((f.sniff)(head), f)).filter(|(sure, _)| *sure > Sure::No).collect();
    // Stable: of equals the earlier in the list stays first.
    claims.sort_by_key(|(sure, _)| std::cmp::Reverse(*sure));
    claims
}

/// The format called `name`.
pub fn format(name: &str) -> Option<&'static Format> {
    formats().find(|f| f.name == name)
}
