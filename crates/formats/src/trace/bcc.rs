//! Distributions as bcc's and libbpf's tools print them: biolatency, runqlat, funclatency, ext4dist,
//! cpudist, bitesize and many more.
//!
//! Bounds are inclusive (`4 -> 7`). With an interval each distribution is of the interval; a line with
//! the time of day precedes it, or none.

use fenxi_model::catalog::{histogram, metric};

use super::{
    distribution::{Moments, label, unit},
    syscalls::Others,
};
use crate::{Clock, Family, Format, Head, Input, Out, Sure, Ticker, civil_time, number};

/// Importer for histograms of bcc and libbpf-tools.
pub static FORMAT: Format = Format {
    name: "bcc",
    summary: "histograms of bcc and libbpf-tools: biolatency, runqlat, funclatency, ext4dist, cpudist ...",
    family: Family::Trace,
    tables: &[&histogram::TABLE, &metric::TABLE],
    example: "\
Tracing block device I/O... Hit Ctrl-C to end.
     usecs               : count     distribution
         0 -> 1          : 2        |                                        |
         2 -> 3          : 21       |********************                    |
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| header(line).is_some() || header_of_perf_tools(line).is_some()))
}

/// `     usecs               : count     distribution` gives what was measured.
fn header(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(" : ")?;
    rest.split_ascii_whitespace().eq(["count", "distribution"]).then_some(name.trim())
}

/// `  >=(ms) .. <(ms)   : I/O      |Distribution   |` of perf-tools' iolatency, whose bounds are those of the next bucket, too.
fn header_of_perf_tools(line: &str) -> Option<&str> {
    let (bounds, rest) = line.split_once(" : ")?;
    let unit = bounds.trim().strip_prefix(">=(")?.split_once(") .. <(")?.0;
    (rest.contains("|Distribution") && bounds.trim().ends_with(')')).then_some(unit)
}

/// `        16 -> 31         : 43       |****     |`, or `        3          : 12       |**  |`.
fn row(line: &str) -> Option<(f64, f64, f64)> {
    let (bounds, rest) = line.split_once(" : ")?;
    let count = number(rest.split('|').next()?.trim())?;
    let (lo, last) = match bounds.split_once("->") {
        Some((lo, last)) => (number(lo.trim())?, number(last.trim())?),
        None => (number(bounds.trim())?, number(bounds.trim())?),
    };
    Some((lo, last + 1.0, count))
}

/// A line with the time of day and nothing else; some tools put a colon behind it.
fn time(line: &str) -> Option<jiff::civil::Time> {
    let line = line.trim().trim_end_matches(':');
    if line.len() == 8 { civil_time(line, None) } else { None }
}

/// `b'vfs_read' [1234]` and `'sda'` without the quotes.
fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix("b'").or_else(|| value.strip_prefix('\'')).and_then(|v| v.rsplit_once('\''));
    inner.map_or(value.to_owned(), |(inner, rest)| format!("{inner}{rest}"))
}

fn seconds(line: &str) -> Option<f64> {
    time(line).map(|t| f64::from(t.hour()) * 3600.0 + f64::from(t.minute()) * 60.0 + f64::from(t.second()))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        ticker: Ticker::new(out.hints(), &head, seconds),
        moments: Moments::default(),
        traced: String::new(),
        section: None,
        current: None,
        others: Others::default(),
    };
    drop(head);
    input.each_line(|number, line| reader.line(number, line, out));
    reader.others.tell(out);
}

struct Reader {
    clock: Clock,
    ticker: Ticker,
    moments: Moments,
    /// The traced events, by the tool's own line.
    traced: String,
    /// `disk = sda` before a distribution: what it is of.
    section: Option<(String, String)>,
    current: Option<Current>,
    others: Others,
}

/// The distribution being read.
struct Current {
    name: String,
    labels: String,
    at: (Option<fenxi_model::Micros>, Option<f64>),
    unit: String,
    /// Whether the upper bound of a bucket is the lower one of the next.
    half_open: bool,
}

impl Reader {
    fn line(&mut self, at: u64, line: &str, out: &mut Out<'_>) {
        let bare = line.trim();
        if bare.is_empty() {
            return;
        }
        if let Some(unit) = header_of_perf_tools(line) {
            let at = self.moments.of("iolatency", out);
            let (name, labels) = (format!("iolatency {unit}"), String::new());
            self.current = Some(Current { name, labels, at, unit: unit.to_owned(), half_open: true });
        } else if let Some(name) = header(line) {
            let mut labels = String::new();
            if !self.traced.is_empty() {
                label(&mut labels, "traced", &self.traced);
            }
            if let Some((key, value)) = self.section.take() {
                label(&mut labels, &key, &value);
            }
            let at = self.moments.of(&format!("{name} {labels}"), out);
            let of = unit(name).to_owned();
            self.current = Some(Current { name: name.to_owned(), labels, at, unit: of, half_open: false });
        } else if let Some(time) = time(line) {
            let t = self.clock.at(time, out);
            self.moments.stamp(t, self.ticker.tick(t));
            self.current = None;
        } else if let (Some((lo, hi, count)), Some(current)) = (row(line), &self.current) {
            let hi = if current.half_open { hi - 1.0 } else { hi };
            let ((t, dt), name) = (current.at, current.name.as_str());
            out.bucket(t, dt, name, &current.labels, lo, hi, &current.unit, count);
        } else if bare.starts_with("avg = ") {
            self.sums(bare, out);
        } else if let Some(traced) = bare.strip_prefix("Tracing ") {
            let end = traced.find("...").or_else(|| traced.find(". ")).unwrap_or(traced.len());
            traced.get(..end).unwrap_or(traced).clone_into(&mut self.traced);
        } else if let Some((key, value)) = line.split_once(" = ") {
            let value = unquoted(value.trim());
            self.section = Some((key.trim().to_owned(), value));
        } else if bare != "Detaching..." && bare != "^C" {
            self.others.add(at, bare);
        }
    }

    /// `avg = 183 nsecs, total: 91500 nsecs, count: 500`, under a distribution.
    fn sums(&mut self, line: &str, out: &mut Out<'_>) {
        let Some(current) = &self.current else { return };
        for part in line.split(',') {
            let mut words = part.split_ascii_whitespace().filter(|w| *w != "=");
            let (Some(what), Some(value)) = (words.next(), words.next().and_then(number)) else { continue };
            let of = words.next().unwrap_or("");
            let (name, (t, dt)) = (format!("bcc.{}", what.trim_end_matches(':')), current.at);
            out.metric(t, dt, &name, &current.labels, value, unit(of));
        }
    }
}
