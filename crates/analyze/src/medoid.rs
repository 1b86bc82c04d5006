//! Medoid: the run that represents a group best, as the one nearest to all others.

use crate::sample::{mean, median, standard_deviation};

/// Distances between the runs of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    /// The run with the smallest sum of distances to the others: the medoid.
    pub representative: usize,
    /// How far each run is from it: the root mean square, over all metrics, of the difference in standard
    /// deviations of the metric. Around 1 is ordinary.
    pub from_representative: Vec<f64>,
    /// Runs that are much farther away than the others.
    pub outliers: Vec<usize>,
}

/// Runs from which on one of them can be detected as an outlier.
const LEAST_FOR_OUTLIERS: usize = 4;

/// Compares runs by all their metrics: `runs[i][k]` is metric `k` of run `i`, NaN where it has none.
/// Metrics that are the same in all runs say nothing. None without a run.
pub fn representative(runs: &[Vec<f64>]) -> Option<Distances> {
    let n_metrics = runs.iter().map(Vec::len).max()?;
    let scale: Vec<(f64, f64)> = (0..n_metrics)
        .map(|k| {
            let values: Vec<f64> = runs.iter().filter_map(|r| r.get(k)).copied().filter(|v| v.is_finite()).collect();
            (mean(&values), standard_deviation(&values))
        })
        .collect();
    let standard = |run: &[f64], k: usize| -> f64 {
        let (center, spread) = scale[k];
        run.get(k).map_or(f64::NAN, |v| (v - center) / spread)
    };
    let distance = |a: &[f64], b: &[f64]| -> f64 {
        let squares: Vec<f64> =
            (0..n_metrics).map(|k| standard(a, k) - standard(b, k)).filter(|d| d.is_finite()).map(|d| d * d).collect();
        if squares.is_empty() { 0.0 } else { mean(&squares).sqrt() }
    };
    let sum = |run: &Vec<f64>| runs.iter().map(|other| distance(run, other)).sum::<f64>();
    let sums: Vec<f64> = runs.iter().map(sum).collect();
    let representative = (0..runs.len()).min_by(|a, b| sums[*a].total_cmp(&sums[*b]))?;
    let from_representative: Vec<f64> = runs.iter().map(|run| distance(run, &runs[representative])).collect();
    let outliers = outliers(&from_representative, representative);
    Some(Distances { representative, from_representative, outliers })
}

/// Distances beyond the median by more than 3.5 times the median deviation, as a standard deviation
/// (Iglewicz and Hoaglin 1993), and by half of it at least.
fn outliers(distances: &[f64], representative: usize) -> Vec<usize> {
    let others: Vec<f64> = (0..distances.len()).filter(|i| *i != representative).map(|i| distances[i]).collect();
    if distances.len() < LEAST_FOR_OUTLIERS {
        return Vec::new();
    }
    let center = median(&others);
    let deviations: Vec<f64> = others.iter().map(|d| (d - center).abs()).collect();
    let limit = center + (3.5 * 1.4826 * median(&deviations)).max(0.5 * center);
    (0..distances.len()).filter(|i| distances[*i] > limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_in_the_middle_stands_for_all_and_the_strange_one_is_named() {
        let nan = f64::NAN;
        let runs = [
            vec![100.0, 10.0, 5.0, 1.0],
            vec![101.0, 10.2, 5.0, 2.0],
            vec![99.0, 9.8, 5.0, nan],
            vec![100.4, 10.1, 5.0, 1.4],
            vec![140.0, 19.0, 5.0, 9.0],
        ];
        let found = representative(&runs).unwrap();
        assert!(found.representative != 4 && found.from_representative[found.representative] == 0.0, "{found:?}");
        assert_eq!(found.outliers, [4]);
        assert_eq!(representative(&[]), None);
        let one = representative(&[vec![1.0]]).unwrap();
        assert_eq!((one.representative, one.outliers.len()), (0, 0));
    }
}
