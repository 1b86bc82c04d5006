//! Where the time of each run by itself went: what findings are ordered by, and what the table `time_part` has.

use fenxi_model::RunId;
use fenxi_query::{Engine, QueryError, Scope, TimePart};

use crate::{CompareError, Explained, Part, Split, windows::AUTO};

/// Tables of which a run has one at least where anything is known of its time.
const TELLING: [&str; 3] = ["load", "result", "db_wait"];

/// Where the time of each run went, where it is recorded; of a part of the runs, where that is asked for.
pub(crate) fn times(engine: &Engine, runs: &[RunId], scope: &Scope) -> Result<Vec<(RunId, Explained)>, CompareError> {
    let seconds = |us: Option<i64>| us.map(|us| format!("{:.6}", us.max(0) as f64 / 1e6)).unwrap_or_default();
    let window = scope.part.map_or(AUTO.to_owned(), |p| format!("{}..{}", seconds(p.from_us), seconds(p.to_us)));
    let mut all = Vec::new();
    for run in runs {
        let entry = engine.store().run(run)?;
        if TELLING.iter().any(|table| entry.manifest.file(table).is_some()) {
            match Explained::of(engine, [run.as_str()], &window) {
                Ok(found) => all.push((run.clone(), found)),
                // A part beyond the end of a run has no time to be split.
                Err(CompareError::EmptyWindow { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(all)
}

/// Where the time of each run of `scope` went, for SQL: see [`fenxi_query::Options`].
///
/// # Errors
/// When the runs cannot be read.
pub fn time_parts(engine: &Engine, scope: &Scope) -> Result<Vec<TimePart>, QueryError> {
    let listed = || -> Result<Vec<RunId>, QueryError> {
        Ok(engine.store().listing()?.0.into_iter().map(|summary| summary.id).collect())
    };
    let runs = scope.runs.clone().map_or_else(listed, Ok)?;
    let all = times(engine, &runs, scope).map_err(|error| match error {
        CompareError::Query(error) => error,
        error => QueryError::Engine(error.to_string()),
    })?;
    let parts = |(run, of): &(RunId, Explained)| -> Vec<TimePart> {
        let part = |split: &Split, part: &Part| TimePart {
            run: run.to_string(),
            what: split.what,
            part: part.name,
            mean: part.means[0],
            unit: split.unit,
            share: part.shares[0].map(|share| 100.0 * share),
            measured: part.measured[0].clone(),
        };
        of.times().flat_map(|split| split.parts.iter().map(move |p| part(split, p))).collect()
    };
    Ok(all.iter().flat_map(parts).collect())
}
