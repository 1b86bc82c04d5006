//! `trace iopattern`: how files are read and written.

use std::{collections::BTreeMap, fmt::Write};

use fenxi_live::{
    Frame, View, columns,
    trace::{Column, Distributions, Grouping, Groups, Observed, Row, Sum, Summed, Sums, Total, in_unit},
};
use fenxi_model::{
    Unit,
    catalog::{histogram, io_pattern as c},
};
use fenxi_source::Options;

use crate::Setting;

/// A table for each file system, or a line for each file or process with its patterns.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    Box::new(Summed::new(Iopattern::new(options), setting.when))
}

const OPS: usize = 0;
const BYTES: usize = 1;
/// Operations whose time is known, and that time.
const TIMED: usize = 2;
const US: usize = 3;
/// Operations that move bytes.
const TRANSFERS: usize = 4;

static GROUPING: Grouping<c::Schema> = Grouping {
    table: &c::TABLE,
    sums: &[
        Sum::Added(ops),
        Sum::Added(|row| row.value(c::transfer_bytes_per_s) * row.dt),
        Sum::Added(|row| row.number(c::mean_us).map_or(0.0, |_| ops(row))),
        Sum::Added(|row| row.value(c::mean_us) * ops(row)),
        Sum::Added(|row| if is_transfer(row) { ops(row) } else { 0.0 }),
    ],
    columns: &[
        Column::Key("OP", |row| row.text(c::op).to_owned()),
        Column::Key(
            "PATTERN",
            |row| if row.has(c::pattern) { row.text(c::pattern).to_owned() } else { "-".to_owned() },
        ),
        Column::Figure("OPS/S", |sums| format!("{:.1}", sums.of(OPS) / sums.elapsed_s)),
        Column::Figure("BYTES/S", |sums| {
            in_unit(Unit::BytesPerS, (sums.of(TRANSFERS) > 0.0).then(|| sums.of(BYTES) / sums.elapsed_s))
        }),
        Column::Figure("SIZE", |sums| {
            in_unit(Unit::Bytes, (sums.of(TRANSFERS) > 0.0).then(|| sums.of(BYTES) / sums.of(OPS).max(1.0)))
        }),
        Column::Figure("LATENCY", |sums| latency(sums.of(US), sums.of(TIMED))),
        Column::Key("MOUNT", |row| row.text(c::mount).to_owned()),
        Column::Key(
            "FILE",
            |row| if row.has(c::file) { row.text(c::file).to_owned() } else { "(other files)".to_owned() },
        ),
        Column::Key("PID COMMAND", |row| match row.id(c::pid) {
            Some(pid) => format!("{pid} {}", row.text(c::comm)),
            None => "(others)".to_owned(),
        }),
    ],
    order: |sums: &Sums<'_>| [sums.of(OPS), 0.0],
    total: Total::None,
    less: " with fewer operations",
};

fn ops(row: Row<'_, c::Schema>) -> f64 {
    row.value(c::ops_per_s) * row.dt
}

fn is_transfer(row: Row<'_, c::Schema>) -> bool {
    matches!(row.text(c::op), "read" | "write")
}

fn latency(us: f64, timed: f64) -> String {
    in_unit(Unit::Microseconds, (timed > 0.0).then(|| us / timed))
}

/// Grouping of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// File systems, each with a table of its patterns.
    Mount,
    /// Files: a line for each operation and pattern.
    File,
    /// Processes: a line for each operation and pattern.
    Process,
}

/// Shows the tables `io_pattern` and `histogram`.
#[derive(Debug)]
struct Iopattern {
    by: By,
    groups: Groups<c::Schema>,
    distributions: Distributions,
    top: usize,
    /// Whether distributions are shown, too.
    drawn: bool,
}

impl Iopattern {
    fn new(options: &Options) -> Iopattern {
        let (by, left_out): (_, &[&str]) = match options.word("by") {
            "file" => (By::File, &["PID COMMAND"]),
            "process" => (By::Process, &["FILE"]),
            _ => (By::Mount, &["FILE", "PID COMMAND"]),
        };
        let (top, drawn) = (options.count("top"), options.is_given("distributions"));
        let groups = Groups::without(&GROUPING, left_out);
        Iopattern { by, groups, distributions: Distributions::default(), top, drawn }
    }
}

/// Patterns in the order in which they are shown; the last two only where there are any.
const PATTERNS: [&str; 5] = ["sequential", "random", "page", "direct sequential", "direct random"];
/// Operations on names and attributes.
const OTHERS: [&str; 6] = ["lookup", "create", "remove", "attr", "readdir", "sync"];

/// Sums of one operation and pattern, by their places.
type Line = [f64; 5];

fn add(to: &mut Line, more: &[f64]) {
    to.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// A table for each file system: patterns by reads and writes, then what else was done. Keys are operation, pattern and
/// file system.
fn by_mount(lines: impl Iterator<Item = (Vec<String>, Vec<f64>)>, dt: f64, out: &mut String) {
    let mut mounts: BTreeMap<String, BTreeMap<(String, String), Line>> = BTreeMap::new();
    for (mut keys, sums) in lines {
        let mount = keys.pop().unwrap_or_default();
        let (pattern, op) = (keys.pop().unwrap_or_default(), keys.pop().unwrap_or_default());
        add(mounts.entry(mount).or_default().entry((op, pattern)).or_default(), &sums);
    }
    for (mount, sums) in mounts {
        let of = |op: &str, pattern: &str| sums.get(&(op.to_owned(), pattern.to_owned())).copied().unwrap_or_default();
        let mut rows = Vec::new();
        let (mut reads, mut writes) = (Line::default(), Line::default());
        for pattern in PATTERNS {
            let (read, write) = (of("read", pattern), of("write", pattern));
            add(&mut reads, &read);
            add(&mut writes, &write);
            if !pattern.starts_with("direct") || read[OPS] + write[OPS] > 0.0 {
                rows.push(transfers(pattern, &read, &write, dt));
            }
        }
        rows.push(transfers("TOTAL", &reads, &writes, dt));
        let header = [mount.as_str(), "rd/s", "wr/s", "rdKB/s", "wrKB/s", "rd time", "wr time"];
        out.push_str(&columns(&header, &[1, 2, 3, 4, 5, 6], &rows));
        let others: Vec<String> = OTHERS
            .iter()
            .map(|op| (op, of(op, "-")))
            .filter(|(_, sums)| sums[OPS] > 0.0)
            .map(|(op, sums)| format!("{op} {:.1}/s ({})", sums[OPS] / dt, latency(sums[US], sums[TIMED])))
            .collect();
        if !others.is_empty() {
            let _ = writeln!(out, "{}", others.join("  "));
        }
        out.push('\n');
    }
}

fn transfers(name: &str, read: &Line, write: &Line, dt: f64) -> Vec<String> {
    let per_s = |value: f64| format!("{:.1}", value / dt);
    vec![
        name.to_owned(),
        per_s(read[OPS]),
        per_s(write[OPS]),
        per_s(read[BYTES] / 1024.0),
        per_s(write[BYTES] / 1024.0),
        latency(read[US], read[TIMED]),
        latency(write[US], write[TIMED]),
    ]
}

impl Observed for Iopattern {
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            // Names of files are of what is read and written.
            let by = self.by;
            self.groups.take(rows, frame.dt, |row| by != By::File || is_transfer(row));
        }
        if let Some(rows) = frame.rows.of(&histogram::TABLE).filter(|_| self.drawn) {
            self.distributions.take(rows, "io_");
        }
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        if self.groups.is_empty() || elapsed_s <= 0.0 {
            out.push_str("no operations on files\n");
            return;
        }
        match self.by {
            By::Mount => by_mount(self.groups.drain(), elapsed_s, out),
            By::File | By::Process => self.groups.show(elapsed_s, self.top, out),
        }
        if self.drawn {
            self.distributions.show(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use fenxi_live::trace::When;
    use fenxi_model::{Micros, Rows};

    use super::*;

    fn show(by: &str) -> Vec<String> {
        let mut options = Options::new(crate::iopattern::OBSERVER.options());
        options.give("by", Some(by)).unwrap();
        let mut rows = Rows::new("h");
        for (file, pid, op, pattern, ops_per_s, bytes_per_s, mean_us) in [
            (Some("/f"), Some(7), "read", Some("random"), 100.0, Some(409_600.0), Some(20.0)),
            (Some("/f"), Some(8), "read", Some("random"), 50.0, Some(204_800.0), None),
            (Some("/g"), Some(7), "write", Some("direct sequential"), 10.0, Some(1_048_576.0), Some(500.0)),
            (None, None, "lookup", None, 200.0, None, Some(2.0)),
        ] {
            rows.row(&c::TABLE, Micros(0), 2.0)
                .str(c::mount, "/")
                .str(c::file, file)
                .str(c::comm, pid.map(|_| "prog"))
                .i64(c::pid, pid)
                .str(c::op, op)
                .str(c::pattern, pattern)
                .f64(c::ops_per_s, ops_per_s)
                .f64(c::transfer_bytes_per_s, bytes_per_s)
                .f64(c::mean_us, mean_us);
        }
        let mut view = Summed::new(Iopattern::new(&options), When::AtTheEnd);
        let mut out = String::new();
        view.frame(&Frame { t: Micros(0), dt: 2.0, since_boot: false, rows: &rows }, &mut out);
        view.end(&mut out);
        out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn patterns_stand_below_each_other_and_what_is_done_to_names_beneath() {
        let expected = [
            "/ rd/s wr/s rdKB/s wrKB/s rd time wr time",
            "sequential 0.0 0.0 0.0 0.0 - -",
            "random 150.0 0.0 600.0 0.0 20.0 µs -",
            "page 0.0 0.0 0.0 0.0 - -",
            "direct sequential 0.0 10.0 0.0 1024.0 - 500 µs",
            "TOTAL 150.0 10.0 600.0 1024.0 20.0 µs 500 µs",
            "lookup 200.0/s (2.00 µs)",
            "",
        ];
        assert_eq!(show("mount"), expected);
    }

    #[test]
    fn files_are_those_that_are_read_and_written() {
        let lines = show("file");
        assert_eq!(lines[0], "OP PATTERN OPS/S BYTES/S SIZE LATENCY MOUNT FILE");
        assert!(lines[1].starts_with("read random 150.0 ") && lines[1].ends_with(" 20.0 µs / /f"), "{lines:?}");
        assert!(
            lines[2].starts_with("write direct sequential 10.0 ") && lines[2].ends_with(" 500 µs / /g"),
            "{lines:?}"
        );
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn processes_are_told_apart_and_do_all_kinds_of_things() {
        let lines = show("process");
        assert_eq!(lines[0], "OP PATTERN OPS/S BYTES/S SIZE LATENCY MOUNT PID COMMAND");
        assert!(lines[1].starts_with("lookup - 200.0 - - 2.00 µs / (others)"), "{lines:?}");
        assert!(lines[2].ends_with("/ 7 prog") && lines[3].ends_with("/ 8 prog"), "{lines:?}");
    }
}
