//! `ab`, ApacheBench: the report. Its percentiles are whole milliseconds.

use super::names::{self, Name, Results};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "ab",
    summary: "ab (ApacheBench): report",
    family: Family::Load,
    tables: &[],
    example: "\
This is ApacheBench, Version 2.3 <$Revision$>
Concurrency Level:      8
Complete requests:      500
Requests per second:    1144.77 [#/sec] (mean)
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| line.starts_with("This is ApacheBench") || line.starts_with("Time taken for tests:");
    Sure::Certain.when(head.any(own))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut runs = 1;
    let mut results = Results::default();
    let mut complete = false;
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text().trim());
        // Several runs in one file.
        if complete && (line.starts_with("This is ApacheBench") || line.starts_with("Server Software:")) {
            runs += 1;
            (results, complete) = (Results::nth(runs), false);
        }
        complete |= line.starts_with("Requests per second:");
        if !line.is_empty() && !report(line, &mut results, out) {
            out.unknown(number, line, "no line of ab");
        }
    }
}

fn report(line: &str, results: &mut Results, out: &mut Out<'_>) -> bool {
    if let Some((key, value)) = line.split_once(':') {
        let first = value.split_ascii_whitespace().next().and_then(number);
        if let Some((_, name, scale)) = NUMBERS.iter().find(|(k, ..)| *k == key) {
            results.set(out, *name, first.map(|v| v * scale));
            return first.is_some();
        }
        match key {
            // The second line of that name is the same over all clients.
            "Time per request" if !value.contains("across all") => results.set(out, names::LATENCY_MEAN, first),
            "Non-2xx responses" => results.other(out, "non_2xx_responses", first, ""),
            "Server Software" | "Document Path" => out.fact("load", &format!("ab {key}"), value.trim()),
            "Connect" | "Processing" | "Waiting" | "Total" => times(key, value, results, out),
            _ => return KNOWN.iter().any(|known| line.starts_with(known)),
        }
        return true;
    }
    if let Some((percent, ms)) = line
        .split_once('%')
        .and_then(|(percent, rest)| Some((number(percent)?, number(rest.split_ascii_whitespace().next()?)?)))
    {
        results.percentile(out, percent, "", ms);
        return true;
    }
    if line.starts_with("apr_") || line.starts_with("ab: ") || line.starts_with("Total of ") {
        out.fact("load", "ab message", line);
        return true;
    }
    KNOWN.iter().any(|known| line.starts_with(known))
}

/// `Total:          0    6   5.7      4      26`: min, mean, deviation, median, max.
fn times(key: &str, value: &str, results: &mut Results, out: &mut Out<'_>) {
    let mut numbers = value.split_ascii_whitespace().map(number);
    let mut next = || numbers.next().flatten();
    let (min, mean, sd) = (next(), next(), next());
    match key {
        "Total" => {
            results.set(out, names::LATENCY_MIN, min);
            results.set(out, names::LATENCY_SD, sd);
        }
        "Connect" => results.set(out, names::CONNECT_MEAN, mean),
        _ => results.other(out, &format!("{}_mean", key.to_ascii_lowercase()), mean, "ms"),
    }
}

const NUMBERS: &[(&str, Name, f64)] = &[
    ("Concurrency Level", names::CLIENTS, 1.0),
    ("Time taken for tests", names::ELAPSED, 1.0),
    ("Complete requests", names::TRANSACTIONS, 1.0),
    ("Failed requests", names::ERRORS, 1.0),
    ("Total transferred", names::TRANSFER_BYTES, 1.0),
    ("Requests per second", names::THROUGHPUT, 1.0),
    ("Transfer rate", names::TRANSFER_BYTES_PER_S, 1024.0),
];

/// Beginnings of lines that repeat the options, follow from others or say what is being done.
const KNOWN: &[&str] = &[
    "(Connect:",
    "(be patient)",
    "..done",
    "Benchmarking ",
    "Completed ",
    "Connection Times",
    "Copyright",
    "Document Length",
    "Finished ",
    "HTML transferred",
    "Keep-Alive requests",
    "Licensed to",
    "Percentage of the requests",
    "SSL/TLS Protocol",
    "Server Hostname",
    "Server Port",
    "Server Temp Key",
    "TLS Server Name",
    "This is ApacheBench",
    "Time per request",
    "Total body sent",
    "Total PUT",
    "Total POSTed",
    "WARNING:",
    "Write errors",
    "kb/s",
    "min ",
];
