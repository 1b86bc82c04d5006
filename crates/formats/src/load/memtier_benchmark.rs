//! `memtier_benchmark`: the tables at the end, and `--json-out-file`, which has every second too.
//!
//! A closed loop unless a rate limit is set. Latencies are milliseconds, `KB` are 1024 bytes and both directions together. With `-x`
//! the average of all runs is the result, the best and the worst run have their own names. Compressed histograms are left out:
//! the percentiles beside them are read.

use fenxi_model::{Micros, catalog::load};
use serde_json::{Map, Value};

use super::{
    names::{self, Results, percentile_column},
    tree::{at, entries, figure},
};
use crate::{Family, Format, Head, Input, Out, Relative, Sure, json, number};

/// Importer for memtier_benchmark.
pub static FORMAT: Format = Format {
    name: "memtier-benchmark",
    summary: "memtier_benchmark: tables, --json-out-file",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: "\
ALL STATS
======================================================================
Type         Ops/sec     Hits/sec   Misses/sec    Avg. Latency       KB/sec
----------------------------------------------------------------------
Sets         2570.70          ---          ---         0.36818       197.83
",
    sniff,
    read,
};

/// A document has a second for each operation in a line.
const MAX_BYTES: usize = 256 << 20;

/// The columns of a table's header.
fn columns(line: &str) -> Option<Vec<String>> {
    let rest = line.strip_prefix("Type ")?.trim();
    if !rest.starts_with("Ops/sec") || !rest.contains("Latency") || !rest.ends_with("KB/sec") {
        return None;
    }
    let mut columns: Vec<String> = Vec::new();
    for word in rest.split_ascii_whitespace() {
        match columns.last_mut() {
            // `Avg. Latency`, `p99 Latency`, and `Latency` alone in old versions.
            Some(last) if word == "Latency" && (last == "Avg." || last.starts_with('p')) => {
                last.push_str(" Latency");
            }
            _ => columns.push(word.to_owned()),
        }
    }
    Some(columns)
}

fn sniff(head: &Head<'_>) -> Sure {
    let has = |key: &str| head.text.contains(key);
    let json = head.text.trim_start().starts_with('{')
        && has("\"configuration\"")
        && has("\"run_count\"")
        && has("\"key_maximum\"");
    Sure::Certain.when(json || head.any(|l| columns(l).is_some()))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    if input.head().trim_start().starts_with('{') {
        read_json(input, out);
        return;
    }
    let mut reader = Reader::default();
    input.each_line(|number, full| {
        let line = full.rsplit('\r').map(str::trim).find(|part| !part.is_empty()).unwrap_or("");
        if !line.is_empty() && !reader.line(line, out) {
            out.unknown(number, full, "no line of memtier_benchmark");
        }
    });
}

#[derive(Default)]
struct Reader {
    columns: Vec<String>,
    /// `best run`, `worst run`, `run 2`; empty for what counts.
    section: String,
    shares: bool,
    threads: Option<f64>,
    /// The run that is read, from 1, and whether its figures were read.
    run: u32,
    has_figures: bool,
}

/// The kind of figures by a section's title; None when a line is no title.
fn section(line: &str) -> Option<String> {
    if line == "ALL STATS" || line.starts_with("AGGREGATED AVERAGE RESULTS") {
        return Some(String::new());
    }
    let name = line.strip_suffix(" RESULTS").or(line.strip_suffix(" STATS"))?;
    name.bytes().all(|b| !b.is_ascii_lowercase()).then(|| name.to_ascii_lowercase())
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(found) = columns(line) {
            (self.columns, self.shares) = (found, false);
        } else if let Some(name) = section(line) {
            if name.is_empty() {
                self.begin();
                self.has_figures = true;
            }
            self.section = name;
        } else if line.starts_with("Request Latency Distribution") {
            self.shares = true;
        } else if let Some(key) = SETTINGS.iter().find(|key| line.ends_with(**key)) {
            let value = number(line.trim_end_matches(key).trim());
            if *key == "Threads" {
                self.begin();
            }
            let mut results = Results::nth(self.run);
            match *key {
                "Threads" => {
                    self.threads = value;
                    results.set(out, names::THREADS, value);
                }
                "Connections per thread" => {
                    results.set(out, names::CLIENTS, value.zip(self.threads).map(|(n, threads)| n * threads));
                }
                _ => results.other(out, &format!("memtier_benchmark.{key}"), value, ""),
            }
            return value.is_some();
        } else if self.shares {
            return self.share(line, out) || is_known(line);
        } else {
            return self.row(line, out) || is_known(line);
        }
        true
    }

    /// Settings, or the section of what counts: a run begins if the one before has its figures.
    fn begin(&mut self) {
        self.run = self.run.max(1) + u32::from(std::mem::take(&mut self.has_figures));
    }

    /// `Sets         2570.70          ---          ---         0.36818       197.83`
    fn row(&self, line: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some((first, cells)) = words.split_first().filter(|(_, cells)| cells.len() == self.columns.len()) else {
            return false;
        };
        if self.columns.is_empty() || !cells.iter().all(|c| *c == "---" || *c == "nan" || number(c).is_some()) {
            return false;
        }
        let total = if *first == "Totals" { "" } else { first };
        let operation = format!("{total} {}", self.section);
        let (operation, mut results) = (operation.trim(), Results::nth(self.run));
        // A kind of operation that was not asked for; a run for itself has no rates, where it printed zeros.
        let pairs = || self.columns.iter().zip(cells).map(|(name, cell)| (name.as_str(), number(cell)));
        let any = pairs().any(|(name, value)| name.contains("Latency") && value.is_some());
        for (name, value) in pairs().filter(|_| any) {
            let rate = value.filter(|v| *v > 0.0 || self.section.is_empty());
            match name {
                "Ops/sec" => results.of(out, names::THROUGHPUT, operation, rate),
                "KB/sec" => results.of(out, names::TRANSFER_BYTES_PER_S, operation, rate.map(|kib| kib * 1024.0)),
                "Hits/sec" => results.named(out, "hits_per_s", operation, rate, "/s", "neither"),
                "Misses/sec" => results.named(out, "misses_per_s", operation, rate, "/s", "neither"),
                "Latency" | "Avg. Latency" => results.of(out, names::LATENCY_MEAN, operation, value),
                _ => match name.strip_prefix('p').and_then(|p| number(p.strip_suffix(" Latency")?)) {
                    Some(percent) => results.percentile(out, percent, operation, value),
                    None => results.named(out, &format!("memtier_benchmark.{name}"), operation, value, "", "neither"),
                },
            }
        }
        true
    }

    /// `SET       0.095       50.000`: so many percent took no longer.
    fn share(&self, line: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [kind, ms, percent] = words[..] else { return false };
        let (Some(ms), Some(percent)) = (number(ms), number(percent)) else { return false };
        let labels = format!("operation={kind},percent={percent}");
        out.metric(None, None, "memtier_benchmark.latency_within", &labels, ms, "ms");
        true
    }
}

const SETTINGS: [&str; 4] = ["Threads", "Connections per thread", "Requests per client", "Seconds"];

fn is_known(line: &str) -> bool {
    let begins =
        ["[RUN #", "Writing results to", "Json file ", "Saving JSON ", "Type ", "====", "----", "---", "Setting "];
    begins.iter().any(|b| line.starts_with(b))
}

type Object = Map<String, Value>;

fn read_json(input: &mut Input<'_>, out: &mut Out<'_>) {
    let Some(document) = input.whole(MAX_BYTES).and_then(|text| json::object(&text)) else {
        out.note(None, "no complete document of memtier_benchmark");
        return;
    };
    for key in ["protocol", "ratio", "pipeline", "data_size", "key_pattern", "rate_limit"] {
        let value = at(&document, &format!("configuration/{key}"));
        let value = value.and_then(|v| v.as_str().map(str::to_owned).or_else(|| Some(v.as_f64()?.to_string())));
        if let Some(value) = value {
            out.fact("load", &format!("memtier_benchmark {key}"), &value);
        }
    }
    let mut results = Results::default();
    let threads = figure(&document, "run information/Threads");
    let connections = figure(&document, "run information/Connections per thread");
    results.set(out, names::THREADS, threads);
    results.set(out, names::CLIENTS, threads.zip(connections).map(|(threads, n)| threads * n));
    for (name, stats) in &document {
        let (Some(section), Some(stats)) = (section(name), stats.as_object()) else { continue };
        stats_of(stats, &section, out);
    }
}

fn stats_of(stats: &Object, section: &str, out: &mut Out<'_>) {
    let mut results = Results::default();
    let elapsed = figure(stats, "Runtime/Total duration").map(|ms| ms / 1e3);
    results.of(out, names::ELAPSED, section, elapsed);
    let begin =
        figure(stats, "Runtime/Start time").filter(|ms| (0.0..1e14).contains(ms)).map(|ms| Micros((ms * 1e3) as i64));
    let rows = section.is_empty() && stats.values().any(|v| v.get("Time-Serie").is_some());
    let relative = (begin.is_none() && rows).then(|| Relative::elapsed(out));
    for (kind, of) in stats {
        let Some(of) = of.as_object().filter(|of| figure(of, "Count").is_some_and(|n| n > 0.0)) else { continue };
        let total = if kind == "Totals" { "" } else { kind };
        let operation = format!("{total} {section}");
        write_stats(of, operation.trim(), &mut results, out);
        for (second, row) in entries(of, "Time-Serie").filter(|_| rows) {
            let (Some(second), Some(row)) = (number(second), row.as_object()) else { continue };
            // The last second was not a whole one.
            let dt = elapsed.map_or(1.0, |all| (all - second).min(1.0));
            let at = second + dt.max(0.0);
            let t = match (begin, relative) {
                (Some(begin), _) => Micros(begin.0.saturating_add((at * 1e6) as i64)),
                (None, Some(relative)) => relative.after(at),
                (None, None) => continue,
            };
            write_second(row, t, Some(dt).filter(|dt| *dt > 0.0), total, out);
        }
    }
}

/// The number of a key, which may have a slash.
fn plain(of: &Object, key: &str) -> Option<f64> {
    of.get(key).and_then(Value::as_f64)
}

fn write_stats(of: &Object, operation: &str, results: &mut Results, out: &mut Out<'_>) {
    results.of(out, names::TRANSACTIONS, operation, figure(of, "Count"));
    results.of(out, names::THROUGHPUT, operation, plain(of, "Ops/sec"));
    results.of(out, names::TRANSFER_BYTES_PER_S, operation, plain(of, "KB/sec").map(|kib| kib * 1024.0));
    // The mean of all kinds together is written as 0.
    let mean = figure(of, "Average Latency").or(figure(of, "Latency")).filter(|ms| *ms > 0.0);
    results.of(out, names::LATENCY_MEAN, operation, mean);
    // The totals of several runs have no minimum but 0, and percentiles that are wrong.
    let min = figure(of, "Min Latency").filter(|ms| *ms > 0.0);
    results.of(out, names::LATENCY_MIN, operation, min);
    results.of(out, names::LATENCY_MAX, operation, figure(of, "Max Latency"));
    results.of(out, names::ERRORS, operation, figure(of, "Connection Errors"));
    results.named(out, "hits_per_s", operation, plain(of, "Hits/sec"), "/s", "neither");
    results.named(out, "misses_per_s", operation, plain(of, "Misses/sec"), "/s", "neither");
    for (key, ms) in entries(of, "Percentile Latencies") {
        if let Some(percent) = key.strip_prefix('p').and_then(number) {
            results.percentile(out, percent, operation, ms.as_f64().filter(|_| min.is_some()));
        }
    }
}

fn write_second(of: &Object, t: Micros, dt: Option<f64>, operation: &str, out: &mut Out<'_>) {
    let count = figure(of, "Count");
    if count.is_none_or(|n| n <= 0.0) && dt.is_none() {
        return;
    }
    let rate = |value: Option<f64>| value.zip(dt).map(|(n, dt)| n / dt);
    let bytes = figure(of, "Bytes RX").zip(figure(of, "Bytes TX")).map(|(rx, tx)| rx + tx);
    let mut row = out.row(&load::TABLE, t, dt);
    row.str(load::generator, "memtier_benchmark").str(load::operation, Some(operation).filter(|o| !o.is_empty()));
    row.f64(load::transactions_per_s, rate(count)).f64(load::transfer_bytes_per_s, rate(bytes));
    row.f64(load::latency_mean_ms, figure(of, "Average Latency"));
    row.f64(load::latency_min_ms, figure(of, "Min Latency")).f64(load::latency_max_ms, figure(of, "Max Latency"));
    for (key, value) in of {
        if let Some(column) = key.strip_prefix('p').and_then(number).and_then(percentile_column) {
            row.f64(column, value.as_f64());
        }
    }
}
