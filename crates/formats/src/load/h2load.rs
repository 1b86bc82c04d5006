//! `h2load` of nghttp2: the report.

use super::{
    names::{self, Results},
    units::milliseconds,
};
use crate::{Family, Format, Head, Input, Out, Sure, number, scaled};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "h2load",
    summary: "h2load of nghttp2: report",
    family: Family::Load,
    tables: &[],
    example: "\
finished in 220.49ms, 907.07 req/s, 121.43KB/s
requests: 200 total, 200 started, 200 done, 200 succeeded, 0 failed, 0 errored, 0 timeout
                     min         max         mean         sd        +/- sd
time for request:      354us      9.19ms      1.99ms      1.54ms    85.00%
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let requests =
        |line: &str| line.starts_with("requests: ") && line.contains(" started, ") && line.contains(" timeout");
    Sure::Certain.when(head.any(requests) || head.any(|line| line.starts_with("time for request:")))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut runs = 0u32;
    let mut results = Results::default();
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text().trim());
        if line.starts_with("starting benchmark...") || runs == 0 && line.starts_with("finished in ") {
            runs = runs.saturating_add(1);
            results = Results::nth(runs);
        }
        if !line.is_empty() && !report(line, &mut results, out) && !KNOWN.iter().any(|known| line.starts_with(known)) {
            out.unknown(at, line, "no line of h2load");
        }
    }
}

fn report(line: &str, results: &mut Results, out: &mut Out<'_>) -> bool {
    let Some((key, rest)) = line.split_once([':', ' ']) else { return false };
    match key {
        "finished" => {
            let mut parts = rest.trim_start_matches("in ").split(", ");
            let mut next = || parts.next().unwrap_or("");
            results.set(out, names::ELAPSED, milliseconds(next()).map(|ms| ms / 1e3));
            results.set(out, names::THROUGHPUT, number(next().trim_end_matches(" req/s")));
            results.set(out, names::TRANSFER_BYTES_PER_S, scaled(next().trim_end_matches("/s"), 1024.0));
        }
        "requests" => {
            let mut failed = 0.0;
            for (count, what) in counts(rest) {
                match what {
                    "succeeded" => results.set(out, names::TRANSACTIONS, count),
                    // Errored ones are among those that failed.
                    "failed" => failed += count,
                    _ => {}
                }
            }
            results.set(out, names::ERRORS, failed);
        }
        "traffic" => {
            let bytes = rest.split_once('(').and_then(|(_, bytes)| number(bytes.split_once(')')?.0));
            results.set(out, names::TRANSFER_BYTES, bytes);
        }
        "status" => {
            for (count, what) in counts(rest.trim_start_matches("codes: ")) {
                results.other(out, &format!("status_{what}"), count, "");
            }
        }
        "spawning" => {
            let clients = rest.split_once(": ").and_then(|(_, rest)| number(rest.split(' ').next()?));
            results.set(out, names::CLIENTS, clients);
        }
        _ => return spread(line, results, out),
    }
    true
}

/// `200 total, 200 started`
fn counts(text: &str) -> impl Iterator<Item = (f64, &str)> {
    text.trim().split(", ").filter_map(|part| {
        let (count, what) = part.split_once(' ')?;
        Some((number(count)?, what))
    })
}

/// `time for request:      354us      9.19ms      1.99ms      1.54ms    85.00%`
fn spread(line: &str, results: &mut Results, out: &mut Out<'_>) -> bool {
    let Some((what, figures)) = line.split_once(':') else { return false };
    let operation = match what.trim() {
        "time for request" => "",
        "time for connect" => "connect",
        "time to 1st byte" => "first_byte",
        // By client; all together stand in the first line.
        "req/s" => return true,
        _ => return false,
    };
    let order = [names::LATENCY_MIN, names::LATENCY_MAX, names::LATENCY_MEAN, names::LATENCY_SD];
    for (name, figure) in order.into_iter().zip(figures.split_ascii_whitespace()) {
        results.of(out, name, operation, milliseconds(figure));
    }
    true
}

/// Beginnings of lines around the report.
const KNOWN: &[&str] = &[
    "starting benchmark",
    "progress: ",
    "Application protocol",
    "TLS Protocol",
    "Cipher",
    "Server Temp Key",
    "UDP datagram",
    "min ",
    "Warm-up",
    "Main benchmark",
    "Stopped all clients",
];
