//! CSV and JSON lines.

use std::{
    fmt::{LowerExp, Write as _},
    ops::Range,
};

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float16Type, Float32Type, Float64Type},
};
use arrow_schema::{DataType, Schema};
use fenxi_model::{number_at, text_at, value_of, whole_at};

use super::{
    parts::{Member, elements, entries, member},
    sink::{Sink, Written},
    text::{float, text},
};

/// A column of an answer in one batch.
pub(super) struct Column<'a> {
    array: &'a dyn Array,
    /// The prefix of its values in JSON: the brace or comma and its name.
    before: String,
    decimals: Decimals,
}

/// How decimals are written.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Decimals {
    /// There are none.
    None,
    /// As whole numbers.
    Whole,
    /// As floats.
    Floats,
}

impl Decimals {
    /// Whole numbers where all are and fit, floats otherwise.
    pub(super) fn from_array(array: &dyn Array, mut rows: Range<usize>) -> Decimals {
        let fits = |row| whole_at(array, row).is_none_or(|value| i64::try_from(value).is_ok());
        match array.data_type() {
            DataType::Decimal128(_, 0) if rows.all(fits) => Decimals::Whole,
            DataType::Decimal128(..) => Decimals::Floats,
            _ => Decimals::None,
        }
    }
}

/// The columns of a batch.
pub(super) fn columns(batch: &RecordBatch) -> Vec<Column<'_>> {
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let mut before = Sink::default();
        // Without limits there is always room.
        let _ = json_text(&mut before, field.name());
        let before = format!("{}{}:", if columns.is_empty() { '{' } else { ',' }, before.text());
        let decimals = Decimals::from_array(array.as_ref(), 0..array.len());
        columns.push(Column { array: array.as_ref(), before, decimals });
    }
    columns
}

/// The first line of CSV.
pub(super) fn csv_header(sink: &mut Sink, schema: &Schema) -> Written {
    let start = sink.len();
    for (i, field) in schema.fields().iter().enumerate() {
        sink.put(if i > 0 { "," } else { "" })?;
        let start = sink.len();
        sink.put(field.name())?;
        quote(sink, start)?;
    }
    end_of_line(sink, start)
}

/// A row as a line of CSV.
pub(super) fn csv_row(sink: &mut Sink, columns: &[Column<'_>], row: usize) -> Written {
    let start = sink.len();
    for (i, column) in columns.iter().enumerate() {
        sink.put(if i > 0 { "," } else { "" })?;
        let start = sink.len();
        match (column.decimals, value_of(column.array, row)) {
            (_, None) => {}
            (Decimals::Whole, Some((array, row))) => sink.whole(whole_at(array, row).unwrap_or_default())?,
            (Decimals::Floats, Some((array, row))) => float(sink, number_at(array, row).unwrap_or_default())?,
            (Decimals::None, Some((array, row))) => {
                text(sink, array, row)?;
                quote(sink, start)?;
            }
        }
    }
    end_of_line(sink, start)
}

/// Ends a line; one that is empty would be none.
fn end_of_line(sink: &mut Sink, start: usize) -> Written {
    sink.put(if sink.len() == start { "\"\"\n" } else { "\n" })
}

/// Puts quotes around the field that begins at `start`, if it needs them.
fn quote(sink: &mut Sink, start: usize) -> Written {
    if !sink.text()[start..].bytes().any(|b| matches!(b, b',' | b'"' | b'\r' | b'\n')) {
        return Ok(());
    }
    let field = sink.take_from(start);
    sink.put("\"")?;
    for (i, part) in field.split('"').enumerate() {
        sink.put(if i > 0 { "\"\"" } else { "" })?;
        sink.put(part)?;
    }
    sink.put("\"")
}

/// A row as an object of JSON on a line.
pub(super) fn json_row(sink: &mut Sink, columns: &[Column<'_>], row: usize) -> Written {
    for column in columns {
        sink.put(&column.before)?;
        match (column.decimals, value_of(column.array, row)) {
            (_, None) => sink.put("null")?,
            (Decimals::Whole, Some((array, row))) => sink.whole(whole_at(array, row).unwrap_or_default())?,
            (Decimals::Floats, Some((array, row))) => {
                json_float(sink, number_at(array, row).unwrap_or_default())?;
            }
            (Decimals::None, Some((array, row))) => json(sink, array, row)?,
        }
    }
    sink.put(if columns.is_empty() { "{}\n" } else { "}\n" })
}

/// A value as JSON; floats that are not finite are null.
fn json(sink: &mut Sink, array: &dyn Array, row: usize) -> Written {
    let Some((array, row)) = value_of(array, row) else { return sink.put("null") };
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            json_text(sink, text_at(array, row).unwrap_or_default())
        }
        DataType::Float64 => json_float(sink, array.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => json_float(sink, array.as_primitive::<Float32Type>().value(row)),
        DataType::Float16 => json_float(sink, array.as_primitive::<Float16Type>().value(row).to_f32()),
        ty if ty.is_integer() || ty.is_decimal() || matches!(ty, DataType::Boolean) => text(sink, array, row),
        ty if ty.is_nested() => nested(sink, array, row),
        // Times and digits of bytes need no escapes.
        _ => {
            sink.put("\"")?;
            text(sink, array, row)?;
            sink.put("\"")
        }
    }
}

/// A value's text as a text of JSON.
fn quoted(sink: &mut Sink, array: &dyn Array, row: usize) -> Written {
    let start = sink.len();
    text(sink, array, row)?;
    let value = sink.take_from(start);
    json_text(sink, &value)
}

fn nested(sink: &mut Sink, array: &dyn Array, row: usize) -> Written {
    if let Some((values, places)) = elements(array, row) {
        sink.put("[")?;
        for (i, place) in places.enumerate() {
            sink.put(if i > 0 { "," } else { "" })?;
            json(sink, values, place)?;
        }
        return sink.put("]");
    }
    if let Some((keys, values, places)) = entries(array, row) {
        sink.put("{")?;
        for (i, place) in places.enumerate() {
            sink.put(if i > 0 { "," } else { "" })?;
            quoted(sink, keys, place)?;
            sink.put(":")?;
            json(sink, values, place)?;
        }
        return sink.put("}");
    }
    if let Some(Member { name, values, place }) = member(array, row) {
        sink.put("{")?;
        json_text(sink, name)?;
        sink.put(":")?;
        json(sink, values, place)?;
        return sink.put("}");
    }
    let Some(structure) = array.as_struct_opt() else { return sink.put("null") };
    sink.put("{")?;
    for (i, (field, values)) in structure.fields().iter().zip(structure.columns()).enumerate() {
        sink.put(if i > 0 { "," } else { "" })?;
        json_text(sink, field.name())?;
        sink.put(":")?;
        json(sink, values.as_ref(), row)?;
    }
    sink.put("}")
}

/// A text between quotes, with escapes.
pub(super) fn json_text(sink: &mut Sink, text: &str) -> Written {
    sink.put("\"")?;
    let mut from = 0;
    for (i, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        sink.put(&text[from..i])?;
        from = i + 1;
        if escape.is_empty() {
            write!(sink, "\\u{byte:04x}")?;
        } else {
            sink.put(escape)?;
        }
    }
    sink.put(&text[from..])?;
    sink.put("\"")
}

/// A float: with an exponent below 0.00001 and from 10 billion on, null where it is not finite.
fn json_float(sink: &mut Sink, value: impl ryu::Float + Copy + LowerExp + Into<f64>) -> Written {
    let wide: f64 = value.into();
    if !wide.is_finite() {
        return sink.put("null");
    }
    if wide == 0.0 || (1e-4..1e9).contains(&wide.abs()) {
        return float(sink, value);
    }
    let digits = format!("{value:e}");
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
    match exponent.parse() {
        Ok(-5..=9) => float(sink, value),
        _ if mantissa.contains('.') => sink.put(&digits),
        _ => Ok(write!(sink, "{mantissa}.0e{exponent}")?),
    }
}
