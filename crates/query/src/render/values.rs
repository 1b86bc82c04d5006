//! Answers as JSON values, in full precision.

use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type},
};
use arrow_schema::DataType;
use fenxi_model::Micros;
use serde_json::Value;

use super::{as_text, number, utc};
use crate::QueryError;

/// A column as JSON: numbers (null where they are not finite), truth values, lists, times as ISO 8601 in UTC,
/// anything else as text.
///
/// # Errors
/// When a value cannot be converted.
pub fn values(array: &ArrayRef) -> Result<Vec<Value>, QueryError> {
    Ok(match array.data_type() {
        DataType::Boolean => array.as_boolean().iter().map(Value::from).collect(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().iter().map(Value::from).collect(),
        ty if ty.is_integer() => {
            let whole = arrow_cast::cast(array, &DataType::Int64)?;
            whole.as_primitive::<Int64Type>().iter().map(Value::from).collect()
        }
        ty if ty.is_floating() => {
            let floats = arrow_cast::cast(array, &DataType::Float64)?;
            floats.as_primitive::<Float64Type>().iter().map(Value::from).collect()
        }
        DataType::Decimal128(..) => values(&number(array)?)?,
        DataType::Timestamp(..) => {
            let micros = utc(array)?;
            let iso = |t: Option<i64>| t.map(|t| Micros(t).iso()).into();
            micros.as_primitive::<TimestampMicrosecondType>().iter().map(iso).collect()
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let one =
                |i: usize| if lists.is_null(i) { Ok(Value::Null) } else { values(&lists.value(i)).map(Value::Array) };
            (0..lists.len()).map(one).collect::<Result<_, _>>()?
        }
        _ => as_text(array)?.as_string::<i32>().iter().map(Value::from).collect(),
    })
}
