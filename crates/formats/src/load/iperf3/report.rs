//! Intervals and summaries of iperf3, and how they become rows and results.

use fenxi_model::{Micros, catalog::load};

use crate::{
    Out,
    load::names::{self, Results},
};

/// One line: a stream or the sum of all streams of a direction, in an interval or over the whole test.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// `forward` or `reverse` with `--bidir`, else empty.
    pub direction: &'static str,
    /// Number of the stream; None for the sum.
    pub stream: Option<String>,
    /// Seconds from the begin of the test.
    pub begin: f64,
    /// Seconds from the begin of the test.
    pub end: f64,
    /// Bytes moved.
    pub bytes: Option<f64>,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Segments sent again.
    pub retransmits: Option<f64>,
    /// Congestion window in bytes.
    pub window: Option<f64>,
    /// Smoothed round-trip time in milliseconds.
    pub rtt_ms: Option<f64>,
    /// Variation of the delay in milliseconds.
    pub jitter_ms: Option<f64>,
    /// Datagrams lost.
    pub lost: Option<f64>,
    /// Datagrams in all.
    pub datagrams: Option<f64>,
    /// Left out of the summary as warm-up.
    pub omitted: bool,
}

impl Part {
    /// Length in seconds: two decimals do not resolve a very short one, its rate does.
    fn seconds(&self) -> Option<f64> {
        let printed = Some(self.end - self.begin).filter(|s| *s >= 0.1);
        let by_rate = || Some(self.bytes? / self.bytes_per_s?).filter(|s| s.is_finite() && *s > 0.0);
        printed.or_else(by_rate)
    }

    fn lost_share(&self) -> Option<f64> {
        let (lost, all) = (self.lost?, self.datagrams?);
        (all > 0.0).then(|| lost / all * 100.0)
    }
}

/// The sum of all `streams` of a direction, where each has a line and the program printed no sum.
fn sum<'a>(parts: impl Iterator<Item = &'a Part>, direction: &'static str, streams: usize) -> Option<Part> {
    let of: Vec<&Part> = parts.filter(|part| part.direction == direction).collect();
    if streams < 2 || of.len() != streams || of.iter().any(|part| part.stream.is_none()) {
        return None;
    }
    let total = |value: fn(&Part) -> Option<f64>| of.iter().map(|part| value(part)).sum::<Option<f64>>();
    Some(Part {
        direction,
        begin: of.iter().map(|part| part.begin).fold(f64::INFINITY, f64::min),
        end: of.iter().map(|part| part.end).fold(0.0, f64::max),
        bytes: total(|part| part.bytes),
        bytes_per_s: total(|part| part.bytes_per_s),
        retransmits: total(|part| part.retransmits),
        lost: total(|part| part.lost),
        datagrams: total(|part| part.datagrams),
        ..Part::default()
    })
}

/// The lines of one interval.
#[derive(Debug, Default)]
pub struct Interval {
    parts: Vec<Part>,
}

/// Streams of a test are at most 128; more in one interval are another one's.
const MOST: usize = 4096;

impl Interval {
    /// Returns true if `part` does not belong to the interval that is being gathered.
    pub fn is_over(&self, part: &Part) -> bool {
        let again = |p: &Part| p.stream == part.stream && p.direction == part.direction;
        self.parts.iter().any(again) || self.parts.len() >= MOST
    }

    /// Adds a line.
    pub fn add(&mut self, part: Part) {
        self.parts.push(part);
    }

    /// Adds the sum of so many streams of a direction where it is missing.
    pub fn add_sum(&mut self, direction: &'static str, streams: usize) {
        self.parts.extend(sum(self.parts.iter(), direction, streams));
    }

    /// The first line's end, in seconds from the begin of the test.
    pub fn end(&self) -> Option<f64> {
        self.parts.first().map(|part| part.end)
    }

    /// Returns true if the lines are of the warm-up.
    pub fn is_omitted(&self) -> bool {
        self.parts.first().is_some_and(|part| part.omitted)
    }

    /// Writes the interval that ended at `t` and forgets it. False when streams have no sum.
    pub fn write(&mut self, t: Micros, generator: &str, out: &mut Out<'_>) -> bool {
        let parts = std::mem::take(&mut self.parts);
        let mut complete = true;
        for direction in ["", "forward", "reverse"] {
            let of: Vec<&Part> = parts.iter().filter(|p| p.direction == direction).collect();
            let sum = of.iter().find(|p| p.stream.is_none());
            let streams = of.iter().filter(|p| p.stream.is_some()).count();
            match (sum, of.first()) {
                (Some(sum), _) => write_row(sum, t, generator, out),
                (None, Some(only)) if streams == 1 => write_row(only, t, generator, out),
                (None, Some(_)) => complete = false,
                (None, None) => {}
            }
            // Figures that only a stream has.
            for part in of.iter().filter(|p| p.stream.is_some()) {
                write_stream(part, streams > 1, t, generator, out);
            }
        }
        complete
    }
}

fn write_row(part: &Part, t: Micros, generator: &str, out: &mut Out<'_>) {
    let dt = part.seconds();
    let label = if part.direction.is_empty() { String::new() } else { format!("direction={}", part.direction) };
    if part.omitted {
        out.metric(t, dt, &named(generator, "warm_up_bytes_per_s"), &label, part.bytes_per_s, "B/s");
        return;
    }
    let mut row = out.row(&load::TABLE, t, dt);
    row.str(load::generator, generator).str(load::operation, Some(part.direction).filter(|d| !d.is_empty()));
    row.f64(load::transfer_bytes_per_s, part.bytes_per_s);
    let rate = |count: Option<f64>| count.zip(dt).map(|(n, dt)| n / dt);
    for (name, value, unit) in [
        ("retransmits_per_s", rate(part.retransmits), "/s"),
        ("datagrams_per_s", rate(part.datagrams), "/s"),
        ("lost", part.lost_share(), "%"),
        ("jitter", part.jitter_ms, "ms"),
    ] {
        if let Some(value) = value {
            out.metric(t, dt, &named(generator, name), &label_of(&label, generator), value, unit);
        }
    }
}

/// A metric of the program.
fn named(generator: &str, name: &str) -> String {
    let program = generator.split(' ').next().unwrap_or(generator);
    format!("{program}.{name}")
}

/// The server's report in a client's has the same metrics.
fn label_of(label: &str, generator: &str) -> String {
    match (generator.ends_with(" server"), label.is_empty()) {
        (false, _) => label.to_owned(),
        (true, true) => "report=server".to_owned(),
        (true, false) => format!("{label},report=server"),
    }
}

fn write_stream(part: &Part, several: bool, t: Micros, generator: &str, out: &mut Out<'_>) {
    let Some(stream) = &part.stream else { return };
    if part.omitted {
        return;
    }
    let label = label_of(&format!("stream={stream}"), generator);
    let dt = part.seconds();
    for (name, value, unit) in [
        ("stream_bytes_per_s", part.bytes_per_s.filter(|_| several), "B/s"),
        ("cwnd", part.window, "B"),
        ("rtt", part.rtt_ms, "ms"),
    ] {
        if let Some(value) = value {
            out.metric(t, dt, &named(generator, name), &label, value, unit);
        }
    }
}

/// The summaries of a test: of each side and direction the sum, or the only stream.
#[derive(Debug, Default)]
pub struct Summary {
    parts: Vec<(&'static str, Part)>,
}

impl Summary {
    /// Adds the figures of `side` (`sender` or `receiver`).
    pub fn add(&mut self, side: &'static str, part: Part) {
        if self.parts.len() < MOST {
            self.parts.push((side, part));
        }
    }

    /// Adds the sum of so many streams of a direction where it is missing.
    pub fn add_sum(&mut self, side: &'static str, direction: &'static str, streams: usize) {
        let of = self.parts.iter().filter(|(whose, _)| *whose == side).map(|(_, part)| part);
        self.parts.extend(sum(of, direction, streams).map(|sum| (side, sum)));
    }

    /// Returns true if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The sum, or the only stream.
    fn side(&self, side: &str, direction: &str) -> Option<&Part> {
        let mut of = self.parts.iter().filter(|(s, p)| *s == side && p.direction == direction).map(|(_, p)| p);
        let sum = of.clone().find(|p| p.stream.is_none());
        sum.or_else(|| of.next().filter(|_| of.next().is_none()))
    }

    /// Writes the results.
    pub fn write(&self, results: &mut Results, out: &mut Out<'_>) {
        for direction in ["", "forward", "reverse"] {
            let (sender, receiver) = (self.side("sender", direction), self.side("receiver", direction));
            // Datagrams that a sender counts need not have arrived.
            let udp = |p: &&Part| p.datagrams.is_some();
            let Some(best) = receiver.or(sender.filter(|p| !udp(p))) else {
                write_side(sender, direction, "sender", results, out);
                continue;
            };
            results.of(out, names::ELAPSED, direction, Some(best.end - best.begin).filter(|s| *s > 0.0));
            results.of(out, names::TRANSFER_BYTES, direction, best.bytes);
            results.of(out, names::TRANSFER_BYTES_PER_S, direction, best.bytes_per_s);
            results.of(out, names::RETRANSMITS, direction, sender.and_then(|p| p.retransmits));
            results.of(out, names::JITTER, direction, best.jitter_ms);
            results.of(out, names::LOST_SHARE, direction, best.lost_share());
            write_side(sender, direction, "sender", results, out);
            write_side(receiver, direction, "receiver", results, out);
        }
    }
}

fn write_side(part: Option<&Part>, direction: &str, side: &str, results: &mut Results, out: &mut Out<'_>) {
    let Some(part) = part else { return };
    let name = if direction.is_empty() { side.to_owned() } else { format!("{direction} {side}") };
    results.of(out, names::TRANSFER_BYTES_PER_S, &name, part.bytes_per_s);
}
