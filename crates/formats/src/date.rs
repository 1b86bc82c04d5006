//! Dates and times of day in the forms in which tools print them.

use jiff::civil::{Date, DateTime, Time};

use super::Head;

/// The line with which sysstat's tools and some kin begin: `Linux 6.1.0 (db1) 11/21/26 _x86_64_ (8 CPU)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Banner<'a> {
    /// The operating system.
    pub system: &'a str,
    /// Its release.
    pub release: &'a str,
    /// The host's name.
    pub host: &'a str,
    /// The date.
    pub date: Date,
    /// The architecture, when given.
    pub machine: Option<&'a str>,
    /// How many CPUs, when given.
    pub cpus: Option<u32>,
}

/// Reads a sysstat banner; None when the line is none.
pub fn banner(line: &str) -> Option<Banner<'_>> {
    let mut words = line.split_ascii_whitespace();
    let system = words.next().filter(|w| w.starts_with(|c: char| c.is_ascii_uppercase()))?;
    let release = words.next()?;
    let (host, first) = match words.next()? {
        name if name.starts_with('(') => (name.strip_prefix('(')?.strip_suffix(')')?, words.next()?),
        // Who posts it may hide the host.
        date if system == "Linux" && line.trim_end().ends_with(" CPU)") => ("", date),
        _ => return None,
    };
    let date = match first {
        // Korean has blanks in its dates.
        year if year.ends_with('년') => civil_date(&[year, words.next()?, words.next()?].concat())?,
        date => civil_date(date)?,
    };
    let machine = words.next().map(|w| w.trim_matches('_'));
    let cpus = words.next().and_then(|w| w.strip_prefix('(')).and_then(|n| n.parse().ok());
    Some(Banner { system, release, host, date, machine, cpus })
}

/// Reads a date: `2026-11-21`, `11/21/2026`, `11/21/26` (month first unless that cannot be),
/// `21.11.2026`, `21-11-26`, `2026年11月21日`.
pub fn civil_date(text: &str) -> Option<Date> {
    if text.contains(['年', '년']) {
        let plain = text.trim_end_matches(|c: char| !c.is_ascii_digit()).replace(|c: char| !c.is_ascii_digit(), "-");
        return civil_date(&plain);
    }
    let separator = text.chars().find(|c| !c.is_ascii_digit())?;
    let mut parts = text.split(separator).map(|p| p.parse::<i16>().ok());
    let (a, b, c) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() {
        return None;
    }
    let small = |n: i16| i8::try_from(n).ok();
    let century = |y: i16| if (0..100).contains(&y) { y + if y < 70 { 2000 } else { 1900 } } else { y };
    let (year, month, day) = match separator {
        _ if a > 31 => (a, b, c),
        '/' if a > 12 => (century(c), b, a),
        '/' => (century(c), a, b),
        '.' => (century(c), b, a),
        '-' if c > 31 && a <= 12 && b > 12 => (c, a, b),
        '-' => (century(c), b, a),
        _ => return None,
    };
    Date::new(year, small(month)?, small(day)?).ok()
}

/// Reads a time of day: `14:35:53`, `14:35:53.25`, `14:35`, and with `half` `AM` or `PM`.
pub fn civil_time(text: &str, half: Option<&str>) -> Option<Time> {
    let mut parts = text.split(':');
    let hour: i8 = two_digits(parts.next()?)?;
    let minute: i8 = two_digits(parts.next()?)?;
    let (second, fraction) = match parts.next() {
        None => (0, 0),
        Some(rest) => match rest.split_once(['.', ',']) {
            None => (two_digits(rest)?, 0),
            Some((whole, fraction)) => (two_digits(whole)?, nanoseconds(fraction)?),
        },
    };
    if parts.next().is_some() {
        return None;
    }
    let hour = match half {
        Some(h) if h.eq_ignore_ascii_case("am") && hour == 12 => 0,
        Some(h) if h.eq_ignore_ascii_case("pm") && hour < 12 => hour + 12,
        _ => hour,
    };
    // A leap second, and the 24:00:00 with which some tools end a day, are the second before.
    let (hour, minute, second) = if hour == 24 && minute == 0 { (23, 59, 59) } else { (hour, minute, second.min(59)) };
    Time::new(hour, minute, second, fraction).ok()
}

fn two_digits(text: &str) -> Option<i8> {
    let plain = matches!(text.len(), 1 | 2) && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

fn nanoseconds(fraction: &str) -> Option<i32> {
    if fraction.is_empty() || fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(fraction.parse::<i32>().ok()? * 10_i32.pow(9 - fraction.len() as u32))
}

/// A date and time in the forms of `date` and `ctime`, found at the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ctime<'a> {
    /// The civil date and time.
    pub when: DateTime,
    /// The zone's abbreviation (`PDT`), if any.
    pub zone: Option<&'a str>,
    /// Rest of the text.
    pub rest: &'a str,
}

/// Reads `Thu Sep 17 10:11:12 2009`, `Thu Sep 17 10:11:12 PDT 2009`, `Thu 17 Sep 2009 10:11:12 AM UTC`
/// and the like at the beginning of `text`; words after it are left in `rest`.
pub fn ctime(text: &str) -> Option<Ctime<'_>> {
    let (mut named_month, mut day, mut year, mut time, mut half, mut zone) = (None, None, None, None, None, None);
    let mut rest = text.trim_start();
    for place in 0..8 {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let word = &rest[..end];
        if place == 0 && weekday(word) {
        } else if named_month.is_none() && month(word).is_some() {
            named_month = month(word);
        } else if day.is_none() && two_digits(word).is_some() {
            day = two_digits(word);
        } else if time.is_none() && word.contains(':') {
            time = Some(word);
        } else if time.is_some() && half.is_none() && is_half(word) {
            half = Some(word);
        } else if time.is_some() && zone.is_none() && is_zone(word) {
            zone = Some(word);
        } else if year.is_none() && four_digits(word) {
            // `Sat Nov 21 08:19:03 UTC 2026: ...`, `[Sat Nov 21 08:19:03 2026] ...`
            year = word[..4].parse::<i16>().ok();
        } else {
            break;
        }
        rest = rest[end..].trim_start();
    }
    let date = Date::new(year?, named_month?, day?).ok()?;
    Some(Ctime { when: date.to_datetime(civil_time(time?, half)?), zone, rest })
}

/// Four figures, and perhaps a mark behind them.
fn four_digits(word: &str) -> bool {
    let year = word.strip_suffix([':', ']', ')']).unwrap_or(word);
    year.len() == 4 && year.bytes().all(|b| b.is_ascii_digit())
}

fn is_half(word: &str) -> bool {
    word.eq_ignore_ascii_case("am") || word.eq_ignore_ascii_case("pm")
}

fn is_zone(word: &str) -> bool {
    (2..=5).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_uppercase()) && !is_half(word)
}

fn weekday(word: &str) -> bool {
    let word = word.trim_end_matches(',');
    ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].iter().any(|day| word.starts_with(day))
}

pub(super) fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let three = word.get(..3)?;
    let at = MONTHS.iter().position(|m| m.eq_ignore_ascii_case(three))?;
    word.bytes().all(|b| b.is_ascii_alphabetic()).then_some(at as i8 + 1)
}

impl Head<'_> {
    /// The first sysstat banner in the head.
    pub fn banner(&self) -> Option<Banner<'_>> {
        self.lines().take(20).find_map(banner)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::{date, time};

    use super::*;

    #[test]
    fn dates_times_and_banners_are_read() {
        assert_eq!(civil_date("2026-11-21"), Some(date(2026, 11, 21)));
        assert_eq!(civil_date("03/05/2020"), Some(date(2020, 3, 5)));
        assert_eq!(civil_date("21/11/26"), Some(date(2026, 11, 21)));
        assert_eq!(civil_date("21.11.99"), Some(date(1999, 11, 21)));
        assert_eq!(civil_date("13/13/13"), None);
        assert_eq!(civil_time("12:00:01", Some("AM")), Some(time(0, 0, 1, 0)));
        assert_eq!(civil_time("11:59:59", Some("PM")), Some(time(23, 59, 59, 0)));
        assert_eq!(civil_time("14:35:53.25", None), Some(time(14, 35, 53, 250_000_000)));
        assert_eq!(civil_time("1:2:3:4", None), None);
        let line = "Linux 6.1.0-13-amd64 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)";
        let read = banner(line).unwrap();
        assert_eq!(
            (read.host, read.date, read.machine, read.cpus),
            ("db1", date(2026, 11, 21), Some("x86_64"), Some(8))
        );
        assert_eq!(banner("some words in (brackets) 5"), None);
    }

    #[test]
    fn ctime_is_read_in_its_forms() {
        let when = date(2009, 9, 17).at(10, 11, 12, 0);
        for (text, zone, rest) in [
            ("Thu Sep 17 10:11:12 2009  0 15 3", None, "0 15 3"),
            ("Thu Sep 17 10:11:12 PDT 2009", Some("PDT"), ""),
            ("Thu 17 Sep 2009 10:11:12 AM UTC", Some("UTC"), ""),
            ("17 September 2009 10:11:12 CPU minf", Some("CPU"), "minf"),
        ] {
            assert_eq!(ctime(text), Some(Ctime { when, zone, rest }), "{text}");
        }
        assert_eq!(ctime("CPU minf mjf"), None);
        assert_eq!(ctime(""), None);
    }
}
