//! Problems that a run has and its baseline has not: what the rules of single runs know beside those over two periods.

use std::collections::BTreeSet;

use fenxi_model::RunId;
use fenxi_query::{Engine, Found, Kind, NamesCause, Scope, Severity};

use super::{InRange, causes::cause};
use crate::CompareError;

/// A problem with this share of the time is nearer to the cause than what changed.
const LARGE: f64 = 0.3;

impl InRange {
    /// Compares all of `run` with all of `baseline`, and adds the problems that only `run` has to the causes: before the changes where
    /// they are critical or hold three tenths of the time, else behind them.
    ///
    /// # Errors
    /// A run that cannot be read.
    pub fn between(engine: &Engine, run: &RunId, baseline: &RunId, most: usize) -> Result<InRange, CompareError> {
        let mut found = InRange::against(engine, run, baseline, most)?;
        let problems = |run: &RunId| engine.find_all(&Scope::of([run.clone()]));
        let before: BTreeSet<String> =
            problems(baseline)?.into_iter().filter(is_seen).map(|found| found.finding.name).collect();
        let mut new = problems(run)?;
        new.retain(|found| found.kind() == Kind::Problem && is_seen(found));
        // That nothing takes longer is not known of a run that has a problem, which may be larger than the same one before.
        if !new.is_empty() {
            found.causes.retain(|cause| cause.names_cause != NamesCause::Fallback);
        }
        new.retain(|found| !before.contains(&found.finding.name));
        if !new.is_empty() {
            found.causes.retain(|cause| !cause.names_cause.is_fallback());
        }
        let (first, last): (Vec<Found>, Vec<Found>) = new.into_iter().partition(is_large);
        let of = |all: Vec<Found>| all.iter().filter_map(cause).collect::<Vec<_>>();
        found.causes = [of(first), found.causes, of(last)].concat();
        found.causes.sort_by_key(|cause| cause.names_cause.place());
        Ok(found)
    }
}

fn is_seen(found: &Found) -> bool {
    found.outcome.as_ref().is_ok_and(|rows| !rows.is_empty()) && found.severity() != Severity::Info
}

/// Whether a problem is critical, or holds a good part of the time.
pub(crate) fn is_large(found: &Found) -> bool {
    found.severity() == Severity::Critical || found.impact().is_some_and(|impact| impact.share >= LARGE)
}
