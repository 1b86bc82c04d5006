//! Whether the runs of a cell are of two modes: a mean of both describes none of them.

use crate::sample::mean;

/// Runs of which two modes can be distinguished at all.
const FEWEST: usize = 8;
/// The gap between the modes, in standard deviations within them, times the number of runs. Of cells with one mode (normal,
/// uniform, exponential, log-normal, Student's t of 3) at most 5 in 100 have more, whatever the number from 8 to 50: by
/// simulation. Of two modes that are 7 standard deviations apart, 8 in 10 have at 15 runs.
const GAP: f64 = 42.0;

/// Two modes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Values of the lower mode, and their mean.
    pub low: (usize, f64),
    /// Values of the higher mode, and their mean.
    pub high: (usize, f64),
}

/// The two modes of `values`; None when one mode explains them, or there are too few. Each has a fifth of the values and three
/// at least: fewer are outliers.
pub fn two_modes(values: &[f64]) -> Option<Modes> {
    let n = values.len();
    if n < FEWEST || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let least = n.div_ceil(5).max(3);
    let spread = |part: &[f64]| {
        let center = mean(part);
        part.iter().map(|value| (value - center).powi(2)).sum::<f64>()
    };
    let gap_at = |k: usize| {
        let (low, high) = sorted.split_at(k);
        let within = ((spread(low) + spread(high)) / (n - 2) as f64).sqrt();
        let gap = high.first()? - low.last()?;
        (gap > 0.0).then(|| (k, if within > 0.0 { gap / within } else { f64::INFINITY }))
    };
    let widest = (least..=n - least).filter_map(gap_at).max_by(|a, b| a.1.total_cmp(&b.1));
    let (k, _) = widest.filter(|(_, gap)| *gap > GAP / n as f64)?;
    let (low, high) = sorted.split_at(k);
    Some(Modes { low: (low.len(), mean(low)), high: (high.len(), mean(high)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenxi_model::Random;

    fn normal(random: &mut Random) -> f64 {
        (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
    }

    /// In how many of 1,000 cells of `n` runs two modes are seen.
    fn seen(n: usize, mut value: impl FnMut(&mut Random) -> f64) -> u32 {
        let mut random = Random::new(0x30d35);
        let mut cell = || (0..n).map(|_| value(&mut random)).collect::<Vec<f64>>();
        (0..1000).map(|_| u32::from(two_modes(&cell()).is_some())).sum()
    }

    #[test]
    fn two_modes_are_seen_in_eight_of_ten_cells_and_one_mode_is_not_taken_for_two() {
        let two = |random: &mut Random| 100.0 + normal(random) + if random.unit() < 0.5 { 7.0 } else { 0.0 };
        assert!(seen(15, two) >= 800, "{}", seen(15, two));
        for n in [8, 10, 15, 30, 50] {
            let of_one = [
                seen(n, normal),
                seen(n, |random| random.unit()),
                seen(n, |random| -(1.0 - random.unit()).ln()),
                seen(n, |random| (0.5 * normal(random)).exp()),
            ];
            assert!(of_one.iter().all(|seen| *seen <= 50), "{n}: {of_one:?}");
        }
    }

    #[test]
    fn the_modes_are_described_and_a_few_runs_far_off_are_none() {
        let values = [836.0, 1190.0, 841.0, 1197.0, 850.0, 1185.0, 838.0, 1192.0, 845.0, 1188.0];
        assert_eq!(two_modes(&values), Some(Modes { low: (5, 842.0), high: (5, 1190.4) }));
        let far = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1, 150.0, 151.0];
        assert_eq!((two_modes(&far), two_modes(&values[..6]), two_modes(&[5.0; 12])), (None, None, None));
        // Two values and nothing between: as clear as it can be.
        assert!(two_modes(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]).is_some());
    }
}
