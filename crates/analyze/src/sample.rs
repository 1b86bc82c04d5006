//! Mean, standard deviation, median and quantiles of small samples.

/// The arithmetic mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of the population that `values` are a sample of (divided by n - 1); NaN of
/// fewer than two.
pub fn standard_deviation(values: &[f64]) -> f64 {
    variance(values).sqrt()
}

/// The square of [`standard_deviation`], in two passes.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let center = mean(values);
    let squares: f64 = values.iter().map(|v| (v - center) * (v - center)).sum();
    if values.len() < 2 { f64::NAN } else { squares / (values.len() - 1) as f64 }
}

/// The median; NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// The quantile `share` (0 to 1) of values in ascending order, interpolated between neighbours (type 7
/// of Hyndman and Fan 1996); NaN of nothing.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    if low == high { low } else { low + (high - low) * place.fract() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_quantiles_are_as_calculated_by_hand() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!((mean(&values), median(&values)), (2.5, 2.5));
        assert!((standard_deviation(&values) - (5.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.25), 1.75);
        assert_eq!((quantile(&[7.0], 0.9), quantile(&[1.0, 2.0], 1.0)), (7.0, 2.0));
        assert!(mean(&[]).is_nan() && median(&[]).is_nan() && standard_deviation(&[1.0]).is_nan());
        assert_eq!(quantile(&[f64::INFINITY; 3], 0.3), f64::INFINITY);
    }
}
