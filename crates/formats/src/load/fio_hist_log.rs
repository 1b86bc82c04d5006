//! fio's histogram logs: `--write_hist_log`, files like `job_clat_hist.1.log`.
//!
//! A line is `milliseconds, direction, block size`, then a count for each of 1856 bins of the completion latency, fewer by powers of
//! two with `--log_hist_coarseness`. Bins are those of fio 3: nanoseconds, each power of two cut into 64. fio 2 has 1216 of microseconds.

use fenxi_model::{Micros, catalog::histogram};

use super::names::LATENCY_BUCKETS;
use crate::{Family, Fields, Format, Head, Input, Out, Relative, Splitter, Sure};

/// Importer for fio *_clat_hist.*.log (--write_hist_log).
pub static FORMAT: Format = Format {
    name: "fio-hist-log",
    summary: "fio: *_clat_hist.*.log (--write_hist_log)",
    family: Family::Load,
    tables: &[&histogram::TABLE],
    example: "1006, 0, 4096, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 3, 1, 0, 0, 0, 0, 0, 0,\n",
    sniff,
    read,
};

/// Bins of fio 3 and fio 2 at full resolution, and how many units of their bounds a millisecond has.
const BINS: [(usize, f64); 2] = [(29 * 64, 1e6), (19 * 64, 1e3)];
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// Lower bound of a bin in fio's unit; that of the bin beyond the last is its upper bound.
fn bound(bin: usize) -> f64 {
    if bin < 128 {
        return bin as f64;
    }
    let shift = bin / 64 - 1;
    (64 + bin % 64) as f64 * 2f64.powi(i32::try_from(shift).unwrap_or(0))
}

struct Line<'a> {
    ms: u64,
    direction: usize,
    counts: Fields<'a>,
    /// By how many powers of two there are fewer bins.
    coarseness: u32,
    /// Units of bounds in a millisecond.
    per_ms: f64,
}

impl<'a> Line<'a> {
    fn read(fields: &Fields<'a>) -> Option<Line<'a>> {
        // A comma ends the line.
        let n = fields.len() - usize::from(fields.get(fields.len().checked_sub(1)?).is_empty());
        let bins = n.checked_sub(3)?;
        let of = |(all, per_ms)| Some(((0..=6).find(|c| all >> c == bins)?, per_ms));
        let (coarseness, per_ms) = BINS.into_iter().find_map(of)?;
        let counts = fields.to(n).from(3);
        let whole = counts.iter().all(|c| !c.is_empty() && c.bytes().all(|b| b.is_ascii_digit()));
        let direction = fields.get(1).parse().ok().filter(|d| *d < DIRECTIONS.len())?;
        fields.get(2).parse::<u64>().ok()?;
        whole.then_some(Line { ms: fields.get(0).parse().ok()?, direction, counts, coarseness, per_ms })
    }
}

fn sniff(head: &Head<'_>) -> Sure {
    let mut splitter = Splitter::default();
    let complete = head.text.rfind('\n').map_or(head.text, |end| head.text.get(..end).unwrap_or(""));
    let mut lines = complete.lines().filter(|l| !l.trim().is_empty()).take(5).peekable();
    let any = lines.peek().is_some_and(|l| l.contains(", "));
    Sure::Certain.when(any && lines.all(|line| Line::read(&splitter.at(line, b',')).is_some()))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut splitter = Splitter::default();
    let mut relative: Option<Relative> = None;
    let mut last: [Option<u64>; 3] = [None; 3];
    while input.line().is_some() {
        let (number, text) = (input.number(), input.text());
        if text.trim().is_empty() {
            continue;
        }
        let fields = splitter.at(text, b',');
        let Some(line) = Line::read(&fields) else {
            out.unknown(number, text, "expected milliseconds, direction, block size and bins");
            continue;
        };
        let epoch = line.ms > 100_000_000_000;
        let t = if epoch {
            Micros(i64::try_from(line.ms.saturating_mul(1000)).unwrap_or(i64::MAX))
        } else {
            relative.get_or_insert_with(|| Relative::elapsed(out)).after(line.ms as f64 / 1e3)
        };
        let Some(before) = last.get_mut(line.direction) else { continue };
        let begin = before.or((!epoch).then_some(0));
        *before = Some(line.ms);
        let dt = begin.map(|begin| line.ms.saturating_sub(begin) as f64 / 1e3).filter(|dt| *dt > 0.0);
        write(&line, t, dt, out);
    }
}

fn write(line: &Line<'_>, t: Micros, dt: Option<f64>, out: &mut Out<'_>) {
    let labels = format!("operation={}", DIRECTIONS.get(line.direction).copied().unwrap_or(""));
    let at = |i: usize| bound(i << line.coarseness) / line.per_ms;
    for (i, count) in line.counts.iter().enumerate() {
        if let Some(count) = crate::number(count).filter(|n| *n > 0.0) {
            out.bucket(t, dt, LATENCY_BUCKETS, &labels, at(i), at(i + 1), "ms", count);
        }
    }
}
