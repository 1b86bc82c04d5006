//! Times of dstat's lines: seconds since 1970, a day and a time, or only the place in the file.

use fenxi_model::Micros;
use jiff::{
    Timestamp,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};

use crate::{Clock, Hints, Out, Relative, Ticker, civil_date, civil_time, ctime, number, stamp::latest_year};

/// The time of a line.
pub(super) enum Stamp<'a> {
    /// Seconds since 1970.
    Epoch(&'a str),
    /// A day and a time, or a time.
    Text(&'a str),
    /// There is no column of times.
    None,
}

pub(super) struct Times {
    clock: Clock,
    ticker: Ticker,
    /// Seconds between lines, when given by the command or the user.
    delay: Option<f64>,
    /// When the tool was begun, from the file's head.
    begun: Option<(DateTime, Micros)>,
    /// Lines since then.
    lines: u64,
    relative: Option<Relative>,
    last: Option<DateTime>,
    modified: Option<DateTime>,
    zone: TimeZone,
}

impl Times {
    pub(super) fn new(hints: &Hints, head: &str) -> Times {
        let local =
            |t: Micros| Timestamp::from_microsecond(t.0).ok().map(|t| t.to_zoned(hints.zone.clone()).datetime());
        Times {
            clock: Clock::new(hints),
            ticker: Ticker::new(hints, head, seconds_of_day),
            delay: hints.interval_s,
            begun: None,
            lines: 0,
            relative: None,
            last: None,
            modified: hints.start.or(hints.modified).and_then(local),
            zone: hints.zone.clone(),
        }
    }

    /// Reads the line with the command and the date.
    pub(super) fn command(&mut self, line: &str, hints: &Hints) {
        let (command, date) = line.split_once(",,,,").unwrap_or((line, ""));
        self.delay = hints.interval_s.or_else(|| delay(command));
        self.ticker = Ticker::new(&Hints { interval_s: self.delay, ..hints.clone() }, "", |_| None);
        self.lines = 0;
        let date = date.split('"').find_map(ctime);
        self.begun = date.map(|date| {
            let utc = date.zone.is_some_and(|z| matches!(z, "UTC" | "GMT"));
            self.zone = if utc { TimeZone::UTC } else { hints.zone.clone() };
            self.clock.set_zone(self.zone.clone());
            (date.when, self.clock.moment(date.when))
        });
    }

    /// Another run of the tool follows.
    pub(super) fn restart(&mut self) {
        self.ticker.restart();
        self.begun = None;
        self.last = None;
    }

    /// The time and length of the interval of the next line; None when its time cannot be read.
    pub(super) fn at(&mut self, stamp: Stamp<'_>, first: bool, out: &mut Out<'_>) -> Option<(Micros, Option<f64>)> {
        let t = match stamp {
            Stamp::Epoch(cell) => {
                let seconds = number(cell).filter(|s| *s > 0.0 && *s < 1e11)?;
                Micros((seconds * 1e6).round() as i64)
            }
            Stamp::Text(cell) => self.text(cell, out)?,
            Stamp::None => return Some(self.counted(first, out)),
        };
        Some((t, self.ticker.tick(t)))
    }

    fn counted(&mut self, first: bool, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        if let (Some((_, begun)), None) = (self.begun, out.hints().start) {
            let delay = self.delay.unwrap_or(1.0);
            let t = Micros(begun.0.saturating_add((self.lines as f64 * delay * 1e6) as i64));
            self.lines += 1;
            return (t, Some(delay));
        }
        let delay = self.delay;
        let relative = self.relative.get_or_insert_with(|| Relative::new(out, delay));
        if first {
            return (relative.after(0.0), None);
        }
        let (t, dt) = relative.tick();
        (t, Some(dt))
    }

    /// `21-11 08:31:22` (day and month), `Nov-21 08:31:34`, `2026-11-21 08:31:22`, `08:31:22`.
    fn text(&mut self, cell: &str, out: &mut Out<'_>) -> Option<Micros> {
        let cell = cell.trim();
        let (day, time) = cell.rsplit_once([' ', 'T']).unwrap_or(("", cell));
        let time = civil_time(time, None)?;
        if day.is_empty() {
            return Some(self.clock.at(time, out));
        }
        let when = match civil_date(day) {
            Some(date) => date.to_datetime(time),
            None => self.with_year(day, time, out)?.to_datetime(time),
        };
        self.last = Some(when);
        Some(self.clock.moment(when))
    }

    /// The date of a day and month: that of the year before or after if it follows so from the
    /// last one, or from when the tool was begun; else the latest one before the file was written.
    fn with_year(&self, day: &str, time: Time, out: &mut Out<'_>) -> Option<Date> {
        let Some(near) = self.last.or(self.begun.map(|(when, _)| when)) else {
            out.assume("the year of the file's last writing, as there is none in the input (or give --start)");
            let of = |year| Some(day_of_year(day, year)?.to_datetime(time));
            return latest_year(self.modified.unwrap_or_default(), of).map(|when| when.date());
        };
        let distance = |date: &Date| (near.date().duration_until(*date).as_hours()).abs();
        let years = [near.year(), near.year().saturating_sub(1), near.year().saturating_add(1)];
        years.into_iter().filter_map(|year| day_of_year(day, year)).min_by_key(distance)
    }
}

/// `21-11`, `21/11`, `Nov-21`, `21 Nov` in a year.
fn day_of_year(day: &str, year: i16) -> Option<Date> {
    let (a, b) = day.split_once(['-', '/', ' ', '.'])?;
    if a.bytes().all(|b| b.is_ascii_digit()) && b.bytes().all(|b| b.is_ascii_digit()) {
        return Date::new(year, b.parse().ok()?, a.parse().ok()?).ok();
    }
    ctime(&format!("{a} {b} 00:00:00 {year}")).map(|c| c.when.date())
}

/// The delay at the end of the command; dstat's is one second.
fn delay(command: &str) -> Option<f64> {
    let words: Vec<&str> = command.split_ascii_whitespace().map(|w| w.trim_matches(['"', ','])).collect();
    let is_number = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_digit());
    let numbers = words.iter().rev().take_while(|w| is_number(w)).take(2).count();
    let at = words.len() - numbers;
    let option = words.get(at.wrapping_sub(1)).is_some_and(|w| ["-C", "-D", "-N", "-I", "-S"].contains(w));
    let at = if option { at + 1 } else { at };
    words.get(at).map_or(Some(1.0), |w| number(w).filter(|d| *d > 0.0))
}

/// The time of day in a line of figures.
fn seconds_of_day(line: &str) -> Option<f64> {
    if line.starts_with('"') {
        return None;
    }
    let end = line.match_indices(':').find_map(|(at, _)| {
        let text = line.get(at.checked_sub(2)?..at + 6)?;
        (text.as_bytes().get(5) == Some(&b':')).then_some(text)
    })?;
    let time = civil_time(end, None)?;
    Some(f64::from(time.hour()) * 3600.0 + f64::from(time.minute()) * 60.0 + f64::from(time.second()))
}
