//! Caveats of a comparison: findings with `comparison` in their header, by run.

use std::collections::BTreeMap;

use fenxi_analyze::Caveat;
use fenxi_model::RunId;
use fenxi_query::{Engine, Found, Part, QueryError, Scope, Validity};
use fenxi_store::{RunEntry, Window};

/// Lets findings look at runs, each over the part of it that is compared; caveats in the order of `runs`.
///
/// # Errors
/// When a finding of the store cannot be read, or the store. One that fails is a caveat itself.
pub fn of_runs(engine: &Engine, runs: &[(&RunEntry, Option<Window>)]) -> Result<Vec<Vec<Caveat>>, QueryError> {
    let mut parts: BTreeMap<(Option<i64>, Option<i64>), Vec<usize>> = BTreeMap::new();
    for (i, (entry, window)) in runs.iter().enumerate() {
        let since_begin = |micros: i64| micros.saturating_sub(entry.manifest.start.0);
        let edges = window.as_ref().map(|w| (since_begin(w.start.0), since_begin(w.end.0)));
        parts.entry((edges.map(|e| e.0), edges.map(|e| e.1))).or_default().push(i);
    }
    let mut caveats = vec![Vec::new(); runs.len()];
    for ((from_us, to_us), members) in parts {
        let scope = Scope {
            runs: Some(members.iter().map(|i| runs[*i].0.manifest.id.clone()).collect()),
            part: Some(Part { from_us, to_us }).filter(|part| *part != Part::default()),
        };
        for found in engine.find_comparison(&scope)? {
            for i in &members {
                caveats[*i].extend(caveat(&found, &runs[*i].0.manifest.id)?);
            }
        }
    }
    Ok(caveats)
}

/// Caveat that a finding reports for a run, if any: the worst of it.
fn caveat(found: &Found, run: &RunId) -> Result<Option<Caveat>, QueryError> {
    let message = match &found.outcome {
        Ok(occurrences) => match occurrences.iter().find(|occurrence| occurrence.run == run.as_str()) {
            Some(worst) => worst.message.clone(),
            None => return Ok(None),
        },
        Err(QueryError::Interrupted) => return Err(QueryError::Interrupted),
        Err(error) => format!("the finding failed: {error}"),
    };
    Ok(Some(Caveat {
        finding: found.finding.name.clone(),
        title: found.finding.title.clone(),
        refuses: found.outcome.is_ok() && found.finding.comparison == Some(Validity::Refuse),
        message,
    }))
}
