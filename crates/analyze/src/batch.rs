//! Comparison of runs that were made in batches. The runs of a batch (one CI job, one boot, one day) share what makes it
//! unlike the next one, so that the batch is the unit of replication.

use crate::{
    Change, Interval,
    interval::{student_quantile, student_tail},
    sample::{mean, standard_deviation},
};

/// The fewest batches that show how far they differ from each other without a cause.
pub const FEWEST_BATCHES: usize = 4;

/// How the batches `b` differ from the batches `a`, by the mean of each, and the p-value of that.
///
/// `b` may be a single batch: the standard deviation is that between the batches of `a` (the t test of one case against a
/// sample, Crawford and Howell 1998). `is_relative` makes the change a share of the mean of `a`. None with fewer than
/// [`FEWEST_BATCHES`] in `a`, without one in `b`, and for a share of 0.
pub fn between_batches(a: &[f64], b: &[f64], is_relative: bool, level: f64) -> Option<(Change, f64)> {
    if a.len() < FEWEST_BATCHES || b.is_empty() {
        return None;
    }
    let unit = if is_relative { mean(a).abs() } else { 1.0 };
    if unit == 0.0 {
        return None;
    }
    let value = (mean(b) - mean(a)) / unit;
    let error = standard_deviation(a) / unit * (1.0 / a.len() as f64 + 1.0 / b.len() as f64).sqrt();
    let freedom = a.len() - 1;
    let half = student_quantile((1.0 - level) / 2.0, freedom) * error;
    let p = match (error > 0.0, value == 0.0) {
        (true, _) => 2.0 * student_tail(value.abs() / error, freedom),
        (false, is_same) => f64::from(u8::from(is_same)),
    };
    Some((Change { value, interval: Some(Interval { low: value - half, high: value + half }) }, p))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: mean 10, standard deviation sqrt(10/4); t = 3.5 / (1.5811 * sqrt(1.2)) = 2.0207 with 4 degrees of freedom,
    /// p = 2 * `scipy.stats.t.sf(2.0207, 4)` = 0.1134.
    #[test]
    fn one_batch_is_judged_by_the_spread_between_batches() {
        let a = [8.0, 9.0, 10.0, 11.0, 12.0];
        let (change, p) = between_batches(&a, &[13.5], false, 0.95).unwrap();
        assert!((change.value - 3.5).abs() < 1e-12 && (p - 0.1134).abs() < 5e-4, "{change:?} {p}");
        let interval = change.interval.unwrap();
        assert!((interval.high - 3.5 - 2.7764 * 1.5811 * 1.2_f64.sqrt()).abs() < 1e-3, "{interval:?}");
        assert!((between_batches(&a, &[13.5], true, 0.95).unwrap().0.value - 0.35).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_vary_has_a_certain_change_or_none() {
        let p = |b: f64| between_batches(&[2.0; 4], &[b], true, 0.95).unwrap().1;
        assert_eq!((p(2.0), p(3.0)), (1.0, 0.0));
    }

    #[test]
    fn too_few_batches_and_shares_of_zero_give_nothing() {
        assert_eq!(between_batches(&[1.0, 2.0, 3.0], &[1.0], false, 0.95), None);
        assert_eq!(between_batches(&[1.0; 4], &[], false, 0.95), None);
        assert_eq!(between_batches(&[-1.0, 1.0, -1.0, 1.0], &[1.0], true, 0.95), None);
    }
}
