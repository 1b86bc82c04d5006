//! BenchBase and OLTP-Bench: `results.csv`, `samples.csv` and `raw.csv`.
//!
//! The first two have a row for each window of some seconds, numbered from the begin; the third one
//! for each transaction: type, name, begin in seconds since 1970, latency in microseconds, worker.

use fenxi_model::{
    Micros, Place,
    catalog::{histogram, load},
    place::F64,
};

use super::{
    benchbase::{Latency, latency_of},
    names::{percentile_column, percentile_name},
    seconds::{Event, Kinds, Seconds},
};
use crate::{Family, Fields, Format, Head, Input, Out, Relative, Splitter, Sure, number};

/// Importer for BenchBase, OLTP-Bench *.results.csv, *.samples.csv, *.raw.csv.
pub static FORMAT: Format = Format {
    name: "benchbase-csv",
    summary: "BenchBase, OLTP-Bench: *.results.csv, *.samples.csv, *.raw.csv",
    family: Family::Load,
    tables: &[&load::TABLE, &histogram::TABLE],
    example: "Time (seconds),Throughput (requests/second),Average Latency (millisecond),Minimum Latency (millisecond)\n",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let header = head.first().to_ascii_lowercase();
    let windows = header.starts_with("time (seconds),") || header.starts_with("time(sec),");
    let raw = header.starts_with("transaction type") && header.contains("latency (microseconds)");
    Sure::Certain
        .when(raw || windows && (header.contains("(requests/second)") || header.contains("throughput(req/sec)")))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let Some(header) = input.line().map(str::to_owned) else { return };
    if header.to_ascii_lowercase().starts_with("transaction type") {
        raw(&header, input, out);
    } else {
        windows(&header, input, out);
    }
}

/// Meaning of a column of a window.
#[derive(Clone, Copy, Debug)]
enum Column {
    Time,
    Known(Place<load::Schema, F64>, f64),
    /// A percentile without a column in `load`.
    Percentile(f64, f64),
    Metric,
    /// Follows from others.
    Skip,
}

fn column(header: &str) -> Column {
    let lower = header.to_ascii_lowercase();
    if lower.starts_with("time") {
        return Column::Time;
    }
    if lower.starts_with("throughput") {
        return Column::Known(load::transactions_per_s, 1.0);
    }
    if lower == "requests" || lower.starts_with("tp ") {
        return Column::Skip;
    }
    let scale = if lower.contains("microsecond") { 1e-3 } else { 1.0 };
    match latency_of(header) {
        Some(Latency::Mean) => Column::Known(load::latency_mean_ms, scale),
        Some(Latency::Percentile(percent)) => {
            let other = Column::Percentile(percent, scale);
            percentile_column(percent).map_or(other, |place| Column::Known(place, scale))
        }
        None => Column::Metric,
    }
}

fn windows(header: &str, input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut splitter = Splitter::default();
    let names: Vec<String> = splitter.at(header, b',').iter().map(str::to_owned).collect();
    let columns: Vec<_> = names.iter().map(|name| column(name)).collect();
    let window = window(input, out);
    let relative = Relative::new(out, Some(window));
    while input.line().is_some() {
        let (line, text) = (input.number(), input.text());
        let fields = splitter.at(text, b',');
        if text.trim().is_empty() {
            continue;
        }
        let begin = columns.iter().position(|c| matches!(c, Column::Time)).and_then(|at| number(fields.get(at)));
        let Some(begin) = begin.filter(|begin| (0.0..1e9).contains(begin) && fields.len() == columns.len()) else {
            out.unknown(line, text, "expected as many cells as in the header, with a time");
            continue;
        };
        let t = relative.after(begin + window);
        write(t, window, &fields, &columns, &names, out);
    }
}

fn write(t: Micros, window: f64, fields: &Fields<'_>, columns: &[Column], names: &[String], out: &mut Out<'_>) {
    // A window without any transaction has latencies of -1.
    let some = !fields.iter().any(|cell| cell.starts_with("-1"));
    for (i, column) in columns.iter().enumerate() {
        let Some(value) = number(fields.get(i)).filter(|_| some) else { continue };
        if let Column::Percentile(percent, scale) = column {
            let name = format!("benchbase.latency_{}_ms", percentile_name(*percent));
            out.metric(t, window, &name, "", value * scale, "ms");
        } else if let (Column::Metric, Some(name)) = (column, names.get(i)) {
            out.metric(t, window, &format!("benchbase.{name}"), "", value, "");
        }
    }
    let mut row = out.row(&load::TABLE, t, window);
    row.str(load::generator, "benchbase");
    for (i, column) in columns.iter().enumerate() {
        if let Column::Known(place, scale) = column {
            let value = number(fields.get(i)).filter(|_| some || *place == load::transactions_per_s);
            row.f64(*place, value.map(|v| v * scale));
        }
    }
}

/// The length of a window: the distance of the first two.
fn window(input: &mut Input<'_>, out: &Out<'_>) -> f64 {
    let head = input.head();
    let mut begins = head.lines().filter_map(|line| number(line.split(',').next()?));
    let distance = begins.next().zip(begins.next()).map(|(a, b)| b - a).filter(|d| *d > 0.0);
    out.hints().interval_s.or(distance).unwrap_or(1.0)
}

fn raw(header: &str, input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut splitter = Splitter::default();
    let place = |words: &str| header.split(',').position(|name| name.to_ascii_lowercase().contains(words));
    let (name, begin, took) = (place("transaction name"), place("start time"), place("latency"));
    let mut seconds = Seconds::new("benchbase", 1e-3, Kinds { errors: false, retries: false });
    while input.line().is_some() {
        let (line, text) = (input.number(), input.text());
        if text.trim().is_empty() {
            continue;
        }
        let fields = splitter.at(text, b',');
        let cell = |place: Option<usize>| place.map_or("", |place| fields.get(place));
        let (Some(began), Ok(took)) = (epoch(cell(begin)), cell(took).parse::<u64>()) else {
            out.unknown(line, text, "expected a begin in seconds and a latency in microseconds");
            continue;
        };
        let operation = seconds.operation(cell(name));
        let end = Micros(began.saturating_add(i64::try_from(took).unwrap_or(i64::MAX)));
        seconds.add(out, operation, &Event::done(end, took));
    }
    seconds.finish(out);
}

/// Microseconds of `1700000000.123456`, exactly.
fn epoch(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = fraction.len().min(6);
    let micros: i64 = fraction.get(..digits)?.parse().ok()?;
    let seconds: i64 = whole.parse().ok().filter(|s| (0..100_000_000_000).contains(s))?;
    Some(seconds * 1_000_000 + micros * 10i64.pow(6 - digits as u32))
}
