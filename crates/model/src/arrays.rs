//! Single values of Arrow arrays, whatever their type.

use arrow_array::{Array, RunArray, cast::AsArray, types::*};
use arrow_schema::{DataType, TimeUnit};

/// Where the value of a row is: within dictionaries and runs in the array that they refer to. None for NULL.
pub fn value_of(array: &dyn Array, row: usize) -> Option<(&dyn Array, usize)> {
    match array.data_type() {
        DataType::Null => None,
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let key = usize::try_from(whole_at(dictionary.keys(), row)?).ok()?;
            let values = dictionary.values().as_ref();
            (key < values.len()).then(|| value_of(values, key))?
        }
        DataType::RunEndEncoded(ends, _) => {
            fn of<T: RunEndIndexType>(runs: &RunArray<T>, row: usize) -> Option<(&dyn Array, usize)> {
                value_of(runs.values().as_ref(), runs.get_physical_index(row))
            }
            match ends.data_type() {
                DataType::Int16 => of::<Int16Type>(array.as_run(), row),
                DataType::Int32 => of::<Int32Type>(array.as_run(), row),
                _ => of::<Int64Type>(array.as_run(), row),
            }
        }
        _ => (!array.is_null(row)).then_some((array, row)),
    }
}

/// A whole number; of a decimal its digits without the point, of a time, a duration or a day how many of its unit.
/// None for NULL and for anything else.
pub fn whole_at(array: &dyn Array, row: usize) -> Option<i128> {
    let (array, row) = value_of(array, row)?;
    macro_rules! at {
        ($of:ty) => {
            array.as_primitive::<$of>().value(row).into()
        };
    }
    Some(match array.data_type() {
        DataType::Int8 => at!(Int8Type),
        DataType::Int16 => at!(Int16Type),
        DataType::Int32 => at!(Int32Type),
        DataType::Int64 => at!(Int64Type),
        DataType::UInt8 => at!(UInt8Type),
        DataType::UInt16 => at!(UInt16Type),
        DataType::UInt32 => at!(UInt32Type),
        DataType::UInt64 => at!(UInt64Type),
        DataType::Decimal32(..) => at!(Decimal32Type),
        DataType::Decimal64(..) => at!(Decimal64Type),
        DataType::Decimal128(..) => at!(Decimal128Type),
        DataType::Date32 => at!(Date32Type),
        DataType::Date64 => at!(Date64Type),
        DataType::Time32(TimeUnit::Second) => at!(Time32SecondType),
        DataType::Time32(_) => at!(Time32MillisecondType),
        DataType::Time64(TimeUnit::Microsecond) => at!(Time64MicrosecondType),
        DataType::Time64(_) => at!(Time64NanosecondType),
        DataType::Timestamp(TimeUnit::Second, _) => at!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => at!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => at!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => at!(TimestampNanosecondType),
        DataType::Duration(TimeUnit::Second) => at!(DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => at!(DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => at!(DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => at!(DurationNanosecondType),
        _ => return None,
    })
}

/// A number: what [`whole_at`] gives, floats, decimals, and truth values as 1 and 0. None for NULL and for anything else.
pub fn number_at(array: &dyn Array, row: usize) -> Option<f64> {
    let (array, row) = value_of(array, row)?;
    Some(match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row),
        DataType::Float32 => array.as_primitive::<Float32Type>().value(row).into(),
        DataType::Float16 => array.as_primitive::<Float16Type>().value(row).to_f64(),
        DataType::Boolean => f64::from(u8::from(array.as_boolean().value(row))),
        DataType::Decimal256(precision, scale) => {
            let digits = array.as_primitive::<Decimal256Type>().value(row);
            Decimal256Type::format_decimal(digits, *precision, *scale).parse().ok()?
        }
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) => {
            whole_at(array, row)? as f64 / 10_f64.powi((*scale).into())
        }
        _ => whole_at(array, row)? as f64,
    })
}

/// A text. None for NULL and for anything else.
pub fn text_at(array: &dyn Array, row: usize) -> Option<&str> {
    let (array, row) = value_of(array, row)?;
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Some(array.as_string_view().value(row)),
        _ => None,
    }
}

/// A moment in microseconds since 1970, truncated to them. None for NULL, for what does not fit and for anything else.
pub fn micros_at(array: &dyn Array, row: usize) -> Option<i64> {
    let (array, row) = value_of(array, row)?;
    let DataType::Timestamp(unit, _) = array.data_type() else { return None };
    let count = i64::try_from(whole_at(array, row)?).ok()?;
    match unit {
        TimeUnit::Second => count.checked_mul(1_000_000),
        TimeUnit::Millisecond => count.checked_mul(1000),
        TimeUnit::Microsecond => Some(count),
        TimeUnit::Nanosecond => Some(count / 1000),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Decimal256Array, DictionaryArray, Float32Array,
        Int8Array, Int32Array, NullArray, RunArray, StringArray, StringViewArray, TimestampMillisecondArray,
        TimestampNanosecondArray, TimestampSecondArray, UInt64Array, types::Int8Type, types::Int32Type,
    };
    use arrow_buffer::i256;

    use super::{micros_at, number_at, text_at, whole_at};

    fn numbers(array: &dyn Array) -> Vec<Option<f64>> {
        (0..array.len()).map(|row| number_at(array, row)).collect()
    }

    fn texts(array: &dyn Array) -> Vec<Option<&str>> {
        (0..array.len()).map(|row| text_at(array, row)).collect()
    }

    #[test]
    fn numbers_of_every_kind_are_read() {
        assert_eq!(numbers(&UInt64Array::from(vec![Some(u64::MAX), None])), [Some(u64::MAX as f64), None]);
        assert_eq!(numbers(&Float32Array::from(vec![0.5])), [Some(0.5)]);
        assert_eq!(numbers(&BooleanArray::from(vec![Some(true), Some(false), None])), [Some(1.0), Some(0.0), None]);
        let decimals = Decimal128Array::from(vec![-12_345]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(numbers(&decimals), [Some(-123.45)]);
        let decimals = Decimal256Array::from(vec![i256::from_i128(5)]).with_precision_and_scale(50, 1).unwrap();
        assert_eq!(numbers(&decimals), [Some(0.5)]);
        assert_eq!(whole_at(&TimestampSecondArray::from(vec![7]), 0), Some(7));
        assert_eq!(numbers(&StringArray::from(vec!["7"])), [None]);
        assert_eq!(numbers(&BinaryArray::from(vec![&b"7"[..]])), [None]);
    }

    #[test]
    fn dictionaries_and_runs_are_looked_through_and_may_refer_to_null() {
        let values: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), None]));
        let keys = Int8Array::from(vec![Some(1), Some(0), None, Some(0)]);
        let dictionary = DictionaryArray::<Int8Type>::new(keys, Arc::clone(&values));
        assert_eq!(texts(&dictionary), [None, Some("a"), None, Some("a")]);
        let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![2, 3]), &values).unwrap();
        assert_eq!(texts(&runs), [Some("a"), Some("a"), None]);
        assert_eq!(texts(&runs.slice(1, 2)), [Some("a"), None]);
        assert_eq!(texts(&NullArray::new(2)), [None, None]);
    }

    #[test]
    fn moments_of_every_unit_are_microseconds() {
        assert_eq!(micros_at(&TimestampSecondArray::from(vec![2]), 0), Some(2_000_000));
        assert_eq!(micros_at(&TimestampSecondArray::from(vec![i64::MAX]), 0), None);
        assert_eq!(micros_at(&TimestampMillisecondArray::from(vec![2]).with_timezone("UTC"), 0), Some(2000));
        assert_eq!(micros_at(&TimestampNanosecondArray::from(vec![2999]), 0), Some(2));
        assert_eq!(micros_at(&Int32Array::from(vec![2]), 0), None);
    }
}
