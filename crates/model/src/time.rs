//! Time as runs keep it: microseconds since the Unix epoch, UTC.

use jiff::{Timestamp, civil, tz::TimeZone};

/// Microseconds since 1970-01-01 00:00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Micros(pub i64);

impl Micros {
    /// The time as a civil date and time in UTC; the epoch when out of range.
    fn civil(self) -> civil::DateTime {
        Timestamp::from_microsecond(self.0).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::UTC).datetime()
    }

    /// `20261121T142233`: sortable, and safe in a file name.
    pub fn compact(self) -> String {
        self.civil().strftime("%Y%m%dT%H%M%S").to_string()
    }

    /// `2026-11-21 14:22:33`, UTC, to the second.
    pub fn to_the_second(self) -> String {
        self.civil().strftime("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// ISO 8601 with microseconds and `Z`.
    pub fn iso(self) -> String {
        self.civil().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
    }

    /// Reads an ISO 8601 time; one without an offset is UTC.
    pub fn parse(text: &str) -> Option<Micros> {
        if let Ok(timestamp) = text.parse::<Timestamp>() {
            return Some(Micros(timestamp.as_microsecond()));
        }
        let civil = text.parse::<civil::DateTime>().ok()?;
        Some(Micros(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond()))
    }

    /// Seconds from `earlier` to `self`; negative when `self` is before it.
    pub fn seconds_since(self, earlier: Micros) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / 1e6
    }

    /// The moment `seconds` later, whole microseconds; the last or the first that there is where it is beyond them.
    #[must_use]
    pub fn after(self, seconds: f64) -> Micros {
        Micros(self.0.saturating_add((seconds * 1e6) as i64))
    }
}

/// Reads a length of time as people write it: `10ms`, `1s`, `1.5s`, `2m`, `1h`, or bare seconds.
///
/// Gives seconds. None for anything else, also for a negative or infinite length.
pub fn parse_seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.trim().parse().ok()?;
    let factor = match unit {
        "" | "s" | "sec" => 1.0,
        "us" => 1e-6,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    let seconds = number * factor;
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::{Micros, parse_seconds};

    #[test]
    fn a_moment_that_no_clock_has_is_the_last_or_the_first() {
        assert_eq!(Micros(5).after(1.5), Micros(1_500_005));
        assert_eq!(Micros(5).after(1e300), Micros(i64::MAX));
        assert_eq!(Micros(-5).after(-1e300), Micros(i64::MIN));
    }

    #[test]
    fn times_are_printed_in_utc_and_read_back() {
        let t = Micros(1_795_271_753_123_456);
        assert_eq!(t.compact(), "20261121T143553");
        assert_eq!(t.to_the_second(), "2026-11-21 14:35:53");
        assert_eq!(Micros::parse(&t.iso()), Some(t));
        assert_eq!(Micros::parse("2026-11-21T14:35:53"), Some(Micros(1_795_271_753_000_000)));
        assert_eq!(Micros::parse("yesterday"), None);
    }

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        assert_eq!(parse_seconds("10ms"), Some(0.01));
        assert_eq!(parse_seconds("1.5"), Some(1.5));
        assert_eq!(parse_seconds("2m"), Some(120.0));
        assert_eq!(parse_seconds("-1s"), None);
        assert_eq!(parse_seconds("soon"), None);
    }
}
