//! `trace plockstat`: locks that threads wait for, or hold.

use std::{collections::BTreeMap, fmt::Write};

use fenxi_model::{
    TableRows, Unit,
    catalog::{histogram, lock as c},
};

use super::{Observed, distribution::Distributions, observed::table};
use crate::Frame;

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct PlockstatOptions {
    /// Lines of each kind at most.
    pub top: usize,
    /// Whether distributions are shown, too.
    pub distributions: bool,
}

/// Shows the tables `lock` and `histogram`.
#[derive(Debug)]
pub struct Plockstat {
    options: PlockstatOptions,
    /// By kind, then by lock and caller.
    sums: BTreeMap<String, BTreeMap<Key, Sums>>,
    distributions: Distributions,
}

/// Program with its number, lock, caller.
type Key = (String, String, String);

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    events: f64,
    total_s: f64,
}

impl Plockstat {
    /// Shows as `options` say.
    pub fn new(options: PlockstatOptions) -> Plockstat {
        Plockstat { options, sums: BTreeMap::new(), distributions: Distributions::default() }
    }

    fn add(&mut self, rows: &TableRows) {
        for row in 0..rows.n_rows() {
            let text = |place| rows.str(row, place).unwrap_or("").to_owned();
            let who = match rows.i64(row, c::pid) {
                Some(pid) => format!("{} ({pid})", text(c::comm)),
                None => text(c::comm),
            };
            let of_kind = self.sums.entry(text(c::event)).or_default();
            let sums = of_kind.entry((who, text(c::lock), text(c::caller))).or_default();
            let events = rows.f64(row, c::events).unwrap_or(0.0);
            sums.events += events;
            // What was imported may have means only.
            let by_mean = || rows.f64(row, c::mean_us).map(|mean| mean * events / 1e6);
            sums.total_s += rows.f64(row, c::total_s).or_else(by_mean).unwrap_or(0.0);
        }
    }
}

impl Observed for Plockstat {
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            self.add(rows);
        }
        if let Some(rows) = frame.rows.of(&histogram::TABLE).filter(|_| self.options.distributions) {
            self.distributions.take(rows, "lock_");
        }
    }

    fn show(&mut self, _: f64, out: &mut String) {
        if self.sums.is_empty() {
            out.push_str("no contention\n");
        }
        let mut kinds: Vec<_> = std::mem::take(&mut self.sums).into_iter().collect();
        let total = |of: &BTreeMap<Key, Sums>| of.values().map(|sums| sums.total_s).sum::<f64>();
        kinds.sort_by(|(_, a), (_, b)| total(b).total_cmp(&total(a)));
        for (event, sums) in kinds {
            let all = total(&sums);
            let mut lines: Vec<_> = sums.into_iter().collect();
            lines.sort_by(|(_, a), (_, b)| b.total_s.total_cmp(&a.total_s));
            let seconds = |value: f64| Unit::Seconds.human(value).to_string();
            let cells = |((who, lock, caller), sums): &(Key, Sums)| {
                let share = if all > 0.0 { 100.0 * sums.total_s / all } else { 0.0 };
                vec![
                    format!("{:.0}", sums.events),
                    seconds(sums.total_s / sums.events.max(1.0)),
                    seconds(sums.total_s),
                    format!("{share:.1}"),
                    lock.clone(),
                    caller.clone(),
                    who.clone(),
                ]
            };
            let mut letters = event.chars();
            let first = letters.next().map(|letter| letter.to_uppercase().to_string());
            let _ = writeln!(out, "{}{}\n", first.unwrap_or_default(), letters.as_str());
            let header = ["COUNT", "MEAN", "TOTAL", "%TIME", "LOCK", "CALLER", "COMMAND (PID)"];
            table(&header, &[0, 1, 2, 3], lines.iter().map(cells), (self.options.top, " with less time"), out);
            out.push('\n');
        }
        if self.options.distributions {
            self.distributions.show(out);
        }
    }
}
