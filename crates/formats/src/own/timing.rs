//! The part of a description on times: `[time]`, and what they are for the lines of a text.

use fenxi_model::Micros;
use jiff::tz::TimeZone;

use super::{
    document::{Keys, Wrong, perhaps},
    report::Pace,
    samples::{Begins, Seen},
    value::Values,
};
use crate::{
    Input, Out, Relative, Ticker, civil_date,
    generic::when::{Times, When},
    procps::moments::{Moments as Outputs, is_prompt},
    unix::times::{Times as Reports, Tool},
};

/// Groups of a pattern that hold times.
pub(super) const TIME: &str = "time";
pub(super) const DATE: &str = "date";

/// Keys of `[time]`.
pub(super) const KEYS: &[&str] =
    &["format", "zone", "date", "interval", "command", "takes", "every", "usual", "since_boot", "moments"];

/// How times are written.
#[derive(Debug)]
pub(super) struct Timing {
    /// None where samples are only counted.
    pub(super) when: Option<When>,
    zone: Option<TimeZone>,
    /// How the group `date` is written, where times of day are apart from it; None for any common form.
    date: Option<String>,
    pub(super) interval: Option<f64>,
    /// Whether rows are of the moment, and no average of an interval.
    is_momentary: bool,
    is_clock: bool,
    /// The tool whose outputs are each of a moment, where they are.
    pub(super) moments_of: Option<String>,
    /// The tool whose reports are each of an interval, where they are.
    pub(super) tool: Option<Tool>,
}

impl Timing {
    /// Reads `[time]` of a format whose patterns have some groups, and of which some may begin samples.
    pub(super) fn read(
        name: &'static str,
        keys: Keys<'_, '_>,
        has: impl Fn(&str) -> bool,
        samples: bool,
    ) -> Result<Timing, Wrong> {
        let source = keys.source;
        let said = keys.needed("format", "\"iso\"")?;
        let moments = said.text == "moments";
        let reports = said.text == "reports";
        let tool = if reports { Some(Pace::read(Some(keys), name)?.tool) } else { None };
        let counted = moments || reports || said.text == "counted";
        let missing = match (counted, has(TIME)) {
            (false, false) => Some("no pattern has a group `(?<time>…)`; add one, or say `format = \"counted\"`"),
            (true, true) => Some("a pattern has a group `time`, but times are `counted`; say how it is written"),
            (true, false) if !samples => {
                Some("times are `counted`, but no [[line]] has `sample = true`: the line with which each sample begins")
            }
            _ => None,
        };
        if let Some(why) = missing {
            return Err(source.wrong(said.at, why));
        }
        let when = (!counted).then(|| When::named(said.text));
        if let Some(When::Form(form)) = &when {
            check_form(form, true).map_err(|why| source.wrong(said.at, format!("`format`: {why}")))?;
        }
        let date = keys.text("date")?;
        let is_clock = when == Some(When::Day);
        if let Some(said) = date {
            check_form(said.text, false).map_err(|why| source.wrong(said.at, format!("`date`: {why}")))?;
            if !is_clock || !has(DATE) {
                let why = "`date` is for a group `(?<date>…)` apart from times of day: with `format = \"clock\"`";
                return Err(source.wrong(said.at, why));
            }
        }
        let (zone, interval) = (keys.zone()?, keys.positive("interval")?);
        let command = keys.text("command")?.map_or(String::new(), |said| said.text.to_owned());
        let moments_of = moments.then_some(command);
        let date = date.map(|said| said.text.to_owned());
        let is_momentary = keys.flag("moments")?;
        Ok(Timing { moments_of, tool, when, zone, date, interval, is_momentary, is_clock })
    }
}

/// Tries a form of `strftime` with a date.
fn check_form(form: &str, with_time: bool) -> Result<(), String> {
    const WORDS: &str = "expected `iso`, `clock`, `counted`, `moments`, `reports`, `epoch_s`, `epoch_ms`, `epoch_us`, `epoch_ns`, `elapsed_s`, \
                         `elapsed_ms`, `elapsed_us`, or a form of strftime such as `%d.%m.%Y %H:%M:%S`";
    if !form.contains('%') {
        let known = WORDS.split('`').filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        return Err(format!("`{form}` is not known{}; {WORDS}", perhaps(form, known)));
    }
    let moment =
        jiff::civil::date(2026, 11, 21).at(14, 35, 53, 0).to_zoned(TimeZone::UTC).map_err(|e| e.to_string())?;
    let text = jiff::fmt::strtime::format(form, &moment).map_err(|error| format!("`{form}`: {error}"))?;
    let read = jiff::fmt::strtime::parse(form, &text).map_err(|error| format!("`{form}`: {error}"))?;
    let day = read.to_date().ok().or_else(|| read.to_timestamp().ok().map(|t| t.to_zoned(TimeZone::UTC).date()));
    if day != Some(moment.date()) {
        return Err(format!("`{form}` has no year, month and day"));
    }
    let time = read.to_time().ok().or_else(|| read.to_timestamp().ok().map(|t| t.to_zoned(TimeZone::UTC).time()));
    if with_time && time.is_none_or(|time| time.hour() != 14) {
        return Err(format!("`{form}` has no time of day"));
    }
    Ok(())
}

/// Turns the times of lines into moments.
pub(super) struct Moments<'r> {
    pub(super) timing: &'r Timing,
    times: Times,
    relative: Option<Relative>,
    /// How times of outputs are found that are each of a moment.
    outputs: Option<Outputs>,
    /// And those of reports that are each of an interval.
    reports: Option<Reports>,
    /// The date of a line, for those that follow with a time of day.
    date: String,
    stamp: String,
    /// Texts of the present sample by which the next one is known.
    seen: Seen,
}

impl<'r> Moments<'r> {
    pub(super) fn new(timing: &'r Timing, out: &Out<'_>) -> Moments<'r> {
        let times = Times::in_zone(out, timing.zone.clone());
        let outputs = timing.moments_of.as_ref().map(|_| Outputs::new(out));
        Moments {
            timing,
            times,
            relative: None,
            outputs,
            reports: None,
            date: String::new(),
            stamp: String::new(),
            seen: Seen::default(),
        }
    }

    /// Learns how the beginning of a text gives the times of reports.
    pub(super) fn begin(&mut self, input: &Input<'_>, out: &Out<'_>) {
        self.reports = self.timing.tool.map(|tool| Reports::new(input, out, tool));
    }

    /// Takes the time off the front of a line of reports.
    pub(super) fn strip<'l>(&mut self, line: &'l str, out: &mut Out<'_>) -> &'l str {
        self.reports.as_mut().map_or(line, |reports| reports.strip(line, out))
    }

    /// Whether a line is around outputs or reports: a time, or the prompt with the command.
    pub(super) fn is_around(&mut self, text: &str, out: &mut Out<'_>) -> bool {
        if let Some(reports) = &mut self.reports {
            return reports.knows(text);
        }
        let Some(outputs) = &mut self.outputs else { return false };
        let command = self.timing.moments_of.as_deref().unwrap_or_default();
        outputs.take(text, out).is_some() || is_prompt(text.trim(), command)
    }

    /// Whether it is known how far samples are apart, and not assumed.
    pub(super) fn is_measured(&self) -> bool {
        self.outputs.as_ref().is_none_or(Outputs::is_measured)
    }

    /// Whether a sample begins with a line.
    pub(super) fn begins(&mut self, begins: Option<Begins>, values: &Values<'_>) -> bool {
        let Some(begins) = begins else { return false };
        let Begins::Again(group) = begins else { return true };
        let is_stamped = self.outputs.as_ref().is_some_and(Outputs::is_stamped);
        self.seen.begins(values.get(group).unwrap_or_default(), is_stamped)
    }

    /// The next sample's time and length.
    pub(super) fn count(&mut self, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        if let Some(outputs) = &mut self.outputs {
            return outputs.next(out);
        }
        if let Some(reports) = &mut self.reports {
            return reports.begin(out);
        }
        let interval = self.timing.interval;
        let (t, dt) = self.relative.get_or_insert_with(|| Relative::new(out, interval)).tick();
        (t, Some(dt))
    }

    /// How long the interval is that ends at a moment.
    pub(super) fn length(&self, t: Micros, ticker: &mut Ticker) -> Option<f64> {
        let dt = ticker.tick(t);
        if self.timing.is_momentary { None } else { dt }
    }

    /// The moment that date and time of a line give; None when it has none, and as an error what cannot be read.
    pub(super) fn stamp(
        &mut self,
        (date, time): (Option<&str>, Option<&str>),
        out: &mut Out<'_>,
    ) -> Result<Option<Micros>, String> {
        if let Some(date) = date {
            if self.timing.is_clock {
                let day = match &self.timing.date {
                    None => civil_date(date),
                    Some(form) => jiff::fmt::strtime::parse(form, date).ok().and_then(|read| read.to_date().ok()),
                };
                self.times.set_date(day.ok_or_else(|| date.to_owned())?);
            } else {
                date.clone_into(&mut self.date);
            }
        }
        let (Some(when), Some(time)) = (&self.timing.when, time) else { return Ok(None) };
        self.stamp.clear();
        if !self.date.is_empty() {
            self.stamp.push_str(&self.date);
            self.stamp.push(' ');
        }
        self.stamp.push_str(time);
        self.times.read(when, &self.stamp, out).map(Some).ok_or_else(|| self.stamp.clone())
    }
}
