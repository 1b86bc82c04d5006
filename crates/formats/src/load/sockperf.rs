//! `sockperf`: the statistics of ping-pong, under-load and throughput. Latencies are one way, as it prints them: half of a
//! round trip.

use super::names::{self, Results};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "sockperf",
    summary: "sockperf ping-pong, under-load, throughput: report",
    family: Family::Load,
    tables: &[],
    example: "\
sockperf: [Valid Duration] RunTime=1.550 sec; SentMessages=61371; ReceivedMessages=61371
sockperf: Summary: Latency is 12.601 usec
sockperf: ---> percentile 50.000 =    8.841
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| {
        line.strip_prefix("sockperf: ").is_some_and(|rest| {
            rest.starts_with("== version #") || rest.starts_with("[Total Run] ") || rest.starts_with("Summary: ")
        })
    };
    Sure::Certain.when(head.any(own))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut runs = 0u32;
    let mut results = Results::default();
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text().trim());
        let Some(rest) = line.strip_prefix("sockperf: ") else {
            // What it prints before it begins: addresses.
            if !line.is_empty() && !line.starts_with("sockperf[") && !line.starts_with('[') {
                out.unknown(at, line, "no line of sockperf");
            }
            continue;
        };
        if rest.starts_with("[Total Run] ") || runs == 0 && rest.starts_with("[Valid Duration] ") {
            runs = runs.saturating_add(1);
            results = Results::nth(runs);
        }
        if !report(rest, &mut results, out) {
            out.unknown(at, line, "no line of sockperf");
        }
    }
}

fn report(line: &str, results: &mut Results, out: &mut Out<'_>) -> bool {
    let after =
        |key: &str| line.split_once(key).and_then(|(_, rest)| number(rest.trim_start().split([' ', ';', ')']).next()?));
    if line.starts_with("[Valid Duration] ") {
        let (seconds, sent, received) = (after("RunTime="), after("SentMessages="), after("ReceivedMessages="));
        results.set(out, names::ELAPSED, seconds);
        results.set(out, names::REQUESTS, sent);
        results.set(out, names::TRANSACTIONS, received);
    } else if line.contains("avg-latency=") {
        results.set(out, names::LATENCY_MEAN, after("avg-latency=").map(ms));
        results.set(out, names::LATENCY_SD, after("std-dev=").map(ms));
    } else if line.starts_with("# dropped messages = ") {
        results.set(out, names::ERRORS, after("# dropped messages = "));
    } else if let Some(rest) = line.strip_prefix("---> ") {
        let value = rest.rsplit_once('=').and_then(|(_, value)| number(value.trim())).map(ms);
        if rest.starts_with("<MAX>") {
            results.set(out, names::LATENCY_MAX, value);
        } else if rest.starts_with("<MIN>") {
            results.set(out, names::LATENCY_MIN, value);
        } else if let Some(percent) = rest.strip_prefix("percentile ").and_then(|rest| number(rest.split(' ').next()?))
        {
            results.percentile(out, percent, "", value);
        } else {
            return false;
        }
    } else if line.starts_with("Summary: Message Rate is ") {
        results.set(out, names::THROUGHPUT, after("Message Rate is "));
    } else if line.starts_with("Summary: BandWidth is ") {
        results.set(out, names::TRANSFER_BYTES_PER_S, after("BandWidth is ").map(|mb| mb * 1_048_576.0));
    } else {
        return KNOWN.iter().any(|known| line.contains(known));
    }
    true
}

/// Milliseconds of microseconds.
fn ms(us: f64) -> f64 {
    us / 1e3
}

/// Parts of lines that say what is being done, or repeat a figure.
const KNOWN: &[&str] = &[
    "== version #",
    "[Total Run] ",
    "Warmup stage",
    "Starting test",
    "Test end",
    "Printing statistics",
    "Summary: Latency is ",
    " observations",
    "using ",
    "NOTE: ",
    "Summary: ",
];
