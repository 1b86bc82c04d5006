//! Reading one table of a run back, whole.

use arrow_array::RecordBatch;
use fenxi_model::RunId;
use fs_err as fs;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::{
    Store, StoreError,
    parquet_file::{ROW_GROUP, parquet_error},
};

impl Store {
    /// The rows of `table` (also `boot.<table>` and `stats`) of a run, in the order of the file: by
    /// host, keys and time. Empty when the run has no such table. They take their whole size in memory.
    ///
    /// # Errors
    /// When there is no such run, or its file cannot be read.
    pub fn read(&self, run: &RunId, table: &str) -> Result<Vec<RecordBatch>, StoreError> {
        let name = format!("{table}.parquet");
        if !self.run(run)?.manifest.files.iter().any(|f| f.name == name) {
            return Ok(Vec::new());
        }
        let path = self.run_dir(run).join(name);
        let fail = |e| parquet_error(&path, e);
        let builder = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&path)?.into_file()).map_err(fail)?;
        let reader = builder.with_batch_size(ROW_GROUP).build().map_err(fail)?;
        reader.map(|batch| batch.map_err(|source| StoreError::Arrow { path: path.clone(), source })).collect()
    }
}
