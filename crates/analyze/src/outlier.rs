//! Outliers: runs far from the others of their group, in robust standard deviations.

use crate::sample::median;

/// The score from which a run is an outlier (Iglewicz and Hoaglin 1993, How to Detect and Handle Outliers).
const FAR: f64 = 3.5;
/// The median of the distances of a normal variable, in standard deviations.
const MEDIAN_DISTANCE: f64 = 0.6745;
/// Nearer than this share to the median, it does not matter.
const LEAST: f64 = 0.02;

/// A run that is far from the others of its group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// Its group.
    pub group: usize,
    /// Its place in the group.
    pub place: usize,
    /// Its value over the median of the group.
    pub ratio: f64,
    /// Its distance in robust standard deviations.
    pub score: f64,
}

/// Runs far from the median of their group, the farthest first. How much runs differ anyway is estimated from all
/// groups together, as three or five runs could not show it; values have to be positive, NaN is missing.
pub fn outliers(groups: &[Vec<f64>]) -> Vec<Outlier> {
    let mut distances = Vec::new();
    for (group, values) in groups.iter().enumerate() {
        let known: Vec<f64> = values.iter().copied().filter(|v| *v > 0.0).collect();
        if known.len() < 3 {
            continue;
        }
        let center = median(&known);
        let away = |(place, v): (usize, &f64)| (*v > 0.0).then(|| (group, place, v / center));
        distances.extend(values.iter().enumerate().filter_map(away));
    }
    let logs: Vec<f64> = distances.iter().map(|(_, _, ratio)| ratio.ln().abs()).collect();
    let usual = median(&logs).max(1e-12) / MEDIAN_DISTANCE;
    let far = |(group, place, ratio): &(usize, usize, f64)| {
        let score = ratio.ln().abs() / usual;
        let counts = score > FAR && ratio.ln().abs() > LEAST;
        counts.then_some(Outlier { group: *group, place: *place, ratio: *ratio, score })
    };
    let mut found: Vec<Outlier> = distances.iter().filter_map(far).collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_far_away_is_named_and_usual_ones_are_not() {
        let mut groups: Vec<Vec<f64>> =
            (1..=5).map(|i| [0.97, 0.99, 1.0, 1.01, 1.03].map(|v| v * f64::from(i)).to_vec()).collect();
        assert_eq!(outliers(&groups), []);
        groups[2][4] *= 1.5;
        let found = outliers(&groups);
        assert_eq!((found.len(), found[0].group, found[0].place), (1, 2, 4));
        assert!((found[0].ratio - 1.545).abs() < 1e-9, "{found:?}");
        assert_eq!(outliers(&[vec![1.0, 2.0], vec![1.0, 1.0, 1.001]]), []);
        assert_eq!(outliers(&[]), []);
    }
}
