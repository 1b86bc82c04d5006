//! JMH, the Java Microbenchmark Harness: the table at the end of a run, `-rf json`, `-rf csv`, `-rf text`.
//!
//! Modes: `thrpt` is throughput, `avgt` the mean time of an operation, `sample` samples latencies (with percentiles), `ss` is one
//! call without warm-up. Errors are half of the 99.9 % confidence interval. The log above the table has the same figures by
//! iteration and is read for the versions only.

use serde_json::{Map, Value};

use super::{
    cells::each_row,
    names::{self, Results},
    repeats::Repeats,
    tree::{entries, figure, text},
};
use crate::{Family, Format, Head, Input, Out, Sure, json, number};

/// Importer for JMH.
pub static FORMAT: Format = Format {
    name: "jmh",
    summary: "JMH: table, -rf json, csv and text; thrpt, avgt, sample, ss; profilers",
    family: Family::Load,
    tables: &[],
    example: "\
Benchmark     (n)  Mode  Cnt   Score   Error  Units
MyBench.log    10  avgt    3  69.747 ± 3.347  ns/op
",
    sniff,
    read,
};

const CSV: &str = "\"Benchmark\",\"Mode\",\"Threads\",\"Samples\",\"Score\",";
/// Samples of long runs make documents long.
const MAX_BYTES: usize = 64 << 20;

fn sniff(head: &Head<'_>) -> Sure {
    let json = head.text.trim_start().starts_with('[') && head.text.contains("\"jmhVersion\"");
    let log = head.any(|l| l.starts_with("# JMH version: "));
    Sure::Certain.when(json || log || head.first().starts_with(CSV) || head.any(|l| header(l).is_some()))
}

/// The parameters in the table's header.
fn header(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let mode = words.iter().position(|w| *w == "Mode")?;
    let after = words.get(mode + 1..)?;
    let ends = matches!(
        after,
        ["Cnt" | "Samples", "Score", "Error", "Units"]
            | ["Cnt" | "Samples", "Score", "Units"]
            | ["Score", "Units"]
            | ["Samples", "Score", "Score", "error", "Units"]
    );
    let parameters = words.get(1..mode)?;
    let named = parameters.iter().all(|p| p.starts_with('(') && p.ends_with(')'));
    (ends && named && words.first() == Some(&"Benchmark"))
        .then(|| parameters.iter().map(|p| p.trim_matches(['(', ')'])).collect())
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head().trim_start().to_owned();
    if head.starts_with('[') {
        read_json(input, out);
    } else if head.starts_with(CSV) {
        read_csv(input, out);
    } else {
        read_text(input, out);
    }
}

/// One line of a result: a benchmark's score, or a figure that belongs to it.
struct Score<'a> {
    /// Name and parameters.
    benchmark: &'a str,
    /// The text after `:` or in `secondaryMetrics`; empty for the score.
    part: &'a str,
    mode: &'a str,
    value: Option<f64>,
    error: Option<f64>,
    unit: &'a str,
    count: Option<f64>,
}

/// Seconds of a unit.
fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "hr" => 3600.0,
        "day" => 86_400.0,
        _ => return None,
    })
}

impl Score<'_> {
    /// False when the unit is none of JMH's.
    fn write(&self, results: &mut Results, out: &mut Out<'_>) -> bool {
        if !self.part.is_empty() {
            return self.write_part(results, out);
        }
        let (of, per) = self.unit.split_once('/').unwrap_or((self.unit, ""));
        let (name, unit, scale, better) = match (self.mode, seconds(of), seconds(per)) {
            ("thrpt", _, Some(per)) => ("throughput", "/s", 1.0 / per, "higher"),
            ("avgt", Some(of), _) => ("time_per_op", "s", of, "lower"),
            ("sample", Some(of), _) => ("latency_mean", "ms", of * 1e3, "lower"),
            ("ss", Some(of), _) => ("single_shot_time", "s", of, "lower"),
            _ => return false,
        };
        let scaled = |value: Option<f64>| value.map(|v| v * scale);
        results.named(out, name, self.benchmark, scaled(self.value), unit, better);
        let error = format!("{name}_error");
        results.named(out, &error, self.benchmark, scaled(self.error), unit, "lower");
        let samples = format!("{name}_samples");
        results.named(out, &samples, self.benchmark, self.count, "", "neither");
        true
    }

    fn write_part(&self, results: &mut Results, out: &mut Out<'_>) -> bool {
        let percent = self.part.strip_prefix('p').and_then(number).map(|share| share * 100.0);
        if let (Some(percent), Some(s)) = (percent, self.unit.split_once('/').and_then(|(of, _)| seconds(of))) {
            // 0.999 times 100 is not quite 99.9.
            let percent = (percent * 1e6).round() / 1e6;
            results.percentile(out, percent, self.benchmark, self.value.map(|v| v * s * 1e3));
            return true;
        }
        let operation = format!("{} {}", self.benchmark, self.mode);
        let part = self.part.trim_start_matches('·');
        match part {
            "gc.alloc.rate.norm" => results.of(out, names::ALLOC_BYTES_PER_OP, &operation, self.value),
            _ => results.named(out, &format!("jmh.{part}"), &operation, self.value, self.unit, "neither"),
        }
        true
    }
}

/// The benchmark with its parameters.
fn named<'a>(benchmark: &str, parameters: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut name = benchmark.to_owned();
    for (key, value) in parameters.filter(|(_, value)| *value != "N/A") {
        name.push_str(&format!(" {key}={value}"));
    }
    name
}

/// Hands out results: those of a run once more end in `#2`.
#[derive(Default)]
struct Runs {
    repeats: Repeats,
    results: Results,
}

impl Runs {
    fn write(&mut self, score: &Score<'_>, out: &mut Out<'_>) -> bool {
        if score.part.is_empty() {
            self.results = self.repeats.next(&format!("{}\n{}", score.benchmark, score.mode));
        }
        score.write(&mut self.results, out)
    }
}

fn read_text(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut parameters: Option<Vec<String>> = None;
    let mut runs = Runs::default();
    let mut facts = 0;
    input.each_line(|line, text| {
        if let Some(found) = header(text) {
            parameters = Some(found.into_iter().map(str::to_owned).collect());
            return;
        }
        let Some(known) = &parameters else {
            let fact = text.strip_prefix("# ").and_then(|t| t.split_once(": "));
            let fact = fact.filter(|(name, _)| matches!(*name, "JMH version" | "VM version" | "VM options"));
            // Each benchmark prints them again.
            if let Some((name, value)) = fact.filter(|_| facts < 3) {
                facts += 1;
                out.fact("load", &format!("jmh {name}"), value);
            }
            return;
        };
        let known_end = text.trim().is_empty() || text.starts_with("Benchmark result is saved to ");
        if !known_end && !row(text, known, &mut runs, out) {
            out.unknown(line, text, "no line of JMH's table");
        }
    });
}

/// `MyBench.repeat:p0.50   10  sample            0.040            us/op`
fn row(line: &str, parameters: &[String], runs: &mut Runs, out: &mut Out<'_>) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mode_at = parameters.len() + 1;
    let (Some(full), Some(values), Some(mode)) = (words.first(), words.get(1..mode_at), words.get(mode_at)) else {
        return false;
    };
    let Some([figures @ .., unit]) = words.get(mode_at + 1..) else { return false };
    let (benchmark, part) = full.split_once(':').unwrap_or((full, ""));
    let (count, value, error) = match figures {
        [count, score, "±", error] => (number(count), *score, number(error)),
        [count, score] if *count != "≈" => (number(count), *score, None),
        [count, "≈", score] => (number(count), *score, None),
        [score] | ["≈", score] => (None, *score, None),
        _ => return false,
    };
    // `10⁻⁴` means too small to be shown.
    let value = number(value).or_else(|| power(value));
    let named = named(benchmark, parameters.iter().map(String::as_str).zip(values.iter().copied()));
    value.is_some() && runs.write(&Score { benchmark: &named, part, mode, value, error, unit, count }, out)
}

/// `10⁻⁴`
fn power(text: &str) -> Option<f64> {
    let digits = text.strip_prefix("10")?;
    let plain: Option<String> = digits
        .chars()
        .map(|c| "⁻⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|d| d == c).and_then(|i| "-0123456789".chars().nth(i)))
        .collect();
    Some(10f64.powi(plain?.parse::<i8>().ok()?.into()))
}

fn read_csv(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut runs = Runs::default();
    each_row(input, out, &[CSV], |(line, text), _, row, out| {
        // `Score Error (99.9%)`
        let cell = |name: &str| row.pairs().find(|(column, _)| column.starts_with(name)).map_or("", |(_, cell)| cell);
        let parameters = row.pairs().filter_map(|(column, value)| Some((column.strip_prefix("Param: ")?, value)));
        let (benchmark, part) = cell("Benchmark").split_once(':').unwrap_or((cell("Benchmark"), ""));
        let named = named(benchmark, parameters.filter(|(_, value)| !value.is_empty()));
        let score = Score {
            benchmark: &named,
            part,
            mode: cell("Mode"),
            // The first column of that name is the score.
            value: number(cell("Score")),
            error: number(cell("Score Error")),
            unit: cell("Unit"),
            count: number(cell("Samples")),
        };
        if score.value.is_none() || !runs.write(&score, out) {
            out.unknown(line, text, "no score in a known unit");
        }
    });
}

fn read_json(input: &mut Input<'_>, out: &mut Out<'_>) {
    let document = input.whole(MAX_BYTES).and_then(|text| json::object(&format!("{{\"runs\":{text}}}")));
    let Some(document) = document else {
        out.note(None, "no complete result of JMH");
        return;
    };
    let mut runs = Runs::default();
    for (i, run) in super::tree::objects(&document, "runs").enumerate() {
        if i == 0 {
            for (key, name) in [("jmhVersion", "JMH version"), ("jdkVersion", "JDK version"), ("vmName", "VM")] {
                out.fact("load", &format!("jmh {name}"), text(run, key));
            }
        }
        if !run_of_json(run, &mut runs, out) {
            out.note(None, &format!("no score in a known unit: {}", text(run, "benchmark")));
        }
    }
}

fn run_of_json(run: &Map<String, Value>, runs: &mut Runs, out: &mut Out<'_>) -> bool {
    let parameters = entries(run, "params").map(|(k, v)| (k.as_str(), v.as_str().unwrap_or("")));
    let benchmark = named(text(run, "benchmark"), parameters);
    let count = figure(run, "measurementIterations").zip(figure(run, "forks")).map(|(n, forks)| n * forks.max(1.0));
    let mode = text(run, "mode");
    let score = Score {
        benchmark: &benchmark,
        part: "",
        mode,
        value: figure(run, "primaryMetric/score"),
        error: figure(run, "primaryMetric/scoreError"),
        unit: text(run, "primaryMetric/scoreUnit"),
        // Of samples the number is that of calls.
        count: count.filter(|_| mode != "sample"),
    };
    if !runs.write(&score, out) {
        return false;
    }
    for (part, metric) in entries(run, "secondaryMetrics") {
        let Some(metric) = metric.as_object() else { continue };
        let score = Score {
            part,
            value: figure(metric, "score"),
            error: None,
            unit: text(metric, "scoreUnit"),
            count: None,
            ..score
        };
        runs.write(&score, out);
    }
    true
}
