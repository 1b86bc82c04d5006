//! What our own sessions added to counters.

use rustc_hash::FxHashMap;

/// What our own sessions added to counters, by the text of a row's first column and by what fills a column.
pub type Own = FxHashMap<String, Vec<(String, f64)>>;
