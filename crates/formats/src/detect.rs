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

/// The format that is surest that `head` is its own, and how sure; the one called `without` is not asked.
pub(crate) fn detect_without(head: &Head<'_>, without: &str) -> Option<(Sure, &'static Format)> {
    if is_document(head.text) {
        return None;
    }
    let asked = formats().filter(|format| format.name != without);
    let mut best: Option<(Sure, &'static Format)> = None;
    for (sure, format) in asked.map(|format| ((format.sniff)(head), format)) {
        // Of equals the first in the list.
        if sure > best.map_or(Sure::No, |(best, _)| best) {
            best = Some((sure, format));
        }
    }
    best
}

/// The format called `name`.
pub fn format(name: &str) -> Option<&'static Format> {
    formats().find(|f| f.name == name)
}
