//! Logs with a line for each transaction become one row per second and a distribution.
//!
//! Such logs are large: nothing is kept for a line, and only some seconds are open at a time.

use std::collections::BTreeMap;

use fenxi_model::{Micros, catalog::load};
use rustc_hash::FxHashMap;

use super::{
    names::{self, Results},
    spread::Spread,
};
use crate::Out;

/// Cells (one for each second and operation) that are open before the oldest second is written.
const MAX_CELLS: usize = 4096;
/// Operations that have their own rows; further ones count only in those of all together.
const MAX_OPERATIONS: usize = 200;
/// A transaction of a year is none.
const LONGEST_US: f64 = 3e13;
/// Seconds without any transaction that are written as such; a longer gap is one between runs.
const MAX_GAP_S: i64 = 3600;

/// One transaction.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When it ended.
    pub end: Micros,
    /// How long it took; None when it did not take place or was not measured.
    pub ticks: Option<u64>,
    /// It ended with an error.
    pub failed: bool,
    /// Ticks by which it began too late.
    pub lag: Option<u64>,
    /// How often it was tried again.
    pub retries: u64,
    /// Bytes that it moved.
    pub bytes: Option<f64>,
    /// Clients that were active.
    pub clients: Option<f64>,
}

impl Event {
    /// A transaction that ended well at `end` after `ticks`.
    pub fn done(end: Micros, ticks: u64) -> Event {
        Event { end, ticks: Some(ticks), failed: false, lag: None, retries: 0, bytes: None, clients: None }
    }

    /// A transaction that ended with an error at `end`.
    pub fn failed(end: Micros, ticks: Option<u64>) -> Event {
        Event { end, ticks, failed: true, lag: None, retries: 0, bytes: None, clients: None }
    }
}

/// Figures of one second, or of all of a run.
#[derive(Clone, Debug, Default)]
struct Cell {
    spread: Spread,
    errors: u64,
    retries: u64,
    lag: (f64, u64),
    bytes: Option<f64>,
    clients: Option<f64>,
}

impl Cell {
    fn add(&mut self, event: &Event) {
        if let Some(ticks) = event.ticks {
            self.spread.add(ticks);
        }
        self.errors += u64::from(event.failed);
        self.retries = self.retries.saturating_add(event.retries);
        if let Some(lag) = event.lag {
            self.lag = (self.lag.0 + lag as f64, self.lag.1 + 1);
        }
        if let Some(bytes) = event.bytes {
            self.bytes = Some(self.bytes.unwrap_or(0.0) + bytes);
        }
        if let Some(clients) = event.clients {
            self.clients = Some(self.clients.map_or(clients, |c| c.max(clients)));
        }
    }

    fn lag(&self) -> Option<f64> {
        (self.lag.1 > 0).then(|| self.lag.0 / self.lag.1 as f64)
    }

    fn write(&self, out: &mut Out<'_>, t: Micros, keys: (&str, Option<&str>), kinds: Kinds, ms: f64) {
        let in_ms = |value: Option<f64>| value.map(|v| v * ms);
        let mut row = out.row(&load::TABLE, t, 1.0);
        row.str(load::generator, keys.0).str(load::operation, keys.1);
        row.f64(load::transactions_per_s, self.spread.count() as f64);
        row.f64(load::errors_per_s, kinds.errors.then_some(self.errors as f64));
        row.f64(load::retries_per_s, kinds.retries.then_some(self.retries as f64));
        row.f64(load::transfer_bytes_per_s, self.bytes).f64(load::clients, self.clients);
        row.f64(load::latency_mean_ms, in_ms(self.spread.mean())).f64(load::latency_sd_ms, in_ms(self.spread.sd()));
        row.f64(load::latency_min_ms, in_ms(self.spread.min())).f64(load::latency_max_ms, in_ms(self.spread.max()));
        let percentiles = [
            (50.0, load::latency_p50_ms),
            (90.0, load::latency_p90_ms),
            (95.0, load::latency_p95_ms),
            (99.0, load::latency_p99_ms),
            (99.9, load::latency_p999_ms),
        ];
        for (percent, column) in percentiles {
            row.f64(column, in_ms(self.spread.percentile(percent)));
        }
        row.f64(load::lag_ms, in_ms(self.lag()));
    }
}

/// Columns that a log can have; others stay NULL.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// It has failed transactions.
    pub errors: bool,
    /// It has how often a transaction was tried again.
    pub retries: bool,
}

/// Figures of one second.
#[derive(Debug, Default)]
struct Second {
    all: Cell,
    operations: BTreeMap<u32, Cell>,
}

/// Gathers transactions into seconds and writes these in order.
#[derive(Debug)]
pub struct Seconds {
    generator: String,
    results: Results,
    ms: f64,
    kinds: Kinds,
    open: BTreeMap<i64, Second>,
    cells: usize,
    /// The last second that was written.
    written: Option<i64>,
    late: u64,
    names: Vec<String>,
    numbers: FxHashMap<String, u32>,
    totals: Vec<Cell>,
    all: Cell,
    begin: Option<Micros>,
    end: Option<Micros>,
}

impl Seconds {
    /// Transactions of `generator`; a tick is `ms` milliseconds.
    pub fn new(generator: impl Into<String>, ms: f64, kinds: Kinds) -> Seconds {
        Seconds {
            generator: generator.into(),
            results: Results::default(),
            ms,
            kinds,
            open: BTreeMap::new(),
            cells: 0,
            written: None,
            late: 0,
            names: Vec::new(),
            numbers: FxHashMap::default(),
            totals: Vec::new(),
            all: Cell::default(),
            begin: None,
            end: None,
        }
    }

    /// Lets the results have the names of `results`: the log is one of several of a run.
    pub fn with_results(mut self, results: Results) -> Seconds {
        self.results = results;
        self
    }

    /// The number of an operation; None when there are too many.
    pub fn operation(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        if name.is_empty() || self.names.len() >= MAX_OPERATIONS {
            return None;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        self.totals.push(Cell::default());
        Some(number)
    }

    /// Counts a transaction of an operation that [`Seconds::operation`] gave, or of none.
    pub fn add(&mut self, out: &mut Out<'_>, operation: Option<u32>, event: &Event) {
        self.all.add(event);
        if let Some(total) = operation.and_then(|o| self.totals.get_mut(o as usize)) {
            total.add(event);
        }
        // A damaged number must not reach beyond what times can be.
        let took = (event.ticks.unwrap_or(0) as f64 * self.ms * 1e3).min(LONGEST_US) as i64;
        let begin = Micros(event.end.0.saturating_sub(took));
        self.begin = Some(self.begin.map_or(begin, |b| b.min(begin)));
        self.end = Some(self.end.map_or(event.end, |e| e.max(event.end)));
        let second = event.end.0.div_euclid(1_000_000);
        if self.written.is_some_and(|written| second <= written) {
            self.late += 1;
            return;
        }
        let cells = &mut self.cells;
        let entry = self.open.entry(second).or_insert_with(|| {
            *cells += 1;
            Second::default()
        });
        entry.all.add(event);
        if let Some(operation) = operation {
            let cell = entry.operations.entry(operation).or_insert_with(|| {
                *cells += 1;
                Cell::default()
            });
            cell.add(event);
        }
        while self.cells > MAX_CELLS && self.open.len() > 1 {
            self.write_first(out);
        }
    }

    /// Writes the oldest open second, and seconds before it in which nothing ended.
    fn write_first(&mut self, out: &mut Out<'_>) {
        let Some((second, values)) = self.open.pop_first() else { return };
        let end = |second: i64| Micros(second.saturating_add(1).saturating_mul(1_000_000));
        let gap = self.written.map_or(0, |written| second.saturating_sub(written).saturating_sub(1));
        if gap <= MAX_GAP_S {
            for idle in second - gap..second {
                Cell::default().write(out, end(idle), (&self.generator, None), self.kinds, self.ms);
            }
        }
        self.cells -= 1 + values.operations.len();
        values.all.write(out, end(second), (&self.generator, None), self.kinds, self.ms);
        for (operation, cell) in &values.operations {
            let name = self.names.get(*operation as usize).map(String::as_str);
            cell.write(out, end(second), (&self.generator, name), self.kinds, self.ms);
        }
        self.written = Some(second);
    }

    /// Writes what is left, and the whole as results and distributions.
    pub fn finish(self, out: &mut Out<'_>) {
        self.end(out, true);
    }

    /// Writes what is left and the distributions: the tool itself prints the results.
    pub fn finish_without_results(self, out: &mut Out<'_>) {
        self.end(out, false);
    }

    fn end(mut self, out: &mut Out<'_>, with_results: bool) {
        while !self.open.is_empty() {
            self.write_first(out);
        }
        if self.late > 0 {
            let late = self.late;
            out.note(
                None,
                &format!("{late} transactions long after later ones count only in the totals, not by second"),
            );
        }
        let mut results = std::mem::take(&mut self.results);
        let elapsed = self.begin.zip(self.end).map(|(begin, end)| end.seconds_since(begin));
        if with_results {
            results.set(out, names::ELAPSED, elapsed);
            self.total(out, &mut results, &self.all, "", elapsed);
        }
        self.all.spread.write_buckets(out, "", self.ms);
        for (name, cell) in self.names.iter().zip(&self.totals) {
            if with_results {
                self.total(out, &mut results, cell, name, elapsed);
            }
            cell.spread.write_buckets(out, &format!("operation={name}"), self.ms);
        }
    }

    fn total(&self, out: &mut Out<'_>, results: &mut Results, cell: &Cell, name: &str, elapsed: Option<f64>) {
        let count = cell.spread.count() as f64;
        let Some(elapsed) = elapsed else { return };
        results.of(out, names::TRANSACTIONS, name, count);
        results.of(out, names::THROUGHPUT, name, (elapsed > 0.0).then(|| count / elapsed));
        results.of(out, names::ERRORS, name, self.kinds.errors.then_some(cell.errors as f64));
        results.of(out, names::RETRIES, name, self.kinds.retries.then_some(cell.retries as f64));
        results.of(out, names::TRANSFER_BYTES, name, cell.bytes);
        results.of(out, names::LAG_MEAN, name, cell.lag().map(|lag| lag * self.ms));
        results.of(out, names::CLIENTS, name, cell.clients.filter(|_| name.is_empty()));
        cell.spread.write_results(out, results, name, self.ms);
    }
}
