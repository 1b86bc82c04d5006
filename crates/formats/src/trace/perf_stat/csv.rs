//! The lines of `perf stat -x`.
//!
//! Depending on version and options: `[time] [place [CPUs]] value [unit] event [cgroup] [deviation%]
//! [runtime, share] [derived value, what it is]`; further derived values have separate lines.

use super::{Reading, aggregated, base_unit, clock_unit, percent, place, stamp};
use crate::number;

/// The separator of a line that is a reading.
pub(super) fn separator(line: &str) -> Option<char> {
    [',', ';', '\t', '|', ':'].into_iter().find(|s| reading(line, *s).is_some_and(|r| !r.event.is_empty()))
}

pub(super) fn reading(line: &str, separator: char) -> Option<Reading> {
    let all: Vec<&str> = line.split(separator).map(str::trim).collect();
    let mut fields = all.as_slice();
    let mut reading = Reading::default();
    if let Some(time) = fields.first().and_then(|f| stamp(f)) {
        reading.time = Some(time);
        fields = fields.get(1..)?;
    }
    if fields.first().is_some_and(|f| !f.is_empty() && !is_value(f)) {
        reading.place = place(fields.first()?);
        fields = fields.get(1..)?;
        if aggregated(&reading.place) && fields.first().is_some_and(|f| f.bytes().all(|b| b.is_ascii_digit())) {
            fields = fields.get(1..)?;
        }
    }
    let (value, rest) = fields.split_first()?;
    if value.is_empty() {
        // A value derived from the counter of the line before.
        let [.., derived, what] = rest else { return None };
        let blank = rest.iter().take(rest.len().saturating_sub(2)).all(|f| f.is_empty());
        reading.derived = Some((number(derived)?, (*what).to_owned()));
        return (blank && !what.is_empty()).then_some(reading);
    }
    if !is_value(value) {
        return None;
    }
    let (unit, event, rest) = match rest {
        // Before units were printed.
        [event] => ("", *event, [].as_slice()),
        [event, rest @ ..] if base_unit(event).is_none() => ("", *event, rest),
        [unit, event, rest @ ..] => (*unit, *event, rest),
        [] => return None,
    };
    if event.is_empty() || number(event).is_some() {
        return None;
    }
    let (base, scale) = match base_unit(unit)? {
        ("", scale) => clock_unit(event, value.bytes().all(|b| b.is_ascii_digit())).unwrap_or(("", scale)),
        known => known,
    };
    (reading.unit, reading.event) = (base, event.to_owned());
    reading.value = number(value).map(|v| v * scale);
    more(rest, &mut reading);
    Some(reading)
}

/// The fields after the event.
fn more(mut rest: &[&str], reading: &mut Reading) {
    while let [first, more @ ..] = rest {
        let runtime = !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit());
        if runtime {
            reading.running = more.first().and_then(|share| number(share));
            if let [_, derived, what, ..] = more {
                reading.derived = number(derived).map(|value| (value, (*what).to_owned()));
            }
            return;
        }
        match percent(first) {
            Some(deviation) => reading.deviation = Some(deviation),
            None => reading.cgroup = (*first).to_owned(),
        }
        rest = more;
    }
}

fn is_value(field: &str) -> bool {
    matches!(field, "<not counted>" | "<not supported>") || number(field).is_some()
}
