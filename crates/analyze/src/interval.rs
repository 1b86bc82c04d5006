//! Bootstrap confidence intervals (expanded percentile method), and Student's t quantiles.

use std::f64::consts::{FRAC_PI_2, SQRT_2};

use fenxi_model::Random;

use crate::sample::quantile;

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
    /// Returns true if `value` is within.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Returns true if all of it is within `outer`.
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
    let size = n as f64;
    normal_tail(student_quantile(tail, n - 1) * (size / (size - 1.0)).sqrt())
}

/// The t beyond which Student's distribution of `freedom` degrees has the `tail`, by halving.
pub(crate) fn student_quantile(tail: f64, freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if student_tail(middle, freedom) > tail { low = middle } else { high = middle }
    }
    low
}

/// The probability that a normal variable is greater than `z`.
fn normal_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / SQRT_2)
}

/// The probability that a variable with Student's distribution of `freedom` degrees is greater than
/// `t`, not negative (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).
pub(crate) fn student_tail(t: f64, freedom: usize) -> f64 {
    // The sums have a term for every other degree; long before, it is the normal distribution.
    if freedom > 10_000 {
        return normal_tail(t);
    }
    let angle = (t / (freedom as f64).sqrt()).atan();
    let square = angle.cos().powi(2);
    let even = freedom.is_multiple_of(2);
    let (mut term, mut sum) = if even { (1.0, 1.0) } else { (angle.cos(), angle.cos()) };
    let mut k = if even { 2 } else { 3 };
    while k < freedom {
        term *= square * (k - 1) as f64 / k as f64;
        sum += term;
        k += 2;
    }
    let within = match (even, freedom) {
        (true, _) => angle.sin() * sum,
        (false, 1) => angle / FRAC_PI_2,
        (false, _) => (angle + angle.sin() * sum) / FRAC_PI_2,
    };
    0.5 * (1.0 - within)
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

    /// `scipy.stats.t.sf` and `norm.sf` (1.17.1).
    #[test]
    fn tails_agree_with_scipy() {
        let cases = [
            (12.7, 1, 0.025012163844672083),
            (2.0, 2, 0.09175170953613698),
            (3.5, 3, 0.019740518809641387),
            (2.2, 10, 0.02622053422467658),
            (1.7, 57, 0.047291064231732106),
        ];
        for (t, freedom, tail) in cases {
            assert!((student_tail(t, freedom) - tail).abs() < 1e-12, "{t} {freedom}: {}", student_tail(t, freedom));
        }
        assert!((normal_tail(1.96) - 0.024997895148220435).abs() < 1e-15);
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
