//! Times of reports: those that stand before them, and those that are counted.

use fenxi_model::Micros;
use jiff::{
    Timestamp,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};

use crate::import::{Clock, Out, Relative, Ticker, civil_date, civil_time, ctime};

/// The time that stands before a report.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stamp {
    /// A date and time in the zone of the host.
    Civil(DateTime),
    /// A moment with an offset.
    Exact(Timestamp),
    /// A time of day.
    Time(Time),
}

impl Stamp {
    /// Seconds since some moment, the same one for all stamps of a kind.
    pub(super) fn seconds(&self) -> f64 {
        match self {
            Stamp::Civil(when) => when.duration_since(DateTime::ZERO).as_secs_f64(),
            Stamp::Exact(t) => t.as_second() as f64,
            Stamp::Time(time) => time.duration_since(Time::midnight()).as_secs_f64(),
        }
    }
}

/// Gives each report its time and length: its stamp's, or one interval after the last.
#[derive(Debug)]
pub(super) struct Times {
    clock: Clock,
    ticker: Ticker,
    /// Counts reports that have no time.
    counter: Option<Relative>,
    /// Length of a report, if something but stamps tells.
    usual: Option<f64>,
    /// The time of the report to come.
    stamp: Option<Micros>,
    /// The time of the last report.
    last: Option<Micros>,
    dt: Option<f64>,
}

impl Times {
    pub(super) fn new(out: &Out<'_>, ticker: Ticker, usual: Option<f64>) -> Times {
        let clock = Clock::new(out.hints());
        Times { clock, ticker, counter: None, usual, stamp: None, last: None, dt: None }
    }

    /// Something in a report tells how long it is.
    pub(super) fn usual_is(&mut self, seconds: f64) {
        self.usual = Some(seconds);
    }

    /// The tool was begun on `date`.
    pub(super) fn begin(&mut self, date: Date) {
        self.clock.set_date(date);
        self.ticker.restart();
    }

    /// The time of the report to come.
    pub(super) fn stamp(&mut self, stamp: Stamp, out: &mut Out<'_>) {
        self.stamp = Some(match stamp {
            Stamp::Time(time) => self.clock.at(time, out),
            Stamp::Civil(when) => self.clock.moment(when),
            Stamp::Exact(t) => Micros(t.as_microsecond()),
        });
    }

    /// The next report begins; the one since boot has no length.
    pub(super) fn report(&mut self, boot: bool, out: &mut Out<'_>) {
        let (t, dt) = match self.stamp.take() {
            Some(t) => {
                self.counter = None;
                (t, self.ticker.tick(t).or(self.usual))
            }
            None => self.count(boot, out),
        };
        self.last = Some(t);
        self.dt = dt.filter(|_| !boot);
    }

    /// Time and length of the report that began last.
    pub(super) fn at(&self) -> (Micros, Option<f64>) {
        (self.last.unwrap_or(Micros(0)), self.dt)
    }

    fn count(&mut self, boot: bool, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        let counter = match (&mut self.counter, self.last) {
            (Some(counter), _) => counter,
            // A run of one report needs no interval.
            (None, None) if boot => return (Relative::elapsed(out).now(), None),
            (None, Some(last)) if boot => return (last, None),
            (None, None) => self.counter.insert(Relative::new(out, self.usual)),
            (None, Some(last)) => self.counter.insert(Relative::since(last, out, self.usual)),
        };
        if boot {
            return (counter.now(), None);
        }
        let (t, dt) = counter.tick();
        (t, Some(dt))
    }
}

/// Reads a date with a time: `11/21/26 08:23:39`, `21.11.2026 08:23:39 PM`, `2026-11-21T08:23:42+0100`
/// and what `date` prints.
pub(super) fn moment(text: &str) -> Option<Stamp> {
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
    words.next().is_none().then(|| Stamp::Civil(date.to_datetime(time)))
}

fn civil(read: crate::import::Ctime<'_>) -> Stamp {
    let utc = matches!(read.zone, Some("UTC" | "GMT"));
    match read.when.to_zoned(TimeZone::UTC) {
        Ok(zoned) if utc => Stamp::Exact(zoned.timestamp()),
        _ => Stamp::Civil(read.when),
    }
}

/// `2026-11-21` and `08:23:42+0100`, `08:23:42Z`, `08:23:42`.
fn iso(date: &str, time: &str) -> Option<Stamp> {
    let date = civil_date(date)?;
    let sign = time.find(['+', '-', 'Z']);
    let (time, offset) = time.split_at(sign.unwrap_or(time.len()));
    let when = date.to_datetime(civil_time(time, None)?);
    let digits: String = offset.chars().filter(char::is_ascii_digit).collect();
    let seconds = match (offset.get(..1), digits.len()) {
        (None | Some(""), _) => return Some(Stamp::Civil(when)),
        (Some("Z"), 0) => 0,
        (_, 4) => {
            let number: i32 = digits.parse().ok()?;
            (number / 100) * 3600 + (number % 100) * 60
        }
        _ => return None,
    };
    let seconds = if offset.starts_with('-') { -seconds } else { seconds };
    let zone = TimeZone::fixed(jiff::tz::Offset::from_seconds(seconds).ok()?);
    when.to_zoned(zone).ok().map(|z| Stamp::Exact(z.timestamp()))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn moments_are_read_in_their_forms() {
        let when = date(2026, 11, 21).at(20, 23, 39, 0);
        for text in ["11/21/26 20:23:39", "11/21/2026 08:23:39 PM", "21.11.2026 20:23:39", "2026-11-21T20:23:39"] {
            assert_eq!(moment(text), Some(Stamp::Civil(when)), "{text}");
        }
        assert_eq!(moment("Sat Nov 21 20:23:39 CET 2026"), Some(Stamp::Civil(when)));
        let exact = |t: &str| Some(Stamp::Exact(t.parse().unwrap()));
        assert_eq!(moment("2026-11-21T20:23:39+0100"), exact("2026-11-21T19:23:39Z"));
        assert_eq!(moment("2026-11-21T20:23:39-05:30"), exact("2026-11-22T01:53:39Z"));
        assert_eq!(moment("Sat Nov 21 20:23:39 UTC 2026"), exact("2026-11-21T20:23:39Z"));
        for text in ["", "vda 1 2", "11/21/26", "2026-11-21T20:23:39+1", "1 2 3", "11/21/26 20:23:39 PM x"] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
