//! Moments of threads that gather by themselves: microseconds of a clock that does not step, from the source's beginning.
//!
//! A collector knows no calendar. What its threads gathered is moved to the tick's time when it is taken.

use std::time::Instant;

use fenxi_model::Micros;

/// The beginning of a source's own time.
#[derive(Clone, Copy, Debug)]
pub struct Epoch(Instant);

impl Epoch {
    /// Begins now.
    pub fn begin() -> Epoch {
        Epoch(Instant::now())
    }

    /// Now, in its time.
    pub fn now(self) -> Micros {
        self.at(Instant::now())
    }

    /// A moment, in its time.
    pub fn at(self, moment: Instant) -> Micros {
        Micros(i64::try_from(moment.saturating_duration_since(self.0).as_micros()).unwrap_or(i64::MAX))
    }
}

/// An interval that ended.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Its end, in the source's own time.
    pub t: Micros,
    /// Its length in seconds; None for the first reading, which only remembers counters.
    pub dt: Option<f64>,
}
