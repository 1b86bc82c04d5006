//! The lines of `perf stat` for people.

use super::{Reading, aggregated, base_unit, clock_unit, percent, place, stamp};
use crate::number;

/// `Performance counter stats for 'sleep 1' (3 runs):` gives what was observed, here `sleep 1 (3 runs)`.
pub(super) fn title(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("Performance counter stats for ")?.trim_end_matches(':');
    let quoted = rest.split_once('\'').and_then(|(before, rest)| Some((before, rest.rsplit_once('\'')?)));
    Some(match quoted {
        Some((before, (inner, after))) => format!("{before}{inner}{after}"),
        None => rest.to_owned(),
    })
}

/// `#           time             counts unit events`
pub(super) fn interval_header(line: &str) -> bool {
    let Some(rest) = line.trim().strip_prefix('#') else { return false };
    let mut words = rest.split_ascii_whitespace();
    words.next() == Some("time") && words.any(|w| w == "counts")
}

/// Which time is at the end of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Elapsed,
    User,
    System,
}

/// `0.12723 +- 0.00165 seconds time elapsed  ( +-  1.30% )`, `0.120412000 seconds user`
pub(super) fn time(line: &str) -> Option<(What, f64)> {
    let (value, rest) = line.trim().split_once(' ')?;
    let value = number(value)?;
    let (_, rest) = rest.split_once("seconds ")?;
    let what = rest.trim();
    if what.starts_with("time elapsed") {
        Some((What::Elapsed, value))
    } else if what.starts_with("user") {
        Some((What::User, value))
    } else {
        what.starts_with("sys").then_some((What::System, value))
    }
}

/// A counter: `[time] [place [CPUs]] value [unit] event [cgroup] [# derived] [( +- n% )] [(n%)]`.
pub(super) fn reading(line: &str) -> Option<Reading> {
    let mut reading = Reading::default();
    let (counter, rest) = match line.split_once(" # ") {
        Some((counter, rest)) => (counter, Some(rest)),
        None => match line.trim_start().strip_prefix("# ") {
            Some(rest) => ("", Some(rest)),
            None => (line, None),
        },
    };
    let counter = cut_shares(counter, &mut reading);
    if let Some(rest) = rest {
        reading.derived = derived(cut_shares(rest, &mut reading));
    }
    let mut words: Vec<&str> = counter.split_whitespace().collect();
    if let Some(time) = words.first().and_then(|w| stamp(w)) {
        // A counter can look like a stamp only where a comma is decimal and it has a unit.
        if words.len() > 1 {
            reading.time = Some(time);
            words.remove(0);
        }
    }
    let first_value = words.iter().position(|w| value_like(w));
    let Some(first_value) = first_value else {
        // Values derived from several counters stand alone.
        reading.event = words.first().copied().unwrap_or("").to_owned();
        return reading.derived.is_some().then_some(reading);
    };
    let mut at = first_value;
    if first_value > 0 {
        reading.place = place(&words.get(..first_value)?.join(" "));
        at += usize::from(aggregated(&reading.place));
    }
    let names = value(words.get(at..)?, &mut reading)?;
    let (event, cgroup) = match names {
        [event] => (*event, ""),
        [event, unit] if unit.starts_with('(') => (*event, *unit),
        [event, cgroup] => (*event, *cgroup),
        _ => return None,
    };
    reading.event = event.to_owned();
    if !cgroup.starts_with('(') {
        reading.cgroup = cgroup.to_owned();
    }
    Some(reading)
}

/// Takes `( +-  1.15% )` and `(49.77%)`, once `[49.77%]`, off the end of a text.
fn cut_shares<'a>(text: &'a str, reading: &mut Reading) -> &'a str {
    let mut text = text.trim_end();
    while let Some(open) = text.rfind(['(', '[']) {
        let Some(inner) = text.get(open + 1..).and_then(|t| t.strip_suffix([')', ']'])) else { break };
        let inner = inner.trim();
        match inner.strip_prefix("+-") {
            Some(deviation) if percent(deviation).is_some() => reading.deviation = percent(deviation),
            None if percent(inner).is_some() => reading.running = percent(inner),
            _ => break,
        }
        text = text.get(..open).unwrap_or("").trim_end();
    }
    text
}

/// `0.40% of all branches`, `281.7 cs/sec  cs_per_second`
fn derived(text: &str) -> Option<(f64, String)> {
    let (value, what) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    match value.strip_suffix('%') {
        Some(value) => Some((number(value)?, format!("% {}", what.trim()))),
        None => Some((number(value)?, what.trim().to_owned())),
    }
}

fn value_like(word: &str) -> bool {
    word.starts_with('<') || word.starts_with(|c: char| c.is_ascii_digit())
}

/// Reads the value and its unit at the beginning of `words`; gives the words behind.
fn value<'w, 'a>(words: &'w [&'a str], reading: &mut Reading) -> Option<&'w [&'a str]> {
    if words.first()?.starts_with('<') {
        let known = matches!(words, ["<not", "counted>" | "supported>", ..]);
        let names = words.get(2..).filter(|_| known)?;
        let unit = names.first().and_then(|unit| base_unit(unit)).is_some() && names.len() > 1;
        return names.get(usize::from(unit)..);
    }
    // Some languages group digits with blanks.
    let mut digits = (*words.first()?).to_owned();
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|w| w.len() >= 3 && w.as_bytes().iter().take(3).all(u8::is_ascii_digit))
    {
        let whole = word.len() == 3 || word.as_bytes().get(3).is_some_and(|b| matches!(b, b',' | b'.'));
        if !whole || digits.contains(['.', ',']) {
            break;
        }
        digits.push_str(word);
        at += 1;
    }
    let names = words.get(at..)?;
    let before = names.first().filter(|_| names.len() > 1).and_then(|unit| base_unit(unit));
    let behind = names.get(1).filter(|u| u.starts_with('(')).and_then(|unit| base_unit(unit));
    let clock = || match names.first()? {
        // Perf 2.6 had the unit in the name.
        name if name.ends_with("-clock-msecs") => Some(("s", 1e-3)),
        name => clock_unit(name, is_whole(&digits)),
    };
    let (unit, scale) = before.or(behind).or_else(clock).unwrap_or(("", 1.0));
    // Nanoseconds have no decimals.
    reading.value = Some(grouped(&digits, !unit.is_empty() && scale != 1e-9)? * scale);
    reading.unit = unit;
    names.get(usize::from(before.is_some())..)
}

/// Whether a number has no decimals: three figures follow each of its separators.
fn is_whole(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit()).skip(1).all(|group| group.len() == 3)
}

/// A number with separators of any language; the last one is decimal where there are decimals.
fn grouped(text: &str, decimals: bool) -> Option<f64> {
    let separator = |c: char| matches!(c, '.' | ',' | '\'' | '’' | '\u{a0}' | '\u{202f}');
    let last = text.rfind(['.', ',']);
    let groups = text.split(separator).skip(1).all(|g| g.len() == 3);
    let whole: String = text.chars().filter(|c| !separator(*c)).collect();
    match last {
        Some(at) if decimals || !groups => {
            let (units, fraction) = (text.get(..at)?, text.get(at + 1..)?);
            let units: String = units.chars().filter(|c| !separator(*c)).collect();
            number(&format!("{units}.{fraction}"))
        }
        _ => number(&whole),
    }
}
