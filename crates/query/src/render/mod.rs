//! Answers as bytes: aligned tables, CSV, JSON lines, Markdown, Parquet.
//!
//! A [`Writer`] takes batches as they come. CSV, JSON and Parquet hold one batch at a time; a table
//! looks at up to [`LOOK_AHEAD`] rows before it settles its widths.

mod cells;
mod table;
mod values;

use std::{io::Write, str::FromStr, sync::Arc};

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, cast::AsArray, types::TimestampMicrosecondType};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};

use crate::{Answer, AnswerColumn, QueryError};

pub use values::values;

/// How many rows a table looks at before it settles the widths of its columns.
pub const LOOK_AHEAD: usize = 10_000;

/// A form of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns for people.
    #[default]
    Table,
    /// Comma-separated values with a header, base units, full precision.
    Csv,
    /// One JSON object a row.
    Json,
    /// A Markdown table.
    Markdown,
    /// A Parquet file.
    Parquet,
}

impl Format {
    /// The words for the formats, in order.
    pub const NAMES: [&str; 5] = ["table", "csv", "json", "markdown", "parquet"];
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        Ok(match text {
            "table" => Format::Table,
            "csv" => Format::Csv,
            "json" | "jsonl" => Format::Json,
            "markdown" | "md" => Format::Markdown,
            "parquet" => Format::Parquet,
            _ => return Err(format!("`{text}` is not a format: one of {}", Format::NAMES.join(", "))),
        })
    }
}

/// How tables look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Columns of the terminal; longer text is cut to fit. None cuts nothing.
    pub width: Option<usize>,
}

/// Writes an answer batch by batch.
pub struct Writer<W: Write + Send> {
    kind: Kind<W>,
}

enum Kind<W: Write + Send> {
    Table(table::Table<W>),
    Csv { out: W, header: bool },
    Json(W),
    Parquet { out: Option<W>, writer: Option<Box<ArrowWriter<W>>> },
}

impl<W: Write + Send> Writer<W> {
    /// A writer of `format` to `out`.
    pub fn new(format: Format, style: Style, out: W) -> Writer<W> {
        let kind = match format {
            Format::Table => Kind::Table(table::Table::new(out, style, false)),
            Format::Markdown => Kind::Table(table::Table::new(out, style, true)),
            Format::Csv => Kind::Csv { out, header: false },
            Format::Json => Kind::Json(out),
            Format::Parquet => Kind::Parquet { out: Some(out), writer: None },
        };
        Writer { kind }
    }

    /// Writes the rows of `batch`, whose columns `columns` describe.
    ///
    /// # Errors
    /// When they cannot be written or converted.
    pub fn batch(&mut self, columns: &[AnswerColumn], batch: &RecordBatch) -> Result<(), QueryError> {
        match &mut self.kind {
            Kind::Table(table) => table.batch(columns, batch),
            Kind::Csv { out, header } => {
                let batch = plain(batch, is_simple)?;
                let mut writer = arrow_csv::WriterBuilder::new().with_header(!*header).build(&mut *out);
                *header = true;
                Ok(writer.write(&batch)?)
            }
            Kind::Json(out) => {
                let batch = plain(batch, |t| is_simple(t) || t.is_nested())?;
                let mut writer = arrow_json::WriterBuilder::new()
                    .with_explicit_nulls(true)
                    .build::<_, arrow_json::writer::LineDelimited>(&mut *out);
                writer.write(&batch)?;
                Ok(writer.finish()?)
            }
            Kind::Parquet { out, writer } => {
                let batch = with_metadata(columns, batch)?;
                if let Some(out) = out.take() {
                    *writer = Some(parquet_writer(out, batch.schema())?);
                }
                match writer {
                    Some(writer) => Ok(writer.write(&batch)?),
                    None => Ok(()),
                }
            }
        }
    }

    /// Writes what is left: the header of an answer without rows, a table's last rows, Parquet's footer.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, columns: &[AnswerColumn], schema: &SchemaRef) -> Result<(), QueryError> {
        let untouched = matches!(&self.kind, Kind::Csv { header: false, .. } | Kind::Parquet { out: Some(_), .. });
        if untouched {
            self.batch(columns, &RecordBatch::new_empty(Arc::clone(schema)))?;
        }
        match self.kind {
            Kind::Table(table) => table.finish(columns),
            Kind::Csv { mut out, .. } | Kind::Json(mut out) => Ok(out.flush()?),
            Kind::Parquet { writer: Some(writer), .. } => writer.close().map(drop).map_err(QueryError::from),
            Kind::Parquet { .. } => Ok(()),
        }
    }
}

/// Writes a whole answer to `out`.
///
/// # Errors
/// When it cannot be written.
pub fn write(answer: &Answer, format: Format, style: Style, out: impl Write + Send) -> Result<(), QueryError> {
    let mut writer = Writer::new(format, style, out);
    for batch in &answer.batches {
        writer.batch(&answer.columns, batch)?;
    }
    writer.finish(&answer.columns, &answer.schema)
}

fn parquet_writer<W: Write + Send>(out: W, schema: SchemaRef) -> Result<Box<ArrowWriter<W>>, QueryError> {
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
    Ok(Box::new(ArrowWriter::try_new(out, schema, Some(properties))?))
}

/// The batch with each column's unit in its field's metadata, as the store's own files have it.
#[allow(clippy::disallowed_types, reason = "arrow-schema asks for the standard map")]
fn with_metadata(columns: &[AnswerColumn], batch: &RecordBatch) -> Result<RecordBatch, QueryError> {
    let field = |(f, c): (&Arc<Field>, &AnswerColumn)| {
        let unit = std::collections::HashMap::from([("unit".to_owned(), c.unit.symbol().to_owned())]);
        f.as_ref().clone().with_metadata(unit)
    };
    let fields: Vec<Field> = batch.schema_ref().fields().iter().zip(columns).map(field).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), batch.columns().to_vec())?)
}

/// Types that every text format writes as they are.
fn is_simple(ty: &DataType) -> bool {
    ty.is_integer()
        || matches!(ty, DataType::Float32 | DataType::Float64 | DataType::Boolean | DataType::Null)
        || matches!(ty, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Date32)
        || matches!(ty, DataType::Timestamp(..))
}

/// The batch with types that CSV and JSON can write: times in UTC, whole decimals as integers,
/// everything that is not `kept` as text.
fn plain(batch: &RecordBatch, kept: impl Fn(&DataType) -> bool) -> Result<RecordBatch, QueryError> {
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let array: ArrayRef = match array.data_type() {
            DataType::Timestamp(_, Some(_)) => utc(array)?,
            DataType::Decimal128(..) => number(array)?,
            ty if kept(ty) && ty.is_nested() => utc(array)?,
            ty if kept(ty) => Arc::clone(array),
            _ => as_text(array)?,
        };
        fields.push(Field::new(field.name(), array.data_type().clone(), true));
        arrays.push(array);
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

/// The same moments under an offset that needs no time-zone database to print, also those within lists and structures.
pub(crate) fn utc(array: &ArrayRef) -> Result<ArrayRef, QueryError> {
    let micros = match array.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => Arc::clone(array),
        DataType::Timestamp(_, zone) => {
            arrow_cast::cast(array, &DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))?
        }
        ty => {
            let shown = with_offset(ty);
            return if shown == *ty { Ok(Arc::clone(array)) } else { Ok(arrow_cast::cast(array, &shown)?) };
        }
    };
    Ok(Arc::new(micros.as_primitive::<TimestampMicrosecondType>().clone().with_timezone("+00:00")))
}

/// The type with an offset where it or what is within it has a time zone.
fn with_offset(ty: &DataType) -> DataType {
    let within = |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(with_offset(field.data_type())));
    match ty {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("+00:00".into())),
        DataType::List(field) => DataType::List(within(field)),
        DataType::LargeList(field) => DataType::LargeList(within(field)),
        DataType::FixedSizeList(field, n) => DataType::FixedSizeList(within(field), *n),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(within).collect()),
        DataType::Map(field, is_sorted) => DataType::Map(within(field), *is_sorted),
        other => other.clone(),
    }
}

/// A decimal as an integer where all values are and fit, else as a float.
fn number(array: &ArrayRef) -> Result<ArrayRef, QueryError> {
    let strict = arrow_cast::CastOptions { safe: false, ..Default::default() };
    let whole = matches!(array.data_type(), DataType::Decimal128(_, 0));
    if whole && let Ok(integers) = arrow_cast::cast_with_options(array, &DataType::Int64, &strict) {
        return Ok(integers);
    }
    Ok(arrow_cast::cast(array, &DataType::Float64)?)
}

fn as_text(array: &ArrayRef) -> Result<ArrayRef, QueryError> {
    let options = FormatOptions::default();
    let array = utc(array)?;
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options)?;
    let text = |i| (!array.is_null(i)).then(|| formatter.value(i).to_string());
    Ok(Arc::new(StringArray::from_iter((0..array.len()).map(text))))
}
