//! Activity of the sessions of observed database servers, of runs without a load that reports its latency.

use fenxi_analyze::{RunSummary, of_class};
use fenxi_query::{Engine, QueryError, Scope};

use super::{part_of, rows};
use crate::group::Counted;

const SQL: &str = include_str!("active.sql");

/// Finds out for each run without transactions what its database sessions were at; `summaries` are those of `runs`.
///
/// # Errors
/// When the engine or the store fails.
pub(super) fn add(engine: &Engine, runs: &[Counted], summaries: &mut [RunSummary]) -> Result<(), QueryError> {
    for ((entry, window), summary) in runs.iter().zip(summaries) {
        if entry.manifest.file("db_wait").is_none() || summary.transactions.is_some() {
            continue;
        }
        let scope = Scope { part: part_of(entry, window.as_ref()), ..Scope::of([entry.manifest.id.clone()]) };
        for row in rows(&engine.ours(SQL, &[], &scope)?).into_values().flatten() {
            let kind =
                of_class(row.word("activity")).zip(row.number("sessions").filter(|n| n.is_finite() && *n >= 0.0));
            if let Some((kind, sessions)) = kind {
                let known = summary.sessions.entry(kind.name).or_insert((0.0, row.word("measured").to_owned()));
                known.0 += sessions;
            }
        }
    }
    Ok(())
}
