//! The lines of `perf stat -j`: one object for each counter.

use serde::Deserialize;
use serde_json::Value;

use super::{Reading, base_unit, clock_unit};
use crate::number;

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Line {
    interval: Option<f64>,
    cpu: Option<Value>,
    core: Option<Value>,
    die: Option<Value>,
    cluster: Option<Value>,
    cache: Option<Value>,
    socket: Option<Value>,
    node: Option<Value>,
    thread: Option<Value>,
    counter_value: Option<Value>,
    unit: Option<String>,
    cgroup: Option<String>,
    event: Option<String>,
    variance: Option<f64>,
    pcnt_running: Option<f64>,
    metric_value: Option<Value>,
    metric_unit: Option<String>,
}

pub(super) fn is_reading(line: &str) -> bool {
    line.starts_with('{') && (line.contains("\"counter-value\"") || line.contains("\"metric-value\""))
}

pub(super) fn reading(line: &str) -> Option<Reading> {
    let line: Line = serde_json::from_str(line.trim().trim_end_matches(',')).ok()?;
    let places = [
        ("cpu", &line.cpu),
        ("core", &line.core),
        ("die", &line.die),
        ("cluster", &line.cluster),
        ("cache", &line.cache),
        ("socket", &line.socket),
        ("node", &line.node),
        ("thread", &line.thread),
    ];
    let place = places.into_iter().find_map(|(kind, value)| Some(format!("{kind}={}", words(value.as_ref()?)?)));
    let what = line.metric_unit.unwrap_or_default();
    let derived = line.metric_value.as_ref().and_then(figure).map(|value| (value, what));
    let event = line.event.unwrap_or_default();
    let unit = line.unit.unwrap_or_default();
    // The figures have decimals whatever they count; versions that print milliseconds name them.
    let (unit, scale) = match base_unit(&unit)? {
        ("", scale) => clock_unit(&event, true).unwrap_or(("", scale)),
        known => known,
    };
    if line.counter_value.is_none() && derived.is_none() {
        return None;
    }
    Some(Reading {
        time: line.interval,
        place: place.unwrap_or_default(),
        value: line.counter_value.as_ref().and_then(figure).map(|value| value * scale),
        unit,
        event,
        pmu: String::new(),
        cgroup: line.cgroup.unwrap_or_default(),
        running: line.pcnt_running,
        deviation: line.variance,
        derived: derived.filter(|(_, what)| !what.is_empty()),
    })
}

/// Numbers are written as numbers or, the counters, as text.
fn figure(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| number(value.as_str()?.trim()))
}

fn words(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned).or_else(|| value.as_f64().map(|n| n.to_string()))
}
