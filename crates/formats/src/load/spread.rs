//! A distribution in bounded memory: log-linear buckets, as HDR histograms have them.
//!
//! A bucket is at most 1/64 of its lower bound wide, so a percentile is exact to 1.6 %; count, sum,
//! minimum and maximum are exact.

use super::names::{self, LATENCY_BUCKETS, Results};
use crate::Out;

/// Each power of two is cut into `2^BITS` buckets.
const BITS: u32 = 6;
const SUB: u64 = 1 << BITS;

/// Histogram of values; a value is a number of ticks (microseconds, nanoseconds).
#[derive(Clone, Debug, Default)]
pub struct Spread {
    counts: Vec<u64>,
    count: u64,
    sum: f64,
    squares: f64,
    min: u64,
    max: u64,
}

/// The bucket of a value.
fn slot(ticks: u64) -> usize {
    if ticks < SUB {
        return ticks as usize;
    }
    let shift = 63 - ticks.leading_zeros() - BITS;
    (u64::from(shift + 1) * SUB + ((ticks >> shift) - SUB)) as usize
}

/// Lowest value of a bucket, and of the next.
fn bounds(slot: usize) -> (f64, f64) {
    let slot = slot as u64;
    if slot < SUB {
        return (slot as f64, slot as f64 + 1.0);
    }
    let width = 2f64.powi((slot / SUB - 1) as i32);
    let lo = (SUB + slot % SUB) as f64 * width;
    (lo, lo + width)
}

impl Spread {
    /// Counts one value.
    pub fn add(&mut self, ticks: u64) {
        let slot = slot(ticks);
        if slot >= self.counts.len() {
            self.counts.resize(slot + 1, 0);
        }
        self.counts[slot] += 1;
        self.min = if self.count == 0 { ticks } else { self.min.min(ticks) };
        self.max = self.max.max(ticks);
        self.count += 1;
        self.sum += ticks as f64;
        self.squares += ticks as f64 * ticks as f64;
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean; None without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The standard deviation; None without values.
    pub fn sd(&self) -> Option<f64> {
        let mean = self.mean()?;
        Some((self.squares / self.count as f64 - mean * mean).max(0.0).sqrt())
    }

    /// The smallest value; None without values.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min as f64)
    }

    /// The largest value; None without values.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max as f64)
    }

    /// The value that `percent` of all values do not exceed; None without values.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let wanted = self.count as f64 * percent / 100.0;
        let mut below = 0.0;
        for (slot, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = *count as f64;
            if below + count >= wanted {
                let (lo, hi) = bounds(slot);
                // Whole ticks: the bucket of one tick is that tick.
                let value = if hi - lo <= 1.0 { lo } else { lo + (hi - lo) * ((wanted - below) / count) };
                return Some(value.clamp(self.min as f64, self.max as f64));
            }
            below += count;
        }
        self.max()
    }

    /// Writes the buckets that are not empty; a tick is `ms` milliseconds.
    pub fn write_buckets(&self, out: &mut Out<'_>, labels: &str, ms: f64) {
        for (slot, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (lo, hi) = bounds(slot);
            out.bucket(None, None, LATENCY_BUCKETS, labels, lo * ms, hi * ms, "ms", *count as f64);
        }
    }

    /// Writes mean, deviation, extremes and percentiles as results; a tick is `ms` milliseconds.
    pub fn write_results(&self, out: &mut Out<'_>, results: &mut Results, operation: &str, ms: f64) {
        let in_ms = |value: Option<f64>| value.map(|v| v * ms);
        results.of(out, names::LATENCY_MEAN, operation, in_ms(self.mean()));
        results.of(out, names::LATENCY_SD, operation, in_ms(self.sd()));
        results.of(out, names::LATENCY_MIN, operation, in_ms(self.min()));
        for percent in [50.0, 90.0, 95.0, 99.0, 99.9] {
            results.percentile(out, percent, operation, in_ms(self.percentile(percent)));
        }
        results.of(out, names::LATENCY_MAX, operation, in_ms(self.max()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(ticks in 0u64..(1 << 52)) {
            let (lo, hi) = bounds(slot(ticks));
            prop_assert!(lo <= ticks as f64 && (ticks as f64) < hi, "{ticks}: {lo}..{hi}");
            prop_assert!(hi - lo <= (lo / 64.0).max(1.0));
        }

        #[test]
        fn percentiles_are_near_those_of_the_sorted_values(mut values in vec(0u64..10_000_000, 1..500), p in 1u32..100) {
            let mut spread = Spread::default();
            values.iter().for_each(|v| spread.add(*v));
            values.sort_unstable();
            let rank = (values.len() as f64 * f64::from(p) / 100.0).ceil().max(1.0) as usize - 1;
            let (exact, got) = (values[rank] as f64, spread.percentile(f64::from(p)).unwrap());
            prop_assert!((exact - got).abs() <= exact / 64.0 + 1.0, "{exact} {got}");
            prop_assert_eq!(spread.min(), Some(values[0] as f64));
        }
    }

    #[test]
    fn extreme_values_have_buckets_too() {
        let mut spread = Spread::default();
        spread.add(u64::MAX);
        spread.add(0);
        assert_eq!((spread.percentile(1.0), spread.percentile(100.0)), (Some(0.0), Some(u64::MAX as f64)));
        assert_eq!(Spread::default().percentile(50.0), None);
    }
}
