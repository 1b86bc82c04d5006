//! Which column of dstat is which column of the tables.

use std::sync::LazyLock;

use fenxi_model::{
    Micros, Table,
    catalog::{cpu, disk, fs, irq, net},
};

use super::{
    lines::{Named, holds_words, unquoted},
    times::Stamp,
};
use crate::{
    CpuMean, Out, number,
    own::{Goal, words::Words},
    scaled,
};

/// The cells of one line, in memory that is kept from line to line.
#[derive(Debug, Default)]
pub(super) struct Cells {
    text: String,
    ends: Vec<usize>,
}

impl Cells {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    pub(super) fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends.push(self.text.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, i: usize) -> &str {
        let begin = i.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(i).and_then(|end| self.text.get(begin..*end)).unwrap_or("")
    }

    pub(super) fn any_empty(&self) -> bool {
        (0..self.len()).any(|i| self.get(i).is_empty())
    }
}

/// Where a column goes.
enum Target {
    /// To a row of a table.
    Row(usize, usize),
    /// To a metric of that name.
    Metric(String),
    /// It is an interrupt's number.
    Irq(String),
    /// The time.
    Epoch,
    Stamp,
}

struct Column {
    target: Target,
    /// It counts bytes, which a terminal shows with factors of 1024.
    bytes: bool,
}

/// One row that each line gives.
struct RowOf {
    table: &'static Table,
    key: String,
    /// Its columns: where in the line, and where in the table.
    cells: Vec<(usize, usize)>,
}

/// Meanings of the columns of the last titles.
pub(super) struct Plan {
    columns: Vec<Column>,
    /// Columns of each group.
    groups: Vec<(String, usize)>,
    rows: Vec<RowOf>,
    /// Figures have factors behind them.
    text: bool,
    bits: bool,
    /// There are single CPUs and no row of all of them.
    mean: bool,
}

/// Meanings of its titles, by the groups above them.
static WORDS: LazyLock<Words> =
    LazyLock::new(|| Words::shipped(include_str!("../../../../../formats/linux/dstat.toml")));

/// Prefixes of groups of devices; the device follows, a mount point with it.
const DEVICES: [&str; 5] = ["dsk/", "io/", "net/", "pkt/", "/"];
/// The words of a disk whose group is its name and nothing else.
const DISK: &str = "a disk";

/// The table, the key in it and the place of a column, where it is known.
fn known(group: &str, name: &str) -> Option<(&'static Table, String, usize)> {
    let find = |of: &str, key: &str| match WORDS.find(of, name)? {
        Goal::Column { table, place, .. } => Some((*table, key.to_owned(), *place)),
        _ => None,
    };
    match group.strip_suffix(" usage") {
        Some("memory" | "advanced memory") => return find("memory usage", ""),
        Some("total cpu" | "total") => return find("cpu usage", ""),
        Some(which) => {
            let cpu = which.strip_prefix("cpu").filter(|n| n.bytes().all(|b| b.is_ascii_digit()))?;
            return find("cpu usage", cpu);
        }
        None => {}
    }
    let device = |prefix: &&str| {
        let device = group.strip_prefix(*prefix).filter(|device| !device.is_empty() || **prefix == *"/")?;
        find(prefix, if **prefix == *"/" { group } else { device })
    };
    let whole = Some(group).filter(|group| !DEVICES.contains(group) && *group != DISK);
    let found = whole.and_then(|group| find(group, "")).or_else(|| DEVICES.iter().find_map(device));
    found.or_else(|| find(DISK, group).filter(|_| !group.is_empty()))
}

impl Plan {
    /// From the two title lines of a CSV file. None when they do not fit.
    pub(super) fn of_csv(groups: &str, names: &str) -> Option<Plan> {
        let mut groups = groups.split(',').map(unquoted);
        let mut group = String::new();
        let mut columns = Vec::new();
        for name in names.split(',').map(unquoted) {
            // Where a tool's line of groups is shorter, the last group goes on.
            if let Some(next) = groups.next().filter(|g| !g.is_empty()) {
                next.clone_into(&mut group);
            }
            let bare = name.strip_prefix(group.as_str()).and_then(|n| n.strip_prefix(':')).unwrap_or(name);
            columns.push((group.clone(), bare.to_owned()));
        }
        let fits = groups.all(|g| g.is_empty()) && columns.first().is_some_and(|(group, _)| !group.is_empty());
        fits.then(|| Plan::new(&columns, false, false))
    }

    /// From the columns of a terminal's title lines.
    pub(super) fn of_text(columns: &[Named], bits: bool) -> Plan {
        Plan::new(columns, true, bits)
    }

    fn new(columns: &[Named], text: bool, bits: bool) -> Plan {
        let mut plan = Plan { columns: Vec::new(), groups: Vec::new(), rows: Vec::new(), text, bits, mean: false };
        for (group, name) in columns {
            match plan.groups.last_mut() {
                Some((last, n)) if last == group && !holds_words(group) => *n += 1,
                _ => plan.groups.push((group.clone(), 1)),
            }
            let column = plan.column(group, name);
            if let Target::Row(row, place) = column.target
                && let Some(row) = plan.rows.get_mut(row)
            {
                row.cells.push((plan.columns.len(), place));
            }
            plan.columns.push(column);
        }
        let cpus = |all: bool| plan.rows.iter().any(|r| r.table.id == cpu::TABLE.id && r.key.is_empty() == all);
        plan.mean = cpus(false) && !cpus(true);
        plan
    }

    fn column(&mut self, group: &str, name: &str) -> Column {
        let target = match (group, name) {
            ("epoch", _) => Target::Epoch,
            ("system", "time" | "date/time") | ("system" | "times", "times") => Target::Stamp,
            ("interrupts", irq) => Target::Irq(irq.to_owned()),
            _ => match known(group, name) {
                Some((table, key, place)) => Target::Row(self.row(table, key), place),
                None => Target::Metric(format!("dstat.{group}.{name}").replace(' ', "_")),
            },
        };
        let bytes = match &target {
            Target::Row(row, place) => {
                let column = self.rows.get(*row).and_then(|r| r.table.columns.get(*place));
                column.is_some_and(|c| c.name.ends_with("_bytes") || c.name.ends_with("_bytes_per_s"))
            }
            _ => false,
        };
        Column { target, bytes }
    }

    fn row(&mut self, table: &'static Table, key: String) -> usize {
        let found = self.rows.iter().position(|r| r.table.id == table.id && r.key == key);
        found.unwrap_or_else(|| {
            self.rows.push(RowOf { table, key, cells: Vec::new() });
            self.rows.len() - 1
        })
    }

    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// How many columns the group has that begins at column `at`.
    pub(super) fn group_len(&self, at: usize) -> usize {
        let mut begin = 0;
        for (_, n) in &self.groups {
            if begin == at {
                return *n;
            }
            begin += n;
        }
        1
    }

    /// The cell with the time.
    pub(super) fn stamp<'a>(&self, cells: &'a Cells) -> Stamp<'a> {
        let epoch = self.columns.iter().position(|c| matches!(c.target, Target::Epoch));
        let stamp = || self.columns.iter().position(|c| matches!(c.target, Target::Stamp));
        match epoch {
            Some(at) => Stamp::Epoch(cells.get(at)),
            None => stamp().map_or(Stamp::None, |at| Stamp::Text(cells.get(at))),
        }
    }

    /// Whether no share of a CPU and no rate has a figure: nothing was measured yet.
    pub(super) fn lacks_rates(&self, cells: &Cells) -> bool {
        let mut rates = (0..self.len()).filter(|i| match self.columns.get(*i).map(|c| &c.target) {
            Some(Target::Row(row, _)) => {
                let table = self.rows.get(*row).map(|r| r.table.id);
                [cpu::TABLE.id, disk::TABLE.id, net::TABLE.id].map(Some).contains(&table)
            }
            _ => false,
        });
        let mut any = false;
        let none = rates.all(|i| {
            any = true;
            matches!(cells.get(i), "" | "-")
        });
        any && none
    }

    /// The figure in a cell.
    fn value(&self, column: &Column, cell: &str) -> Option<f64> {
        if !self.text {
            return number(cell);
        }
        let bits = column.bytes && self.bits;
        let base = if column.bytes && !bits { 1024.0 } else { 1000.0 };
        scaled(cell, base).map(|v| if bits { v / 8.0 } else { v })
    }

    /// Writes the rows of one line.
    pub(super) fn write(&self, line: u64, (t, dt): (Micros, Option<f64>), cells: &Cells, out: &mut Out<'_>) {
        let mut mean = CpuMean::default();
        for row_of in &self.rows {
            let mut row = out.row(row_of.table, t, dt);
            if let Some(key) = key_place(row_of.table).filter(|_| !row_of.key.is_empty()) {
                row.str(key, row_of.key.as_str());
            }
            let mean_row = self.mean && row_of.table.id == cpu::TABLE.id;
            if mean_row {
                mean.cpu(&row_of.key);
            }
            for (i, place) in &row_of.cells {
                let value = self.columns.get(*i).and_then(|column| self.value(column, cells.get(*i)));
                row.f64(*place, value);
                if let (true, Some(value)) = (mean_row, value) {
                    mean.add_to(*place, value);
                }
            }
        }
        mean.write_whole(out, t, dt);
        for (i, column) in self.columns.iter().enumerate() {
            self.write_other(line, (t, dt), column, cells.get(i), out);
        }
    }

    fn write_other(&self, line: u64, (t, dt): (Micros, Option<f64>), column: &Column, cell: &str, out: &mut Out<'_>) {
        if matches!(cell, "" | "-") {
            return;
        }
        let value = self.value(column, cell);
        match &column.target {
            Target::Epoch | Target::Stamp => {}
            Target::Irq(name) => {
                out.row(&irq::TABLE, t, dt).str(irq::irq, name.as_str()).f64(irq::intr_per_s, value);
            }
            Target::Metric(name) if value.is_none() => words(line, (t, dt), name, cell, out),
            Target::Metric(name) => out.metric(t, dt, name, "", value, ""),
            Target::Row(..) if value.is_none() => out.unknown(line, cell, "no number"),
            Target::Row(..) => {}
        }
    }
}

/// A cell with a process' name and one or two figures: `java / 49%`, `java  49`, `java / 12:3400`.
fn words(line: u64, (t, dt): (Micros, Option<f64>), name: &str, cell: &str, out: &mut Out<'_>) {
    let (process, figures) = cell.rsplit_once(" / ").unwrap_or_else(|| {
        let tail =
            cell.trim_end().rfind(|c: char| c.is_ascii_alphabetic() && !"kMGTB".contains(c)).map_or(0, |at| at + 1);
        let blank = cell.get(tail..).and_then(|rest| rest.find(' ')).map_or(cell.len(), |at| tail + at);
        cell.split_at(blank)
    });
    let mut any = false;
    let label = format!("process={}", process.trim().replace(',', "_"));
    for (figure, part) in figures.split([' ', ':']).filter(|f| !f.is_empty()).zip(["", ".second"]) {
        if let Some(value) = scaled(figure.trim_end_matches('%'), 1024.0) {
            any = true;
            out.metric(t, dt, &format!("{name}{part}"), &label, value, "");
        }
    }
    if !any {
        out.unknown(line, cell, "no number and no name with one");
    }
}

/// The place of a table's key column.
fn key_place(table: &'static Table) -> Option<usize> {
    Some(match table.name {
        "cpu" => cpu::cpu.index(),
        "disk" => disk::device.index(),
        "net" => net::interface.index(),
        "fs" => fs::mount.index(),
        _ => return None,
    })
}
