//! `iperf` 2: what a client or a server prints, with `-i`, `-e`, `-P`, `-d`, `-r`, `--full-duplex`, TCP and UDP.
//!
//! A line from 0 on is the first interval or the whole test: with `-i` a later one follows, or another from 0 on of the same stream. Figures are as
//! those of iperf3: `forward` is from client to server, the sum of several streams is the row of `load`, bits are counted in
//! thousands, bytes in 1024s, and what a receiver counted is the result where both sides are known.

use fenxi_model::{Micros, catalog::load};

use super::{
    iperf3::{
        report::{Interval, Part, Summary},
        text::{after, amount, is_header},
    },
    names::Results,
};
use crate::{Clock, Family, Format, Head, Input, Out, Relative, Sure, number, stamp};

/// Importer for iperf 2.
pub static FORMAT: Format = Format {
    name: "iperf2",
    summary: "iperf 2: client and server, TCP and UDP, -i, -e, -P, -d, --full-duplex",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: "\
Client connecting to 10.0.0.2, TCP port 5001
[  3] local 10.0.0.1 port 50616 connected with 10.0.0.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0-10.1 sec  1.27 GBytes  1.08 Gbits/sec
",
    sniff,
    read,
};

const GENERATOR: &str = "iperf2";
/// Lines of streams from 0 on, of a test that has no others.
const MOST: usize = 4096;

fn sniff(head: &Head<'_>) -> Sure {
    let connected = |l: &str| l.starts_with('[') && l.contains("] local ") && l.contains(" connected with ");
    let heading = |l: &str| port(l).is_some();
    Sure::Certain.when(head.any(is_header) && (head.any(connected) || head.any(heading)))
}

/// The port of `Client connecting to h, TCP port 5001` or `Server listening on UDP port 5001 with pid 7`, and whether a server listens.
fn port(line: &str) -> Option<(&str, bool)> {
    let is_server = line.starts_with("Server listening on ");
    if !is_server && !line.starts_with("Client connecting to ") {
        return None;
    }
    let rest = ["TCP port ", "UDP port "].iter().find_map(|words| line.split_once(words))?.1;
    Some((rest.split([' ', ',']).next()?, is_server))
}

#[derive(Default)]
struct Reader {
    tests: u32,
    /// Ports of the headings, where this side listens and where it connects to.
    listens: Option<String>,
    connects: Option<String>,
    /// Whether traffic goes both ways, and the streams from server to client.
    is_two_way: bool,
    reverse: Vec<String>,
    /// How many streams there are of each direction; servers print no sum of them, or not always.
    streams: [usize; 2],
    has_retransmits: bool,
    /// The lines that follow are what the server counted.
    is_of_server: bool,
    /// Lines from 0 on, until it is known whether they are intervals.
    first: Vec<Part>,
    has_intervals: bool,
    interval: Interval,
    line: u64,
    summary: Summary,
    base: Option<Micros>,
    relative: Option<Relative>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    let mut clock = Clock::new(out.hints());
    while input.line().is_some() {
        let (line, text) = (input.number(), input.text().trim());
        if !reader.line(line, text, &mut clock, out) {
            out.unknown(line, text, "no line of iperf 2");
        }
    }
    reader.finish(out);
}

impl Reader {
    fn line(&mut self, line: u64, text: &str, clock: &mut Clock, out: &mut Out<'_>) -> bool {
        if is_header(text) {
            self.has_retransmits = text.contains("Rtry");
            return true;
        }
        if let Some((port, is_server)) = port(text) {
            if self.has_figures() {
                self.finish(out);
            }
            let place = if is_server { &mut self.listens } else { &mut self.connects };
            *place = Some(port.to_owned());
            return true;
        }
        let Some((id, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) else {
            return text.bytes().all(|b| b == b'-') || KNOWN.iter().any(|known| text.starts_with(known));
        };
        let (id, rest) = (id.trim(), rest.trim());
        if let Some(ends) = rest.strip_prefix("local ") {
            self.connected(id, ends, clock, out);
            return true;
        }
        if rest == "Server Report:" {
            self.is_of_server = true;
            return true;
        }
        if OF_STREAMS.iter().any(|known| rest.contains(known)) {
            return true;
        }
        let Some(part) = self.part(id, rest) else { return false };
        self.line = line;
        self.add(part, out);
        true
    }

    /// The directions of the test, and how many streams each has.
    fn directions(&self) -> [(&'static str, usize); 2] {
        [(if self.is_two_way { "forward" } else { "" }, self.streams[0]), ("reverse", self.streams[1])]
    }

    fn has_figures(&self) -> bool {
        self.has_intervals || !self.first.is_empty() || !self.summary.is_empty()
    }

    /// `127.0.0.1%lo port 47483 connected with 127.0.0.1 port 5001 (full-duplex) (sock=3) on 2026-11-30 12:34:29 (UTC)`
    fn connected(&mut self, id: &str, ends: &str, clock: &mut Clock, out: &mut Out<'_>) {
        let own = ends.split_once(" port ").and_then(|(_, rest)| rest.split(' ').next());
        let answers = self.connects.is_some() && self.listens.is_some() && own == self.listens.as_deref();
        let is_reverse = id.starts_with('*') || answers;
        // A listener goes on with the next test, `-r` with the other direction of this one.
        if self.has_figures() && !is_reverse {
            self.finish(out);
        }
        let is_full = ends.contains("(full-duplex)");
        self.streams[usize::from(is_reverse)] += 1;
        self.streams[1] += usize::from(is_full);
        self.is_two_way |= is_reverse || is_full;
        if is_reverse && self.reverse.len() < MOST {
            self.reverse.push(id.to_owned());
        }
        let begun = ends.split_once(" on ").map(|(_, when)| when.replace(['(', ')'], ""));
        if let Some(begun) = begun.as_deref().and_then(stamp) {
            self.base.get_or_insert(begun.when.moment(clock, out));
        }
    }

    /// `0.0- 1.0 sec  1.88 MBytes  15.8 Mbits/sec   0.084 ms    0/  893 (0%)`
    fn part(&self, id: &str, rest: &str) -> Option<Part> {
        let (interval, rest) = rest.split_once(" sec ")?;
        let (begin, end) = interval.split_once('-')?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let [transfer, bytes, rate, per, ref more @ ..] = words[..] else { return None };
        let is_reverse = id.starts_with('*') || self.reverse.iter().any(|stream| stream == id);
        let mut part = Part {
            direction: if !self.is_two_way {
                ""
            } else if is_reverse {
                "reverse"
            } else {
                "forward"
            },
            stream: (!id.starts_with("SUM")).then(|| id.to_owned()),
            begin: number(begin.trim())?,
            end: number(end.trim())?,
            bytes: amount(transfer, bytes),
            bytes_per_s: Some(amount(rate, per.strip_suffix("/sec")?)?),
            ..Part::default()
        };
        match *more {
            [jitter, "ms", ref lost @ ..] => {
                // `0/893` or, in columns, `0/  893`.
                let (n, all) = lost.first()?.split_once('/')?;
                let all = if all.is_empty() { lost.get(1).copied() } else { Some(all) };
                (part.jitter_ms, part.lost, part.datagrams) = (number(jitter), number(n), all.and_then(number));
            }
            [writes, again, ref window @ ..] if self.has_retransmits && writes.contains('/') => {
                part.retransmits = number(again);
                let size = window.first().and_then(|size| size.split_once("K/"));
                part.window = size.and_then(|(kib, _)| number(kib)).map(|kib| kib * 1024.0);
                part.rtt_ms = size.and_then(|(_, us)| number(us.split('(').next()?)).map(|us| us / 1000.0);
            }
            _ => {}
        }
        Some(part)
    }

    fn add(&mut self, part: Part, out: &mut Out<'_>) {
        // A sum over both directions belongs to neither.
        if self.is_two_way && part.stream.is_none() {
            return;
        }
        if self.is_of_server {
            self.summary.add("receiver", part);
            return;
        }
        let is_again = self.first.iter().any(|first| first.stream == part.stream && first.direction == part.direction);
        if part.begin > 0.0 || is_again || self.first.len() >= MOST {
            self.has_intervals = true;
            for first in std::mem::take(&mut self.first) {
                self.add_interval(first, out);
            }
        }
        if part.begin > 0.0 {
            self.add_interval(part, out);
        } else if self.has_intervals {
            self.summary.add(self.side(&part), part);
        } else {
            self.first.push(part);
        }
    }

    fn add_interval(&mut self, part: Part, out: &mut Out<'_>) {
        if self.interval.is_over(&part) {
            self.flush(out);
        }
        self.interval.add(part);
    }

    /// Who counted it: a client sends, what comes back it receives.
    fn side(&self, part: &Part) -> &'static str {
        let is_server = self.listens.is_some() && self.connects.is_none();
        if is_server == (part.direction == "reverse") { "sender" } else { "receiver" }
    }

    fn flush(&mut self, out: &mut Out<'_>) {
        let Some(end) = self.interval.end() else { return };
        for (direction, streams) in self.directions() {
            self.interval.add_sum(direction, streams);
        }
        let t = match self.base {
            Some(base) => after(base, end),
            None => self.relative.get_or_insert_with(|| Relative::elapsed(out)).after(end),
        };
        if !self.interval.write(t, GENERATOR, out) {
            out.note(self.line, "streams without their sum were left out");
        }
    }

    /// Ends a test; the next one may have another heading.
    fn finish(&mut self, out: &mut Out<'_>) {
        self.flush(out);
        for part in std::mem::take(&mut self.first) {
            self.summary.add(self.side(&part), part);
        }
        for (direction, streams) in self.directions() {
            for side in ["sender", "receiver"] {
                self.summary.add_sum(side, direction, streams);
            }
        }
        if !self.summary.is_empty() {
            self.tests = self.tests.saturating_add(1);
            self.summary.write(&mut Results::nth(self.tests), out);
        }
        let (listens, relative) = (self.listens.take(), self.relative.take());
        *self = Reader { tests: self.tests, listens, relative, ..Reader::default() };
    }
}

/// How lines begin that have no figures of a test.
const KNOWN: &[&str] = &[
    "TCP window size: ",
    "UDP buffer size: ",
    "Write buffer size: ",
    "Read buffer size: ",
    "Sending ",
    "Receiving ",
    "Binding to local ",
    "TOS set to ",
    "Waiting for server threads to complete",
    "MSS size ",
    "Joining multicast group ",
    "Setting multicast TTL to ",
    "TCP congestion control ",
    "Event based writes ",
    "iperf version ",
];

/// Texts in lines of a stream that are no figures.
const OF_STREAMS: &[&str] = &[
    "Sent ",
    "MSS size ",
    "received out-of-order",
    "did not receive ack",
    "WARNING: ",
    "Clock sync",
    "connected with ",
];
