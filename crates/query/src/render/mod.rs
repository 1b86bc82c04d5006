//! Answers as bytes: aligned tables, CSV, JSON lines, Markdown, Parquet.
//!
//! A [`Writer`] takes batches as they come. CSV, JSON and Parquet hold one batch at a time; a table
//! looks at up to [`LOOK_AHEAD`] rows before it settles its widths.

mod cells;
mod lines;
mod parts;
mod sink;
mod table;
mod text;
mod values;

use std::{io::Write, str::FromStr, sync::Arc};

use arrow_array::{Array, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};

use self::sink::{Full, Sink, Written};
use crate::{Answer, AnswerColumn, QueryError};

pub use sink::Limits;
pub use values::json_lists;

/// Rows that decide the widths of a table's columns.
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

/// Style of tables.
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
    Text { out: W, sink: Sink, form: Form },
    Parquet { out: Option<W>, writer: Option<Box<ArrowWriter<W>>> },
}

/// A format of text, and what was written of it.
enum Form {
    Table(table::Table),
    Csv { header: bool },
    Json,
}

/// Where text goes.
struct Out<'a> {
    sink: &'a mut Sink,
    to: &'a mut dyn Write,
}

impl Out<'_> {
    /// Writes a part, mostly a line.
    fn put(&mut self, write: impl FnOnce(&mut Sink) -> Written) -> Result<(), QueryError> {
        write(self.sink).map_err(|Full| self.sink.error())?;
        Ok(self.sink.leave_if_long(self.to)?)
    }
}

impl Form {
    fn batch(&mut self, mut out: Out<'_>, columns: &[AnswerColumn], batch: &RecordBatch) -> Result<(), QueryError> {
        let row = match self {
            Form::Table(table) => return table.batch(&mut out, columns, batch),
            Form::Csv { header } => {
                if !std::mem::replace(header, true) {
                    out.put(|sink| lines::csv_header(sink, batch.schema_ref()))?;
                }
                lines::csv_row
            }
            Form::Json => lines::json_row,
        };
        let columns = lines::columns(batch);
        (0..batch.num_rows()).try_for_each(|i| out.put(|sink| row(sink, &columns, i)))
    }

    fn finish(&mut self, mut out: Out<'_>, columns: &[AnswerColumn], schema: &SchemaRef) -> Result<(), QueryError> {
        match self {
            Form::Table(table) => table.finish(&mut out, columns)?,
            Form::Csv { header: false } => out.put(|sink| lines::csv_header(sink, schema))?,
            Form::Csv { .. } | Form::Json => {}
        }
        out.sink.leave(out.to)?;
        Ok(out.to.flush()?)
    }
}

impl<W: Write + Send> Writer<W> {
    /// A writer of `format` to `out`.
    pub fn new(format: Format, style: Style, out: W) -> Writer<W> {
        Writer::within(Limits::default(), format, style, out)
    }

    /// A writer of `format` to `out` that stops with an error when a limit is reached; Parquet is not limited.
    pub fn within(limits: Limits, format: Format, style: Style, out: W) -> Writer<W> {
        let form = match format {
            Format::Table => Form::Table(table::Table::new(style, false)),
            Format::Markdown => Form::Table(table::Table::new(style, true)),
            Format::Csv => Form::Csv { header: false },
            Format::Json => Form::Json,
            Format::Parquet => return Writer { kind: Kind::Parquet { out: Some(out), writer: None } },
        };
        Writer { kind: Kind::Text { out, sink: Sink::new(limits), form } }
    }

    /// Writes the rows of `batch`, whose columns `columns` describe.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn batch(&mut self, columns: &[AnswerColumn], batch: &RecordBatch) -> Result<(), QueryError> {
        match &mut self.kind {
            Kind::Text { out, sink, form } => form.batch(Out { sink, to: out }, columns, batch),
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
        if matches!(&self.kind, Kind::Parquet { out: Some(_), .. }) {
            self.batch(columns, &RecordBatch::new_empty(Arc::clone(schema)))?;
        }
        match self.kind {
            Kind::Text { mut out, mut sink, mut form } => {
                form.finish(Out { sink: &mut sink, to: &mut out }, columns, schema)
            }
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

/// Bytes of the text of a column whose values can grow when they are written.
const GROWN: u64 = 16 << 20;

/// The cells of a column as text, None for NULL. Values of other types than plain ones are cut, with `…`, once all of them
/// together are longer than people read.
pub(crate) fn texts(array: &dyn Array) -> Vec<Option<String>> {
    let bytes = (array.data_type().is_nested() || array.data_type().is_binary()).then_some(GROWN);
    let mut sink = Sink::new(Limits { bytes, until: None });
    let text = |row| {
        fenxi_model::value_of(array, row)?;
        let is_whole = text::text(&mut sink, array, row).is_ok();
        let text = if is_whole { sink.text().to_owned() } else { format!("{}…", sink.text()) };
        sink.forget();
        Some(text)
    };
    (0..array.len()).map(text).collect()
}
