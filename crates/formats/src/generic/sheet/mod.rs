//! Rows of named columns, from CSV or JSON lines: which column is what, and where its cells go.
//!
//! A mapping file may say so. Without one the first column that reads as a time is the time,
//! columns of words label the row, and columns of numbers are metrics called as their header.

mod mapping;
mod numbers;

use fenxi_model::{Micros, Table, Type};
use jiff::tz::TimeZone;
use rustc_hash::FxHashMap;

use super::{
    labels::{Labels, unit_of},
    steps::Steps,
    when::{Times, When},
};
use crate::{Out, Relative};
pub(super) use mapping::Mapping;
pub(crate) use numbers::{Decimal, missing, number_in};

/// Rows at the beginning that wait until the length of intervals is known.
const MAX_HELD: usize = 4096;

/// What a column is.
#[derive(Clone, Debug)]
pub(super) enum Role {
    /// Part of the row's time.
    Time,
    /// The row's host.
    Host,
    /// The name of the row's metric.
    Name,
    /// A label, under this name.
    Label(String),
    /// Values, and where they go.
    Values(Vec<Target>),
    /// Nothing.
    Ignored,
}

/// Where a column's values go.
#[derive(Clone, Debug)]
pub(super) struct Target {
    place: Place,
    /// What a value is multiplied with.
    scale: f64,
    /// The values only grow: what counts is the difference per second.
    cumulative: bool,
}

#[derive(Clone, Debug)]
enum Place {
    Metric { name: String, unit: String },
    Column(&'static Table, usize),
}

impl Target {
    /// A metric called as the column.
    pub(super) fn metric(name: &str) -> Target {
        let place = Place::Metric { name: name.to_owned(), unit: unit_of(name).to_owned() };
        Target { place, scale: 1.0, cumulative: false }
    }
}

/// A named column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) role: Role,
}

/// Takes row after row.
#[derive(Debug)]
pub(super) struct Sheet {
    pub(super) columns: Vec<Column>,
    pub(super) when: Option<When>,
    decimal: Decimal,
    times: Times,
    relative: Option<Relative>,
    interval_s: Option<f64>,
    steps: Steps,
    held: Vec<(u64, Micros, Vec<String>)>,
    labels: Labels,
    /// How much of the labels is of every row.
    common: usize,
    stamp: String,
    last: Last,
}

/// The last value of cumulative columns, by column and labels.
type Last = FxHashMap<(usize, String), (Micros, f64)>;

/// Cumulative series that are followed; beyond it all are begun anew.
const MAX_SERIES: usize = 1 << 18;

impl Sheet {
    /// A sheet whose columns are yet to be named.
    pub(super) fn new(mapping: &Mapping, decimal: Decimal, out: &Out<'_>) -> Sheet {
        let hints = out.hints();
        let interval_s = hints.interval_s.or(mapping.interval_s());
        // A mapping says what tells rows apart.
        let label = hints.label.as_ref().filter(|_| hints.mapping.is_none());
        let labels = label.map_or_else(Labels::default, |label| Labels::of("file", label));
        Sheet {
            columns: Vec::new(),
            when: mapping.when(),
            decimal: mapping.decimal().unwrap_or(decimal),
            times: Times::in_zone(out, mapping.zone()),
            relative: None,
            interval_s,
            steps: Steps::new(interval_s),
            held: Vec::new(),
            common: labels.len(),
            labels,
            stamp: String::new(),
            last: FxHashMap::default(),
        }
    }

    /// Times that name no zone are in `zone`, as the content says.
    pub(super) fn set_zone(&mut self, zone: TimeZone, out: &Out<'_>) {
        self.times = Times::in_zone(out, Some(zone));
    }

    /// Takes a row that began on `line`; a cell that is not there is empty.
    pub(super) fn row(&mut self, line: u64, cells: &[impl AsRef<str>], out: &mut Out<'_>) {
        let Some(t) = self.time(line, cells, out) else { return };
        if self.when.is_none() || self.steps.known() || self.held.len() >= MAX_HELD {
            self.write(line, t, cells, out);
            return;
        }
        self.label(cells);
        self.dt(cells, t);
        self.held.push((line, t, cells.iter().map(|c| c.as_ref().to_owned()).collect()));
        if self.steps.known() {
            self.release(out);
        }
    }

    /// Writes the rows that waited.
    pub(super) fn release(&mut self, out: &mut Out<'_>) {
        self.steps.rewind();
        for (line, t, cells) in std::mem::take(&mut self.held) {
            self.write(line, t, &cells, out);
        }
    }

    fn time(&mut self, line: u64, cells: &[impl AsRef<str>], out: &mut Out<'_>) -> Option<Micros> {
        let Some(when) = &self.when else {
            let interval_s = self.interval_s;
            return Some(self.relative.get_or_insert_with(|| Relative::new(out, interval_s)).tick().0);
        };
        self.stamp.clear();
        for (column, cell) in self.columns.iter().zip(cells) {
            if matches!(column.role, Role::Time) {
                if !self.stamp.is_empty() {
                    self.stamp.push(' ');
                }
                self.stamp.push_str(cell.as_ref().trim());
            }
        }
        let t = self.times.read(when, &self.stamp, out);
        if t.is_none() {
            out.unknown(line, &self.stamp, "no time");
        }
        t
    }

    /// Makes the row's labels.
    fn label(&mut self, cells: &[impl AsRef<str>]) {
        self.labels.cut(self.common);
        for (column, cell) in self.columns.iter().zip(cells) {
            if let Role::Label(name) = &column.role {
                self.labels.push(name, cell.as_ref().trim());
            }
        }
    }

    /// The length of the interval of the row's series, which its labels, its host and its name tell.
    fn dt(&mut self, cells: &[impl AsRef<str>], t: Micros) -> Option<f64> {
        let base = self.labels.len();
        for (column, cell) in self.columns.iter().zip(cells) {
            if matches!(column.role, Role::Host | Role::Name) {
                self.labels.push("", cell.as_ref().trim());
            }
        }
        let dt = self.steps.dt(self.labels.text(), t);
        self.labels.cut(base);
        dt
    }

    fn write(&mut self, line: u64, t: Micros, cells: &[impl AsRef<str>], out: &mut Out<'_>) {
        self.label(cells);
        let mut name = None;
        for (column, cell) in self.columns.iter().zip(cells) {
            match column.role {
                Role::Host => out.set_host(cell.as_ref().trim()),
                Role::Name => name = Some(cell.as_ref().trim()),
                _ => {}
            }
        }
        let dt = match self.when {
            None => self.interval_s.or(Some(1.0)),
            Some(_) => self.dt(cells, t),
        };
        let mut tables: Vec<&'static Table> = Vec::new();
        for (place, cell) in cells.iter().enumerate().take(self.columns.len()) {
            let Role::Values(targets) = &self.columns[place].role else { continue };
            let targets = targets.len();
            let cell = cell.as_ref();
            let value = number_in(cell, self.decimal);
            if value.is_none() && !missing(cell) {
                let why = format!("no number in column `{}`", self.columns[place].name);
                out.unknown(line, cell, &why);
            }
            for target in 0..targets {
                self.write_value((place, target), (t, dt), value, name, &mut tables, out);
            }
        }
        for table in tables {
            self.write_table(table, (t, dt), cells, out);
        }
    }

    /// Writes a metric, or remembers that a row of a table is to be written.
    fn write_value(
        &mut self,
        (column, target): (usize, usize),
        (t, dt): (Micros, Option<f64>),
        value: Option<f64>,
        name: Option<&str>,
        tables: &mut Vec<&'static Table>,
        out: &mut Out<'_>,
    ) {
        let Some(Role::Values(targets)) = self.columns.get(column).map(|c| &c.role) else { return };
        let Some(target) = targets.get(target) else { return };
        match &target.place {
            Place::Column(table, _) => {
                if value.is_some() && !tables.iter().any(|known| known.id == table.id) {
                    tables.push(table);
                }
            }
            Place::Metric { name: own, unit } => {
                let labels = self.labels.text();
                let value = if target.cumulative { rate(&mut self.last, (column, labels), t, value) } else { value };
                if let Some(value) = value {
                    out.metric(t, dt, name.unwrap_or(own), labels, value * target.scale, unit);
                }
            }
        }
    }

    fn write_table(
        &mut self,
        table: &'static Table,
        (t, dt): (Micros, Option<f64>),
        cells: &[impl AsRef<str>],
        out: &mut Out<'_>,
    ) {
        let mut row = out.row(table, t, dt);
        for (place, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
            let Role::Values(targets) = &column.role else { continue };
            for target in targets {
                let Place::Column(of, at) = target.place else { continue };
                if of.id != table.id {
                    continue;
                }
                let value = number_in(cell.as_ref(), self.decimal);
                let labels = self.labels.text();
                let value = if target.cumulative { rate(&mut self.last, (place, labels), t, value) } else { value };
                let value = value.map(|v| v * target.scale);
                match table.columns[at].ty {
                    Type::F64 => row.f64(at, value),
                    _ => row.i64(at, value.map(|v| v as i64)),
                };
            }
        }
        for (column, cell) in self.columns.iter().zip(cells) {
            let Role::Label(name) = &column.role else { continue };
            let Some(at) = table.columns.iter().position(|c| c.name == *name) else { continue };
            let cell = cell.as_ref().trim();
            match table.columns[at].ty {
                Type::Label | Type::Text => row.str(at, Some(cell).filter(|c| !c.is_empty())),
                Type::I64 => row.i64(at, cell.parse::<i64>().ok()),
                Type::F64 => row.f64(at, number_in(cell, self.decimal)),
                Type::Time => &mut row,
            };
        }
    }
}

/// How much the cumulative column of `series` grew per second; None for its first value and after a
/// reset.
fn rate(last: &mut Last, (column, labels): (usize, &str), t: Micros, value: Option<f64>) -> Option<f64> {
    let value = value?;
    if last.len() >= MAX_SERIES {
        last.clear();
    }
    let (last_t, last) = last.insert((column, labels.to_owned()), (t, value))?;
    let dt = (t.0 as f64 - last_t.0 as f64) / 1e6;
    (dt > 0.0 && value >= last).then(|| (value - last) / dt)
}
