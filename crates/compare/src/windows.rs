//! Windows of runs: named time ranges, and detection of the steady state.

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, Int32Type, TimestampMicrosecondType},
};
use fenxi_analyze::{Steady, steady_from};
use fenxi_model::{Micros, parse_seconds};
use fenxi_store::{RunEntry, Store, StoreError, Window};

use crate::CompareError;

/// The window that is compared by default.
pub const STEADY: &str = "steady";
/// Asks for the window that fits, see [`choose`].
pub const AUTO: &str = "auto";

/// Columns that show when a run was steady, best first: table, column.
const RESPONSES: &[(&str, &str)] = &[
    ("load", "transactions_per_s"),
    ("load", "requests_per_s"),
    ("load", "transfer_bytes_per_s"),
    ("db", "commits_per_s"),
    ("cpu", "idle"),
];

/// The part of a run that `wanted` names: `auto`, `all`, a window's name, or `FROM..TO` from its begin.
/// None is the whole run.
///
/// `auto` is the window named `steady`; without one, what was steady of the load that the run shows;
/// without load, all.
///
/// # Errors
/// When the run has no such window.
pub fn choose(store: &Store, entry: &RunEntry, wanted: &str) -> Result<Option<Window>, CompareError> {
    let windows = entry.windows();
    if let Some(window) = windows.iter().find(|w| w.name == wanted) {
        return Ok(Some(window.clone()));
    }
    if wanted == "all" {
        return Ok(None);
    }
    if let Some((from, to)) = wanted.split_once("..") {
        return Ok(Some(range(entry, wanted, from, to)?));
    }
    if wanted == AUTO {
        if let Some(window) = windows.into_iter().find(|w| w.name == STEADY) {
            return Ok(Some(window));
        }
        let load = entry.manifest.file("load").is_some();
        return if load { Ok(detect(store, entry)?.and_then(|found| found.window)) } else { Ok(None) };
    }
    let known = windows.into_iter().map(|w| w.name).chain(["all", AUTO].map(str::to_owned)).collect();
    Err(CompareError::NoWindow { run: entry.manifest.id.clone(), wanted: wanted.to_owned(), known })
}

/// Seconds after the begin of a run at which the part begins that comparisons use by default; None
/// when that is all of it.
///
/// # Errors
/// When the run cannot be read.
pub fn warmup(store: &Store, entry: &RunEntry) -> Result<Option<f64>, CompareError> {
    let window = choose(store, entry, AUTO)?;
    Ok(window.map(|w| w.start.seconds_since(entry.manifest.start)).filter(|seconds| *seconds > 0.0))
}

/// A window given as times from the begin of the run; an open end is the run's.
///
/// # Errors
/// When the times are none, or not within the run.
pub fn range(entry: &RunEntry, name: &str, from: &str, to: &str) -> Result<Window, CompareError> {
    let manifest = &entry.manifest;
    let moment = |text: &str, open: Micros| -> Result<Micros, CompareError> {
        if text.trim().is_empty() {
            return Ok(open);
        }
        let seconds = parse_seconds(text.trim()).ok_or_else(|| CompareError::NoTime(text.to_owned()))?;
        Ok(manifest.start.after(seconds))
    };
    let (start, end) = (moment(from, manifest.start)?, moment(to, manifest.end)?);
    let end = end.min(manifest.end);
    if start >= end {
        return Err(CompareError::EmptyWindow { range: format!("{from}..{to}"), seconds: manifest.seconds() });
    }
    Ok(Window { name: name.to_owned(), start, end })
}

/// Steady state of a run, as detected.
pub struct Found {
    /// Series in which it was detected, `table.column`.
    pub response: String,
    /// The steady part; None when the whole run is it, or none of it.
    pub window: Option<Window>,
    /// Steady state.
    pub steady: Steady,
}

/// Looks for the steady part of a run in the load it shows, or else in its CPUs; None when it has neither.
///
/// # Errors
/// When the run cannot be read.
pub fn detect(store: &Store, entry: &RunEntry) -> Result<Option<Found>, StoreError> {
    for (table, column) in RESPONSES {
        let samples = samples(&store.read(&entry.manifest.id, table)?, column);
        if samples.is_empty() {
            continue;
        }
        let values: Vec<f64> = samples.iter().map(|(_, value)| *value).collect();
        let steady = steady_from(&values);
        let window = match steady {
            Steady::From(cut) if cut > 0 => {
                let start = Micros(samples[cut - 1].0);
                Some(Window { name: STEADY.to_owned(), start, end: entry.manifest.end })
            }
            _ => None,
        };
        return Ok(Some(Found { response: format!("{table}.{column}"), window, steady }));
    }
    Ok(None)
}

/// Time and value of the series without a key, or of the only series there is.
fn samples(batches: &[RecordBatch], column: &str) -> Vec<(i64, f64)> {
    let mut samples = Vec::new();
    for batch in batches {
        let times = batch.column_by_name("t").and_then(|c| c.as_primitive_opt::<TimestampMicrosecondType>());
        let values = batch.column_by_name(column).and_then(|c| c.as_primitive_opt::<Float64Type>());
        let (Some(times), Some(values)) = (times, values) else { continue };
        let whole = |row: usize| {
            ["cpu", "operation", "database"].iter().all(|key| {
                let labels = batch.column_by_name(key).and_then(|c| c.as_dictionary_opt::<Int32Type>());
                labels.is_none_or(|labels| labels.is_null(row))
            })
        };
        let rows = (0..batch.num_rows()).filter(|row| values.is_valid(*row) && whole(*row));
        samples.extend(rows.map(|row| (times.value(row), values.value(row))));
    }
    // Several generators: what they did together at each moment.
    samples.sort_by_key(|(t, _)| *t);
    samples.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    samples
}

/// A window in words, as times from the run's begin.
pub fn words(entry: &RunEntry, window: &Window) -> String {
    let from = window.start.seconds_since(entry.manifest.start);
    let to = window.end.seconds_since(entry.manifest.start);
    format!("{from:.1} s .. {to:.1} s")
}
