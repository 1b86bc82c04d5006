//! Selection of the best of several groups of runs, and of those that are not significantly worse.

use fenxi_model::Better;

use crate::{benjamini_hochberg, least_p, permutation_test, pooled_test, sample::mean};

/// The best group, and how sure it is that each other one is worse.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The place of the group with the best mean.
    pub place: usize,
    /// For each group the p value of its difference from the best, adjusted for their number (Benjamini and
    /// Hochberg); NaN for the best itself and for groups of fewer than two runs.
    pub p: Vec<f64>,
    /// True if p values come from what all groups show together, as so few runs alone could show nothing.
    pub is_pooled: bool,
}

/// Finds the best of `groups`; None when none has a mean or neither direction is good.
pub fn best(groups: &[Vec<f64>], better: Better, alpha: f64) -> Option<Best> {
    let sign = match better {
        Better::Higher => 1.0,
        Better::Lower => -1.0,
        Better::Neither => return None,
    };
    let means: Vec<f64> = groups.iter().map(|g| sign * mean(g)).collect();
    let known = (0..groups.len()).filter(|i| means[*i].is_finite());
    let place = known.max_by(|a, b| means[*a].total_cmp(&means[*b]))?;
    let pairs: Vec<(Vec<f64>, Vec<f64>)> = groups.iter().map(|g| (groups[place].clone(), g.clone())).collect();
    let alone = |(a, b): &(Vec<f64>, Vec<f64>)| permutation_test(a, b).unwrap_or(f64::NAN);
    let is_pooled = groups.iter().map(|g| least_p(groups[place].len(), g.len())).fold(0.0, f64::max) > alpha;
    let mut p = vec![f64::NAN; groups.len()];
    let others: Vec<usize> = (0..groups.len()).filter(|i| *i != place).collect();
    if is_pooled {
        let of_others: Vec<_> = others.iter().map(|i| pairs[*i].clone()).collect();
        others.iter().zip(pooled_test(&of_others)).for_each(|(i, value)| p[*i] = value);
    } else {
        others.iter().for_each(|i| p[*i] = alone(&pairs[*i]));
    }
    Some(Best { place, p: benjamini_hochberg(&p), is_pooled })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_found_with_those_that_may_be_as_good() {
        let groups = vec![
            vec![10.0, 10.2, 9.9, 10.1, 10.05],
            vec![20.0, 20.3, 19.8, 20.1, 19.9],
            vec![20.2, 20.4, 19.9, 20.0, 20.1],
            vec![15.0],
        ];
        let found = best(&groups, Better::Higher, 0.05).unwrap();
        assert_eq!(found.place, 2);
        // 2 of 252 ways for the one that is apart; adjusted for two tests.
        assert!((found.p[0] - 4.0 / 252.0).abs() < 1e-9 || found.is_pooled, "{found:?}");
        assert!(found.p[0] < 0.05 && found.p[1] > 0.05 && found.p[2].is_nan() && found.p[3].is_nan(), "{found:?}");
        assert_eq!(best(&groups, Better::Lower, 0.05).unwrap().place, 0);
        assert_eq!(best(&groups, Better::Neither, 0.05), None);
        assert_eq!(best(&[], Better::Higher, 0.05), None);
    }

    #[test]
    fn three_runs_each_are_told_apart_together() {
        let groups: Vec<Vec<f64>> = (1..=8).map(|i| [0.99, 1.0, 1.012].map(|v| v * f64::from(i)).to_vec()).collect();
        let found = best(&groups, Better::Higher, 0.05).unwrap();
        assert!(found.is_pooled && found.place == 7 && found.p[..7].iter().all(|p| *p < 0.05), "{found:?}");
    }
}
