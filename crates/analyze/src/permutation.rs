//! Permutation tests: two-sided p-values for the difference between two groups.
//!
//! If the groups do not differ, every way to deal the values out to them is as likely as the one that was
//! seen. The share of ways whose difference is at least as large is the p value. The difference is
//! Welch's t, so that groups of different spread may be compared (Janssen 1997, Studentized permutation
//! tests for non-i.i.d. hypotheses), of the values or of their ranks, whichever is larger: a few runs that
//! are far off hide a change from means but not from ranks, and as every way is judged by the larger of
//! the two, nothing is counted twice. It needs no distribution and is exact for small groups.

use fenxi_model::Random;

use crate::{rank::ranks, sample::mean};

/// Ways up to which all are tried.
const ALL_WAYS: f64 = 50_000.0;
/// Random ways tried where there are more.
const RANDOM_WAYS: u32 = 20_000;
/// Ways that many metrics share, at most.
const SHARED_WAYS: usize = 500;
/// How many times the statistic of the values that of the ranks is, for the ranks to separate much better.
const MUCH: f64 = 1.2;
/// Random ways that are at least as large as what was seen, after which nothing more is to be learnt
/// (Besag and Clifford 1991, Sequential Monte Carlo p-values).
const ENOUGH: u32 = 40;

/// The two-sided p value of the difference between the means of `a` and `b`; None when a group has fewer
/// than two values or one is not finite.
pub fn permutation_test(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 2 || b.len() < 2 || !a.iter().chain(b).all(|v| v.is_finite()) {
        return None;
    }
    let deal = Deal::new(&[a, b].concat(), a.len());
    let seen = deal.statistic(&(0..a.len()).collect::<Vec<_>>());
    // Ways that differ only by rounding count as equal.
    let least = seen * (1.0 - 1e-9);
    if ways(a.len(), b.len()) <= ALL_WAYS { Some(deal.all(least)) } else { Some(deal.random(least)) }
}

/// Whether the ranks of the values separate the groups much better than the values themselves, as they do when a
/// few values are far off.
pub(crate) fn ranks_tell_more(a: &[f64], b: &[f64]) -> bool {
    if a.len() < 2 || b.len() < 2 {
        return false;
    }
    let deal = Deal::new(&[a, b].concat(), a.len());
    let first: Vec<usize> = (0..a.len()).collect();
    deal.ranks.statistic(&first) > MUCH * deal.values.statistic(&first)
}

/// The smallest p value that groups of these sizes can have: with it above 0.05, no difference however large
/// would be significant.
pub fn least_p(n_a: usize, n_b: usize) -> f64 {
    // Groups of equal size give the same difference when they change places.
    let extreme = if n_a == n_b { 2.0 } else { 1.0 };
    (extreme / ways(n_a, n_b)).min(1.0)
}

/// In how many ways `n_a + n_b` values can be dealt out.
fn ways(n_a: usize, n_b: usize) -> f64 {
    (1..=n_a.min(n_b)).fold(1.0, |ways, i| ways * (n_a.max(n_b) + i) as f64 / i as f64)
}

/// The p values of many metrics of the same runs, each from its own difference against those that all
/// metrics together show when runs are dealt out anew (Storey and Tibshirani 2003, Statistical significance
/// for genomewide studies: a pooled null). Few runs can be dealt out in few ways only, so that a metric alone
/// could not stand out among hundreds; together they can. Metrics keep their dependence, as whole runs are
/// dealt out.
///
/// `metrics` holds the values of the runs of either group. Where one is missing (NaN), or another metric
/// has more runs, the metric is tested alone by [`permutation_test`]; NaN where that is not possible.
pub fn pooled_test(metrics: &[(Vec<f64>, Vec<f64>)]) -> Vec<f64> {
    let (n_a, n_b) = metrics.iter().map(|(a, b)| (a.len(), b.len())).max().unwrap_or_default();
    let whole = |(a, b): &(Vec<f64>, Vec<f64>)| {
        a.len() == n_a && b.len() == n_b && n_a >= 2 && n_b >= 2 && a.iter().chain(b).all(|v| v.is_finite())
    };
    let to_deal: Vec<Option<Deal>> =
        metrics.iter().map(|m| whole(m).then(|| Deal::new(&[m.0.as_slice(), &m.1].concat(), n_a))).collect();
    let deals = deals(n_a, n_b);
    let first: Vec<usize> = (0..n_a).collect();
    let mut by_chance = Vec::with_capacity(deals.len() * metrics.len());
    for deal in to_deal.iter().flatten() {
        // A metric that is the same in all runs has no information about the others.
        if !deal.is_constant() {
            by_chance.extend(deals.iter().map(|chosen| deal.statistic(chosen)));
        }
    }
    by_chance.sort_by(f64::total_cmp);
    let p = |deal: &Deal| {
        let seen = deal.statistic(&first);
        let larger = by_chance.len() - by_chance.partition_point(|v| *v < seen * (1.0 - 1e-9));
        if seen == 0.0 { 1.0 } else { (larger + 1) as f64 / (by_chance.len() + 1) as f64 }
    };
    let alone = |(a, b): &(Vec<f64>, Vec<f64>)| permutation_test(a, b).unwrap_or(f64::NAN);
    to_deal.iter().zip(metrics).map(|(deal, m)| deal.as_ref().map_or_else(|| alone(m), p)).collect()
}

/// Ways to deal runs out other than the one that was seen and its mirror: all of them, or as many at
/// random as are enough where thousands of metrics share them.
fn deals(n_a: usize, n_b: usize) -> Vec<Vec<usize>> {
    let n = n_a + n_b;
    let mut chosen: Vec<usize> = (0..n_a).collect();
    let mut found = Vec::new();
    if ways(n_a, n_b) <= SHARED_WAYS as f64 {
        while next_choice(&mut chosen, n) {
            // The mirror of what was seen is the last choice, when groups are of equal size.
            if n_a != n_b || chosen[0] != n_a {
                found.push(chosen.clone());
            }
        }
        return found;
    }
    let mut random = Random::new(0xdea1);
    let mut order: Vec<usize> = (0..n).collect();
    for _ in 0..SHARED_WAYS {
        random.shuffle(&mut order);
        found.push(order[..n_a].to_vec());
    }
    found
}

/// Goes on to the next choice in lexical order; false after the last.
fn next_choice(chosen: &mut [usize], n: usize) -> bool {
    let k = chosen.len();
    let Some(i) = (0..k).rev().find(|i| chosen[*i] < n - k + i) else { return false };
    chosen[i] += 1;
    for j in i + 1..k {
        chosen[j] = chosen[j - 1] + 1;
    }
    true
}

/// Runs to be dealt out to two groups, by their values and by the ranks of these.
struct Deal {
    n_a: usize,
    values: Centered,
    ranks: Centered,
}

impl Deal {
    fn new(values: &[f64], n_a: usize) -> Deal {
        Deal { n_a, values: Centered::new(values), ranks: Centered::new(&ranks(values)) }
    }

    fn is_constant(&self) -> bool {
        self.values.squares == 0.0
    }

    /// The larger square of Welch's t, of values or ranks, when the runs at `chosen` are the first group.
    fn statistic(&self, chosen: &[usize]) -> f64 {
        self.values.statistic(chosen).max(self.ranks.statistic(chosen))
    }

    fn all(&self, least: f64) -> f64 {
        let mut chosen: Vec<usize> = (0..self.n_a).collect();
        let (mut large, mut ways) = (0u32, 0u32);
        loop {
            ways += 1;
            large += u32::from(self.statistic(&chosen) >= least);
            if !next_choice(&mut chosen, self.values.len()) {
                return f64::from(large) / f64::from(ways);
            }
        }
    }

    fn random(&self, least: f64) -> f64 {
        let mut random = Random::new(0x5eed);
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        let mut large = 0u32;
        for tried in 1..=RANDOM_WAYS {
            // The first places of a shuffle are a random choice.
            for i in 0..self.n_a {
                order.swap(i, i + random.below(self.values.len() - i));
            }
            large += u32::from(self.statistic(&order[..self.n_a]) >= least);
            if large == ENOUGH {
                return f64::from(large) / f64::from(tried);
            }
        }
        // The observed way is one of them.
        f64::from(large + 1) / f64::from(RANDOM_WAYS + 1)
    }
}

/// Numbers about their common mean, where squares lose nothing to rounding.
struct Centered {
    numbers: Vec<f64>,
    sum: f64,
    squares: f64,
}

impl Centered {
    fn new(numbers: &[f64]) -> Centered {
        let center = mean(numbers);
        let numbers: Vec<f64> = numbers.iter().map(|v| v - center).collect();
        Centered { sum: numbers.iter().sum(), squares: numbers.iter().map(|v| v * v).sum(), numbers }
    }

    fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The square of Welch's t when the numbers at `chosen` are the first group.
    fn statistic(&self, chosen: &[usize]) -> f64 {
        let (sum, squares) = chosen.iter().map(|i| self.numbers[*i]).fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
        let (n, m) = (chosen.len() as f64, (self.numbers.len() - chosen.len()) as f64);
        let (other_sum, other_squares) = (self.sum - sum, self.squares - squares);
        let spread = |squares: f64, sum: f64, n: f64| ((squares - sum * sum / n) / (n - 1.0) / n).max(0.0);
        let difference = sum / n - other_sum / m;
        let error = spread(squares, sum, n) + spread(other_squares, other_sum, m);
        // The remainder of a sum of squares that cancel is rounding, not spread.
        if error <= self.squares * 1e-15 {
            return if difference * difference <= self.squares * 1e-15 { 0.0 } else { f64::INFINITY };
        }
        difference * difference / error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.permutation_test` (1.17.1) of the larger square of `ttest_ind(equal_var=False)`, of the values and of
    /// their `rankdata`, all ways.
    #[test]
    fn small_groups_agree_with_scipy() {
        let cases: [(&[f64], &[f64], f64); 4] = [
            (&[10.1, 10.4, 9.9, 10.2], &[10.9, 11.2, 10.6, 11.0], 2.0 / 70.0),
            (&[10.13, 10.41, 9.97, 10.26, 10.38], &[10.22, 10.57, 10.04, 10.83, 10.11], 0.547_619_047_619_047_7),
            (&[1.0, 2.0, 3.0], &[1.5, 9.0, 4.0, 7.5, 3.5], 0.125),
            (&[5.0, 5.0, 6.0, 5.0], &[5.0, 6.0, 6.0, 7.0, 6.0], 0.174_603_174_603_174_6),
        ];
        for (a, b, p) in cases {
            let ours = permutation_test(a, b).unwrap();
            assert!((ours - p).abs() < 1e-9, "{a:?} {b:?}: {ours}, not {p}");
        }
    }

    #[test]
    fn three_runs_each_cannot_be_significant() {
        assert_eq!(least_p(3, 3), 0.1);
        assert_eq!(least_p(4, 4), 2.0 / 70.0);
        assert_eq!(least_p(3, 4), 1.0 / 35.0);
        assert_eq!(permutation_test(&[1.0, 2.0, 3.0], &[100.0, 200.0, 300.0]), Some(0.1));
    }

    #[test]
    fn equal_groups_do_not_differ_and_constant_ones_may() {
        assert_eq!(permutation_test(&[3.0; 5], &[3.0; 5]), Some(1.0));
        assert_eq!(permutation_test(&[3.0; 5], &[4.0; 5]), Some(2.0 / 252.0));
        assert_eq!(permutation_test(&[1e9, 1e9 + 1.0], &[1e9, 1e9 + 1.0]), Some(1.0));
        assert_eq!(permutation_test(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(permutation_test(&[1.0, f64::NAN], &[2.0, 3.0]), None);
    }

    #[test]
    fn a_metric_stands_out_among_many_although_few_runs_were_made() {
        let mut random = Random::new(9);
        let mut group = |n: usize, shift: f64| -> Vec<f64> { (0..n).map(|_| random.unit() + shift).collect() };
        let mut metrics: Vec<_> = (0..200).map(|_| (group(5, 0.0), group(5, 0.0))).collect();
        metrics.push((group(5, 0.0), group(5, 20.0)));
        metrics.push((vec![2.0; 5], vec![2.0; 5]));
        metrics.push((vec![2.0; 5], vec![4.0; 5]));
        metrics.push((vec![1.0, f64::NAN], vec![2.0, 3.0]));
        let p = pooled_test(&metrics);
        assert!(p[200] < 1e-3 && p[201] == 1.0 && p[202] < 1e-3 && p[203].is_nan(), "{:?}", &p[200..]);
        // Values that only chance made have p values spread evenly.
        let below = |limit: f64| p[..200].iter().filter(|p| **p <= limit).count();
        assert!((5..=20).contains(&below(0.05)) && (80..=120).contains(&below(0.5)), "{} {}", below(0.05), below(0.5));
        assert!(pooled_test(&[]).is_empty());
    }

    #[test]
    fn large_groups_are_drawn_from_at_random() {
        let mut random = Random::new(1);
        let mut group = |shift: f64| -> Vec<f64> { (0..30).map(|_| random.unit() + shift).collect() };
        let (a, same, more) = (group(0.0), group(0.0), group(1.0));
        assert!(permutation_test(&a, &same).unwrap() > 0.05);
        assert!(permutation_test(&a, &more).unwrap() < 1e-4);
    }
}
