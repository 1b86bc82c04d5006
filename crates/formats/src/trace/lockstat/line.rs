//! The lines of lockstat, each understood by itself.

use std::borrow::Cow;

use crate::number;

/// An event as lockstat numbers (with `-p` and `-T`) and describes it, and as rows call it.
pub(super) struct Event {
    code: u32,
    description: &'static str,
    name: &'static str,
}

const fn event(code: u32, description: &'static str, name: &'static str) -> Event {
    Event { code, description, name }
}

/// The events of Solaris, illumos and FreeBSD; 8 to 15, 36 and 37 are FreeBSD's.
const EVENTS: &[Event] = &[
    event(0, "Adaptive mutex spin", "mutex spin"),
    event(1, "Adaptive mutex block", "mutex block"),
    event(2, "Spin lock spin", "spinlock spin"),
    event(3, "Thread lock spin", "thread lock spin"),
    event(4, "R/W writer blocked by writer", "rwlock write block by writer"),
    event(5, "R/W writer blocked by readers", "rwlock write block by readers"),
    event(6, "R/W reader blocked by writer", "rwlock read block by writer"),
    event(7, "R/W reader blocked by write wanted", "rwlock read block by waiting writer"),
    event(8, "R/W writer spin on writer", "rwlock write spin on writer"),
    event(9, "R/W writer spin on readers", "rwlock write spin on readers"),
    event(10, "R/W reader spin on writer", "rwlock read spin on writer"),
    event(11, "R/W reader spin on write wanted", "rwlock read spin on waiting writer"),
    event(12, "SX exclusive block", "sx exclusive block"),
    event(13, "SX shared block", "sx shared block"),
    event(14, "SX exclusive spin", "sx exclusive spin"),
    event(15, "SX shared spin", "sx shared spin"),
    event(32, "Adaptive mutex hold", "mutex hold"),
    event(33, "Spin lock hold", "spinlock hold"),
    event(34, "R/W writer hold", "rwlock write hold"),
    event(35, "R/W reader hold", "rwlock read hold"),
    event(36, "SX shared hold", "sx shared hold"),
    event(37, "SX exclusive hold", "sx exclusive hold"),
    event(56, "Profiling interrupt", PROFILE),
    event(60, "Recursive lock entry detected", "recursive lock entry"),
    event(61, "Lockstat enter failure", "lockstat enter failure"),
    event(62, "Lockstat exit failure", "lockstat exit failure"),
    event(63, "Lockstat record failure", "lockstat record failure"),
];

/// Name of the rows of `-I`: samples of what the CPUs run, whose time is how late they came.
pub(super) const PROFILE: &str = "profiling interrupt";

/// How rows call the event with this description.
pub(super) fn named(description: &str) -> Cow<'static, str> {
    match EVENTS.iter().find(|e| e.description == description) {
        Some(event) => Cow::Borrowed(event.name),
        None => Cow::Owned(description.to_lowercase()),
    }
}

/// How rows call the event with this number.
pub(super) fn numbered(code: u32) -> Cow<'static, str> {
    match EVENTS.iter().find(|e| e.code == code) {
        Some(event) => Cow::Borrowed(event.name),
        None => Cow::Owned(format!("lockstat event {code}")),
    }
}

/// Whether Solaris measures the event with this number in turns of a loop instead of time.
pub(super) fn in_turns(code: u32) -> bool {
    matches!(code, 0 | 2 | 3)
}

/// `Adaptive mutex spin: 349 events in 5.055 seconds (69 events/sec)`; the end may be missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Title<'a> {
    pub(super) description: &'a str,
    pub(super) events: f64,
    pub(super) seconds: f64,
}

pub(super) fn title(line: &str) -> Option<Title<'_>> {
    let (description, rest) = line.trim().rsplit_once(": ")?;
    let mut words = rest.split_ascii_whitespace();
    let events = number(words.next()?)?;
    if words.next()? != "events" || words.next()? != "in" {
        return None;
    }
    let seconds = number(words.next()?)?;
    let named = words.next()?.starts_with("second") && !description.is_empty();
    named.then_some(Title { description, events, seconds })
}

/// Meanings of the columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The first column is a rate (`-R`), not a number of events.
    pub(super) rates: bool,
    /// Each function counts what those that it called did (`-g`).
    pub(super) generated: bool,
    pub(super) unit: Unit,
}

/// Unit of the fifth column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Nanoseconds,
    Turns,
    /// Something without a meaning: `(N/A)`.
    Other,
    /// There is no such column (`-b`).
    Absent,
}

/// `Count indv cuml rcnt     nsec Lock                   Caller`
pub(super) fn header(line: &str) -> Option<Header> {
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    let second = words.next()?;
    let known = matches!(first, "Count" | "ops/s") && matches!(second, "indv" | "genr");
    if !known || words.next()? != "cuml" || words.next()? != "rcnt" {
        return None;
    }
    let unit = match words.next() {
        Some("nsec") => Unit::Nanoseconds,
        Some("spin") => Unit::Turns,
        Some("units" | "(N/A)") => Unit::Other,
        _ => Unit::Absent,
    };
    Some(Header { rates: first == "ops/s", generated: second == "genr", unit })
}

/// One row of a table. A lock's name may have blanks in it (FreeBSD), a caller has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row<'a> {
    pub(super) count: f64,
    pub(super) mean: Option<f64>,
    pub(super) lock: &'a str,
    /// Empty when the line was wrapped before it.
    pub(super) caller: &'a str,
}

pub(super) fn row(line: &str, header: Header) -> Option<Row<'_>> {
    let (count, rest) = word(line)?;
    let count = number(count)?;
    let (share, rest) = word(rest)?;
    let (sum, rest) = word(rest)?;
    let percent = |text: &str| text.strip_suffix('%').is_some_and(|n| number(n).is_some());
    if !percent(share) || !(percent(sum) || sum == "----") {
        return None;
    }
    let (references, rest) = word(rest)?;
    number(references)?;
    let (mean, rest) = match header.unit {
        Unit::Absent => (None, rest),
        _ => {
            let (mean, rest) = word(rest)?;
            (Some(number(mean)?), rest)
        }
    };
    let rest = rest.trim();
    let (lock, caller) = match rest.rsplit_once([' ', '\t']) {
        Some((lock, caller)) => (lock.trim_end(), caller),
        None => (rest, ""),
    };
    (!lock.is_empty()).then_some(Row { count, mean, lock, caller })
}

/// A line of a distribution: `1024 |@@@@@@@@@@@@                   14        cpu_idle+0x11a`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket<'a> {
    /// The printed value: what fell into the bucket was below it.
    pub(crate) below: f64,
    pub(crate) count: f64,
    /// The frame of the stack beside it; empty where there is none.
    pub(crate) frame: &'a str,
}

pub(crate) fn bucket(line: &str) -> Option<Bucket<'_>> {
    let (below, rest) = line.split_once('|')?;
    let rest = rest.trim_start_matches(['@', ' ', '|']);
    let (count, frame) = word(rest)?;
    let below = number(below.trim()).filter(|below| is_power_of_two(*below))?;
    Some(Bucket { below, count: number(count)?, frame: frame.trim() })
}

/// The tools print nothing else as a bound, so there are few distinct ones.
fn is_power_of_two(value: f64) -> bool {
    (1.0..=(u64::MAX as f64)).contains(&value) && value.log2().fract() == 0.0
}

/// The deepest stack that is kept.
pub(crate) const MAX_FRAMES: usize = 1024;

/// A line of `-p`: event, count, lock, caller, references, total time, 64 counts, frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plain<'a> {
    pub(super) code: u32,
    pub(super) count: f64,
    pub(super) lock: &'a str,
    pub(super) caller: &'a str,
    /// Of all events together; None with `-b`.
    pub(super) total: Option<f64>,
    /// The rest of the line: counts of the distribution, then frames.
    pub(super) rest: &'a str,
}

pub(super) fn plain(line: &str) -> Option<Plain<'_>> {
    let (code, rest) = word(line)?;
    let code = code.parse().ok().filter(|code| *code < 64)?;
    let (count, rest) = word(rest)?;
    let count = f64::from(count.parse::<u32>().ok()?);
    // The number of references has six decimals: the only such word, and all before it is names.
    let mut place = rest;
    let (names, after) = loop {
        let (next, after) = word(place)?;
        if six_decimals(next) {
            let end = rest.len() - place.trim_start().len();
            break (rest.get(..end)?.trim(), after);
        }
        place = after;
    };
    let (lock, caller) = names.rsplit_once(' ')?;
    let (total, rest) = match word(after) {
        Some((total, rest)) => (Some(number(total)?), rest),
        None => (None, after),
    };
    Some(Plain { code, count, lock: lock.trim_end(), caller, total, rest })
}

fn six_decimals(text: &str) -> bool {
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    text.split_once('.').is_some_and(|(a, b)| !a.is_empty() && digits(a) && b.len() == 6 && digits(b))
}

/// A line of `-T`: event, time, owner, lock, caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Traced<'a> {
    pub(super) code: u32,
    pub(super) time: f64,
    pub(super) lock: &'a str,
    pub(super) caller: &'a str,
}

pub(super) fn traced(line: &str) -> Option<Traced<'_>> {
    let (code, rest) = word(line)?;
    let code = code.parse().ok().filter(|code| *code < 64)?;
    let (time, rest) = word(rest)?;
    let time = number(time)?;
    let (owner, rest) = word(rest)?;
    let owner = owner.strip_prefix("0x").unwrap_or(owner);
    if owner.is_empty() || !owner.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let (lock, caller) = rest.trim().rsplit_once(' ')?;
    Some(Traced { code, time, lock: lock.trim_end(), caller })
}

/// The header of the script that adds up a profile's CPUs and offsets.
pub(super) fn simplified_header(line: &str) -> bool {
    line.split_ascii_whitespace().eq(["Count", "%", "cuml%", "Caller[PIL]"])
}

/// A row under it: the samples, and where.
pub(super) fn simplified(line: &str) -> Option<(f64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let count = number(words.next()?)?;
    number(words.next()?)?;
    number(words.next()?)?;
    let caller = words.next()?;
    if words.next().is_none() { Some((count, caller)) } else { None }
}

/// A line of `-D 0`: a number of events and a known description.
pub(super) fn total(line: &str) -> Option<(f64, &'static str)> {
    let (count, description) = line.trim().split_once(' ')?;
    let count = number(count)?;
    EVENTS.iter().find(|e| e.description == description).map(|e| (count, e.name))
}

/// The first word of a line and what follows it.
pub(crate) fn word(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let end = line.find(|c: char| c.is_ascii_whitespace()).unwrap_or(line.len());
    if end == 0 { None } else { Some(line.split_at(end)) }
}

/// A line of dashes between records.
pub(crate) fn dashes(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 10 && line.bytes().all(|b| b == b'-')
}
