//! Reading a whole table of a run, and its statistics.

use std::path::Path;

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, Int32Type, Int64Type},
};
use fenxi_model::RunId;
use fs_err as fs;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::{
    Store, StoreError, Window,
    parquet_file::{ROW_GROUP, parquet_error},
};

/// The summary of one series of a run, over a window or the whole run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesStat<'a> {
    /// The table.
    pub table: &'a str,
    /// The host.
    pub host: &'a str,
    /// The keys as `key=value,…`; empty for the series without one.
    pub key: &'a str,
    /// The column.
    pub column: &'a str,
    /// Values that are not NULL.
    pub n: u64,
    /// Their mean, weighed by their intervals.
    pub mean: f64,
    /// Their median, each value counted alike.
    pub p50: f64,
}

impl Store {
    /// The rows of `table` (also `boot.<table>` and `stats`) of a run, in the order of the file: by
    /// host, keys and time. Empty when the run has no such table. They take their whole size in memory.
    ///
    /// # Errors
    /// When there is no such run, or its file cannot be read.
    pub fn read(&self, run: &RunId, table: &str) -> Result<Vec<RecordBatch>, StoreError> {
        // The manifest shows whether a table is missing on purpose, and what it must be.
        self.settled(|| match self.manifest(run)?.file(table) {
            None => Ok(Vec::new()),
            Some(entry) => self.rows(run, entry, None)?.collect(),
        })
    }

    /// Shows the summary of every series of a run, over `window` or the whole of it, to `take`, in no
    /// particular order.
    ///
    /// # Errors
    /// When there is no such run, or its statistics cannot be read or, of a window, made.
    pub fn series_stats(
        &self,
        run: &RunId,
        window: Option<&Window>,
        mut take: impl FnMut(SeriesStat<'_>),
    ) -> Result<(), StoreError> {
        let (path, all) = match window {
            None => {
                let path = self.run_dir(run).join("stats.parquet");
                let read = || -> Result<Vec<RecordBatch>, StoreError> {
                    let manifest = self.manifest(run)?;
                    let entry = manifest.file("stats").ok_or_else(|| StoreError::damaged(&path, "it is missing"))?;
                    self.rows(run, entry, None)?.collect()
                };
                let all = self.settled(read)?;
                (path, all)
            }
            Some(window) => {
                let path = self.window_stats(run, window)?;
                let all = batches(&path)?;
                (path, all)
            }
        };
        for batch in all {
            let column = |name: &str| {
                batch.column_by_name(name).ok_or_else(|| StoreError::damaged(&path, format!("no column `{name}`")))
            };
            let label = |name| column(name).map(|c| Labels::from_array(c.as_ref()));
            let (tables, hosts, keys) = (label("table_name")?, label("host")?, label("key")?);
            let columns = label("column_name")?;
            let counts = column("n")?.as_primitive::<Int64Type>();
            let means = column("mean")?.as_primitive::<Float64Type>();
            let medians = column("p50")?.as_primitive::<Float64Type>();
            for row in 0..batch.num_rows() {
                take(SeriesStat {
                    table: tables.at(row),
                    host: hosts.at(row),
                    key: keys.at(row),
                    column: columns.at(row),
                    n: u64::try_from(counts.value(row)).unwrap_or(0),
                    mean: means.value(row),
                    p50: medians.value(row),
                });
            }
        }
        Ok(())
    }
}

fn batches(path: &Path) -> Result<Vec<RecordBatch>, StoreError> {
    let fail = |e| parquet_error(path, e);
    let builder = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(path)?.into_file()).map_err(fail)?;
    let reader = builder.with_batch_size(ROW_GROUP).build().map_err(fail)?;
    reader.map(|batch| batch.map_err(|source| StoreError::Arrow { path: path.to_owned(), source })).collect()
}

/// A column of labels.
struct Labels<'a> {
    keys: &'a arrow_array::PrimitiveArray<Int32Type>,
    values: &'a arrow_array::StringArray,
}

impl<'a> Labels<'a> {
    fn from_array(array: &'a dyn Array) -> Labels<'a> {
        let array = array.as_dictionary::<Int32Type>();
        Labels { keys: array.keys(), values: array.values().as_string::<i32>() }
    }

    /// The label of a row; empty where it is NULL.
    fn at(&self, row: usize) -> &'a str {
        if self.keys.is_null(row) { "" } else { self.values.value(self.keys.value(row) as usize) }
    }
}
