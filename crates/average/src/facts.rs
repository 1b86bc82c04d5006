//! Results and facts of several runs: results as means with their spread, facts as the representative run
//! has them, with those marked that are not the same in all.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, Int32Type, TimestampMicrosecondType},
};
use fenxi_model::{
    Micros, Rows,
    catalog::{event, result, text},
};

use crate::rule::is_percentile;

/// What a result is called and said to be: name and source, unit and direction.
type ResultName = (String, String);

/// Adds the means of the results of all runs, and apart from them their spread; gives the names of those
/// that are percentiles and left out. The representative run comes first.
pub fn results(runs: &[Vec<RecordBatch>], means: &mut Rows, spreads: &mut Rows) -> Vec<String> {
    let mut values: BTreeMap<ResultName, Vec<f64>> = BTreeMap::new();
    let mut described: BTreeMap<ResultName, (String, String)> = BTreeMap::new();
    for batch in runs.iter().flatten() {
        let Some(numbers) = batch.column_by_name("value").and_then(|c| c.as_primitive_opt::<Float64Type>()) else {
            continue;
        };
        for row in (0..batch.num_rows()).filter(|row| numbers.is_valid(*row)) {
            let label = |name| label(batch, name, row).unwrap_or_default().to_owned();
            let name = (label("name"), label("source"));
            described.entry(name.clone()).or_insert_with(|| (label("unit"), label("better")));
            values.entry(name).or_default().push(numbers.value(row));
        }
    }
    let mut left_out = Vec::new();
    for (name, values) in values {
        if is_percentile(&name.0) {
            left_out.push(name.0);
            continue;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let (unit, better) = described.remove(&name).unwrap_or_default();
        let add = |rows: &mut Rows, value: f64| {
            let mut row = rows.row(&result::TABLE, None, None);
            row.str(result::name, &*name.0).f64(result::value, value).str(result::unit, &*unit);
            row.str(result::better, &*better).str(result::source, &*name.1);
        };
        add(means, mean);
        if values.len() > 1 {
            add(spreads, (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0)).sqrt());
        }
    }
    left_out
}

/// Longest text of a fact that is quoted where it differs.
const QUOTED: usize = 60;

/// Adds the facts of the first of the runs, and for each that is not the same in all a fact of the topic
/// `differs` with what it is in how many.
pub fn facts(runs: &[Vec<RecordBatch>], rows: &mut Rows) {
    let read: Vec<BTreeMap<(String, String), String>> = runs.iter().map(|batches| of_run(batches)).collect();
    let Some(first) = read.first() else { return };
    for ((topic, name), value) in first {
        fact(rows, topic, name, value);
    }
    let names: BTreeSet<&(String, String)> = read.iter().flat_map(BTreeMap::keys).collect();
    for name in names {
        let mut seen: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for run in &read {
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

fn of_run(batches: &[RecordBatch]) -> BTreeMap<(String, String), String> {
    let mut facts = BTreeMap::new();
    for batch in batches {
        let Some(values) = batch.column_by_name("value").and_then(|c| c.as_string_opt::<i32>()) else { continue };
        for row in (0..batch.num_rows()).filter(|row| values.is_valid(*row)) {
            if label(batch, "phase", row) != Some("end") {
                let label = |name| label(batch, name, row).unwrap_or_default().to_owned();
                facts.insert((label("topic"), label("name")), values.value(row).to_owned());
            }
        }
    }
    facts
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

fn label<'b>(batch: &'b RecordBatch, name: &str, row: usize) -> Option<&'b str> {
    let labels = batch.column_by_name(name)?.as_dictionary_opt::<Int32Type>()?;
    Some(labels.values().as_string_opt::<i32>()?.value(labels.key(row)?))
}
