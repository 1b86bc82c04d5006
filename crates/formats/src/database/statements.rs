//! Statements as the logs of servers give them, one by one: added up by digest, without the values in them.
//!
//! A log holds what its threshold lets through, so that rates are those of the statements logged. Values of statements may be
//! anybody's secrets: only normal forms are kept.

use std::{cmp::Reverse, collections::BinaryHeap};

use fenxi_model::{
    Micros,
    catalog::{db_statement, histogram},
    statement::{Quotes, digest, hidden},
};
use rustc_hash::FxHashMap;

use crate::{Out, generic::labels::Labels};

/// Statements that are distinguished; further ones are added up as one.
const MAX_STATEMENTS: usize = 1 << 14;
/// Further figures of one statement.
const MAX_FIGURES: usize = 64;
/// The slowest executions that become events.
const SLOWEST: usize = 100;
/// The lowest and the highest power of two that has its own bucket, in milliseconds.
const POWERS: (i32, i32) = (-10, 36);

/// One execution of a statement, or what is known of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Execution<'a> {
    pub(super) t: Option<Micros>,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
    /// The statement as the server logged it; empty when it did not.
    pub(super) text: &'a str,
    pub(super) ms: Option<f64>,
    /// 1, or 0 for what is no execution by itself.
    pub(super) calls: f64,
    /// How many failed; None where the log would not say.
    pub(super) errors: Option<f64>,
    pub(super) rows: Option<f64>,
    pub(super) examined: Option<f64>,
    /// Further figures, which add up: names and values.
    pub(super) figures: &'a [(&'a str, f64)],
}

#[derive(Debug, Default)]
struct Sum {
    database: Box<str>,
    user: Box<str>,
    form: Box<str>,
    digest: String,
    calls: f64,
    timed: f64,
    ms: f64,
    max_ms: Option<f64>,
    rows: Option<f64>,
    examined: Option<f64>,
    errors: Option<f64>,
    figures: Vec<(Box<str>, f64)>,
}

/// Adds up executions.
#[derive(Debug)]
pub(super) struct Statements {
    format: &'static str,
    quotes: Quotes,
    places: FxHashMap<Box<str>, usize>,
    sums: Vec<Sum>,
    buckets: FxHashMap<i32, f64>,
    /// By duration in nanoseconds: the moment and the place in `sums`.
    slowest: BinaryHeap<Reverse<(u64, i64, usize)>>,
    first: Option<Micros>,
    last: Option<Micros>,
    overflow: bool,
}

impl Statements {
    pub(super) fn new(format: &'static str, quotes: Quotes) -> Statements {
        Statements {
            format,
            quotes,
            places: FxHashMap::default(),
            sums: Vec::new(),
            buckets: FxHashMap::default(),
            slowest: BinaryHeap::new(),
            first: None,
            last: None,
            overflow: false,
        }
    }

    /// Whether any execution has a duration.
    pub(super) fn is_timed(&self) -> bool {
        self.sums.iter().any(|sum| sum.timed > 0.0)
    }

    /// Something was logged at `t`: the log covers it.
    pub(super) fn cover(&mut self, t: Micros) {
        self.first = Some(self.first.map_or(t, |first| first.min(t)));
        self.last = Some(self.last.map_or(t, |last| last.max(t)));
    }

    /// The end of the log and its length in seconds.
    pub(super) fn span(&self) -> (Option<Micros>, Option<f64>) {
        let dt = self.first.zip(self.last).map(|(first, last)| last.seconds_since(first)).filter(|dt| *dt > 0.0);
        (self.last, dt)
    }

    pub(super) fn add(&mut self, one: &Execution<'_>) {
        let place = self.place(one);
        let Some(sum) = self.sums.get_mut(place) else { return };
        sum.calls += one.calls;
        let Sum { rows, examined, errors, .. } = &mut *sum;
        for (sum, more) in [(rows, one.rows), (examined, one.examined), (errors, one.errors)] {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0.0) + more);
            }
        }
        for (name, value) in one.figures {
            let known = sum.figures.iter().position(|(known, _)| **known == **name);
            if let Some((_, sum)) = known.and_then(|at| sum.figures.get_mut(at)) {
                *sum += value;
            } else if sum.figures.len() < MAX_FIGURES {
                sum.figures.push(((*name).into(), *value));
            }
        }
        let Some(ms) = one.ms else { return };
        sum.ms += ms;
        sum.timed += one.calls;
        sum.max_ms = Some(sum.max_ms.map_or(ms, |max| max.max(ms)));
        *self.buckets.entry(power(ms)).or_default() += one.calls;
        self.slow(ms, one.t, place);
    }

    fn slow(&mut self, ms: f64, t: Option<Micros>, place: usize) {
        let Some(t) = t else { return };
        self.slowest.push(Reverse(((ms.max(0.0) * 1e6) as u64, t.0, place)));
        if self.slowest.len() > SLOWEST {
            self.slowest.pop();
        }
    }

    fn place(&mut self, one: &Execution<'_>) -> usize {
        let form = hidden(one.text, self.quotes);
        let key = [one.database, one.user, &form].join("\u{1}");
        if let Some(place) = self.places.get(key.as_str()) {
            return *place;
        }
        let next = self.sums.len();
        if next >= MAX_STATEMENTS {
            self.overflow = true;
            // The first beyond the limit represents all of them.
            if next == MAX_STATEMENTS {
                self.sums.push(Sum {
                    form: "(other statements)".into(),
                    digest: "others".to_owned(),
                    ..Sum::default()
                });
            }
            return MAX_STATEMENTS;
        }
        let digest = if form.is_empty() { String::new() } else { digest(&form) };
        let (database, user) = (one.database.into(), one.user.into());
        self.sums.push(Sum { database, user, form: form.into(), digest, ..Sum::default() });
        self.places.insert(key.into(), next);
        next
    }

    /// Writes everything.
    pub(super) fn flush(mut self, out: &mut Out<'_>) {
        if self.overflow {
            out.assume(&format!("statements beyond the first {MAX_STATEMENTS} are one, as there are so many"));
        }
        let (t, dt) = self.span();
        for sum in &self.sums {
            write(sum, (t, dt), self.format, out);
        }
        let mut buckets: Vec<_> = self.buckets.drain().collect();
        buckets.sort_unstable_by_key(|(power, _)| *power);
        for (power, count) in buckets {
            let lo = if power < POWERS.0 { 0.0 } else { 2f64.powi(power) };
            let mut row = out.row(&histogram::TABLE, t, dt);
            row.str(histogram::name, "statement_ms").str(histogram::unit, "ms");
            row.f64(histogram::lo, lo).f64(histogram::hi, 2f64.powi(power + 1)).f64(histogram::count, count);
        }
        let mut slowest: Vec<_> = self.slowest.into_iter().map(|Reverse(one)| one).collect();
        slowest.sort_unstable_by_key(|(ns, t, _)| (*t, *ns));
        for (ns, t, place) in slowest {
            let Some(sum) = self.sums.get(place) else { continue };
            let form = if sum.form.is_empty() { "(not logged)" } else { &sum.form };
            let message = format!("{:.3} ms: {form}", ns as f64 / 1e6);
            out.event(Micros(t), "slow statement", &sum.digest, &message);
        }
    }
}

fn write(sum: &Sum, (t, dt): (Option<Micros>, Option<f64>), format: &str, out: &mut Out<'_>) {
    let some = |text: &str| if text.is_empty() { None } else { Some(text.to_owned()) };
    let rate = |count: f64| dt.map(|dt| count / dt);
    let timed = Some(sum.timed).filter(|n| *n > 0.0);
    let mut row = out.row(&db_statement::TABLE, t, dt);
    row.str(db_statement::database, some(&sum.database).as_deref());
    row.str(db_statement::user, some(&sum.user).as_deref());
    row.str(db_statement::digest, some(&sum.digest).as_deref());
    row.str(db_statement::statement, some(&sum.form).as_deref());
    row.f64(db_statement::calls_per_s, rate(sum.calls));
    row.f64(db_statement::mean_ms, timed.map(|n| sum.ms / n)).f64(db_statement::max_ms, sum.max_ms);
    row.f64(db_statement::time, timed.and_then(|_| rate(sum.ms / 1000.0)));
    row.f64(db_statement::rows_per_s, sum.rows.and_then(rate));
    row.f64(db_statement::rows_examined_per_s, sum.examined.and_then(rate));
    row.f64(db_statement::errors, sum.errors);
    let mut labels = Labels::of("digest", &sum.digest);
    labels.push("database", &sum.database);
    labels.push("user", &sum.user);
    out.metric(t, dt, &format!("{format}.calls"), labels.text(), sum.calls, "");
    for (name, value) in &sum.figures {
        out.metric(t, dt, &format!("{format}.{name}"), labels.text(), *value, unit(name));
    }
}

/// The unit of a further figure.
fn unit(name: &str) -> &'static str {
    match name {
        "pages_read_time" | "engine_time" => "ms",
        _ if name.ends_with("_time") || name.ends_with("_wait") => "s",
        _ if name.starts_with("bytes_") || name.ends_with("_bytes") || name == "tmp_table_sizes" => "B",
        _ => "",
    }
}

/// The power of two at or below `ms`, as far as buckets go.
fn power(ms: f64) -> i32 {
    if ms < 2f64.powi(POWERS.0) {
        return POWERS.0 - 1;
    }
    (ms.log2().floor() as i32).clamp(POWERS.0, POWERS.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_values() {
        for (ms, lo) in [(0.0, -11), (0.0005, -11), (1.0, 0), (1.99, 0), (2.0, 1), (1e300, 36)] {
            assert_eq!(power(ms), lo, "{ms}");
        }
    }
}
