//! Parquet files of other tools, as `metric`: those of Rezolus by its column metadata, others by their types.
//!
//! A file needs a column of times. Texts beside it are labels, numbers are metrics of their column's name. What Rezolus calls a
//! counter becomes a rate. Rezolus keeps a column for each metric and set of labels; both, and the unit, are metadata of the
//! column.

mod columns;

use std::{
    fmt::Write,
    io::Read,
    panic::{AssertUnwindSafe, catch_unwind},
};

use arrow_array::{Array, RecordBatch, cast::AsArray};
use bytes::Bytes;
use fenxi_model::{Micros, number_at, text_at};
use parquet::{arrow::arrow_reader::ParquetRecordBatchReaderBuilder, file::metadata::ColumnChunkMetaData};
use rustc_hash::FxHashMap;

use self::columns::{Column, Kind, plan};
use super::labels::Labels;
use crate::{Family, Format, Head, Input, Out, Sure, linux::counters::Counters};

/// Importer for Parquet time series of Rezolus and others.
pub static FORMAT: Format = Format {
    name: "parquet",
    summary: "Parquet time series of Rezolus and others: a column of times, labels and numbers",
    family: Family::Generic,
    tables: &[],
    example: "PAR1",
    sniff,
    read,
};

/// Longer files are not read: one is kept in memory.
const MOST: usize = 1 << 30;
/// Rows that are unpacked at once.
const ROWS: usize = 2048;
/// Largest unpacked size of the columns of one row group, in bytes.
const MOST_UNPACKED: i64 = 4 << 30;

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.text.starts_with("PAR1"))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut bytes = Vec::new();
    // An error of the reader ends the input and is kept.
    let _ = input.bytes().take(MOST as u64 + 1).read_to_end(&mut bytes);
    if bytes.len() > MOST {
        return out.note(None, "it is longer than 1 GiB, and was not read");
    }
    let bytes = Bytes::from(bytes);
    // The library asserts some of the metadata of a damaged file; what was read before that is whole.
    let outcome = catch_unwind(AssertUnwindSafe(|| read_all(bytes, out)));
    let outcome = outcome.unwrap_or_else(|_| Err("it is damaged".into()));
    if let Err(error) = outcome {
        out.note(None, &format!("it cannot be read: {error}"));
    }
}

fn read_all(bytes: Bytes, out: &mut Out<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let length = bytes.len();
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes)?;
    let largest = builder.metadata().row_groups().iter().map(|group| group.total_byte_size()).max();
    if largest.is_some_and(|bytes| bytes > MOST_UNPACKED) {
        return Err(format!("a part of it unpacks to more than {} GiB", MOST_UNPACKED >> 30).into());
    }
    if !builder
        .metadata()
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
        .all(|column| lies_within(column, length))
    {
        return Err("it is damaged: columns lie outside of it".into());
    }
    let plan = plan(builder.schema())?;
    for unread in &plan.unread {
        out.note(None, unread);
    }
    let mut reader = Reader { columns: plan.columns, ..Reader::default() };
    for batch in builder.with_batch_size(ROWS).build()? {
        reader.batch(&batch?, out)?;
    }
    if reader.without_time > 0 {
        out.note(None, &format!("{} rows without a time were left out", reader.without_time));
    }
    Ok(())
}

/// Whether a column is where a file of `length` bytes can have it.
fn lies_within(column: &ColumnChunkMetaData, length: usize) -> bool {
    let begin = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let end = begin.checked_add(column.compressed_size());
    begin >= 0
        && column.compressed_size() >= 0
        && end.is_some_and(|end| usize::try_from(end).is_ok_and(|end| end <= length))
}

/// Sets of labels whose last time is remembered; beyond, all are forgotten, which costs one interval of each.
const MOST_LABELS: usize = 1 << 18;

/// State kept from one row to the next.
#[derive(Default)]
struct Reader {
    columns: Vec<Column>,
    /// The time of the row before that has the same labels.
    times: FxHashMap<String, Micros>,
    counters: Counters,
    /// The key of a counter: its column and its labels.
    key: String,
    without_time: u64,
}

impl Reader {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Out<'_>) -> Result<(), Box<dyn std::error::Error>> {
        let values: Result<Vec<_>, _> = self.columns.iter().map(|column| column.values(batch)).collect();
        let values = values?;
        for row in 0..batch.num_rows() {
            self.row(row, &values, out);
        }
        Ok(())
    }

    fn row(&mut self, row: usize, values: &[&dyn Array], out: &mut Out<'_>) {
        let (mut t, mut labels) = (None, Labels::default());
        for (column, values) in self.columns.iter().zip(values) {
            match column.kind {
                Kind::Time { per_second } => {
                    t = number(*values, row).map(|v| Micros((v * (1e6 / per_second)).round() as i64))
                }
                Kind::Label => {
                    if let Some(label) = label(*values, row) {
                        labels.push(&column.name, label);
                    }
                }
                Kind::Gauge | Kind::Counter => {}
            }
        }
        let Some(t) = t else { return self.without_time += 1 };
        let dt = self.since(labels.text(), t);
        for (place, (column, values)) in self.columns.iter().zip(values).enumerate() {
            let Some(value) = number(*values, row) else { continue };
            let labels = column.with(labels.text());
            let value = match column.kind {
                Kind::Gauge => value,
                Kind::Counter => {
                    self.key.clear();
                    let _ = write!(self.key, "{place}\n{labels}");
                    let Some(rate) = self.counters.rate(&self.key, t, value) else { continue };
                    rate
                }
                _ => continue,
            };
            out.metric(t, dt, &column.name, &labels, value, &column.unit);
        }
    }

    /// Seconds since the row before with the same labels.
    fn since(&mut self, labels: &str, t: Micros) -> Option<f64> {
        if let Some(before) = self.times.get_mut(labels) {
            let before = std::mem::replace(before, t);
            return Some(t.seconds_since(before)).filter(|seconds| *seconds > 0.0);
        }
        if self.times.len() >= MOST_LABELS {
            self.times.clear();
        }
        self.times.insert(labels.to_owned(), t);
        None
    }
}

fn label(values: &dyn Array, row: usize) -> Option<&str> {
    match values.as_boolean_opt() {
        Some(truths) => truths.is_valid(row).then(|| if truths.value(row) { "true" } else { "false" }),
        None => text_at(values, row),
    }
}

fn number(values: &dyn Array, row: usize) -> Option<f64> {
    number_at(values, row).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests;
