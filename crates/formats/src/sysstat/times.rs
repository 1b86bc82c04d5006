//! Times of reports: those that precede them, and those that are counted.

use fenxi_model::Micros;
use jiff::{
    Timestamp,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};

use crate::{Clock, Out, Relative, Ticker, civil_date, civil_time, ctime};

/// The time before a report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stamp {
    /// A date and time in the zone of the host.
    Civil(DateTime),
    /// A moment with an offset.
    Exact(Timestamp),
    /// A time of day.
    Time(Time),
}

impl Stamp {
    /// The moment, by the clock's date and zone where the stamp does not say.
    pub(crate) fn moment(&self, clock: &mut Clock, out: &mut Out<'_>) -> Micros {
        match self {
            Stamp::Time(time) => clock.at(*time, out),
            Stamp::Civil(when) => clock.moment(*when),
            Stamp::Exact(t) => Micros(t.as_microsecond()),
        }
    }

    /// Seconds since some moment, the same one for all stamps of a kind.
    pub(crate) fn seconds(&self) -> f64 {
        match self {
            Stamp::Civil(when) => when.duration_since(DateTime::ZERO).as_secs_f64(),
            Stamp::Exact(t) => t.as_second() as f64,
            Stamp::Time(time) => time.duration_since(Time::midnight()).as_secs_f64(),
        }
    }
}

/// Gives each report its time and length: its stamp's, or one interval after the last.
#[derive(Debug)]
pub(crate) struct Times {
    clock: Clock,
    ticker: Ticker,
    /// The date in the tool's head.
    head: Option<Date>,
    /// Counts reports that have no time.
    counter: Option<Relative>,
    /// Length of a report, if something but stamps shows it.
    usual: Option<f64>,
    /// The time of the report to come.
    stamp: Option<Micros>,
    /// The time of the last report.
    last: Option<Micros>,
    dt: Option<f64>,
}

impl Times {
    pub(crate) fn new(out: &Out<'_>, ticker: Ticker, usual: Option<f64>) -> Times {
        let clock = Clock::new(out.hints());
        Times { clock, ticker, head: None, counter: None, usual, stamp: None, last: None, dt: None }
    }

    /// Something in a report shows how long it is.
    pub(crate) fn usual_is(&mut self, seconds: f64) {
        self.usual = Some(seconds);
    }

    /// The tool was begun on `date`.
    pub(crate) fn begin(&mut self, date: Date) {
        self.clock.set_date(date);
        self.ticker.restart();
        // Another day's head: what was counted from the last one ends.
        if self.head.replace(date).is_some_and(|last| last != date) {
            (self.counter, self.last) = (None, None);
        }
    }

    /// The time of the report to come.
    pub(crate) fn stamp(&mut self, stamp: Stamp, out: &mut Out<'_>) {
        self.stamp = Some(stamp.moment(&mut self.clock, out));
    }

    /// The next report begins; the one since boot has no length.
    pub(crate) fn report(&mut self, boot: bool, out: &mut Out<'_>) {
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
    pub(crate) fn at(&self) -> (Micros, Option<f64>) {
        (self.last.unwrap_or(Micros(0)), self.dt)
    }

    fn count(&mut self, boot: bool, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        let counter = match (&mut self.counter, self.last) {
            (Some(counter), _) => counter,
            // A run of one report needs no interval.
            (None, None) if boot => return (Relative::elapsed_on(self.head, out).now(), None),
            (None, Some(last)) if boot => return (last, None),
            (None, None) => self.counter.insert(Relative::on(self.head, out, self.usual)),
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
/// and what `date` prints; seconds since 1970 that stand alone (`-U`).
pub(crate) fn moment(text: &str) -> Option<Stamp> {
    let text = text.trim();
    if !text.as_bytes().first()?.is_ascii_digit() {
        return ctime(text).filter(|c| c.rest.is_empty()).map(civil);
    }
    if let Some((date, time)) = text.split_once('T') {
        return iso(date, time);
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return epoch(text);
    }
    let mut words = text.split_ascii_whitespace();
    let date = civil_date(words.next()?)?;
    let time = civil_time(words.next()?, words.next())?;
    words.next().is_none().then(|| Stamp::Civil(date.to_datetime(time)))
}

fn civil(read: crate::Ctime<'_>) -> Stamp {
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

/// Reads a time of day at the beginning of `line` and gives what follows it: `14:35:53`,
/// `02:35:53 PM`, `14时35分53秒`, `下午 02:35:53`.
pub(super) fn time_of_day(line: &str) -> Option<(Time, &str)> {
    let (early, rest) = half_of_day(line);
    let (hour, rest) = two_digits(rest)?;
    let rest = rest.strip_prefix([':', '时', '時', '시'])?;
    let (minute, rest) = two_digits(rest.trim_start())?;
    let rest = rest.strip_prefix([':', '分', '분'])?;
    let (second, rest) = two_digits(rest.trim_start())?;
    let rest = rest.strip_prefix(['秒', '초']).unwrap_or(rest);
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let (late, after) = half_of_day(rest.trim_start());
    let rest = if late.is_some() { after } else { rest };
    let hour = match early.or(late) {
        Some(Half::Am) if hour == 12 => 0,
        Some(Half::Pm) if hour < 12 => hour + 12,
        _ => hour,
    };
    // A leap second is the second before.
    Some((Time::new(hour, minute, second.min(59), 0).ok()?, rest))
}

/// Reads the time at the beginning of a line, of the day or in seconds since 1970 (`-U` of mpstat, `-H` of pidstat), and
/// gives what follows it.
pub(super) fn time_at(line: &str) -> Option<(Stamp, &str)> {
    let line = line.trim_ascii_start();
    if let Some((time, rest)) = time_of_day(line) {
        return Some((Stamp::Time(time), rest));
    }
    let (first, rest) = line.split_once(' ')?;
    Some((epoch(first)?, rest))
}

/// Seconds since 1970.
fn epoch(text: &str) -> Option<Stamp> {
    let seconds = text.parse::<i64>().ok().filter(|_| (9..=11).contains(&text.len()))?;
    Timestamp::from_second(seconds).ok().map(Stamp::Exact)
}

#[derive(Clone, Copy)]
enum Half {
    Am,
    Pm,
}

/// Reads a mark of half a day at the beginning of `text`, if there is one, and gives what follows.
fn half_of_day(text: &str) -> (Option<Half>, &str) {
    const MARKS: [(&str, Half); 12] = [
        ("AM", Half::Am),
        ("PM", Half::Pm),
        ("am", Half::Am),
        ("pm", Half::Pm),
        ("a.m.", Half::Am),
        ("p.m.", Half::Pm),
        ("上午", Half::Am),
        ("下午", Half::Pm),
        ("午前", Half::Am),
        ("午後", Half::Pm),
        ("오전", Half::Am),
        ("오후", Half::Pm),
    ];
    // Nearly always a figure or a name is there.
    if !matches!(text.as_bytes().first(), Some(b'A' | b'P' | b'a' | b'p' | 0x80..)) {
        return (None, text);
    }
    let found = MARKS.iter().find_map(|(mark, half)| Some((*half, text.strip_prefix(mark)?)));
    match found {
        Some((half, rest)) if !rest.starts_with(char::is_alphanumeric) || !text.is_ascii() => {
            (Some(half), rest.trim_start())
        }
        _ => (None, text),
    }
}

fn two_digits(text: &str) -> Option<(i8, &str)> {
    let n = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(n);
    Some((digits.parse().ok()?, rest))
}

/// Whether `line` is one of the averages with which a run ends: `Average:`, `Durchschn.:`, `Moyenne :`,
/// `平均时间:`.
pub(super) fn is_average(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let first = words.next().unwrap_or("");
    first.ends_with([':', '：']) && !first.starts_with(|c: char| c.is_ascii_digit()) || words.next() == Some(":")
}

/// Only those stamps of lines that go on: sections of a block have the times of its begin and its end
/// again and again, and would make the lengths of blocks with many sections count for more.
pub(super) fn onward(mut stamp: impl FnMut(&str) -> Option<f64>) -> impl FnMut(&str) -> Option<f64> {
    const HALF_DAY_S: f64 = 43_200.0;
    let mut last = f64::NEG_INFINITY;
    move |line| {
        let seconds = stamp(line)?;
        let back = last - seconds;
        if (0.0..HALF_DAY_S).contains(&back) {
            return None;
        }
        last = seconds;
        Some(seconds)
    }
}

/// The time at the beginning of lines, read once for all lines that carry the same.
#[derive(Debug, Default)]
pub(super) struct Prefix {
    text: String,
}

impl Prefix {
    /// The text after the time in `line`, if it is the same time as in the last line.
    pub(super) fn same<'l>(&self, line: &'l str) -> Option<&'l str> {
        if self.text.is_empty() { None } else { line.strip_prefix(self.text.as_str()) }
    }

    /// The time in `line`, and what follows it.
    pub(super) fn read<'l>(&mut self, line: &'l str) -> Option<(Stamp, &'l str)> {
        let (stamp, rest) = time_at(line)?;
        self.set(line, rest);
        Some((stamp, rest))
    }

    /// The time of `line` is all of it before `rest`.
    pub(super) fn set(&mut self, line: &str, rest: &str) {
        self.text.clear();
        self.text.push_str(line.strip_suffix(rest).unwrap_or(""));
        // The blank behind it belongs to it: `14:35:5` is no `14:35:53`.
        if rest.starts_with(' ') {
            self.text.push(' ');
        }
    }
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
        assert_eq!(moment("1795292619"), exact("2026-11-21T20:23:39Z"));
        for text in ["", "17952926", "vda 1 2", "11/21/26", "2026-11-21T20:23:39+1", "1 2 3", "11/21/26 20:23:39 PM x"]
        {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn times_of_day_are_read_in_their_forms() {
        let at = |h, m, s| jiff::civil::time(h, m, s, 0);
        for (text, time) in [
            ("14:35:53     CPU", at(14, 35, 53)),
            ("02:35:53 PM  CPU", at(14, 35, 53)),
            ("12:00:00 AM  CPU", at(0, 0, 0)),
            ("14时35分53秒     CPU", at(14, 35, 53)),
            ("下午 02:35:53  CPU", at(14, 35, 53)),
            ("下午02时35分53秒  CPU", at(14, 35, 53)),
            ("오전 02시 35분 53초 CPU", at(2, 35, 53)),
        ] {
            assert_eq!(time_of_day(text).map(|(t, rest)| (t, rest.trim())), Some((time, "CPU")), "{text}");
        }
        for text in ["", "14:35", "14:35:53", "14:35:53x", "99:00:00 x", "Average: 1", "14 35 53"] {
            assert_eq!(time_of_day(text).map(|(t, _)| t), None, "{text}");
        }
        for line in ["Average:  all 1.00", "Moyenne :  all", "平均时间:  all", "Durchschn.:  all"] {
            assert!(is_average(line), "{line}");
        }
        assert!(!is_average("14:35:53: x") && !is_average("all 1.00") && !is_average(""));
    }
}
