//! Lines of the text log: a prefix that every server sets for itself, a severity, and the message.

use jiff::civil::DateTime;

use super::{Entry, Times, message::Log};
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
    when: DateTime,
    zone: &'a str,
    pid: Option<i64>,
    user: &'a str,
    database: &'a str,
    kind: &'a str,
    text: &'a str,
}

impl Line<'_> {
    /// Whether a report begins with it.
    pub(super) fn is_primary(&self) -> bool {
        PRIMARY.contains(&self.kind)
    }

    /// How sure it is that a PostgreSQL server wrote it.
    pub(super) fn sure(&self) -> Sure {
        match self.kind {
            "LOG" | "STATEMENT" => Sure::Certain,
            "ERROR" | "FATAL" | "PANIC" => Sure::Likely.when(self.pid.is_some()),
            _ => Sure::No,
        }
    }
}

/// Reads a line; None when it has no time or no severity behind it.
pub(super) fn line(line: &str) -> Option<Line<'_>> {
    let (prefix, kind, text) = parts(line)?;
    let (before, when, zone, rest) = time(prefix)?;
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
    let known = |name: Option<_>| name.filter(|name| *name != "[unknown]").unwrap_or("");
    Some(Line { when, zone, pid: pid(rest), user: known(user), database: known(database), kind, text })
}

/// Cuts the line at its severity, which two blanks follow.
fn parts(line: &str) -> Option<(&str, &str, &str)> {
    for (at, _) in line.match_indices(":  ").take_while(|(at, _)| *at < PREFIX) {
        let before = line.get(..at)?;
        let begin = before.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |i| i + 1);
        let word = before.get(begin..).unwrap_or("");
        if PRIMARY.contains(&word) || PARTS.contains(&word) {
            return Some((before.get(..begin)?, word, line.get(at + 3..)?));
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

/// What follows one of `names`, up to what separates values.
fn value<'a>(text: &'a str, names: &[&str]) -> Option<&'a str> {
    let name = names.iter().find_map(|name| Some(text.find(name)? + name.len()))?;
    let rest = text.get(name..)?;
    let end =
        if rest.starts_with("[unknown]") { 9 } else { rest.find([',', ' ', ']', ';', '|', ':']).unwrap_or(rest.len()) };
    rest.get(..end)
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
                entry = Some(begun(&line, number, times, out));
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

fn begun(line: &Line<'_>, number: u64, times: &mut Times, out: &mut Out<'_>) -> Entry {
    Entry {
        line: number,
        t: Some(times.moment(line.when, line.zone, out)),
        pid: line.pid,
        user: line.user.to_owned(),
        database: line.database.to_owned(),
        severity: line.kind.to_owned(),
        message: line.text.to_owned(),
        ..Entry::default()
    }
}

/// Adds text to a part of a report; of the other parts nothing is wanted.
fn add(entry: &mut Entry, part: &str, text: &str) {
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
