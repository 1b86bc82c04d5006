//! BenchBase and OLTP-Bench: `summary.json`, the whole run in one document.

use fenxi_model::{Micros, catalog::load};
use serde_json::{Map, Value};

use super::names::{self, Results};
use crate::{Family, Format, Head, Input, Out, Sure, json, number};

/// Importer for BenchBase, OLTP-Bench *.summary.json.
pub static FORMAT: Format = Format {
    name: "benchbase",
    summary: "BenchBase, OLTP-Bench: *.summary.json",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: r#"{
    "Start timestamp (milliseconds)": 1700000000000,
    "Elapsed Time (nanoseconds)": 60000170238,
    "Benchmark Type": "tpcc",
    "Throughput (requests/second)": 1202.5
}
"#,
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let text = head.text.trim_start();
    let own = text.starts_with('{') && text.contains("\"Benchmark Type\"") && text.contains("(requests/second)\"");
    Sure::Certain.when(own)
}

/// A summary is a few kilobytes.
const MAX_BYTES: usize = 16 << 20;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let document = input.whole(MAX_BYTES).and_then(|text| json::object(&text));
    let Some(document) = document else {
        out.note(None, "no complete summary of BenchBase");
        return;
    };
    let mut results = Results::default();
    let value = |key: &str| document.get(key).and_then(figure);
    let seconds = value("Elapsed Time (nanoseconds)").map(|ns| ns / 1e9);
    let throughput = value("Throughput (requests/second)");
    results.set(out, names::ELAPSED, seconds);
    results.set(out, names::TRANSACTIONS, value("Measured Requests"));
    results.set(out, names::THROUGHPUT, throughput);
    results.other(out, "goodput", value("Goodput (requests/second)"), "/s");
    results.set(out, names::CLIENTS, value("terminals"));
    let empty = Map::new();
    let latency = document.get("Latency Distribution").and_then(Value::as_object).unwrap_or(&empty);
    for (key, us) in latency.iter().filter_map(|(key, us)| Some((key, figure(us)?))) {
        match latency_of(key) {
            Some(Latency::Mean) => results.set(out, names::LATENCY_MEAN, us / 1e3),
            Some(Latency::Percentile(percent)) => results.percentile(out, percent, "", us / 1e3),
            None => out.metric(None, None, &format!("benchbase.{key}"), "", us, ""),
        }
    }
    for (key, text) in document.iter().filter(|(key, _)| !FIGURES.contains(&key.as_str())) {
        let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
        out.fact("load", &format!("benchbase {key}"), &text);
    }
    // The run as one interval, where it has its begin.
    if let (Some(start), Some(seconds)) = (value("Start timestamp (milliseconds)"), seconds) {
        let t = Micros((start * 1e3 + seconds * 1e6) as i64);
        let mut row = out.row(&load::TABLE, t, seconds);
        row.str(load::generator, "benchbase run").f64(load::transactions_per_s, throughput);
    }
}

/// Some versions print numbers as text.
fn figure(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| number(value.as_str()?))
}

/// Statistic of a latency key or column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Latency {
    /// The mean.
    Mean,
    /// A percentile; 0 is the minimum and 100 the maximum.
    Percentile(f64),
}

/// Reads `95th Percentile Latency (microseconds)`, `Average Latency (millisecond)`, and `95th_lat(ms)`
/// of older versions.
pub fn latency_of(key: &str) -> Option<Latency> {
    let end = key.find(" Latency").or_else(|| key.find("_lat("))?;
    let name = key.get(..end)?;
    Some(match name {
        "Average" | "avg" => Latency::Mean,
        "Minimum" | "min" => Latency::Percentile(0.0),
        "Median" | "median" => Latency::Percentile(50.0),
        "Maximum" | "max" => Latency::Percentile(100.0),
        _ => Latency::Percentile(number(name.trim_end_matches(" Percentile").strip_suffix("th")?)?),
    })
}

/// Keys that are written as figures; the others are facts.
const FIGURES: &[&str] = &[
    "Elapsed Time (nanoseconds)",
    "Measured Requests",
    "Throughput (requests/second)",
    "Goodput (requests/second)",
    "terminals",
    "Latency Distribution",
    "Start timestamp (milliseconds)",
    "Current Timestamp (milliseconds)",
];
