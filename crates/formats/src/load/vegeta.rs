//! Reports of vegeta as JSON, whose times are nanoseconds. `formats/load/vegeta.toml` describes the rest.

use fenxi_model::{Micros, catalog::load};
use serde_json::{Map, Value};

use super::names::{self, Results};
use crate::{Input, Out, json, number};

/// Reads reports, each of which is a line.
pub(crate) fn read_json(input: &mut Input<'_>, out: &mut Out<'_>) {
    input.each_line(|at, line| {
        let line = line.trim();
        if !line.is_empty() && !json::object(line).is_some_and(|report| report_of(&report, out)) {
            out.unknown(at, line, "no report of vegeta");
        }
    });
}

fn report_of(report: &Map<String, Value>, out: &mut Out<'_>) -> bool {
    let Some(latencies) = report.get("latencies").and_then(Value::as_object) else { return false };
    let mut results = Results::default();
    let value = |key: &str| report.get(key).and_then(Value::as_f64);
    let nanos = |key: &str| value(key).map(|ns| ns / 1e9);
    let elapsed = nanos("duration").map(|s| s + nanos("wait").unwrap_or(0.0));
    let share = value("success").map(|ratio| 100.0 * (1.0 - ratio));
    results.set(out, names::TRANSACTIONS, value("requests"));
    results.set(out, names::OFFERED_PER_S, value("rate"));
    results.set(out, names::THROUGHPUT, value("throughput"));
    results.set(out, names::ELAPSED, elapsed);
    results.set(out, names::ERROR_SHARE, share);
    results.set(
        out,
        names::TRANSFER_BYTES,
        report.get("bytes_in").and_then(|b| b.get("total")).and_then(Value::as_f64),
    );
    let codes = report.get("status_codes").and_then(Value::as_object).into_iter().flatten();
    let bad = codes.filter(|(code, _)| number(code).is_none_or(|c| !(200.0..400.0).contains(&c)));
    results.set(out, names::ERRORS, bad.filter_map(|(_, n)| n.as_f64()).sum::<f64>());
    for (key, ns) in latencies {
        let ms = ns.as_f64().map(|ns| ns / 1e6);
        match key.as_str() {
            "mean" => results.set(out, names::LATENCY_MEAN, ms),
            "min" => results.set(out, names::LATENCY_MIN, ms),
            "max" => results.set(out, names::LATENCY_MAX, ms),
            _ => {
                if let Some(percent) = key.strip_suffix("th").and_then(number) {
                    results.percentile(out, percent, "", ms);
                }
            }
        }
    }
    let end = report.get("end").and_then(Value::as_str).and_then(Micros::parse);
    if let Some(end) = end {
        let mut row = out.row(&load::TABLE, end, elapsed);
        row.str(load::generator, "vegeta").f64(load::offered_per_s, value("rate"));
        row.f64(load::transactions_per_s, value("throughput"));
        row.f64(load::latency_mean_ms, latencies.get("mean").and_then(Value::as_f64).map(|ns| ns / 1e6));
    }
    true
}
