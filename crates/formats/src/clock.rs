//! Times as tools print them: dates in headers, times of day without a date, sample counters.

use fenxi_model::Micros;
use jiff::{
    Timestamp, ToSpan,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};

use super::{Hints, Out};

const DAY_S: f64 = 86_400.0;
/// So long after midnight a tool may repeat the last time before it: when an interval began.
const MOST_AFTER_MIDNIGHT_S: f64 = 3_600.0;

/// Turns times of day into moments: it knows the date, the zone, and that time goes on.
///
/// A time of day that is more than half a day before the last one is on the next day. An hour that
/// comes twice when clocks go back is the second one when the first has passed.
#[derive(Clone, Debug)]
pub struct Clock {
    zone: TimeZone,
    date: Option<Date>,
    last: Option<(Time, Micros)>,
    /// The last time before midnight passed.
    crossed: Option<(Time, Micros)>,
    start: Option<Micros>,
}

impl Clock {
    /// A clock that takes its first date from the hints, until [`Clock::set_date`] knows better.
    pub fn new(hints: &Hints) -> Clock {
        Clock { zone: hints.zone.clone(), date: None, last: None, crossed: None, start: hints.start }
    }

    /// Sets the date of the next time of day, from the content.
    pub fn set_date(&mut self, date: Date) {
        self.date = Some(date);
        (self.last, self.crossed) = (None, None);
    }

    /// Sets the zone of the times, from the content (`Z` or `UTC` in a header).
    pub fn set_zone(&mut self, zone: TimeZone) {
        self.zone = zone;
    }

    /// The date that the next time of day would be taken to be on, if any is known.
    pub fn date(&self) -> Option<Date> {
        self.date
    }

    /// The moment of the time of day `time`, the next one after what was given last.
    ///
    /// Without a date from the content it is `--start`'s, or that of the file's last writing; the
    /// latter is noted as an assumption.
    pub fn at(&mut self, time: Time, out: &mut Out<'_>) -> Micros {
        let mut date = match self.date {
            Some(date) => date,
            None => self.guess_date(time, out),
        };
        if let Some((last, moment)) = self.last {
            if time == last {
                return moment;
            }
            // Further reports of an interval over midnight begin before it again.
            let again = self.crossed.filter(|(before, _)| *before == time && seconds(last) < MOST_AFTER_MIDNIGHT_S);
            if let Some((_, moment)) = again {
                (self.date, self.last) = (Some(date.yesterday().unwrap_or(date)), again);
                return moment;
            }
            if seconds(last) - seconds(time) > DAY_S / 2.0 {
                date = date.tomorrow().unwrap_or(date);
                self.crossed = self.last;
            }
        }
        self.date = Some(date);
        let moment = self.resolve(date.to_datetime(time));
        self.last = Some((time, moment));
        moment
    }

    /// The moment of a date and time in the clock's zone.
    pub fn moment(&mut self, when: DateTime) -> Micros {
        self.date = Some(when.date());
        let moment = self.resolve(when);
        self.last = Some((when.time(), moment));
        moment
    }

    fn guess_date(&self, time: Time, out: &mut Out<'_>) -> Date {
        let zone = &self.zone;
        let local = |t: Micros| Timestamp::from_microsecond(t.0).ok().map(|t| t.to_zoned(zone.clone()).datetime());
        if let Some(start) = self.start.and_then(local) {
            // Begun shortly before midnight, printed after.
            let before = seconds(start.time()) - seconds(time) > DAY_S / 2.0;
            return if before { start.date().tomorrow().unwrap_or(start.date()) } else { start.date() };
        }
        if let Some(date) = out.dated() {
            out.assume(&format!("the date {date} of outputs beside it, as there is none in it (or give --start)"));
            return date;
        }
        let Some(written) = out.modified().and_then(local) else {
            out.assume("the date 1970-01-01, as there is none in the input (give --start)");
            return Date::constant(1970, 1, 1);
        };
        let later = seconds(time) > seconds(written.time()) + 1.0;
        // An output that goes on for days ends on the date of the last writing.
        let days = out.hints().overrun_s.map_or(0.0, |s| ((s - 1.0) / DAY_S).ceil().max(0.0)) as i32 + i32::from(later);
        let date = written.date().checked_sub(days.days()).unwrap_or(written.date());
        out.assume(&format!("the date {date} of the file's last writing, as there is none in it (or give --start)"));
        date
    }

    fn resolve(&self, when: DateTime) -> Micros {
        let ambiguous = self.zone.to_ambiguous_timestamp(when);
        let micros = |t: Timestamp| Micros(t.as_microsecond());
        let Ok(first) = ambiguous.compatible() else { return Micros(0) };
        let passed = self.last.is_some_and(|(_, last)| micros(first) < last);
        match ambiguous.later() {
            Ok(second) if passed => micros(second),
            _ => micros(first),
        }
    }
}

fn seconds(time: Time) -> f64 {
    f64::from(time.hour()) * 3600.0
        + f64::from(time.minute()) * 60.0
        + f64::from(time.second())
        + f64::from(time.subsec_nanosecond()) / 1e9
}

/// Moments of samples that the tool only numbers, or counts from its start.
#[derive(Clone, Copy, Debug)]
pub struct Relative {
    start: Micros,
    interval_s: f64,
    samples: u64,
}

impl Relative {
    /// Counts from `--start`, else so that the last one is when the file was last written; samples are `--interval` apart,
    /// else `interval_s` from the content, else one second. Defaults are assumptions.
    pub fn new(out: &mut Out<'_>, interval_s: Option<f64>) -> Relative {
        let start = Relative::origin(out);
        Relative { start, interval_s: Relative::interval(out, interval_s), samples: 0 }
    }

    fn interval(out: &mut Out<'_>, interval_s: Option<f64>) -> f64 {
        out.hints().interval_s.or(interval_s).unwrap_or_else(|| {
            out.assume("one second between samples, as the input does not say (give --interval)");
            1.0
        })
    }

    /// As [`Relative::new`], where the tool's own header has the date `date`: from its begin, unless the file was last written then.
    pub fn on(date: Option<Date>, out: &mut Out<'_>, interval_s: Option<f64>) -> Relative {
        match Relative::begin_of(date, out) {
            Some(start) => Relative::since(start, out, interval_s),
            None => Relative::new(out, interval_s),
        }
    }

    /// As [`Relative::elapsed`], where the tool's own header has the date.
    pub fn elapsed_on(date: Option<Date>, out: &mut Out<'_>) -> Relative {
        match Relative::begin_of(date, out) {
            Some(start) => Relative { start, interval_s: 1.0, samples: 0 },
            None => Relative::elapsed(out),
        }
    }

    /// The begin of the day `date`, where counting back from the file's last writing does not lead to it or its neighbours.
    fn begin_of(date: Option<Date>, out: &mut Out<'_>) -> Option<Micros> {
        let date = date.filter(|_| out.hints().start.is_none())?;
        let zone = out.hints().zone.clone();
        let overrun = out.hints().overrun_s.unwrap_or(0.0);
        let counted = out.hints().modified.map(|end| Micros(end.0.saturating_sub((overrun * 1e6) as i64)));
        let counted =
            counted.and_then(|t| Timestamp::from_microsecond(t.0).ok()).map(|t| t.to_zoned(zone.clone()).date());
        if counted.is_some_and(|counted| (counted - date).get_days().abs() <= 1) {
            return None;
        }
        let begin = zone.to_ambiguous_timestamp(date.to_datetime(Time::midnight())).compatible().ok()?;
        out.dates_by_head();
        out.assume(&format!(
            "the begin of {date}, as the tool's head says that date and nothing a time (give --start)"
        ));
        Some(Micros(begin.as_microsecond()))
    }

    /// Counts on from `start`, which the content gives; samples are `--interval` apart, else one
    /// second.
    pub fn since(start: Micros, out: &mut Out<'_>, interval_s: Option<f64>) -> Relative {
        Relative { start, interval_s: Relative::interval(out, interval_s), samples: 0 }
    }

    /// Counts seconds from the start that the content gives: only [`Relative::after`] is of use.
    pub fn elapsed(out: &mut Out<'_>) -> Relative {
        Relative { start: Relative::origin(out), interval_s: 1.0, samples: 0 }
    }

    fn origin(out: &mut Out<'_>) -> Micros {
        match (out.hints().start, out.counted_from()) {
            (Some(start), _) => start,
            (None, Some(begin)) => {
                out.assume(if out.hints().overrun_s.is_some() {
                    "the file's last writing as the time of the last sample, as it has no times (give --start)"
                } else {
                    "the file's last writing as the time of the first sample, as it has no times (give --start)"
                });
                begin
            }
            (None, None) => {
                out.assume("1970-01-01 as the time of the first sample, as the input has no times (give --start)");
                Micros(0)
            }
        }
    }

    /// The next sample's time and length.
    pub fn tick(&mut self) -> (Micros, f64) {
        self.samples += 1;
        (self.after(self.samples as f64 * self.interval_s), self.interval_s)
    }

    /// The time of the last sample; the start before the first.
    pub fn now(&self) -> Micros {
        self.after(self.samples as f64 * self.interval_s)
    }

    /// The moment `seconds` after the start.
    pub fn after(&self, seconds: f64) -> Micros {
        Micros(self.start.0.saturating_add((seconds * 1e6).round() as i64))
    }
}

/// Lengths of intervals from the time stamps at their ends.
///
/// Stamps in whole seconds jitter: a length within a second of the usual one is the usual one, unless
/// the usual one is itself below five seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticker {
    usual: Option<f64>,
    last: Option<Micros>,
    dt: Option<f64>,
}

impl Ticker {
    /// The usual length is `--interval`, or the most frequent distance between the first stamps of
    /// `head`: `stamp` gives a line's time in seconds, None for lines without one.
    pub fn new(hints: &Hints, head: &str, stamp: impl FnMut(&str) -> Option<f64>) -> Ticker {
        let usual = hints.interval_s.or_else(|| usual_distance(head.lines().filter_map(stamp)));
        Ticker { usual, last: None, dt: None }
    }

    /// The tool was begun anew: what comes next does not follow what came before.
    pub fn restart(&mut self) {
        self.last = None;
    }

    /// The length of the interval that ended at `t`; the same for the same `t` again. None when
    /// it is unknown.
    pub fn tick(&mut self, t: Micros) -> Option<f64> {
        let Some(last) = self.last else {
            self.last = Some(t);
            self.dt = self.usual;
            return self.dt;
        };
        if t == last {
            return self.dt;
        }
        let distance = t.seconds_since(last);
        self.last = Some(t);
        self.dt = match self.usual {
            Some(usual) if distance <= 0.0 || is_jitter(distance, usual) => Some(usual),
            _ => Some(distance).filter(|d| *d > 0.0),
        };
        self.dt
    }
}

/// Whether a distance of stamps in whole seconds can be the usual one. Below five seconds, another
/// whole number of seconds is another interval.
fn is_jitter(distance: f64, usual: f64) -> bool {
    let off = (distance - usual).abs();
    if usual >= 5.0 { off <= 1.0 } else { off < 1.0 }
}

/// The most frequent positive distance between successive stamps; of equals the shortest.
fn usual_distance(stamps: impl Iterator<Item = f64>) -> Option<f64> {
    let mut counts: Vec<(f64, u32)> = Vec::new();
    let mut last = None;
    for stamp in stamps.take(4096) {
        let distance = last.map_or(0.0, |last| stamp - last);
        last = Some(stamp);
        let distance = if distance < -DAY_S / 2.0 { distance + DAY_S } else { distance };
        if distance > 0.0 {
            match counts.iter_mut().find(|(d, _)| (*d - distance).abs() < 1e-9) {
                Some((_, n)) => *n += 1,
                None => counts.push((distance, 1)),
            }
        }
    }
    counts.into_iter().min_by(|a, b| b.1.cmp(&a.1).then(a.0.total_cmp(&b.0))).map(|(distance, _)| distance)
}

#[cfg(test)]
mod tests {
    use jiff::civil::{date, time};

    use super::*;

    fn out(hints: Hints) -> Out<'static> {
        Out::new("test", hints, |_, _| {})
    }

    #[test]
    fn a_day_ends_at_midnight_and_a_repeated_hour_is_told_apart() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let mut out = out(Hints { zone: zone.clone(), ..Hints::none("x") });
        let mut clock = Clock::new(out.hints());
        clock.set_date(date(2026, 11, 20));
        let evening = clock.at(time(23, 59, 50, 0), &mut out);
        assert_eq!(clock.at(time(0, 0, 0, 0), &mut out).seconds_since(evening), 10.0);
        // Clocks went back from 3:00 to 2:00 on 2026-10-25.
        clock.set_date(date(2026, 10, 25));
        let times = [(2, 30), (2, 59), (2, 0), (2, 30), (3, 0)].map(|(h, m)| clock.at(time(h, m, 0, 0), &mut out));
        let minutes: Vec<_> = times.windows(2).map(|w| w[1].seconds_since(w[0]) / 60.0).collect();
        assert_eq!(minutes, [29.0, 1.0, 30.0, 30.0]);
    }

    #[test]
    fn without_a_date_the_last_writing_tells_it() {
        let modified = Micros::parse("2026-11-21T00:00:05").unwrap();
        let mut out = out(Hints { modified: Some(modified), ..Hints::none("x") });
        let mut clock = Clock::new(out.hints());
        let first = clock.at(time(23, 59, 58, 0), &mut out);
        assert_eq!(first, Micros::parse("2026-11-20T23:59:58").unwrap());
        assert_eq!(clock.at(time(0, 0, 3, 0), &mut out).seconds_since(first), 5.0);
        assert_eq!(out.finish().assumptions, 1);
    }

    #[test]
    fn intervals_jitter_by_a_second_and_gaps_do_not() {
        let hints = Hints::none("x");
        let head = "0\n10\n20\n31\n41";
        let mut ticker = Ticker::new(&hints, head, |line| line.parse().ok());
        let ticks = [0, 10, 10, 21, 30, 500, 510].map(|s| ticker.tick(Micros(s * 1_000_000)));
        assert_eq!(ticks, [10.0, 10.0, 10.0, 10.0, 10.0, 470.0, 10.0].map(Some));
        ticker.restart();
        assert_eq!(ticker.tick(Micros(9_000_000_000)), Some(10.0));
        assert_eq!(Ticker::new(&hints, "5", |l| l.parse().ok()).tick(Micros(1)), None);
        let mut ticker = Ticker::new(&hints, "0\n2\n4", |line| line.parse().ok());
        let ticks = [0, 2, 3, 5].map(|s| ticker.tick(Micros(s * 1_000_000)));
        assert_eq!(ticks, [2.0, 2.0, 1.0, 2.0].map(Some));
    }
}
