//! `lockstat` of Solaris, illumos and FreeBSD: contention, holding and, with `-I`, a profile.
//!
//! One run gives a table for each kind of event. The printed shares are of events, or with `-P` of
//! time, without a mark; they are computed again from the numbers. In distributions the value
//! beside a bar is the upper bound of its bucket. With `-g` every function counts what those that it
//! called did too; such rows have a separate event, as they do not add up. `-p` and `-T` do not
//! say in which unit they print: times are nanoseconds, and spins are turns of a loop as on Solaris.

mod line;
#[cfg(test)]
mod tests;

use fenxi_model::catalog::{histogram, lock, stack};
use rustc_hash::FxHashSet;

use super::{
    locks::{Locks, Mean, Place},
    report::Reports,
    stacks::{Amount, Owner, Stacks, function},
};
use crate::{Family, Format, Head, Input, Out, Sure, number};
use line::{Header, PROFILE, Plain, Unit};
pub(super) use line::{MAX_FRAMES, bucket, dashes, word};

/// Importer for lockstat of Solaris and FreeBSD.
pub static FORMAT: Format = Format {
    name: "lockstat",
    summary: "lockstat of Solaris and FreeBSD: -C, -H, -A, -I, -h, -s, -g, -k, -w, -W, -R, -P, -p, -T, -b, -D",
    family: Family::Trace,
    tables: &[&lock::TABLE, &stack::TABLE, &histogram::TABLE],
    example: "\
Adaptive mutex block: 5 events in 5.055 seconds (1 events/sec)

Count indv cuml rcnt     nsec Lock                   Caller
-------------------------------------------------------------------------------
    4  80%  80% 0.00  3193015 0xffffff01e00ba360     ufs_getattr+0x54
    1  20% 100% 0.00  2656909 0xffffff01e07e7400     ufs_iget+0x198
-------------------------------------------------------------------------------
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    if head.any(|l| line::header(l).is_some()) {
        return Sure::Certain;
    }
    if head.has_words("Event Time Owner Lock Caller") {
        return Sure::Certain;
    }
    if head.any(line::simplified_header) {
        return Sure::Certain;
    }
    let first = || head.lines().take(5);
    let plain = first().all(|l| line::plain(l).is_some());
    let totals = first().all(|l| line::total(l).is_some());
    Sure::Likely.when(!head.first().is_empty() && (plain || totals))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::new();
    input.each_line(|number, line| reader.line(number, line, out));
    reader.end_of_run(out);
}

/// More than any machine has.
const MAX_CPUS: usize = 1 << 16;

/// Kind of the lines that are expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Titles, `-p`, `-D 0`.
    Outside,
    /// Rows of a table.
    Rows(Header),
    /// The distribution of the record, frames beside it.
    Distribution(Header),
    /// Single events of `-T`, with frames under them.
    Trace,
    /// Rows that a well-known script made of a profile: CPUs and offsets added up.
    Simplified,
}

struct Reader {
    state: State,
    reports: Reports,
    locks: Locks,
    stacks: Stacks,
    /// How long the current run observed.
    seconds: Option<f64>,
    /// Descriptions of the tables of this run.
    seen: Vec<String>,
    table: Table,
    record: Option<Record>,
}

/// The table being read.
#[derive(Default)]
struct Table {
    event: String,
    /// All events of this kind.
    events: Option<f64>,
    /// Samples in the rows of a profile so far, to find how many CPUs were sampled.
    shown: f64,
    cpus: FxHashSet<String>,
}

/// The row being read: a caller may be wrapped to the next line, a distribution may follow.
struct Record {
    count: f64,
    mean: Mean,
    lock: String,
    caller: String,
    /// The row was so long that its end may be on the next line.
    full: bool,
    buckets: Vec<(f64, f64)>,
    /// From the innermost.
    frames: Vec<String>,
}

impl Reader {
    fn new() -> Reader {
        Reader {
            state: State::Outside,
            reports: Reports::default(),
            locks: Locks::new("lockstat"),
            stacks: Stacks::default(),
            seconds: None,
            seen: Vec::new(),
            table: Table::default(),
            record: None,
        }
    }

    fn line(&mut self, at: u64, text: &str, out: &mut Out<'_>) {
        if text.trim().is_empty() {
            return;
        }
        if let Some(title) = line::title(text) {
            return self.title(title, out);
        }
        if let Some(header) = line::header(text) {
            self.end_of_record();
            self.state = State::Rows(header);
            return;
        }
        if dashes(text) {
            return self.end_of_record();
        }
        let state = self.state;
        let known = match state {
            State::Rows(header) | State::Distribution(header) if text.contains("Time Distribution") => {
                self.state = State::Distribution(header);
                true
            }
            State::Rows(header) => self.row(text, header) || self.wrapped(text),
            State::Distribution(header) => self.distribution(text, header),
            State::Trace => self.traced(text),
            State::Simplified => self.simplified(text),
            State::Outside => false,
        };
        if !known {
            self.other(at, text, out);
        }
    }

    fn title(&mut self, title: line::Title<'_>, out: &mut Out<'_>) {
        self.end_of_table();
        let another = self.seconds.is_some_and(|s| s != title.seconds);
        if another || self.seen.len() > 64 || self.seen.iter().any(|d| d == title.description) {
            self.end_of_run(out);
        }
        self.seconds = Some(title.seconds);
        self.seen.push(title.description.to_owned());
        self.table.event = line::named(title.description).into_owned();
        self.table.events = Some(title.events);
        self.state = State::Outside;
    }

    fn row(&mut self, text: &str, header: Header) -> bool {
        let Some(row) = line::row(text, header) else { return false };
        self.end_of_record();
        let count = match (header.rates, self.seconds) {
            // A rate of 0 is one below 1: how many there were is not known.
            (true, _) if row.count == 0.0 => f64::NAN,
            (true, Some(seconds)) => row.count * seconds,
            (true, None) => f64::NAN,
            (false, _) => row.count,
        };
        let mean = match (header.unit, row.mean) {
            (Unit::Nanoseconds, Some(ns)) => Mean::Seconds(ns / 1e9),
            (Unit::Turns, Some(turns)) => Mean::Turns(turns),
            _ => Mean::Unknown,
        };
        self.record = Some(Record {
            count,
            mean,
            lock: row.lock.to_owned(),
            caller: row.caller.to_owned(),
            full: text.len() >= 79,
            buckets: Vec::new(),
            frames: Vec::new(),
        });
        true
    }

    /// The end of a row that a terminal or a document wrapped.
    fn wrapped(&mut self, text: &str) -> bool {
        let Some(record) = &mut self.record else { return false };
        let text = text.trim();
        if text.contains([' ', '|']) || !(record.caller.is_empty() || record.full) {
            return false;
        }
        record.full = false;
        record.caller.push_str(text);
        true
    }

    fn distribution(&mut self, text: &str, header: Header) -> bool {
        let Some(record) = &mut self.record else { return false };
        if let Some(bucket) = line::bucket(text) {
            let seconds = if header.rates { self.seconds.unwrap_or(f64::NAN) } else { 1.0 };
            record.buckets.push((bucket.below, bucket.count * seconds));
            if !bucket.frame.is_empty() && record.frames.len() < MAX_FRAMES {
                record.frames.push(bucket.frame.to_owned());
            }
            return true;
        }
        // A frame alone is far to the right, or wherever a document put it.
        let frame = text.trim();
        let plausible = !frame.contains(' ') && number(frame).is_none() && record.frames.len() < MAX_FRAMES;
        if plausible {
            record.frames.push(frame.to_owned());
        }
        plausible
    }

    fn traced(&mut self, text: &str) -> bool {
        if let Some(event) = line::traced(text) {
            self.end_of_record();
            self.table.event = line::numbered(event.code).into_owned();
            self.table.events = None;
            self.record = Some(Record {
                count: 1.0,
                mean: mean_of(event.code, event.time),
                lock: event.lock.to_owned(),
                caller: event.caller.to_owned(),
                full: false,
                buckets: Vec::new(),
                frames: Vec::new(),
            });
            return true;
        }
        let frame = text.trim();
        match &mut self.record {
            Some(record) if text.starts_with("      ") && !frame.contains(' ') && record.frames.len() < MAX_FRAMES => {
                record.frames.push(frame.to_owned());
            }
            _ => return false,
        }
        true
    }

    fn simplified(&mut self, text: &str) -> bool {
        let Some((count, caller)) = line::simplified(text) else { return false };
        self.end_of_record();
        let caller = caller.to_owned();
        let (lock, buckets, frames) = Default::default();
        self.record = Some(Record { count, mean: Mean::Unknown, lock, caller, full: false, buckets, frames });
        true
    }

    fn other(&mut self, at: u64, text: &str, out: &mut Out<'_>) {
        if text.split_ascii_whitespace().eq(["Event", "Time", "Owner", "Lock", "Caller"]) {
            self.end_of_table();
            self.state = State::Trace;
        } else if line::simplified_header(text) {
            self.state = State::Simplified;
        } else if let Some(plain) = line::plain(text) {
            self.plain(&plain, out);
        } else if let Some((count, event)) = line::total(text) {
            let place = Place { event, lock: "", caller: "" };
            self.locks.add(place, count, Mean::Unknown, None);
        } else if let Some((_, warning)) = text.split_once("lockstat: warning: ") {
            out.fact("lockstat", "warning", warning);
        } else if !text.starts_with("lockstatI - ") {
            out.unknown(at, text, "no line of lockstat");
        }
    }

    /// A line of `-p` is a separate record; how long the run observed is not known.
    fn plain(&mut self, plain: &Plain<'_>, out: &mut Out<'_>) {
        self.end_of_record();
        self.table.event = line::numbered(plain.code).into_owned();
        self.table.events = None;
        if line::in_turns(plain.code) {
            out.assume("spins counted in turns of the loop, as Solaris does, as -p does not say the unit");
        }
        let mut record = Record {
            count: plain.count,
            mean: plain.total.map_or(Mean::Unknown, |total| mean_of(plain.code, total / plain.count.max(1.0))),
            lock: plain.lock.to_owned(),
            caller: plain.caller.to_owned(),
            full: false,
            buckets: Vec::new(),
            frames: Vec::new(),
        };
        for (i, word) in plain.rest.split_ascii_whitespace().enumerate() {
            match number(word) {
                Some(count) if i < 64 && count > 0.0 => record.buckets.push((2f64.powi(i as i32), count)),
                Some(_) if i < 64 => {}
                _ => record.frames.push(word.to_owned()),
            }
        }
        self.record = Some(record);
        self.end_of_record();
        self.relieve(out);
    }

    fn end_of_record(&mut self) {
        let generated = match self.state {
            State::Rows(header) | State::Distribution(header) => {
                self.state = State::Rows(header);
                header.generated
            }
            _ => false,
        };
        let Some(record) = self.record.take() else { return };
        let with_below;
        let event = if generated {
            with_below = format!("{} generated", self.table.event);
            with_below.as_str()
        } else {
            self.table.event.as_str()
        };
        let place = Place { event, lock: &record.lock, caller: &record.caller };
        self.locks.add(place, record.count, record.mean, self.table.events);
        for (below, count) in &record.buckets {
            self.locks.bucket(place, *below, *count);
        }
        let profile = self.table.event == PROFILE;
        if generated || (!profile && record.frames.is_empty()) {
            return;
        }
        if profile {
            self.table.shown += record.count;
            let cpu = record.lock.split('+').next().unwrap_or("");
            if self.table.cpus.len() < MAX_CPUS && !self.table.cpus.contains(cpu) {
                self.table.cpus.insert(cpu.to_owned());
            }
        }
        self.fold(&record, profile);
    }

    fn fold(&mut self, record: &Record, profile: bool) {
        let caller = function(&record.caller);
        // Whether the stack begins with the caller itself depends on the release.
        let repeated = record.frames.first().is_some_and(|frame| function(frame) == caller);
        let frames = record.frames.iter().rev().map(|frame| function(frame));
        let frames = frames.chain(Some(caller).filter(|_| !repeated));
        let time_s = match record.mean {
            Mean::Seconds(mean) if !profile => Some(mean * record.count),
            _ => None,
        };
        let event = if profile { "on-cpu" } else { &self.table.event };
        self.stacks.add(Owner { comm: None, pid: None, event }, frames, Amount { time_s, ..Amount::of(record.count) });
    }

    /// Writes what is held when it is too much, however incomplete.
    fn relieve(&mut self, out: &mut Out<'_>) {
        if self.locks.is_full() || self.stacks.is_full() {
            self.end_of_run(out);
        }
    }

    fn end_of_table(&mut self) {
        self.end_of_record();
        self.state = State::Outside;
    }

    fn end_of_run(&mut self, out: &mut Out<'_>) {
        self.end_of_table();
        if self.locks.is_empty() && self.stacks.is_empty() {
            return;
        }
        let t = self.reports.next(out, self.seconds);
        let sample_s = if self.seen.len() == 1 { self.table.sample_s(self.seconds) } else { None };
        self.locks.flush(out, t, self.seconds, None);
        self.stacks.flush(out, t, self.seconds, sample_s);
        self.seconds = None;
        self.seen.clear();
        self.table = Table::default();
    }
}

impl Table {
    /// The time that one sample of a profile represents: every CPU is sampled all the time. Known
    /// only where all samples are shown.
    fn sample_s(&self, seconds: Option<f64>) -> Option<f64> {
        let all = self.events == Some(self.shown) && self.shown > 0.0;
        let complete = all
            && self.cpus.len() < MAX_CPUS
            && self.event == PROFILE
            && self.cpus.iter().all(|cpu| cpu.starts_with("cpu["));
        if complete { seconds.map(|s| s * self.cpus.len() as f64 / self.shown) } else { None }
    }
}

fn mean_of(code: u32, time: f64) -> Mean {
    if line::in_turns(code) { Mean::Turns(time) } else { Mean::Seconds(time / 1e9) }
}
