//! The log of `pgbench -l --aggregate-interval`: a line for each interval.
//!
//! `start transactions sum sum-of-squares min max`, then with `--rate` the same four of the lag and
//! with `--latency-limit` how many were skipped. Since 15 these are always there, and behind them
//! retried transactions, retries, serialization and deadlock failures. Times are microseconds.

use fenxi_model::{Micros, catalog::load};

use super::pgbench_log::{generator, thread};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure, Ticker, number};

/// Importer for pgbench -l --aggregate-interval.
pub static FORMAT: Format = Format {
    name: "pgbench-aggregate",
    summary: "pgbench -l --aggregate-interval: aggregated log, a line per interval",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: "1795249942 795 3372874 35317926202 397 27454\n1795249943 732 3979497 54523946127 373 46421\n",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let mut splitter = Splitter::default();
    let complete = head.text.rfind('\n').map_or(head.text, |end| &head.text[..end]);
    let mut lines = complete.lines().filter(|l| !l.trim().is_empty()).take(50).peekable();
    Sure::Likely.when(lines.peek().is_some() && lines.all(|line| plausible(&splitter.blanks(line))))
}

/// Whether the mean lies between the extremes and its square below the mean square.
fn plausible(fields: &Fields<'_>) -> bool {
    let whole = fields.iter().all(|f| f.bytes().all(|b| b.is_ascii_digit()));
    if !whole || !matches!(fields.len(), 6 | 10 | 11 | 15) || start(fields).is_none() {
        return false;
    }
    let value = |i: usize| number(fields.get(i)).unwrap_or(0.0);
    let (n, sum, squares, min, max) = (value(1), value(2), value(3), value(4), value(5));
    let mean = sum / n;
    n == 0.0 || (min <= mean && mean <= max && mean * mean <= squares / n * 1.000_001)
}

/// The epoch with which a line begins.
fn start(fields: &Fields<'_>) -> Option<i64> {
    fields.get(0).parse().ok().filter(|s| (100_000_000..100_000_000_000).contains(s))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let stamp = |line: &str| number(line.split_ascii_whitespace().next()?);
    let mut ticker = Ticker::new(out.hints(), &head, stamp);
    drop(head);
    let mut splitter = Splitter::default();
    let generator = generator(thread(&out.hints().file));
    let mut length = None;
    while input.line().is_some() {
        let (number, text) = (input.number(), input.text());
        let fields = splitter.blanks(text);
        if fields.is_empty() {
            continue;
        }
        let begin = start(&fields).filter(|_| matches!(fields.len(), 6 | 10 | 11 | 15));
        let Some(begin) = begin else {
            out.unknown(number, text, "expected `start transactions sum squares min max`");
            continue;
        };
        let length = *length.get_or_insert_with(|| match ticker.tick(Micros(begin.saturating_mul(1_000_000))) {
            Some(seconds) => seconds,
            None => {
                out.assume("intervals of one second, as there is only one (give --interval)");
                1.0
            }
        });
        interval(number, (begin, length), &generator, &fields, out);
    }
}

fn interval(line: u64, (begin, length): (i64, f64), generator: &str, fields: &Fields<'_>, out: &mut Out<'_>) {
    let value = |i: usize| number(fields.get(i));
    let Some(n) = value(1) else {
        out.unknown(line, fields.rest(0), "no number of transactions");
        return;
    };
    let t = Micros(begin.saturating_mul(1_000_000).saturating_add((length * 1e6) as i64));
    let some = |v: Option<f64>| v.filter(|_| n > 0.0);
    let mean = some(value(2)).map(|sum| sum / n);
    let sd = mean.zip(value(3)).map(|(mean, squares)| (squares / n - mean * mean).max(0.0).sqrt());
    let rate = |v: Option<f64>| v.map(|v| v / length);
    let newer = fields.len() == 15;
    // Since 15 the lag is there without --rate as well, and zero.
    let lag = some(value(6)).filter(|_| !newer || value(9).is_some_and(|max| max > 0.0)).map(|sum| sum / n / 1e3);
    let mut row = out.row(&load::TABLE, t, length);
    row.str(load::generator, generator).f64(load::transactions_per_s, n / length);
    row.f64(load::latency_mean_ms, mean.map(|us| us / 1e3)).f64(load::latency_sd_ms, sd.map(|us| us / 1e3));
    row.f64(load::latency_min_ms, some(value(4)).map(|us| us / 1e3));
    row.f64(load::latency_max_ms, some(value(5)).map(|us| us / 1e3)).f64(load::lag_ms, lag);
    if newer {
        let failures = value(13).zip(value(14)).map(|(a, b)| a + b);
        row.f64(load::retries_per_s, rate(value(12))).f64(load::errors_per_s, rate(failures));
    }
    if fields.len() > 10 {
        out.metric(t, length, "pgbench.skipped_per_s", "", rate(value(10)), "/s");
    }
}
