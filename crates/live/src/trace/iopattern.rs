//! `trace iopattern`: how files are read and written.

use std::{collections::BTreeMap, fmt::Write};

use fenxi_model::{
    TableRows, Unit,
    catalog::{histogram, io_pattern as c},
};

use super::{Observed, distribution::Distributions, observed::table};
use crate::{Frame, columns};

/// What is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// File systems, each with a table of its patterns.
    Mount,
    /// Files: a line for each operation and pattern.
    File,
    /// Processes: a line for each operation and pattern.
    Process,
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct IopatternOptions {
    /// What is told apart.
    pub by: By,
    /// Lines at most.
    pub top: usize,
    /// Whether distributions are shown, too.
    pub distributions: bool,
}

/// Shows the tables `io_pattern` and `histogram`.
#[derive(Debug)]
pub struct Iopattern {
    options: IopatternOptions,
    sums: BTreeMap<Key, Sums>,
    distributions: Distributions,
}

/// File system, file or process as far as they are told apart, operation, pattern.
type Key = (String, String, String, String);

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    ops: f64,
    bytes: f64,
    /// Operations whose time is known, and that time.
    timed: f64,
    us: f64,
}

impl Sums {
    fn add(&mut self, more: Sums) {
        self.ops += more.ops;
        self.bytes += more.bytes;
        self.timed += more.timed;
        self.us += more.us;
    }

    fn latency(self) -> String {
        if self.timed > 0.0 { Unit::Microseconds.human(self.us / self.timed).to_string() } else { "-".to_owned() }
    }
}

/// Patterns in the order in which they are shown; the last two only where there are any.
const PATTERNS: [&str; 5] = ["sequential", "random", "page", "direct sequential", "direct random"];
/// What is done to names and attributes.
const OTHERS: [&str; 6] = ["lookup", "create", "remove", "attr", "readdir", "sync"];

impl Iopattern {
    /// Shows as `options` say.
    pub fn new(options: IopatternOptions) -> Iopattern {
        Iopattern { options, sums: BTreeMap::new(), distributions: Distributions::default() }
    }

    fn add(&mut self, rows: &TableRows, dt: f64) {
        for row in 0..rows.n_rows() {
            let text = |place| rows.str(row, place).unwrap_or("").to_owned();
            let of = match self.options.by {
                By::Mount => String::new(),
                By::File => rows.str(row, c::file).unwrap_or("(other files)").to_owned(),
                By::Process => match rows.i64(row, c::pid) {
                    Some(pid) => format!("{pid} {}", text(c::comm)),
                    None => "(others)".to_owned(),
                },
            };
            let value = |place| rows.f64(row, place);
            let ops = value(c::ops_per_s).unwrap_or(0.0) * dt;
            let us = value(c::mean_us);
            self.sums.entry((text(c::mount), of, text(c::op), text(c::pattern))).or_default().add(Sums {
                ops,
                bytes: value(c::transfer_bytes_per_s).unwrap_or(0.0) * dt,
                timed: us.map_or(0.0, |_| ops),
                us: us.unwrap_or(0.0) * ops,
            });
        }
    }

    fn lines(&self, sums: BTreeMap<Key, Sums>, dt: f64, out: &mut String) {
        let by_file = self.options.by == By::File;
        let mut lines: Vec<_> = sums.into_iter().filter(|((_, _, op, _), _)| !by_file || is_transfer(op)).collect();
        lines.sort_by(|(_, a), (_, b)| b.ops.total_cmp(&a.ops));
        let cells = |((mount, of, op, pattern), sums): &(Key, Sums)| {
            let bytes = is_transfer(op);
            vec![
                op.clone(),
                if pattern.is_empty() { "-".to_owned() } else { pattern.clone() },
                format!("{:.1}", sums.ops / dt),
                if bytes { Unit::BytesPerS.human(sums.bytes / dt).to_string() } else { "-".to_owned() },
                if bytes { Unit::Bytes.human(sums.bytes / sums.ops.max(1.0)).to_string() } else { "-".to_owned() },
                sums.latency(),
                mount.clone(),
                of.clone(),
            ]
        };
        let of = if by_file { "FILE" } else { "PID COMMAND" };
        let header = ["OP", "PATTERN", "OPS/S", "BYTES/S", "SIZE", "LATENCY", "MOUNT", of];
        table(&header, &[2, 3, 4, 5], lines.iter().map(cells), (self.options.top, " with fewer operations"), out);
    }
}

fn is_transfer(op: &str) -> bool {
    op == "read" || op == "write"
}

/// A table for each file system: patterns by reads and writes, then what else was done.
fn by_mount(sums: &BTreeMap<Key, Sums>, dt: f64, out: &mut String) {
    let mut mounts: BTreeMap<&str, BTreeMap<(&str, &str), Sums>> = BTreeMap::new();
    for ((mount, _, op, pattern), more) in sums {
        mounts.entry(mount).or_default().entry((op, pattern)).or_default().add(*more);
    }
    for (mount, sums) in mounts {
        let of = |op, pattern| sums.get(&(op, pattern)).copied().unwrap_or_default();
        let mut rows = Vec::new();
        let (mut reads, mut writes) = (Sums::default(), Sums::default());
        for pattern in PATTERNS {
            let (read, write) = (of("read", pattern), of("write", pattern));
            reads.add(read);
            writes.add(write);
            if !pattern.starts_with("direct") || read.ops + write.ops > 0.0 {
                rows.push(transfers(pattern, read, write, dt));
            }
        }
        rows.push(transfers("TOTAL", reads, writes, dt));
        let header = [mount, "rd/s", "wr/s", "rdKB/s", "wrKB/s", "rd time", "wr time"];
        out.push_str(&columns(&header, &[1, 2, 3, 4, 5, 6], &rows));
        let others: Vec<String> = OTHERS
            .iter()
            .map(|op| (op, of(op, "")))
            .filter(|(_, sums)| sums.ops > 0.0)
            .map(|(op, sums)| format!("{op} {:.1}/s ({})", sums.ops / dt, sums.latency()))
            .collect();
        if !others.is_empty() {
            let _ = writeln!(out, "{}", others.join("  "));
        }
        out.push('\n');
    }
}

fn transfers(name: &str, read: Sums, write: Sums, dt: f64) -> Vec<String> {
    let per_s = |value: f64| format!("{:.1}", value / dt);
    vec![
        name.to_owned(),
        per_s(read.ops),
        per_s(write.ops),
        per_s(read.bytes / 1024.0),
        per_s(write.bytes / 1024.0),
        read.latency(),
        write.latency(),
    ]
}

impl Observed for Iopattern {
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            self.add(rows, frame.dt);
        }
        if let Some(rows) = frame.rows.of(&histogram::TABLE).filter(|_| self.options.distributions) {
            self.distributions.take(rows, "io_");
        }
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        let sums = std::mem::take(&mut self.sums);
        if sums.is_empty() || elapsed_s <= 0.0 {
            out.push_str("no operations on files\n");
            return;
        }
        match self.options.by {
            By::Mount => by_mount(&sums, elapsed_s, out),
            By::File | By::Process => self.lines(sums, elapsed_s, out),
        }
        if self.options.distributions {
            self.distributions.show(out);
        }
    }
}
