//! Rows of named columns, from CSV or JSON lines: which column is what, and where its cells go.
//!
//! A mapping file may say so. Without one the first column that reads as a time is the time,
//! columns of words label the row, and columns of numbers are metrics called as their header.

mod mapping;
mod numbers;
mod recognise;
mod shipped;

use fenxi_model::{Kind, Micros, Table, Type};
use jiff::tz::TimeZone;
use rustc_hash::FxHashMap;

use super::{
    labels::{Labels, unit_of},
    steps::Steps,
    when::{Times, When},
};
use crate::{Out, Relative, own::Per};
pub(super) use mapping::Mapping;
pub(crate) use numbers::{Decimal, missing, number_in};
pub(super) use shipped::mapping_of;
pub(crate) use shipped::{Goal, goals};

/// Rows at the beginning that wait until the length of intervals is known.
const MAX_HELD: usize = 4096;

/// Role of a column.
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
    /// Factor of a value.
    scale: f64,
    /// Offset that is added after the factor.
    offset: f64,
    /// Divisor of a value: counts become rates per second.
    per: Per,
    /// Labels that it has besides the row's.
    set: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
enum Place {
    Metric { name: String, unit: String },
    Column(&'static Table, usize),
}

impl Place {
    /// Whether it is a number of events in the interval, and not one per second.
    fn counts_events(&self) -> bool {
        matches!(self, Place::Column(table, at) if table.columns[*at].kind == Kind::Count)
    }
}

impl Target {
    /// A metric called as the column.
    pub(super) fn metric(name: &str) -> Target {
        let place = Place::Metric { name: name.to_owned(), unit: unit_of(name).to_owned() };
        Target { place, scale: 1.0, offset: 0.0, per: Per::Value, set: Vec::new() }
    }

    /// Whether the values have to show whether it is a counter.
    pub(super) fn is_open(&self) -> bool {
        self.per == Per::Shown
    }

    /// The values have shown it.
    pub(super) fn settle(&mut self, is_counter: bool) {
        if self.is_open() {
            self.per = if is_counter { Per::Total } else { Per::Value };
        }
    }
}

/// Targets that make one row of a table together.
#[derive(Debug)]
struct Group {
    table: &'static Table,
    set: Vec<(String, String)>,
    /// Where they are: the column, and which of its targets.
    targets: Vec<(usize, usize)>,
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
    columns: Vec<Column>,
    groups: Vec<Group>,
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
type Last = FxHashMap<((usize, usize), String), (Micros, f64)>;

/// Cumulative series that are followed; beyond it all are begun anew.
const MAX_SERIES: usize = 1 << 18;

impl Sheet {
    /// A sheet whose columns are yet to be named.
    pub(super) fn new(mapping: &Mapping, decimal: Decimal, out: &Out<'_>) -> Sheet {
        let hints = out.hints();
        let interval_s = hints.interval_s.or(mapping.interval_s());
        // A mapping defines what distinguishes rows.
        let label = hints.label.as_ref().filter(|_| hints.mapping.is_none());
        let labels = label.map_or_else(Labels::default, |label| Labels::of("file", label));
        Sheet {
            columns: Vec::new(),
            groups: Vec::new(),
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

    /// Its columns.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Adds a column behind the others.
    pub(super) fn add(&mut self, column: Column) {
        let place = self.columns.len();
        let targets = if let Role::Values(targets) = &column.role { targets.as_slice() } else { &[] };
        for (i, target) in targets.iter().enumerate() {
            let Place::Column(table, _) = target.place else { continue };
            let known = self.groups.iter_mut().find(|group| group.table.id == table.id && group.set == target.set);
            match known {
                Some(group) => group.targets.push((place, i)),
                None => self.groups.push(Group { table, set: target.set.clone(), targets: vec![(place, i)] }),
            }
        }
        self.columns.push(column);
    }

    /// Times that name no zone are in `zone`, by the content.
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

    /// The length of the interval of the row's series, identified by its labels, its host and its name.
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
        for (place, cell) in cells.iter().enumerate().take(self.columns.len()) {
            let Role::Values(targets) = &self.columns[place].role else { continue };
            let cell = cell.as_ref();
            let value = number_in(cell, self.decimal);
            if value.is_none() && !missing(cell) {
                let why = format!("no number in column `{}`", self.columns[place].name);
                out.unknown(line, cell, &why);
            }
            for target in 0..targets.len() {
                self.write_metric((place, target), (t, dt), value, name, out);
            }
        }
        let groups = std::mem::take(&mut self.groups);
        groups.iter().for_each(|group| self.write_table(group, (t, dt), cells, out));
        self.groups = groups;
    }

    /// A value in the unit of the column's target, per second where it is counted.
    fn value(&mut self, at: (usize, usize), (t, dt): (Micros, Option<f64>), value: Option<f64>) -> Option<f64> {
        let Target { per, scale, offset, .. } = *self.target(at)?;
        let value = match per {
            Per::Total | Per::Shown => {
                let (growth, over_s) = growth(&mut self.last, (at, self.labels.text()), t, value)?;
                if self.target(at)?.place.counts_events() { growth } else { growth / over_s }
            }
            Per::Interval => value? / dt.filter(|dt| *dt > 0.0)?,
            Per::Value => value?,
        };
        Some(value * scale + offset)
    }

    /// A target of a column.
    fn target(&self, (column, target): (usize, usize)) -> Option<&Target> {
        match &self.columns.get(column)?.role {
            Role::Values(targets) => targets.get(target),
            _ => None,
        }
    }

    /// Writes a metric, if the target is one.
    fn write_metric(
        &mut self,
        at: (usize, usize),
        (t, dt): (Micros, Option<f64>),
        value: Option<f64>,
        name: Option<&str>,
        out: &mut Out<'_>,
    ) {
        let value = match self.target(at).map(|target| &target.place) {
            Some(Place::Metric { .. }) => self.value(at, (t, dt), value),
            _ => None,
        };
        let (Some(value), Some(Role::Values(targets))) = (value, self.columns.get(at.0).map(|c| &c.role)) else {
            return;
        };
        let Some(Target { place: Place::Metric { name: own, unit }, set, .. }) = targets.get(at.1) else { return };
        let base = self.labels.len();
        set.iter().for_each(|(label, value)| self.labels.push(label, value));
        out.metric(t, dt, name.unwrap_or(own), self.labels.text(), value, unit);
        self.labels.cut(base);
    }

    /// Writes the row of a table that a group of targets makes, if any of them has a value.
    fn write_table(
        &mut self,
        group: &Group,
        (t, dt): (Micros, Option<f64>),
        cells: &[impl AsRef<str>],
        out: &mut Out<'_>,
    ) {
        let Group { table, set, targets } = group;
        let number = |place: usize| cells.get(place).and_then(|cell| number_in(cell.as_ref(), self.decimal));
        let read: Vec<Option<f64>> = targets.iter().map(|(place, _)| number(*place)).collect();
        if read.iter().all(Option::is_none) {
            return;
        }
        let mut row = out.row(*table, t, dt);
        for (place, value) in targets.iter().zip(read) {
            let value = self.value(*place, (t, dt), value);
            let Some(Place::Column(_, at)) = self.target(*place).map(|target| &target.place) else { continue };
            match table.columns[*at].ty {
                Type::F64 => row.f64(*at, value),
                _ => row.i64(*at, value.map(|v| v as i64)),
            };
        }
        let of_row = self.columns.iter().zip(cells).filter_map(|(column, cell)| match &column.role {
            Role::Label(name) => Some((name.as_str(), cell.as_ref().trim())),
            _ => None,
        });
        for (name, cell) in set.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(of_row) {
            let Some(at) = table.columns.iter().position(|c| c.name == name) else { continue };
            match table.columns[at].ty {
                Type::Label | Type::Text => row.str(at, Some(cell).filter(|c| !c.is_empty())),
                Type::I64 => row.i64(at, cell.parse::<i64>().ok()),
                Type::F64 => row.f64(at, number_in(cell, self.decimal)),
                Type::Time => &mut row,
            };
        }
    }
}

/// How much the cumulative column of `series` grew, and in how many seconds; None for its first value and after a
/// reset.
fn growth(
    last: &mut Last,
    (column, labels): ((usize, usize), &str),
    t: Micros,
    value: Option<f64>,
) -> Option<(f64, f64)> {
    let value = value?;
    if last.len() >= MAX_SERIES {
        last.clear();
    }
    let (last_t, last) = last.insert((column, labels.to_owned()), (t, value))?;
    let dt = (t.0 as f64 - last_t.0 as f64) / 1e6;
    (dt > 0.0 && value >= last).then_some((value - last, dt))
}
