//! MSER-5 truncation: where a run becomes steady; and the effective sample size of its samples.

use crate::sample::mean;

/// Samples that are averaged before looking for the steady part.
const BATCH: usize = 5;
/// Fewer batches than these show nothing.
const LEAST_BATCHES: usize = 8;
/// Values that differ by less than this share of themselves are equal: what remains is rounding.
pub(crate) const ROUNDING: f64 = 1e-12;

/// Where a series becomes steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steady {
    /// From this sample on.
    From(usize),
    /// Not before its second half, so that it may never have been.
    Never,
    /// There are too few samples.
    TooShort,
}

/// The first sample of the steady part by MSER-5: the cut after which the standard error of the mean of
/// batches of five is smallest (White 1997, An effective truncation heuristic for bias reduction in
/// simulation output). A cut in the second half means that the series did not settle.
pub fn steady_from(values: &[f64]) -> Steady {
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(mean).collect();
    if batches.len() < LEAST_BATCHES || !batches.iter().all(|v| v.is_finite()) {
        return Steady::TooShort;
    }
    // About the overall mean, squares lose nothing to rounding.
    let center = mean(&batches);
    let (mut sum, mut squares, mut n) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, batch) in batches.iter().map(|b| b - center).enumerate().rev() {
        (sum, squares, n) = (sum + batch, squares + batch * batch, n + 1.0);
        // The last few batches always agree with each other.
        if n < LEAST_BATCHES as f64 / 2.0 {
            continue;
        }
        let error = ((squares - sum * sum / n) / (n * n)).max(0.0);
        if error <= best.0 {
            best = (error, cut);
        }
    }
    if best.1 > batches.len() / 2 { Steady::Never } else { Steady::From(best.1 * BATCH) }
}

/// As how many independent samples the samples of a series count: their number over their [`dependence`]. At least 1, at most n.
pub fn effective_size(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    (n / dependence(&[values])).clamp(n.min(1.0), n)
}

/// Over how many samples those of a series depend on each other: one plus twice the sum of its autocorrelations, which are added in
/// pairs until a pair is no longer positive (Geyer 1992, initial positive sequence). At least 1.
///
/// Of several pieces of a series each has its own level, and correlations are their means, weighted by length: a short one counts little.
pub fn dependence(pieces: &[&[f64]]) -> f64 {
    let n: usize = pieces.iter().map(|piece| piece.len()).sum();
    let longest = pieces.iter().map(|piece| piece.len()).max().unwrap_or(0);
    let product = |piece: &[f64], center: f64, lag: usize| -> f64 {
        piece.iter().zip(&piece[lag.min(piece.len())..]).map(|(a, b)| (a - center) * (b - center)).sum()
    };
    let mut varying = Vec::new();
    for piece in pieces {
        let (length, center) = (piece.len() as f64, mean(piece));
        let square = product(piece, center, 0);
        // The mean of equal values may miss them by a rounding, which all of them then share: that is no dependence.
        if square > length * (ROUNDING * center).powi(2) {
            varying.push((*piece, center, length / square));
        }
    }
    let correlation = |lag: usize| -> f64 {
        varying.iter().map(|(piece, center, scale)| scale * product(piece, *center, lag)).sum::<f64>() / n as f64
    };
    let pairs = (1..longest.saturating_sub(1)).step_by(2).map(|lag| correlation(lag) + correlation(lag + 1));
    let sum: f64 = pairs.take_while(|pair| *pair > 0.0).sum();
    (1.0 + 2.0 * sum).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| random.unit() - 0.5).collect()
    }

    #[test]
    fn a_warm_up_is_cut_off_and_a_steady_series_is_kept() {
        let flat: Vec<f64> = noise(300, 1).iter().map(|v| 100.0 + v).collect();
        let Steady::From(cut) = steady_from(&flat) else { panic!() };
        assert!(cut <= 60, "{cut}");
        let warming: Vec<f64> =
            (0..300).zip(noise(300, 2)).map(|(i, v)| v + if i < 60 { i as f64 } else { 60.0 }).collect();
        let Steady::From(cut) = steady_from(&warming) else { panic!() };
        assert!((50..=90).contains(&cut), "{cut}");
        let rising: Vec<f64> = (0..300).map(f64::from).collect();
        assert_eq!(steady_from(&rising), Steady::Never);
        assert_eq!(steady_from(&[1.0; 20]), Steady::TooShort);
        assert_eq!(steady_from(&[5.0; 100]), Steady::From(0));
    }

    #[test]
    fn samples_that_depend_on_each_other_count_less() {
        let independent = noise(2000, 3);
        assert!(effective_size(&independent) > 1500.0);
        // An AR(1) series with coefficient 0.8 has (1 - 0.8) / (1 + 0.8) of its samples.
        let mut last = 0.0;
        let dependent: Vec<f64> = noise(20_000, 4)
            .iter()
            .map(|v| {
                last = 0.8 * last + v;
                last
            })
            .collect();
        let share = effective_size(&dependent) / 20_000.0;
        assert!((share - 1.0 / 9.0).abs() < 0.02, "{share}");
        assert_eq!((effective_size(&[3.0; 7]), effective_size(&[1.0])), (7.0, 1.0));
        assert_eq!((effective_size(&[0.1; 60]), effective_size(&[0.0; 60])), (60.0, 60.0));
    }
}
