//! Rows as lists of JSON, in full precision, as the API gives them.

use std::ops::Range;

use arrow_array::{Array, RecordBatch, cast::AsArray};
use arrow_schema::DataType;
use fenxi_model::{Micros, micros_at, number_at, text_at, value_of, whole_at};

use super::{
    lines::{Decimals, json_text},
    parts::elements,
    sink::{Full, Limits, Sink, Written},
    text::text,
};
use crate::QueryError;

/// Rows as a JSON list of lists: numbers (null where they are not finite), truth values, lists, times as ISO 8601 in UTC,
/// anything else as text.
///
/// # Errors
/// When a limit is reached.
pub fn json_lists(batches: &[RecordBatch], limits: Limits) -> Result<String, QueryError> {
    let mut sink = Sink::new(limits);
    match rows(&mut sink, batches) {
        Ok(()) => Ok(sink.take_from(0)),
        Err(Full) => Err(sink.error()),
    }
}

fn rows(sink: &mut Sink, batches: &[RecordBatch]) -> Written {
    sink.put("[")?;
    let mut is_first = true;
    for batch in batches {
        let decimals: Vec<Decimals> =
            batch.columns().iter().map(|array| Decimals::from_array(array.as_ref(), 0..array.len())).collect();
        for row in 0..batch.num_rows() {
            sink.put(if std::mem::take(&mut is_first) { "[" } else { ",[" })?;
            for (i, (array, decimals)) in batch.columns().iter().zip(&decimals).enumerate() {
                sink.put(if i > 0 { "," } else { "" })?;
                value(sink, array.as_ref(), row, *decimals)?;
            }
            sink.put("]")?;
        }
    }
    sink.put("]")
}

fn list(sink: &mut Sink, array: &dyn Array, places: Range<usize>) -> Written {
    let decimals = Decimals::from_array(array, places.clone());
    sink.put("[")?;
    for (i, place) in places.enumerate() {
        sink.put(if i > 0 { "," } else { "" })?;
        value(sink, array, place, decimals)?;
    }
    sink.put("]")
}

fn value(sink: &mut Sink, array: &dyn Array, row: usize, decimals: Decimals) -> Written {
    let Some((array, row)) = value_of(array, row) else { return sink.put("null") };
    match array.data_type() {
        DataType::Boolean => sink.put(if array.as_boolean().value(row) { "true" } else { "false" }),
        ty if ty.is_integer() || decimals == Decimals::Whole => sink.whole(whole_at(array, row).unwrap_or_default()),
        ty if ty.is_floating() || decimals == Decimals::Floats => match number_at(array, row) {
            Some(number) if number.is_finite() => sink.put(ryu::Buffer::new().format_finite(number)),
            _ => sink.put("null"),
        },
        DataType::Timestamp(..) => match micros_at(array, row) {
            Some(t) => json_text(sink, &Micros(t).iso()),
            None => sink.put("null"),
        },
        DataType::List(_) => match elements(array, row) {
            Some((values, places)) => list(sink, values, places),
            None => sink.put("null"),
        },
        _ => match text_at(array, row) {
            Some(text) => json_text(sink, text),
            None => {
                let start = sink.len();
                text(sink, array, row)?;
                let text = sink.take_from(start);
                json_text(sink, &text)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray};

    use super::{Limits, json_lists};
    use crate::QueryError;

    #[test]
    fn rows_are_lists_and_what_json_has_no_number_for_is_null() {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("n", Arc::new(Int64Array::from(vec![Some(-1), None]))),
            ("x", Arc::new(Float64Array::from(vec![f64::NAN, 0.5]))),
            ("s", Arc::new(StringArray::from(vec!["a\"\u{1}", "é"]))),
            ("b", Arc::new(BooleanArray::from(vec![true, false]))),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap();
        let text = json_lists(&[batch], Limits::default()).unwrap();
        assert_eq!(text, "[[-1,null,\"a\\\"\\u0001\",true],[null,0.5,\"é\",false]]");
        assert_eq!(json_lists(&[], Limits::default()).unwrap(), "[]");
    }

    #[test]
    fn a_list_of_bits_stops_at_the_limit() {
        let bits = vec![Some(vec![Some(1_i64); 100_000])];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(bits));
        let batch = RecordBatch::try_from_iter([("l", lists)]).unwrap();
        let limits = Limits { bytes: Some(1000), until: None };
        assert!(matches!(json_lists(&[batch], limits), Err(QueryError::TooLarge(1000))));
    }
}
