//! Benjamini-Hochberg adjustment of p-values, for many tests at once (false discovery rate).

/// Adjusts p values so that, of all those at or below a level, at most that share is expected to be
/// false (Benjamini and Hochberg 1995). NaN stays NaN and counts as no test.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).filter(|i| !p[*i].is_nan()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![f64::NAN; p.len()];
    let n = order.len() as f64;
    let mut least = 1.0_f64;
    for (rank, i) in order.iter().enumerate().rev() {
        least = least.min(p[*i] * n / (rank + 1) as f64);
        adjusted[*i] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::benjamini_hochberg;

    /// `scipy.stats.false_discovery_control` (1.17.1).
    #[test]
    fn adjusted_values_agree_with_scipy() {
        let p = [0.01, 0.04, 0.03, 0.005, 0.5];
        let expected = [0.025, 0.05, 0.05, 0.025, 0.5];
        for (ours, theirs) in benjamini_hochberg(&p).iter().zip(expected) {
            assert!((ours - theirs).abs() < 1e-12, "{ours} {theirs}");
        }
        let some = benjamini_hochberg(&[0.02, f64::NAN, 0.03]);
        assert!((some[0] - 0.03).abs() < 1e-15 && some[1].is_nan() && (some[2] - 0.03).abs() < 1e-15);
        assert!(benjamini_hochberg(&[]).is_empty());
    }
}
