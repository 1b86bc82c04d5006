//! Google Benchmark: the console's table (also `--benchmark_counters_tabular`), JSON and CSV.
//!
//! `Time` is elapsed time and `CPU` that of the main thread, both of one iteration. With repetitions each run of a benchmark is a
//! separate result (`#2`, `#3`), and the aggregates have other names: `time_per_op_mean`, `_median`, `_sd`, `_cv`. A library
//! that was built for debugging prints it: its times are of no use, and the fact `library_build_type` has it.

mod table;

use serde_json::{Map, Value};

use super::{
    cells::each_row,
    names::{self, Results},
    repeats::Repeats,
    tree::{entries, figure, objects, text},
};
use crate::{Family, Format, Head, Input, Out, Sure, json, number};

/// Importer for Google Benchmark.
pub static FORMAT: Format = Format {
    name: "google-benchmark",
    summary: "Google Benchmark: console, JSON, CSV, repetitions with aggregates",
    family: Family::Load,
    tables: &[],
    example: "\
-------------------------------------------------------------------------
Benchmark                               Time             CPU   Iterations
-------------------------------------------------------------------------
BM_Create                            2.45 ns        0.639 ns    104098538
",
    sniff,
    read,
};

const CSV: &str = "name,iterations,real_time,cpu_time,time_unit,";
const MAX_BYTES: usize = 64 << 20;

fn sniff(head: &Head<'_>) -> Sure {
    let begin = head.text.trim_start();
    let has = |key: &str| begin.contains(key);
    let json = begin.starts_with('{')
        && has("\"context\"")
        && (has("\"library_build_type\"") || has("\"benchmarks\"") && has("\"real_time\"") && has("\"cpu_time\""));
    let table = head.has_words("Benchmark Time CPU Iterations") && head.any(|l| l.starts_with("------------"));
    Sure::Certain.when(json || table || head.first().starts_with(CSV))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head().trim_start().to_owned();
    if head.starts_with('{') {
        read_json(input, out);
    } else if head.starts_with(CSV) {
        read_csv(input, out);
    } else {
        table::read(input, &head, out);
    }
}

/// One line: a run of a benchmark, or an aggregate of its runs.
#[derive(Debug, Default)]
struct Run {
    name: String,
    /// `mean`, `median`, `stddev`, `cv`, …; empty for a run.
    aggregate: String,
    /// Seconds; of `cv` percent.
    real: Option<f64>,
    cpu: Option<f64>,
    iterations: Option<f64>,
    /// Counters with their units.
    counters: Vec<(String, f64, &'static str)>,
}

/// Seconds of a unit.
fn unit(name: &str) -> Option<f64> {
    Some(match name {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    })
}

impl Run {
    fn write(&self, repeats: &mut Repeats, out: &mut Out<'_>) {
        let mut results = match self.aggregate.as_str() {
            "" => repeats.next(&self.name),
            _ => Results::default(),
        };
        let of = self.aggregate.as_str();
        results.derived(out, names::TIME_PER_OP, of, &self.name, self.real);
        results.derived(out, names::CPU_TIME_PER_OP, of, &self.name, self.cpu);
        if of.is_empty() {
            results.of(out, names::ITERATIONS, &self.name, self.iterations);
        }
        for (counter, value, unit) in &self.counters {
            match counter.as_str() {
                "bytes_per_second" => results.derived(out, names::TRANSFER_BYTES_PER_S, of, &self.name, *value),
                "items_per_second" => results.derived(out, names::THROUGHPUT, of, &self.name, *value),
                _ => {
                    let end = if of.is_empty() { String::new() } else { format!("_{}", of.replace("stddev", "sd")) };
                    let unit = if of == "cv" { "%" } else { unit };
                    let name = format!("google-benchmark.{counter}{end}");
                    results.named(out, &name, &self.name, Some(*value), unit, "neither");
                }
            }
        }
    }
}

fn failed(name: &str, message: &str, out: &mut Out<'_>) {
    out.fact("load", &format!("google-benchmark error {name}"), message);
}

/// Keys of a run in JSON that are no counters.
const OWN: [&str; 14] = [
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
    "cpu_coefficient",
    "real_coefficient",
    "rms",
    "allocs_per_iter",
    "max_bytes_used",
    "total_allocated_bytes",
];

fn read_json(input: &mut Input<'_>, out: &mut Out<'_>) {
    let Some(document) = input.whole(MAX_BYTES).and_then(|text| json::object(&text)) else {
        out.note(None, "no complete report of Google Benchmark");
        return;
    };
    out.set_host(text(&document, "context/host_name"));
    for (name, value) in entries(&document, "context") {
        let value = value.as_str().map(str::to_owned).or_else(|| Some(value.as_f64()?.to_string()));
        if let Some(value) = value {
            out.fact("load", &format!("google-benchmark {name}"), &value);
        }
    }
    let mut repeats = Repeats::default();
    for object in objects(&document, "benchmarks") {
        let message = [text(object, "error_message"), text(object, "skip_message")].concat();
        let flag = |key: &str| object.get(key).and_then(Value::as_bool) == Some(true);
        if flag("error_occurred") || flag("skipped") {
            failed(text(object, "name"), &message, out);
        } else {
            run_of(object).write(&mut repeats, out);
        }
    }
}

fn run_of(object: &Map<String, Value>) -> Run {
    let aggregate = text(object, "aggregate_name").to_owned();
    let full = text(object, "name");
    let name = match text(object, "run_name") {
        "" => full,
        name => name,
    };
    let share = text(object, "aggregate_unit") == "percentage";
    let scale = if share { 100.0 } else { unit(text(object, "time_unit")).unwrap_or(f64::NAN) };
    let seconds = |key: &str, other: &str| {
        figure(object, key).or(figure(object, other)).map(|v| v * scale).filter(|v| v.is_finite())
    };
    let counters = object.iter().filter(|(key, _)| !OWN.contains(&key.as_str()));
    let counters = counters.filter_map(|(key, value)| {
        let unit = if key.ends_with("_per_second") { "/s" } else { "" };
        Some((key.clone(), value.as_f64()? * if share { 100.0 } else { 1.0 }, unit))
    });
    Run {
        name: name.to_owned(),
        real: seconds("real_time", "real_coefficient"),
        cpu: seconds("cpu_time", "cpu_coefficient"),
        iterations: figure(object, "iterations"),
        counters: counters.collect(),
        aggregate,
    }
}

/// Suffixes of the names of aggregates.
const AGGREGATES: [&str; 6] = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];

/// The benchmark and the aggregate that a name in a table means, if the benchmark is known: a name may end like one.
fn aggregate(name: &str, is_known: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let end = AGGREGATES.iter().find(|end| name.ends_with(**end))?;
    let base = name.strip_suffix(end)?;
    is_known(base).then_some((base, end.trim_start_matches('_')))
}

fn read_csv(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head().into_owned();
    let mut repeats = Repeats::default();
    each_row(input, out, &[CSV], |(line, text), _, row, out| {
        let name = row.text("name");
        if row.text("error_occurred") == "true" {
            failed(name, row.text("error_message"), out);
            return;
        }
        let mut run = Run { name: name.to_owned(), ..Run::default() };
        let known = |base: &str| repeats.has(base) || head.contains(&format!("\"{base}_stddev\""));
        if let Some((base, of)) = aggregate(name, known) {
            (run.name, run.aggregate) = (base.to_owned(), of.to_owned());
        }
        // CSV scales it like a time and divides it by the repetitions: it is deviation by mean.
        if run.aggregate == "cv" {
            return;
        }
        let scale = unit(row.text("time_unit"));
        let seconds = |name: &str| Some(row.figure(name)? * scale?);
        (run.real, run.cpu, run.iterations) = (seconds("real_time"), seconds("cpu_time"), row.figure("iterations"));
        if run.real.is_none() {
            out.unknown(line, text, "no time in a known unit");
        }
        for (name, value) in row.pairs().skip(5).filter(|(name, _)| *name != "label" && !name.starts_with("error_")) {
            let unit = if name.ends_with("_per_second") { "/s" } else { "" };
            run.counters.extend(number(value).map(|v| (name.trim_matches('"').to_owned(), v, unit)));
        }
        run.write(&mut repeats, out);
    });
}
