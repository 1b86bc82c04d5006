//! Writing stops where it may go no further.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int64Array, ListArray, StringArray, StructArray, types::Int8Type,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;
use fenxi_model::Unit;
use fenxi_query::{
    Answer, QueryError,
    render::{Format, Limits, Style, Writer},
};

use super::{FORMATS, answer, nested, scalars};

/// Bytes written within limits, and how that ended.
fn within(limits: Limits, answer: &Answer, format: Format) -> (Vec<u8>, Result<(), QueryError>) {
    let mut out = Vec::new();
    let mut writer = Writer::within(limits, format, Style::default(), &mut out);
    let batches = answer.batches.iter().try_for_each(|batch| writer.batch(&answer.columns, batch));
    let ended = batches.and_then(|()| writer.finish(&answer.columns, &answer.schema));
    (out, ended)
}

#[test]
fn an_answer_of_any_type_stops_at_its_limit_of_bytes_and_at_its_time() {
    for (name, array) in scalars::cases().into_iter().chain(nested::cases()) {
        let answer = answer(vec![("it", Unit::None, array)]);
        for format in FORMATS {
            let (whole, ended) = within(Limits::default(), &answer, format);
            ended.unwrap();
            let enough = Limits { bytes: Some(whole.len() as u64 + 4096), until: None };
            let (again, ended) = within(enough, &answer, format);
            assert!(ended.is_ok() && again == whole, "{name} in {format:?}");
            for bytes in [0, 1, whole.len() as u64 / 2, whole.len() as u64 - 1] {
                let (part, ended) = within(Limits { bytes: Some(bytes), until: None }, &answer, format);
                assert!(
                    matches!(ended, Err(QueryError::TooLarge(most)) if most == bytes),
                    "{name} in {format:?}: {ended:?}"
                );
                assert!(part.len() as u64 <= bytes && whole.starts_with(&part), "{name} in {format:?}");
            }
            let late = Limits { bytes: None, until: Some(Instant::now()) };
            assert!(matches!(within(late, &answer, format).1, Err(QueryError::Interrupted)), "{name} in {format:?}");
        }
    }
}

/// Little that becomes much: a name of a mebibyte in each of 100,000 rows, and a text of a mebibyte in as many.
#[test]
fn a_value_that_swells_as_it_is_written_stops_within_its_row() {
    let n = 100_000;
    let long = "x".repeat(1 << 20);
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n));
    let field = Field::new(&long, numbers.data_type().clone(), true);
    let named: ArrayRef = Arc::new(StructArray::from(vec![(Arc::new(field), numbers)]));
    let keys = Int8Array::from_iter_values((0..n).map(|_| 0));
    let text: ArrayRef = Arc::new(StringArray::from(vec![long.as_str()]));
    let repeated: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(keys, text));
    let one_list = |values: ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([values.len()]), values, None))
    };
    for array in [one_list(Arc::clone(&named)), one_list(Arc::clone(&repeated)), named, repeated] {
        let answer = answer(vec![("it", Unit::None, array)]);
        for format in FORMATS {
            let begin = Instant::now();
            let (part, ended) = within(Limits { bytes: Some(8 << 20), until: None }, &answer, format);
            assert!(matches!(ended, Err(QueryError::TooLarge(_))) && part.len() <= 8 << 20, "{format:?}");
            let until = begin + Duration::from_millis(20);
            let (_, ended) = within(Limits { bytes: None, until: Some(until) }, &answer, format);
            assert!(matches!(ended, Err(QueryError::Interrupted)), "{format:?}");
            assert!(begin.elapsed() < Duration::from_secs(20), "{format:?}");
        }
    }
}
