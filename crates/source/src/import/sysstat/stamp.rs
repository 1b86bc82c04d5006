//! Dates and times as sysstat's tools print them.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use crate::import::{civil_date, civil_time, ctime};

/// A moment of which the zone may be known.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Moment {
    /// A date and time in the zone of the host.
    Civil(DateTime),
    /// A moment with an offset.
    Exact(Timestamp),
}

/// Reads a date with a time: `11/21/26 08:23:39`, `21.11.2026 08:23:39 PM`, `2026-11-21T08:23:42+0100`
/// and what `date` prints.
pub(super) fn moment(text: &str) -> Option<Moment> {
    let text = text.trim();
    if !text.as_bytes().first()?.is_ascii_digit() {
        return ctime(text).filter(|c| c.rest.is_empty()).map(civil);
    }
    if let Some((date, time)) = text.split_once('T') {
        return iso(date, time);
    }
    let mut words = text.split_ascii_whitespace();
    let date = civil_date(words.next()?)?;
    let time = civil_time(words.next()?, words.next())?;
    words.next().is_none().then(|| Moment::Civil(date.to_datetime(time)))
}

fn civil(read: crate::import::Ctime<'_>) -> Moment {
    let utc = matches!(read.zone, Some("UTC" | "GMT"));
    match read.when.to_zoned(TimeZone::UTC) {
        Ok(zoned) if utc => Moment::Exact(zoned.timestamp()),
        _ => Moment::Civil(read.when),
    }
}

/// `2026-11-21` and `08:23:42+0100`, `08:23:42Z`, `08:23:42`.
fn iso(date: &str, time: &str) -> Option<Moment> {
    let date = civil_date(date)?;
    let sign = time.find(['+', '-', 'Z']);
    let (time, offset) = time.split_at(sign.unwrap_or(time.len()));
    let when = date.to_datetime(civil_time(time, None)?);
    let digits: String = offset.chars().filter(char::is_ascii_digit).collect();
    let seconds = match (offset.get(..1), digits.len()) {
        (None | Some(""), _) => return Some(Moment::Civil(when)),
        (Some("Z"), 0) => 0,
        (_, 4) => {
            let number: i32 = digits.parse().ok()?;
            (number / 100) * 3600 + (number % 100) * 60
        }
        _ => return None,
    };
    let seconds = if offset.starts_with('-') { -seconds } else { seconds };
    let zone = TimeZone::fixed(jiff::tz::Offset::from_seconds(seconds).ok()?);
    when.to_zoned(zone).ok().map(|z| Moment::Exact(z.timestamp()))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn moments_are_read_in_their_forms() {
        let when = date(2026, 11, 21).at(20, 23, 39, 0);
        for text in ["11/21/26 20:23:39", "11/21/2026 08:23:39 PM", "21.11.2026 20:23:39", "2026-11-21T20:23:39"] {
            assert_eq!(moment(text), Some(Moment::Civil(when)), "{text}");
        }
        assert_eq!(moment("Sat Nov 21 20:23:39 CET 2026"), Some(Moment::Civil(when)));
        let exact = |t: &str| Some(Moment::Exact(t.parse().unwrap()));
        assert_eq!(moment("2026-11-21T20:23:39+0100"), exact("2026-11-21T19:23:39Z"));
        assert_eq!(moment("2026-11-21T20:23:39-05:30"), exact("2026-11-22T01:53:39Z"));
        assert_eq!(moment("Sat Nov 21 20:23:39 UTC 2026"), exact("2026-11-21T20:23:39Z"));
        for text in ["", "vda 1 2", "11/21/26", "2026-11-21T20:23:39+1", "1 2 3", "11/21/26 20:23:39 PM x"] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
