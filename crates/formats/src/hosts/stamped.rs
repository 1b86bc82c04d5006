//! Output of another tool with a time in front of each line, as `ts`, `docker logs -t` and `kubectl logs --timestamps` put it there;
//! or a time, a host and a program, as the system log and the journal keep what a service prints: `Nov 21 08:19:02 db1 vmstat[88]: …`.
//!
//! The times are taken off, and the rest is read in the format that recognises it. Where its lines have no times of their own, the
//! stamp of the first line of each report stands above the report, as `date` before a tool in a loop would. A format that reads
//! such lines by itself is not asked here.

use fenxi_model::Micros;
use rustc_hash::FxHashMap;

use super::part::Part;
use crate::{
    AnyFormat, Clock, Family, Format, Formats, HEAD_BYTES, Head, Hints, Input, Out, Sure, When, detect::surest,
    formats, stamp::in_front, survey,
};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "stamped",
    summary: "ts, docker logs -t, kubectl logs --timestamps, a service's lines in syslog or journal: any other format behind times",
    family: Family::Generic,
    tables: fenxi_model::TABLES,
    example: "\
Nov 21 08:19:02 avg-cpu:  %user   %nice %system %iowait  %steal   %idle
Nov 21 08:19:02           12.03    0.00    3.10    0.25    0.00   84.62
Nov 21 08:19:02 
Nov 21 08:19:02 Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
Nov 21 08:19:02 sda               5.00        40.00      3624.00         0.00         40       3624          0
",
    sniff,
    read,
};

/// Text that is held in memory.
const MOST_BYTES: usize = 128 << 20;
/// Lines that must have a time, at the beginning.
const FIRST: usize = 4;

/// Of whom lines of a system log are.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Service<'l> {
    host: &'l str,
    program: &'l str,
}

/// `db1 vmstat[88]:  r  b   swpd`, as it stands behind the time: of whom it is, and the line as it was printed.
fn of_service(rest: &str) -> Option<(Service<'_>, &str)> {
    let (host, after) = rest.split_once(' ')?;
    let (program, after) = after.split_once('[')?;
    let (pid, line) = after.split_once("]:")?;
    let plain = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.@".contains(&b));
    let is_one = plain(host) && plain(program) && !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit());
    is_one.then(|| (Service { host, program }, line.strip_prefix(' ').unwrap_or(line)))
}

/// The service whose lines a text begins with.
fn service(text: &str) -> Option<Service<'_>> {
    let mut services = text.lines().filter(|line| !line.trim().is_empty()).take(FIRST);
    let of = |line| of_service(in_front(line)?.rest).map(|(service, _)| service);
    let first = of(services.next()?)?;
    services.all(|line| of(line) == Some(first)).then_some(first)
}

/// The lines of a text without their times.
#[derive(Default)]
struct Bare {
    part: Part,
    /// By line, the moment that was in front of it.
    moments: Vec<Micros>,
}

impl Bare {
    /// All of `text`; the lines without a stamp are handed on and left out.
    fn of(text: &str, mut moment: impl FnMut(&When<'_>) -> Micros, mut without: impl FnMut(u64, &str)) -> Bare {
        let mut bare = Bare::default();
        let service = service(text);
        // What it printed, where it is of the service that the text is of.
        let printed = |rest| match (service, of_service(rest)) {
            (None, _) => Some(rest),
            (Some(service), Some((of, line))) if of == service => Some(line),
            _ => None,
        };
        for (line, number) in text.lines().zip(1..) {
            match in_front(line).and_then(|stamp| Some((stamp.when, printed(stamp.rest)?))) {
                Some((when, rest)) => {
                    bare.part.add(number, rest);
                    bare.moments.push(moment(&when));
                }
                None if line.trim().is_empty() => {}
                None => without(number, line),
            }
        }
        bare
    }

    /// The text with the time above each report. A report begins with the first line that comes again; without one, wherever
    /// the time is another.
    fn with_times(&self) -> Part {
        let lines: Vec<&str> = self.part.text.lines().collect();
        let begins = first_repeated(&lines);
        let mut part = Part::default();
        let mut last = None;
        for ((line, moment), number) in lines.iter().zip(&self.moments).zip(&self.part.lines) {
            if last != Some(*moment) && !line.trim().is_empty() && begins.is_none_or(|begins| begins == *line) {
                last = Some(*moment);
                part.add(*number, &moment.iso());
            }
            part.add(*number, line);
        }
        part
    }
}

/// How moments follow from stamps: `ts -s` counts from its start, so that the last one is of the file's last writing.
fn counted_end(text: &str, hints: &Hints) -> Option<(Micros, f64)> {
    let counted = |line: &str| match in_front(line)?.when {
        When::Time(time) => Some(When::Time(time).seconds()),
        _ => None,
    };
    counted(text.lines().find(|line| in_front(line).is_some())?).filter(|seconds| *seconds < 1.0)?;
    Some((hints.modified?, text.lines().rev().find_map(counted)?))
}

/// The first line that comes again as it is, and holds words.
fn first_repeated<'l>(lines: &[&'l str]) -> Option<&'l str> {
    let mut seen = FxHashMap::default();
    for line in lines.iter().filter(|line| line.bytes().any(|b| b.is_ascii_alphabetic())) {
        *seen.entry(*line).or_insert(0u32) += 1;
    }
    lines.iter().find(|line| seen.get(*line).is_some_and(|n| *n > 1)).copied()
}

fn sniff(head: &Head<'_>) -> Sure {
    let mut first = head.lines().take(FIRST);
    if head.first().is_empty() || !first.all(|line| in_front(line).is_some()) {
        return Sure::No;
    }
    let others = || formats().filter(|format| !super::is_of_parts(format));
    // As lines of a log they would be events.
    let is_log = |format: &Format| format.tables.iter().all(|table| matches!(table.name, "event" | "text"));
    let is_of_service = service(head.text).is_some();
    if surest(head, others()).is_some_and(|(sure, format)| sure > Sure::Perhaps && !(is_of_service && is_log(format))) {
        return Sure::No;
    }
    let mut strangers = 0;
    let bare = Bare::of(head.text, |_| Micros(0), |_, _| strangers += 1);
    // The last line may be cut.
    let certain =
        strangers <= 1 && bare.part.format(&Formats::default()).is_some_and(|(sure, _)| sure == Sure::Certain);
    Sure::Certain.when(certain)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let Some(text) = input.whole(MOST_BYTES) else {
        out.note(None, "more text than is held in memory; take the times off the lines, or import it in pieces");
        return;
    };
    let mut strangers = Vec::new();
    let mut clock = Clock::new(out.hints());
    let counted = counted_end(&text, out.hints());
    let moment = |when: &When<'_>| match counted {
        Some((end, last)) => Micros(end.0.saturating_sub(((last - when.seconds()) * 1e6) as i64)),
        None => when.moment(&mut clock, out),
    };
    let bare = Bare::of(&text, moment, |number, line| strangers.push((number, line.to_owned())));
    for (number, line) in strangers {
        out.unknown(number, &line, "no time in front of the line");
    }
    let Some((_, format)) = bare.part.format(&Formats::default()) else {
        out.note(None, "nothing that is recognised behind the times");
        return;
    };
    let part = chosen(bare, &format, out.hints());
    let host = service(&text).map_or("", |service| service.host);
    if !host.is_empty() {
        out.set_host(host);
    }
    out.begin_part(format.name(), host, part.lines);
    format.read(&mut Input::new(part.text.as_bytes()), out);
    out.end_part(FORMAT.name);
}

/// The text without times where its lines have their own, or where its format makes nothing of them.
fn chosen(bare: Bare, format: &AnyFormat, hints: &Hints) -> Part {
    let head = |text: &str| {
        let end = (0..=text.len().min(HEAD_BYTES)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        survey(format, &mut Input::new(&text.as_bytes()[..end]), hints)
    };
    let alone = head(&bare.part.text);
    if !alone.timed_by_writing && hints.modified.is_some() {
        return bare.part;
    }
    let timed = bare.with_times();
    if head(&timed.text).notes > alone.notes { bare.part } else { timed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read};

    #[test]
    fn what_a_service_prints_is_read_from_the_system_log() {
        let lines = [
            "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----",
            " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st",
            " 1  0      0 123456   2048 654321    0    0     1     2  100  200  3  1 96  0  0",
            " 2  0      0 123400   2048 654321    0    0     0     8  110  210  9  1 90  0  0",
            " 3  0      0 123300   2048 654321    0    0     0     8  120  220  7  3 90  0  0",
        ];
        let text: String = lines
            .iter()
            .zip(0..)
            .map(|(line, at)| format!("Nov 21 08:19:{:02} db1 vmstat[88]: {line}\n", 2 + i32::max(0, at - 2) * 5))
            .collect();
        assert_eq!(detect(&Head { text: &text }).unwrap().name, "stamped");
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        assert!(read.text.contains("08:19:07.000000Z\t5\tdb1"), "{}", read.text);
        // Another service between its lines is said, and is not read.
        let mixed = format!("{text}Nov 21 08:19:20 db1 sshd[9]: Accepted publickey for bob\n");
        let read = crate::fixtures::read(&FORMAT, mixed.as_bytes());
        assert_eq!(read.tally.notes, 1, "{}", read.text);
    }

    #[test]
    fn a_log_of_one_service_stays_a_log() {
        let text = "\
Nov 21 08:19:02 db1 sshd[88]: Accepted publickey for bob
Nov 21 08:19:03 db1 sshd[88]: session opened for user bob
Nov 21 08:19:04 db1 sshd[88]: session closed for user bob
Nov 21 08:19:05 db1 sshd[88]: Connection closed
";
        assert_eq!(detect(&Head { text }).unwrap().name, "syslog");
    }
}
