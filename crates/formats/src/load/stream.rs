//! STREAM: memory bandwidth of four kernels.
//!
//! The best rate counts the bytes that the kernel names (two or three arrays): caches that allocate on write move more. MB/s are
//! millions of bytes. Times are of one pass over the arrays, without the first.

use super::{
    names::{self, Results},
    repeats::Repeats,
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "stream",
    summary: "STREAM (memory bandwidth): Copy, Scale, Add, Triad",
    family: Family::Load,
    tables: &[],
    example: "\
STREAM version $Revision: 5.10 $
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:            4415.6     0.009336     0.007247     0.012001
",
    sniff,
    read,
};

fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    matches!(
        words[..],
        ["Function", "Best", "Rate", "MB/s", "Avg", "time", "Min", "time", "Max", "time"]
            | ["Function", "Rate", "(MB/s)", "Avg", "time", "Min", "time", "Max", "time"]
            | ["Function", "Rate", "(MB/s)", "RMS", "time", "Min", "time", "Max", "time"]
    )
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(is_header))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut repeats = Repeats::default();
    let mut table = false;
    input.each_line(|number_, text| {
        let line = text.trim();
        if is_header(line) {
            table = true;
        } else if line.starts_with("----") {
            // A row of dashes ends the table.
        } else if let (true, Some((kernel, figures))) = (table, line.split_once(':')) {
            if let Some(found) = row(figures) {
                write(kernel, found, &mut repeats.next(kernel), out);
                return;
            }
            table = false;
            known(number_, line, out);
        } else {
            table = false;
            known(number_, line, out);
        }
    });
}

fn row(figures: &str) -> Option<[f64; 4]> {
    let words: Vec<f64> = figures.split_ascii_whitespace().filter_map(number).collect();
    words.try_into().ok()
}

fn write(kernel: &str, [rate, mean, min, max]: [f64; 4], results: &mut Results, out: &mut Out<'_>) {
    results.of(out, names::TRANSFER_BYTES_PER_S, kernel, rate * 1e6);
    results.of(out, names::ELAPSED_MEAN, kernel, mean);
    results.of(out, names::ELAPSED_MIN, kernel, min);
    results.of(out, names::ELAPSED_MAX, kernel, max);
}

/// Facts about the run; the rest is advice.
fn known(number: u64, line: &str, out: &mut Out<'_>) {
    let facts = [
        ("STREAM version ", "stream version"),
        ("Array size = ", "stream array size"),
        ("Number of Threads counted = ", "stream threads"),
        ("Each kernel will be executed ", "stream passes"),
    ];
    if let Some((begin, name)) = facts.iter().find(|(begin, _)| line.starts_with(begin)) {
        out.fact("load", name, line.trim_start_matches(begin).trim_matches(['$', ' ', '.']));
    } else if line.starts_with("Failed Validation") {
        out.note(number, "the results of the kernels are wrong: Failed Validation");
    }
}
