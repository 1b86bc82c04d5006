//! Compact encoding of series: 16 bits per number, in base64.
//!
//! Values of one series span many powers of ten (an idle disk and a burst), and each is shown to
//! three digits, so the steps are logarithmic: over twelve powers of ten a step is 0.04 %, over
//! three 0.01 %. Series with negative values are cut into even steps instead.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::Serialize;

/// How a series is packed; the page's `unpack` is the other half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "Packing")]
#[serde(rename_all = "lowercase")]
pub(crate) enum As {
    /// 0 is missing, 1 is zero, `c` from 2 is `lo * (hi/lo)^((c-2)/65533)`.
    Log,
    /// 0 is missing, `c` from 1 is `lo + (hi-lo)*(c-1)/65534`.
    Lin,
}

/// A packed series.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Packed {
    #[serde(rename = "as")]
    how: As,
    lo: f64,
    hi: f64,
    d: String,
}

/// Packs `values`; None and what is not finite is missing.
pub(crate) fn pack(values: &[Option<f64>]) -> Packed {
    let known = || values.iter().flatten().copied().filter(|v| v.is_finite());
    let negative = known().any(|v| v < 0.0);
    let (lo, hi) = known()
        .filter(|v| negative || *v > 0.0)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (v.min(lo), v.max(hi)));
    let (lo, hi) = if lo <= hi { (lo, hi) } else { (0.0, 0.0) };
    let how = if negative { As::Lin } else { As::Log };
    let share = |v: f64| match how {
        As::Lin => (v - lo) / (hi - lo),
        As::Log => (v / lo).ln() / (hi / lo).ln(),
    };
    let code = |v: f64| -> u16 {
        // A series of one value has no span: every value is `lo`.
        let share = if hi > lo { share(v).clamp(0.0, 1.0) } else { 0.0 };
        match how {
            As::Lin => 1 + (share * 65_534.0).round() as u16,
            As::Log if v == 0.0 => 1,
            As::Log => 2 + (share * 65_533.0).round() as u16,
        }
    };
    let bytes: Vec<u8> =
        values.iter().flat_map(|v| v.filter(|v| v.is_finite()).map_or(0, code).to_le_bytes()).collect();
    Packed { how, lo, hi, d: STANDARD.encode(&bytes) }
}

/// `value` to `digits` significant digits, so that its JSON is short.
pub(crate) fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let factor = 10f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    let out = (value * factor).round() / factor;
    if out.is_finite() { out } else { value }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};

    use super::{As, pack, rounded};

    fn base64(bytes: &[u8]) -> String {
        STANDARD.encode(bytes)
    }

    #[test]
    fn missing_zero_least_and_greatest_have_their_own_codes() {
        let packed = pack(&[None, Some(0.0), Some(1e-3), Some(1e9), Some(f64::NAN)]);
        assert_eq!((packed.how, packed.lo, packed.hi), (As::Log, 1e-3, 1e9));
        assert_eq!(packed.d, base64(&[0, 0, 1, 0, 2, 0, 255, 255, 0, 0]));
    }

    #[test]
    fn negative_values_are_cut_evenly_and_one_value_is_exact() {
        let packed = pack(&[Some(-1.0), Some(1.0)]);
        assert_eq!((packed.how, packed.lo, packed.hi), (As::Lin, -1.0, 1.0));
        assert_eq!(packed.d, base64(&[1, 0, 255, 255]));
        let packed = pack(&[Some(5.0), Some(5.0)]);
        assert_eq!((packed.lo, packed.hi, packed.d), (5.0, 5.0, base64(&[2, 0, 2, 0])));
    }

    #[test]
    fn rounding_keeps_significant_digits_only() {
        assert_eq!(rounded(123_456.789, 4), 123_500.0);
        assert_eq!(rounded(-0.001_234_56, 3), -0.001_23);
        assert_eq!(rounded(0.0, 3), 0.0);
    }
}
