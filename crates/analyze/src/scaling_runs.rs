//! Scaling laws of an experiment with several runs per level, with bootstrap confidence intervals.

use fenxi_model::Random;

use crate::{Interval, Scaling, amdahl, sample::mean, scaling::coefficients, usl};

/// Resamples drawn.
const RESAMPLES: usize = 2_000;

/// Which law is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Contention only.
    Amdahl,
    /// Contention and coherency.
    Usl,
}

/// A law fitted to runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalingOfRuns {
    /// The law; its intervals are by resampling runs.
    pub law: Scaling,
    /// The knee, see [`Scaling::knee`], and the interval of it; the upper end may be infinite.
    pub knee: Option<(f64, Interval)>,
    /// The N of the maximum throughput and the interval of it; the upper end may be infinite.
    pub peak: Option<(f64, Interval)>,
}

/// Fits a law to the runs at each level, `(N, throughputs)`. Runs are drawn anew within each level; their
/// distances from the level's mean are widened by sqrt(n / (n - 1)), as a sample's own mean is too near.
///
/// None with fewer than three different N, a level of a single run, or values that are not positive.
pub fn scaling_of_runs(levels: &[(f64, Vec<f64>)], which: Law) -> Option<ScalingOfRuns> {
    if levels.iter().any(|(_, runs)| runs.len() < 2) {
        return None;
    }
    let points: Vec<(f64, f64)> = levels.iter().flat_map(|(n, runs)| runs.iter().map(|x| (*n, *x))).collect();
    let mut law = if which == Law::Usl { usl(&points)? } else { amdahl(&points)? };
    let widened: Vec<(f64, Vec<f64>)> = levels
        .iter()
        .map(|(n, runs)| {
            let (center, size) = (mean(runs), runs.len() as f64);
            let wide = (size / (size - 1.0)).sqrt();
            // A resample that is not positive is no throughput.
            (*n, runs.iter().map(|x| (center + (x - center) * wide).max(center * 1e-3)).collect())
        })
        .collect();
    let mut random = Random::new(0x5ca1e5);
    let mut drawn: [Vec<f64>; 5] = Default::default();
    for _ in 0..RESAMPLES {
        let again: Vec<(f64, f64)> = widened
            .iter()
            .flat_map(|(n, runs)| runs.iter().map(|_| (*n, runs[random.below(runs.len())])).collect::<Vec<_>>())
            .collect();
        let Some([gamma, alpha, beta]) = coefficients(&again, which == Law::Usl) else { continue };
        let found = Scaling { gamma, alpha, beta, ..law };
        let ends = [found.knee().unwrap_or(f64::INFINITY), found.peak().unwrap_or(f64::INFINITY)];
        let all = [gamma, alpha, beta, ends[0], ends[1]];
        drawn.iter_mut().zip(all).for_each(|(values, value)| values.push(value));
    }
    let [gamma, alpha, beta, knee, peak] = drawn.map(middle);
    law.intervals = [gamma, alpha, beta];
    Some(ScalingOfRuns { law, knee: law.knee().map(|n| (n, knee)), peak: law.peak().map(|n| (n, peak)) })
}

/// From the 2.5th to the 97.5th of a hundred; values may be infinite, so that nothing is interpolated.
fn middle(mut values: Vec<f64>) -> Interval {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values.get((values.len() as f64 * share) as usize).or(values.last()).copied();
    Interval { low: at(0.025).unwrap_or(f64::NAN), high: at(0.975).unwrap_or(f64::NAN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(n: f64) -> f64 {
        1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.002 * n * (n - 1.0))
    }

    #[test]
    fn intervals_over_runs_hold_the_truth() {
        let mut random = Random::new(3);
        let mut held = [0; 3];
        for _ in 0..100 {
            let levels: Vec<(f64, Vec<f64>)> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
                .iter()
                .map(|n| (*n, (0..5).map(|_| truth(*n) * (0.97 + 0.06 * random.unit())).collect()))
                .collect();
            let fitted = scaling_of_runs(&levels, Law::Usl).unwrap();
            held[0] += u32::from(fitted.law.intervals[1].contains(0.05));
            held[1] += u32::from(fitted.law.intervals[2].contains(0.002));
            held[2] += u32::from(fitted.peak.unwrap().1.contains((0.95_f64 / 0.002).sqrt()));
        }
        assert!(held.iter().all(|n| *n >= 86), "of 100 intervals each, {held:?} hold the truth");
    }

    #[test]
    fn what_scales_in_proportion_has_no_end_to_its_knee() {
        let levels: Vec<_> = [1.0, 2.0, 4.0].iter().map(|n| (*n, vec![10.0 * n, 10.2 * n, 9.8 * n])).collect();
        let fitted = scaling_of_runs(&levels, Law::Amdahl).unwrap();
        assert!(fitted.law.alpha < 0.02 && fitted.knee.is_none_or(|(_, i)| i.high.is_infinite()), "{fitted:?}");
        assert_eq!(scaling_of_runs(&[(1.0, vec![1.0]), (2.0, vec![2.0]), (3.0, vec![3.0])], Law::Usl), None);
        assert_eq!(scaling_of_runs(&levels[..2], Law::Usl), None);
    }
}
