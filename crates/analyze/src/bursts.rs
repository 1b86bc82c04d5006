//! Whether a series has bursts or dips within a range of time that the rest of its run does not have: a mean hides them.

use std::ops::Range;

use crate::{dependence, sample::mean, sample::quantile};

/// Values beyond this quantile of the rest, on either side, are rare there.
const RARE: f64 = 0.98;
/// A burst goes beyond the rare values by this share of the distance between both quantiles.
const MARGIN: f64 = 0.25;
/// Fewer values than these on a side show nothing of what is rare.
const LEAST: usize = 5;

/// Values within a range that go beyond what the rest of the series has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// The share of the range's values that do, from 0 to 1.
    pub share: f64,
    /// The share of the rest that does.
    pub share_rest: f64,
    /// Mean of those within the range.
    pub level: f64,
    /// The value beyond which they lie.
    pub limit: f64,
    /// True if they are above the rest, and not below.
    pub is_above: bool,
    /// How seldom as many of them would fall into the range by chance.
    pub p: f64,
}

/// Bursts above the rest of `values` or dips below it, whichever is rarer by chance; None where there are none, or too few values.
///
/// The exact test of a share (Fisher 1922) over effective numbers of samples: what lies beside each other in a series that depends
/// on its own past counts once.
pub fn bursts(values: &[Option<f64>], range: Range<usize>) -> Option<Bursts> {
    let known = |at: &[Option<f64>]| at.iter().flatten().copied().filter(|v| v.is_finite()).collect::<Vec<f64>>();
    let range = range.start.min(values.len())..range.end.min(values.len());
    let (before, after) = (known(&values[..range.start]), known(&values[range.end..]));
    let inside = known(&values[range]);
    let mut rest: Vec<f64> = before.iter().chain(&after).copied().collect();
    if inside.len() < LEAST || rest.len() < LEAST {
        return None;
    }
    let tau = dependence(&[&before, &after]);
    rest.sort_by(f64::total_cmp);
    let (low, high) = (quantile(&rest, 1.0 - RARE), quantile(&rest, RARE));
    let margin = (MARGIN * (high - low)).max(1e-9 * high.abs().max(low.abs()));
    let of = |limit: f64, is_above: bool| {
        let mut found = Bursts { share: 0.0, share_rest: 0.0, level: 0.0, limit, is_above, p: 1.0 };
        let beyond: Vec<f64> = inside.iter().copied().filter(|v| found.has(*v)).collect();
        let in_rest = rest.iter().filter(|v| found.has(**v)).count();
        found.share = beyond.len() as f64 / inside.len() as f64;
        found.share_rest = in_rest as f64 / rest.len() as f64;
        if found.share <= found.share_rest {
            return None;
        }
        found.level = mean(&beyond);
        let count = |n: usize| (n as f64 / tau).floor();
        let others = (in_rest as f64 / tau).ceil();
        found.p = tail(count(beyond.len()), count(inside.len()), others, count(rest.len()));
        Some(found)
    };
    let both = [of(high + margin, true), of(low - margin, false)];
    both.into_iter().flatten().min_by(|a, b| a.p.total_cmp(&b.p))
}

impl Bursts {
    /// Returns true if a value is part of a burst.
    pub fn has(&self, value: f64) -> bool {
        if self.is_above { value > self.limit } else { value < self.limit }
    }
}

/// How likely at least `hits` of `hits + others` marked ones are among `n` that are drawn of `n + rest`.
fn tail(hits: f64, n: f64, others: f64, rest: f64) -> f64 {
    let ways = |n: f64, k: f64| {
        if k < 0.0 || k > n {
            f64::NEG_INFINITY
        } else {
            libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
        }
    };
    let (marked, all) = (hits + others, n + rest);
    let mut p = 0.0;
    let mut k = hits;
    while k <= n.min(marked) {
        p += (ways(marked, k) + ways(all - marked, n - k) - ways(all, n)).exp();
        k += 1.0;
    }
    p.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::bursts;
    use crate::Random;

    fn noise(n: usize, seed: u64) -> Vec<Option<f64>> {
        let mut random = Random::new(seed);
        (0..n).map(|_| Some(10.0 + random.unit())).collect()
    }

    #[test]
    fn bursts_every_few_seconds_are_seen_though_the_mean_stays() {
        let mut values = noise(240, 3);
        for (second, value) in values.iter_mut().enumerate().take(180).skip(120) {
            *value = value.map(|v| if second % 4 == 0 { v + 30.0 } else { v - 9.9 });
        }
        let found = bursts(&values, 120..180).unwrap();
        assert!(found.p < 1e-6, "{found:?}");
    }

    #[test]
    fn bursts_that_are_everywhere_are_no_difference() {
        let mut values = noise(240, 4);
        values.iter_mut().step_by(15).flatten().for_each(|v| *v += 30.0);
        assert!(bursts(&values, 120..180).is_none_or(|found| found.p > 0.05), "{:?}", bursts(&values, 120..180));
    }

    #[test]
    fn noise_has_hardly_any() {
        let called =
            (1..=300).filter(|seed| bursts(&noise(240, *seed), 120..180).is_some_and(|found| found.p < 0.05)).count();
        assert!(called < 15, "{called}");
        assert_eq!(bursts(&[Some(1.0); 20], 5..10), None);
    }

    #[test]
    fn the_tail_is_that_of_drawing_without_replacement() {
        // Both of two marked ones among two that are drawn of five: one of ten ways.
        assert!((super::tail(2.0, 2.0, 0.0, 3.0) - 0.1).abs() < 1e-9);
        assert!((super::tail(0.0, 2.0, 2.0, 3.0) - 1.0).abs() < 1e-9);
    }
}
