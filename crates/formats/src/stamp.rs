//! A time stamp at the beginning of a line, in any of the forms that people put there.
//!
//! `vmstat 1 | ts`, `... | while read l; do echo "$(date) $l"; done`, `date; cat /proc/diskstats` in a
//! loop, `zzz ***` of OSWatcher, `### 2026-11-21 08:19:03 ###`: the tool's own text follows on the
//! line or on the next ones.

use fenxi_model::Micros;
use jiff::{
    ToSpan,
    civil::{Date, DateTime, Time},
    tz::{Offset, TimeZone},
};

use super::{Clock, Out, civil_date, civil_time, date::ctime, zone};

/// A time stamp and the text after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamp<'a> {
    /// The time.
    pub when: When<'a>,
    /// The rest of the line, without the marks that set the stamp off.
    pub rest: &'a str,
}

/// A time as far as a stamp has it.
#[derive(Clone, Debug, PartialEq)]
pub enum When<'a> {
    /// A moment: seconds since 1970, or a date and time with its offset.
    Moment(Micros),
    /// A date and time, perhaps with a zone's abbreviation.
    Civil(DateTime, Option<&'a str>),
    /// Month, day and time: the year is that of the file.
    Yearless(i8, i8, Time),
    /// A time of day.
    Time(Time),
}

impl When<'_> {
    /// Seconds from some origin that is the same for all stamps of this form.
    pub fn seconds(&self) -> f64 {
        let civil =
            |when: &DateTime| TimeZone::UTC.to_timestamp(*when).map_or(0.0, |t| t.as_microsecond() as f64 / 1e6);
        match self {
            When::Moment(t) => t.0 as f64 / 1e6,
            When::Civil(when, _) => civil(when),
            When::Yearless(month, day, time) => {
                Date::new(2024, *month, *day).map_or(0.0, |d| civil(&d.to_datetime(*time)))
            }
            When::Time(time) => civil(&Date::constant(1970, 1, 1).to_datetime(*time)),
        }
    }

    /// The moment, by the clock's date and zone where the stamp does not say.
    pub fn moment(&self, clock: &mut Clock, out: &mut Out<'_>) -> Micros {
        match self {
            When::Moment(t) => *t,
            When::Civil(when, named) => {
                if let Some(name) = named {
                    clock.set_zone(zone::zone_named(name, out));
                }
                clock.moment(*when)
            }
            When::Time(time) => clock.at(*time, out),
            When::Yearless(month, day, time) => clock.moment(with_year(*month, *day, *time, clock, out)),
        }
    }
}

/// Hours by which a stamp of an unknown zone may seem to be later than the file that holds it.
const OTHER_ZONE: i64 = 14;

/// The latest date and time that `of` gives for a year and that is not after `latest`, whose zone may be another; of leap days
/// that of a leap year.
pub(crate) fn latest_year(latest: DateTime, of: impl Fn(i16) -> Option<DateTime>) -> Option<DateTime> {
    let bound = latest.checked_add(OTHER_ZONE.hours()).unwrap_or(latest);
    let years = (0..=8).map(|back| bound.year().saturating_sub(back));
    years.filter_map(of).find(|when| *when <= bound)
}

/// The date in the year after the clock's date, or else the latest one that is not after the file's last writing.
fn with_year(month: i8, day: i8, time: Time, clock: &Clock, out: &mut Out<'_>) -> DateTime {
    let of = |year: i16| Some(Date::new(year, month, day).ok()?.to_datetime(time));
    let found = match clock.date() {
        // Time goes on: December is followed by January.
        Some(last) => of(last.year())
            .filter(|when| (when.date() - last).get_days() > -180)
            .or_else(|| of(last.year().saturating_add(1))),
        None => {
            let hints = out.hints();
            let zone = hints.zone.clone();
            let local =
                |t: Micros| Some(jiff::Timestamp::from_microsecond(t.0).ok()?.to_zoned(zone.clone()).datetime());
            let (start, written) = (hints.start.and_then(local), hints.modified.and_then(local));
            out.assume("the year of the file's last writing, as there is none in the time stamps (or give --start)");
            match (start, written) {
                // The user's start is the first of them: the day may begin before it.
                (Some(start), _) => latest_year(start.checked_add(180.days()).unwrap_or(start), of),
                (None, Some(written)) => latest_year(written, of),
                (None, None) => of(1970),
            }
        }
    };
    // 29 February of no leap year.
    found.unwrap_or(Date::constant(1970, 1, 1).to_datetime(time))
}

/// Reads the time stamp at the beginning of `line`, if there is one.
pub fn stamp(line: &str) -> Option<Stamp<'_>> {
    let text = line.trim_start_matches(opens);
    let text = strip_word(text, &["zzz", "TS", "Time:", "time:", "Timestamp:", "timestamp:", "date:", "Date:"]);
    let text = text.trim_start_matches(opens);
    let (when, rest) = epoch(text).or_else(|| iso(text)).or_else(|| words(text)).or_else(|| time_of_day(text))?;
    let rest = rest.trim_start_matches(|c: char| opens(c) || closes(c));
    // `TS 1344561790.012 2012-08-09 21:23:10`: the same in two forms.
    let again = matches!(when, When::Moment(_))
        && rest.as_bytes().get(..4).is_some_and(|year| year.iter().all(u8::is_ascii_digit));
    let rest = if again { iso(rest).map_or(rest, |(_, rest)| rest.trim_start()) } else { rest };
    Some(Stamp { when, rest })
}

/// The time stamp that a tool such as `ts` or a container's log put in front of `line`, and the line as it was before.
pub(crate) fn in_front(line: &str) -> Option<Stamp<'_>> {
    let (text, bracket) = line.strip_prefix('[').map_or((line, false), |text| (text, true));
    let (when, rest) = epoch(text).or_else(|| iso(text)).or_else(|| words(text)).or_else(|| time_of_day(text))?;
    let rest = if bracket { rest.strip_prefix(']')? } else { rest.strip_prefix(':').unwrap_or(rest) };
    // Nothing follows where blanks at the ends of lines were removed.
    let rest = if rest.is_empty() { rest } else { rest.strip_prefix([' ', '\t'])? };
    Some(Stamp { when, rest })
}

fn opens(c: char) -> bool {
    c.is_ascii_whitespace() || matches!(c, '[' | '(' | '#' | '*' | '=' | '<' | '-' | '@')
}

fn closes(c: char) -> bool {
    matches!(c, ']' | ')' | ':' | '|' | ',' | ';' | '>')
}

fn strip_word<'a>(text: &'a str, names: &[&str]) -> &'a str {
    names.iter().find_map(|w| text.strip_prefix(w)).unwrap_or(text)
}

/// The first word without the marks behind it, and what follows.
fn word(text: &str) -> (&str, &str) {
    let end =
        text.find(|c: char| c.is_ascii_whitespace() || matches!(c, ']' | ')' | '|' | ';' | '>')).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    match word.strip_suffix([':', ',']) {
        Some(bare) => (bare, rest),
        None => (word, rest),
    }
}

/// `1795237143`, `1795237143.25`, `1795237143250`: from 2001 to 2128, so that no counter is taken for one.
fn epoch(text: &str) -> Option<(When<'static>, &str)> {
    let (word, rest) = word(text);
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    if !whole.bytes().all(|b| b.is_ascii_digit()) || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let n: i64 = whole.parse().ok()?;
    let micros = match whole.len() {
        10 => n * 1_000_000 + format!("{fraction:0<6}").get(..6)?.parse::<i64>().ok()?,
        13 if fraction.is_empty() => n * 1000,
        16 if fraction.is_empty() => n,
        19 if fraction.is_empty() => n / 1000,
        _ => return None,
    };
    (1_000_000_000_000_000..5_000_000_000_000_000).contains(&micros).then_some((When::Moment(Micros(micros)), rest))
}

/// A date in figures with a time behind it: `2026-11-21T08:19:03.5+01:00`, `2026-11-21 08:19:03 UTC`,
/// `11/21/2026 08:19:03 AM`, `20261121-081903`.
fn iso(text: &str) -> Option<(When<'_>, &str)> {
    if !text.as_bytes().first()?.is_ascii_digit() {
        return None;
    }
    if let Some(found) = compact(text) {
        return Some(found);
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '-' | '/' | '.'))?;
    let date = civil_date(&text[..end])?;
    let rest = text[end..].strip_prefix(['T', '_', '-', ',']).unwrap_or(&text[end..]).trim_start_matches([' ', '\t']);
    let (time, rest) = clock_time(rest)?;
    let when = date.to_datetime(time);
    let (name, after) = word(rest);
    if name == "Z" {
        return Some((When::Civil(when, Some("UTC")), after));
    }
    if let Some(offset) = zone::numeric(name) {
        return Some((with_offset(when, offset)?, after));
    }
    let (name, after) = word(rest.trim_start());
    match zone::numeric(name) {
        Some(offset) if name.len() >= 5 => Some((with_offset(when, offset)?, after)),
        _ if (3..=5).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase()) => {
            Some((When::Civil(when, Some(name)), after))
        }
        _ => Some((When::Civil(when, None), rest)),
    }
}

fn with_offset(when: DateTime, offset: Offset) -> Option<When<'static>> {
    let t = offset.to_timestamp(when).ok()?;
    Some(When::Moment(Micros(t.as_microsecond())))
}

/// `20261121-081903`, `20261121_081903`, `20261121T081903Z`, `20261121 08:19:03`.
fn compact(text: &str) -> Option<(When<'_>, &str)> {
    let digits = text.get(..8).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
    let date = Date::new(digits[..4].parse().ok()?, digits[4..6].parse().ok()?, digits[6..].parse().ok()?).ok()?;
    let rest = text[8..].strip_prefix(['-', '_', 'T', ' ', '.'])?;
    if let Some((time, rest)) = clock_time(rest) {
        return Some((When::Civil(date.to_datetime(time), None), rest));
    }
    let digits = rest.get(..6).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
    let time = Time::new(digits[..2].parse().ok()?, digits[2..4].parse().ok()?, digits[4..].parse().ok()?, 0).ok()?;
    let rest = &rest[6..];
    match rest.strip_prefix('Z') {
        Some(rest) => Some((When::Civil(date.to_datetime(time), Some("UTC")), rest)),
        None if rest.starts_with(|c: char| c.is_ascii_digit()) => None,
        None => Some((When::Civil(date.to_datetime(time), None), rest)),
    }
}

/// A time with at least minutes and seconds, and AM or PM behind it.
fn clock_time(text: &str) -> Option<(Time, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.')).unwrap_or(text.len());
    let time = text[..end].trim_end_matches([':', '.']);
    if time.matches(':').count() != 2 {
        return None;
    }
    // A comma before the fraction, as Python's logging prints it.
    let tail = text[end..].strip_prefix(',').filter(|_| end == time.len());
    let millis = tail.and_then(|t| t.get(..3)).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
    let (fraction, rest) = match millis {
        Some(digits) => (digits.parse::<i32>().ok()? * 1_000_000, &text[end + 4..]),
        None => (0, &text[time.len()..]),
    };
    let after = rest.trim_start_matches([' ', '\t']);
    let half = after.get(..2).filter(|h| matches!(*h, "AM" | "PM" | "am" | "pm"));
    let read = civil_time(time, half)?;
    let read = if fraction > 0 { read.with().subsec_nanosecond(fraction).build().ok()? } else { read };
    Some((read, if half.is_some() { &after[2..] } else { rest }))
}

/// The forms of `date`, with or without a year, and of `ts`: `Nov 21 08:19:03`.
fn words(text: &str) -> Option<(When<'_>, &str)> {
    if let Some(read) = ctime(text) {
        return Some((When::Civil(read.when, read.zone), read.rest));
    }
    let mut rest = text;
    let mut next = || {
        rest = rest.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        word
    };
    let month = super::date::month(next())?;
    let day: i8 = next().parse().ok().filter(|d| (1..=31).contains(d))?;
    let (time, rest) = clock_time(rest.trim_start())?;
    Some((When::Yearless(month, day, time), rest))
}

fn time_of_day(text: &str) -> Option<(When<'static>, &str)> {
    let (time, rest) = clock_time(text)?;
    // Text that goes on in another way is no time (an address, a device number).
    let ends = rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace() || opens(c) || closes(c));
    ends.then_some((When::Time(time), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Hints;

    /// The moment and the rest, in UTC, of a file last written on 2026-11-21 12:00:00.
    fn read(line: &str) -> Option<(String, &str)> {
        let hints = Hints { modified: Micros::parse("2026-11-21T12:00:00"), ..Hints::none("x") };
        let mut out = Out::new("test", hints, |_, _| {});
        let mut clock = Clock::new(out.hints());
        let stamp = stamp(line)?;
        Some((stamp.when.moment(&mut clock, &mut out).iso(), stamp.rest))
    }

    #[test]
    fn a_date_without_a_year_is_the_latest_one_before_the_file_was_written() {
        for (line, t) in [
            ("Nov 21 11:00:00 x", "2026-11-21T11:00:00"),
            ("Nov 21 23:00:00 x", "2026-11-21T23:00:00"),
            ("Nov 23 08:00:00 x", "2025-11-23T08:00:00"),
            ("Dec 31 08:00:00 x", "2025-12-31T08:00:00"),
            ("Feb 29 08:00:00 x", "2024-02-29T08:00:00"),
        ] {
            assert_eq!(read(line).unwrap().0, Micros::parse(t).unwrap().iso(), "{line}");
        }
    }

    #[test]
    fn stamps_of_every_form_are_read() {
        let plain = Micros::parse("2026-11-21T08:19:03").unwrap();
        for text in [
            "1795249143",
            "1795249143:",
            "1795249143000",
            "1795249143000000",
            "1795249143000000000",
            "[1795249143]",
            "2026-11-21 08:19:03",
            "2026-11-21T08:19:03Z",
            "2026-11-21T09:19:03+01:00",
            "2026-11-21T08:19:03+0000",
            "2026-11-21 08:19:03 UTC",
            "2026-11-21 03:19:03 -0500",
            "[2026-11-21 08:19:03]",
            "2026/11/21 08:19:03",
            "11/21/2026 08:19:03 AM",
            "21.11.2026 08:19:03",
            "20261121-081903",
            "20261121T081903Z",
            "20261121 08:19:03",
            "Sat Nov 21 08:19:03 2026",
            "Sat Nov 21 08:19:03 UTC 2026",
            "Sat 21 Nov 2026 08:19:03 AM UTC",
            "zzz ***Sat Nov 21 08:19:03 UTC 2026",
            "### 2026-11-21 08:19:03",
            "Nov 21 08:19:03",
            "08:19:03",
            "08:19:03 AM",
            "(08:19:03)",
        ] {
            let line = format!("{text} 1  0      0 22392704");
            assert_eq!(read(&line), Some((plain.iso(), "1  0      0 22392704")), "{text}");
        }
        let fraction = Micros(plain.0 + 250_000);
        for text in ["1795249143.25", "2026-11-21T08:19:03.250+00:00", "2026-11-21 08:19:03,250", "08:19:03.25"] {
            assert_eq!(read(&format!("{text} x")), Some((fraction.iso(), "x")), "{text}");
        }
    }

    #[test]
    fn a_stamp_in_front_leaves_the_line_as_it_was() {
        for stamp in
            ["Nov 21 08:19:03", "2026-11-21T08:19:03.123456789Z", "[2026-11-21 08:19:03]", "1795249143.5", "08:19:03"]
        {
            assert_eq!(in_front(&format!("{stamp}  r  b\t")).map(|s| s.rest), Some(" r  b\t"), "{stamp}");
            assert_eq!(in_front(stamp).map(|s| s.rest), Some(""), "{stamp}");
        }
        assert_eq!(in_front("[08:19:03 x"), None);
    }

    #[test]
    fn what_is_no_stamp_is_none() {
        for line in [
            "",
            " 1  0      0 22392704",
            "procs ---",
            "cpu0 1 2 3",
            " 8 0 sda 5",
            "MemTotal: 5 kB",
            "00:1f.2 x",
            "123456789 5",
        ] {
            assert_eq!(stamp(line), None, "{line}");
        }
    }

    #[test]
    fn without_a_year_december_is_the_year_before() {
        assert_eq!(read("Dec 31 23:59:59 x").map(|r| r.0), Micros::parse("2025-12-31T23:59:59").map(|t| t.iso()));
    }

    proptest! {
        #[test]
        fn nothing_panics(line in "\\PC*", figures in "[0-9:/. TZ,+-]{0,30}") {
            let _ = (read(&line), read(&figures));
        }
    }
}
