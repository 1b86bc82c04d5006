//! A group of runs: one run, or several that count as repetitions.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_analyze::RunSummary;
use fenxi_model::{Keys, RunId, Shape, Table, table};
use fenxi_query::Engine;
use fenxi_store::{RunEntry, SERIES, Store, Window};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Chosen, CompareError, Reason, Room, caveats,
    plans::{self, Plans},
    settings,
    summaries::summary_over,
    transactions, windows,
};

/// One run of a group.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Member {
    /// Its id.
    #[schemars(with = "String")]
    pub id: RunId,
    /// How it is called.
    pub name: String,
    /// The part of it that counts, in words; None for all of it.
    pub window: Option<String>,
    /// Seconds of that part.
    pub seconds: f64,
}

/// A run and the part of it that counts; None for all of it.
pub(crate) type Counted = (RunEntry, Option<Window>);

/// Runs that count as repetitions of the same thing.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Group {
    /// The selectors that name it.
    pub title: String,
    /// Its runs, at least one.
    pub runs: Vec<Member>,
    /// Labels by which more series of theirs can be compared one by one, see [`Chosen::by`].
    pub labels: BTreeSet<&'static str>,
    /// Labels, parameters and command of its runs; None where they differ in one.
    #[serde(skip)]
    pub settings: BTreeMap<String, Option<String>>,
    /// Tags of each run, in the same order.
    #[serde(skip)]
    pub tags: Vec<BTreeMap<String, String>>,
    /// Plans of statements of observed databases.
    #[serde(skip)]
    pub plans: Plans,
    /// Summary of each run, in the same order.
    #[serde(skip)]
    pub summaries: Vec<RunSummary>,
    /// Of each that is a part of a recording without an end, the series of that, in the same order.
    #[serde(skip)]
    pub series: Vec<Option<String>>,
}

impl Group {
    /// Reads the runs that `selectors` (with commas between them) name, and lets findings look at them.
    ///
    /// # Errors
    /// When they name no run, or a run cannot be read or has no such window, or findings cannot be evaluated.
    pub fn read(engine: &Engine, selectors: &str, chosen: Chosen<'_>) -> Result<Group, CompareError> {
        Group::read_within(engine, selectors, chosen, &mut Room::of(engine))
    }

    /// [`Group::read`] in the room that several groups have together.
    ///
    /// # Errors
    /// As [`Group::read`], and when there is no room for it.
    pub fn read_within(
        engine: &Engine,
        selectors: &str,
        chosen: Chosen<'_>,
        room: &mut Room,
    ) -> Result<Group, CompareError> {
        let (mut group, parts) = Group::without_caveats(engine, selectors, chosen, room)?;
        let parts: Vec<_> = parts.iter().map(|(entry, part)| (entry, part.clone())).collect();
        for (summary, caveats) in group.summaries.iter_mut().zip(caveats::of_runs(engine, &parts)?) {
            summary.caveats = caveats;
        }
        Ok(group)
    }

    /// [`Group::read`] without what findings say, and the part of each run that counts.
    pub(crate) fn without_caveats(
        engine: &Engine,
        selectors: &str,
        chosen: Chosen<'_>,
        room: &mut Room,
    ) -> Result<(Group, Vec<Counted>), CompareError> {
        let store = engine.store();
        let mut parts = Vec::new();
        for id in group(store, selectors)? {
            let entry = store.run(&id)?;
            let part = windows::choose(store, &entry, chosen.window)?;
            parts.push((entry, part));
        }
        let (mut runs, mut summaries, mut labels) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (entry, part) in &parts {
            labels.extend(
                entry.manifest.files.iter().filter_map(|file| table(file.table.as_deref()?)).flat_map(labels_of),
            );
            let of_run = summary_over(store, entry, chosen, part.as_ref(), room)?;
            let (id, name, window) = (entry.manifest.id.clone(), of_run.name.clone(), of_run.window.clone());
            runs.push(Member { id, name, window, seconds: of_run.seconds });
            summaries.push(of_run);
        }
        transactions::add(engine, &parts, &mut summaries)?;
        let plans = plans::of_runs(engine, &parts)?;
        let settings = settings::alike(parts.iter().map(|(entry, _)| entry));
        let tags = parts.iter().map(|(entry, _)| tags_of(entry)).collect();
        let series = parts.iter().map(|(entry, _)| entry.manifest.tags.get(SERIES).cloned()).collect();
        Ok((Group { title: selectors.to_owned(), runs, settings, tags, plans, summaries, series, labels }, parts))
    }
}

impl Group {
    /// Reason not to take its runs as repetitions, or a caveat about them: parts of one recording are one observation.
    pub(crate) fn as_observations(&self) -> Option<Reason> {
        let known: BTreeSet<&String> = self.series.iter().flatten().collect();
        let several = known.iter().find(|name| self.series.iter().flatten().filter(|s| s == *name).count() > 1);
        if let Some(name) = several {
            let text = format!(
                "runs of `{}` follow one another in the recording `{name}`: they are one observation and no repetitions; \
                 compare ranges of time, as `yesterday today`",
                self.title
            );
            return Some(Reason { refuses: true, text });
        }
        let range = self.runs.iter().find(|run| run.id.is_range())?;
        let text = format!("`{}` is one observation, of whatever length: there is no estimate of chance", range.name);
        Some(Reason { refuses: false, text })
    }
}

/// Tags and parameters of a run: a study's runs have parameters.
fn tags_of(entry: &RunEntry) -> BTreeMap<String, String> {
    let all = entry.manifest.params.iter().chain(&entry.labels.tags);
    all.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The labels of a table whose series are not compared one by one anyway.
fn labels_of(table: &'static Table) -> impl Iterator<Item = &'static str> {
    let is_chosen = table.shape == Shape::Series && table.keys_are == Keys::Passing;
    let keys = table.keys().iter().filter(move |key| is_chosen && !key.is_of_one_run);
    keys.map(|key| key.name)
}

/// The runs that selectors with commas between them name, each once.
///
/// # Errors
/// When a selector names no run, or there is none.
pub fn group(store: &Store, selectors: &str) -> Result<Vec<RunId>, CompareError> {
    let words = selectors.split(',').map(str::trim).filter(|s| !s.is_empty());
    let runs = store.select_all(words)?;
    if runs.is_empty() { Err(CompareError::NoRun(selectors.to_owned())) } else { Ok(runs) }
}

/// Names of runs that are named after others.
const NAMED: usize = 6;

/// Names of runs, each once with its count, and only the first ones where there are many.
pub fn run_names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match counted.iter_mut().find(|(known, _)| *known == name) {
            Some((_, times)) => *times += 1,
            None => counted.push((name, 1)),
        }
    }
    let say =
        |(name, times): &(&str, usize)| if *times == 1 { (*name).to_owned() } else { format!("{name} × {times}") };
    let more = counted.len().saturating_sub(NAMED);
    let shown: Vec<String> = counted.iter().take(NAMED).map(say).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &rest
}

#[cfg(test)]
mod tests {
    use super::run_names;

    #[test]
    fn a_name_is_said_once() {
        assert_eq!(run_names(["sh", "sh", "sh"]), "sh × 3");
        assert_eq!(run_names(["a", "b", "a"]), "a × 2, b");
        assert_eq!(run_names(["a", "b", "c", "d", "e", "f", "g", "h"]), "a, b, c, d, e, f and 2 more");
    }
}
