//! Averaged results (mean and standard deviation) and facts of several runs: facts are those of the representative
//! run, and those that differ between runs are marked.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{Array, RecordBatch, cast::AsArray, types::TimestampMicrosecondType};
use fenxi_model::{
    Micros, Rows,
    catalog::{event, result, text},
};
use fenxi_store::{RunResult, label};

use super::rule::is_percentile;

/// Adds the means of the results of all runs, and apart from them their spread; gives the names of those
/// that are percentiles and left out. The representative run comes first.
pub fn results(runs: &[Vec<RunResult>], means: &mut Rows, spreads: &mut Rows) -> Vec<String> {
    // By name and source; the first run defines what a result is.
    let mut found: BTreeMap<(&str, &str), Vec<&RunResult>> = BTreeMap::new();
    for result in runs.iter().flatten() {
        found.entry((&result.name, &result.source)).or_default().push(result);
    }
    let mut left_out = Vec::new();
    for ((name, source), results) in found {
        if is_percentile(name) {
            left_out.push(name.to_owned());
            continue;
        }
        let n = results.len() as f64;
        let mean = results.iter().map(|r| r.value).sum::<f64>() / n;
        let add = |rows: &mut Rows, value: f64| {
            let mut row = rows.row(&result::TABLE, None, None);
            row.str(result::name, name).f64(result::value, value).str(result::unit, &*results[0].unit);
            row.str(result::better, &*results[0].better.to_string()).str(result::source, source);
        };
        add(means, mean);
        if results.len() > 1 {
            add(spreads, (results.iter().map(|r| (r.value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt());
        }
    }
    left_out
}

/// Longest text of a fact that is quoted where it differs.
const QUOTED: usize = 60;

/// Adds the facts of the first of the runs, and for each that is not the same in all a fact of the topic
/// `differs` with what it is in how many.
pub fn facts(read: &[BTreeMap<(String, String), String>], rows: &mut Rows) {
    let Some(first) = read.first() else { return };
    for ((topic, name), value) in first {
        fact(rows, topic, name, value);
    }
    let names: BTreeSet<&(String, String)> = read.iter().flat_map(BTreeMap::keys).collect();
    for name in names {
        let mut seen: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for run in read {
            *seen.entry(run.get(name).map(String::as_str)).or_default() += 1;
        }
        if seen.len() > 1 {
            let said: Vec<String> = seen.into_iter().map(|(value, n)| format!("{} in {n}", quoted(value))).collect();
            fact(rows, "differs", &format!("{} {}", name.0, name.1), &said.join("; "));
        }
    }
}

fn quoted(value: Option<&str>) -> String {
    let Some(value) = value else { return "missing".to_owned() };
    let short: String = value.chars().take(QUOTED).collect();
    let more = if short.len() < value.len() { "…" } else { "" };
    format!("`{}{more}`", short.replace('\n', " "))
}

/// Adds one fact.
pub fn fact(rows: &mut Rows, topic: &str, name: &str, value: &str) {
    let mut row = rows.row(&text::TABLE, None, None);
    row.str(text::topic, topic).str(text::name, name).text(text::value, value);
}

/// Adds the events of the representative run between two moments.
pub fn events(batches: &[RecordBatch], start: Micros, end: Micros, rows: &mut Rows) {
    for batch in batches {
        let times = batch.column_by_name("t").and_then(|c| c.as_primitive_opt::<TimestampMicrosecondType>());
        let messages = batch.column_by_name("message").and_then(|c| c.as_string_opt::<i32>());
        let (Some(times), Some(messages)) = (times, messages) else { continue };
        for row in (0..batch.num_rows()).filter(|row| times.is_valid(*row)) {
            let t = Micros(times.value(row));
            if t < start || t > end {
                continue;
            }
            let mut new = rows.row(&event::TABLE, t, None);
            new.str(event::kind, label(batch, "kind", row)).str(event::subject, label(batch, "subject", row));
            new.text(event::message, messages.is_valid(row).then(|| messages.value(row)));
        }
    }
}
