//! Findings of runs, for the top of a page.

use fenxi_compare::{CompareError, Diagnosis};
use fenxi_query::{Engine, Found, Scope, findings};

use crate::payload::{Finding, Findings, Impact, Occurrence, Run};

/// Occurrences of one finding that the page shows; the others are counted.
const SHOWN: usize = 5;

/// Lets all rules look at the runs and names the bottleneck. One that fails has the error in its place.
pub(crate) fn look(engine: &Engine, scope: &Scope, runs: &[Run]) -> Result<Findings, CompareError> {
    let looked = findings(engine.store())?.iter().filter(|finding| !finding.periods).count();
    let Diagnosis { answer, found, .. } = Diagnosis::of(engine, scope)?;
    Ok(Findings { looked, answer, found: found.into_iter().map(|found| finding(found, runs)).collect() })
}

fn finding(found: Found, runs: &[Run]) -> Finding {
    let (severity, kind) = (found.severity().word(), found.kind().word());
    let impact = found.impact().map(|impact| Impact { share: impact.share, of: impact.of });
    let (occurrences, error) = match found.outcome {
        Ok(occurrences) => (occurrences, None),
        Err(e) => (Vec::new(), Some(e.to_string())),
    };
    let rule = found.finding;
    Finding {
        id: rule.name,
        title: rule.title,
        severity,
        kind,
        impact,
        follows_from: found.follows_from,
        advice: rule.advice,
        ask: rule.ask,
        own: rule.own,
        more: occurrences.len().saturating_sub(SHOWN),
        occurrences: occurrences.into_iter().take(SHOWN).map(|o| shown(o, runs)).collect(),
        error,
    }
}

fn shown(occurrence: fenxi_query::Occurrence, runs: &[Run]) -> Occurrence {
    let run = runs.iter().position(|r| r.id == occurrence.run).unwrap_or(0);
    Occurrence { run, host: occurrence.host, message: occurrence.message }
}
