//! Amounts that our own sessions added to counters.

use rustc_hash::FxHashMap;

/// Amounts that our own sessions added to counters, by the text of a row's first column and by the column's origin.
pub type Own = FxHashMap<String, Vec<(String, f64)>>;
