//! fio's JSON: `--output-format=json` and `json+`, of version 2 and later.
//!
//! Version 2 has microseconds where 3 has nanoseconds, and calls kibibytes bytes. With
//! `--status-interval` several documents follow each other, each about the time since the begin.

use fenxi_model::Micros;
use serde::de::DeserializeSeed as _;
use serde_json::{Map, Value};

use super::report::{Report, Side};
use crate::{
    Out,
    json::{Bounded, MOST_VALUES},
    load::names::Results,
    number,
};

/// Values of one document: some hundred jobs with all their bins have a million.
const MOST: usize = 2 * MOST_VALUES;

/// Reads all documents in `text`, which may have other lines in front.
pub fn read(text: &str, out: &mut Out<'_>) {
    let begin = text.find('{').unwrap_or(text.len());
    let mut before: Option<(Report, Map<String, Value>)> = None;
    let mut documents = serde_json::Deserializer::from_str(&text[begin..]);
    while documents.end().is_err() {
        let Ok(Value::Object(document)) = Bounded::new(&mut { MOST }).deserialize(&mut documents) else {
            out.note(None, "the JSON document is not complete");
            break;
        };
        let report = report(&document);
        report.write_rows(before.as_ref().map(|(report, _)| report), out);
        if before.is_none() {
            facts(&document, out);
        }
        before = Some((report, document));
    }
    if let Some((last, document)) = before {
        disks(&document, &last, out);
        last.write_results(out, &mut Results::default());
    }
}

fn figure(object: &Map<String, Value>, key: &str) -> Option<f64> {
    let value = object.get(key)?;
    value.as_f64().or_else(|| number(value.as_str()?.trim_end_matches('%')))
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or("")
}

fn facts(document: &Map<String, Value>, out: &mut Out<'_>) {
    out.fact("load", "fio", text(document, "fio version").trim_start_matches("fio-"));
    let options = document.get("global options").and_then(Value::as_object);
    for (name, value) in options.into_iter().flatten() {
        out.fact("load", &format!("fio {name}"), value.as_str().unwrap_or(""));
    }
}

fn report(document: &Map<String, Value>) -> Report {
    let ms = figure(document, "timestamp_ms").or(figure(document, "timestamp").map(|s| s * 1e3));
    let ms = ms.filter(|ms| (0.0..1e14).contains(ms));
    let mut report = Report { t: ms.map(|ms| Micros((ms * 1e3) as i64)), ..Report::default() };
    let jobs = ["jobs", "client_stats"].into_iter().filter_map(|key| document.get(key)?.as_array()).flatten();
    for job in jobs.filter_map(Value::as_object) {
        // Clients' sum repeats them.
        if text(job, "jobname") == "All clients" {
            continue;
        }
        report.errors += f64::from(u8::from(figure(job, "error").is_some_and(|e| e != 0.0)));
        for direction in ["read", "write", "trim", "sync"] {
            let object = job.get(direction).and_then(Value::as_object);
            report.sides.extend(object.and_then(|o| side(job, direction, o)));
        }
    }
    report
}

/// Figures of a job in one direction; None when it did nothing.
fn side(job: &Map<String, Value>, direction: &str, object: &Map<String, Value>) -> Option<Side> {
    let bytes = match (figure(object, "io_bytes"), object.contains_key("io_kbytes")) {
        (Some(kib), false) => Some(kib * 1024.0),
        (bytes, _) => bytes,
    };
    let ios = figure(object, "total_ios");
    if ios.or(bytes).is_none_or(|n| n == 0.0) {
        return None;
    }
    let runtime_s = figure(object, "runtime").or(figure(job, "job_runtime")).map(|ms| ms / 1e3).filter(|s| *s > 0.0);
    let (scale, times) = times(object, "lat");
    let latency = ["mean", "stddev", "min", "max"].map(|key| figure(times?, key).map(|v| v * scale));
    // Percentiles are of the completion, unless asked for otherwise.
    let (scale, of) = match times.filter(|t| t.contains_key("percentile")) {
        Some(times) => (scale, Some(times)),
        None => self::times(object, "clat"),
    };
    let host = text(job, "hostname");
    let name = text(job, "jobname");
    Some(Side {
        job: if host.is_empty() { name.to_owned() } else { format!("{host} {name}") },
        direction: direction.to_owned(),
        ios,
        iops: figure(object, "iops").or(ios.zip(runtime_s).map(|(n, s)| n / s)),
        bytes,
        bytes_per_s: figure(object, "bw_bytes").or(figure(object, "bw").map(|kib| kib * 1024.0)),
        runtime_s,
        latency,
        percentiles: of.map_or(Vec::new(), |of| percentiles(of, scale)),
        bins: of.map_or(Vec::new(), |of| bins(of, scale)),
    })
}

/// The times called `kind`, and what makes milliseconds of them.
fn times<'a>(object: &'a Map<String, Value>, kind: &str) -> (f64, Option<&'a Map<String, Value>>) {
    let of = |key: &str| object.get(key).and_then(Value::as_object);
    match of(&format!("{kind}_ns")) {
        Some(times) => (1e-6, Some(times)),
        None => (1e-3, of(kind)),
    }
}

fn percentiles(times: &Map<String, Value>, scale: f64) -> Vec<(f64, f64)> {
    let all = times.get("percentile").and_then(Value::as_object).into_iter().flatten();
    // Version 2 fills up with zeros.
    let known = all.filter_map(|(percent, value)| Some((number(percent)?, value.as_f64()? * scale)));
    let mut known: Vec<_> = known.filter(|(percent, _)| *percent > 0.0).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    known
}

/// A key is the middle of its bucket, which is 1/64 of a power of two wide.
fn bins(times: &Map<String, Value>, scale: f64) -> Vec<(f64, f64, f64)> {
    let all = times.get("bins").and_then(Value::as_object).into_iter().flatten();
    let mut bins: Vec<_> = all
        .filter_map(|(key, count)| {
            let middle: u64 = key.parse().ok()?;
            let shift = (63 - middle.max(1).leading_zeros()).saturating_sub(6);
            let lo = (middle >> shift) << shift;
            let width = (1u64 << shift) as f64;
            Some((lo as f64 * scale, (lo as f64 + width) * scale, count.as_f64()?))
        })
        .filter(|(.., count)| *count > 0.0)
        .collect();
    bins.sort_by(|a, b| a.0.total_cmp(&b.0));
    bins
}

/// Writes the figures of the disks under the files over the whole run.
fn disks(document: &Map<String, Value>, report: &Report, out: &mut Out<'_>) {
    let disks = document.get("disk_util").and_then(Value::as_array).into_iter().flatten();
    for used in disks.filter_map(Value::as_object) {
        if !report.write_disk(Some(text(used, "name")), |key| figure(used, key), out) {
            out.note(None, "what the disks did was left out, as the run's length is unknown");
        }
    }
}
