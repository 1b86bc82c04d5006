//! Recognising a format from the first kilobytes of an input.

use super::{Format, Head, Sure, document::is_document, formats};

/// The format of documents that quote outputs.
const QUOTED: &str = "quoted";

/// The format that is surest that `head` is its own; of equals the first in the list. None when
/// no format claims it.
pub fn detect(head: &Head<'_>) -> Option<&'static Format> {
    if is_document(head.text) {
        return of_document(head);
    }
    surest(head, formats()).map(|(_, format)| format)
}

/// All formats that claim `head`, the surest first. A document that quotes what tools print is no tool's own, and a source is
/// of no format.
pub fn detect_all(head: &Head<'_>) -> Vec<(Sure, &'static Format)> {
    if is_document(head.text) {
        return of_document(head).map(|format| (Sure::Certain, format)).into_iter().collect();
    }
    let mut claims: Vec<_> = formats().map(|f| ((f.sniff)(head), f)).filter(|(sure, _)| *sure > Sure::No).collect();
    // Stable: of equals the earlier in the list stays first.
    claims.sort_by_key(|(sure, _)| std::cmp::Reverse(*sure));
    claims
}

/// The format that reads a document that begins so, if it quotes an output.
pub(crate) fn of_document(head: &Head<'_>) -> Option<&'static Format> {
    format(QUOTED).filter(|quoted| (quoted.sniff)(head) == Sure::Certain)
}

/// The first of those that are surest of what is no document. No format is asked after one that is certain: the others would have
/// to be surer.
pub(crate) fn surest(head: &Head<'_>, asked: impl Iterator<Item = &'static Format>) -> Option<(Sure, &'static Format)> {
    let mut best: Option<(Sure, &'static Format)> = None;
    for format in asked {
        let sure = (format.sniff)(head);
        // Of equals the first in the list.
        if sure > best.map_or(Sure::No, |(best, _)| best) {
            best = Some((sure, format));
        }
        if sure == Sure::Certain {
            break;
        }
    }
    best
}

/// The format called `name`.
pub fn format(name: &str) -> Option<&'static Format> {
    formats().find(|f| f.name == name)
}
