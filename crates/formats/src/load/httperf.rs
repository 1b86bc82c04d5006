//! `httperf`: the report.

use super::names::{self, Name, Results};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "httperf",
    summary: "httperf: report",
    family: Family::Load,
    tables: &[],
    example: "\
Total: connections 50 requests 50 replies 50 test-duration 0.083 s

Request rate: 603.5 req/s (1.7 ms/req)
Reply time [ms]: response 1.4 transfer 0.0
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| line.starts_with("Total: connections ") && line.contains(" test-duration ")))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut runs = 0u32;
    let mut results = Results::default();
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text().trim());
        if line.starts_with("Total: connections ") {
            runs = runs.saturating_add(1);
            results = Results::nth(runs);
        }
        let known = line.is_empty()
            || line.starts_with("httperf")
            || line.starts_with("Maximum connect burst length")
            || line.split_once(": ").is_some_and(|(key, rest)| report(key, rest, &mut results, out));
        if !known {
            out.unknown(at, line, "no line of httperf");
        }
    }
}

/// `Connection time [ms]`, `min 0.6 avg 1.7 max 8.8`: the figures of a line are each behind their name.
fn report(key: &str, rest: &str, results: &mut Results, out: &mut Out<'_>) -> bool {
    let Some((_, figures)) = LINES.iter().find(|(line, _)| *line == key) else { return IGNORED.contains(&key) };
    let words: Vec<&str> = rest.split_ascii_whitespace().map(|word| word.trim_matches(['(', ')', ','])).collect();
    for (before, name, operation) in *figures {
        // Without a name in front of it, the first one.
        let at = if before.is_empty() { Some(0) } else { words.iter().position(|w| w == before).map(|at| at + 1) };
        // `5xx=0` has its figure behind a sign.
        let joined = words.iter().find_map(|word| word.strip_prefix(before)?.strip_prefix('='));
        let value =
            at.and_then(|at| words.get(at)).copied().or(joined).and_then(|word| number(word.trim_end_matches('%')));
        results.of(out, *name, operation, value.map(|v| v * name_scale(key)));
    }
    true
}

/// `Net I/O` is in units of 1024 bytes.
fn name_scale(key: &str) -> f64 {
    if key == "Net I/O" { 1024.0 } else { 1.0 }
}

/// Lines whose figures follow from those of others.
const IGNORED: &[&str] = &["Connection length [replies/conn]", "Request size [B]", "Reply rate [replies/s]"];

/// What stands before a figure, and what the figure is.
type Figures = &'static [(&'static str, Name, &'static str)];

const LINES: &[(&str, Figures)] = &[
    (
        "Total",
        &[
            ("requests", names::REQUESTS, ""),
            ("replies", names::TRANSACTIONS, ""),
            ("test-duration", names::ELAPSED, ""),
        ],
    ),
    ("Connection rate", &[("", names::neither("connections_per_s", "/s"), "")]),
    (
        "Connection time [ms]",
        &[
            ("min", names::LATENCY_MIN, "connection"),
            ("avg", names::LATENCY_MEAN, "connection"),
            ("max", names::LATENCY_MAX, "connection"),
            ("median", names::lower("latency_p50", "ms"), "connection"),
            ("stddev", names::LATENCY_SD, "connection"),
            ("connect", names::CONNECT_MEAN, ""),
        ],
    ),
    ("Request rate", &[("", names::THROUGHPUT, "")]),
    ("Reply time [ms]", &[("response", names::LATENCY_MEAN, ""), ("transfer", names::LATENCY_MEAN, "transfer")]),
    ("Reply size [B]", &[("content", names::neither("reply_bytes_mean", "B"), "")]),
    ("Reply status", &[("4xx", names::lower("status_4xx", ""), ""), ("5xx", names::lower("status_5xx", ""), "")]),
    ("CPU time [s]", &[("user", names::USER_MEAN, ""), ("system", names::SYSTEM_MEAN, "")]),
    ("Net I/O", &[("", names::TRANSFER_BYTES_PER_S, "")]),
    ("Errors", &[("total", names::ERRORS, "")]),
];
