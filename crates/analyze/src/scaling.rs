//! Scaling laws: Amdahl's law and Gunther's universal scalability law (USL), fitted to throughput.

use fenxi_model::Random;

use crate::{Interval, sample::quantile};

/// Resamples drawn for the intervals.
const RESAMPLES: usize = 1_000;

/// A fitted law: throughput at N is `gamma N / (1 + alpha (N - 1) + beta N (N - 1))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// Throughput of one: in the unit of the throughput.
    pub gamma: f64,
    /// Contention: the share of work that only one can do at a time, from 0 to 1. Exactly 0 or 1 where the
    /// points alone would give less or more, which no share can be.
    pub alpha: f64,
    /// Coherency: what it costs that everybody must agree with everybody; 0 in Amdahl's law.
    pub beta: f64,
    /// 95 % intervals of gamma, alpha and beta, by resampling the residuals.
    pub intervals: [Interval; 3],
    /// Share of the variation of throughput that the law explains.
    pub r_squared: f64,
}

impl Scaling {
    /// Throughput at `n`.
    pub fn at(&self, n: f64) -> f64 {
        law([self.gamma, self.alpha, self.beta], n)
    }

    /// The N of the maximum throughput: beyond it, more is less. None when it grows for ever.
    pub fn peak(&self) -> Option<f64> {
        (self.beta > 0.0).then(|| ((1.0 - self.alpha) / self.beta).max(1.0).sqrt())
    }
}

impl Scaling {
    /// The N at which throughput for its response time is best: the most X / R, where R is N / X (Kleinrock
    /// 1979, Power and deterministic rules of thumb). Below it more N mostly gives throughput, above it mostly
    /// waiting. None when there is none, as throughput grows in proportion for ever.
    ///
    /// The derivative of N / (1 + alpha (N - 1) + beta N (N - 1))^2 is 0 where
    /// 3 beta N^2 + (alpha - beta) N - (1 - alpha) is.
    pub fn knee(&self) -> Option<f64> {
        let (a, b, c) = (3.0 * self.beta, self.alpha - self.beta, self.alpha - 1.0);
        let n = match (self.beta > 0.0, self.alpha > 0.0) {
            (true, _) => (-b + (b * b - 4.0 * a * c).max(0.0).sqrt()) / (2.0 * a),
            (false, true) => -c / b,
            (false, false) => return None,
        };
        Some(n.max(1.0))
    }
}

fn law([gamma, alpha, beta]: [f64; 3], n: f64) -> f64 {
    gamma * n / (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0))
}

/// Fits the universal scalability law (Gunther 2007, Guerrilla Capacity Planning) to pairs of N and
/// throughput; None with fewer than three different N, or values that are not positive.
pub fn usl(points: &[(f64, f64)]) -> Option<Scaling> {
    fit(points, true)
}

/// Fits Amdahl's law: as [`usl`] without coherency.
pub fn amdahl(points: &[(f64, f64)]) -> Option<Scaling> {
    fit(points, false)
}

fn fit(points: &[(f64, f64)], coherency: bool) -> Option<Scaling> {
    let mut loads: Vec<f64> = points.iter().map(|p| p.0).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    let usable = points.iter().all(|(n, x)| n.is_finite() && x.is_finite() && *n >= 1.0 && *x > 0.0);
    if loads.len() < 3 || !usable {
        return None;
    }
    let best = coefficients(points, coherency)?;
    // A fit takes up part of the residuals: they are as small as that only at its own points.
    let (n_points, n_terms) = (points.len() as f64, if coherency { 3.0 } else { 2.0 });
    let widen = (n_points / (n_points - n_terms).max(1.0)).sqrt();
    let residuals: Vec<f64> = points.iter().map(|(n, x)| 1.0 + (x / law(best, *n) - 1.0) * widen).collect();
    let mut random = Random::new(0x05ca1e);
    let mut drawn: [Vec<f64>; 3] = Default::default();
    for _ in 0..RESAMPLES {
        let again: Vec<(f64, f64)> =
            points.iter().map(|(n, _)| (*n, law(best, *n) * residuals[random.below(residuals.len())])).collect();
        if let Some(found) = coefficients(&again, coherency) {
            drawn.iter_mut().zip(found).for_each(|(d, v)| d.push(v));
        }
    }
    let intervals = drawn.map(|mut values| {
        values.sort_by(f64::total_cmp);
        Interval { low: quantile(&values, 0.025), high: quantile(&values, 0.975) }
    });
    let center = points.iter().map(|p| p.1).sum::<f64>() / points.len() as f64;
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(|p| f(p) * f(p)).sum::<f64>();
    let (unexplained, all) = (sum(&|(n, x)| x - law(best, *n)), sum(&|(_, x)| x - center));
    let r_squared = if all > 0.0 { 1.0 - unexplained / all } else { 1.0 };
    Some(Scaling { gamma: best[0], alpha: best[1], beta: best[2], intervals, r_squared })
}

/// Where contention is looked for.
#[derive(Clone, Copy, PartialEq)]
enum Contention {
    Free,
    None,
    All,
}

/// Least squares of `N / X = (1 + alpha (N - 1) + beta N (N - 1)) / gamma`, which is linear; weighed so that
/// relative errors of X count alike. Contention is a share, and held within 0 and 1; a negative coherency has no
/// meaning and is held at 0. The best within such bounds is the best of the fits with some of them held.
pub(crate) fn coefficients(points: &[(f64, f64)], coherency: bool) -> Option<[f64; 3]> {
    let mut best: Option<(f64, [f64; 3])> = None;
    for contention in [Contention::Free, Contention::None, Contention::All] {
        for with_beta in if coherency { &[true, false][..] } else { &[false] } {
            // With contention 1 what is left of 1 + alpha (N - 1) is N.
            let terms = |n: f64| {
                let beta = if *with_beta { n * (n - 1.0) } else { 0.0 };
                match contention {
                    Contention::Free => [1.0, n - 1.0, beta],
                    Contention::None => [1.0, 0.0, beta],
                    Contention::All => [n, 0.0, beta],
                }
            };
            let Some(c) = least_squares(points, terms) else { continue };
            if c[0] <= 0.0 || c[1] < 0.0 || c[1] > c[0] || c[2] < 0.0 {
                continue;
            }
            let alpha = if contention == Contention::All { 1.0 } else { c[1] / c[0] };
            let found = [1.0 / c[0], alpha, c[2] / c[0]];
            let error: f64 = points.iter().map(|(n, x)| (1.0 - x / law(found, *n)).powi(2)).sum();
            if best.is_none_or(|(least, _)| error < least) {
                best = Some((error, found));
            }
        }
    }
    best.map(|(_, found)| found)
}

/// Solves the normal equations for up to three terms; a term that is always 0 gets the coefficient 0.
fn least_squares(points: &[(f64, f64)], terms: impl Fn(f64) -> [f64; 3]) -> Option<[f64; 3]> {
    let mut m = [[0.0; 4]; 3];
    for (n, x) in points {
        let weight = (x / n) * (x / n);
        let t = terms(*n);
        for i in 0..3 {
            for j in 0..3 {
                m[i][j] += weight * t[i] * t[j];
            }
            m[i][3] += weight * t[i] * n / x;
        }
    }
    for (i, row) in m.iter_mut().enumerate() {
        if row[i] == 0.0 {
            row[i] = 1.0;
        }
    }
    for i in 0..3 {
        let pivot = (i..3).max_by(|a, b| m[*a][i].abs().total_cmp(&m[*b][i].abs()))?;
        m.swap(i, pivot);
        if m[i][i].abs() < 1e-300 {
            return None;
        }
        let head = m[i];
        for (j, row) in m.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let factor = row[i] / head[i];
            debug_assert_ne!(i, j);
            row.iter_mut().zip(head).for_each(|(v, h)| *v -= factor * h);
        }
    }
    Some([0, 1, 2].map(|i| m[i][3] / m[i][i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_found_again_from_its_own_points() {
        let truth = [1000.0, 0.05, 0.002];
        let mut random = Random::new(5);
        let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        let exact: Vec<_> = loads.iter().map(|n| (*n, law(truth, *n))).collect();
        let fitted = usl(&exact).unwrap();
        assert!((fitted.gamma - 1000.0).abs() < 1e-6 && (fitted.alpha - 0.05).abs() < 1e-9);
        assert!((fitted.peak().unwrap() - (0.95_f64 / 0.002).sqrt()).abs() < 1e-6 && fitted.r_squared > 0.999_999);
        let mut held = [0; 2];
        for _ in 0..100 {
            let noisy: Vec<_> = loads
                .iter()
                .chain(&loads)
                .chain(&loads)
                .map(|n| (*n, law(truth, *n) * (0.98 + 0.04 * random.unit())))
                .collect();
            let fitted = usl(&noisy).unwrap();
            held[0] += u32::from(fitted.intervals[1].contains(0.05));
            held[1] += u32::from(fitted.intervals[2].contains(0.002));
            assert!((fitted.at(16.0) / law(truth, 16.0) - 1.0).abs() < 0.03);
        }
        assert!(held.iter().all(|n| *n >= 88), "of 100 intervals each, {held:?} hold the truth");
    }

    #[test]
    fn the_knee_is_where_power_is_greatest() {
        let none = Interval { low: 0.0, high: 0.0 };
        for (alpha, beta) in [(0.05, 0.002), (0.0, 0.01), (0.3, 0.0), (0.01, 1e-5)] {
            let law = Scaling { gamma: 10.0, alpha, beta, intervals: [none; 3], r_squared: 1.0 };
            let power = |n: f64| law.at(n) * law.at(n) / n;
            let best = (100..20_000).map(|n| f64::from(n) / 100.0).max_by(|a, b| power(*a).total_cmp(&power(*b)));
            assert!((law.knee().unwrap() - best.unwrap()).abs() < 0.01, "{:?} {best:?}", law.knee());
        }
        let linear = Scaling { gamma: 1.0, alpha: 0.0, beta: 0.0, intervals: [none; 3], r_squared: 1.0 };
        assert_eq!(linear.knee(), None);
    }

    /// By hand: throughput falls, so that contention is held at 1 and the law is a constant. The smallest sum of
    /// (1 - X / gamma)^2 is at gamma = sum X^2 / sum X = (100 + 64 + 36) / 24. Without the bound the same points
    /// give N / X = 0.1, 0.25, 0.667 and a contention above 1.
    #[test]
    fn contention_is_a_share() {
        let falling = [(1.0, 10.0), (2.0, 8.0), (4.0, 6.0)];
        let fitted = amdahl(&falling).unwrap();
        assert_eq!(fitted.alpha, 1.0);
        assert!((fitted.gamma - 200.0 / 24.0).abs() < 1e-12, "{}", fitted.gamma);
        assert!(fitted.intervals[1].high <= 1.0 && fitted.knee() == Some(1.0) && fitted.peak().is_none());
        // Coherency explains a throughput that falls: N / X grows faster than N.
        let fitted = usl(&falling).unwrap();
        assert!((0.0..=1.0).contains(&fitted.alpha) && fitted.beta > 0.0, "{fitted:?}");
        // More than in proportion is no negative contention: gamma = sum (X/N)^2 / sum X/N = (100 + 121 + 144) / 33.
        let rising = [(1.0, 10.0), (2.0, 22.0), (4.0, 48.0)];
        let fitted = amdahl(&rising).unwrap();
        assert_eq!(fitted.alpha, 0.0);
        assert!((fitted.gamma - 365.0 / 33.0).abs() < 1e-12, "{}", fitted.gamma);
    }

    #[test]
    fn what_scales_perfectly_has_no_peak_and_amdahl_no_coherency() {
        let perfect: Vec<_> = [1.0, 2.0, 4.0, 8.0].iter().map(|n| (*n, 10.0 * n)).collect();
        let fitted = usl(&perfect).unwrap();
        assert!(fitted.alpha.abs() < 1e-9 && fitted.peak().is_none_or(|n| n > 1e3), "{fitted:?}");
        let serial: Vec<_> = [1.0, 2.0, 4.0, 8.0].iter().map(|n| (*n, law([10.0, 0.1, 0.0], *n))).collect();
        let fitted = amdahl(&serial).unwrap();
        assert!((fitted.alpha - 0.1).abs() < 1e-9 && fitted.beta == 0.0 && fitted.peak().is_none());
        assert_eq!(usl(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(usl(&[(1.0, 1.0), (2.0, 0.0), (3.0, 1.0)]), None);
    }
}
