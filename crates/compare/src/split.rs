//! Where the time went, as pages and scripts get it.

use fenxi_analyze::{Interval, RESIDUAL, RunSummary, db_time, explain, whole};
use fenxi_model::Unit;
use fenxi_query::Engine;
use fenxi_store::IMPORT;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Chosen, CompareError, Group, Room};

/// A change of a part from the first group to the second.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PartChange {
    /// The difference of the means.
    pub value: f64,
    /// Its 95 % confidence interval; None without repeats.
    pub interval: Option<[f64; 2]>,
}

/// A part of a time. Lists have a place for each group.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Part {
    /// Name of the part.
    pub name: &'static str,
    /// Description of the part.
    pub about: &'static str,
    /// Its mean, in the unit of the whole; None where it is unknown and thus in the residual.
    pub means: Vec<Option<f64>>,
    /// The 95 % confidence interval of the mean; None without repeats.
    pub intervals: Vec<Option<[f64; 2]>>,
    /// Its share of the whole.
    pub shares: Vec<Option<f64>>,
    /// How it was measured: `exact`, `os`, `server`, `sampled`, `driver`.
    pub measured: Vec<Option<String>>,
    /// By how much it changed, of two groups.
    pub change: Option<PartChange>,
}

/// A time split into parts that add up to it; the last one is the residual.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Split {
    /// Quantity that is split: `elapsed`, `latency`, `DB time`.
    pub what: &'static str,
    /// The symbol of the unit of all its numbers.
    pub unit: &'static str,
    /// The whole.
    pub whole: Part,
    /// The parts.
    pub parts: Vec<Part>,
    /// Missing inputs and doubts, with how to record them.
    pub notes: Vec<String>,
    /// Parts that are known to take no time, and thus are not among `parts`.
    #[serde(skip)]
    pub absent: Vec<&'static str>,
}

impl Split {
    pub(crate) fn of(split: fenxi_analyze::Split) -> Split {
        let wholes = split.whole.means.clone();
        let part = |part: fenxi_analyze::Part| Part::of(part, &wholes);
        let unit = split.unit.symbol();
        let whole = part(split.whole.clone());
        let parts: Vec<Part> = split.parts.into_iter().map(part).collect();
        let mut notes = split.notes;
        notes.extend(missing_change(&whole, &parts));
        Split { what: split.what, unit, whole, parts, notes, absent: split.absent }
    }

    /// Returns true if it knows any part, and not the whole alone.
    pub fn tells(&self) -> bool {
        let is_known =
            |part: &Part| part.name != RESIDUAL && part.means.iter().any(|mean| mean.is_some_and(|m| m > 0.0));
        self.parts.iter().any(is_known)
    }

    /// None where nothing is split and nothing could have been: who imports the report of a benchmark has no server to observe.
    pub(crate) fn unless_idle<'s>(self, runs: impl IntoIterator<Item = &'s RunSummary>) -> Option<Split> {
        let is_import = runs.into_iter().all(|run| run.kind == IMPORT);
        (self.tells() || !is_import).then_some(self)
    }

    /// The unit, to show numbers with.
    pub fn measure(&self) -> Unit {
        Unit::from_symbol(self.unit)
    }
}

/// Lists which parts have no change, being unknown in one of two groups, and what the shares of the others add up to.
fn missing_change(whole: &Part, parts: &[Part]) -> Option<String> {
    let change = whole.change.as_ref().filter(|change| change.value != 0.0)?;
    let is_half = |part: &&Part| part.change.is_none() && part.means.iter().filter(|mean| mean.is_some()).count() == 1;
    let of = |part: &Part| {
        let unknown = if part.means[0].is_none() { "A" } else { "B" };
        format!("{} (unknown in {unknown})", part.name)
    };
    let missing: Vec<String> = parts.iter().filter(is_half).map(of).collect();
    let known: f64 = parts.iter().filter_map(|part| Some(part.change.as_ref()?.value)).sum();
    (!missing.is_empty()).then(|| {
        format!(
            "The shares of the change add up to {:.0} % and not to 100 %: without {}, which is in the residual of that group.",
            100.0 * known / change.value,
            missing.join(" and ")
        )
    })
}

impl Part {
    fn of(part: fenxi_analyze::Part, wholes: &[Option<f64>]) -> Part {
        let ends = |interval: Interval| [interval.low, interval.high];
        let share = |(mean, whole): (&Option<f64>, &Option<f64>)| Some((*mean)? / whole.filter(|whole| *whole > 0.0)?);
        Part {
            name: part.name,
            about: part.about,
            shares: part.means.iter().zip(wholes).map(share).collect(),
            means: part.means,
            intervals: part.intervals.into_iter().map(|interval| interval.map(ends)).collect(),
            measured: part.measured,
            change: part.change.map(|c| PartChange { value: c.value, interval: c.interval.map(ends) }),
        }
    }
}

/// Fewer active sessions than these on average are no measure of what matters on the machine.
const LEAST_SESSIONS: f64 = 0.5;

/// Where the time of groups of runs went.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Explained {
    /// The groups, of one run or of repeats.
    pub groups: Vec<Group>,
    /// Their time; None where some run shows neither transactions, a command, nor sessions of a database.
    pub split: Option<Split>,
    /// Split of DB time, where no latency is known.
    #[serde(skip)]
    pub db_time: Option<Split>,
}

impl Explained {
    /// Explains the runs that each of `selectors` names.
    ///
    /// # Errors
    /// As [`Group::read`].
    pub fn of(
        engine: &Engine,
        selectors: impl IntoIterator<Item = impl AsRef<str>>,
        window: &str,
    ) -> Result<Explained, CompareError> {
        let chosen = Chosen { by: &[], window };
        let mut room = Room::of(engine);
        let groups =
            selectors.into_iter().map(|of| Ok(Group::without_caveats(engine, of.as_ref(), chosen, &mut room)?.0));
        let groups = groups.collect::<Result<Vec<Group>, CompareError>>()?;
        let title = |group: &Group| match group.runs.as_slice() {
            [run] => run.name.clone(),
            _ => group.title.clone(),
        };
        let titles: Vec<String> = groups.iter().map(title).collect();
        let named: Vec<_> =
            titles.iter().zip(&groups).map(|(title, group)| (title.as_str(), group.summaries.as_slice())).collect();
        let split = explain(&named).map(Split::of);
        let split = split.and_then(|split| split.unless_idle(groups.iter().flat_map(|group| &group.summaries)));
        let is_latency = split.as_ref().is_some_and(|split| split.what == whole::LATENCY);
        let db_time = if is_latency { None } else { db_time(&named).map(Split::of) };
        Ok(Explained { groups, split, db_time })
    }

    /// Split that orders findings: of the latency, or else of the DB time of a busy database.
    pub fn ranking(&self) -> Option<&Split> {
        let is_busy = |split: &&Split| split.whole.means[0].is_some_and(|sessions| sessions >= LEAST_SESSIONS);
        let latency = self.split.as_ref().filter(|split| split.what == whole::LATENCY);
        latency.or_else(|| self.db_time.as_ref().filter(is_busy))
    }

    /// The times that are known as parts.
    pub fn times(&self) -> impl Iterator<Item = &Split> {
        let beside = self.db_time.as_ref().filter(|_| self.split.as_ref().is_none_or(|s| s.what != whole::DB_TIME));
        self.split.iter().chain(beside)
    }

    /// A line of JSON for every part, the whole, and every note of each time, each with its kind.
    pub fn json_lines(&self) -> String {
        self.times().map(|split| self.json_lines_of(split)).collect()
    }

    fn json_lines_of(&self, split: &Split) -> String {
        let runs: Vec<&str> = self.groups.iter().flat_map(|group| &group.runs).map(|run| run.name.as_str()).collect();
        let part = |kind: &str, part: &Part| {
            serde_json::json!({
                "kind": kind, "runs": runs, "what": split.what, "unit": split.unit, "part": part.name,
                "mean": part.means[0], "interval": part.intervals[0], "share": part.shares[0],
                "measured": part.measured[0], "about": part.about,
            })
        };
        let notes = split.notes.iter().map(|text| serde_json::json!({ "kind": "note", "runs": runs, "text": text }));
        let all = split.parts.iter().map(|of| part("part", of)).chain([part("whole", &split.whole)]).chain(notes);
        all.map(|line| format!("{line}\n")).collect()
    }
}
