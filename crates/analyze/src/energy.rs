//! E-divisive change points: where the level of a metric changed over a history of runs.

use fenxi_model::Random;

/// Runs on either side of a change point, at least.
const LEAST: usize = 3;
/// Orders tried to distinguish a change from chance.
const ORDERS: u32 = 199;
/// The share of orders that may look as much like a change.
const ALPHA: f64 = 0.05;

/// Places in `values` where a new level begins, in ascending order, by E-divisive with exponent 1:
/// splits at the largest energy distance between what is before and after, as long as no more than one
/// order in twenty of the same values would split as clearly (Matteson and James 2014, A nonparametric
/// approach for multiple change point analysis). Takes time with the square of their number.
pub fn change_points(values: &[f64]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut random = Random::new(0xed1f);
    split(values, 0, &mut random, &mut found);
    found.sort_unstable();
    found
}

fn split(values: &[f64], offset: usize, random: &mut Random, found: &mut Vec<usize>) {
    let Some((at, seen)) = best_split(values) else { return };
    let mut order = values.to_vec();
    let mut as_clear = 0;
    for _ in 0..ORDERS {
        random.shuffle(&mut order);
        as_clear += u32::from(best_split(&order).is_some_and(|(_, q)| q >= seen));
    }
    if f64::from(as_clear + 1) / f64::from(ORDERS + 1) > ALPHA {
        return;
    }
    found.push(offset + at);
    split(&values[..at], offset, random, found);
    split(&values[at..], offset + at, random, found);
}

/// The split with the largest energy distance, scaled by the sizes of both sides.
fn best_split(values: &[f64]) -> Option<(usize, f64)> {
    let n = values.len();
    if n < 2 * LEAST {
        return None;
    }
    let far = |i: usize, j: usize| (values[i] - values[j]).abs();
    // Sums of the distances of each value to those before and to those after it.
    let before: Vec<f64> = (0..n).map(|i| (0..i).map(|j| far(i, j)).sum()).collect();
    let after: Vec<f64> = (0..n).map(|i| (i + 1..n).map(|j| far(i, j)).sum()).collect();
    let total: f64 = before.iter().sum();
    let (mut left, mut right) = (0.0, total);
    let mut best: Option<(usize, f64)> = None;
    for at in 1..n {
        left += before[at - 1];
        right -= after[at - 1];
        if at < LEAST || n - at < LEAST {
            continue;
        }
        let (l, r) = (at as f64, (n - at) as f64);
        let between = total - left - right;
        let distance = 2.0 * between / (l * r) - 2.0 * left / (l * (l - 1.0)) - 2.0 * right / (r * (r - 1.0));
        let scaled = l * r / (l + r) * distance;
        if best.is_none_or(|(_, most)| scaled > most) {
            best = Some((at, scaled));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(levels: &[(usize, f64)], seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        levels.iter().flat_map(|(n, level)| vec![*level; *n]).map(|v| v + random.unit()).collect()
    }

    #[test]
    fn steps_are_found_and_single_spikes_are_not() {
        assert_eq!(change_points(&series(&[(20, 100.0), (15, 103.0), (20, 101.5)], 1)), [20, 35]);
        let quiet = (0..40).filter(|seed| !change_points(&series(&[(30, 10.0)], *seed)).is_empty()).count();
        assert!(quiet <= 4, "{quiet} of 40 steady histories were split");
        let mut spike = series(&[(30, 10.0)], 3);
        spike[14] = 50.0;
        assert!(change_points(&spike).is_empty());
        assert!(change_points(&[1.0, 9.0]).is_empty());
    }
}
