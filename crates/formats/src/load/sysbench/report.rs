//! The report at the end of a run and at `--report-checkpoints`.

use super::interval::MEBI;
use crate::{
    Out,
    load::names::{self, Name, Results},
    number,
};

/// State of a report that decides how later lines are read.
#[derive(Debug, Default)]
pub struct Report {
    results: Results,
    /// A checkpoint's report counts events since the last one, but its time is that of the run.
    checkpoint: bool,
    elapsed: Option<f64>,
    counted: bool,
    has_rate: bool,
    /// Reads and writes per second, which 0.4 and 0.5 print apart from other statements.
    requests_per_s: Option<f64>,
}

impl Report {
    /// The report of a run, or of a checkpoint within it.
    pub fn new(results: Results, checkpoint: bool) -> Report {
        Report { results, checkpoint, ..Report::default() }
    }

    /// Duration of the run, if the report has it.
    pub fn elapsed(&self) -> Option<f64> {
        self.elapsed
    }

    /// Reads a line; false when it is none of a report.
    pub fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        match line.split_once(':') {
            Some((key, rest)) => self.pair(key.trim(), rest.trim(), out),
            None => self.sentence(line, out),
        }
    }

    fn pair(&mut self, key: &str, rest: &str, out: &mut Out<'_>) -> bool {
        let first = first_number(rest);
        if let Some((_, name)) = PLAIN.iter().find(|(k, _)| *k == key && !rest.starts_with("IOPS=")) {
            self.results.set(out, *name, first);
            return first.is_some();
        }
        if let Some((_, count, rate)) = COUNTED.iter().find(|(k, ..)| *k == key) {
            if let Some(count) = count {
                self.results.set(out, *count, first);
            }
            self.results.set(out, *rate, in_brackets(rest));
            self.counted |= *rate == names::THROUGHPUT;
            self.has_rate |= *rate == names::THROUGHPUT;
            return first.is_some();
        }
        match key {
            "read/write requests" => self.requests_per_s = in_brackets(rest),
            "other operations" => {
                let all = self.requests_per_s.zip(in_brackets(rest)).map(|(a, b)| a + b);
                self.results.set(out, names::REQUESTS_PER_S, all);
            }
            "Operations performed" => self.operations(rest, out),
            // An event of a test with transactions is one of them, whose rate is above.
            "events per second" | "events/s (eps)" if self.has_rate => {
                self.results.other(out, "events_per_s", first, "/s");
            }
            "events per second" | "events/s (eps)" => {
                self.has_rate = true;
                self.results.set(out, names::THROUGHPUT, first);
            }
            "total time" | "time elapsed" => {
                self.elapsed = first;
                self.results.set(out, names::ELAPSED, first);
            }
            "total number of events" => self.events(first, out),
            "sum" => self.results.set(out, names::BUSY, first.map(|ms| ms / 1e3)),
            "read, MiB/s" => self.results.set(out, names::READ_BYTES_PER_S, first.map(|v| v * MEBI)),
            "written, MiB/s" => self.results.set(out, names::WRITE_BYTES_PER_S, first.map(|v| v * MEBI)),
            "events (avg/stddev)" => {
                return self.two(names::CLIENT_TRANSACTIONS_MEAN, names::CLIENT_TRANSACTIONS_SD, rest, out);
            }
            "execution time (avg/stddev)" => {
                return self.two(names::CLIENT_BUSY_MEAN, names::CLIENT_BUSY_SD, rest, out);
            }
            "read" | "write" | "fsync" => return self.iops(key, rest, out),
            "percentile stats" => {}
            _ => return self.percentile(key, first, out) || TITLES.contains(&key),
        }
        true
    }

    fn percentile(&mut self, key: &str, value: Option<f64>, out: &mut Out<'_>) -> bool {
        let Some(which) = key.strip_suffix("percentile") else { return false };
        let which = which.trim().trim_start_matches("approx.").trim_end_matches(char::is_alphabetic);
        let Some(percent) = number(which.trim()) else { return false };
        // `max:` has the maximum itself; its percentile is the end of the bucket that it fell into.
        if percent < 100.0 {
            self.results.percentile(out, percent, "", value);
        }
        value.is_some()
    }

    /// Tests without transactions print only how many events there were.
    fn events(&mut self, events: Option<f64>, out: &mut Out<'_>) {
        if !self.counted {
            self.results.set(out, names::TRANSACTIONS, events);
        }
        let elapsed = self.elapsed.filter(|e| *e > 0.0);
        if let (false, false, Some(events), Some(elapsed)) = (self.has_rate, self.checkpoint, events, elapsed) {
            self.results.set(out, names::THROUGHPUT, events / elapsed);
        }
    }

    /// `4194304 (5330306.76 ops/sec)` of memory, `1 reads, 2 writes, 3 Other = 6 Total` of files.
    fn operations(&mut self, rest: &str, out: &mut Out<'_>) {
        let first = first_number(rest);
        if rest.contains('(') {
            (self.counted, self.has_rate) = (true, true);
            self.results.set(out, names::TRANSACTIONS, first);
            self.results.set(out, names::THROUGHPUT, in_brackets(rest));
            return;
        }
        for part in rest.split([',', '=']) {
            let name = match part.trim().rsplit(' ').next() {
                Some("reads") => names::READS,
                Some("writes") => names::WRITES,
                _ => continue,
            };
            self.results.set(out, name, first_number(part));
        }
        let others = rest.split([',', '=']).find(|p| p.trim().ends_with("Other"));
        self.results.set(out, names::OTHERS, others.and_then(first_number));
    }

    /// `IOPS=55014.76 859.61 MiB/s (901.36 MB/s)`, as sysbench after 1.0 prints.
    fn iops(&mut self, key: &str, rest: &str, out: &mut Out<'_>) -> bool {
        let Some(rest) = rest.strip_prefix("IOPS=") else { return false };
        let (rate, bytes) = match key {
            "read" => (names::READS_PER_S, Some(names::READ_BYTES_PER_S)),
            "write" => (names::WRITES_PER_S, Some(names::WRITE_BYTES_PER_S)),
            _ => (names::SYNCS_PER_S, None),
        };
        let mut words = rest.split_ascii_whitespace();
        let value = words.next().and_then(number);
        self.results.set(out, rate, value);
        if let Some(bytes) = bytes {
            self.results.set(out, bytes, words.next().and_then(number).map(|v| v * MEBI));
        }
        value.is_some()
    }

    fn two(&mut self, mean: Name, sd: Name, rest: &str, out: &mut Out<'_>) -> bool {
        let Some((a, b)) = rest.split_once('/') else { return false };
        self.results.set(out, mean, number(a.trim()));
        self.results.set(out, sd, number(b.trim()));
        true
    }

    /// Lines without a colon.
    fn sentence(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if line.ends_with(" Requests/sec executed") {
            self.has_rate = true;
            self.results.set(out, names::THROUGHPUT, first_number(line));
        } else if line.contains("B transferred (") {
            self.results.set(out, names::TRANSFER_BYTES, first_number(line).map(|v| v * MEBI));
            self.results.set(out, names::TRANSFER_BYTES_PER_S, in_brackets(line).map(|v| v * MEBI));
        } else if line.starts_with("Read ") && line.contains("Total transferred") {
            // `Read 2.1881Gb  Written 1.4587Gb  Total transferred 3.6469Gb  (1.2155Gb/sec)`
            let mut words = line.split_ascii_whitespace();
            let total = words.find(|w| *w == "transferred").and_then(|_| words.next());
            self.results.set(out, names::TRANSFER_BYTES, total.and_then(bytes));
            let rate = words.next().map(|w| w.trim_matches(['(', ')']).trim_end_matches("/sec"));
            self.results.set(out, names::TRANSFER_BYTES_PER_S, rate.and_then(bytes));
        } else {
            return false;
        }
        true
    }
}

/// Lines with one number.
const PLAIN: &[(&str, Name)] = &[
    ("read", names::READS),
    ("write", names::WRITES),
    ("other", names::OTHERS),
    ("total", names::REQUESTS),
    ("min", names::LATENCY_MIN),
    ("avg", names::LATENCY_MEAN),
    ("max", names::LATENCY_MAX),
    ("reads/s", names::READS_PER_S),
    ("writes/s", names::WRITES_PER_S),
    ("fsyncs/s", names::SYNCS_PER_S),
    ("total time taken by event execution", names::BUSY),
    ("Number of unfinished transactions on forced shutdown", names::SKIPPED),
];

/// Lines with a number and in brackets how many that are per second.
const COUNTED: &[(&str, Option<Name>, Name)] = &[
    ("transactions", Some(names::TRANSACTIONS), names::THROUGHPUT),
    ("Total operations", Some(names::TRANSACTIONS), names::THROUGHPUT),
    // The same as `total` above it.
    ("queries", None, names::REQUESTS_PER_S),
    ("deadlocks", Some(names::ERRORS), names::ERRORS_PER_S),
    ("ignored errors", Some(names::ERRORS), names::ERRORS_PER_S),
    ("reconnects", Some(names::RECONNECTS), names::RECONNECTS_PER_S),
];

const TITLES: &[&str] = &[
    "SQL statistics",
    "OLTP test statistics",
    "queries performed",
    "General statistics",
    "Latency (ms)",
    "response time",
    "Threads fairness",
    "File operations",
    "Throughput",
    "CPU speed",
];

/// The number at the beginning of `text`, whatever unit follows it.
fn first_number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '-')).unwrap_or(text.len());
    number(text.get(..end)?.trim_end_matches([',', '.']))
}

/// The number behind the first bracket.
fn in_brackets(text: &str) -> Option<f64> {
    first_number(text.split_once('(')?.1)
}

/// Bytes as 0.4 and 0.5 print them: `2.1881Gb` is 2.1881 times 2^30 bytes.
fn bytes(text: &str) -> Option<f64> {
    crate::scaled(text, 1024.0)
}

#[cfg(test)]
mod tests {
    use crate::{fixtures::read, format};

    #[test]
    fn the_rate_of_transactions_is_the_one_throughput() {
        let text = "\
sysbench 1.1.0 (using bundled LuaJIT 2.1.0-beta3)

SQL statistics:
    queries performed:
        read:                            140000
        write:                           40000
        other:                           20000
        total:                           200000
    transactions:                        10000  (999.51 per sec.)
    queries:                             200000 (19990.20 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

Throughput:
    events/s (eps):                      999.5100
    time elapsed:                        10.0049s
    total number of events:              10000
";
        let read = read(format("sysbench").unwrap(), text.as_bytes());
        let named = |name: &str| {
            read.text.lines().filter(|l| l.split('\t').nth(1).is_some_and(|n| n.starts_with(name))).count()
        };
        assert_eq!((named("throughput"), named("events_per_s"), read.tally.notes), (1, 1, 0), "{}", read.text);
    }
}
