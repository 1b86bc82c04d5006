//! Distributions as DTrace prints them: `quantize()`, `lquantize()` and `llquantize()`.
//!
//! The value beside a bar is the lower bound of its bucket; where the next one begins is the upper
//! bound. The subject of a distribution is on the line before it: the keys of the aggregation, or a
//! title that the script printed.

use fenxi_model::{Micros, catalog::histogram};

use super::{
    distribution::{Moments, unit},
    syscalls::Others,
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for histograms of DTrace scripts.
pub static FORMAT: Format = Format {
    name: "dtrace",
    summary: "histograms of DTrace scripts: quantize, lquantize, llquantize",
    family: Family::Trace,
    tables: &[&histogram::TABLE],
    example: "\
  mysqld
           value  ------------- Distribution ------------- count
              16 |                                         0
              32 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 170
              64 |                                         0
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(header))
}

pub(super) fn header(line: &str) -> bool {
    line.split_ascii_whitespace().eq(["value", "-------------", "Distribution", "-------------", "count"])
}

/// A bar: its lower bound, None below the first (`< 0`), and its count.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bar {
    lo: Option<f64>,
    /// The last of a linear distribution (`>= 100`).
    open: bool,
    count: f64,
}

fn bar(line: &str) -> Option<Bar> {
    let (bound, rest) = line.split_once('|')?;
    let count = number(rest.trim_start_matches(['@', ' ']).trim_end())?;
    let bound = bound.trim();
    if let Some(above) = bound.strip_prefix(">=") {
        return Some(Bar { lo: Some(number(above.trim())?), open: true, count });
    }
    if let Some(below) = bound.strip_prefix('<') {
        number(below.trim())?;
        return Some(Bar { lo: None, open: false, count });
    }
    Some(Bar { lo: Some(number(bound)?), open: false, count })
}

/// Reads bars; each needs the next to know where it ends.
#[derive(Debug, Default)]
pub(super) struct Bars {
    name: String,
    at: (Option<Micros>, Option<f64>),
    reading: bool,
    last: Option<(f64, f64)>,
}

impl Bars {
    /// A distribution of `name` begins.
    pub(super) fn begin(&mut self, name: &str, at: (Option<Micros>, Option<f64>), out: &mut Out<'_>) {
        self.end(out);
        name.clone_into(&mut self.name);
        self.at = at;
        self.reading = true;
    }

    /// Whether the line was a bar.
    pub(super) fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some(bar) = bar(line).filter(|_| self.reading) else { return false };
        let lo = bar.lo.unwrap_or(f64::NEG_INFINITY);
        self.write(Some(lo), out);
        self.last = Some((lo, bar.count));
        if bar.open {
            self.write(None, out);
        }
        true
    }

    /// The distribution is over. Its last bar is an empty one, except where a script cut it.
    pub(super) fn end(&mut self, out: &mut Out<'_>) {
        let after = self.last.map(|(lo, _)| if lo > 0.0 { 2.0 * lo } else { lo + 1.0 });
        self.write(after, out);
        self.reading = false;
    }

    fn write(&mut self, hi: Option<f64>, out: &mut Out<'_>) {
        if let Some((lo, count)) = self.last.take() {
            let (t, dt) = self.at;
            out.bucket(t, dt, &self.name, "", lo, hi, unit(&self.name), count);
        }
    }
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let (mut bars, mut moments, mut others) = (Bars::default(), Moments::default(), Others::default());
    // The line before a distribution names it, so other lines wait for the next.
    let mut before: Option<(u64, String)> = None;
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text());
        if line.trim().is_empty() || bars.line(line, out) {
            continue;
        }
        if header(line) {
            let title = before.take().map(|(_, title)| title).unwrap_or_default();
            let name = if title.is_empty() { "value" } else { title.as_str() };
            let moment = moments.of(name, out);
            bars.begin(name, moment, out);
            continue;
        }
        bars.end(out);
        // It ends what was traced, and names nothing.
        if line.trim() == "^C" {
            if let Some((at, line)) = before.take() {
                told(at, &line, &mut others);
            }
            continue;
        }
        // The keys of an aggregation stand in columns.
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let Some((at, line)) = before.replace((at, words.join(" ").trim_end_matches(':').to_owned())) {
            told(at, &line, &mut others);
        }
    }
    bars.end(out);
    if let Some((at, line)) = before {
        told(at, &line, &mut others);
    }
    others.tell(out);
}

/// Messages of dtrace itself, which are no data.
fn told(at: u64, line: &str, others: &mut Others) {
    let own = line.starts_with("dtrace: ") || line == "^C" || line.starts_with("Tracing") || line.starts_with("CPU ");
    if !own {
        others.add(at, line);
    }
}
