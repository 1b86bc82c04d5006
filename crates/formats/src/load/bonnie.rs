//! `bonnie++`: the table and the line of CSV that it prints; both are of the same run. Only the CSV is read where it is there.

use super::names::{self, Results};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "bonnie",
    summary: "bonnie++ 1.9x and 2: its line of CSV",
    family: Family::Load,
    tables: &[],
    example: "\
1.98,2.00a,db1,1,1795609193,64M,,8192,5,532,55,+++++,+++,+++++,+++,778,47,+++++,+++,+++++,+++,1,,,,,523,1,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,67710us,8048us,7755us,49233us,4048us,68114us,20067us,92us,20419us,12073us,20us,4050us
",
    sniff,
    read,
};

/// Cells of a line of the formats 1.96 to 1.98.
const CELLS: [usize; 3] = [48, 49, 50];

/// The cells of a line of CSV, if it is one.
fn cells(line: &str) -> Option<Vec<&str>> {
    let cells: Vec<&str> = line.split(',').collect();
    let own = matches!(cells.first(), Some(&("1.96" | "1.97" | "1.98")))
        && CELLS.contains(&cells.len())
        && cells.iter().rev().take(12).all(|cell| cell.is_empty() || cell.ends_with('s'));
    own.then_some(cells)
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| cells(line).is_some()))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut runs = 0u32;
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text().trim());
        if let Some(cells) = cells(line) {
            runs = runs.saturating_add(1);
            row(&cells, &mut Results::nth(runs), out);
        } else if !line.is_empty() && !KNOWN.iter().any(|known| line.contains(known)) {
            out.unknown(at, line, "no line of CSV of bonnie++ (its table is in the CSV as well)");
        }
    }
}

/// Rates of data in KiB/s, then of seeks; after five cells of files, rates of files. Each is followed by its share of CPU. `+++++`
/// is too fast to be measured. Latencies are the last twelve cells.
fn row(cells: &[&str], results: &mut Results, out: &mut Out<'_>) {
    let end = cells.len() - LATENCIES.len();
    // Format 1.96 has neither seeds of chunks, so that rates begin earlier.
    let data = end - 12 - 5 - 12;
    out.set_host(cells[2]);
    results.set(out, names::CLIENTS, number(cells[3]));
    let rates = RATES.iter().take(6).zip((data..).step_by(2)).chain(RATES.iter().skip(6).zip((data + 17..).step_by(2)));
    for ((name, is_data), at) in rates {
        let value = cells.get(at).copied().and_then(number);
        if *is_data {
            results.of(out, names::TRANSFER_BYTES_PER_S, name, value.map(|kib| kib * 1024.0));
        } else {
            results.of(out, names::THROUGHPUT, name, value);
        }
        let share = cells.get(at + 1).copied().and_then(number);
        results.of(out, names::CPU_LOCAL, name, share);
    }
    for (name, cell) in LATENCIES.iter().zip(&cells[end..]) {
        results.of(out, names::LATENCY_MAX, name, super::units::milliseconds(cell));
    }
}

/// What is measured, and whether it is data and not operations.
const RATES: [(&str, bool); 12] = [
    ("write_chars", true),
    ("write_blocks", true),
    ("rewrite", true),
    ("read_chars", true),
    ("read_blocks", true),
    ("seeks", false),
    ("create", false),
    ("stat", false),
    ("delete", false),
    ("random_create", false),
    ("random_stat", false),
    ("random_delete", false),
];

const LATENCIES: [&str; 12] = [
    "write_chars",
    "write_blocks",
    "rewrite",
    "read_chars",
    "read_blocks",
    "seeks",
    "create",
    "stat",
    "delete",
    "random_create",
    "random_stat",
    "random_delete",
];

/// Parts of lines that say what is being done, and of the table.
const KNOWN: &[&str] = &[
    "...done",
    "..done",
    "done",
    "Writing",
    "Reading",
    "Rewriting",
    "start '",
    "Create files",
    "Stat files",
    "Delete files",
    "format_version",
];
