//! The order of what was found: causes before what follows from them, and what explains most of the time first.

use std::collections::BTreeSet;

use fenxi_model::words;
use serde_json::Value;

use super::{Finding, Found, Severity};

words! {
    /// The role of a finding in the search for a cause, in that order.
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

words! {
    /// How far a finding names the cause of a change, the surest first.
    NamesCause {
        /// It does.
        Yes = "yes",
        /// Only as an explanation that holds where nothing else is found.
        Fallback = "fallback",
        /// It names what many causes have in common: it is listed behind those that name one.
        Broadly = "broadly",
        /// It lists what changed, where nothing else is found, and is listed behind all others.
        No = "no",
    }
}

impl NamesCause {
    /// Returns true if it only holds where no problem is found.
    pub fn is_fallback(self) -> bool {
        matches!(self, NamesCause::Fallback | NamesCause::No)
    }

    /// Its place behind the findings that name a cause, for a stable sort.
    pub fn place(self) -> u8 {
        match self {
            NamesCause::Yes | NamesCause::Fallback => 0,
            NamesCause::Broadly => 1,
            NamesCause::No => 2,
        }
    }
}

/// Share that a finding accounts for.
#[derive(Clone, Debug, PartialEq)]
pub struct Impact {
    /// Its share of the whole, from 0 to 1.
    pub share: f64,
    /// The whole: [`LATENCY`], `the time`.
    pub of: String,
}

/// The wholes that a split of time has parts of.
pub const LATENCY: &str = "the latency of a transaction";
/// The latency without what a transaction waits before it is begun, where that is a good part of it.
pub const SERVICE: &str = "the service time of a transaction";
/// The time of the active sessions of a database.
pub const DB_TIME: &str = "the DB time";
/// The part that is a queue before the service: it is long because of what the service is.
pub const QUEUE: &str = "waiting for a connection";

/// Shares of the clock, of a CPU's or a machine's: none of them is a part of what a transaction or a session takes.
const OF_THE_CLOCK: [&str; 4] = ["the time", "one CPU's time", "the CPU's time", "the CPUs' time"];

/// Findings' shares by the splits of runs.
pub struct Splits<'a> {
    /// Runs whose time is known as parts.
    pub runs: BTreeSet<String>,
    /// How much parts account for in a run; None where that is unknown.
    pub impact: &'a dyn Fn(&str, &[String]) -> Option<Impact>,
}

/// The column with the share of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpactColumn {
    /// The column: percent, or the numerator.
    pub column: String,
    /// The denominator's column, where the share is a ratio of two.
    pub over: Option<String>,
    /// Quantity that it is a share of.
    pub of: String,
}

/// A finding without a known share is ranked after those of a tenth and more, and before those of less.
const UNKNOWN: f64 = 0.1;
/// From this share of the service on, a finding makes the queue before it, if there is one.
const HOLDS: f64 = 0.3;
/// More than any share: what surely makes work suffer, by an unknown amount.
const SURELY: f64 = 2.0;
/// Below this share of the latency, what a finding names is no reason for the latency, whatever else it is.
const NEGLIGIBLE: f64 = 0.1;

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

    /// The share in a row.
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
    /// Its role in the search for a cause: what another one explains is a symptom, and so on.
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
        let is_negligible = self.of_part.as_ref().is_some_and(|i| i.of != DB_TIME && i.share < NEGLIGIBLE);
        if severity == Severity::Warning && is_negligible { Severity::Info } else { severity }
    }

    /// Share that it accounts for: of its parts in the split of time where that is known, else the share in its rows.
    pub fn impact(&self) -> Option<Impact> {
        self.of_part.clone().or_else(|| self.of_rows())
    }

    /// Weight in the order of findings of its kind. A share of the clock is no share of a time that is known as parts.
    fn weight(&self) -> f64 {
        if let Some(impact) = &self.of_part {
            return impact.share;
        }
        let surely = if self.severity() == Severity::Critical { SURELY } else { 0.0 };
        let is_comparable = |impact: &Impact| !self.is_split || !OF_THE_CLOCK.contains(&impact.of.as_str());
        surely + self.of_rows().filter(is_comparable).map_or(UNKNOWN, |impact| impact.share)
    }

    fn of_rows(&self) -> Option<Impact> {
        let reported = self.finding.impact.as_ref()?;
        let rows = self.outcome.iter().flatten().filter_map(|o| reported.share(&o.evidence));
        Some(Impact { share: rows.max_by(f64::total_cmp)?, of: reported.of.clone() })
    }

    /// Whether it explains what `other` found, in one of its runs.
    fn explains(&self, other: &Found) -> bool {
        let runs = |found: &Found| found.outcome.iter().flatten().map(|o| o.run.clone()).collect::<BTreeSet<_>>();
        let follows = self.finding.explains.contains(&other.finding.name) || (other.is_queue() && self.holds_service());
        follows && !runs(self).is_disjoint(&runs(other))
    }

    /// Whether it is about a queue before the service, and nothing else.
    fn is_queue(&self) -> bool {
        !self.finding.parts.is_empty() && self.finding.parts.iter().all(|part| part == QUEUE)
    }

    /// Whether it is a good part of what the service takes.
    fn holds_service(&self) -> bool {
        let is_cause = matches!(self.finding.kind, Kind::Problem | Kind::Symptom) && self.severity() != Severity::Info;
        is_cause && !self.is_queue() && self.of_part.as_ref().is_some_and(|i| i.of == SERVICE && i.share >= HOLDS)
    }
}

/// Sets for each what explains it, and orders all: by kind, what they account for, severity, and section.
pub(super) fn order(all: &mut [Found]) {
    let causes = |found: &Found| {
        // A finding that accounts for next to nothing explains nothing.
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
        let before = a.kind().cmp(&b.kind()).then_with(|| b.weight().total_cmp(&a.weight()));
        before.then_with(|| a.severity().cmp(&b.severity())).then_with(|| section(a).cmp(&section(b)))
    });
}

/// Orders `all` anew when it is known where the time went. A finding that wants a part of a size is dropped where it has less.
pub fn rank(all: &mut Vec<Found>, splits: &Splits<'_>) {
    for found in all.iter_mut() {
        let Found { finding, outcome, .. } = found;
        let impact = |run: &str| (splits.impact)(run, &finding.parts).filter(|_| !finding.parts.is_empty());
        if let (Ok(occurrences), Some(smallest)) = (outcome.as_mut(), finding.min_part) {
            occurrences.retain(|o| impact(&o.run).is_some_and(|impact| impact.share >= smallest));
        }
        let of_runs = outcome.iter().flatten().filter_map(|o| impact(&o.run));
        let of_part = of_runs.max_by(|a, b| a.share.total_cmp(&b.share));
        found.is_split = found.outcome.iter().flatten().any(|o| splits.runs.contains(&o.run));
        found.of_part = of_part;
    }
    all.retain(|found| found.outcome.as_ref().map_or(true, |occurrences| !occurrences.is_empty()));
    order(all);
}

impl Finding {
    /// Whether its rows have its share.
    pub(super) fn tells_share(&self, columns: &[&str]) -> bool {
        let wanted = self.impact.iter().flat_map(|reported| [Some(&reported.column), reported.over.as_ref()]).flatten();
        wanted.into_iter().all(|column| columns.contains(&column.as_str()))
    }
}
