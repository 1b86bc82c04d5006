//! Cells of text tables: one scaled unit per column, with the significant digits only.

use arrow_array::{Array, ArrayRef, cast::AsArray, types::Float64Type, types::Int64Type};
use arrow_schema::DataType;
use fenxi_model::{Micros, Unit, visible};

use crate::{AnswerColumn, QueryError};

/// How the cells of one column are written, settled from its first rows.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// Numbers: divided by `scale`, with so many decimals, followed by nothing; the unit is in the header.
    Number { scale: f64, decimals: usize, unit: String },
    /// Whole numbers without a unit, in full.
    Whole,
    /// Moments, to the second or to the millisecond.
    Time { millis: bool },
    /// Anything else.
    Text,
}

impl Shape {
    /// Settles the shape of a column from its rows at hand.
    pub(super) fn of(column: &AnswerColumn, arrays: &[ArrayRef]) -> Shape {
        let ty = &column.ty;
        if matches!(ty, DataType::Timestamp(..)) {
            let whole = |a: &ArrayRef| micros(a).iter().flatten().all(|t| t % 1_000_000 == 0);
            return Shape::Time { millis: !arrays.iter().all(whole) };
        }
        if !ty.is_numeric() {
            return Shape::Text;
        }
        if ty.is_integer() && column.unit == Unit::None {
            return Shape::Whole;
        }
        let mut greatest = 0.0_f64;
        let mut whole = true;
        for value in arrays.iter().flat_map(floats).flatten().filter(|v| v.is_finite()) {
            greatest = greatest.max(value.abs());
            whole &= value.fract() == 0.0;
        }
        let (scale, prefix) = scale(column.unit, greatest);
        let unit = format!("{prefix}{}", column.unit.symbol());
        let decimals = if whole && scale == 1.0 { 0 } else { decimals(greatest / scale) };
        Shape::Number { scale, decimals, unit }
    }

    /// The unit to print in the header; empty for none.
    pub(super) fn unit(&self) -> &str {
        match self {
            Shape::Number { unit, .. } => unit,
            _ => "",
        }
    }

    /// Whether cells stand to the right.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Shape::Number { .. } | Shape::Whole)
    }

    /// The cells of one array.
    pub(super) fn cells(&self, array: &ArrayRef) -> Result<Vec<String>, QueryError> {
        Ok(match self {
            Shape::Number { scale, decimals, .. } => {
                floats(array).into_iter().map(|v| v.map_or_else(dash, |v| fixed(v / scale, *decimals))).collect()
            }
            Shape::Time { millis } => {
                micros(array).into_iter().map(|t| t.map_or_else(dash, |t| moment(t, *millis))).collect()
            }
            Shape::Whole | Shape::Text => {
                let text = super::as_text(array)?;
                text.as_string::<i32>().iter().map(|v| v.map_or_else(dash, |v| visible(v).into_owned())).collect()
            }
        })
    }
}

/// What stands for NULL.
fn dash() -> String {
    "-".to_owned()
}

fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let text = format!("{value:.decimals$}");
    // A value that rounds to nothing must not look negative.
    if text.starts_with('-') && text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.')) {
        text[1..].to_owned()
    } else {
        text
    }
}

fn moment(micros: i64, millis: bool) -> String {
    let text = Micros(micros).iso().replace('T', " ");
    text[..if millis { 23.min(text.len()) } else { 19.min(text.len()) }].to_owned()
}

fn floats(array: &ArrayRef) -> Vec<Option<f64>> {
    match arrow_cast::cast(array, &DataType::Float64) {
        Ok(cast) => cast.as_primitive::<Float64Type>().iter().collect(),
        Err(_) => vec![None; array.len()],
    }
}

fn micros(array: &ArrayRef) -> Vec<Option<i64>> {
    let utc = super::utc(array).and_then(|a| Ok(arrow_cast::cast(&a, &DataType::Int64)?));
    match utc {
        Ok(cast) => {
            let per_unit = match array.data_type() {
                // Without a zone `utc` leaves the unit as it is.
                DataType::Timestamp(arrow_schema::TimeUnit::Second, None) => 1_000_000.0,
                DataType::Timestamp(arrow_schema::TimeUnit::Millisecond, None) => 1000.0,
                DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, None) => 1e-3,
                _ => 1.0,
            };
            cast.as_primitive::<Int64Type>()
                .iter()
                .map(|v| v.map(|v| if per_unit == 1.0 { v } else { (v as f64 * per_unit) as i64 }))
                .collect()
        }
        Err(_) => vec![None; array.len()],
    }
}

/// One scale for a whole column, so that its numbers can be compared at a glance.
fn scale(unit: Unit, greatest: f64) -> (f64, &'static str) {
    let (base, prefixes): (f64, &[&'static str]) = match unit {
        Unit::Bytes | Unit::BytesPerS => (1024.0, &["", "Ki", "Mi", "Gi", "Ti", "Pi"]),
        Unit::Hertz => (1000.0, &["", "k", "M", "G"]),
        _ => return (1.0, ""),
    };
    let mut scale = 1.0;
    for prefix in prefixes {
        if greatest / scale < base * 10.0 {
            // One step up only when four digits before the point are passed.
            return (scale, prefix);
        }
        scale *= base;
    }
    (scale / base, prefixes[prefixes.len() - 1])
}

/// Decimals that give the greatest number of a column four significant digits.
fn decimals(greatest: f64) -> usize {
    if greatest == 0.0 {
        return 0;
    }
    let magnitude = greatest.log10().floor() as i64;
    (3 - magnitude).clamp(0, 9) as usize
}

#[cfg(test)]
mod tests {
    use super::{decimals, fixed, scale};
    use fenxi_model::Unit;

    #[test]
    fn a_column_gets_four_significant_digits() {
        assert_eq!(fixed(98.5, decimals(98.5)), "98.50");
        assert_eq!(fixed(0.001_234, decimals(0.001_234)), "0.001234");
        assert_eq!(fixed(123_456.7, decimals(123_456.7)), "123457");
        assert_eq!(fixed(-0.001, 2), "0.00");
    }

    #[test]
    fn bytes_share_one_scale() {
        assert_eq!(scale(Unit::Bytes, 500.0), (1.0, ""));
        assert_eq!(scale(Unit::BytesPerS, 3e9), (1024.0 * 1024.0, "Mi"));
        assert_eq!(scale(Unit::PerS, 3e9), (1.0, ""));
    }
}
