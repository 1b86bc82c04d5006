//! The order of what was found: causes before what follows from them, and what explains most of the time first.

use std::{cmp::Ordering, collections::BTreeSet};

use fenxi_model::words;
use serde_json::Value;

use super::{Finding, Found, Severity};

words! {
    /// What a finding is to whoever looks for a cause, in the order in which they look.
    Kind {
        /// May be the cause.
        Problem = "problem",
        /// Shows that something is wrong, and not what.
        Symptom = "symptom",
        /// Puts the figures in doubt.
        Measurement = "measurement",
        /// A fact.
        Information = "information",
    }
}

/// How much a finding accounts for.
#[derive(Clone, Debug, PartialEq)]
pub struct Impact {
    /// Its share of the whole, from 0 to 1.
    pub share: f64,
    /// The whole: `the latency of a transaction`, `the time`.
    pub of: String,
}

/// Where the share of a finding stands in its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpactColumn {
    /// The column: percent, or the numerator.
    pub column: String,
    /// The denominator's column, where the share is a ratio of two.
    pub over: Option<String>,
    /// What it is a share of.
    pub of: String,
}

/// A finding without a known share stands behind those of a tenth and more, and before those of less.
const UNKNOWN: f64 = 0.1;
/// Below this share of the latency, what a finding names is no reason for the latency, whatever else it is.
const NEGLIGIBLE: f64 = 0.05;

impl ImpactColumn {
    /// Reads `COLUMN of WHAT` or `COLUMN / COLUMN of WHAT`.
    pub(super) fn parse(text: &str) -> Option<ImpactColumn> {
        let (columns, of) = text.split_once(" of ")?;
        let (column, over) = match columns.split_once('/') {
            Some((column, over)) => (column, Some(over.trim().to_owned())),
            None => (columns, None),
        };
        Some(ImpactColumn { column: column.trim().to_owned(), over, of: of.trim().to_owned() })
    }

    /// The share that a row tells.
    fn share(&self, evidence: &[(String, Value)]) -> Option<f64> {
        let value = |column: &str| evidence.iter().find(|(name, _)| name == column)?.1.as_f64();
        let whole = match &self.over {
            Some(over) => value(over).filter(|whole| *whole > 0.0)?,
            None => 100.0,
        };
        Some((value(&self.column)? / whole).clamp(0.0, 1.0))
    }
}

impl Found {
    /// What it is to whoever looks for a cause: what another one explains is a symptom, and so on.
    pub fn kind(&self) -> Kind {
        if self.severity() == Severity::Info {
            return Kind::Information;
        }
        let kind = self.finding.kind;
        if kind == Kind::Problem && !self.follows_from.is_empty() { Kind::Symptom } else { kind }
    }

    /// The worst severity of its occurrences, the finding's own when it could not look; a fact where it accounts for next
    /// to nothing of a latency.
    pub fn severity(&self) -> Severity {
        let worst = self.outcome.iter().flatten().map(|o| o.severity).min();
        let severity = worst.unwrap_or(self.finding.severity);
        let is_negligible = self.of_latency.as_ref().is_some_and(|impact| impact.share < NEGLIGIBLE);
        if severity == Severity::Warning && is_negligible { Severity::Info } else { severity }
    }

    /// How much it accounts for: of the latency where that is known, else what its rows tell.
    pub fn impact(&self) -> Option<Impact> {
        self.of_latency.clone().or_else(|| self.of_rows())
    }

    fn of_rows(&self) -> Option<Impact> {
        let told = self.finding.impact.as_ref()?;
        let rows = self.outcome.iter().flatten().filter_map(|o| told.share(&o.evidence));
        Some(Impact { share: rows.max_by(f64::total_cmp)?, of: told.of.clone() })
    }

    /// Whether it explains what `other` found, in one of its runs.
    fn explains(&self, other: &Found) -> bool {
        let runs = |found: &Found| found.outcome.iter().flatten().map(|o| o.run.clone()).collect::<BTreeSet<_>>();
        self.finding.explains.contains(&other.finding.name) && !runs(self).is_disjoint(&runs(other))
    }
}

/// Says of each what explains it, and orders all: by kind, severity, share, and section.
pub(super) fn order(all: &mut [Found]) {
    let causes = |found: &Found| {
        // What accounts for next to nothing explains nothing.
        let explaining =
            all.iter().filter(|cause| cause.severity() != Severity::Info || found.severity() == Severity::Info);
        let explaining = explaining.filter(|cause| cause.explains(found));
        explaining.map(|cause| cause.finding.title.clone()).collect::<Vec<_>>()
    };
    let follows_from: Vec<_> = all.iter().map(causes).collect();
    for (found, titles) in all.iter_mut().zip(follows_from) {
        found.follows_from = titles;
    }
    let section = |found: &Found| found.finding.section;
    all.sort_by(|a, b| {
        let before = (a.kind(), a.severity()).cmp(&(b.kind(), b.severity()));
        before.then_with(|| by_share(a, b)).then_with(|| section(a).cmp(&section(b)))
    });
}

fn by_share(a: &Found, b: &Found) -> Ordering {
    let share = |found: &Found| found.impact().map_or(UNKNOWN, |impact| impact.share);
    share(b).total_cmp(&share(a))
}

/// Orders `all` anew when more is known: `share` gives the share of the latency that the parts have which a finding names.
pub fn rank(all: &mut [Found], share: impl Fn(&Found) -> Option<f64>) {
    for found in all.iter_mut().filter(|found| !found.finding.parts.is_empty()) {
        let of_latency = share(found);
        found.of_latency = of_latency.map(|share| Impact { share, of: "the latency of a transaction".to_owned() });
    }
    order(all);
}

impl Finding {
    /// Whether its rows tell its share.
    pub(super) fn tells_share(&self, columns: &[&str]) -> bool {
        let wanted = self.impact.iter().flat_map(|told| [Some(&told.column), told.over.as_ref()]).flatten();
        wanted.into_iter().all(|column| columns.contains(&column.as_str()))
    }
}
