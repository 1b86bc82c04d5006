//! Hodges-Lehmann estimate of the shift between two groups, with its Mann-Whitney confidence interval: robust against
//! outliers.

use crate::{Interval, sample::quantile};

/// The median of the differences `of(x, y)` of every pair of a value of `a` and one of `b` (Hodges and Lehmann
/// 1963), and the interval of them that holds the true one with probability `level`: all differences by which
/// the groups could be shifted without being told apart by ranks (Mann and Whitney). None of the interval when
/// so few values have none, and None of both when a group is empty.
pub(crate) fn shift(a: &[f64], b: &[f64], level: f64, of: impl Fn(f64, f64) -> f64) -> Option<(f64, Option<Interval>)> {
    let mut pairs: Vec<f64> = a.iter().flat_map(|x| b.iter().map(|y| of(*x, *y))).collect();
    if pairs.is_empty() {
        return None;
    }
    pairs.sort_by(f64::total_cmp);
    let cut = pairs_cut_off(a.len(), b.len(), (1.0 - level) / 2.0);
    let interval = cut.checked_sub(1).map(|i| Interval { low: pairs[i], high: pairs[pairs.len() - 1 - i] });
    Some((quantile(&pairs, 0.5), interval))
}

/// The largest count `c` for which fewer than `c` of the pairs of two equal groups are in favour of one of
/// them with probability `tail` at most; 0 when there is none.
fn pairs_cut_off(n: usize, m: usize, tail: f64) -> usize {
    let chances = chances_of_pairs(n, m);
    let mut sum = 0.0;
    // Rounding must not decide about a tail that is exactly as asked for.
    chances
        .iter()
        .take_while(|chance| {
            sum += **chance;
            sum <= tail * (1.0 + 1e-9)
        })
        .count()
}

/// The probability of each count of pairs, from 0 to the half of them, in favour of the first of two equal
/// groups of `n` and `m` values without ties: the counts of Mann and Whitney (1947), one value at a time.
fn chances_of_pairs(n: usize, m: usize) -> Vec<f64> {
    let most = n * m / 2;
    // The generating function of the counts is the product over i of (1 - x^(m+i)) / (1 - x^i).
    let mut chances = vec![0.0; most + 1];
    chances[0] = 1.0;
    for i in 1..=n {
        for at in (m + i..=most).rev() {
            chances[at] -= chances[at - m - i];
        }
        for at in i..=most {
            chances[at] += chances[at - i];
        }
        // Divided by the number of ways step by step, so that it stays a number.
        let ways = (m + i) as f64 / i as f64;
        chances.iter_mut().for_each(|c| *c /= ways);
    }
    chances
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_pairs_are_those_of_the_tables() {
        // 5 with 5: of 252 ways, counts 0..4 come in 1, 1, 2, 3, 5 ways.
        let chances = chances_of_pairs(5, 5);
        for (chance, ways) in chances.iter().zip([1.0, 1.0, 2.0, 3.0, 5.0, 7.0]) {
            assert!((chance * 252.0 - ways).abs() < 1e-9, "{chance}");
        }
        // The tables' critical values of U at 0.05, two-sided, are one less than the pairs cut off.
        let cut = |n, m| pairs_cut_off(n, m, 0.025);
        assert_eq!((cut(3, 3), cut(4, 4), cut(5, 5), cut(8, 8), cut(10, 10), cut(20, 20)), (0, 1, 3, 14, 24, 128));
        assert_eq!((cut(5, 9), cut(9, 5)), (8, 8));
    }

    #[test]
    fn a_few_values_far_off_move_nothing() {
        let a = [10.0, 11.0, 12.0, 13.0, 500.0];
        let b = [20.0, 21.0, 22.0, 23.0, 24.0];
        let (value, interval) = shift(&a, &b, 0.95, |x, y| y - x).unwrap();
        let interval = interval.unwrap();
        assert_eq!(value, 10.0);
        assert!(interval.low < 10.0 && interval.high > 10.0);
        assert_eq!(shift(&[1.0], &[2.0], 0.95, |x, y| y - x), Some((1.0, None)));
        assert_eq!(shift(&[], &[2.0], 0.95, |x, y| y - x), None);
    }
}
