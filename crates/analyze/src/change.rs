//! Comparison of one metric between two groups of runs: change, confidence interval, effect size, p-value.

use crate::{
    Interval, bootstrap, cliffs_delta,
    permutation::{least_p, ranks_tell_more},
    sample::{mean, median},
    shift::shift,
};

/// A difference with the interval in which it is likely to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The second mean less the first; as a share of the first where [`Compared::is_relative`]. By
    /// [`Centre::Median`] it is the median of these over all pairs of a run of each group.
    pub value: f64,
    /// Where it is with the wanted probability; None with fewer than two runs in a group.
    pub interval: Option<Interval>,
}

/// Estimator of a group's central value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Centre {
    /// The mean of its runs.
    Mean,
    /// The median: a few runs are so far off that means would say less.
    Median,
}

/// Two groups of runs, compared by one number of each run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Runs of each group that have the number.
    pub n: (usize, usize),
    /// Estimator of both groups' central values.
    pub centre: Centre,
    /// Mean or median of each group.
    pub means: (f64, f64),
    /// The minimum and the maximum of each group.
    pub ranges: [Interval; 2],
    /// How the second group differs from the first.
    pub change: Change,
    /// True if the change is a share of the first mean: 0.1 is 10 % more. Where a mean is 0 or the means
    /// differ in sign there is no such share, and the change is a plain difference.
    pub is_relative: bool,
    /// Cliff's delta: -1 (all runs of the second group lower) to 1 (all higher).
    pub effect: f64,
    /// The smallest p value that so many runs can give.
    pub least_p: f64,
}

/// Compares runs of group `a` with runs of group `b`, one finite number each; None when a group is empty.
/// `level` is the probability of the interval, as 0.95.
pub fn compare(a: &[f64], b: &[f64], level: f64) -> Option<Compared> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let means = (mean(a), mean(b));
    // A group with values on both sides of 0 may have a mean near 0 in a resample: no share of it means much.
    let one_sign = |values: &[f64]| values.iter().all(|v| *v > 0.0) || values.iter().all(|v| *v < 0.0);
    let is_relative = one_sign(a) && means.0 * means.1 >= 0.0;
    let from_to = |from: f64, to: f64| if is_relative { (to - from) / from.abs() } else { to - from };
    let centre = if ranks_tell_more(a, b) { Centre::Median } else { Centre::Mean };
    let (means, change) = match (centre, shift(a, b, level, from_to)) {
        (Centre::Median, Some((value, interval))) => ((median(a), median(b)), Change { value, interval }),
        _ => {
            let change = |a: &[f64], b: &[f64]| from_to(mean(a), mean(b));
            (means, Change { value: change(a, b), interval: bootstrap(a, b, level, change) })
        }
    };
    Some(Compared {
        n: (a.len(), b.len()),
        centre,
        means,
        ranges: [range(a), range(b)],
        change,
        is_relative,
        effect: cliffs_delta(a, b),
        least_p: least_p(a.len(), b.len()),
    })
}

fn range(values: &[f64]) -> Interval {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Interval { low: least, high: greatest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permutation_test;

    #[test]
    fn a_change_is_a_share_where_that_means_something() {
        let (a, b) = ([100.0, 102.0, 98.0, 100.0], [110.0, 112.0, 108.0, 110.0]);
        let compared = compare(&a, &b, 0.95).unwrap();
        assert!(compared.is_relative && (compared.change.value - 0.1).abs() < 1e-12);
        let interval = compared.change.interval.unwrap();
        assert!(interval.low > 0.05 && interval.high < 0.15 && interval.contains(0.1), "{interval:?}");
        assert_eq!((compared.effect, permutation_test(&a, &b)), (1.0, Some(2.0 / 70.0)));
        assert_eq!(compared.ranges[0], Interval { low: 98.0, high: 102.0 });

        let from_nothing = compare(&[0.0, 0.0, 0.0], &[5.0, 6.0, 7.0], 0.95).unwrap();
        assert!(!from_nothing.is_relative && from_nothing.change.value == 6.0);
        let negative = compare(&[-10.0, -10.0], &[-12.0, -12.0], 0.95).unwrap();
        assert!((negative.change.value + 0.2).abs() < 1e-12);
        let alone = compare(&[4.0], &[5.0], 0.95).unwrap();
        assert!(
            permutation_test(&[4.0], &[5.0]).is_none() && alone.change.interval.is_none() && alone.change.value == 0.25
        );
        assert_eq!(compare(&[], &[1.0], 0.95), None);
    }

    #[test]
    fn where_a_run_is_far_off_medians_are_compared() {
        let a = [100.0, 101.0, 99.0, 100.5, 99.5, 150.0];
        let b = [104.0, 105.0, 103.0, 104.5, 103.5, 103.8];
        let compared = compare(&a, &b, 0.95).unwrap();
        assert_eq!((compared.centre, compared.means), (Centre::Median, (100.25, 103.9)));
        let interval = compared.change.interval.unwrap();
        assert!(compared.change.value > 0.03 && interval.contains(0.035) && !interval.contains(0.06), "{compared:?}");
        assert_eq!(compare(&a[..5], &b[..5], 0.95).unwrap().centre, Centre::Mean);
    }
}
