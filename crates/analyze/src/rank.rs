//! Cliff's delta: effect size of the difference between two groups, independent of the unit.

/// Cliff's delta of `b` against `a`: how much likelier a value of `b` is to be greater than one of `a`
/// than to be smaller; from -1 (all smaller) over 0 to 1 (all greater). NaN when a group is empty.
///
/// Cliff, N. (1993): Dominance statistics. Psychological Bulletin 114.
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> f64 {
    let mut sorted = a.to_vec();
    sorted.sort_by(f64::total_cmp);
    let dominance: f64 = b
        .iter()
        .map(|v| {
            let below = sorted.partition_point(|x| x < v);
            let above = sorted.len() - sorted.partition_point(|x| x <= v);
            below as f64 - above as f64
        })
        .sum();
    dominance / (a.len() * b.len()) as f64
}

/// The place of each value among all, from 1; equal values share the mean of their places.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|i, j| values[*i].total_cmp(&values[*j]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    for equal in order.chunk_by(|i, j| values[*i] == values[*j]) {
        let middle = from as f64 + (equal.len() + 1) as f64 / 2.0;
        equal.iter().for_each(|i| ranks[*i] = middle);
        from += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::cliffs_delta;

    #[test]
    fn groups_that_do_not_overlap_are_as_far_apart_as_can_be() {
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[3.0, 4.0, 5.0]), 1.0);
        assert_eq!(cliffs_delta(&[3.0, 4.0], &[1.0]), -1.0);
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[1.0, 2.0]), 0.0);
        // Of six pairs: 1<2, 1<2, 3>2, 3>2, and 2=2 twice.
        assert_eq!(cliffs_delta(&[1.0, 2.0, 3.0], &[2.0, 2.0]), 0.0);
        assert!(cliffs_delta(&[], &[1.0]).is_nan());
    }
}
