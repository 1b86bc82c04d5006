//! Runs, as far as comparing them needs it.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, Int32Type},
};
use fenxi_analyze::{Metric, Outcome, RunSummary};
use fenxi_model::{Better, RunId};
use fenxi_store::{RunEntry, Store, StoreError, Window};

use crate::windows;

/// Tables whose keys name things that another run has too, as devices and interfaces; others have keys
/// that come and go (processes) or are many (interrupts), and are compared when asked for.
const KEYED: &[&str] = &["cgroup", "db", "disk", "fs", "load", "metric", "net", "pressure"];

/// Which series enter a comparison besides the ordinary ones.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    /// Labels whose series are wanted one by one, as `cpu`.
    pub by: &'a [String],
    /// The window that is summarised, see [`windows::choose`].
    pub window: &'a str,
}

/// Summarises a run from its statistics, results and facts.
///
/// # Errors
/// When the run cannot be read, or has no such window.
pub fn summary(store: &Store, run: &RunId, chosen: Chosen<'_>) -> anyhow::Result<RunSummary> {
    let entry = store.run(run)?;
    let manifest = &entry.manifest;
    let window = windows::choose(store, &entry, chosen.window)?;
    let seconds = window.as_ref().map_or(manifest.seconds(), |w| w.end.seconds_since(w.start));
    Ok(RunSummary {
        name: shown_name(&entry),
        kind: manifest.kind.clone(),
        window: window.as_ref().map(|w| windows::words(&entry, w)),
        seconds,
        interval_s: manifest.interval_s,
        ticks: (manifest.ticks.unwrap_or(0), manifest.missed_ticks.unwrap_or(0)),
        params: manifest.params.clone(),
        results: results(&store.read(run, "result")?),
        metrics: metrics(store, run, chosen, window.as_ref(), manifest.hosts.len() > 1)?,
        facts: facts(&store.read(run, "text")?),
    })
}

/// The name of a run, or its id where it has none.
pub fn shown_name(entry: &RunEntry) -> String {
    let name = entry.labels.name.clone().filter(|n| !n.is_empty());
    name.unwrap_or_else(|| entry.manifest.id.to_string())
}

fn metrics(
    store: &Store,
    run: &RunId,
    chosen: Chosen<'_>,
    window: Option<&Window>,
    several_hosts: bool,
) -> Result<BTreeMap<Metric, f64>, StoreError> {
    let mut metrics = BTreeMap::new();
    store.series_stats(run, window, |stat| {
        if !wanted(stat.table, stat.key, chosen.by) || !stat.mean.is_finite() {
            return;
        }
        // Runs of one host each are compared whatever it is called.
        let key = match (several_hosts, stat.key) {
            (false, key) => key.to_owned(),
            (true, "") => format!("host={}", stat.host),
            (true, key) => format!("host={},{key}", stat.host),
        };
        metrics.insert(Metric { table: stat.table.to_owned(), key, column: stat.column.to_owned() }, stat.mean);
    })?;
    Ok(metrics)
}

fn wanted(table: &str, key: &str, by: &[String]) -> bool {
    if key.is_empty() || KEYED.contains(&table) {
        return true;
    }
    key.split(',').filter_map(|pair| pair.split_once('=')).any(|(label, _)| by.iter().any(|b| b == label || b == table))
}

/// One value a name; a name that several sources use has the source before it.
fn results(batches: &[RecordBatch]) -> BTreeMap<String, Outcome> {
    let mut found: Vec<(String, String, Outcome)> = Vec::new();
    for batch in batches {
        let text = |name: &str, row: usize| label(batch, name, row).unwrap_or_default().to_owned();
        let Some(values) = batch.column_by_name("value").and_then(|c| c.as_primitive_opt::<Float64Type>()) else {
            continue;
        };
        for row in (0..batch.num_rows()).filter(|row| values.is_valid(*row)) {
            let better = match text("better", row).as_str() {
                "higher" => Better::Higher,
                "lower" => Better::Lower,
                _ => Better::Neither,
            };
            let outcome = Outcome { value: values.value(row), unit: text("unit", row), better };
            found.push((text("name", row), text("source", row), outcome));
        }
    }
    let mut sources: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, source, _) in &found {
        sources.entry(name).or_default().insert(source);
    }
    let several: BTreeSet<String> =
        sources.into_iter().filter(|(_, of)| of.len() > 1).map(|(name, _)| name.to_owned()).collect();
    let full = |name: String, source: String| if several.contains(&name) { format!("{source} {name}") } else { name };
    found.into_iter().map(|(name, source, outcome)| (full(name, source), outcome)).collect()
}

/// Facts by topic and name; of those read twice, what they were at the start.
fn facts(batches: &[RecordBatch]) -> BTreeMap<(String, String), String> {
    let mut facts = BTreeMap::new();
    for batch in batches {
        let Some(values) = batch.column_by_name("value").and_then(|c| c.as_string_opt::<i32>()) else { continue };
        for row in (0..batch.num_rows()).filter(|row| values.is_valid(*row)) {
            if label(batch, "phase", row) == Some("end") {
                continue;
            }
            let text = |name| label(batch, name, row).unwrap_or_default().to_owned();
            facts.insert((text("topic"), text("name")), values.value(row).to_owned());
        }
    }
    facts
}

fn label<'b>(batch: &'b RecordBatch, name: &str, row: usize) -> Option<&'b str> {
    let labels = batch.column_by_name(name)?.as_dictionary_opt::<Int32Type>()?;
    Some(labels.values().as_string_opt::<i32>()?.value(labels.key(row)?))
}
