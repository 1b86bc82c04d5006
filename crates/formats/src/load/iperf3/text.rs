//! The text of iperf3.

use fenxi_model::Micros;

use super::{
    json,
    report::{Interval, Part, Summary},
    unstamped,
};
use crate::{
    Clock, Input, Out, Relative, ctime,
    load::names::{self, Results},
    number, scaled, stamp,
};

/// Returns true if a line is the header of intervals or of summaries.
pub fn is_header(line: &str) -> bool {
    (line.starts_with("[ ID] Interval") || line.starts_with("[ ID][Role] Interval"))
        && line.contains("Transfer")
        && (line.contains("Bitrate") || line.contains("Bandwidth"))
}

/// Meaning of a number behind the rate.
#[derive(Clone, Copy, Default, PartialEq)]
enum Count {
    #[default]
    Unknown,
    Retransmits,
    Datagrams,
}

#[derive(Default)]
struct Reader {
    tests: u32,
    count: Count,
    /// The last line was a row of dashes: a header behind it is that of summaries.
    dashes: bool,
    summary_begun: bool,
    interval: Interval,
    interval_line: u64,
    summary: Summary,
    /// Where the seconds of this test begin.
    base: Option<Micros>,
    /// `Time:` of a verbose report, and the seconds that are omitted.
    verbose: (Option<Micros>, f64),
    relative: Option<Relative>,
    last_begin: f64,
    generator: Generator,
}

/// Who prints: this side, or the server within the client's report.
#[derive(Clone, Copy, Default, PartialEq)]
enum Generator {
    #[default]
    Own,
    Server,
}

impl Generator {
    fn name(self) -> &'static str {
        if self == Generator::Own { "iperf3" } else { "iperf3 server" }
    }
}

/// Reads a report.
pub fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    let mut clock = Clock::new(out.hints());
    while input.line().is_some() {
        let (number, full) = (input.number(), input.text().trim_end());
        if full.trim() == "Server JSON output:" {
            reader.finish(out);
            let origin = reader.moment(0.0, false, out);
            json::read(input, Generator::Server.name(), Some(origin), out);
            break;
        }
        let line = unstamped(full);
        let found = if line.len() < full.len() && reader.verbose.0.is_none() { stamp(full) } else { None };
        // Only the lines of streams need it, and a date may have to be assumed for it.
        let found = found.filter(|_| line.starts_with('['));
        let when = found.map(|found| found.when.moment(&mut clock, out));
        if !line.trim().is_empty() && !reader.line(number, line.trim(), when, out) {
            out.unknown(number, full, "no line of iperf3");
        }
    }
    reader.finish(out);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, when: Option<Micros>, out: &mut Out<'_>) -> bool {
        let dashes = line.starts_with("- - - -");
        let after_dashes = std::mem::replace(&mut self.dashes, dashes);
        if is_header(line) {
            self.flush(out);
            self.count = match () {
                () if line.contains("Lost/Total") || line.contains("Total Datagrams") => Count::Datagrams,
                () if line.contains("Retr") => Count::Retransmits,
                () => Count::Unknown,
            };
            self.summary_begun = after_dashes;
            return true;
        }
        if let Some((id, rest)) = line.strip_prefix('[').and_then(|l| l.split_once(']')) {
            return self.stream(number, id.trim(), rest, when, out);
        }
        if dashes {
            self.flush(out);
            return true;
        }
        self.other(line, out)
    }

    /// A line of a stream or of the sum, whose `rest` follows its number.
    fn stream(&mut self, number: u64, id: &str, rest: &str, when: Option<Micros>, out: &mut Out<'_>) -> bool {
        let (role, rest) = match rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
            Some((role, rest)) => (role, rest),
            None => ("", rest),
        };
        let rest = rest.trim();
        if rest.starts_with("local ") || rest.starts_with('(') || rest.starts_with("Sent ") {
            return true;
        }
        let direction = match role {
            "" => "",
            "TX-C" | "RX-S" => "forward",
            "RX-C" | "TX-S" => "reverse",
            _ => return false,
        };
        let Some((mut part, side)) = self.part(rest) else { return false };
        part.direction = direction;
        part.stream = (id != "SUM").then(|| id.to_owned());
        if side.is_some() || self.summary_begun {
            self.flush(out);
            // Before 3.7 a client's summary of datagrams was one line, of both sides.
            self.summary.add(side.unwrap_or("sender"), part);
            return true;
        }
        if self.interval.is_over(&part) {
            self.flush(out);
        }
        if part.begin < self.last_begin {
            self.base = None;
        }
        self.last_begin = part.begin;
        self.interval_line = number;
        if let Some(when) = when {
            self.base.get_or_insert(Micros(when.0.saturating_sub((part.end * 1e6) as i64)));
        }
        self.interval.add(part);
        true
    }

    /// `0.00-1.00   sec   289 MBytes  2.42 Gbits/sec   13   1.87 MBytes`, and which side a summary is of.
    fn part(&self, rest: &str) -> Option<(Part, Option<&'static str>)> {
        let mut words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let mut part = Part::default();
        let side = match *words.last()? {
            "sender" => Some("sender"),
            "receiver" => Some("receiver"),
            _ => None,
        };
        part.omitted = words.last() == Some(&"(omitted)");
        if side.is_some() || part.omitted {
            words.pop();
        }
        let [interval, "sec", transfer, bytes, rate, per, ref more @ ..] = words[..] else { return None };
        let (begin, end) = interval.split_once('-')?;
        (part.begin, part.end) = (number(begin)?, number(end)?);
        part.bytes = amount(transfer, bytes);
        part.bytes_per_s = amount(rate, per.strip_suffix("/sec")?);
        part.bytes_per_s?;
        match *more {
            [] => {}
            [jitter, "ms", lost, ..] => {
                let (lost, all) = lost.split_once('/')?;
                part.jitter_ms = number(jitter);
                (part.lost, part.datagrams) = (number(lost), number(all));
            }
            [count] if self.count == Count::Datagrams => part.datagrams = number(count),
            [count, ref window @ ..] if self.count == Count::Retransmits => {
                part.retransmits = number(count);
                part.retransmits?;
                if let [size, unit, ..] = *window {
                    part.window = amount(size, unit);
                }
            }
            _ => return None,
        }
        Some((part, side))
    }

    /// Lines that are of no stream.
    fn other(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if line.starts_with("Connecting to host") || line.starts_with("Accepted connection from") {
            self.finish(out);
            let (generator, relative) = (self.generator, self.relative);
            *self = Reader { tests: self.tests, generator, relative, verbose: self.verbose, ..Reader::default() };
        } else if let Some(time) = line.split_once("Time: ").map(|(_, time)| time) {
            self.verbose.0 = verbose_time(time);
        } else if line.contains("Starting Test: ") {
            let omitted = line.split("omitting ").nth(1).and_then(|rest| number(rest.split(' ').next()?));
            self.verbose.1 = omitted.unwrap_or(0.0);
        } else if let Some((_, rest)) = line.split_once("CPU Utilization: ") {
            cpu(rest, out);
        } else if line.contains("error - ") || line.starts_with("warning: ") {
            out.fact("load", "iperf3 message", line.trim_start_matches("iperf3: "));
        } else if line == "Server output:" {
            self.finish(out);
            self.generator = Generator::Server;
        } else if line.starts_with("iperf 3") {
            out.fact("load", "iperf3", line.trim_start_matches("iperf "));
        } else if let Some(name) = ["snd_tcp_congestion ", "rcv_tcp_congestion "].iter().find(|n| line.contains(**n)) {
            out.fact("load", &format!("iperf3 {}", name.trim()), line.rsplit(' ').next().unwrap_or(""));
        } else {
            return KNOWN.iter().any(|known| line.contains(known)) || line.bytes().all(|b| b == b'-');
        }
        true
    }

    /// Writes the interval that is gathered.
    fn flush(&mut self, out: &mut Out<'_>) {
        let Some(end) = self.interval.end() else { return };
        let t = self.moment(end, self.interval.is_omitted(), out);
        if !self.interval.write(t, self.generator.name(), out) {
            out.note(self.interval_line, "streams without their sum were left out");
        }
    }

    /// The moment `seconds` after the begin of the measurement, or of its warm-up.
    fn moment(&mut self, seconds: f64, warm_up: bool, out: &mut Out<'_>) -> Micros {
        match (self.base, self.verbose) {
            (Some(base), _) => after(base, seconds),
            (None, (Some(begin), _)) if warm_up => after(begin, seconds),
            (None, (Some(begin), omitted)) => after(begin, seconds + omitted),
            (None, (None, _)) => self.relative.get_or_insert_with(|| Relative::elapsed(out)).after(seconds),
        }
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.flush(out);
        let summary = std::mem::take(&mut self.summary);
        if !summary.is_empty() && self.generator == Generator::Own {
            self.tests = self.tests.saturating_add(1);
            summary.write(&mut Results::nth(self.tests), out);
        }
    }
}

/// The moment so many seconds after another.
pub fn after(base: Micros, seconds: f64) -> Micros {
    Micros(base.0.saturating_add((seconds * 1e6).round() as i64))
}

/// `289`, `MBytes` or `2.42`, `Gbits`: bytes. Bits go by thousands, bytes by 1024.
pub fn amount(value: &str, unit: &str) -> Option<f64> {
    if let Some(factor) = unit.strip_suffix("bits") {
        return scaled(&format!("{value}{factor}"), 1000.0).map(|bits| bits / 8.0);
    }
    scaled(&format!("{value}{}", unit.strip_suffix("Bytes")?), 1024.0)
}

/// `Mon, 23 Nov 2026 04:22:50 GMT`
fn verbose_time(text: &str) -> Option<Micros> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [weekday, day, month, year, time, "GMT"] = words[..] else { return None };
    let when = ctime(&format!("{} {month} {day} {time} {year}", weekday.trim_end_matches(',')))?.when;
    let t = jiff::tz::TimeZone::UTC.to_timestamp(when).ok()?;
    Some(Micros(t.as_microsecond()))
}

/// `local/sender 44.9% (0.9%u/44.0%s), remote/receiver 41.8% (1.5%u/40.3%s)`
fn cpu(rest: &str, out: &mut Out<'_>) {
    let of = |side: &str| {
        let words = rest.split_once(side)?.1;
        number(words.split(' ').nth(1)?.strip_suffix('%')?)
    };
    let mut results = Results::default();
    results.set(out, names::CPU_LOCAL, of("local/"));
    results.set(out, names::CPU_REMOTE, of("remote/"));
}

/// Parts of lines that say what is being done.
const KNOWN: &[&str] = &[
    "Server listening on ",
    "iperf Done.",
    "Reverse mode, remote host",
    "Cookie: ",
    "TCP MSS: ",
    "Control connection MSS",
    "Test Complete. Summary Results:",
    "Linux ",
    "Target Bitrate: ",
    "Congestion algorithm is",
    "Setting UDP block size",
    "Time: ",
];
