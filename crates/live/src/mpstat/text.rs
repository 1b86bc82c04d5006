//! Text that the mpstat reports share: times, headers, numbers.

use std::fmt::Write;

use fenxi_model::Micros;
use jiff::{Timestamp, Zoned, tz::TimeZone};

/// The word in place of a time before lines of averages.
pub const AVERAGE: &str = "Average:";

/// Columns are so wide, with at least one blank before each.
pub const WIDTH: usize = 8;

/// Moments as a time of day in a zone.
#[derive(Debug)]
pub struct Clock {
    /// The zone of times of day.
    pub zone: TimeZone,
}

impl Clock {
    /// The moment as a civil time.
    pub fn zoned(&self, t: Micros) -> Zoned {
        Timestamp::from_microsecond(t.0).unwrap_or_default().to_zoned(self.zone.clone())
    }

    /// `14:35:53`; with milliseconds for intervals (`dt` seconds) that are no whole seconds.
    pub fn time(&self, t: Micros, dt: f64, into: &mut String) {
        into.clear();
        let format = if (dt - dt.round()).abs() < 0.05 { "%H:%M:%S" } else { "%H:%M:%S%.3f" };
        let _ = write!(into, "{}", self.zoned(t).strftime(format));
    }

    /// `2026-11-21 14:35:53`.
    pub fn moment(&self, t: Micros, into: &mut String) {
        into.clear();
        let _ = write!(into, "{}", self.zoned(t).strftime("%Y-%m-%d %H:%M:%S"));
    }
}

/// Adds a number of two decimals in a column of `width`; `-` when there is none.
pub fn number(value: Option<f64>, width: usize, out: &mut String) {
    let _ = match value {
        // A rounding error must not show as -0.00.
        Some(value) => write!(out, " {:>1$.2}", value + 0.0, width - 1),
        None => write!(out, " {:>1$}", "-", width - 1),
    };
}

/// Adds a word in a column of `width`.
pub fn word(text: &str, width: usize, out: &mut String) {
    let _ = write!(out, " {text:>0$}", width - 1);
}
