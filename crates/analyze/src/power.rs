//! Power of a comparison: the smallest change that so many runs, of this spread, show in four of five comparisons,
//! and how many runs a smaller one takes.

use crate::{Interval, interval::student_quantile};

/// The normal quantile of 80 %.
const POWER: f64 = 0.841_621_233_572_914_2;
/// More runs than this are not asked for: the spread is to be made smaller.
const MOST: f64 = 10_000.0;

/// Statistical power of a comparison: the smallest change that it detects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The smallest change that would be seen in four of five such comparisons, in the unit of the interval.
    pub change: f64,
    /// Runs that each group needs besides, so that a change of `wanted` is; None where it is seen already, or with so many
    /// that it is no way.
    pub more: Option<usize>,
}

/// The smallest change that a comparison of `runs` with a confidence interval of `level` detects, and the runs that
/// one of `wanted` takes. None without a finite interval, or of fewer than two runs in a group.
pub fn could_have_seen(interval: Interval, runs: (usize, usize), level: f64, wanted: f64) -> Option<Seen> {
    let (a, b) = runs;
    let half = (interval.high - interval.low) / 2.0;
    if a.min(b) < 2 || !half.is_finite() || half < 0.0 {
        return None;
    }
    let error = half / student_quantile((1.0 - level) / 2.0, a + b - 2);
    let change = |error: f64, runs: usize| error * (student_quantile((1.0 - level) / 2.0, runs - 2) + POWER);
    let seen = change(error, a + b);
    // Errors shrink with the root of the runs; equal groups need the fewest.
    let mean_runs = 2.0 / (1.0 / a as f64 + 1.0 / b as f64);
    let of = |n: usize| change(error * (mean_runs / n as f64).sqrt(), 2 * n);
    let larger = a.max(b);
    let more = (seen > wanted && wanted > 0.0).then(|| {
        let (mut low, mut high) = (larger, larger + MOST as usize);
        while low < high {
            let middle = low.midpoint(high);
            if of(middle) <= wanted { high = middle } else { low = middle + 1 }
        }
        low
    });
    let more = more.filter(|n| of(*n) <= wanted).map(|n| n - larger).filter(|more| *more > 0);
    Some(Seen { change: seen, more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compare, permutation_test};
    use fenxi_model::Random;

    fn group(random: &mut Random, n: usize, center: f64) -> Vec<f64> {
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        (0..n).map(|_| center + 3.0 * normal()).collect()
    }

    /// In what share of comparisons a change of `by` is seen.
    fn share(random: &mut Random, n: usize, by: f64) -> f64 {
        let seen = (0..400).filter(|_| {
            let (a, b) = (group(random, n, 100.0), group(random, n, 100.0 * (1.0 + by)));
            permutation_test(&a, &b).is_some_and(|p| p <= 0.05)
        });
        seen.count() as f64 / 400.0
    }

    #[test]
    fn what_would_have_been_seen_is_seen_in_four_of_five() {
        let mut random = Random::new(28);
        let n = 8;
        let seen: Vec<Seen> = (0..60)
            .map(|_| {
                let compared = compare(&group(&mut random, n, 100.0), &group(&mut random, n, 100.0), 0.95).unwrap();
                could_have_seen(compared.change.interval.unwrap(), (n, n), 0.95, 0.02).unwrap()
            })
            .collect();
        let change = seen.iter().map(|seen| seen.change).sum::<f64>() / seen.len() as f64;
        let of_change = share(&mut random, n, change);
        assert!((0.72..=0.92).contains(&of_change), "{change}: {of_change}");
        let mut more: Vec<usize> = seen.iter().filter_map(|seen| seen.more).collect();
        more.sort_unstable();
        let enough = share(&mut random, n + more[more.len() / 2], 0.02);
        assert!((0.68..=0.95).contains(&enough), "{} more: {enough}", more[more.len() / 2]);
    }

    #[test]
    fn what_is_seen_already_takes_no_more_runs() {
        let narrow = could_have_seen(Interval { low: -0.001, high: 0.001 }, (5, 5), 0.95, 0.02).unwrap();
        assert!(narrow.change < 0.002 && narrow.more.is_none());
        assert_eq!(could_have_seen(Interval { low: 0.0, high: f64::INFINITY }, (5, 5), 0.95, 0.02), None);
        assert_eq!(could_have_seen(Interval { low: 0.0, high: 1.0 }, (1, 5), 0.95, 0.02), None);
        // Where no number of runs that anybody makes is enough, none is named.
        assert_eq!(could_have_seen(Interval { low: -50.0, high: 50.0 }, (3, 3), 0.95, 0.02).unwrap().more, None);
    }
}
