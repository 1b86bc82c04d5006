//! What the `vmstat`s of Solaris, the BSDs, AIX and HP-UX and AIX' `lparstat` have in common: a row of
//! numbers for each sample, under a header that comes again from time to time.

use fenxi_model::{
    AnySchema, Micros, Place, Table,
    catalog::{cpu, disk},
    place::F64,
};

use super::times::{Times, Tool};
use crate::{CpuMean, Fields, Input, Out, Splitter, civil_time, number, scaled};

/// Where a column goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum To {
    /// A column of a table, and the factor to its unit.
    Column(&'static Table, usize, f64),
    /// A metric under its own name, and the factor to a plain unit.
    Other(f64),
}

/// A column of `table`, and the factor to its unit.
pub(super) const fn column<S: AnySchema>(table: &'static Table<S>, place: Place<S, F64>, scale: f64) -> To {
    To::Column(table, place.index(), scale)
}

/// One system's tool.
pub(super) struct Dialect {
    pub(super) format: &'static str,
    pub(super) tool: Tool,
    /// What is below a word of the header; where a word comes twice, the first one is the left one.
    pub(super) words: &'static [(&'static str, To)],
    /// Words that a header has, and nothing else.
    pub(super) header: &'static [&'static str],
    /// Words above the header.
    pub(super) groups: &'static [&'static str],
    /// Words between which each column is a disk's transfers per second.
    pub(super) disks: Option<(&'static str, &'static str)>,
    /// Fewer rows than this between two headers, and the tool was begun anew.
    pub(super) header_every: u32,
}

/// A column, its place in the table, and the factor to its unit.
type Target = (usize, usize, f64);

/// A header laid out.
#[derive(Default)]
struct Layout {
    columns: usize,
    tables: Vec<(&'static Table, Vec<Target>)>,
    metrics: Vec<(usize, String, f64)>,
    disks: Vec<(usize, String)>,
    /// Shares of single CPUs: the first column of each and how many they are (`us sy id`).
    cpus: Vec<usize>,
    /// The time of day (AIX `-t`).
    time: Option<usize>,
}

/// Columns of each CPU with FreeBSD's `-P`.
const PER_CPU: [(&str, Place<cpu::Schema, F64>); 3] = [("us", cpu::usr), ("sy", cpu::sys), ("id", cpu::idle)];
/// Most columns that a header can have.
const MAX_COLUMNS: usize = 1 << 12;

impl Layout {
    fn new(fields: &Fields<'_>, dialect: &Dialect) -> Layout {
        let mut layout = Layout::default();
        let mut used = vec![false; dialect.words.len()];
        let place = |word: &str| fields.iter().position(|f| f == word);
        let disks = dialect.disks.and_then(|(from, to)| Some(place(from)? + 1..place(to)?)).unwrap_or(0..0);
        let per_cpu = fields.iter().filter(|f| *f == "us").count() > 1;
        let mut words = fields.iter().enumerate().take(MAX_COLUMNS).peekable();
        while let Some((at, word)) = words.next() {
            let column = layout.columns;
            layout.columns += 1;
            if disks.contains(&at) {
                layout.disk(column, word);
                continue;
            }
            if word == "hr" {
                // `hr mi se` stand above one time of day.
                while words.next_if(|(_, w)| matches!(*w, "mi" | "se")).is_some() {}
                layout.time = Some(column);
                continue;
            }
            if per_cpu && word == "us" {
                layout.cpus.push(column);
                while words.next_if(|(_, w)| matches!(*w, "sy" | "id")).is_some() {
                    layout.columns += 1;
                }
                continue;
            }
            let known = dialect.words.iter().enumerate().position(|(i, (w, _))| !used[i] && *w == word);
            let to = known.map_or(To::Other(1.0), |i| dialect.words[i].1);
            if let Some(i) = known {
                used[i] = true;
            }
            layout.put(column, word, to, dialect);
        }
        layout
    }

    fn put(&mut self, column: usize, word: &str, to: To, dialect: &Dialect) {
        match to {
            To::Other(scale) => self.metrics.push((column, format!("{}.{word}", dialect.format), scale)),
            To::Column(table, place, scale) => match self.tables.iter_mut().find(|(t, _)| t.id == table.id) {
                Some((_, targets)) => targets.push((column, place, scale)),
                None => self.tables.push((table, vec![(column, place, scale)])),
            },
        }
    }

    /// Disks' names are cut, so two can be the same.
    fn disk(&mut self, column: usize, name: &str) {
        if name == "--" {
            return;
        }
        let twins = self.disks.iter().filter(|(_, n)| n.split('.').next() == Some(name)).count();
        let name = if twins == 0 { name.to_owned() } else { format!("{name}.{}", twins + 1) };
        self.disks.push((column, name));
    }
}

/// The value of a cell: with a letter behind it (`800M`) it is no longer in the column's own unit.
fn value(cell: &str, scale: f64) -> Option<f64> {
    let base = if scale > 1.0 { 1024.0 } else { 1000.0 };
    number(cell).map(|value| value * scale + 0.0).or_else(|| scaled(cell, base))
}

struct Reader {
    dialect: &'static Dialect,
    times: Times,
    layout: Option<Layout>,
    /// Rows since the last header.
    rows: u32,
}

/// Reads all of the input; the tool's first row is since boot if `first_since_boot`.
pub(super) fn read(dialect: &'static Dialect, first_since_boot: bool, input: &mut Input<'_>, out: &mut Out<'_>) {
    let times = Times::new(input, out, Tool { first_since_boot, ..dialect.tool });
    let mut reader = Reader { dialect, times, layout: None, rows: 0 };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    out.since_boot(false);
}

/// How many rows of numbers the head of an input has, at most two.
pub(super) fn rows_in_head(input: &Input<'_>) -> usize {
    let head = input.head();
    let is_row = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        words.clone().count() > 6
            && words.all(|w| w.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
            && !line.contains("--")
    };
    head.lines().filter(|line| is_row(line)).take(2).count()
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let line = self.times.strip(line, out).trim();
        if line.is_empty() || line.bytes().all(|b| matches!(b, b'-' | b' ' | b'\t')) {
            return;
        }
        let fields = splitter.blanks(line);
        if self.dialect.header.iter().all(|word| fields.iter().any(|f| f == *word)) {
            self.header(&fields);
        } else if line.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
            self.row(number, &fields, out);
        } else {
            let known = self.times.configuration(line, out)
                || fields.iter().all(|f| is_group(f, self.dialect))
                || self.times.knows(line);
            if !known {
                out.unknown(number, line, "neither header nor values");
            }
        }
    }

    fn header(&mut self, fields: &Fields<'_>) {
        if (1..self.dialect.header_every).contains(&self.rows) {
            self.times.restart();
        }
        self.rows = 0;
        self.layout = Some(Layout::new(fields, self.dialect));
    }

    fn row(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        let Some(layout) = &self.layout else {
            out.unknown(line, fields.rest(0), "values before any header");
            return;
        };
        if fields.len() != layout.columns {
            out.wrong_count(line, fields.rest(0), fields.len(), layout.columns);
            return;
        }
        self.rows = self.rows.saturating_add(1);
        if let Some(time) = layout.time.and_then(|column| civil_time(fields.get(column), None)) {
            self.times.at(time, out);
        }
        let block = self.times.begin(out);
        if let Some(column) = layout.write(fields, block, out) {
            out.no_number(line, fields.get(column), column);
        }
    }
}

/// Whether a word can stand above a header: `cpu0` is such with `-P`.
fn is_group(word: &str, dialect: &Dialect) -> bool {
    dialect.groups.contains(&word.trim_matches(|c: char| c.is_ascii_digit() || c == '-'))
        || word.bytes().all(|b| b == b'-')
}

impl Layout {
    /// Writes one row's values; gives a column that holds none.
    fn write(&self, fields: &Fields<'_>, (t, dt): (Micros, Option<f64>), out: &mut Out<'_>) -> Option<usize> {
        let mut bad = None;
        for (table, targets) in &self.tables {
            let mut row = out.row(table, t, dt);
            for (column, place, scale) in targets {
                let cell = fields.get(*column);
                let value = value(cell, *scale);
                if value.is_none() && cell != "-" {
                    bad = Some(*column);
                }
                row.f64(*place, value);
            }
        }
        for (column, name, scale) in &self.metrics {
            match value(fields.get(*column), *scale) {
                Some(value) => out.metric(t, dt, name, "", value, ""),
                None if fields.get(*column) == "-" => {}
                None => bad = Some(*column),
            }
        }
        for (column, name) in &self.disks {
            let transfers = value(fields.get(*column), 1.0);
            out.row(&disk::TABLE, t, dt).str(disk::device, name.as_str()).f64(disk::transfers_per_s, transfers);
        }
        let mut mean = CpuMean::default();
        for (nth, first) in self.cpus.iter().enumerate() {
            mean.next_cpu();
            let mut row = out.row(&cpu::TABLE, t, dt);
            row.str(cpu::cpu, nth.to_string().as_str());
            for (at, (_, place)) in PER_CPU.iter().enumerate() {
                if let Some(share) = number(fields.get(first + at)) {
                    row.f64(*place, share);
                    mean.add(*place, share);
                }
            }
        }
        mean.write(out, t, dt);
        bad
    }
}
