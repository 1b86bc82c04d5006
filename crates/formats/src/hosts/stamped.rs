//! Output of another tool with a time in front of each line, as `ts`, `docker logs -t` and `kubectl logs --timestamps` put it there.
//!
//! The times are taken off, and the rest is read in the format that recognises it. Where its lines have no times, the
//! stamp of the first line of each report is put above the report, as `date` before a tool in a loop would. A format that reads
//! such lines by itself is not asked here.

use fenxi_model::Micros;
use rustc_hash::FxHashMap;

use super::segment::Segment;
use crate::{
    AnyFormat, Clock, Family, Format, Formats, HEAD_BYTES, Head, Hints, Input, Out, Sure, When, detect::surest,
    formats, stamp::in_front, survey,
};

/// Importer for ts, docker logs -t, kubectl logs --timestamps.
pub static FORMAT: Format = Format {
    name: "stamped",
    summary: "ts, docker logs -t, kubectl logs --timestamps: any other format with a timestamp before each line",
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

/// The lines of a text without their times.
#[derive(Default)]
struct Bare {
    part: Segment,
    /// By line, the moment that was in front of it.
    moments: Vec<Micros>,
}

impl Bare {
    /// All of `text`; the lines without a stamp are handed on and left out.
    fn of(text: &str, mut moment: impl FnMut(&When<'_>) -> Micros, mut without: impl FnMut(u64, &str)) -> Bare {
        let mut bare = Bare::default();
        for (line, number) in text.lines().zip(1..) {
            match in_front(line) {
                Some(stamp) => {
                    bare.part.add(number, stamp.rest);
                    bare.moments.push(moment(&stamp.when));
                }
                None if line.trim().is_empty() => {}
                None => without(number, line),
            }
        }
        bare
    }

    /// The text with the time above each report. A report begins with the first line that comes again; without one, wherever
    /// the time is another.
    fn with_times(&self) -> Segment {
        let lines: Vec<&str> = self.part.text.lines().collect();
        let begins = first_repeated(&lines);
        let mut part = Segment::default();
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
    if surest(head, others()).is_some_and(|(sure, _)| sure > Sure::Perhaps) {
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
    out.begin_part(format.name(), "", part.lines);
    format.read(&mut out.part(Input::new(part.text.as_bytes())), out);
    out.end_part(FORMAT.name);
}

/// The text without times where its lines have their own, or where its format makes nothing of them.
fn chosen(bare: Bare, format: &AnyFormat, hints: &Hints) -> Segment {
    let head = |text: &str| {
        let end = (0..=text.len().min(HEAD_BYTES)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        survey(format, &mut Input::new(&text.as_bytes()[..end]), hints)
    };
    let alone = head(&bare.part.text);
    if !alone.timed_by_writing && !alone.dated_by_head && hints.modified.is_some() {
        return bare.part;
    }
    let timed = bare.with_times();
    if head(&timed.text).notes > alone.notes { bare.part } else { timed }
}

#[cfg(test)]
mod tests {
    use crate::{Head, detect, fixtures::read};

    #[test]
    fn milliseconds_in_front_of_each_line_are_the_times_of_its_samples() {
        let header = "CPU\tAvg_MHz\tBusy%\tBzy_MHz\tTSC_MHz";
        let sample = |ms: u64, busy: u32| {
            let lines = [header.to_owned(), format!("-\t40\t1.17\t{busy}\t2998"), format!("0\t9\t0.30\t{busy}\t3000")];
            lines.map(|line| format!("{ms}: {line}\n")).concat()
        };
        let text =
            sample(1_581_002_778_866, 3436) + &sample(1_581_002_781_866, 3000) + &sample(1_581_002_784_866, 2900);
        assert_eq!(detect(&Head { text: &text }).map(|format| format.name), Some("stamped"));
        let read = read(&super::FORMAT, text.as_bytes());
        for line in [
            "2020-02-06T15:26:18.866000Z\t\tfixture\t0\t3436000000",
            "2020-02-06T15:26:21.866000Z\t3\tfixture\t0\t3000000000",
            "2020-02-06T15:26:24.866000Z\t3\tfixture\t0\t2900000000",
        ] {
            assert!(read.text.contains(line), "{line}\n{}", read.text);
        }
        assert_eq!(read.tally.notes, 0, "{}", read.text);
    }
}
