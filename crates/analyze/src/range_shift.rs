//! Whether a series is another one within a range of time than in the rest of its run, although neighbouring samples depend on
//! each other.

use std::ops::Range;

use crate::{cliffs_delta, dependence, interval::student_tail, sample::mean, steady::ROUNDING};

/// Ratios beyond two to this power count no more.
const MOST_POWER: f64 = 4.0;
/// This share of the largest value is added to both means before their ratio is taken, so that next to nothing is no great change.
const FLOOR: f64 = 0.05;

/// Shift of a series within a range of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeShift {
    /// Mean within the range.
    pub inside: f64,
    /// Mean in the rest.
    pub rest: f64,
    /// How seldom a range of such a series differs so much by chance, in both directions; not adjusted for many series, nor for the
    /// choice of the range.
    pub p: f64,
    /// Cliff's delta of the range against the rest, from -1 to 1: how surely a value shows on which side it was.
    pub effect: f64,
    /// How much the eye should see it first: effect times the power of two by which the mean changed, at most 4.
    pub weight: f64,
    /// The power of two by which the mean changed, with its sign; next to nothing on both sides is no change.
    pub by: f64,
}

/// Compares the values in `range` with all others; missing values are left out. None where one side has fewer than two.
///
/// Student's t with Welch's degrees of freedom, each side counted as its effective number of independent samples: its own samples
/// divided by the time over which they depend on each other. The level of each side, and of the time before the range and after it, is
/// taken out before, so that a step is no dependence. p is never below what a permutation of so many independent samples
/// could give.
pub fn range_shift(values: &[Option<f64>], range: Range<usize>) -> Option<RangeShift> {
    let known = |at: &[Option<f64>]| at.iter().flatten().copied().filter(|v| v.is_finite()).collect::<Vec<f64>>();
    let range = range.start.min(values.len())..range.end.min(values.len());
    let (before, after) = (known(&values[..range.start]), known(&values[range.end..]));
    let inside = known(&values[range.clone()]);
    let rest: Vec<f64> = before.iter().chain(&after).copied().collect();
    if inside.len() < 2 || rest.len() < 2 {
        return None;
    }
    let (m_in, m_rest) = (mean(&inside), mean(&rest));
    let tau = dependence(&[&inside, &before, &after]);
    let size = |n: usize| (n as f64 / tau).max(1.0);
    let (n_in, n_rest) = (size(inside.len()), size(rest.len()));
    let spread = |side: &[f64], center: f64| {
        side.iter().map(|v| (v - center).powi(2)).sum::<f64>() / (side.len() - 1).max(1) as f64
    };
    let (v_in, v_rest) = (spread(&inside, m_in) / n_in, spread(&rest, m_rest) / n_rest);
    let p = if (m_in - m_rest).abs() <= ROUNDING * m_in.abs().max(m_rest.abs()) {
        1.0
    } else if v_in + v_rest <= 0.0 {
        0.0
    } else {
        let t = (m_in - m_rest).abs() / (v_in + v_rest).sqrt();
        let parts = v_in.powi(2) / (n_in - 1.0).max(0.5) + v_rest.powi(2) / (n_rest - 1.0).max(0.5);
        let freedom = ((v_in + v_rest).powi(2) / parts).floor().max(1.0) as usize;
        2.0 * student_tail(t, freedom)
    };
    let effect = cliffs_delta(&rest, &inside);
    let most = inside.iter().chain(&rest).fold(0.0_f64, |most, v| most.max(v.abs()));
    let lifted = |v: f64| v.abs() + FLOOR * most;
    let by = if most > 0.0 { (lifted(m_in) / lifted(m_rest)).log2() } else { 0.0 };
    Some(RangeShift {
        inside: m_in,
        rest: m_rest,
        p: p.clamp(least(n_in, n_rest), 1.0),
        effect,
        weight: effect.abs() * by.abs().min(MOST_POWER),
        by,
    })
}

/// One over the number of ways in which so many of all samples can be chosen.
fn least(inside: f64, rest: f64) -> f64 {
    let ways = libm::lgamma(inside + rest + 1.0) - libm::lgamma(inside + 1.0) - libm::lgamma(rest + 1.0);
    (-ways).exp()
}

#[cfg(test)]
mod tests {
    use super::range_shift;
    use crate::Random;

    /// An AR(1) series of n values about 10, with the coefficient `a`.
    fn series(n: usize, a: f64, seed: u64) -> Vec<Option<f64>> {
        let mut random = Random::new(seed);
        let mut last = 0.0;
        let mut next = || {
            last = a * last + random.unit() - 0.5;
            Some(10.0 + last)
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn a_step_is_seen_and_has_its_size() {
        let mut values = series(200, 0.5, 1);
        values[80..120].iter_mut().flatten().for_each(|v| *v += 20.0);
        let found = range_shift(&values, 80..120).unwrap();
        assert!((found.inside - 30.0).abs() < 0.5 && (found.rest - 10.0).abs() < 0.5, "{found:?}");
        assert!(found.p <= 0.01 && found.effect == 1.0 && found.weight > 1.0, "{found:?}");
    }

    #[test]
    fn what_only_wanders_is_rarely_called_different() {
        // A fixed share of series without any change: at 5 % about one in twenty is called different, however strongly neighbours
        // depend on each other. Plain t tests call most of these different.
        // A range at an end of the series has nothing on its other side.
        for range in [120..180, 240..300, 0..60] {
            let share = |a: f64| {
                let called = |seed: &u64| range_shift(&series(300, a, *seed), range.clone()).unwrap().p < 0.05;
                (1..=300).filter(called).count() as f64 / 300.0
            };
            assert!(share(0.0) < 0.08, "{range:?}: {}", share(0.0));
            assert!(share(0.8) < 0.12, "{range:?}: {}", share(0.8));
            assert!(share(0.95) < 0.2, "{range:?}: {}", share(0.95));
        }
    }

    #[test]
    fn too_little_says_nothing_and_gaps_are_left_out() {
        assert_eq!(range_shift(&[Some(1.0), None, None, Some(2.0)], 1..2), None);
        let found = range_shift(&[Some(1.0), Some(1.0), None, Some(5.0), Some(5.0), Some(1.0)], 2..5).unwrap();
        assert_eq!((found.inside, found.rest, found.effect), (5.0, 1.0, 1.0));
        assert!((found.p - 0.1).abs() < 1e-9, "two of five can be chosen in ten ways: {found:?}");
        assert_eq!(range_shift(&[Some(3.0); 6], 2..4).unwrap().p, 1.0);
    }

    #[test]
    fn a_step_between_constants_is_sure_whatever_their_mean_is_rounded_to() {
        for (before, after) in [(0.1, 20.0), (0.5 / 100.0, 0.5 / 30.0), (100.0, 40.0)] {
            let values: Vec<Option<f64>> = (0..90).map(|n| Some(if n < 60 { before } else { after })).collect();
            let found = range_shift(&values, 60..90).unwrap();
            assert!(found.p < 1e-9, "{before} and {after}: {found:?}");
            let same: Vec<Option<f64>> = vec![Some(before); 90];
            assert_eq!(range_shift(&same, 60..83).unwrap().p, 1.0, "{before}");
        }
    }
}
