//! Output of `pgbench`: the report at the end and the lines of `--progress`, of 9.1 and later.
//!
//! The report comes on standard output, progress on standard error; files often have both, in
//! either order. With `--progress-timestamp` the seconds are those since the epoch.

mod progress;
mod report;

use fenxi_model::{Micros, catalog::load};

use self::report::Report;
use super::names::Results;
use crate::{Family, Format, Head, Input, Out, Relative, Sure, Ticker};

/// Importer for pgbench 9.1 to 18.
pub static FORMAT: Format = Format {
    name: "pgbench",
    summary: "pgbench 9.1 to 18: report, --progress, --progress-timestamp, -r, -R, several scripts",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: "\
progress: 1.0 s, 2329.9 tps, lat 1.678 ms stddev 2.405, 0 failed
transaction type: <builtin: TPC-B (sort of)>
number of clients: 4
number of transactions actually processed: 8870
tps = 2215.424701 (without initial connection time)
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| {
        line.starts_with("number of transactions actually processed:")
            || line.strip_prefix("pgbench (").is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
            || progress::Progress::read(line).is_some()
    };
    Sure::Certain.when(head.any(own))
}

struct Reader {
    runs: u32,
    report: Report,
    relative: Option<Relative>,
    ticker: Ticker,
    /// Seconds from the begin of the first run to that of this one.
    begin: f64,
    /// When the last progress line was printed, by its own time.
    last: Option<f64>,
    t: Option<Micros>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let ticker = Ticker::new(out.hints(), &head, |line| progress::Progress::read(line.trim()).map(|p| p.seconds));
    drop(head);
    let mut reader =
        Reader { runs: 1, report: Report::default(), relative: None, ticker, begin: 0.0, last: None, t: None };
    input.each_line(|number, line| reader.line(number, line, out));
}

impl Reader {
    fn line(&mut self, number: u64, raw: &str, out: &mut Out<'_>) {
        let line = raw.trim();
        if line.is_empty() {
            return;
        }
        if let Some(progress) = progress::Progress::read(line) {
            self.progress(&progress, out);
        } else if let Some(message) = complaint(line) {
            match self.t {
                Some(t) => out.event(t, "log", "pgbench", message),
                None => out.fact("load", "pgbench message", message),
            }
        } else {
            // A second report, or the text before one, begins a second run.
            if self.report.is_complete() && report::begins(line) {
                self.next_run();
            }
            if !self.report.line(line, out) {
                out.unknown(number, line, "no line of pgbench");
            }
        }
    }

    fn next_run(&mut self) {
        self.runs = self.runs.saturating_add(1);
        self.begin += self.last.filter(|s| !is_epoch(*s)).or(self.report.duration()).unwrap_or(0.0);
        self.last = None;
        self.ticker.restart();
        self.report = Report::new(Results::nth(self.runs));
    }

    fn progress(&mut self, progress: &progress::Progress<'_>, out: &mut Out<'_>) {
        let seconds = progress.seconds;
        if self.last.is_some_and(|last| seconds < last) {
            self.next_run();
        }
        let t = if is_epoch(seconds) {
            Micros((seconds * 1e6).round() as i64)
        } else {
            let relative = self.relative.get_or_insert_with(|| Relative::new(out, Some(1.0)));
            relative.after(self.begin + seconds)
        };
        let dt = match self.last {
            Some(last) => Some(seconds - last),
            None if is_epoch(seconds) => self.ticker.tick(t),
            None => Some(seconds),
        };
        (self.last, self.t) = (Some(seconds), Some(t));
        progress.write(t, dt.filter(|dt| *dt > 0.0), out);
    }
}

/// Whether seconds are counted from 1970 and not from the begin of the run.
fn is_epoch(seconds: f64) -> bool {
    seconds > 1e8
}

/// Complaint of the tool, the server or the shell.
fn complaint(line: &str) -> Option<&str> {
    let words = ["WARNING:", "ERROR:", "DETAIL:", "HINT:", "NOTICE:", "FATAL:", "PANIC:", "CONTEXT:", "LINE "];
    let begins = words.iter().any(|w| line.starts_with(w)) || line.starts_with("Warning:");
    let own = line.starts_with("pgbench:") || line.starts_with("client ") || line.starts_with("Client ");
    (begins || own || line.starts_with("Run was aborted") || line == "^").then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::read,
        load::tests::{column, result},
    };

    #[test]
    fn a_second_run_follows_the_first() {
        let run = "progress: 5.0 s, 10.0 tps, lat 1.000 ms stddev 2.000\nprogress: 10.0 s, 20.0 tps, lat -nan ms stddev -nan\n\
                   number of clients: 3\ntps = 15.000000 (excluding connections establishing)\n";
        let read = read(&FORMAT, format!("{run}{run}").as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        assert_eq!(column(&read.text, "load", "dt"), [Some(5.0); 4]);
        assert_eq!(column(&read.text, "load", "latency_mean_ms"), [Some(1.0), None, Some(1.0), None]);
        assert_eq!(result(&read.text, "throughput#2"), Some(15.0));
        let times: std::collections::BTreeSet<_> =
            read.text.lines().filter(|l| l.contains("Z\t")).map(|l| &l[..19]).collect();
        assert_eq!(times.len(), 4);
    }
}
