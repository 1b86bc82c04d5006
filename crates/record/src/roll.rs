//! Runs of a recording without an end: when their ticks fall, when they end, what is kept of them.

use fenxi_model::Micros;

/// Retention of a series. Runs labelled `keep` are always kept, of the others no more than this.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keep {
    /// Seconds after which a run is removed.
    pub age_s: Option<f64>,
    /// Bytes that all runs of the series may take.
    pub bytes: Option<u64>,
    /// How older runs are made fewer and coarser.
    pub thin: Vec<Thin>,
}

/// Runs older than this are merged, day by day, with one row for several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thin {
    /// Seconds after which it is done.
    pub after_s: f64,
    /// Seconds of a row; 0 leaves the rows as they are.
    pub step_s: f64,
}

/// Moments at which ticks fall: whole intervals after an origin on the steady clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    /// The origin, in seconds of the steady clock.
    pub(crate) origin: f64,
    /// The number of the next tick.
    pub(crate) n: u64,
}

/// The smallest part of an interval that is sampled.
pub(crate) const SHORT: f64 = 0.1;

impl Grid {
    /// Ticks at whole intervals from `steady` on.
    pub(crate) fn from(steady: f64) -> Grid {
        Grid { origin: steady, n: 1 }
    }

    /// Ticks at multiples of the interval on the wall clock, which shows `wall` when the steady one shows `steady`.
    pub(crate) fn aligned(wall: Micros, steady: f64, interval_s: f64) -> Grid {
        let interval_us = ((interval_s * 1e6).round() as i64).max(1);
        let phase_s = wall.0.rem_euclid(interval_us) as f64 / 1e6;
        // The first interval is a part of one; what is too short to mean anything is joined with the next.
        let n = if interval_s - phase_s >= interval_s * SHORT { 1 } else { 2 };
        Grid { origin: steady - phase_s, n }
    }

    /// When the next tick is due.
    pub(crate) fn due(&self, interval_s: f64) -> f64 {
        self.origin + self.n as f64 * interval_s
    }
}

/// Whether a run that began at `began` ends with the tick at `t`.
pub(crate) fn is_over(every_s: f64, interval_s: f64, began: Micros, t: Micros) -> bool {
    let every_us = ((every_s * 1e6).round() as i64).max(1);
    // A clock that is read a little early must not let a tick of the next run into this one.
    let early_us = (interval_s * 1e6 * SHORT).min(100_000.0) as i64;
    let slot = |t: Micros| (t.0 + early_us).div_euclid(every_us);
    slot(t) > slot(began)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_fall_on_multiples_of_the_interval() {
        let grid = Grid::aligned(Micros(1_795_000_003_000_000), 50.0, 10.0);
        assert_eq!((grid.origin, grid.n, grid.due(10.0)), (47.0, 1, 57.0));
        let grid = Grid::aligned(Micros(1_795_000_009_500_000), 50.0, 10.0);
        assert_eq!(grid.due(10.0), 60.5, "half a second of ten means nothing");
        assert_eq!(Grid::aligned(Micros(1_795_000_000_000_000), 50.0, 10.0).due(10.0), 60.0);
    }

    #[test]
    fn a_run_ends_with_the_tick_at_its_end() {
        let over = |began: i64, t: i64| is_over(3600.0, 10.0, Micros(began * 1000), Micros(t * 1000));
        assert!(!over(0, 3_590_000));
        assert!(over(0, 3_600_000) && over(0, 3_600_003) && over(0, 3_599_999), "a clock is read a little early");
        assert!(!over(3_599_999, 3_610_000), "and then the next run has begun");
        assert!(!over(3_600_000, 7_190_000));
        assert!(over(3_600_000, 7_260_000), "late is late");
    }
}
