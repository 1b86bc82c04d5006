//! `nvidia-smi`: `dmon` and `pmon`, and the CSV of `--query-gpu` and `--query-compute-apps`.
//!
//! Figures that the tables `gpu` and `gpu_process` have a column for go there, and the others are metrics of one GPU, named as the column
//! is, with the unit that the titles give: megabytes (which are of 1,048,576 bytes) become bytes and megahertz hertz.

mod monitor;
mod query;
mod sample;
mod target;

use fenxi_model::catalog::{gpu, gpu_process, metric};
use target::Target;

use crate::{Family, Format, Head, Input, Out, Splitter, Sure, number};

/// Importer for nvidia-smi dmon, pmon, --query-gpu and --query-compute-apps as CSV.
pub static FORMAT: Format = Format {
    name: "nvidia-smi",
    summary: "nvidia-smi dmon, pmon, --query-gpu and --query-compute-apps as CSV",
    family: Family::Linux,
    tables: &[&gpu::TABLE, &gpu_process::TABLE, &metric::TABLE],
    example: "\
# gpu   pwr gtemp mtemp    sm   mem   enc   dec  mclk  pclk
# Idx     W     C     C     %     %     %     %   MHz   MHz
    0    70    48     -     5     1     0     0  7000  1350
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| monitor::is_titles(line) || query::is_titles(line)))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let mut monitor = monitor::Monitor::new(&head, out);
    let mut query = query::Query::new(&head, out);
    drop(head);
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text());
        if line.trim().is_empty() {
            continue;
        }
        if query::is_titles(line) {
            query.titles(line);
        } else if line.trim_start().starts_with('#') {
            monitor.titles(line);
        } else if query.begun() {
            query.values(number, line, &mut splitter, out);
        } else {
            monitor.values(number, line, &mut splitter, out);
        }
    }
}

/// The factor by which figures in `unit` are in a base unit, and that unit.
pub(super) fn base_unit(unit: &str) -> (f64, &str) {
    match unit {
        "MiB" | "MB" => (1_048_576.0, "B"),
        "MB/s" => (1_048_576.0, "B/s"),
        "KB/s" => (1024.0, "B/s"),
        "MHz" => (1e6, "Hz"),
        "C" => (1.0, "°C"),
        "bool" | "#" | "name" | "C/G" => (1.0, ""),
        unit => (1.0, unit),
    }
}

/// Whether a cell marks a missing figure.
pub(super) fn missing(cell: &str) -> bool {
    let bare = cell.trim_matches(['[', ']']);
    matches!(
        bare,
        "" | "-"
            | "N/A"
            | "Not Supported"
            | "Unknown Error"
            | "Not Found"
            | "GPU requires reset"
            | "Insufficient Permissions"
    )
}

/// The figure in a cell: `45`, `45 %`, `0x0000000000000004`, `P8`, `Active`.
pub(super) fn figure(cell: &str) -> Option<f64> {
    let first = cell.split(' ').next().unwrap_or("");
    if let Some(value) = number(first) {
        return Some(value);
    }
    if let Some(hex) = cell.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(|bits| bits as f64);
    }
    match cell {
        "Active" => Some(1.0),
        "Not Active" => Some(0.0),
        _ => cell.strip_prefix('P').filter(|n| n.len() <= 2).and_then(number),
    }
}
