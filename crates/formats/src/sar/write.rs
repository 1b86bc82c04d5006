//! Writes the figures of sysstat's reports as rows: gathers what several sections say of one thing.

use std::borrow::Cow;

use fenxi_model::{
    AnySchema, Micros, Place, Row, Table,
    catalog::{cpu, irq, mem, net, sched, tcp, udp, vm},
    place::{F64, Label},
};

use super::{
    plan::{Interrupts, Part, Plan, places},
    section::Section,
    sections::SECTIONS,
};
use crate::{Join, Out, number, scaled};

/// The cells of one line, whatever form they come in.
pub(super) trait Cells {
    /// Cell `column` as a name.
    fn text(&self, column: usize) -> Cow<'_, str>;
    /// Cell `column` as a number.
    fn value(&self, column: usize) -> Value;
}

/// The content of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    /// A size with its own unit (`--human`), in bytes.
    Bytes(f64),
    Missing,
    /// No number.
    Bad,
}

impl Value {
    /// Reads a cell of text.
    pub(super) fn read(cell: &str) -> Value {
        match number(cell) {
            Some(value) => Value::Number(value),
            None => Value::rare(cell),
        }
    }

    #[cold]
    fn rare(cell: &str) -> Value {
        if matches!(cell, "" | "-" | "N/A" | "nan" | "-nan" | "inf" | "-inf") {
            Value::Missing
        } else if let Some(share) = cell.strip_suffix('%') {
            number(share).map_or(Value::Bad, Value::Number)
        } else if cell.ends_with(|c: char| c.is_ascii_alphabetic()) {
            scaled(cell, 1024.0).map_or(Value::Bad, Value::Bytes)
        } else {
            Value::Bad
        }
    }

    /// The value in a table's unit, of which one in the report has `factor`; Err when it is none.
    fn times(self, factor: f64) -> Result<Option<f64>, ()> {
        match self {
            Value::Number(value) => Ok(Some(value * factor)),
            Value::Bytes(value) => Ok(Some(value)),
            Value::Missing => Ok(None),
            Value::Bad => Err(()),
        }
    }
}

/// When a line's interval ended and how long it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct When {
    pub(super) t: Micros,
    pub(super) dt: Option<f64>,
    /// Whether it is the average since boot.
    pub(super) boot: bool,
}

/// Gathers the rows of `table`, with the columns that `sections` and `more` have.
fn join<S: AnySchema>(
    sections: &'static [Section],
    table: &'static Table<S>,
    key: Option<Place<S, Label>>,
    more: &[Place<S, F64>],
) -> (&'static Table, Join) {
    let mut all = places(sections, table);
    all.extend(more.iter().map(|place| place.index()));
    (table, Join::any(table, key.map(Place::index), all))
}

/// Writes rows.
pub(super) struct Writer {
    /// Tables whose columns come from several sections.
    joins: Vec<(&'static Table, Join)>,
    values: Vec<(usize, f64)>,
    labels: String,
    boot: bool,
}

impl Writer {
    /// For reports of sysstat.
    pub(super) fn new() -> Writer {
        Writer::among(SECTIONS)
    }

    /// For reports with these sections.
    pub(super) fn among(sections: &'static [Section]) -> Writer {
        Writer {
            joins: vec![
                join(sections, &cpu::TABLE, Some(cpu::cpu), &[cpu::intr_per_s]),
                join(sections, &net::TABLE, Some(net::interface), &[]),
                join(sections, &sched::TABLE, None, &[sched::intr_per_s]),
                join(sections, &mem::TABLE, None, &[mem::total_bytes]),
                join(sections, &vm::TABLE, None, &[]),
                join(sections, &tcp::TABLE, None, &[]),
                join(sections, &udp::TABLE, None, &[]),
            ],
            values: Vec::new(),
            labels: String::new(),
            boot: false,
        }
    }

    /// Writes what is gathered.
    pub(super) fn flush(&mut self, out: &mut Out<'_>) {
        for (_, join) in &mut self.joins {
            join.flush(out);
        }
        out.since_boot(false);
        self.boot = false;
    }

    /// Writes one line's cells, which the caller has counted.
    pub(super) fn row(&mut self, out: &mut Out<'_>, line: u64, when: When, plan: &Plan, cells: &impl Cells) {
        if when.boot != self.boot {
            self.flush(out);
            self.boot = when.boot;
            out.since_boot(when.boot);
        }
        if let Some(interrupts) = &plan.interrupts {
            self.interrupts(out, line, when, interrupts, cells);
            return;
        }
        for part in &plan.parts {
            self.part(out, line, when, plan, part, cells);
        }
        if plan.metrics.is_empty() {
            return;
        }
        self.labels.clear();
        for (column, label, _) in &plan.keys {
            let text = cells.text(*column);
            let text = key_text(label, &text);
            if !text.is_empty() {
                let comma = if self.labels.is_empty() { "" } else { "," };
                self.labels.extend([comma, label, "="]);
                self.labels.extend(text.chars().map(|c| if c == ',' { ' ' } else { c }));
            }
        }
        for metric in &plan.metrics {
            match cells.value(metric.column).times(metric.factor) {
                Ok(Some(value)) => out.metric(when.t, when.dt, &metric.name, &self.labels, value, metric.unit),
                Ok(None) => {}
                Err(()) => bad(out, line, &cells.text(metric.column), metric.column),
            }
        }
    }

    fn part(&mut self, out: &mut Out<'_>, line: u64, when: When, plan: &Plan, part: &Part, cells: &impl Cells) {
        self.values.clear();
        for target in &part.targets {
            let value = match cells.value(target.column).times(target.factor) {
                Ok(Some(value)) => value,
                Ok(None) => continue,
                Err(()) => {
                    if !target.adds {
                        bad(out, line, &cells.text(target.column), target.column);
                    }
                    continue;
                }
            };
            match self.values.iter_mut().find(|(place, _)| *place == target.place) {
                Some((_, sum)) if target.adds => *sum += value,
                Some((_, old)) => *old = value,
                None => self.values.push((target.place, value)),
            }
        }
        let key = |place: &(&'static Table, usize)| place.0.id == part.table.id;
        if let Some((_, join)) = self.joins.iter_mut().find(|(t, _)| t.id == part.table.id) {
            let name = plan.keys.iter().find(|(_, _, places)| places.iter().any(key));
            let text = name.map_or(Cow::Borrowed(""), |(column, _, _)| cells.text(*column));
            let text = name.map_or("", |(_, label, _)| key_text(label, &text));
            join.set_columns(out, (when.t, when.dt), text, self.values.iter().copied());
            return;
        }
        let mut row = out.row(part.table, when.t, when.dt);
        for (column, label, places) in &plan.keys {
            for (_, place) in places.iter().filter(|p| key(p)) {
                set_key(&mut row, *place, key_text(label, &cells.text(*column)));
            }
        }
        if let Some((_, place, text)) = plan.fixed.filter(|(table, _, _)| table.id == part.table.id) {
            row.str(place, text);
        }
        for (place, value) in &self.values {
            row.f64(*place, *value);
        }
    }

    fn interrupts(&mut self, out: &mut Out<'_>, line: u64, when: When, plan: &Interrupts, cells: &impl Cells) {
        let name = cells.text(if let Interrupts::Rows(name, _) = plan { *name } else { 0 });
        match plan {
            Interrupts::Rows(_, columns) => {
                let alone = columns.len() == 1;
                for (column, cpu) in columns {
                    let value = cells.value(*column);
                    self.interrupt(out, (line, *column), when, &name, cpu.as_deref(), value, alone);
                }
            }
            Interrupts::Pairs(cpu, value) => {
                let cpu = cells.text(*cpu);
                let cpu = Some(&*cpu).filter(|c| *c != "all");
                self.interrupt(out, (line, *value), when, &name, cpu, cells.value(*value), false);
            }
            Interrupts::Columns(columns) => {
                let cpu = Some(&*name).filter(|c| *c != "all");
                for (column, interrupt) in columns {
                    let value = cells.value(*column);
                    self.interrupt(out, (line, *column), when, interrupt, cpu, value, false);
                }
            }
        }
    }

    /// One interrupt on one CPU, or on all. The sum over all interrupts belongs to the CPU; `alone`
    /// means that there are no columns of single CPUs beside.
    #[allow(clippy::too_many_arguments, reason = "each of four layouts calls it with the same parts")]
    fn interrupt(
        &mut self,
        out: &mut Out<'_>,
        (line, column): (u64, usize),
        when: When,
        name: &str,
        cpu: Option<&str>,
        value: Value,
        alone: bool,
    ) {
        let Ok(value) = value.times(1.0) else {
            bad(out, line, name, column);
            return;
        };
        if name != "sum" {
            let mut row = out.row(&irq::TABLE, when.t, when.dt);
            row.str(irq::irq, name).str(irq::cpu, cpu).f64(irq::intr_per_s, value);
            return;
        }
        let Some(value) = value else { return };
        for (table, join) in &mut self.joins {
            if table.id == sched::TABLE.id && cpu.is_none() {
                join.set_column(out, (when.t, when.dt), "", sched::intr_per_s.index(), Some(value));
            } else if table.id == cpu::TABLE.id && !alone {
                join.set_column(out, (when.t, when.dt), cpu.unwrap_or(""), cpu::intr_per_s.index(), Some(value));
            }
        }
    }
}

/// A key as the tables have it: all CPUs together are NULL, a CPU is its number.
fn key_text<'a>(label: &str, text: &'a str) -> &'a str {
    match text {
        "all" | "-1" | "-" | "system" if label == "cpu" => "",
        // `sadf -p` names devices so: cpu3, ttyS0, fan1.
        _ => match label {
            "cpu" | "fan" | "temp" | "in" => text.strip_prefix(label).unwrap_or(text),
            "tty" => text.strip_prefix("ttyS").unwrap_or(text),
            "battery" | "bus" => text.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
            _ => text,
        },
    }
}

fn set_key(row: &mut Row<'_>, place: usize, text: &str) {
    row.str(place, Some(text).filter(|t| !t.is_empty()));
}

#[cold]
fn bad(out: &mut Out<'_>, line: u64, cell: &str, column: usize) {
    if line == 0 {
        // Documents are not read by lines.
        out.note(None, &format!("no number where one should be: {cell}"));
        return;
    }
    out.no_number(line, cell, column);
}
