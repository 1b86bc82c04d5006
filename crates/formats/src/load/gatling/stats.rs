//! `stats.json` and `global_stats.json` of Gatling's report.
//!
//! Which percentiles the four are is set in `gatling.conf` and not written; a group's times are those of its requests.

use serde_json::{Map, Value};

use super::figures::{Figures, Parts, What};
use crate::{
    Head, Input, Out, json,
    load::{names, tree},
};

/// The largest report that is held.
const LONGEST: usize = 64 << 20;
/// Groups within groups that are followed.
const DEEPEST: usize = 40;

const FIGURES: &[(&str, What)] = &[
    ("numberOfRequests", What::Count),
    ("meanNumberOfRequestsPerSecond", What::Rate),
    ("minResponseTime", What::Latency(names::LATENCY_MIN)),
    ("maxResponseTime", What::Latency(names::LATENCY_MAX)),
    ("meanResponseTime", What::Latency(names::LATENCY_MEAN)),
    ("standardDeviation", What::Latency(names::LATENCY_SD)),
    ("percentiles1", What::Percentile(50.0)),
    ("percentiles2", What::Percentile(75.0)),
    ("percentiles3", What::Percentile(95.0)),
    ("percentiles4", What::Percentile(99.0)),
];

pub(super) fn is_stats(head: &Head<'_>) -> bool {
    ["\"numberOfRequests\"", "\"meanResponseTime\"", "\"percentiles1\""].iter().all(|key| head.text.contains(key))
}

pub(super) fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let document = input.whole(LONGEST).and_then(|text| json::object(&text));
    let Some(document) = document else { return out.note(None, "no whole report of Gatling in JSON") };
    out.assume("percentiles 1 to 4 are Gatling's usual ones, 50, 75, 95 and 99, as the report does not say");
    if document.contains_key("stats") {
        node(&document, 0, out);
    } else {
        figures(&document, "", out);
    }
}

/// A request, or a group with what is in it.
fn node(object: &Map<String, Value>, depth: usize, out: &mut Out<'_>) {
    if let Some(stats) = tree::at(object, "stats").and_then(Value::as_object) {
        let path = tree::text(object, "path");
        let group = depth > 0 && tree::text(object, "type") == "GROUP";
        let operation = if group { format!("group {path}") } else { path.to_owned() };
        figures(stats, if depth > 0 { &operation } else { "" }, out);
    }
    if depth >= DEEPEST {
        return out.note(None, "groups within groups that are too deep");
    }
    for (_, child) in tree::entries(object, "contents") {
        if let Some(child) = child.as_object() {
            node(child, depth + 1, out);
        }
    }
}

fn figures(stats: &Map<String, Value>, operation: &str, out: &mut Out<'_>) {
    let mut figures = Figures::of(operation);
    for (key, what) in FIGURES {
        let parts: Parts = ["total", "ok", "ko"].map(|part| tree::figure(stats, &format!("{key}/{part}")));
        figures.write(out, *what, parts);
    }
    for group in ["group1", "group2", "group3"] {
        let title = tree::text(stats, &format!("{group}/name"));
        let count = tree::figure(stats, &format!("{group}/count"));
        if !title.is_empty() && !figures.range(out, title, count) {
            out.note(None, &format!("no range of times: {title}"));
        }
    }
}
