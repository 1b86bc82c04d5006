//! `siege`: the report, as text of every version and as the JSON of 4.1 and of `--json-output`.
//!
//! Megabytes are 2^20 bytes. A transaction is one that succeeded.

use super::names::{self, Name, Results};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "siege",
    summary: "siege: report as text and as JSON",
    family: Family::Load,
    tables: &[],
    example: "\
Transactions:\t\t        1147 hits
Availability:\t\t       99.05 %
Elapsed time:\t\t        1.66 secs
Transaction rate:\t      690.96 trans/sec
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    if !head.text.contains("vailability") {
        return Sure::No;
    }
    let has = |name: &str| head.any(|l| pair(l).is_some_and(|(key, _)| key == name));
    Sure::Certain.when(has("transactions") && has("availability") && has("transaction rate"))
}

/// `Elapsed time: 1.66 secs` and `"elapsed_time": 1.66,`: the name in one form, and the number.
fn pair(line: &str) -> Option<(String, f64)> {
    let (key, value) = line.trim_start_matches(['{', ' ', '\t']).split_once(':')?;
    let key = key.trim_matches('"').replace('_', " ").to_ascii_lowercase();
    let value = value.trim().trim_end_matches(',').split(' ').next().and_then(number)?;
    Some((key, value))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut runs = 0u32;
    let mut results = Results::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text().trim());
        let Some((key, value)) = pair(line) else {
            if !line.is_empty() && !KNOWN.iter().any(|known| line.contains(known)) {
                out.unknown(number, line, "no line of siege");
            }
            continue;
        };
        if key == "transactions" {
            runs = runs.saturating_add(1);
            results = Results::nth(runs);
        }
        match key.as_str() {
            "availability" => results.set(out, names::ERROR_SHARE, 100.0 - value),
            "successful transactions" => {}
            _ => match NUMBERS.iter().find(|(k, ..)| *k == key) {
                Some((_, name, scale)) => results.set(out, *name, value * scale),
                None => out.unknown(number, line, "no number of siege"),
            },
        }
    }
}

const MEBI: f64 = 1_048_576.0;

const NUMBERS: &[(&str, Name, f64)] = &[
    ("transactions", names::TRANSACTIONS, 1.0),
    ("elapsed time", names::ELAPSED, 1.0),
    ("data transferred", names::TRANSFER_BYTES, MEBI),
    ("response time", names::LATENCY_MEAN, 1e3),
    ("transaction rate", names::THROUGHPUT, 1.0),
    ("throughput", names::TRANSFER_BYTES_PER_S, MEBI),
    ("concurrency", names::CONCURRENCY, 1.0),
    ("failed transactions", names::ERRORS, 1.0),
    ("longest transaction", names::LATENCY_MAX, 1e3),
    ("shortest transaction", names::LATENCY_MIN, 1e3),
];

/// Parts of lines around the report.
const KNOWN: &[&str] = &[
    "{",
    "}",
    "Lifting the server siege",
    "The server is now under siege",
    "** ",
    "New configuration template",
    "Run siege -C",
    "HTTP/",
    "done.",
    "[alert]",
    "[error]",
    "LOG FILE",
    "You can disable",
];
