//! `sysbench` 0.4, 0.5 and 1.0: intervals, histogram and report of every test.
//!
//! Its times are seconds since the threads began. Times of 0.4 and 0.5 are called response times
//! and carry `ms`; what all versions call MB is 2^20 bytes. Several runs may be in one file.

mod interval;
mod report;

use fenxi_model::{
    Place,
    catalog::{histogram, load},
    place::F64,
};

use self::{interval::Value, report::Report};
use super::names::{self, LATENCY_BUCKETS, Results, percentile_name};
use crate::{Family, Format, Head, Input, Join, Out, Relative, Sure, number};

/// Importer for sysbench 0.4, 0.5, 1.0.
pub static FORMAT: Format = Format {
    name: "sysbench",
    summary: "sysbench 0.4, 0.5, 1.0: run of any test, --report-interval, --histogram, --report-checkpoints",
    family: Family::Load,
    tables: &[&load::TABLE, &histogram::TABLE],
    example: "\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 4

[ 2s ] thds: 4 tps: 709.02 qps: 14193.28 (r/w/o: 9936.62/2837.11/1419.55) lat (ms,95%): 2.03 err/s: 0.50 reconn/s: 0.00
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let titled = |line: &str| banner(line).is_some() || line == OPTIONS;
    if head.any(titled) {
        return Sure::Certain;
    }
    let interval = |line: &str| {
        interval::stamp(line).is_some_and(|(_, rest)| {
            ["thds: ", "threads: ", "reads: "].iter().any(|w| rest.starts_with(w)) && interval::values(rest, |_| {})
        })
    };
    Sure::Likely.when(head.any(interval) || head.any(|l| l == "Threads fairness:"))
}

/// The version in `sysbench 1.0.20 (using ...)` and `sysbench 0.4.12:  multi-threaded ...`.
fn banner(line: &str) -> Option<&str> {
    let (version, rest) = line.strip_prefix("sysbench ")?.split_once([' ', ':'])?;
    let known = rest.starts_with("(using") || rest.trim_start().starts_with("multi-threaded");
    (known && version.starts_with(|c: char| c.is_ascii_digit())).then_some(version)
}

struct Reader {
    version: String,
    runs: u32,
    report: Report,
    relative: Option<Relative>,
    /// Seconds from the begin of the first run to that of this one.
    begin: f64,
    /// Seconds from the begin of this run to the last interval's end, and that interval's length.
    last: (f64, Option<f64>),
    /// The distance between the first two lines of intervals.
    step: Option<f64>,
    /// How long this run took as far as is known.
    ran: f64,
    interval: Option<f64>,
    offered: Option<f64>,
    join: Join<load::Schema>,
    /// The histogram's last slot.
    slot: Option<i32>,
    /// Complaints so far: each thread makes its own.
    messages: u64,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        version: String::new(),
        runs: 0,
        report: Report::default(),
        relative: None,
        begin: 0.0,
        last: (0.0, None),
        step: step(&input.head()),
        ran: 0.0,
        interval: None,
        offered: None,
        join: Join::new(&load::TABLE, Some(load::generator), COLUMNS),
        slot: None,
        messages: 0,
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.join.flush(out);
    if reader.messages > MAX_MESSAGES {
        out.note(None, &format!("{} more messages of the tool are left out", reader.messages - MAX_MESSAGES));
    }
}

/// Complaints that are kept.
const MAX_MESSAGES: u64 = 1000;

/// Columns that an interval can have, on one line or on two.
const COLUMNS: &[Place<load::Schema, F64>] = &[
    load::clients,
    load::offered_per_s,
    load::transactions_per_s,
    load::requests_per_s,
    load::reads_per_s,
    load::writes_per_s,
    load::others_per_s,
    load::errors_per_s,
    load::reconnects_per_s,
    load::transfer_bytes_per_s,
    load::latency_p50_ms,
    load::latency_p90_ms,
    load::latency_p95_ms,
    load::latency_p99_ms,
    load::latency_max_ms,
    load::queue_length,
];

/// The distance between the first two lines of intervals.
fn step(head: &str) -> Option<f64> {
    let mut stamps = head.lines().filter_map(|line| interval::stamp(line).map(|(seconds, _)| seconds));
    let first = stamps.next()?;
    stamps.find(|seconds| *seconds != first).map(|second| second - first).filter(|step| *step > 0.0)
}

impl Reader {
    fn line(&mut self, line_number: u64, raw: &str, out: &mut Out<'_>) {
        let line = raw.trim();
        if line.is_empty() || self.title(line, out) {
            return;
        }
        if let Some((seconds, rest)) = interval::stamp(line) {
            self.interval(line_number, seconds, rest, out);
        } else if let Some((value, count)) = bucket(line) {
            self.bucket(value, count, out);
        } else if let Some((kind, message)) = message(line) {
            self.message(kind, message, out);
        } else if self.report.line(line, out) {
            self.ran = self.ran.max(self.report.elapsed().unwrap_or(0.0));
            if line.starts_with("execution time") {
                self.report = Report::new(Results::nth(self.runs), false);
            }
        } else if !about_files(line) && !KNOWN.iter().any(|known| line.starts_with(known)) {
            out.unknown(line_number, line, "no line of sysbench");
        }
    }

    /// Lines in front of a run.
    fn title(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(version) = banner(line) {
            if self.version != version {
                out.fact("load", "sysbench", version);
                version.clone_into(&mut self.version);
            }
        } else if line == OPTIONS {
            self.runs = self.runs.saturating_add(1);
            self.begin += self.ran.max(self.last.0);
            (self.last, self.ran, self.interval, self.offered) = ((0.0, None), 0.0, None, None);
            self.report = Report::new(Results::nth(self.runs), false);
        } else if let Some(threads) = line.strip_prefix("Number of threads: ") {
            Results::nth(self.runs).set(out, names::CLIENTS, number(threads));
        } else if let Some(rate) = line.strip_prefix("Target transaction rate: ") {
            self.offered = number(rate.trim_end_matches("/sec"));
            Results::nth(self.runs).set(out, names::OFFERED_PER_S, self.offered);
        } else if let Some(interval) = line.strip_prefix("Report intermediate results every ") {
            self.interval = interval.split(' ').next().and_then(number);
        } else if line.starts_with("Latency histogram") {
            self.slot = None;
        } else {
            return false;
        }
        true
    }

    fn interval(&mut self, line_number: u64, seconds: f64, rest: &str, out: &mut Out<'_>) {
        if rest == "Checkpoint report:" {
            self.report = Report::new(Results::with(format!("@{seconds}s")), true);
            return;
        }
        if !interval::values(rest, |_| {}) {
            out.unknown(line_number, rest, "no interval of sysbench");
            return;
        }
        let usual = self.interval;
        let relative = *self.relative.get_or_insert_with(|| Relative::new(out, Some(usual.unwrap_or(1.0))));
        let t = relative.after(self.begin + seconds);
        let (last, mut dt) = self.last;
        if seconds != last {
            let distance = seconds - last;
            // The log may be cut: its first line is no interval from the start.
            let distance = self.step.filter(|step| last == 0.0 && distance > 1.5 * step).unwrap_or(distance);
            dt = match usual {
                Some(usual) if (distance - usual).abs() <= 1.0 => Some(usual),
                _ => Some(distance).filter(|d| *d > 0.0),
            };
            self.last = (seconds, dt);
        }
        let mut moved = None;
        let join = &mut self.join;
        interval::values(rest, |value| match (value.column(), value) {
            (Some((column, value)), _) => join.set(out, t, dt, "sysbench", column, Some(value)),
            (None, Value::Read(v)) => {
                out.metric(t, dt, "sysbench.read_bytes_per_s", "", v, "B/s");
                moved = Some(moved.unwrap_or(0.0) + v);
            }
            (None, Value::Written(v)) => {
                out.metric(t, dt, "sysbench.write_bytes_per_s", "", v, "B/s");
                moved = Some(moved.unwrap_or(0.0) + v);
            }
            (None, Value::Latency(percent, ms)) => {
                out.metric(t, dt, &format!("sysbench.latency_{}", percentile_name(percent)), "", ms, "ms");
            }
            (None, Value::Concurrency(v)) => out.metric(t, dt, "sysbench.concurrency", "", v, ""),
            (None, Value::Column(..)) => {}
        });
        for (column, value) in [(load::transfer_bytes_per_s, moved), (load::offered_per_s, self.offered)] {
            if value.is_some() {
                self.join.set(out, t, dt, "sysbench", column, value);
            }
        }
    }

    /// A line of the histogram. Slot `i` holds what is nearest to `MIN * STEP^i` in its logarithm;
    /// three decimals do not distinguish the first ones, but each is printed once, in order.
    fn bucket(&mut self, value: f64, count: f64, out: &mut Out<'_>) {
        let step = (MAX_MS / MIN_MS).ln() / f64::from(LAST_SLOT);
        let nearest = ((value.max(MIN_MS) / MIN_MS).ln() / step).round() as i32;
        let slot = nearest.max(self.slot.map_or(0, |slot| slot.saturating_add(1))).min(LAST_SLOT);
        self.slot = Some(slot);
        let edge = |slot: f64| MIN_MS * (slot * step).exp();
        let lo = if slot == 0 { 0.0 } else { edge(f64::from(slot) - 0.5) };
        let hi = (slot < LAST_SLOT).then(|| edge(f64::from(slot) + 0.5));
        let labels = if self.runs > 1 { format!("report={}", self.runs) } else { String::new() };
        out.bucket(None, None, LATENCY_BUCKETS, &labels, lo, hi, "ms", count);
    }

    /// A complaint: at the end of the last interval, if there was one.
    fn message(&mut self, kind: &str, message: &str, out: &mut Out<'_>) {
        self.messages += 1;
        if self.messages > MAX_MESSAGES {
            return;
        }
        match &self.relative {
            Some(relative) => out.event(relative.after(self.begin + self.last.0), "log", "sysbench", message),
            None if kind == "DEBUG" => {}
            None => out.fact("load", "sysbench message", message),
        }
    }
}

const OPTIONS: &str = "Running the test with following options:";

/// The histogram of 1.0: so many slots between these, equal in the logarithm.
const LAST_SLOT: i32 = 1023;
const MIN_MS: f64 = 1e-3;
const MAX_MS: f64 = 1e5;

/// A line `       0.546 |***      12` of the histogram.
fn bucket(line: &str) -> Option<(f64, f64)> {
    let (value, bar) = line.split_once('|')?;
    Some((number(value.trim())?, number(bar.trim_start_matches('*').trim())?))
}

/// Complaint of the tool or its database driver: kind and text.
fn message(line: &str) -> Option<(&str, &str)> {
    if line == "^" || line.starts_with("LINE ") {
        return Some(("detail", line));
    }
    let (kind, message) = line.split_once(": ")?;
    if matches!(kind, "DETAIL" | "HINT" | "CONTEXT" | "QUERY") {
        return Some(("detail", line));
    }
    matches!(kind, "FATAL" | "ALERT" | "WARNING" | "DEBUG" | "error" | "PANIC").then_some((kind, message))
}

/// Beginnings of lines that repeat the options or say what is being done.
const KNOWN: &[&str] = &[
    "Additional request validation",
    "Block size ",
    "Calling fsync()",
    "Creating ",
    "Debug mode enabled",
    "Doing ",
    "Done.",
    "Dropping table",
    "Event limit exceeded",
    "Extending existing file",
    "Extra file open flags",
    "Forcing shutdown in",
    "Initializing ",
    "Inserting ",
    "Maximum number of requests",
    "Memory ",
    "Merging requests",
    "No bytes written",
    "No DB drivers specified",
    "Number of IO requests",
    "Number of random requests",
    "Not using auto_inc",
    "Periodic FSYNC",
    "Prime numbers limit",
    "Primer numbers limit",
    "Random number generator",
    "Read/Write ratio",
    "Reading the script",
    "Removing test files",
    "Report checkpoint(s)",
    "Reusing existing file",
    "Running ",
    "Skipping BEGIN",
    "Thread yields per test",
    "Threads started!",
    "Time limit exceeded",
    "Using ",
    "Validation checks",
    "Validation mode",
    "Verbose per-thread",
    "Warmup time",
    "(last message repeated",
    "block size",
    "operation:",
    "scope:",
    "total size",
    "value  -----",
    "thread #",
];

/// `4 files, 4MiB each`, `16MiB total file size`, `16777216 bytes written in ...`: of the file test.
fn about_files(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit())
        && (line.contains(" files, ") || line.ends_with("total file size") || line.contains(" bytes written in "))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{fixtures::read, load::tests::column};

    /// Numbers as the tool prints them, with two decimals.
    fn printed() -> impl Strategy<Value = f64> {
        (0u32..100_000_000).prop_map(|n| f64::from(n) / 100.0)
    }

    proptest! {
        #[test]
        fn what_any_version_prints_is_read_back(rows in vec(vec(printed(), 8), 1..20), era in 0..3) {
            let mut text = format!("{OPTIONS}\nNumber of threads: 7\nReport intermediate results every 5 second(s)\n");
            for (i, row) in rows.iter().enumerate() {
                let s = (i + 1) * 5;
                let [tps, qps, r, w, o, lat, err, rec] = row[..] else { continue };
                text += &match era {
                    0 => format!("[{s:4}s] threads: 7, tps: {tps:.2}, reads/s: {r:.2}, writes/s: {w:.2} response time: {lat:.2}ms (95%)\n"),
                    1 => format!("[{s:4}s] threads: 7, tps: {tps:.2}, reads: {r:.2}, writes: {w:.2}, response time: {lat:.2}ms (95%), errors: {err:.2}, reconnects: {rec:5.2}\n"),
                    _ => format!("[ {s}s ] thds: 7 tps: {tps:.2} qps: {qps:.2} (r/w/o: {r:.2}/{w:.2}/{o:.2}) lat (ms,95%): {lat:.2} err/s: {err:.2} reconn/s: {rec:.2}\n"),
                };
            }
            let read = read(&FORMAT, text.as_bytes());
            prop_assert_eq!(read.tally.notes, 0, "{}", read.text);
            let expect = |name: &str, place: usize| {
                let values: Vec<_> = rows.iter().map(|row| Some(row[place])).collect();
                prop_assert_eq!(column(&read.text, "load", name), values, "{}", name);
                Ok(())
            };
            expect("transactions_per_s", 0)?;
            expect("reads_per_s", 2)?;
            expect("writes_per_s", 3)?;
            expect("latency_p95_ms", 5)?;
            if era > 0 {
                expect("errors_per_s", 6)?;
                expect("reconnects_per_s", 7)?;
            }
            if era > 1 {
                expect("requests_per_s", 1)?;
                expect("others_per_s", 4)?;
            }
            prop_assert!(column(&read.text, "load", "dt").iter().all(|dt| *dt == Some(5.0)));
        }
    }

    #[test]
    fn slots_of_the_histogram_do_not_overlap_where_three_decimals_hide_them() {
        let text = "sysbench 1.0.20 (using x)\nLatency histogram (values are in milliseconds)\n 0.001 |*  5\n 0.001 |* 6\n 0.002 |* 7\n";
        let text = read(&FORMAT, text.as_bytes()).text;
        let (lo, hi) = (column(&text, "histogram", "lo"), column(&text, "histogram", "hi"));
        assert_eq!(lo.len(), 3);
        assert_eq!(lo[0], Some(0.0));
        assert!(lo.iter().skip(1).zip(&hi).all(|(lo, hi)| lo >= hi), "{lo:?} {hi:?}");
    }
}
