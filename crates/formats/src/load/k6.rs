//! k6: the summary at the end as text, and as JSON (`--summary-export`, `handleSummary`).
//!
//! Every metric has a line or an object with its statistics; trends of time are milliseconds in
//! JSON and have units in the text. A rate's `passes` are how often it was true, which for
//! `http_req_failed` means failed.

use serde_json::Value;

use super::{
    names::{self, Results},
    units::milliseconds,
};
use crate::{Family, Format, Head, Input, Out, Sure, json, number, scaled};

/// Importer for k6.
pub static FORMAT: Format = Format {
    name: "k6",
    summary: "k6: summary at the end, --summary-export, handleSummary as JSON",
    family: Family::Load,
    tables: &[],
    example: "\
     http_req_duration..............: avg=49.38ms min=3.04ms med=47.63ms max=103.5ms p(90)=59.54ms p(95)=63.85ms
     http_reqs......................: 142     46.594618/s
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let json = head.text.trim_start().starts_with('{')
        && head.text.contains("\"metrics\"")
        && ["\"iteration_duration\"", "\"http_req_", "\"vus_max\"", "\"iterations\""]
            .iter()
            .any(|m| head.text.contains(m));
    let text = head
        .any(|l| entry(l).is_some_and(|(name, _)| ["iteration_duration", "iterations", "http_reqs"].contains(&name)));
    Sure::Certain.when(json || text || head.any(|l| l.contains("execution: local")))
}

/// A summary is some kilobytes.
const MAX_BYTES: usize = 64 << 20;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    if !input.head().trim_start().starts_with('{') {
        read_text(input, out);
        return;
    }
    let document = input.whole(MAX_BYTES).and_then(|text| json::object(&text));
    let Some(document) = document else {
        out.note(None, "no complete summary of k6");
        return;
    };
    let mut metrics = Metrics::default();
    for (name, metric) in document.get("metrics").and_then(Value::as_object).into_iter().flatten() {
        let Some(metric) = metric.as_object() else { continue };
        for (threshold, crossed) in metric.get("thresholds").and_then(Value::as_object).into_iter().flatten() {
            // An export has whether it was crossed, a summary whether it is met.
            let crossed = crossed.as_bool().or_else(|| Some(!crossed.get("ok")?.as_bool()?));
            metrics.threshold(name, threshold, crossed, out);
        }
        let values = metric.get("values").and_then(Value::as_object).unwrap_or(metric);
        // An export does not say what a trend is of; k6's own ones of time have these names.
        let time = match metric.get("contains").and_then(Value::as_str) {
            Some(contains) => contains == "time",
            None => name.starts_with("http_req_") || name.contains("_duration"),
        };
        let unit = if time { "ms" } else { "" };
        for (stat, value) in values {
            if let Some(value) = value.as_f64() {
                metrics.stat(name, stat, value, unit, out);
            }
        }
    }
    let elapsed = document.get("state").and_then(|s| s.get("testRunDurationMs")).and_then(Value::as_f64);
    metrics.results.set(out, names::ELAPSED, elapsed.map(|ms| ms / 1e3));
    metrics.finish(out);
}

#[derive(Default)]
struct Metrics {
    results: Results,
    /// Requests per second and iterations per second: the first is the throughput where there is one.
    rates: (Option<f64>, Option<f64>),
    counts: (Option<f64>, Option<f64>),
}

impl Metrics {
    fn stat(&mut self, metric: &str, stat: &str, value: f64, unit: &str, out: &mut Out<'_>) {
        let results = &mut self.results;
        match (metric, stat) {
            ("http_req_duration", _) => match percent(stat) {
                Some(percent) => results.percentile(out, percent, "", value),
                None if stat == "avg" => results.set(out, names::LATENCY_MEAN, value),
                None => {}
            },
            ("http_reqs", "rate") => self.rates.0 = Some(value),
            ("http_reqs", "count") => self.counts.0 = Some(value),
            ("iterations", "rate") => self.rates.1 = Some(value),
            ("iterations", "count") => self.counts.1 = Some(value),
            ("http_req_failed", "rate" | "value") => results.set(out, names::ERROR_SHARE, value * 100.0),
            ("http_req_failed", "passes") => results.set(out, names::ERRORS, value),
            ("vus", "max") => results.set(out, names::CLIENTS, value),
            ("data_received", "count") => results.set(out, names::TRANSFER_BYTES, value),
            ("data_received", "rate") => results.set(out, names::TRANSFER_BYTES_PER_S, value),
            ("iteration_duration", "avg") => results.of(out, names::LATENCY_MEAN, "iteration", value),
            ("iteration_duration", _) if percent(stat).is_some() => {
                results.percentile(out, percent(stat).unwrap_or(0.0), "iteration", value);
            }
            _ => {
                // Numbers of a trend, or counts: only the former have the unit.
                let unit = if matches!(stat, "count" | "rate" | "value" | "passes" | "fails") { "" } else { unit };
                out.metric(None, None, &format!("k6.{metric}.{stat}"), "", value, unit);
            }
        }
    }

    fn threshold(&mut self, metric: &str, threshold: &str, crossed: Option<bool>, out: &mut Out<'_>) {
        let word = match crossed {
            Some(true) => "crossed",
            Some(false) => "kept",
            None => "unknown",
        };
        out.fact("load", &format!("k6 threshold {metric} {threshold}"), word);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.results.set(out, names::THROUGHPUT, self.rates.0.or(self.rates.1));
        self.results.set(out, names::TRANSACTIONS, self.counts.0.or(self.counts.1));
        if self.counts.0.is_some() {
            self.results.of(out, names::TRANSACTIONS, "iteration", self.counts.1);
            self.results.of(out, names::THROUGHPUT, "iteration", self.rates.1);
        }
    }
}

/// The percentile that `p(95)`, `med`, `min` or `max` is.
fn percent(stat: &str) -> Option<f64> {
    match stat {
        "min" => Some(0.0),
        "med" => Some(50.0),
        "max" => Some(100.0),
        _ => number(stat.strip_prefix("p(")?.strip_suffix(')')?),
    }
}

/// A metric's line `✓ http_req_duration..............: avg=49.38ms ...`: its name and what follows.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (front, rest) = line.split_once(": ")?;
    let name = front.trim_end_matches('.');
    let name = name.trim_start_matches(['✓', '✗', ' ']);
    (front.len() > name.len() && front.ends_with('.') && !name.is_empty()).then_some((name, rest.trim()))
}

fn read_text(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut metrics = Metrics::default();
    let mut last = String::new();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text().trim());
        let Some((name, rest)) = entry(line) else {
            if !line.is_empty() && !is_known(line) {
                out.unknown(number, line, "no line of k6's summary");
            }
            continue;
        };
        // `{ expected_response:true }` is a part of the metric above it.
        let full = if name.starts_with('{') { format!("{last}{}", name.replace(' ', "")) } else { name.to_owned() };
        if !name.starts_with('{') {
            name.clone_into(&mut last);
        }
        if !metrics.text(&full, rest, out) {
            out.unknown(number, line, "no statistics of a metric");
        }
    }
    metrics.finish(out);
}

impl Metrics {
    fn text(&mut self, name: &str, rest: &str, out: &mut Out<'_>) -> bool {
        if rest.contains('=') && rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            // A trend.
            for (stat, value) in rest.split_ascii_whitespace().filter_map(|pair| pair.split_once('=')) {
                let (value, unit) = match milliseconds(value) {
                    Some(ms) => (Some(ms), "ms"),
                    None => (number(value), ""),
                };
                if let Some(value) = value {
                    self.stat(name, stat, value, unit, out);
                }
            }
            return true;
        }
        let mut words = rest.split_ascii_whitespace();
        let Some(first) = words.next() else { return false };
        if let Some(share) = first.strip_suffix('%').and_then(number) {
            // `0.68%  1 out of 147`, and before 0.53 `0.68% ✓ 1        ✗ 146`
            self.stat(name, "rate", share / 100.0, "", out);
            let mut counts = words.filter_map(number);
            if let Some(passes) = counts.next() {
                self.stat(name, "passes", passes, "", out);
            }
            return true;
        }
        // `142     46.594618/s`, `50 kB   16 kB/s`, `3       min=3 max=3`
        let joined: Vec<&str> = rest.split_ascii_whitespace().collect();
        let (count, rate) = match joined[..] {
            [count, rate] if rate.ends_with("/s") => (number(count), number(rate.trim_end_matches("/s"))),
            [count, unit, rate, per] if per.ends_with("B/s") => {
                let bytes = |n: &str, unit: &str| scaled(&format!("{n}{unit}"), 1000.0);
                (bytes(count, unit), bytes(rate, per.trim_end_matches("/s")))
            }
            _ => {
                for (stat, value) in joined.iter().filter_map(|w| w.split_once('=')) {
                    if let Some(value) = number(value) {
                        self.stat(name, stat, value, "", out);
                    }
                }
                let value = number(first);
                value.into_iter().for_each(|v| self.stat(name, "value", v, "", out));
                return value.is_some();
            }
        };
        for (stat, value) in [("count", count), ("rate", rate)] {
            if let Some(value) = value {
                self.stat(name, stat, value, "", out);
            }
        }
        count.is_some()
    }
}

/// Whether a line draws the logo, the progress or the checks.
fn is_known(line: &str) -> bool {
    let begins = [
        "/",
        "\\",
        "|",
        "execution:",
        "script:",
        "output:",
        "scenarios:",
        "*",
        "running (",
        "default",
        "█",
        "✓",
        "✗",
        "↳",
        "time=",
        "HTTP",
        "EXECUTION",
        "NETWORK",
        "CUSTOM",
        "TOTAL RESULTS",
        "THRESHOLDS",
        "CHECKS",
        "WEBSOCKET",
        "GRPC",
        "BROWSER",
        "checks_",
        "http_req_duration",
        "http_req_failed",
        "web dashboard",
    ];
    // The title of a metric's thresholds.
    let single = line.bytes().all(|b| b.is_ascii_alphanumeric() || b"_{}:.-".contains(&b));
    single
        || begins.iter().any(|b| line.starts_with(b))
        || line.contains("VUs")
        || line.contains("/‾")
        || line.contains("/\\")
}
