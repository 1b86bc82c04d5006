//! Times in cells of tables that say nothing about themselves.

use fenxi_model::Micros;
use jiff::{
    Timestamp,
    civil::{Date, Time},
    tz::TimeZone,
};

use super::labels::seconds_of;
use crate::{Clock, Out, Relative, civil_date, civil_time, ctime, number, stamp, stamp::When as Stamped};

/// How the cells of a column encode the time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum When {
    /// A date and a time of day, in one of many forms.
    Date,
    /// A time of day.
    Day,
    /// Since 1970, in units of so many seconds.
    Epoch(f64),
    /// Since the start, in units of so many seconds.
    Elapsed(f64),
    /// As `strftime` prints it in this form.
    Form(String),
}

impl When {
    /// The form of this name in a mapping file or a format's file; any other word is a form of `strftime`.
    pub(crate) fn named(name: &str) -> When {
        match name {
            "iso" | "date" => When::Date,
            "clock" => When::Day,
            "epoch" | "epoch_s" => When::Epoch(1.0),
            "epoch_ms" => When::Epoch(1e-3),
            "epoch_us" => When::Epoch(1e-6),
            "epoch_ns" => When::Epoch(1e-9),
            "elapsed" | "elapsed_s" => When::Elapsed(1.0),
            "elapsed_ms" => When::Elapsed(1e-3),
            "elapsed_us" => When::Elapsed(1e-6),
            form => When::Form(form.to_owned()),
        }
    }

    /// Recognised from a column's header and its first cell; None when it is no time.
    pub(crate) fn detect(header: &str, cell: &str) -> Option<When> {
        if let Some(value) = number(cell) {
            let unit = time_header(header)?;
            return Some(match unit {
                Some(scale) if value * scale >= 5e8 => When::Epoch(scale),
                Some(scale) => When::Elapsed(scale),
                None => epoch_scale(value).map_or(When::Elapsed(1.0), When::Epoch),
            });
        }
        if moment(cell, &TimeZone::UTC).is_some() {
            return Some(When::Date);
        }
        time_of_day(cell).map(|_| When::Day)
    }
}

/// Moments from cells, one after another.
#[derive(Debug)]
pub(crate) struct Times {
    clock: Clock,
    zone: TimeZone,
    relative: Option<Relative>,
    last: Option<Time>,
    /// Set once hours proved to be those of half days.
    afternoon: Option<bool>,
}

impl Times {
    /// Takes dates and zones that cells leave out from the hints.
    pub(super) fn new(out: &Out<'_>) -> Times {
        Times::in_zone(out, None)
    }

    /// As [`Times::new`], but times that name no zone are in `zone`.
    pub(crate) fn in_zone(out: &Out<'_>, zone: Option<TimeZone>) -> Times {
        let mut clock = Clock::new(out.hints());
        let zone = zone.unwrap_or_else(|| out.hints().zone.clone());
        clock.set_zone(zone.clone());
        Times { clock, zone, relative: None, last: None, afternoon: None }
    }

    /// A new table begins: times of day may begin anew.
    pub(super) fn restart(&mut self, out: &Out<'_>) {
        self.clock = Clock::new(out.hints());
        self.last = None;
        self.afternoon = None;
    }

    /// Times of day that follow are on `date`.
    pub(crate) fn set_date(&mut self, date: Date) {
        if self.clock.date() != Some(date) {
            self.clock.set_date(date);
        }
    }

    /// The moment in `cell`; None when it is not written as in `when`.
    pub(crate) fn read(&mut self, when: &When, cell: &str, out: &mut Out<'_>) -> Option<Micros> {
        match when {
            When::Date => moment(cell, &self.zone).or_else(|| self.yearless(cell, out)),
            When::Day => {
                let time = self.unfold(time_of_day(cell)?);
                Some(self.clock.at(time, out))
            }
            When::Epoch(scale) => number(cell).map(|value| Micros((value * scale * 1e6).round() as i64)),
            When::Elapsed(scale) => {
                let seconds = number(cell)? * scale;
                let relative = self.relative.get_or_insert_with(|| Relative::elapsed(out));
                Some(relative.after(seconds))
            }
            When::Form(form) => formed(form, cell, &self.zone),
        }
    }

    /// A month, a day and a time, as syslog and others write them without a year.
    fn yearless(&mut self, cell: &str, out: &mut Out<'_>) -> Option<Micros> {
        let cell = cell.trim();
        let read =
            stamp(cell).filter(|read| read.rest.is_empty() && cell.starts_with(|c: char| c.is_ascii_alphabetic()))?;
        matches!(read.when, Stamped::Yearless(..)).then(|| read.when.moment(&mut self.clock, out))
    }

    /// Some wrappers stamp twelve hours without saying which half of the day: once a time goes back
    /// from 12 to 1, the hours are of the half day that began at the last 12.
    fn unfold(&mut self, time: Time) -> Time {
        let Some(last) = self.last.replace(time) else { return time };
        match &mut self.afternoon {
            None if last.hour() == 12 && time.hour() == 1 => self.afternoon = Some(true),
            None => return time,
            Some(afternoon) if last.hour() == 11 && time.hour() == 12 => *afternoon = !*afternoon,
            Some(_) => {}
        }
        let half = if self.afternoon == Some(true) { 12 } else { 0 };
        time.with().hour(time.hour() % 12 + half).build().unwrap_or(time)
    }
}

/// A time of day: `14:35:53`, `02:35:53 PM`.
fn time_of_day(cell: &str) -> Option<Time> {
    let (time, half) = match cell.split_once(' ') {
        Some((time, half)) => (time, Some(half.trim()).filter(|h| is_half(h))?),
        None => return if cell.contains(':') { civil_time(cell, None) } else { None },
    };
    civil_time(time, Some(half))
}

fn is_half(word: &str) -> bool {
    word.eq_ignore_ascii_case("am") || word.eq_ignore_ascii_case("pm")
}

/// Whether a header names a time; if so, the seconds of its unit when it has one.
fn time_header(header: &str) -> Option<Option<f64>> {
    const NAMES: &[&str] = &[
        "time",
        "timestamp",
        "ts",
        "t",
        "date",
        "datetime",
        "date time",
        "epoch",
        "unixtime",
        "unix time",
        "unix timestamp",
        "elapsed",
        "elapsed time",
        "seconds",
        "second",
        "secs",
        "sec",
        "sample time",
        "@timestamp",
    ];
    let lower = header.trim().to_ascii_lowercase().replace('_', " ");
    // `TimeStampUs`, `timestampMs`: the unit is a separate word.
    let lower = match ["us", "ms", "ns"].iter().find_map(|unit| Some((lower.strip_suffix(unit)?, unit))) {
        Some(("timestamp" | "time" | "elapsed" | "epoch", unit)) => {
            format!("{} {unit}", &lower[..lower.len() - unit.len()])
        }
        _ => lower,
    };
    let (name, unit) = match lower.find(['(', '[']) {
        Some(at) => (lower[..at].trim(), lower[at + 1..].trim_end_matches([')', ']']).trim()),
        None => match lower.rsplit_once(' ') {
            Some((name, unit)) if seconds_of(unit).is_some() && NAMES.contains(&name) => (name, unit),
            _ => (lower.as_str(), ""),
        },
    };
    if !NAMES.contains(&name) {
        return None;
    }
    let own = if matches!(name, "seconds" | "second" | "secs" | "sec") { Some(1.0) } else { None };
    Some(seconds_of(unit).or(own))
}

/// Whether a number is so large that it can only count from 1970, and in units of how many seconds.
fn epoch_scale(value: f64) -> Option<f64> {
    match value {
        v if v >= 5e17 => Some(1e-9),
        v if v >= 5e14 => Some(1e-6),
        v if v >= 5e11 => Some(1e-3),
        v if v >= 5e8 => Some(1.0),
        _ => None,
    }
}

/// Reads a date with a time of day in one of the forms that tools and spreadsheets write; `zone` is
/// that of a time that does not name one.
pub(crate) fn moment(text: &str, zone: &TimeZone) -> Option<Micros> {
    let text = text.trim();
    if text.len() < 8 {
        return None;
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(Micros(timestamp.as_microsecond()));
    }
    let local = |when: jiff::civil::DateTime, utc: bool| {
        let zone = if utc { TimeZone::UTC } else { zone.clone() };
        let timestamp = zone.to_ambiguous_timestamp(when).compatible().ok()?;
        Some(Micros(timestamp.as_microsecond()))
    };
    if text.as_bytes()[0].is_ascii_alphabetic() {
        let read = ctime(text).filter(|read| read.rest.is_empty())?;
        return local(read.when, matches!(read.zone, Some("UTC" | "GMT")));
    }
    let end = text.find(['T', ' ', ',']).unwrap_or(text.len());
    let date = civil_date(&text[..end])?;
    let rest = text[end..].trim_start_matches(['T', ' ', ',']);
    if rest.is_empty() {
        return local(date.to_datetime(Time::midnight()), false);
    }
    let mut words = rest.split_ascii_whitespace();
    let first = words.next()?;
    let (mut half, mut utc) = (None, false);
    let first = first.strip_suffix('Z').inspect(|_| utc = true).unwrap_or(first);
    for word in words {
        match word {
            w if is_half(w) && half.is_none() => half = Some(w),
            "UTC" | "GMT" | "Z" | "+0000" | "+00:00" => utc = true,
            _ => return None,
        }
    }
    local(date.to_datetime(civil_time(first, half)?), utc)
}

/// Reads `text` as `strftime` prints it in `form`.
fn formed(form: &str, text: &str, zone: &TimeZone) -> Option<Micros> {
    let broken = jiff::fmt::strtime::parse(form, text.trim()).ok()?;
    if let Ok(timestamp) = broken.to_timestamp() {
        return Some(Micros(timestamp.as_microsecond()));
    }
    let time = broken.to_time().unwrap_or(Time::midnight());
    let when = broken.to_date().ok()?.to_datetime(time);
    let timestamp = zone.to_ambiguous_timestamp(when).compatible().ok()?;
    Some(Micros(timestamp.as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hints;

    #[test]
    fn a_moment_is_read_in_many_forms() {
        let t = Micros::parse("2026-11-21T14:35:53").unwrap();
        for text in [
            "2026-11-21T14:35:53Z",
            "2026-11-21 14:35:53",
            "2026-11-21 14:35:53Z",
            "2026-11-21 15:35:53+01:00",
            "2026-11-21T14:35:53.000",
            "2026-11-21 14:35:53 UTC",
            "2026/11/21 14:35:53",
            "11/21/2026 02:35:53 PM",
            "21.11.2026 14:35:53",
            "Sat Nov 21 14:35:53 UTC 2026",
            "Sat Nov 21 14:35:53 2026",
        ] {
            assert_eq!(moment(text, &TimeZone::UTC), Some(t), "{text}");
        }
        for text in ["", "12", "hello there", "2026-13-01 00:00:00", "2026-11-21 14:35:53 kg", "1.2.3"] {
            assert_eq!(moment(text, &TimeZone::UTC), None, "{text}");
        }
    }

    #[test]
    fn a_column_of_numbers_is_a_time_only_by_its_name() {
        assert_eq!(When::detect("Time (s)", "30"), Some(When::Elapsed(1.0)));
        assert_eq!(When::detect("timestamp", "1795271753"), Some(When::Epoch(1.0)));
        assert_eq!(When::detect("timeStamp", "1795271753123"), Some(When::Epoch(1e-3)));
        assert_eq!(When::detect("time_ms", "1500"), Some(When::Elapsed(1e-3)));
        assert_eq!(When::detect("bytes", "1795271753"), None);
        assert_eq!(When::detect("response time (ms)", "3"), None);
        assert_eq!(When::detect("x", "14:35:53"), Some(When::Day));
        assert_eq!(When::detect("x", "a:b"), None);
    }

    #[test]
    fn twelve_hours_without_a_half_go_on() {
        let mut out = Out::new("test", Hints::none("x"), |_, _| {});
        let mut times = Times::new(&out);
        let mut at = |cell: &str| times.read(&When::Day, cell, &mut out).unwrap().0 / 60_000_000;
        let first = at("11:59:00");
        let minutes: Vec<_> =
            ["12:00:00", "12:59:00", "01:00:00", "11:59:00", "12:00:00", "01:00:00"].map(|c| at(c) - first).into();
        assert_eq!(minutes, [1, 60, 61, 720, 721, 781]);
    }
}
