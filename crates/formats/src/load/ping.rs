//! `ping` of iputils, busybox and the BSDs, and `fping -c`: round trips to each target, and how many packets were lost.

use std::collections::BTreeMap;

use fenxi_model::catalog::histogram;

use super::{
    names::{self, Results},
    spread::Spread,
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for ping of iputils, busybox and BSD, also -D and -q; fping -c.
pub static FORMAT: Format = Format {
    name: "ping",
    summary: "ping of iputils, busybox and BSD, also -D and -q; fping -c",
    family: Family::Load,
    tables: &[&histogram::TABLE],
    example: "\
PING db1 (10.0.0.5) 56(84) bytes of data.
64 bytes from db1 (10.0.0.5): icmp_seq=1 ttl=64 time=0.050 ms

--- db1 ping statistics ---
1 packets transmitted, 1 received, 0% packet loss, time 0ms
rtt min/avg/max/mdev = 0.050/0.050/0.050/0.000 ms
",
    sniff,
    read,
};

/// Nanoseconds in a millisecond: what is counted.
const TICKS: f64 = 1e6;
/// Targets whose round trips are kept as distributions.
const MOST_TARGETS: usize = 200;

fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| {
        line.starts_with("PING ") && line.contains(" bytes") && line.contains('(')
            || target_of_statistics(line).is_some()
            || line.contains(" xmt/rcv/%loss = ")
    };
    // A document that quotes ping has much other text before.
    let mut strange = 0;
    let mut lines = head.text.lines().map(str::trim).filter(|line| !line.is_empty());
    let found = lines.find(|line| {
        strange += u32::from(!line.contains(" bytes") && !KNOWN.iter().any(|known| line.contains(known)));
        own(line) || strange > REMARKS
    });
    Sure::Certain.when(found.is_some_and(own))
}

/// Lines of others that may precede its first one: remarks of the shell or of ssh.
const REMARKS: u32 = 4;

/// `--- db1 ping statistics ---`
fn target_of_statistics(line: &str) -> Option<&str> {
    line.strip_prefix("--- ")?.strip_suffix(" ping statistics ---")
}

#[derive(Default)]
struct Reader {
    target: String,
    results: Results,
    spreads: BTreeMap<String, Spread>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text().trim());
        if !line.is_empty() && !reader.line(line, out) && !KNOWN.iter().any(|known| line.contains(known)) {
            out.unknown(at, line, "no line of ping");
        }
    }
    for (target, spread) in &reader.spreads {
        spread.write_buckets(out, &format!("target={target}"), 1.0 / TICKS);
    }
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(rest) = line.strip_prefix("PING ") {
            self.target = rest.split([' ', '(']).next().unwrap_or("").to_owned();
        } else if let Some(target) = target_of_statistics(line) {
            target.clone_into(&mut self.target);
        } else if line.contains(" packets transmitted, ") {
            self.counts(line, out);
        } else if let Some((target, figures)) = line.split_once(" : xmt/rcv/%loss = ") {
            target.trim().clone_into(&mut self.target);
            self.fping(figures, out);
        } else if let Some((_, figures)) = line.split_once("min/avg/max") {
            self.times(figures, out);
        } else {
            return self.reply(line);
        }
        true
    }

    /// `64 bytes from db1: icmp_seq=1 ttl=64 time=0.050 ms`, `db1 : [0], 64 bytes, 0.042 ms (0.042 avg, 0% loss)`.
    fn reply(&mut self, line: &str) -> bool {
        let time = line.split_once("time=").or_else(|| line.split_once("time<")).map(|(_, time)| time);
        let (target, time) = match (time, line.split_once(" : [")) {
            (Some(time), _) => (self.target.clone(), time),
            (None, Some((target, rest))) => {
                (target.trim().to_owned(), rest.split_once(" bytes, ").map_or("", |(_, time)| time))
            }
            _ => return false,
        };
        let mut words = time.split_ascii_whitespace();
        let (Some(ms), Some("ms")) = (words.next().and_then(number), words.next()) else { return false };
        if self.spreads.len() < MOST_TARGETS || self.spreads.contains_key(&target) {
            self.spreads.entry(target).or_default().add((ms.max(0.0) * TICKS) as u64);
        }
        true
    }

    /// `3 packets transmitted, 3 received, +1 errors, 0% packet loss, time 405ms`
    fn counts(&mut self, line: &str, out: &mut Out<'_>) {
        for part in line.split(", ") {
            let (count, what) = part.split_once(' ').unwrap_or((part, ""));
            let value = number(count.trim_start_matches('+').trim_end_matches('%'));
            let name = match what {
                "packets transmitted" => names::REQUESTS,
                "received" | "packets received" => names::TRANSACTIONS,
                "errors" => names::ERRORS,
                "packet loss" => names::LOST_SHARE,
                _ => continue,
            };
            self.results.of(out, name, &self.target, value);
        }
    }

    /// `/mdev = 0.019/0.030/0.050/0.013 ms, pipe 2`
    fn times(&mut self, figures: &str, out: &mut Out<'_>) {
        let Some((_, figures)) = figures.split_once(" = ") else { return };
        let figures = figures.split(' ').next().unwrap_or("").split('/').map(number);
        let order = [names::LATENCY_MIN, names::LATENCY_MEAN, names::LATENCY_MAX, names::LATENCY_SD];
        for (name, value) in order.into_iter().zip(figures) {
            self.results.of(out, name, &self.target, value);
        }
    }

    /// `3/3/0%, min/avg/max = 0.034/0.037/0.042`; without times where nothing came back.
    fn fping(&mut self, figures: &str, out: &mut Out<'_>) {
        let (counts, times) = figures.split_once(", min/avg/max").unwrap_or((figures, ""));
        let values = counts.split('/').map(|value| number(value.trim().trim_end_matches('%')));
        let order = [names::REQUESTS, names::TRANSACTIONS, names::LOST_SHARE];
        for (name, value) in order.into_iter().zip(values) {
            self.results.of(out, name, &self.target, value);
        }
        self.times(times, out);
    }
}

/// Parts of lines that say that nothing came back, or what is counted in the end.
const KNOWN: &[&str] = &[
    "Request timeout for icmp_seq",
    "no answer yet for icmp_seq",
    "Destination Host Unreachable",
    "Destination Net Unreachable",
    "Time to live exceeded",
    "timed out (",
    "^C",
];
