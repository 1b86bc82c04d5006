//! `free` of procps and busybox: memory and swap at a moment.
//!
//! The meaning of `used` has changed from version to version; the table's `used_bytes` is total less
//! available, and NULL where free does not print what is available. The unit is not printed either,
//! but it shows: the kernel counts pages, so KiB are multiples of 4 and bytes of 1024.

use fenxi_model::{Micros, Place, catalog::mem, place::F64};

use super::moments::{Moments, is_prompt};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure, number, scaled};

/// Importer for free of procps and busybox.
pub static FORMAT: Format = Format {
    name: "free",
    summary: "free of procps and busybox: -b, -k, -m, -g, -h, -w, -t, -l, -v, -L, -s, old and new columns",
    family: Family::Linux,
    tables: &[&mem::TABLE],
    example: "\
               total        used        free      shared  buff/cache   available
Mem:        24684100     1762916    19337508       69144     4021304    22921184
Swap:              0           0           0
",
    sniff,
    read,
};

/// How translations call the line of all memory, and the others.
const MEM: &[&str] = &["Mem:", "Mem.:", "Speicher:", "Pamięć:", "Minne:", "Пам.:", "内存：", "메모리:"];
const SWAP: &[&str] =
    &["Swap:", "Échange:", "Inter:", "Wymiana:", "Växl.:", "Своп.:", "交换：", "스 왑:", "Auslagerung:"];
const COMM: &[&str] = &["Comm:", "Dédié:", "Zajęta:", "Til.:", "Com.:"];
const LOW: &[&str] = &["Low:", "Niedrig:", "Basse:", "Baja:", "Niska:", "Lågt:", "Baixa:", "Нижня:", "低："];
const HIGH: &[&str] = &["High:", "Hoch:", "Haute:", "Alta:", "Wysoka:", "Högt:", "Верхня:", "高："];
const TOTAL: &[&str] = &["Total:", "Gesamt:", "Razem:", "Totalt:", "Загалом:", "总量："];

fn sniff(head: &Head<'_>) -> Sure {
    let lines: Vec<_> = head.lines().take(60).collect();
    let pair = |w: &[&str]| {
        let Some((label, rest)) = labelled(w[1]) else { return false };
        let figures = rest.split_ascii_whitespace().take(3).filter(|f| f.starts_with(|c: char| c.is_ascii_digit()));
        MEM.contains(&label) && columns(w[0]).is_some() && figures.count() == 3
    };
    let narrow = |line: &str| line.starts_with("SwapUse ") && line.contains(" MemFree ");
    if lines.windows(2).any(pair) || lines.iter().any(|l| narrow(l)) { Sure::Certain } else { Sure::No }
}

/// A column under the header.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    Total,
    Used,
    Free,
    Shared,
    Buffers,
    Cache,
    Both,
    Available,
}

/// The columns of a header line, in any language: their order is the same everywhere.
fn columns(line: &str) -> Option<Vec<Column>> {
    use Column::{Available, Both, Buffers, Cache, Free, Shared, Total, Used};
    let line = crate::stamp(line).map_or(line, |s| s.rest);
    let names: Vec<_> = line.split_ascii_whitespace().collect();
    let plain = names.iter().all(|n| !n.ends_with(':') && !n.starts_with(|c: char| c.is_ascii_digit()));
    if !plain || !(3..=7).contains(&names.len()) {
        return None;
    }
    let all = match (names.len(), names.iter().position(|n| n.contains('/'))) {
        (6, Some(4)) => vec![Total, Used, Free, Shared, Both, Available],
        (5, Some(4)) => vec![Total, Used, Free, Shared, Both],
        (7, None) => vec![Total, Used, Free, Shared, Buffers, Cache, Available],
        (3..=6, None) => [Total, Used, Free, Shared, Buffers, Cache][..names.len()].to_vec(),
        _ => return None,
    };
    Some(all)
}

/// The label of a line and what follows it.
fn labelled(line: &str) -> Option<(&str, &str)> {
    let line = crate::stamp(line).map_or(line, |s| s.rest);
    let end = line.find([':', '：'])?;
    let end = end + line[end..].chars().next().map_or(1, char::len_utf8);
    Some((&line[..end], &line[end..]))
}

/// One output of the tool, until the next one begins.
#[derive(Default)]
struct Snapshot {
    columns: Vec<Column>,
    /// Places in the table and their values, in the unit that is printed.
    values: Vec<(Place<mem::Schema, F64>, f64)>,
    /// Names of metrics, their labels and values.
    metrics: Vec<(&'static str, &'static str, f64)>,
    /// Whether a figure had its own unit: all are bytes then.
    human: bool,
    began: bool,
}

struct Reader {
    moments: Moments,
    snapshot: Snapshot,
    /// Bytes in the printed unit, once it is known.
    unit: Option<f64>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader { moments: Moments::new(out), snapshot: Snapshot::default(), unit: None };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.finish(out);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let mut line = line.trim();
        if let Some(stamp) = crate::stamp(line) {
            if stamp.rest.is_empty() || columns(stamp.rest).is_some() || stamp.rest.starts_with(['#', '*', '=']) {
                self.finish(out);
                self.moments.take(line, out);
            }
            line = stamp.rest;
        }
        if line.trim_matches(['#', '*', '=', '-']).is_empty() {
            return;
        }
        if let Some(columns) = columns(line) {
            self.finish(out);
            self.snapshot = Snapshot { columns, began: true, ..Snapshot::default() };
        } else if line.starts_with("SwapUse ") {
            self.finish(out);
            self.snapshot.began = true;
            self.narrow(number, &splitter.blanks(line), out);
        } else if line.starts_with("-/+") {
            // Follows from the line above it.
        } else if let Some((label, rest)) = labelled(line).filter(|_| self.snapshot.began) {
            self.labelled(number, line, label, &splitter.blanks(rest), out);
        } else if is_prompt(line, "free") {
            self.finish(out);
            self.command(line);
        } else {
            out.unknown(number, line, "no line of free");
        }
    }

    /// The options of the command above its output.
    fn command(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace().skip_while(|w| w.rsplit('/').next() != Some("free")).skip(1);
        let mut unit = None;
        while let Some(word) = words.next() {
            let Some(switches) = word.strip_prefix('-').filter(|s| !s.starts_with('-')) else { continue };
            for letter in switches.chars() {
                match letter {
                    'b' => unit = Some(1.0),
                    'k' => unit = Some(1024.0),
                    'm' => unit = Some(1_048_576.0),
                    'g' => unit = Some(1_073_741_824.0),
                    _ => {}
                }
            }
            if let Some(seconds) = switches.split_once('s').map(|(_, s)| s) {
                let seconds = if seconds.is_empty() { words.next().unwrap_or("") } else { seconds };
                number(seconds).inspect(|s| self.moments.set_interval(*s));
            }
        }
        self.unit = unit;
    }

    fn labelled(&mut self, number: u64, line: &str, label: &str, cells: &Fields<'_>, out: &mut Out<'_>) {
        let snapshot = &mut self.snapshot;
        let values: Option<Vec<f64>> = cells.iter().map(|cell| snapshot.value(cell)).collect();
        let Some(values) = values.filter(|v| v.len() >= 3) else {
            out.unknown(number, line, "not the figures of free");
            return;
        };
        let [first, second, third] = [values[0], values[1], values[2]];
        if MEM.contains(&label) {
            if values.len() != snapshot.columns.len() {
                out.unknown(number, line, "another number of figures than columns");
            }
            for (column, value) in snapshot.columns.clone().iter().zip(values) {
                snapshot.set(*column, value);
            }
        } else if SWAP.contains(&label) || label.contains("왑") {
            snapshot.values.extend([(mem::swap_total_bytes, first), (mem::swap_used_bytes, second)]);
            snapshot.values.push((mem::swap_free_bytes, third));
        } else if COMM.contains(&label) {
            snapshot.values.extend([(mem::commit_limit_bytes, first), (mem::committed_bytes, second)]);
        } else if LOW.contains(&label) || HIGH.contains(&label) {
            let zone = if LOW.contains(&label) { "memory=low" } else { "memory=high" };
            for (name, value) in [("free.total", first), ("free.used", second), ("free.free", third)] {
                snapshot.metrics.push((name, zone, value));
            }
        } else if !TOTAL.contains(&label) {
            out.unknown(number, line, "an unknown kind of memory");
        }
    }

    /// `-L` of procps 4: `SwapUse 0 CachUse 3997752  MemUse 1747004 MemFree 19353744`.
    fn narrow(&mut self, number: u64, cells: &Fields<'_>, out: &mut Out<'_>) {
        for i in (0..cells.len()).step_by(2) {
            let Some(value) = self.snapshot.value(cells.get(i + 1)) else {
                out.unknown(number, cells.rest(i), "not the figures of free -L");
                return;
            };
            match cells.get(i) {
                "SwapUse" => self.snapshot.values.push((mem::swap_used_bytes, value)),
                "CachUse" => self.snapshot.metrics.push(("free.buff_cache", "", value)),
                "MemUse" => self.snapshot.values.push((mem::used_bytes, value)),
                "MemFree" => self.snapshot.values.push((mem::free_bytes, value)),
                name => out.unknown(number, name, "an unknown figure of free -L"),
            }
        }
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        let mut snapshot = std::mem::take(&mut self.snapshot);
        if !snapshot.began || snapshot.values.is_empty() {
            return;
        }
        let unit = if snapshot.human { 1.0 } else { self.unit.unwrap_or_else(|| snapshot.unit(out)) };
        let of = |values: &[(Place<mem::Schema, F64>, f64)], place| {
            values.iter().find(|(p, _)| *p == place).map(|(_, v)| *v)
        };
        let (total, available) = (of(&snapshot.values, mem::total_bytes), of(&snapshot.values, mem::available_bytes));
        // A difference of rounded figures would be wrong by more than it is worth.
        let exact = !snapshot.human && unit < 1e9;
        if let (Some(total), Some(available), true) = (total, available, exact) {
            snapshot.values.push((mem::used_bytes, (total - available).max(0.0)));
        }
        let when = self.moments.next(out);
        write(&snapshot, when, unit, out);
    }
}

fn write(snapshot: &Snapshot, (t, dt): (Micros, Option<f64>), unit: f64, out: &mut Out<'_>) {
    let mut row = out.row(&mem::TABLE, t, dt);
    for (place, value) in &snapshot.values {
        row.f64(*place, value * unit);
    }
    for (name, labels, value) in &snapshot.metrics {
        out.metric(t, dt, name, labels, value * unit, "B");
    }
}

impl Snapshot {
    /// A figure, plain or with a unit (`23Gi`, `1.7G`, `0B`).
    fn value(&mut self, cell: &str) -> Option<f64> {
        if let Some(value) = number(cell) {
            return Some(value);
        }
        self.human = true;
        // Up to procps 3.3.14 `G` meant GiB.
        scaled(cell, 1024.0)
    }

    fn set(&mut self, column: Column, value: f64) {
        let place = match column {
            Column::Total => mem::total_bytes,
            Column::Free => mem::free_bytes,
            Column::Shared => mem::shmem_bytes,
            Column::Buffers => mem::buffers_bytes,
            Column::Cache => mem::cached_bytes,
            Column::Available => mem::available_bytes,
            // Follows from the others, in each version in another way.
            Column::Used => return,
            Column::Both => {
                self.metrics.push(("free.buff_cache", "", value));
                return;
            }
        };
        self.values.push((place, value));
    }

    /// Bytes in the unit, from what the figures are multiples of.
    fn unit(&self, out: &mut Out<'_>) -> f64 {
        let all = || self.values.iter().map(|(_, v)| *v);
        let largest = all().fold(0.0, f64::max);
        if largest >= 33_554_432.0 && all().all(|v| v % 1024.0 == 0.0) {
            return 1.0;
        }
        // From 1 PiB as MiB on it is KiB whatever it is a multiple of.
        if all().all(|v| v % 4.0 == 0.0) && largest >= 4096.0 || largest >= 1_073_741_824.0 {
            return 1024.0;
        }
        let (unit, name) = if largest < 200.0 { (1_073_741_824.0, "GiB (-g)") } else { (1_048_576.0, "MiB (-m)") };
        if (32.0..1100.0).contains(&largest) {
            out.assume(&format!("the figures are {name}, as the unit is not printed"));
        }
        unit
    }
}
