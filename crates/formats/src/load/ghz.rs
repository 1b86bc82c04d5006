//! Documents of `ghz`, a load generator for gRPC: `-O json` and `-O pretty`. `formats/load/ghz.toml` describes the rest.

use serde_json::{Map, Value};

use super::{
    names::{self, LATENCY_BUCKETS, Results},
    tree::{entries, figure, objects, text},
};
use crate::{Input, Out, json};

/// Details are about a hundred bytes a call.
const MAX_BYTES: usize = 256 << 20;

/// Reads a document.
pub(crate) fn read_json(input: &mut Input<'_>, out: &mut Out<'_>) {
    let Some(document) = input.whole(MAX_BYTES).and_then(|text| json::object(&text)) else {
        out.note(None, "no complete document of ghz");
        return;
    };
    let mut results = Results::default();
    let ms = |object: &Map<String, Value>, key: &str| figure(object, key).map(|ns| ns / 1e6);
    results.set(out, names::TRANSACTIONS, figure(&document, "count"));
    results.set(out, names::ELAPSED, ms(&document, "total").map(|ms| ms / 1e3));
    results.set(out, names::LATENCY_MAX, ms(&document, "slowest"));
    results.set(out, names::LATENCY_MIN, ms(&document, "fastest"));
    results.set(out, names::LATENCY_MEAN, ms(&document, "average"));
    results.set(out, names::THROUGHPUT, figure(&document, "rps"));
    results.set(out, names::CLIENTS, figure(&document, "options/concurrency"));
    results.set(out, names::OFFERED_PER_S, figure(&document, "options/rps").filter(|rate| *rate > 0.0));
    for row in objects(&document, "latencyDistribution") {
        if let Some(percent) = figure(row, "percentage") {
            results.percentile(out, percent, "", ms(row, "latency"));
        }
    }
    let failed = entries(&document, "statusCodeDistribution").filter(|(code, _)| *code != "OK");
    results.set(out, names::ERRORS, failed.filter_map(|(_, n)| n.as_f64()).sum::<f64>());
    for (error, count) in entries(&document, "errorDistribution") {
        out.fact("load", "ghz error", &format!("[{count}]   {error}"));
    }
    for key in ["call", "host"] {
        out.fact("load", &format!("ghz {key}"), text(&document, &format!("options/{key}")));
    }
    let mut lo = 0.0;
    for bucket in objects(&document, "histogram") {
        let (Some(hi), Some(count)) = (figure(bucket, "mark").map(|s| s * 1e3), figure(bucket, "count")) else {
            continue;
        };
        if count > 0.0 && hi > lo {
            out.bucket(None, None, LATENCY_BUCKETS, "", lo, hi, "ms", count);
        }
        lo = hi;
    }
}
