//! Lines of the text log: a prefix that every server sets for itself, a severity, and the message.

use fenxi_model::Micros;
use jiff::civil::DateTime;

use super::{
    Entry, Times,
    message::Log,
    words::{english_word, is_unknown},
};
use crate::{Input, Out, Sure, civil_date, civil_time};

/// Severities, and what other parts of a report begin with.
const PRIMARY: &[&str] = &[
    "LOG", "ERROR", "FATAL", "PANIC", "WARNING", "NOTICE", "INFO", "DEBUG", "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4",
    "DEBUG5",
];
const PARTS: &[&str] = &["DETAIL", "HINT", "STATEMENT", "CONTEXT", "QUERY", "LOCATION", "BACKTRACE"];
/// How far a prefix goes at most.
const PREFIX: usize = 600;
/// The longest part of a report that is kept.
const MAX_TEXT: usize = 64 << 10;

/// A line that begins a report or a part of it.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// The time in the prefix, and its zone.
    pub(super) when: Option<(DateTime, &'a str)>,
    pub(super) pid: Option<i64>,
    user: &'a str,
    database: &'a str,
    /// The severity or the part in English.
    pub(super) kind: &'a str,
    /// Whether the log is in another language, by this word.
    foreign: bool,
    pub(super) text: &'a str,
}

impl Line<'_> {
    /// Whether a report begins with it.
    pub(super) fn is_primary(&self) -> bool {
        PRIMARY.contains(&self.kind)
    }

    /// The report that begins with it.
    pub(super) fn entry(&self, number: u64, t: Option<Micros>) -> Entry {
        Entry {
            line: number,
            t,
            pid: self.pid,
            user: self.user.to_owned(),
            database: self.database.to_owned(),
            severity: self.kind.to_owned(),
            foreign: self.foreign,
            message: self.text.to_owned(),
            ..Entry::default()
        }
    }

    /// How sure it is that a PostgreSQL server wrote it.
    pub(super) fn sure(&self) -> Sure {
        match self.kind {
            // Words of other languages are looked for in fewer places: the server's prefix names its process.
            "LOG" | "STATEMENT" if self.foreign => Sure::Certain.when(self.pid.is_some()),
            "LOG" | "STATEMENT" => Sure::Certain,
            "ERROR" | "FATAL" | "PANIC" => Sure::Likely.when(self.pid.is_some()),
            _ => Sure::No,
        }
    }
}

/// Reads a line; None when it has no time or no severity behind it.
pub(super) fn line(line: &str) -> Option<Line<'_>> {
    report(line).filter(|line| line.when.is_some())
}

/// Reads a line that may have no time; None when it has no severity.
pub(super) fn report(line: &str) -> Option<Line<'_>> {
    let (prefix, kind, foreign, text) = parts(line)?;
    let (before, when, rest) = match time(prefix) {
        Some((before, when, zone, rest)) => (before, Some((when, zone)), rest),
        None => ("", None, prefix),
    };
    // pgpool's log has the same severities.
    if rest.contains(": pid ") {
        return None;
    }
    let (mut user, mut database) = (value(rest, &["user="]), value(rest, &["db=", "database="]));
    if user.is_none() && database.is_none() {
        (user, database) = (value(before, &["user="]), value(before, &["db=", "database="]));
    }
    if user.is_none() && database.is_none() {
        let at = rest
            .split([' ', ':', ',', '[', ']'])
            .find_map(|word| word.split_once('@').filter(|(a, b)| !a.is_empty() && !b.is_empty()));
        (user, database) = at.unzip();
    }
    let [user, database] = [user, database].map(|name| name.filter(|name| !is_unknown(name)).unwrap_or(""));
    Some(Line { when, pid: pid(rest), user, database, kind, foreign, text })
}

/// Cuts the line at its severity, which two blanks follow: what is before, the severity in English, whether it was in another
/// language, and what is behind.
fn parts(line: &str) -> Option<(&str, &str, bool, &str)> {
    for (at, _) in line.match_indices(":  ").take_while(|(at, _)| *at < PREFIX) {
        // French has a blank before it.
        let before = line.get(..at)?.trim_end_matches([' ', '\u{a0}', '\u{202f}']);
        let edge = before.char_indices().rfind(|(_, c)| !c.is_alphanumeric());
        let begin = edge.map_or(0, |(at, c)| at + c.len_utf8());
        let (prefix, word) = before.split_at_checked(begin)?;
        let text = line.get(at + 3..)?;
        if before.len() == at && (PRIMARY.contains(&word) || PARTS.contains(&word)) {
            return Some((prefix, word, false, text));
        }
        if let Some(kind) = english_word(word) {
            return Some((prefix, kind, true, text));
        }
    }
    None
}

/// Finds `2026-11-23 04:23:02.460 UTC` in a prefix; gives what is before, the time, the zone and what is behind.
pub(super) fn time(prefix: &str) -> Option<(&str, DateTime, &str, &str)> {
    let begin = prefix
        .as_bytes()
        .windows(5)
        .position(|w| matches!(w, [a, b, c, d, b'-'] if [a, b, c, d].iter().all(|b| b.is_ascii_digit())))?;
    let (before, text) = prefix.split_at_checked(begin)?;
    let date = civil_date(text.get(..10)?)?;
    let rest = text.get(10..)?.strip_prefix([' ', 'T'])?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(rest.len());
    let clock = rest.get(..end)?.trim_end_matches(':');
    if clock.matches(':').count() != 2 {
        return None;
    }
    let when = date.to_datetime(civil_time(clock, None)?);
    let rest = rest.get(clock.len()..)?;
    let Some(named) = rest.strip_prefix(' ') else { return Some((before, when, "", rest)) };
    let end = named.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-'))).unwrap_or(named.len());
    let (zone, behind) = named.split_at(end);
    let letters = (2..=5).contains(&zone.len()) && zone.bytes().all(|b| b.is_ascii_uppercase());
    let offset = zone.strip_prefix(['+', '-']).is_some_and(|o| matches!(o.len(), 2 | 4));
    if letters || offset { Some((before, when, zone, behind)) } else { Some((before, when, "", rest)) }
}

/// `[4711]`, `[4711-3]`, `pid=4711`.
fn pid(rest: &str) -> Option<i64> {
    if let Some(pid) = value(rest, &["pid="]) {
        return pid.parse().ok();
    }
    rest.match_indices('[').find_map(|(at, _)| {
        let digits = rest.get(at + 1..)?;
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        digits.get(end..)?.starts_with([']', '-']).then(|| digits.get(..end)?.parse().ok()).flatten()
    })
}

/// The text after one of `names`, up to a separator of values.
fn value<'a>(text: &'a str, names: &[&str]) -> Option<&'a str> {
    let name = names.iter().find_map(|name| Some(text.find(name)? + name.len()))?;
    let rest = text.get(name..)?;
    let unknown = rest.find(']').and_then(|end| rest.get(..=end)).filter(|name| is_unknown(name));
    unknown.or_else(|| rest.get(..rest.find([',', ' ', ']', ';', '|', ':']).unwrap_or(rest.len())))
}

/// Reads the whole log.
pub(super) fn read(input: &mut Input<'_>, times: &mut Times, log: &mut Log, out: &mut Out<'_>) {
    let mut entry: Option<Entry> = None;
    // The part of the report that a further line belongs to.
    let mut part = String::new();
    while input.line().is_some() {
        let (number, text) = (input.number(), input.text());
        match line(text) {
            Some(line) if line.is_primary() => {
                if let Some(entry) = entry.take() {
                    log.entry(entry, out);
                }
                let t = line.when.map(|(when, zone)| times.moment(when, zone, out));
                entry = Some(line.entry(number, t));
                part.clear();
            }
            Some(line) => match &mut entry {
                Some(entry) => {
                    line.kind.clone_into(&mut part);
                    add(entry, &part, line.text);
                }
                None => out.unknown(number, text, "no report of the server before it"),
            },
            None => match &mut entry {
                Some(entry) if text.starts_with('\t') => {
                    add(entry, &part, "\n");
                    add(entry, &part, text.get(1..).unwrap_or(""));
                }
                _ if text.trim().is_empty() => {}
                _ => out.unknown(number, text, "no time and severity"),
            },
        }
    }
    if let Some(entry) = entry {
        log.entry(entry, out);
    }
}

/// Adds text to a part of a report; of the other parts nothing is wanted.
pub(super) fn add(entry: &mut Entry, part: &str, text: &str) {
    let into = match part {
        "" => &mut entry.message,
        "DETAIL" => &mut entry.detail,
        "STATEMENT" => &mut entry.statement,
        _ => return,
    };
    if into.len() + text.len() <= MAX_TEXT {
        into.push_str(text);
    }
}
