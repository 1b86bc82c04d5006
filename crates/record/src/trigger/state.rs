//! Whether a condition has come true, tick by tick. It knows no clock: the moment is given.

use std::collections::BTreeMap;

use fenxi_model::{Micros, Rows};

use super::{
    condition::{Condition, Direction, What},
    metric::events,
    unusual::{ENOUGH, Hour},
};

/// A level is armed again when the value has fallen so far below it.
const AGAIN: f64 = 0.9;
/// More series than these of one condition are not looked at, so that names that never end cannot fill the memory.
const MOST_SERIES: usize = 1024;
/// A tick that comes a little early must not make a condition wait for another one.
const EARLY_S: f64 = 0.005;

/// A condition that has come true.
#[derive(Clone, Debug, PartialEq)]
pub struct Fired {
    /// The series that it holds for, such as `device=sda`; empty for the only one.
    pub series: String,
    /// Its value; None of an event.
    pub value: Option<f64>,
    /// The level that was reached.
    pub level: Option<f64>,
    /// For how many seconds it has held.
    pub held_s: f64,
    /// In words.
    pub message: String,
}

/// The value that came nearest to firing.
#[derive(Clone, Debug, PartialEq)]
pub struct Extreme {
    /// The value; robust standard deviations where these are compared.
    pub value: f64,
    /// The series.
    pub series: String,
    /// When.
    pub t: Micros,
}

/// A condition that is looked at.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) condition: Condition,
    series: BTreeMap<String, Series>,
    /// When each text of an event was last seen to fire.
    last_event: Option<f64>,
    extreme: Option<Extreme>,
    /// How often it fired in the open run.
    pub(super) n_fired: u32,
    /// How often it fired in all runs of the recording.
    pub(super) n_fired_ever: u32,
    /// For how many seconds it is calm, where that or what it has fired at before kept it from firing in the open run.
    held_back: Option<f64>,
}

#[derive(Debug, Default)]
struct Series {
    /// Since when it holds.
    since: Option<f64>,
    /// Whether it has fired since it began to hold.
    has_fired: bool,
    last_fired: Option<f64>,
    /// By level: whether it may fire, and when it did.
    levels: Vec<(bool, Option<f64>)>,
    hour: Hour,
}

/// A moment of looking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Seconds on a clock that never steps.
    pub now: f64,
    /// The same for rows.
    pub t: Micros,
    /// Seconds since the last look.
    pub dt: f64,
    /// For how many seconds a condition is not looked at after it has fired.
    pub calm_s: f64,
}

impl Moment {
    fn is_calm(&self, last: Option<f64>) -> bool {
        last.is_some_and(|last| self.now - last < self.calm_s)
    }
}

impl Watched {
    pub(super) fn new(condition: Condition) -> Watched {
        Watched {
            condition,
            series: BTreeMap::new(),
            last_event: None,
            extreme: None,
            n_fired: 0,
            n_fired_ever: 0,
            held_back: None,
        }
    }

    /// Looks at the rows of a tick; `sessions` is how many there are where the condition counts these.
    pub(super) fn look(&mut self, rows: &Rows, sessions: Option<f64>, moment: Moment) -> Vec<Fired> {
        let fired = match self.condition.what.clone() {
            What::Event(matches) => self.event(events(&matches, rows), moment),
            What::Compare(parts) => {
                let hold_s = self.condition.hold_s;
                let values: Vec<_> =
                    parts.iter().map(|(metric, by, than)| (values(metric, rows, sessions), *by, *than)).collect();
                if let [(values, by, than)] = values.as_slice() {
                    self.each(values, moment, hold_s, by.is_downward(), |value| by.holds(value, *than))
                } else {
                    // Of several parts only whether all hold is followed, each for any of its series.
                    let any = |values: &[(String, Option<f64>)], holds: &dyn Fn(f64) -> bool| {
                        let known: Vec<f64> = values.iter().filter_map(|(_, value)| *value).collect();
                        (!known.is_empty()).then(|| known.into_iter().any(holds))
                    };
                    let parts: Option<Vec<bool>> =
                        values.iter().map(|(values, by, than)| any(values, &|value| by.holds(value, *than))).collect();
                    let all = parts.map(|parts| f64::from(u8::from(parts.iter().all(|holds| *holds))));
                    self.each(&[(String::new(), all)], moment, hold_s, false, |value| value > 0.0)
                }
            }
            What::Reaches(metric, levels) => self.levels(&values(&metric, rows, sessions), &levels, moment),
            What::Unusual(metric, direction, by) => {
                let hold_s = self.condition.hold_s;
                self.unusual(&values(&metric, rows, sessions), direction, by, moment, hold_s)
            }
        };
        self.n_fired += fired.len() as u32;
        self.n_fired_ever += fired.len() as u32;
        fired
    }

    /// Another run begins: its report at the end covers that run only.
    pub(super) fn begin_next(&mut self) {
        (self.n_fired, self.extreme, self.held_back) = (0, None, None);
    }

    /// The note on a condition that never fired.
    pub(super) fn never(&self) -> String {
        if let Some(calm_s) = self.held_back {
            return format!(
                "did not fire again: it had fired before, and does so neither within {calm_s} s (--calm) nor as long as it goes on"
            );
        }
        let what = match &self.condition.what {
            What::Event(_) => return "never fired: there was no such event".to_owned(),
            What::Unusual(..) => "the value farthest from the hour before was at a robust z-score of",
            What::Compare(parts) if parts.len() > 1 => {
                return "never fired: its parts did not hold together".to_owned();
            }
            What::Compare(parts) if parts[0].1.is_downward() => "the smallest value seen was",
            What::Compare(_) | What::Reaches(..) => "the largest value seen was",
        };
        match &self.extreme {
            Some(Extreme { value, series, t }) => {
                let of = if series.is_empty() { String::new() } else { format!(" of {series}") };
                let why = match &self.condition.what {
                    What::Compare(parts) if parts[0].1.holds(*value, parts[0].2) => {
                        format!("never held for {} s: ", number(self.condition.hold_s))
                    }
                    _ => "never fired: ".to_owned(),
                };
                format!("{why}{what} {}{of} at {}", number(*value), t.iso())
            }
            None if matches!(self.condition.what, What::Unusual(..)) => {
                format!("never fired: the last hour had less than {ENOUGH} values to compare with")
            }
            None => "never fired: no value was seen".to_owned(),
        }
    }

    fn event(&mut self, messages: Vec<String>, moment: Moment) -> Vec<Fired> {
        let mut fired = Vec::new();
        for message in messages {
            if moment.is_calm(self.last_event) {
                self.held_back = Some(moment.calm_s);
                continue;
            }
            self.last_event = Some(moment.now);
            fired.push(Fired { series: String::new(), value: None, level: None, held_s: 0.0, message });
        }
        fired
    }

    fn series(&mut self, name: &str) -> Option<&mut Series> {
        if self.series.len() >= MOST_SERIES && !self.series.contains_key(name) {
            return None;
        }
        Some(self.series.entry(name.to_owned()).or_default())
    }

    fn seen(&mut self, value: f64, series: &str, t: Micros, is_downward: bool) {
        let is_more = |known: &Extreme| if is_downward { value < known.value } else { value > known.value };
        if self.extreme.as_ref().is_none_or(is_more) {
            self.extreme = Some(Extreme { value, series: series.to_owned(), t });
        }
    }

    /// Values that have to hold for a while. An unknown one does not hold.
    fn each(
        &mut self,
        values: &[(String, Option<f64>)],
        moment: Moment,
        hold_s: f64,
        is_downward: bool,
        holds: impl Fn(f64) -> bool,
    ) -> Vec<Fired> {
        let mut fired = Vec::new();
        for (name, value) in values {
            if let Some(value) = value {
                self.seen(*value, name, moment.t, is_downward);
            }
            let Some(series) = self.series(name) else { continue };
            let Some(value) = value.filter(|value| holds(*value)) else {
                (series.since, series.has_fired) = (None, false);
                continue;
            };
            // It held over the interval that ends now.
            let held_s = moment.now - *series.since.get_or_insert(moment.now - moment.dt);
            if held_s < hold_s - EARLY_S {
                continue;
            }
            if series.has_fired || moment.is_calm(series.last_fired) {
                self.held_back = Some(moment.calm_s);
                continue;
            }
            (series.has_fired, series.last_fired) = (true, Some(moment.now));
            let held = if hold_s > 0.0 { format!(", and has held for {held_s:.1} s") } else { String::new() };
            let message = format!("the value{} is {}{held}", of(name), number(value));
            fired.push(Fired { series: name.clone(), value: Some(value), level: None, held_s, message });
        }
        fired
    }

    fn unusual(
        &mut self,
        values: &[(String, Option<f64>)],
        direction: Direction,
        by: f64,
        moment: Moment,
        hold_s: f64,
    ) -> Vec<Fired> {
        let mut distances = Vec::new();
        for (name, value) in values {
            let distance = value.and_then(|value| self.series(name)?.hour.distance(moment.now, value));
            distances.push((
                name.clone(),
                distance.map(|distance| match direction {
                    Direction::Either => distance.abs(),
                    Direction::High => distance,
                    Direction::Low => -distance,
                }),
            ));
        }
        let mut fired = self.each(&distances, moment, hold_s, false, |distance| distance >= by);
        for fired in &mut fired {
            let known = values.iter().find(|(name, _)| *name == fired.series).and_then(|(_, value)| *value);
            let distance = std::mem::replace(&mut fired.value, known).unwrap_or_default();
            let value = known.map_or("unknown".to_owned(), number);
            fired.message = format!(
                "the value{} is {value}: {distance:.1} robust standard deviations from the median of the last hour",
                of(&fired.series)
            );
        }
        fired
    }

    fn levels(&mut self, values: &[(String, Option<f64>)], levels: &[f64], moment: Moment) -> Vec<Fired> {
        let mut fired = Vec::new();
        for (name, value) in values {
            let Some(value) = *value else { continue };
            self.seen(value, name, moment.t, false);
            let Some(series) = self.series(name) else { continue };
            if series.levels.is_empty() {
                // A value above a level from the beginning did not cross it.
                series.levels = levels.iter().map(|level| (value < *level, None)).collect();
                continue;
            }
            let mut is_held_back = false;
            for (level, (is_armed, last)) in levels.iter().zip(&mut series.levels) {
                if value < level * AGAIN {
                    *is_armed = true;
                }
                if value < *level || !*is_armed || moment.is_calm(*last) {
                    is_held_back |= value >= *level && last.is_some();
                    continue;
                }
                (*is_armed, *last) = (false, Some(moment.now));
                let message = format!("the value{} reached {}: it is {}", of(name), number(*level), number(value));
                fired.push(Fired {
                    series: name.clone(),
                    value: Some(value),
                    level: Some(*level),
                    held_s: 0.0,
                    message,
                });
            }
            if is_held_back {
                self.held_back = Some(moment.calm_s);
            }
        }
        fired
    }
}

fn values(metric: &super::metric::Metric, rows: &Rows, sessions: Option<f64>) -> Vec<(String, Option<f64>)> {
    if metric.table().is_none() { vec![(String::new(), sessions)] } else { metric.values(rows) }
}

fn of(series: &str) -> String {
    if series.is_empty() { String::new() } else { format!(" of {series}") }
}

/// A number with as many digits as say something.
pub(super) fn number(value: f64) -> String {
    if value == value.round() && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests;
