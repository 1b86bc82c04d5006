//! Times as `sadf` gives them: a date and a time with a zone, or seconds since 1970.

use fenxi_model::Micros;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use rustc_hash::FxHashSet;

use crate::{Out, civil_date, civil_time};

/// Reads `sadf`'s times; the last one is remembered, as many lines have the same.
pub(super) struct Moments {
    zone: TimeZone,
    last: Option<(Box<str>, Micros)>,
}

impl Moments {
    /// Times that name no zone, or another than UTC, are in the zone of the hints.
    pub(super) fn new(out: &Out<'_>) -> Moments {
        Moments { zone: out.hints().zone.clone(), last: None }
    }

    /// Reads `2026-11-21 08:41:02 UTC`, the same without a zone or with another, or `1795250462`.
    pub(super) fn read(&mut self, text: &str) -> Option<Micros> {
        if let Some((last, t)) = &self.last
            && **last == *text
        {
            return Some(*t);
        }
        let t = self.parse(text)?;
        self.last = Some((text.into(), t));
        Some(t)
    }

    fn parse(&self, text: &str) -> Option<Micros> {
        if text.bytes().all(|b| b.is_ascii_digit()) {
            let seconds: i64 = text.parse().ok()?;
            return Timestamp::from_second(seconds).ok().map(|t| Micros(t.as_microsecond()));
        }
        let mut words = text.split_ascii_whitespace();
        let (date, time, zone) = (words.next()?, words.next()?, words.next());
        let when = civil_date(date)?.to_datetime(civil_time(time, None)?);
        self.at(when, matches!(zone, Some("UTC" | "GMT" | "Z")))
    }

    /// The moment of a date and a time, in UTC or in the zone of the hints.
    pub(super) fn at(&self, when: DateTime, utc: bool) -> Option<Micros> {
        let zone = if utc { TimeZone::UTC } else { self.zone.clone() };
        let t = zone.to_ambiguous_timestamp(when).compatible().ok()?;
        Some(Micros(t.as_microsecond()))
    }
}

/// The length of an interval from `sadf`'s field: none for events.
pub(super) fn interval(text: &str) -> Option<f64> {
    text.parse::<u32>().ok().filter(|s| *s > 0).map(f64::from)
}

/// Restarts and comments that are distinguished; a file has a handful.
const MAX_EVENTS: usize = 1 << 16;

/// Restarts of the system and comments in its data file. Reports repeat them in each section.
#[derive(Debug, Default)]
pub(super) struct Events {
    seen: FxHashSet<(i64, Box<str>)>,
}

impl Events {
    /// Adds an event, unless it is known.
    pub(super) fn add(&mut self, t: Micros, kind: &str, text: &str, out: &mut Out<'_>) {
        let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if self.seen.len() < MAX_EVENTS && self.seen.insert((t.0, text.as_str().into())) {
            out.event(t, kind, "sar", &text);
        }
    }
}
