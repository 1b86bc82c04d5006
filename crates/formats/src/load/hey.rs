//! `hey` and its kin `boom`: the report. `oha` prints nearly the same.
//!
//! A number in front of a bar of the histogram is the upper bound of its bucket.

use fenxi_model::catalog::histogram;

use super::{
    ghz,
    names::{self, LATENCY_BUCKETS, Name, Results},
    units::milliseconds,
};
use crate::{Family, Format, Head, Input, Out, Sure, number, scaled};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "hey",
    summary: "hey, boom: report",
    family: Family::Load,
    tables: &[&histogram::TABLE],
    example: "\
Summary:
  Total:\t3.1898 secs
  Slowest:\t0.0721 secs
  Fastest:\t0.0031 secs
  Average:\t0.0506 secs
  Requests/sec:\t155.4938
",
    sniff,
    read: read_report,
};

fn sniff(head: &Head<'_>) -> Sure {
    let other = head.any(|l| l.starts_with("Success rate:")) || ghz::is_report(head);
    Sure::Certain.when(is_report(head) && !other)
}

/// Whether it is a report of hey or of oha.
pub fn is_report(head: &Head<'_>) -> bool {
    head.any(|l| l == "Summary:")
        && head.any(|l| l.starts_with("Requests/sec:"))
        && head.any(|l| l.starts_with("Slowest:"))
}

#[derive(Default)]
struct Reader {
    results: Results,
    runs: u32,
    /// The requests that a distribution is about, where it is not about all.
    part: String,
    upper: f64,
    responses: f64,
    errors: f64,
}

/// Reads a report of hey or of oha.
pub fn read_report(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text().trim());
        if !line.is_empty() && !reader.line(line, out) {
            out.unknown(number, line, "no line of hey or oha");
        }
    }
    reader.finish(out);
}

impl Reader {
    fn finish(&mut self, out: &mut Out<'_>) {
        if self.runs > 0 {
            self.results.set(out, names::TRANSACTIONS, self.responses);
            self.results.set(out, names::ERRORS, self.errors);
        }
    }

    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if line == "Summary:" {
            self.finish(out);
            let runs = self.runs.saturating_add(1);
            *self = Reader { runs, results: Results::nth(runs), ..Reader::default() };
            return true;
        }
        if line.ends_with(':') {
            // `Response time histogram (2xx only):`
            self.part = line.split_once('(').filter(|_| line.contains(" only")).map_or(String::new(), |(_, part)| {
                part.trim_end_matches([')', ':']).trim_end_matches(" only").to_owned()
            });
            self.upper = 0.0;
            return true;
        }
        if let Some((left, right)) = line.split_once('[') {
            return self.bracket(left.trim(), right, out);
        }
        if let Some((percent, time)) = line.split_once("% in ") {
            let Some(percent) = number(percent) else { return false };
            self.results.percentile(out, percent, &self.part, milliseconds(time));
            return true;
        }
        let Some((key, value)) = line.split_once(':') else { return line.contains("bytes/request") };
        self.pair(key, value.trim(), out)
    }

    fn pair(&mut self, key: &str, value: &str, out: &mut Out<'_>) -> bool {
        if let Some((_, name)) = TIMES.iter().find(|(k, _)| *k == key) {
            let ms = milliseconds(value);
            self.results.set(out, *name, ms.map(|ms| if *name == names::ELAPSED { ms / 1e3 } else { ms }));
            return ms.is_some() || value.contains("NaN");
        }
        match key {
            "Requests/sec" => self.results.set(out, names::THROUGHPUT, number(value)),
            "Success rate" => {
                let share = number(value.trim_end_matches('%')).map(|percent| 100.0 - percent);
                self.results.set(out, names::ERROR_SHARE, share);
            }
            "Total data" => self.results.set(out, names::TRANSFER_BYTES, bytes(value)),
            "Size/sec" => self.results.set(out, names::TRANSFER_BYTES_PER_S, bytes(value)),
            "Size/request" => {}
            // Parts of a request: mean, minimum and maximum.
            _ if value.matches(',').count() == 2 => {
                let mean = value.split(',').next().and_then(milliseconds);
                self.results.other(
                    out,
                    &format!("{}_mean", key.replace([' ', '+'], "_").to_ascii_lowercase()),
                    mean,
                    "ms",
                );
            }
            _ => return false,
        }
        true
    }

    /// `0.010 [6] |■`, `0.010 sec [6] |■`, `[200] 493 responses`, `[296] Get "http://...": connection refused`
    fn bracket(&mut self, left: &str, right: &str, out: &mut Out<'_>) -> bool {
        let Some((inner, rest)) = right.split_once(']') else { return false };
        let Some(count) = number(inner.trim()) else { return false };
        if left.is_empty() {
            if let Some(responses) = rest.trim().strip_suffix(" responses").and_then(number) {
                self.responses += responses;
                self.errors += if count >= 400.0 { responses } else { 0.0 };
            } else {
                self.errors += count;
            }
            return true;
        }
        let Some(hi) = number(left).map(|s| s * 1e3).or_else(|| milliseconds(left)) else { return false };
        if count > 0.0 && hi > self.upper {
            let labels = if self.part.is_empty() { String::new() } else { format!("responses={}", self.part) };
            out.bucket(None, None, LATENCY_BUCKETS, &labels, self.upper, hi, "ms", count);
        }
        self.upper = hi;
        true
    }
}

const TIMES: &[(&str, Name)] = &[
    ("Total", names::ELAPSED),
    ("Slowest", names::LATENCY_MAX),
    ("Fastest", names::LATENCY_MIN),
    ("Average", names::LATENCY_MEAN),
];

/// `119040 bytes`, `1.23 MiB`, `240 B`.
fn bytes(text: &str) -> Option<f64> {
    scaled(text.trim_end_matches(" bytes"), 1000.0)
}
