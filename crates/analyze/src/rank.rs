//! How far two groups lie apart, whatever the unit.

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
