//! What recorded commands waited for, by looks at their threads.

use std::collections::BTreeMap;

use fenxi_analyze::RunSummary;
use fenxi_query::{Engine, Part, QueryError, Scope};

use crate::group::Counted;

const SQL: &str = include_str!("command.sql");
/// Fewer looks than these tell no share.
const LEAST_LOOKS: f64 = 5.0;

/// Finds out for each run of a command what it waited for; `summaries` are those of `runs`.
///
/// # Errors
/// When the engine or the store fails.
pub(super) fn add(engine: &Engine, runs: &[Counted], summaries: &mut [RunSummary]) -> Result<(), QueryError> {
    for ((entry, window), summary) in runs.iter().zip(summaries) {
        let Some(elapsed) = summary.results.get("elapsed").filter(|o| o.unit == "s").map(|o| o.value) else { continue };
        if entry.manifest.file("thread_wait").is_none() || summary.transactions.is_some() {
            continue;
        }
        let since_begin = |micros: i64| Some(micros.saturating_sub(entry.manifest.start.0));
        let part = window.as_ref().map(|w| Part { from_us: since_begin(w.start.0), to_us: since_begin(w.end.0) });
        let scope = Scope { part, ..Scope::of([entry.manifest.id.clone()]) };
        let answer = engine.ours(SQL, &[], &scope)?;
        let number = |column: &str| answer.f64s(column).into_iter().map(|v| v.unwrap_or(0.0)).collect::<Vec<f64>>();
        let (seconds, seen, looks, queued) =
            (number("seconds"), number("seen_s"), number("all_looks"), number("queued_s"));
        if looks.first().is_none_or(|all| *all < LEAST_LOOKS) {
            continue;
        }
        let mut waits: BTreeMap<String, f64> = BTreeMap::new();
        for (i, state) in answer.strings("state").into_iter().enumerate() {
            if let Some(state) = state.filter(|state| state != "run") {
                waits.insert(state, elapsed * seconds[i] / seen[i].max(1e-9));
            }
        }
        waits.insert("run queue".to_owned(), queued.first().copied().unwrap_or(0.0));
        summary.waits = waits;
    }
    Ok(())
}
