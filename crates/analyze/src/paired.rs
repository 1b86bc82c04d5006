//! Student's t confidence intervals for means and paired ratios of few runs: with three or five runs, bootstrap
//! intervals are too narrow.

use crate::{
    Interval,
    interval::student_quantile,
    sample::{mean, standard_deviation},
};

/// The interval that holds the true mean with probability `level`; None of fewer than two values.
pub fn mean_interval(values: &[f64], level: f64) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let t = student_quantile((1.0 - level) / 2.0, values.len() - 1);
    let half = t * standard_deviation(values) / (values.len() as f64).sqrt();
    let center = mean(values);
    Some(Interval { low: center - half, high: center + half })
}

/// By what factor values differ from others of the same blocks: the geometric mean of the ratios and its
/// interval, for pairs (base, value) of positive numbers. What a block does to both falls out.
/// None without pairs; no interval of one pair.
pub fn paired_ratio(pairs: &[(f64, f64)], level: f64) -> Option<(f64, Option<Interval>)> {
    if pairs.is_empty() || !pairs.iter().all(|(a, b)| *a > 0.0 && *b > 0.0 && a.is_finite() && b.is_finite()) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
    let interval = mean_interval(&logs, level).map(|i| Interval { low: i.low.exp(), high: i.high.exp() });
    Some((mean(&logs).exp(), interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.t.interval(0.95, n - 1, mean, sem)` (1.17.1), of values and of logarithms.
    #[test]
    fn intervals_agree_with_scipy() {
        let close = |i: Interval, low: f64, high: f64| (i.low - low).abs() < 1e-9 && (i.high - high).abs() < 1e-9;
        let i = mean_interval(&[10.1, 10.4, 9.9, 10.2, 10.9], 0.95).unwrap();
        assert!(close(i, 9.827188435798014, 10.772811564201984), "{i:?}");
        let (ratio, i) = paired_ratio(&[(10.0, 19.0), (11.0, 22.5), (9.5, 17.0)], 0.95).unwrap();
        assert!(
            (ratio - 1.9087816443991072).abs() < 1e-9 && close(i.unwrap(), 1.6162463207024707, 2.254264909578513),
            "{ratio} {i:?}"
        );
    }

    #[test]
    fn too_little_gives_nothing() {
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(paired_ratio(&[(1.0, 2.0)], 0.95), Some((2.0, None)));
        assert_eq!(paired_ratio(&[], 0.95), None);
        assert_eq!(paired_ratio(&[(0.0, 2.0)], 0.95), None);
    }
}
