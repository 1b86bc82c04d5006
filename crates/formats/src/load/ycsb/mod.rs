//! YCSB: status lines, and the summary with histogram, time series or raw measurements.
//!
//! The summary is lines of `[OPERATION], name, value`; latencies are in microseconds. A number as
//! the name is a bucket of one millisecond, or with the time series milliseconds since the begin.

mod status;

use fenxi_model::{
    Micros,
    catalog::{histogram, load},
};

use self::status::Status;
use super::{
    names::{self, LATENCY_BUCKETS, Results},
    seconds::{Event, Kinds, Seconds},
};
use crate::{Clock, Family, Format, Head, Input, Out, Relative, Sure, number};

/// Importer for YCSB.
pub static FORMAT: Format = Format {
    name: "ycsb",
    summary: "YCSB: -s status, summary with hdrhistogram, histogram, timeseries or raw measurements",
    family: Family::Load,
    tables: &[&load::TABLE, &histogram::TABLE],
    example: "\
[OVERALL], RunTime(ms), 4343
[OVERALL], Throughput(ops/sec), 13815.33502187428
[READ], Operations, 41984
[READ], AverageLatency(us), 559.4384765625
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| {
        line.starts_with("[OVERALL], RunTime(ms)") || line.starts_with("YCSB Client ") || Status::read(line).is_some()
    };
    Sure::Certain.when(head.any(own))
}

struct Reader {
    runs: u32,
    results: Results,
    clock: Clock,
    relative: Option<Relative>,
    /// Time, seconds and operations of the last status.
    last: Option<(Micros, f64, f64)>,
    /// When the run began, by its first status.
    begin: Option<Micros>,
    granularity_ms: f64,
    raw: Option<Seconds>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        runs: 0,
        results: Results::default(),
        clock: Clock::new(out.hints()),
        relative: None,
        last: None,
        begin: None,
        granularity_ms: 1000.0,
        raw: None,
    };
    while input.line().is_some() {
        reader.line(input.number(), input.text().trim(), out);
    }
    if let Some(raw) = reader.raw.take() {
        raw.finish_without_results(out);
    }
}

impl Reader {
    fn line(&mut self, line_number: u64, line: &str, out: &mut Out<'_>) {
        if let Some(rest) = line.strip_prefix('[') {
            self.summary(line_number, rest, line, out);
        } else if let Some(status) = Status::read(line) {
            self.status(&status, out);
        } else if let Some((operation, event)) = raw(line) {
            let kinds = Kinds { errors: false, retries: false };
            let seconds = self.raw.get_or_insert_with(|| Seconds::new("ycsb raw", 1e-3, kinds));
            let operation = seconds.operation(operation);
            seconds.add(out, operation, &event);
        } else if let Some(options) = line.strip_prefix("Command line: ") {
            self.begin_run(options, out);
        } else if let Some(version) = line.strip_prefix("YCSB Client ") {
            out.fact("load", "ycsb", version);
        } else if !line.is_empty() && !KNOWN.iter().any(|known| line.contains(known)) {
            out.unknown(line_number, line, "no line of YCSB");
        }
    }

    fn begin_run(&mut self, options: &str, out: &mut Out<'_>) {
        self.runs = self.runs.saturating_add(1);
        self.results = Results::nth(self.runs);
        (self.last, self.begin) = (None, None);
        let mut words = options.split_ascii_whitespace();
        while let Some(word) = words.next() {
            if word == "-threads" {
                self.results.set(out, names::CLIENTS, words.next().and_then(number));
            } else if word == "-target" {
                self.results.set(out, names::OFFERED_PER_S, words.next().and_then(number));
            } else if let Some(ms) = word.strip_prefix("timeseries.granularity=").and_then(number) {
                self.granularity_ms = ms.max(1.0);
            }
        }
    }

    fn status(&mut self, status: &Status<'_>, out: &mut Out<'_>) {
        let t = match status.when {
            Some(when) => self.clock.moment(when),
            None => {
                let relative = self.relative.get_or_insert_with(|| Relative::new(out, Some(10.0)));
                relative.after(status.seconds)
            }
        };
        let dt = match self.last {
            // The time series prints every status twice.
            Some((last, _, operations)) if last == t && operations == status.operations => return,
            Some((last, ..)) => Some(t.seconds_since(last)),
            None => Some(status.seconds),
        };
        self.begin.get_or_insert(Micros(t.0.saturating_sub((status.seconds * 1e6) as i64)));
        self.last = Some((t, status.seconds, status.operations));
        status.write(t, dt.filter(|dt| *dt > 0.0), out);
    }

    /// `READ], AverageLatency(us), 559.4384765625`
    fn summary(&mut self, line_number: u64, rest: &str, line: &str, out: &mut Out<'_>) {
        let parts = rest.split_once("], ").and_then(|(operation, rest)| {
            let (key, value) = rest.rsplit_once(", ")?;
            Some((operation, key, value, number(value)?))
        });
        let Some((operation, key, text, value)) = parts else {
            // A mean of nothing.
            if !line.ends_with(", NaN") {
                out.unknown(line_number, line, "expected `[OPERATION], name, value`");
            }
            return;
        };
        if let Some(at) = number(key) {
            if text.contains('.') {
                self.series(operation, at, value, out);
            } else {
                self.bucket(out, operation, (at, Some(at + 1.0)), value);
            }
            return;
        }
        if let Some(at) = key.strip_prefix('>').and_then(number) {
            self.bucket(out, operation, (at, None), value);
            return;
        }
        self.result(operation, key, value, out);
    }

    fn bucket(&self, out: &mut Out<'_>, operation: &str, (lo, hi): (f64, Option<f64>), count: f64) {
        if count > 0.0 {
            out.bucket(None, None, LATENCY_BUCKETS, &format!("operation={operation}"), lo, hi, "ms", count);
        }
    }

    /// A mean of the time series, `at_ms` after the begin.
    fn series(&mut self, operation: &str, at_ms: f64, mean_us: f64, out: &mut Out<'_>) {
        let end_s = (at_ms + self.granularity_ms) / 1e3;
        let t = match self.begin {
            Some(begin) => Micros(begin.0.saturating_add((end_s * 1e6) as i64)),
            None => self.relative.get_or_insert_with(|| Relative::new(out, Some(1.0))).after(end_s),
        };
        let mut row = out.row(&load::TABLE, t, self.granularity_ms / 1e3);
        row.str(load::generator, "ycsb series").str(load::operation, operation);
        row.f64(load::latency_mean_ms, mean_us / 1e3);
    }

    fn result(&mut self, operation: &str, key: &str, value: f64, out: &mut Out<'_>) {
        let results = &mut self.results;
        match (operation, key) {
            ("OVERALL", "RunTime(ms)") => results.set(out, names::ELAPSED, value / 1e3),
            ("OVERALL", "Throughput(ops/sec)") => results.set(out, names::THROUGHPUT, value),
            (_, "Operations" | "Total Operations") => results.of(out, names::TRANSACTIONS, operation, value),
            (_, "AverageLatency(us)" | "Average") => results.of(out, names::LATENCY_MEAN, operation, value / 1e3),
            (_, "LatencyVariance(us)") => results.of(out, names::LATENCY_SD, operation, value.max(0.0).sqrt() / 1e3),
            (_, "MinLatency(us)" | "Min") => results.of(out, names::LATENCY_MIN, operation, value / 1e3),
            (_, "MaxLatency(us)" | "Max") => results.of(out, names::LATENCY_MAX, operation, value / 1e3),
            (_, "Return=OK" | "Return=0") | (_, "Below is a summary of latency in microseconds:") => {}
            (_, _) if key.starts_with("Return=") => {
                results.of(out, names::ERRORS, &format!("{operation} {}", &key["Return=".len()..]), value);
            }
            (_, _) => match percentile(key) {
                Some((percent, scale)) => results.percentile(out, percent, operation, value * scale),
                None => out.metric(None, None, &format!("ycsb.{key}"), &format!("operation={operation}"), value, ""),
            },
        }
    }
}

/// The percentile that `95thPercentileLatency(us)`, `99.9PercentileLatency(us)` or `p95` names, and
/// what turns its value into milliseconds.
fn percentile(key: &str) -> Option<(f64, f64)> {
    if let Some(percent) = key.strip_prefix('p').and_then(number) {
        return Some((percent, 1e-3));
    }
    let (front, scale) = match key.strip_suffix("PercentileLatency(us)") {
        Some(front) => (front, 1e-3),
        None => (key.strip_suffix("PercentileLatency(ms)")?, 1.0),
    };
    Some((number(front.trim_end_matches(char::is_alphabetic))?, scale))
}

/// `READ,1795250816288,421`: when an operation ended, in milliseconds, and how long it took.
fn raw(line: &str) -> Option<(&str, Event)> {
    let (operation, rest) = line.split_once(',')?;
    let (ended, took) = rest.split_once(',')?;
    let ended: i64 = ended.parse().ok().filter(|ms| (100_000_000_000..100_000_000_000_000).contains(ms))?;
    Some((operation, Event::done(Micros(ended * 1000), took.parse().ok()?)))
}

/// Parts of lines that say what is being done.
const KNOWN: &[&str] = &[
    "Loading workload...",
    "Starting test.",
    "DBWrapper: report latency",
    "Raw data measurement:",
    "latency raw data: op, timestamp(ms), latency(us)",
    "java -cp",
    "/bin/java",
    "Adding node",
    "WARN",
    "SLF4J",
];
