//! Answers of shipped questions about one large run, kept beside it: a sealed run never changes, and a page is quick the first time, too.

use std::path::PathBuf;

use fenxi_model::RunId;
use fenxi_query::Question;
use fenxi_store::Store;

use crate::payload::Run;

/// Runs with fewer rows are answered as quickly from their tables.
pub(crate) const LARGE: u64 = 500_000;
/// Changes with what an answer is made of besides the question.
const VERSION: &str = concat!("1 ", env!("CARGO_PKG_VERSION"));

/// How many rows a run has.
pub(crate) fn rows(store: &Store, run: &RunId) -> u64 {
    store.run(run).map_or(0, |entry| entry.manifest.files.iter().map(|file| file.rows).sum())
}

/// Where the answer to `question` about a run is kept; None where it is not worth it, or may become another one. `wish` tells
/// how much of it was asked for.
pub(crate) fn place(store: &Store, question: &Question, runs: &[Run], wish: &str) -> Option<PathBuf> {
    let [run] = runs else { return None };
    if question.own || !question.carried.is_empty() || question.name.is_empty() {
        return None;
    }
    let id = RunId::parse(&run.id)?;
    if rows(store, &id) < LARGE {
        return None;
    }
    let text = format!("{VERSION}\n{question:?}\n{wish}\n{}", run.name);
    let name: String = blake3::hash(text.as_bytes()).to_hex().chars().take(20).collect();
    Some(store.derived(&id, &format!("panel-{name}.json")))
}
