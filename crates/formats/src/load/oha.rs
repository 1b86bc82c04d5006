//! `oha`: the report as text, and as JSON (`--output-format json`, before that `--json`).

use fenxi_model::catalog::histogram;
use serde_json::{Map, Value};

use super::{
    hey,
    names::{self, LATENCY_BUCKETS, Results},
};
use crate::{Family, Format, Head, Input, Out, Sure, json, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "oha",
    summary: "oha: report as text and as JSON",
    family: Family::Load,
    tables: &[&histogram::TABLE],
    example: "\
Summary:
  Success rate:\t100.00%
  Total:\t2.0012 sec
  Slowest:\t0.0721 sec
  Requests/sec:\t155.4938
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let json = head.text.trim_start().starts_with('{')
        && head.text.contains("\"successRate\"")
        && head.text.contains("\"requestsPerSec\"");
    let text = hey::is_report(head) && head.any(|l| l.starts_with("Success rate:"));
    Sure::Certain.when(json || text)
}

/// A report is some kilobytes; a long run's `rps` statistics do not grow.
const MAX_BYTES: usize = 64 << 20;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    if !input.head().trim_start().starts_with('{') {
        hey::read_report(input, out);
        return;
    }
    let document = input.whole(MAX_BYTES).and_then(|text| json::object(&text));
    let Some(document) = document else {
        out.note(None, "no complete report of oha");
        return;
    };
    let mut results = Results::default();
    let summary = |key: &str| document.get("summary").and_then(|s| s.get(key)).and_then(Value::as_f64);
    let ms = |key: &str| summary(key).map(|s| s * 1e3);
    results.set(out, names::ELAPSED, summary("total"));
    results.set(out, names::THROUGHPUT, summary("requestsPerSec"));
    results.set(out, names::ERROR_SHARE, summary("successRate").map(|rate| 100.0 * (1.0 - rate)));
    results.set(out, names::LATENCY_MEAN, ms("average"));
    results.set(out, names::LATENCY_MIN, ms("fastest"));
    results.set(out, names::LATENCY_MAX, ms("slowest"));
    results.set(out, names::TRANSFER_BYTES, summary("totalData"));
    results.set(out, names::TRANSFER_BYTES_PER_S, summary("sizePerSec"));
    for (key, value) in object(&document, "latencyPercentiles") {
        if let (Some(percent), Some(seconds)) = (key.strip_prefix('p').and_then(number), value.as_f64()) {
            results.percentile(out, percent, "", seconds * 1e3);
        }
    }
    let count = |key: &str| object(&document, key).filter_map(|(_, n)| n.as_f64()).sum::<f64>();
    let status = object(&document, "statusCodeDistribution");
    let bad = status.filter(|(code, _)| number(code).is_some_and(|c| c >= 400.0));
    let errors = bad.filter_map(|(_, n)| n.as_f64()).sum::<f64>() + count("errorDistribution");
    results.set(out, names::TRANSACTIONS, count("statusCodeDistribution"));
    results.set(out, names::ERRORS, errors);
    for (name, labels) in PARTS {
        buckets(object(&document, name), labels, out);
    }
}

/// Histograms of the report and what distinguishes them.
const PARTS: &[(&str, &str)] = &[
    ("responseTimeHistogram", ""),
    ("responseTimeHistogramSuccessful", "responses=2xx"),
    ("responseTimeHistogramNotSuccessful", "responses=4xx + 5xx"),
    ("firstByteHistogram", "until=first byte"),
];

fn object<'a>(document: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    document.get(key).and_then(Value::as_object).into_iter().flatten()
}

/// Keys are upper bounds in seconds, in no order.
fn buckets<'a>(entries: impl Iterator<Item = (&'a String, &'a Value)>, labels: &str, out: &mut Out<'_>) {
    let mut bounds: Vec<_> = entries.filter_map(|(key, n)| Some((number(key)? * 1e3, n.as_f64()?))).collect();
    bounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lo = 0.0;
    for (hi, count) in bounds {
        if count > 0.0 && hi > lo {
            out.bucket(None, None, LATENCY_BUCKETS, labels, lo, hi, "ms", count);
        }
        lo = hi;
    }
}
