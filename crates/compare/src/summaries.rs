//! Summaries of runs: the statistics and facts that comparisons need.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_analyze::{Metric, Outcome, RunSummary};
use fenxi_model::{Keys, Shape, table};
use fenxi_store::{RunEntry, RunResult, Store, Window};

use crate::{CompareError, Room, windows};

/// Which series enter a comparison besides the ordinary ones.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    /// Labels whose series are wanted one by one, as `cpu`.
    pub by: &'a [String],
    /// The window that is summarised, see [`windows::choose`].
    pub window: &'a str,
}

/// Summarises a run from its statistics, results and facts; what findings say of it is not asked.
///
/// # Errors
/// When the run cannot be read, or has no such window, or there is no room for it.
pub fn summary(
    store: &Store,
    entry: &RunEntry,
    chosen: Chosen<'_>,
    room: &mut Room,
) -> Result<RunSummary, CompareError> {
    let window = windows::choose(store, entry, chosen.window)?;
    summary_over(store, entry, chosen, window.as_ref(), room)
}

/// [`summary`] over a window that is chosen already.
pub(crate) fn summary_over(
    store: &Store,
    entry: &RunEntry,
    chosen: Chosen<'_>,
    window: Option<&Window>,
    room: &mut Room,
) -> Result<RunSummary, CompareError> {
    let manifest = &entry.manifest;
    let run = &manifest.id;
    let seconds = window.map_or(manifest.seconds(), |w| w.end.seconds_since(w.start));
    // First, as it looks whether there is room for the rest as well.
    let metrics = series_of(store, entry, chosen, window, room)?;
    Ok(RunSummary {
        name: shown_name(entry),
        kind: manifest.kind.clone(),
        window: window.map(|w| windows::words(entry, w)),
        seconds,
        interval_s: manifest.interval_s,
        params: manifest.params.clone(),
        results: results_of(store.results(run)?),
        metrics,
        caveats: Vec::new(),
        facts: store.facts(run)?,
        transactions: None,
        waits: BTreeMap::new(),
        sessions: BTreeMap::new(),
    })
}

/// The name of a run, or its id where it has none.
pub fn shown_name(entry: &RunEntry) -> String {
    let name = entry.labels.name.clone().filter(|n| !n.is_empty());
    name.unwrap_or_else(|| entry.manifest.id.to_string())
}

/// The mean of each series that enters a comparison, over `window` of the run.
///
/// # Errors
/// When the run cannot be read, or there is no room for its series.
pub(crate) fn series_of(
    store: &Store,
    entry: &RunEntry,
    chosen: Chosen<'_>,
    window: Option<&Window>,
    room: &mut Room,
) -> Result<BTreeMap<Metric, f64>, CompareError> {
    room.expect(entry)?;
    let several_hosts = entry.manifest.hosts.len() > 1;
    let (mut metrics, mut fits) = (BTreeMap::new(), true);
    store.series_stats(&entry.manifest.id, window, |stat| {
        if !fits || !wanted(stat.table, stat.key, chosen.by) || !stat.mean.is_finite() {
            return;
        }
        fits = room.take(stat.host.len() + stat.key.len());
        // Runs of one host each are compared whatever it is called.
        let key = match (several_hosts, stat.key) {
            (false, key) => key.to_owned(),
            (true, "") => format!("host={}", stat.host),
            (true, key) => format!("host={},{key}", stat.host),
        };
        metrics.insert(Metric { table: stat.table.to_owned(), key, column: stat.column.to_owned() }, stat.mean);
    })?;
    if fits { Ok(metrics) } else { Err(room.full(entry)) }
}

fn wanted(name: &str, key: &str, by: &[String]) -> bool {
    // Results are compared as such, each with its own unit and direction.
    if table(name).is_some_and(|table| table.shape == Shape::Facts) {
        return false;
    }
    if key.is_empty() || table(name).is_some_and(|table| table.keys_are == Keys::Lasting) {
        return true;
    }
    key.split(',').filter_map(|pair| pair.split_once('=')).any(|(label, _)| by.iter().any(|b| b == label || b == name))
}

/// One value a name; a name that several sources use has the source before it.
pub fn results_of(found: Vec<RunResult>) -> BTreeMap<String, Outcome> {
    let mut sources: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for result in &found {
        sources.entry(&result.name).or_default().insert(&result.source);
    }
    let several: BTreeSet<String> =
        sources.into_iter().filter(|(_, of)| of.len() > 1).map(|(name, _)| name.to_owned()).collect();
    let named = |r: RunResult| {
        let outcome = Outcome { value: r.value, unit: r.unit, better: r.better };
        (if several.contains(&r.name) { format!("{} {}", r.source, r.name) } else { r.name }, outcome)
    };
    found.into_iter().map(named).collect()
}
