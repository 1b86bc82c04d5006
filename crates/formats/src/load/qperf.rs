//! `qperf`: bandwidth and latency between two hosts. Each test has a name, and its figures have units.

use super::{
    names::{self, Results},
    units::milliseconds,
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "qperf",
    summary: "qperf: report, also -v",
    family: Family::Load,
    tables: &[],
    example: "\
tcp_lat:
    latency  =  11.7 us
tcp_bw:
    bw  =  1.82 GB/sec
",
    sniff,
    read,
};

/// `tcp_bw:`: the test that the lines below are of.
fn test(line: &str) -> Option<&str> {
    let name = line.strip_suffix(':')?;
    let known = ["tcp_", "udp_", "sctp_", "sdp_", "rds_", "rc_", "uc_", "ud_", "ver_", "xrc_"];
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    (plain && known.iter().any(|family| name.starts_with(family)) || matches!(name, "conf" | "quit")).then_some(name)
}

/// `latency  =  11.7 us`
fn figure(line: &str) -> Option<(&str, f64, &str)> {
    let (name, value) = line.split_once('=')?;
    let (value, unit) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
    Some((name.trim(), number(value)?, unit.trim()))
}

fn sniff(head: &Head<'_>) -> Sure {
    let mut last = "";
    let pairs = head.lines().any(|line| {
        let found = test(last).is_some() && figure(line).is_some();
        last = line;
        found
    });
    Sure::Certain.when(pairs)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut results = Results::default();
    let (mut name, mut seen, mut runs) = (String::new(), Vec::new(), 1u32);
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text().trim());
        if let Some(test) = test(line) {
            // A test that comes again is one of the next run.
            if seen.iter().any(|known| known == test) {
                runs = runs.saturating_add(1);
                results = Results::nth(runs);
                seen.clear();
            }
            seen.push(test.to_owned());
            test.clone_into(&mut name);
        } else if let Some((what, value, unit)) = figure(line).filter(|_| !name.is_empty()) {
            if !of_test(&mut results, (&name, what), value, unit, out) {
                out.unknown(at, line, "no unit of qperf");
            }
        } else if !line.is_empty() {
            out.unknown(at, line, "no line of qperf");
        }
    }
}

fn of_test(results: &mut Results, (test, what): (&str, &str), value: f64, unit: &str, out: &mut Out<'_>) -> bool {
    let plain = format!("{value} {unit}");
    let factor = match unit.chars().next() {
        Some('K') => 1e3,
        Some('M') => 1e6,
        Some('G') => 1e9,
        Some('T') => 1e12,
        _ => 1.0,
    };
    match (what, unit.trim_start_matches(['K', 'M', 'G', 'T'])) {
        ("latency", _) => results.of(out, names::LATENCY_MEAN, test, milliseconds(&plain)),
        (_, "B/sec" | "b/sec") if unit.ends_with("b/sec") => {
            results.of(out, named(what), test, value * factor / 8.0);
        }
        (_, "B/sec" | "bytes/sec") => results.of(out, named(what), test, value * factor),
        ("msg_rate", "/sec" | " /sec") => results.of(out, names::THROUGHPUT, test, value * factor),
        ("time", _) => results.of(out, names::ELAPSED, test, milliseconds(&plain).map(|ms| ms / 1e3)),
        ("loc_cpus_used", _) => results.of(out, names::CPU_LOCAL, test, value),
        ("rem_cpus_used", _) => results.of(out, names::CPU_REMOTE, test, value),
        (_, rest) => results.named(out, what, test, Some(value * factor), rest.trim(), "neither"),
    }
    true
}

/// What a bandwidth is called; senders and receivers of datagrams have one each.
fn named(what: &str) -> names::Name {
    match what {
        "send_bw" => names::higher("sent_bytes_per_s", "B/s"),
        "recv_bw" => names::higher("received_bytes_per_s", "B/s"),
        _ => names::TRANSFER_BYTES_PER_S,
    }
}
