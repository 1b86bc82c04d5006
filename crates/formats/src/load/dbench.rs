//! `dbench` and `tbench`: throughput, and latency by operation.

use fenxi_model::catalog::load;

use super::names::{self, Results};
use crate::{Family, Format, Head, Input, Out, Relative, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "dbench",
    summary: "dbench and tbench: seconds and report",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: "\
dbench version 4.00 - Copyright Andrew Tridgell 1999-2004
   2      6001    98.16 MB/sec  execute   1 sec  latency 534.093 ms

Throughput 106.093 MB/sec  2 clients  2 procs  max_latency=534.093 ms
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| {
        line.starts_with("dbench version ")
            || line.starts_with("tbench version ")
            || line.starts_with("Throughput ") && line.contains(" procs ") && line.contains("max_latency=")
    };
    Sure::Certain.when(head.any(own))
}

/// dbench's `MB` are 2^20 bytes.
const MIB: f64 = 1_048_576.0;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut results = Results::default();
    let (mut runs, mut table, mut clock) = (1u32, false, None::<Relative>);
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text().trim());
        if line.contains("bench version ") && clock.is_some() {
            runs = runs.saturating_add(1);
            results = Results::nth(runs);
            (table, clock) = (false, None);
        }
        if line.starts_with("Throughput ") {
            total(line, &mut results, out);
        } else if line.starts_with("Operation ") {
            table = true;
        } else if let Some(second) = second(line) {
            let clock = clock.get_or_insert_with(|| Relative::elapsed(out));
            let [clients, rate, seconds, latency] = second;
            let mut row = out.row(&load::TABLE, clock.after(seconds), None);
            row.f64(load::clients, clients)
                .f64(load::transfer_bytes_per_s, rate * MIB)
                .f64(load::latency_max_ms, latency);
        } else {
            let known = line.is_empty() || table && operation(line, &mut results, out);
            if !known && !KNOWN.iter().any(|known| line.contains(known)) {
                out.unknown(at, line, "no line of dbench");
            }
        }
    }
}

/// `2      6001    98.16 MB/sec  execute   1 sec  latency 534.093 ms`: clients, MB/s so far, second, latency.
fn second(line: &str) -> Option<[f64; 4]> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [clients, _, rate, "MB/sec", "execute", seconds, "sec", "latency", latency, "ms"] = words[..] else {
        return None;
    };
    Some([number(clients)?, number(rate)?, number(seconds)?, number(latency)?])
}

/// `NTCreateX      11226     0.024    35.755`
fn operation(line: &str, results: &mut Results, out: &mut Out<'_>) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [name, count, mean, max] = words[..] else { return false };
    let (Some(count), Some(mean), Some(max)) = (number(count), number(mean), number(max)) else { return false };
    results.of(out, names::TRANSACTIONS, name, count);
    results.of(out, names::LATENCY_MEAN, name, mean);
    results.of(out, names::LATENCY_MAX, name, max);
    true
}

/// `Throughput 106.093 MB/sec  2 clients  2 procs  max_latency=534.093 ms`
fn total(line: &str, results: &mut Results, out: &mut Out<'_>) {
    let mut last = "";
    for word in line.split_ascii_whitespace() {
        match word {
            "MB/sec" => results.set(out, names::TRANSFER_BYTES_PER_S, number(last).map(|v| v * MIB)),
            "clients" => results.set(out, names::CLIENTS, number(last)),
            _ => {
                if let Some(latency) = word.strip_prefix("max_latency=") {
                    results.set(out, names::LATENCY_MAX, number(latency));
                }
            }
        }
        last = word;
    }
}

/// Parts of lines that say what is being done.
const KNOWN: &[&str] = &[
    "bench version ",
    "Running for ",
    "barrier semaphore",
    "processes prepared for launch",
    "releasing clients",
    " cleanup ",
    " warmup ",
    "--------",
];
