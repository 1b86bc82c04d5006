//! vegeta: `report` as text and as JSON. Times in JSON are nanoseconds.

use fenxi_model::{Micros, catalog::load};
use serde_json::{Map, Value};

use super::{
    names::{self, Results},
    units::milliseconds,
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "vegeta",
    summary: "vegeta: report -type=text and -type=json",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: "\
Requests      [total, rate, throughput]         1200, 120.00, 65.87
Duration      [total, attack, wait]             10.094965987s, 9.949883921s, 145.082066ms
Latencies     [min, mean, 50, 90, 95, 99, max]  1.2ms, 13.26ms, 12ms, 17.35ms, 21.56ms, 25.6ms, 2.46s
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let json = head.text.trim_start().starts_with("{\"latencies\"") && head.text.contains("\"bytes_in\"");
    let text = head.any(|l| l.starts_with("Requests ") && l.contains("[total, rate"));
    Sure::Certain.when(json || text)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let json = input.head().trim_start().starts_with('{');
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text().trim());
        if line.is_empty() {
            continue;
        }
        let known = match json {
            // Each report is one line.
            true => serde_json::from_str::<Map<String, Value>>(line).is_ok_and(|report| of_json(&report, out)),
            false => of_text(line, &mut Results::default(), out),
        };
        if !known {
            out.unknown(number, line, "no report of vegeta");
        }
    }
}

/// `Latencies     [min, mean, 50, 90, 95, 99, max]  1.2ms, 13.26ms, 12ms, 17.35ms, 21.56ms, 25.6ms, 2.46s`
fn of_text(line: &str, results: &mut Results, out: &mut Out<'_>) -> bool {
    let Some((title, rest)) = line.split_once('[') else {
        // Errors are listed below their title, one a line.
        if line != "Error Set:" {
            out.fact("load", "vegeta error", line);
        }
        return true;
    };
    let Some((names, values)) = rest.split_once(']') else { return false };
    let values = values.trim();
    if title.trim() == "Status Codes" {
        let codes = values.split_ascii_whitespace().filter_map(|pair| pair.split_once(':'));
        let bad = codes.filter_map(|(code, n)| Some((number(code)?, number(n)?)));
        let errors: f64 = bad.filter(|(code, _)| !(200.0..400.0).contains(code)).map(|(_, n)| n).sum();
        results.set(out, names::ERRORS, errors);
        return true;
    }
    for (name, value) in names.split(',').map(str::trim).zip(values.split(", ")) {
        let ms = milliseconds(value);
        match (title.trim(), name) {
            ("Requests", "total") => results.set(out, names::TRANSACTIONS, number(value)),
            ("Requests", "rate") => results.set(out, names::OFFERED_PER_S, number(value)),
            ("Requests", "throughput") => results.set(out, names::THROUGHPUT, number(value)),
            ("Duration", "total") => results.set(out, names::ELAPSED, ms.map(|ms| ms / 1e3)),
            ("Latencies", "mean") => results.set(out, names::LATENCY_MEAN, ms),
            ("Latencies", "min") => results.set(out, names::LATENCY_MIN, ms),
            ("Latencies", "max") => results.set(out, names::LATENCY_MAX, ms),
            ("Latencies", percent) => match number(percent) {
                Some(percent) => results.percentile(out, percent, "", ms),
                None => return false,
            },
            ("Bytes In", "total") => results.set(out, names::TRANSFER_BYTES, number(value)),
            ("Success", "ratio") => {
                results.set(out, names::ERROR_SHARE, number(value.trim_end_matches('%')).map(|p| 100.0 - p));
            }
            ("Duration" | "Bytes In" | "Bytes Out", _) => {}
            _ => return false,
        }
    }
    true
}

fn of_json(report: &Map<String, Value>, out: &mut Out<'_>) -> bool {
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
