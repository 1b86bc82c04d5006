//! Arrival schedules: intended start times of transactions, independent of the server (open loop).
//!
//! A schedule is a function of the number of a transaction and of a seed: threads need not talk about it, and a queue of
//! transactions that wait is two cursors over it, however long it is.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::random::Random;

/// The largest shift of a steady start, as a share of the period: beyond it starts would overtake each other.
pub const MAX_JITTER: f64 = 0.5;

/// Why a rate is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}`: {what}")]
pub struct RateError {
    /// Text that was given.
    pub text: String,
    /// Message: the problem, and valid values.
    pub what: String,
}

/// A part of a run with a rate that is constant or changes evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Part {
    from_per_s: f64,
    to_per_s: f64,
    #[serde(with = "endless")]
    seconds: f64,
}

impl Part {
    /// How many transactions begin within `t` seconds.
    fn count(&self, t: f64) -> f64 {
        if self.seconds.is_infinite() {
            return self.from_per_s * t;
        }
        self.from_per_s * t + (self.to_per_s - self.from_per_s) * t * t / (2.0 * self.seconds)
    }

    /// After how many seconds that many have begun.
    fn time(&self, count: f64) -> f64 {
        if count <= 0.0 {
            return 0.0;
        }
        let slope = (self.to_per_s - self.from_per_s) / self.seconds;
        if self.seconds.is_infinite() || slope.abs() < 1e-12 {
            return count / self.from_per_s;
        }
        // The root of slope/2·t² + from·t = count in the form that is stable for small slopes.
        let root = (self.from_per_s * self.from_per_s + 2.0 * slope * count).max(0.0).sqrt();
        2.0 * count / (self.from_per_s + root)
    }
}

/// JSON has no infinity: a part that lasts has no number of seconds there.
mod endless {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(seconds: &f64, to: S) -> Result<S::Ok, S::Error> {
        Some(*seconds).filter(|s| s.is_finite()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}

/// A shared list as a plain one.
mod starts {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(starts: &Arc<[u64]>, to: S) -> Result<S::Ok, S::Error> {
        starts[..].serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u64]>, D::Error> {
        Ok(Vec::deserialize(from)?.into())
    }
}

/// A rate over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate(Vec<Part>);

impl Rate {
    /// The same rate all the time.
    pub fn constant(per_s: f64) -> Rate {
        Rate(vec![Part { from_per_s: per_s, to_per_s: per_s, seconds: f64::INFINITY }])
    }

    /// Reads `500`, steps as `100@30s,200@30s,400` and ramps as `100..2000@60s`. The last rate lasts.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn parse(text: &str) -> Result<Rate, RateError> {
        let wrong = |what: &str| RateError { text: text.to_owned(), what: what.to_owned() };
        let per_s = |number: &str| {
            let rate = number.trim().parse::<f64>().ok().filter(|r| (0.0..=1e7).contains(r));
            rate.ok_or_else(|| {
                wrong("expected a rate per second such as 500, steps 100@30s,200 or a ramp 100..2000@60s")
            })
        };
        let duration = |text: &str| fenxi_model::parse_seconds(text).filter(|s| s.is_finite());
        let mut parts = Vec::new();
        let mut pieces = text.split(',').peekable();
        while let Some(piece) = pieces.next() {
            let (rates, seconds) = match piece.split_once('@') {
                Some((rates, seconds)) => {
                    (rates, duration(seconds).ok_or_else(|| wrong("expected a duration such as 30s or 5m"))?)
                }
                None if pieces.peek().is_none() => (piece, f64::INFINITY),
                None => return Err(wrong("all steps but the last need a duration, such as 100@30s")),
            };
            let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
            let (from_per_s, to_per_s) = (per_s(from)?, per_s(to)?);
            if seconds <= 0.0 || (seconds.is_infinite() && from_per_s != to_per_s) {
                return Err(wrong("a ramp needs a duration, such as 100..2000@60s"));
            }
            parts.push(Part { from_per_s, to_per_s, seconds });
        }
        let last = parts.last().ok_or_else(|| wrong("there is no rate"))?.to_per_s;
        if last <= 0.0 {
            return Err(wrong("the last rate lasts, so it must be above 0"));
        }
        if parts.last().is_some_and(|part| part.seconds.is_finite()) {
            parts.extend(Rate::constant(last).0);
        }
        Ok(Rate(parts))
    }

    /// The rate that is asked for on the average of `from` to `to` seconds after the beginning.
    pub fn mean(&self, from: f64, to: f64) -> f64 {
        (self.count(to) - self.count(from)) / (to - from)
    }

    fn count(&self, mut t: f64) -> f64 {
        let mut sum = 0.0;
        for part in &self.0 {
            let inside = t.min(part.seconds);
            sum += part.count(inside);
            t -= inside;
            if t <= 0.0 {
                break;
            }
        }
        sum
    }

    /// When the rate has let that many begin, in seconds.
    fn time(&self, mut count: f64) -> f64 {
        let mut begin = 0.0;
        for part in &self.0 {
            let whole = part.count(part.seconds);
            if count < whole || part.seconds.is_infinite() {
                return begin + part.time(count);
            }
            count -= whole;
            begin += part.seconds;
        }
        begin
    }
}

/// Arrival process: steady or Poisson.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arrival {
    /// Evenly, each moved by up to `jitter` of the period either way; at most [`MAX_JITTER`].
    Steady {
        /// Share of the period.
        jitter: f64,
    },
    /// As independent users come: exponential gaps.
    Poisson,
}

/// When transactions begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Schedule {
    /// Each connection begins one when its last one is done.
    Closed,
    /// At a rate.
    Open {
        /// The rate.
        rate: Rate,
        /// Around it.
        arrival: Arrival,
    },
    /// At these nanoseconds after the beginning, in order.
    Trace(#[serde(with = "starts")] Arc<[u64]>),
}

impl Schedule {
    /// Reads a recorded trace: seconds, one start a line, in any order; what begins with `#` is passed over. The first
    /// start is the beginning.
    ///
    /// # Errors
    /// When a line is no number.
    pub fn trace(text: &str) -> Result<Schedule, RateError> {
        let mut starts = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let first = line.split([' ', '\t', ',']).next().unwrap_or(line);
            let seconds = first.parse::<f64>().ok().filter(|s| s.is_finite());
            starts.push(seconds.ok_or_else(|| RateError {
                text: line.to_owned(),
                what: "a trace needs a number of seconds in each line".to_owned(),
            })?);
        }
        starts.sort_by(f64::total_cmp);
        let first = starts.first().copied().unwrap_or(0.0);
        Ok(Schedule::Trace(starts.into_iter().map(|s| ((s - first) * 1e9).round() as u64).collect()))
    }

    /// Returns true if starts do not depend on the server.
    pub fn is_open(&self) -> bool {
        *self != Schedule::Closed
    }

    /// The rate asked for on the average of an interval of seconds after the beginning; None for a closed loop.
    pub fn offered_per_s(&self, from: f64, to: f64) -> Option<f64> {
        match self {
            Schedule::Closed => None,
            Schedule::Open { rate, .. } => Some(rate.mean(from, to)),
            Schedule::Trace(starts) => {
                let before = |t: f64| starts.partition_point(|start| (*start as f64) < t * 1e9);
                Some((before(to) - before(from)) as f64 / (to - from))
            }
        }
    }
}

/// Goes through the starts that are one thread's: every `threads`-th.
#[derive(Clone, Debug)]
pub struct Cursor {
    schedule: Schedule,
    seed: u64,
    threads: u64,
    /// Number of the next transaction.
    turn: u64,
    /// For `Poisson`, the sum of the gaps before it, at a rate of 1.
    position: f64,
}

impl Cursor {
    /// At the first start of a thread.
    pub fn new(schedule: &Schedule, seed: u64, thread: u64, threads: u64) -> Cursor {
        let mut cursor = Cursor { schedule: schedule.clone(), seed, threads, turn: thread, position: 0.0 };
        cursor.position = cursor.gaps(0, thread);
        cursor
    }

    /// The number of the next transaction.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// When it is meant to begin, in nanoseconds after the beginning; None when there is no such time.
    pub fn start(&self) -> Option<u64> {
        match &self.schedule {
            Schedule::Closed => None,
            Schedule::Trace(starts) => starts.get(usize::try_from(self.turn).ok()?).copied(),
            Schedule::Open { rate, arrival } => {
                let place = match arrival {
                    Arrival::Poisson => self.position,
                    Arrival::Steady { jitter } => {
                        let shift = 2.0 * Random::new(!self.seed, self.turn).unit() - 1.0;
                        self.turn as f64 + 0.5 + jitter.min(MAX_JITTER) * shift
                    }
                };
                Some((rate.time(place) * 1e9) as u64)
            }
        }
    }

    /// Goes to the next one.
    pub fn advance(&mut self) {
        self.position += self.gaps(self.turn + 1, self.turn + self.threads);
        self.turn += self.threads;
    }

    /// The gaps before these transactions. Each thread draws those of the others too, which is cheaper than to agree.
    fn gaps(&self, first: u64, last: u64) -> f64 {
        match &self.schedule {
            Schedule::Open { arrival: Arrival::Poisson, .. } => {
                (first..=last).map(|turn| Random::new(!self.seed, turn).exponential()).sum()
            }
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Starts of all threads together, in seconds.
    fn starts(schedule: Schedule, threads: u64, count: usize) -> Vec<f64> {
        let mut all = Vec::new();
        for thread in 0..threads {
            let mut cursor = Cursor::new(&schedule, 42, thread, threads);
            for _ in 0..count / threads as usize {
                all.extend(cursor.start().map(|ns| ns as f64 / 1e9));
                cursor.advance();
            }
        }
        all.sort_by(f64::total_cmp);
        all
    }

    /// Mean and coefficient of variation of the gaps.
    fn gaps(starts: &[f64]) -> (f64, f64) {
        let gaps: Vec<f64> = starts.windows(2).map(|w| w[1] - w[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn steady_gaps_vary_as_the_jitter_says() {
        for threads in [1, 4] {
            for jitter in [0.0, 0.1, 0.5] {
                let arrival = Arrival::Steady { jitter };
                let (mean, cv) =
                    gaps(&starts(Schedule::Open { rate: Rate::constant(500.0), arrival }, threads, 40_000));
                assert!((mean - 0.002).abs() < 1e-6, "{mean}");
                // The difference of two uniform shifts of ±jitter has the deviation jitter·√(2/3).
                assert!((cv - jitter * (2.0_f64 / 3.0).sqrt()).abs() < 0.005, "{threads} {jitter} {cv}");
            }
        }
    }

    #[test]
    fn poisson_gaps_of_all_threads_together_are_exponential() {
        for threads in [1, 4] {
            let schedule = Schedule::Open { rate: Rate::constant(500.0), arrival: Arrival::Poisson };
            let all = starts(schedule.clone(), threads, 80_000);
            let alone = starts(schedule, 1, 80_000);
            assert!(all.iter().zip(&alone).all(|(a, b)| (a - b).abs() < 1e-6));
            let (mean, cv) = gaps(&all);
            assert!((mean - 0.002).abs() < 0.00003 && (cv - 1.0).abs() < 0.02, "{threads} {mean} {cv}");
        }
    }

    #[test]
    fn ramps_and_steps_begin_as_many_as_their_area() {
        let rate = Rate::parse("100@10s, 100..300@10s, 50").unwrap();
        assert_eq!((rate.count(10.0), rate.count(20.0), rate.count(30.0)), (1000.0, 3000.0, 3500.0));
        assert_eq!(rate.mean(10.0, 20.0), 200.0);
        let all = starts(Schedule::Open { rate, arrival: Arrival::Steady { jitter: 0.0 } }, 2, 4000);
        let within = |from: f64, to: f64| all.iter().filter(|s| (from..to).contains(*s)).count();
        assert_eq!((within(0.0, 10.0), within(10.0, 20.0), within(20.0, 30.0)), (1000, 2000, 500));
        assert!(within(19.0, 20.0) > within(10.0, 11.0) + 150);
    }

    #[test]
    fn what_is_no_rate_is_refused_with_an_example() {
        for text in ["", "x", "-1", "1..2", "100,200", "100@,1", "0", "1@0s,2", "inf", "100@1s,0"] {
            assert!(Rate::parse(text).is_err(), "{text}");
        }
        assert!(Rate::parse("abc").unwrap_err().to_string().contains("100..2000@60s"));
    }

    #[test]
    fn a_trace_begins_with_its_first_start() {
        let schedule = Schedule::trace("# starts\n11.5 x\n10\n10.25\n").unwrap();
        assert_eq!(schedule, Schedule::Trace([0, 250_000_000, 1_500_000_000].into()));
        assert_eq!(schedule.offered_per_s(0.0, 1.0), Some(2.0));
        assert_eq!(starts(schedule, 2, 10), [0.0, 0.25, 1.5]);
        assert!(Schedule::trace("x").is_err());
    }

    proptest! {
        #[test]
        fn the_time_of_a_count_has_that_count(from in 0.0_f64..1000.0, to in 0.1_f64..1000.0, t in 0.1_f64..30.0) {
            let rate = Rate(vec![
                Part { from_per_s: from, to_per_s: to, seconds: 10.0 },
                Part { from_per_s: to, to_per_s: to, seconds: f64::INFINITY },
            ]);
            let count = rate.count(t);
            prop_assume!(count > 1e-3);
            prop_assert!((rate.time(count) - t).abs() < 1e-6 * t.max(1.0), "{} {}", rate.time(count), t);
        }
    }
}
