//! Answers as JSON values, in full precision.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_schema::DataType;
use fenxi_model::{Micros, micros_at, number_at, text_at, value_of, whole_at};
use serde_json::Value;

use super::{
    lines::Decimals,
    parts::elements,
    sink::{Full, Limits, Sink},
    text::text,
};
use crate::QueryError;

/// A column as JSON: numbers (null where they are not finite), truth values, lists, times as ISO 8601 in UTC,
/// anything else as text.
///
/// # Errors
/// When a value cannot be converted.
pub fn values(array: &ArrayRef) -> Result<Vec<Value>, QueryError> {
    let mut sink = Sink::new(Limits::default());
    several(&mut sink, array.as_ref(), 0..array.len()).map_err(|Full| sink.error())
}

fn several(sink: &mut Sink, array: &dyn Array, rows: Range<usize>) -> Result<Vec<Value>, Full> {
    let decimals = Decimals::of(array, rows.clone());
    rows.map(|row| value(sink, array, row, decimals)).collect()
}

fn value(sink: &mut Sink, array: &dyn Array, row: usize, decimals: Decimals) -> Result<Value, Full> {
    let Some((array, row)) = value_of(array, row) else { return Ok(Value::Null) };
    Ok(match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).into(),
        ty if ty.is_integer() || decimals == Decimals::Whole => {
            let whole = whole_at(array, row).unwrap_or_default();
            // One of the two holds every integer.
            i64::try_from(whole).map_or_else(|_| u64::try_from(whole).ok().into(), Value::from)
        }
        ty if ty.is_floating() || decimals == Decimals::Floats => number_at(array, row).into(),
        DataType::Timestamp(..) => micros_at(array, row).map(|t| Micros(t).iso()).into(),
        DataType::List(_) => match elements(array, row) {
            Some((values, places)) => several(sink, values, places)?.into(),
            None => Value::Null,
        },
        _ => match text_at(array, row) {
            Some(text) => text.into(),
            None => {
                text(sink, array, row)?;
                sink.take_from(0).into()
            }
        },
    })
}
