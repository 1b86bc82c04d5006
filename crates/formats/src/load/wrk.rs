//! `wrk` and `wrk2`: the report, with `--latency` also the distribution.
//!
//! wrk2 adds the percentile spectrum of an HdrHistogram, from which the buckets come; with
//! `--u_latency` a second one, measured from when a request was sent and not from when it was due.

use fenxi_model::catalog::histogram;

use super::{
    names::{self, LATENCY_BUCKETS, Results},
    units::milliseconds,
};
use crate::{Family, Format, Head, Input, Out, Sure, number, scaled};

/// Importer for wrk, wrk2.
pub static FORMAT: Format = Format {
    name: "wrk",
    summary: "wrk, wrk2: report, --latency, --u_latency",
    family: Family::Load,
    tables: &[&histogram::TABLE],
    example: "\
Running 2s test @ http://127.0.0.1:8080/
  2 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    49.52ms    8.59ms  78.58ms   82.80%
Requests/sec:    138.50
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.has_words("Thread Stats Avg Stdev Max +/- Stdev"))
}

#[derive(Default)]
struct Reader {
    runs: u32,
    results: Results,
    errors: f64,
    /// Connections that ended while a response was awaited.
    read_errors: f64,
    /// Responses whose status is none of 2xx and 3xx.
    refused: f64,
    /// Set in the second distribution of wrk2.
    operation: &'static str,
    /// The last line of the spectrum: value and how many are not above it.
    spectrum: (f64, f64),
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text().trim());
        if !line.is_empty() && !reader.line(line, out) {
            out.unknown(number, line, "no line of wrk");
        }
    }
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let mut words = line.split_ascii_whitespace();
        let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let results = &mut self.results;
        if line.starts_with("Running ") {
            self.runs = self.runs.saturating_add(1);
            *self = Reader { runs: self.runs, results: Results::nth(self.runs), ..Reader::default() };
        } else if line.contains(" threads and ") {
            results.set(out, names::THREADS, number(first));
            results.set(out, names::CLIENTS, line.split(" and ").nth(1).and_then(|c| number(c.split(' ').next()?)));
        } else if first == "Latency" && second != "Distribution" {
            results.set(out, names::LATENCY_MEAN, milliseconds(second));
            results.set(out, names::LATENCY_SD, words.next().and_then(milliseconds));
            results.set(out, names::LATENCY_MAX, words.next().and_then(milliseconds));
        } else if first == "Latency" {
            self.operation = if line.contains("Uncorrected") { "uncorrected" } else { "" };
            self.spectrum = (0.0, 0.0);
        } else if let Some(percent) = first.strip_suffix('%').and_then(number) {
            // The longest is in the line above it already.
            if percent < 100.0 || !self.operation.is_empty() {
                results.percentile(out, percent, self.operation, milliseconds(second));
            }
        } else if line.contains(" requests in ") {
            self.totals(line, out);
        } else if let Some(errors) = line.strip_prefix("Socket errors: ") {
            let counts = errors.split(',').filter_map(|part| number(part.trim().rsplit(' ').next()?));
            let counts: Vec<f64> = counts.collect();
            self.read_errors = counts.get(1).copied().unwrap_or(0.0);
            self.errors += counts.iter().sum::<f64>() - self.read_errors;
        } else if let Some(count) = line.strip_prefix("Non-2xx or 3xx responses: ") {
            self.refused = number(count.trim()).unwrap_or(0.0);
        } else if first == "Requests/sec:" {
            results.set(out, names::THROUGHPUT, number(second));
            // A response that is refused and ends its connection is both a status and an error of reading.
            results.set(out, names::ERRORS, self.errors + self.read_errors.max(self.refused));
        } else if first == "Transfer/sec:" {
            results.set(out, names::TRANSFER_BYTES_PER_S, scaled(second, 1024.0));
        } else {
            return self.spectrum(line, out) || KNOWN.iter().any(|known| line.starts_with(known));
        }
        true
    }

    /// `279 requests in 2.01s, 97.10KB read`
    fn totals(&mut self, line: &str, out: &mut Out<'_>) {
        let Some((requests, rest)) = line.split_once(" requests in ") else { return };
        let (time, bytes) = rest.split_once(", ").unwrap_or((rest, ""));
        self.results.set(out, names::TRANSACTIONS, number(requests));
        self.results.set(out, names::ELAPSED, milliseconds(time).map(|ms| ms / 1e3));
        self.results.set(out, names::TRANSFER_BYTES, scaled(bytes.trim_end_matches(" read"), 1024.0));
    }

    /// `       3.649     0.500000          200         2.00`
    fn spectrum(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let mut words = line.split_ascii_whitespace();
        let mut next = || words.next().and_then(number);
        let (Some(value), Some(_), Some(total)) = (next(), next(), next()) else { return false };
        let (lo, below) = self.spectrum;
        if total > below {
            let labels = if self.operation.is_empty() { "" } else { "measured=uncorrected" };
            out.bucket(None, None, LATENCY_BUCKETS, labels, lo, value, "ms", total - below);
        }
        self.spectrum = (value, total.max(below));
        true
    }
}

/// Beginnings of lines that say nothing further. `Req/Sec` is per thread.
const KNOWN: &[&str] = &[
    "Thread Stats",
    "Req/Sec",
    "Detailed Percentile spectrum",
    "Value ",
    "#[",
    "-----",
    "Thread calibration",
    "Initialised",
    "Test Results",
];
