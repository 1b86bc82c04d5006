//! Cells of text tables: one scaled unit per column, with the significant digits only.

use std::fmt::Write as _;

use arrow_array::{Array, ArrayRef, temporal_conversions::timestamp_s_to_datetime};
use arrow_schema::DataType;
use fenxi_model::{Unit, micros_at, number_at, value_of};

use super::{
    sink::{Sink, Written},
    text::text,
};
use crate::AnswerColumn;

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
    pub(super) fn from_column(column: &AnswerColumn, arrays: &[ArrayRef]) -> Shape {
        let ty = &column.ty;
        if matches!(ty, DataType::Timestamp(..)) {
            let whole = |a: &ArrayRef| (0..a.len()).filter_map(|row| micros_at(a, row)).all(|t| t % 1_000_000 == 0);
            return Shape::Time { millis: !arrays.iter().all(whole) };
        }
        if !ty.is_numeric() {
            return Shape::Text;
        }
        if ty.is_integer() && column.unit == Unit::None {
            return Shape::Whole;
        }
        let mut largest = 0.0_f64;
        let mut whole = true;
        let numbers = arrays.iter().flat_map(|a| (0..a.len()).filter_map(move |row| number_at(a, row)));
        for value in numbers.filter(|v| v.is_finite()) {
            largest = largest.max(value.abs());
            whole &= value.fract() == 0.0;
        }
        let (scale, prefix) = scale(column.unit, largest);
        let unit = format!("{prefix}{}", column.unit.symbol());
        let decimals = if whole && scale == 1.0 { 0 } else { decimals(largest / scale) };
        Shape::Number { scale, decimals, unit }
    }

    /// The unit to print in the header; empty for none.
    pub(super) fn unit(&self) -> &str {
        match self {
            Shape::Number { unit, .. } => unit,
            _ => "",
        }
    }

    /// Whether cells are right-aligned.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Shape::Number { .. } | Shape::Whole)
    }

    /// Writes the cell of a row.
    pub(super) fn cell(&self, sink: &mut Sink, array: &dyn Array, row: usize) -> Written {
        if value_of(array, row).is_none() {
            return sink.put("-");
        }
        match self {
            Shape::Number { scale, decimals, .. } => match number_at(array, row) {
                Some(value) => fixed(sink, value / scale, enough(value / scale, *decimals)),
                None => sink.put("-"),
            },
            Shape::Time { millis } => moment(sink, array, row, *millis),
            Shape::Whole | Shape::Text => text(sink, array, row),
        }
    }
}

fn fixed(sink: &mut Sink, value: f64, decimals: usize) -> Written {
    if !value.is_finite() {
        return Ok(write!(sink, "{value}")?);
    }
    let start = sink.len();
    write!(sink, "{value:.decimals$}")?;
    let text = &sink.text()[start..];
    // A value that rounds to nothing must not look negative.
    if text.starts_with('-') && text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.')) {
        let text = sink.take_from(start);
        sink.put(&text[1..])?;
    }
    Ok(())
}

/// A moment in UTC; one that no calendar has is its text.
fn moment(sink: &mut Sink, array: &dyn Array, row: usize, millis: bool) -> Written {
    let split = micros_at(array, row).map(|t| (t.div_euclid(1_000_000), t.rem_euclid(1_000_000) / 1000));
    let Some((seconds, thousandths)) = split else { return text(sink, array, row) };
    let Some(at) = timestamp_s_to_datetime(seconds) else { return text(sink, array, row) };
    write!(sink, "{:?} {:?}", at.date(), at.time())?;
    if millis { Ok(write!(sink, ".{thousandths:03}")?) } else { Ok(()) }
}

/// One scale for a whole column, so that its numbers can be compared at a glance.
fn scale(unit: Unit, largest: f64) -> (f64, &'static str) {
    let (base, prefixes): (f64, &[&'static str]) = match unit {
        Unit::Bytes | Unit::BytesPerS => (1024.0, &["", "Ki", "Mi", "Gi", "Ti", "Pi"]),
        Unit::Hertz => (1000.0, &["", "k", "M", "G"]),
        _ => return (1.0, ""),
    };
    let mut scale = 1.0;
    for prefix in prefixes {
        if largest / scale < base * 10.0 {
            // One step up only when four digits before the point are passed.
            return (scale, prefix);
        }
        scale *= base;
    }
    (scale / base, prefixes[prefixes.len() - 1])
}

/// Decimals that give the largest number of a column four significant digits.
fn decimals(largest: f64) -> usize {
    if largest == 0.0 {
        return 0;
    }
    let magnitude = largest.log10().floor() as i64;
    (3 - magnitude).clamp(0, 9) as usize
}

/// Decimals of a value in a column that has `decimals`: more where it would read as 0, and in columns of large numbers, where less than
/// two significant digits of it would be left, so that 0.157 beside 1,234 is not 0, nor 1.24 only 1.
fn enough(value: f64, decimals: usize) -> usize {
    let magnitude = value.abs();
    let smallest = if decimals <= 1 { 9.5 } else { 1.0 } * 10_f64.powi(-(decimals as i32));
    // Smaller values are negligible beside others in the same unit.
    let is_small = magnitude >= TINY && magnitude < smallest && value.fract() != 0.0;
    let digits = if decimals <= 1 { 2 } else { 1 };
    if is_small { (digits - magnitude.log10().floor() as i64).clamp(decimals as i64, 9) as usize } else { decimals }
}

/// Smaller values have no more decimals than their column.
const TINY: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::{Sink, decimals, enough, scale};
    use fenxi_model::Unit;

    fn fixed(value: f64, decimals: usize) -> String {
        let mut sink = Sink::default();
        super::fixed(&mut sink, value, decimals).unwrap();
        sink.text().to_owned()
    }

    #[test]
    fn a_column_gets_four_significant_digits() {
        assert_eq!(fixed(98.5, decimals(98.5)), "98.50");
        assert_eq!(fixed(0.001_234, decimals(0.001_234)), "0.001234");
        assert_eq!(fixed(123_456.7, decimals(123_456.7)), "123457");
        assert_eq!(fixed(-0.001, 2), "0.00");
    }

    #[test]
    fn no_value_that_is_something_reads_as_nothing() {
        let in_column = |value: f64, largest: f64| fixed(value, enough(value, decimals(largest)));
        assert_eq!(in_column(0.157, 1234.0), "0.157");
        assert_eq!(in_column(1.24, 51234.0), "1.24");
        assert_eq!((in_column(0.0372, 98.5), in_column(0.003_72, 98.5)), ("0.04".to_owned(), "0.0037".to_owned()));
        // Two digits are enough, and whole numbers need none.
        assert_eq!((in_column(12.34, 1234.0), in_column(3.0, 1234.5)), ("12".to_owned(), "3".to_owned()));
        assert_eq!((in_column(0.0, 1234.0), in_column(-0.157, 1234.0)), ("0".to_owned(), "-0.157".to_owned()));
        assert_eq!(in_column(1e-9, 98.5), "0.00");
    }

    #[test]
    fn bytes_share_one_scale() {
        assert_eq!(scale(Unit::Bytes, 500.0), (1.0, ""));
        assert_eq!(scale(Unit::BytesPerS, 3e9), (1024.0 * 1024.0, "Mi"));
        assert_eq!(scale(Unit::PerS, 3e9), (1.0, ""));
    }
}
