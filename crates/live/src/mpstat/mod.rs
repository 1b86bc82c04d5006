//! `mpstat`: utilisation and interrupts of each CPU, and of all together.
//!
//! Rows that came from Linux are shown as sysstat's mpstat does, rows that have the columns of
//! Solaris (`minf` … `idl`) as that of Solaris does, both in floating point. What is printed can be
//! imported again as the text of these tools.

mod busy;
mod cpus;
mod interrupts;
mod shares;
mod solaris;
mod text;

use std::fmt::Write;

use fenxi_model::{
    Rows, RowsOf, Table,
    catalog::{cpu, event, irq, softirq},
};
use jiff::tz::TimeZone;

pub use self::cpus::Chosen;
use self::{
    interrupts::{Matrix, Total},
    shares::Shares,
    solaris::Solaris,
    text::Clock,
};
use crate::{Frame, View};

/// Which interrupts are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// All of a CPU together (`-I SUM`).
    pub sum: bool,
    /// Each hard interrupt (`-I CPU`).
    pub hard: bool,
    /// Each kind of soft interrupt (`-I SCPU`).
    pub soft: bool,
}

/// Options of the view.
#[derive(Clone, Debug)]
pub struct Options {
    /// CPUs to show.
    pub cpus: Chosen,
    /// Only one line for the chosen CPUs together.
    pub aggregate: bool,
    /// Shares of time (`-u`).
    pub shares: bool,
    /// Interrupts.
    pub interrupts: Interrupts,
    /// Only CPUs that are not idle, and who is saturated.
    pub busy: bool,
    /// The columns of Solaris, also for rows that came from Linux.
    pub solaris: bool,
    /// Leave out the averages since boot.
    pub skip_boot: bool,
    /// The system and its release, and the machine: `Linux 6.1.0`, `x86_64`.
    pub system: (String, Option<String>),
    /// The zone of times of day.
    pub zone: TimeZone,
}

impl Options {
    /// CPUs that were named and have no row, as they are offline.
    fn absent(&self, order: &[(u32, usize)]) -> impl Iterator<Item = u32> {
        let shown = !self.aggregate && !self.busy && !order.is_empty();
        self.cpus.named().filter(move |n| shown && order.binary_search_by_key(n, |(number, _)| *number).is_err())
    }
}

/// The view of `fenxi watch mpstat`.
#[derive(Debug)]
pub struct Mpstat {
    options: Options,
    clock: Clock,
    begun: bool,
    shares: Shares,
    solaris: Solaris,
    total: Total,
    hard: Matrix,
    soft: Matrix,
    /// Rows of single CPUs of this frame: number, and place in the table.
    order: Vec<(u32, usize)>,
    /// Time of the header and of the lines of this frame.
    times: (String, String),
}

impl Mpstat {
    /// Shows what `options` ask for.
    pub fn new(options: Options) -> Mpstat {
        Mpstat {
            clock: Clock { zone: options.zone.clone() },
            begun: false,
            shares: Shares::default(),
            solaris: Solaris::default(),
            total: Total::default(),
            hard: Matrix::hard(),
            soft: Matrix::soft(),
            order: Vec::new(),
            times: (String::new(), String::new()),
            options,
        }
    }

    /// `Linux 6.1.0 (db1) 2026-11-21 _x86_64_ (8 CPU)` with tabs between, once.
    fn banner(&mut self, frame: &Frame<'_>, out: &mut String) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let (system, machine) = &self.options.system;
        let date = self.clock.zoned(frame.t).strftime("%Y-%m-%d");
        let _ = write!(out, "{system} ({}) \t{date}", frame.rows.host());
        if let Some(machine) = machine {
            let _ = write!(out, " \t_{machine}_");
        }
        if !self.order.is_empty() {
            let _ = write!(out, "\t({} CPU)", self.order.len());
        }
        out.push('\n');
    }
}

impl View for Mpstat {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        let cpus = frame.rows.of(&cpu::TABLE);
        self.order.clear();
        if let Some(cpus) = cpus {
            put_in_order(cpus, &mut self.order);
        }
        changes(frame.rows, out);
        let tables: [&'static Table; 3] = [&cpu::TABLE, &irq::TABLE, &softirq::TABLE];
        if !tables.into_iter().any(|wanted| frame.rows.of(wanted).is_some()) {
            // Nothing but an event: runs have some between two samples.
            return;
        }
        if frame.since_boot && self.options.skip_boot {
            // They show which interrupts there are.
            self.hard.learn(frame.rows);
            self.soft.learn(frame.rows);
            return;
        }
        if let Some(cpus) = cpus.filter(|cpus| self.options.solaris || solaris::are(*cpus)) {
            self.solaris.show(&self.options, &self.clock, frame, cpus, &self.order, out);
            return self.verdict(frame, cpus, out);
        }
        self.banner(frame, out);
        let begin = if frame.since_boot { frame.t } else { before(frame) };
        let length = if frame.since_boot { 0.0 } else { frame.dt };
        self.clock.time(begin, length, &mut self.times.0);
        self.clock.time(frame.t, length, &mut self.times.1);
        let times = (self.times.0.as_str(), self.times.1.as_str());
        if let Some(cpus) = cpus.filter(|cpus| self.options.shares && shares::any(*cpus)) {
            self.shares.show(&self.options, times, frame, cpus, &self.order, out);
        }
        if self.options.interrupts.sum {
            self.total.show(&self.options, times, frame, cpus, &self.order, out);
        }
        if self.options.interrupts.hard {
            self.hard.show(&self.options, times, frame, &self.order, out);
        }
        if self.options.interrupts.soft {
            self.soft.show(&self.options, times, frame, &self.order, out);
        }
        if let Some(cpus) = cpus {
            self.verdict(frame, cpus, out);
        }
    }

    fn end(&mut self, out: &mut String) {
        self.shares.end(&self.options, out);
        self.total.end(&self.options, out);
        self.hard.end(&self.options, out);
        self.soft.end(&self.options, out);
    }
}

impl Mpstat {
    fn verdict(&self, frame: &Frame<'_>, cpus: RowsOf<'_, cpu::Schema>, out: &mut String) {
        if self.options.busy && !frame.since_boot {
            busy::verdict(frame, cpus, &self.order, out);
        }
    }
}

/// When the interval of `frame` began.
fn before(frame: &Frame<'_>) -> fenxi_model::Micros {
    fenxi_model::Micros(frame.t.0.saturating_sub((frame.dt * 1e6) as i64))
}

/// Rows of single CPUs by their numbers. Runs keep them as text, where 10 comes before 2.
fn put_in_order(cpus: RowsOf<'_, cpu::Schema>, order: &mut Vec<(u32, usize)>) {
    let numbered = |row| Some((cpus.str(row, cpu::cpu)?.parse().unwrap_or(u32::MAX), row));
    order.extend((0..cpus.n_rows()).filter_map(numbered));
    order.sort_unstable();
}

/// The row of all CPUs together.
fn row_of_all(cpus: RowsOf<'_, cpu::Schema>) -> Option<usize> {
    // It comes last as a rule.
    (0..cpus.n_rows()).rev().find(|row| cpus.str(*row, cpu::cpu).is_none())
}

/// Reports which CPUs came and went, in the words of Solaris.
fn changes(rows: &Rows, out: &mut String) {
    let Some(events) = rows.of(&event::TABLE) else { return };
    let text = |row, place| events.str(row, place).unwrap_or("");
    for (kind, done) in [("appeared", "added"), ("gone", "removed")] {
        let mut before = "";
        for row in (0..events.n_rows()).filter(|row| text(*row, event::kind) == kind) {
            let Some(number) = text(row, event::subject).strip_prefix("cpu") else { continue };
            if !number.bytes().all(|b| b.is_ascii_digit()) {
                continue;
            }
            if before.is_empty() {
                let _ = write!(out, "<<processors {done}: ");
            }
            let _ = write!(out, "{before}{number}");
            before = ", ";
        }
        if !before.is_empty() {
            out.push_str(">>\n");
        }
    }
    // Remarks of a saved output about itself.
    for row in (0..events.n_rows()).filter(|row| text(*row, event::subject) == "mpstat") {
        let _ = writeln!(out, "<<{}>>", events.str(row, event::message).unwrap_or(""));
    }
}

#[cfg(test)]
mod tests;
