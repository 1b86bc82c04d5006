//! Ranges of time as people write them: `03:10..03:25`, `yesterday`, `-2h..`, `2026-11-24T10:00..11:00`.
//!
//! Times are UTC, as everything that is printed.

use crate::{Micros, parse_seconds};

/// A range of time, some of which is only known together with the present moment.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeRange {
    from: Bound,
    to: Bound,
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// As far as there is anything; at the end, now.
    Open,
    /// A moment.
    At(Micros),
    /// All of a day.
    Day(Day),
    /// Microseconds after midnight; without a day the last such moment, or the first one after the other end.
    Clock(Option<Day>, i64),
    /// Microseconds before now.
    Ago(i64),
    /// Microseconds after the begin.
    After(i64),
}

/// A day.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Day {
    /// So many days before today.
    Before(i64),
    /// It begins at this moment.
    At(Micros),
}

const DAY: i64 = 86_400_000_000;

impl Day {
    fn begin(self, now: Micros) -> i64 {
        match self {
            Day::Before(days) => now.0.div_euclid(DAY) * DAY - days * DAY,
            Day::At(begin) => begin.0,
        }
    }

    fn parse(text: &str) -> Option<Day> {
        match text {
            "today" => Some(Day::Before(0)),
            "yesterday" => Some(Day::Before(1)),
            _ if text.len() == 10 => Micros::parse(&format!("{text}T00:00:00")).map(Day::At),
            _ => None,
        }
    }
}

impl TimeRange {
    /// Parses a range: a day (`yesterday`, `2026-11-24`) or `FROM..TO`; None when it is none.
    ///
    /// An end is a time of day, with a day before it or not (`03:10`, `yesterdayT03:10`, `2026-11-24T10:00`), a day, a
    /// time before now (`-2h`, `now-2h`), `now`, or nothing; the last can also be a length (`03:10..+15m`).
    pub fn parse(text: &str) -> Option<TimeRange> {
        if let Some(day) = Day::parse(text) {
            return Some(TimeRange { from: Bound::Day(day), to: Bound::Day(day) });
        }
        let (from, to) = text.split_once("..")?;
        let (from, to) = (Bound::parse(from)?, Bound::parse(to)?);
        let nothing = from == Bound::Open && to == Bound::Open;
        let backwards = matches!(from, Bound::After(_)) || from == Bound::Open && matches!(to, Bound::After(_));
        (!nothing && !backwards).then_some(TimeRange { from, to })
    }

    /// Its begin and end; None when it has no length.
    pub fn resolve(&self, now: Micros) -> Option<(Micros, Micros)> {
        // Of a time of day without a day, the last one that has come.
        let last = |clock: i64| {
            let today = Day::Before(0).begin(now) + clock;
            if today > now.0 { today - DAY } else { today }
        };
        let from = match self.from {
            Bound::Open => i64::MIN,
            Bound::At(t) => t.0,
            Bound::Day(day) => day.begin(now),
            Bound::Clock(Some(day), clock) => day.begin(now) + clock,
            Bound::Clock(None, clock) => last(clock),
            Bound::Ago(us) => now.0.saturating_sub(us),
            Bound::After(_) => return None,
        };
        let to = match self.to {
            Bound::Open => now.0,
            Bound::At(t) => t.0,
            Bound::Day(day) => day.begin(now) + DAY,
            Bound::Clock(Some(day), clock) => day.begin(now) + clock,
            Bound::Clock(None, clock) if from == i64::MIN => last(clock),
            Bound::Clock(None, clock) => {
                let same_day = from.div_euclid(DAY) * DAY + clock;
                if same_day > from { same_day } else { same_day + DAY }
            }
            Bound::Ago(us) => now.0.saturating_sub(us),
            Bound::After(us) => from.saturating_add(us),
        };
        (from < to).then_some((Micros(from), Micros(to)))
    }
}

impl Bound {
    fn parse(text: &str) -> Option<Bound> {
        let length = |text: &str| {
            let named = text.ends_with(|c: char| c.is_ascii_alphabetic());
            parse_seconds(text).filter(|_| named).map(|seconds| (seconds * 1e6) as i64)
        };
        let text = text.trim();
        match text {
            "" => return Some(Bound::Open),
            "now" => return Some(Bound::Ago(0)),
            _ => {}
        }
        if let Some(ago) = text.strip_prefix('-').or_else(|| text.strip_prefix("now-")) {
            return length(ago).map(Bound::Ago);
        }
        if let Some(after) = text.strip_prefix('+') {
            return length(after).map(Bound::After);
        }
        if let Some(day) = Day::parse(text) {
            return Some(Bound::Day(day));
        }
        if let Some(clock) = clock(text) {
            return Some(Bound::Clock(None, clock));
        }
        let parts = text.rsplit_once(['T', ' ']);
        if let Some((day, clock)) = parts.and_then(|(day, time)| Some((Day::parse(day.trim_end())?, clock(time)?))) {
            return Some(Bound::Clock(Some(day), clock));
        }
        // With an offset, or `Z`.
        text.contains('T').then(|| Micros::parse(text))?.map(Bound::At)
    }
}

/// Microseconds after midnight that `03:10`, `03:10:30` or `03:10:30.5` say.
fn clock(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let whole = |part: &str| {
        let digits = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| part.parse::<i64>().ok())?
    };
    let (hours, minutes) = (whole(parts.next()?)?, whole(parts.next()?)?);
    let seconds = match parts.next() {
        None => 0.0,
        Some(text) if text.starts_with(|c: char| c.is_ascii_digit()) => text.parse::<f64>().ok()?,
        Some(_) => return None,
    };
    let fits = (hours < 24 && minutes < 60 || hours == 24 && minutes == 0) && (0.0..60.0).contains(&seconds);
    (fits && parts.next().is_none()).then_some((hours * 3600 + minutes * 60) * 1_000_000 + (seconds * 1e6) as i64)
}

#[cfg(test)]
mod tests {
    use super::TimeRange;
    use crate::Micros;

    /// The meaning of a text on 25 November 2026 at 09:30.
    fn message(text: &str) -> Option<String> {
        let now = Micros::parse("2026-11-25T09:30:00").unwrap();
        let (from, to) = TimeRange::parse(text)?.resolve(now)?;
        let from = if from.0 == i64::MIN { "the begin".to_owned() } else { from.to_the_second() };
        Some(format!("{from} to {}", to.to_the_second()))
    }

    #[test]
    fn ranges_are_read_as_people_write_them() {
        let cases = [
            ("03:10..03:25", "2026-11-25 03:10:00 to 2026-11-25 03:25:00"),
            // It has not come yet today.
            ("22:00..23:00", "2026-11-24 22:00:00 to 2026-11-24 23:00:00"),
            ("23:00..01:00", "2026-11-24 23:00:00 to 2026-11-25 01:00:00"),
            ("08:00..", "2026-11-25 08:00:00 to 2026-11-25 09:30:00"),
            ("..08:00", "the begin to 2026-11-25 08:00:00"),
            ("today", "2026-11-25 00:00:00 to 2026-11-26 00:00:00"),
            ("yesterday", "2026-11-24 00:00:00 to 2026-11-25 00:00:00"),
            ("2026-11-20", "2026-11-20 00:00:00 to 2026-11-21 00:00:00"),
            ("2026-11-20..2026-11-21", "2026-11-20 00:00:00 to 2026-11-22 00:00:00"),
            ("2026-11-24T10:00..11:00", "2026-11-24 10:00:00 to 2026-11-24 11:00:00"),
            ("2026-11-24T10:00:30..2026-11-24T10:01", "2026-11-24 10:00:30 to 2026-11-24 10:01:00"),
            ("2026-11-24 10:00..+15m", "2026-11-24 10:00:00 to 2026-11-24 10:15:00"),
            ("yesterdayT03:10..03:25", "2026-11-24 03:10:00 to 2026-11-24 03:25:00"),
            ("2026-11-24T10:00:00+02:00..09:00", "2026-11-24 08:00:00 to 2026-11-24 09:00:00"),
            ("-2h..", "2026-11-25 07:30:00 to 2026-11-25 09:30:00"),
            ("now-2h..-30m", "2026-11-25 07:30:00 to 2026-11-25 09:00:00"),
            ("yesterday..now", "2026-11-24 00:00:00 to 2026-11-25 09:30:00"),
        ];
        for (text, expected) in cases {
            assert_eq!(message(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_ranges() {
        for text in [
            "",
            "..",
            "60s..540s",
            "oltp..x",
            "a..",
            "..+5m",
            "+5m..",
            "25:00..26:00",
            "3..4",
            "03:1x..",
            "20261124",
            "today..",
        ] {
            assert_eq!(TimeRange::parse(text).is_some(), text == "today..", "{text}");
        }
        assert_eq!(message("-1h..-2h"), None, "it has no length");
    }
}
