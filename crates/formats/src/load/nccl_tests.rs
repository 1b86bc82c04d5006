//! nccl-tests (and rccl-tests): `all_reduce_perf` and its kin.
//!
//! `algbw` is size by time, `busbw` what that means for the links: it can be compared with their bandwidth whatever the operation and
//! the number of ranks. Both are 10^9 bytes per second. A line has the figures of separate buffers, then those in place.

use super::names::{self, Results};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "nccl-tests",
    summary: "nccl-tests, rccl-tests: all_reduce_perf and the like",
    family: Family::Load,
    tables: &[],
    example: "\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    51.98   20.17   35.30      0    51.79   20.25   35.44      0
",
    sniff,
    read,
};

fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.trim_start_matches('#').split_ascii_whitespace().collect();
    line.starts_with('#')
        && words.starts_with(&["size", "count", "type"])
        && words.contains(&"algbw")
        && words.contains(&"busbw")
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(is_header))
}

#[derive(Default)]
struct Reader {
    columns: Vec<String>,
    microseconds: bool,
    test: String,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    input.each_line(|line, text| {
        let text = text.trim();
        if !text.is_empty() && !reader.line(text, out) {
            out.unknown(line, text, "no line of nccl-tests");
        }
    });
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some(rest) = line.strip_prefix('#') else { return self.row(line, out) };
        let rest = rest.trim();
        if is_header(line) {
            self.columns = rest.split_ascii_whitespace().map(str::to_owned).collect();
        } else if rest.starts_with("(B)") {
            self.microseconds = rest.contains("(us)");
        } else if let Some(test) = rest.strip_prefix("Collective test starting: ") {
            test.rsplit('/').next().unwrap_or(test).clone_into(&mut self.test);
        } else if let Some((name, value)) = rest.split_once(" : ") {
            let mut results = Results::default();
            let value = value.split(' ').next().and_then(number);
            match name.trim() {
                "Avg bus bandwidth" => {
                    results.named(out, "bus_bytes_per_s_mean", "", value.map(|gb| gb * 1e9), "B/s", "higher");
                }
                "Out of bounds values" => results.set(out, names::ERRORS, value),
                _ => {}
            }
        } else if let Some(rank) = rest.strip_prefix("Rank ") {
            let (number, device) = rank.trim_start().split_once(' ').unwrap_or((rank, ""));
            // Processes have other numbers in each run.
            let device = device.split_once(" device ").map_or(device, |(_, device)| device);
            out.fact("load", &format!("nccl-tests rank {number}"), device.trim());
        } else if let Some((_, version)) = rest.split_once("nccl-tests version ") {
            out.fact("load", "nccl-tests version", version);
        }
        true
    }

    /// A size and its figures.
    fn row(&self, line: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        // Some operations have no reduction or no root, whose columns are empty.
        let figures = self.columns.iter().position(|c| c == "time").map(|at| self.columns.len() - at);
        let Some(at) = figures.and_then(|n| words.len().checked_sub(n)) else { return line.contains("NCCL") };
        let size = words.first().and_then(|w| number(w));
        let (Some(size), Some(kind), true) = (size, words.get(2), self.microseconds && at >= 3) else { return false };
        let operation = format!("{} {size} B {kind}", self.test);
        let columns = self.columns.iter().skip_while(|c| *c != "time");
        let mut seen = 0;
        for (column, cell) in columns.zip(words.iter().skip(at)) {
            seen += u32::from(column == "time");
            let operation = if seen > 1 { format!("{operation} in-place") } else { operation.clone() };
            let value = number(cell);
            if value.is_none() && *cell != "N/A" {
                return false;
            }
            write(column, value, operation.trim(), out);
        }
        true
    }
}

fn write(column: &str, value: Option<f64>, operation: &str, out: &mut Out<'_>) {
    let mut results = Results::default();
    match column {
        "time" => results.of(out, names::TIME_PER_OP, operation, value.map(|us| us / 1e6)),
        "algbw" => results.named(out, "algorithm_bytes_per_s", operation, value.map(|gb| gb * 1e9), "B/s", "higher"),
        "busbw" => results.named(out, "bus_bytes_per_s", operation, value.map(|gb| gb * 1e9), "B/s", "higher"),
        "#wrong" | "error" => results.of(out, names::ERRORS, operation, value),
        _ => results.named(out, &format!("nccl-tests.{column}"), operation, value, "", "neither"),
    }
}
