//! How sure a number is, by resampling.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::{random::Random, sample::quantile};

/// Resamples drawn.
const RESAMPLES: usize = 2_000;

/// From where to where a number may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` is within.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Whether all of it is within `outer`.
    pub fn is_within(&self, outer: Interval) -> bool {
        self.low >= outer.low && self.high <= outer.high
    }
}

/// The interval that holds `statistic` of two groups with probability `level`, by drawing from each group
/// with replacement; None when a group has fewer than two values or no resample gives a number.
///
/// Plain percentiles of resamples are too narrow for few values; they are taken further out as Student's
/// t asks (Hesterberg 2015, What Teachers Should Know About the Bootstrap, expanded percentiles).
pub fn bootstrap(a: &[f64], b: &[f64], level: f64, statistic: impl Fn(&[f64], &[f64]) -> f64) -> Option<Interval> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let mut random = Random::new(0xb007);
    let (mut of_a, mut of_b) = (a.to_vec(), b.to_vec());
    let mut drawn = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        of_a.iter_mut().for_each(|v| *v = a[random.below(a.len())]);
        of_b.iter_mut().for_each(|v| *v = b[random.below(b.len())]);
        drawn.push(statistic(&of_a, &of_b));
    }
    drawn.retain(|v| v.is_finite());
    if drawn.is_empty() {
        return None;
    }
    drawn.sort_by(f64::total_cmp);
    let tail = expanded((1.0 - level) / 2.0, a.len().min(b.len()));
    Some(Interval { low: quantile(&drawn, tail), high: quantile(&drawn, 1.0 - tail) })
}

/// The tail to cut off from resamples of `n` values, for one of `tail` of the real ones.
fn expanded(tail: f64, n: usize) -> f64 {
    let n = n as f64;
    let (Ok(student), Ok(normal)) = (StudentsT::new(0.0, 1.0, n - 1.0), Normal::new(0.0, 1.0)) else { return tail };
    normal.cdf(student.inverse_cdf(tail) * (n / (n - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::mean;

    #[test]
    fn tails_go_out_further_for_few_values() {
        // Φ(√(n/(n−1)) t) by SciPy 1.17.1: norm.cdf(sqrt(5/4) * t.ppf(0.025, 4)).
        assert!((expanded(0.025, 5) - 0.000_954_100_551_882_488_5).abs() < 1e-9, "{}", expanded(0.025, 5));
        assert!((expanded(0.025, 10_000) - 0.025).abs() < 1e-4);
    }

    #[test]
    fn ninety_five_of_a_hundred_intervals_hold_the_truth() {
        let mut random = Random::new(11);
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let mut held = 0;
        for _ in 0..400 {
            let a: Vec<f64> = (0..8).map(|_| 100.0 + 3.0 * normal()).collect();
            let b: Vec<f64> = (0..8).map(|_| 110.0 + 3.0 * normal()).collect();
            let interval = bootstrap(&a, &b, 0.95, |a, b| mean(b) / mean(a)).unwrap();
            held += u32::from(interval.contains(1.1));
        }
        assert!((364..=396).contains(&held), "{held} of 400");
    }

    #[test]
    fn too_little_gives_no_interval() {
        assert_eq!(bootstrap(&[1.0], &[1.0, 2.0], 0.95, |_, b| mean(b)), None);
        assert_eq!(bootstrap(&[0.0, 0.0], &[1.0, 2.0], 0.95, |a, b| mean(b) / mean(a)), None);
    }
}
