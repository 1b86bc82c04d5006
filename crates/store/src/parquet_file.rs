//! How the store writes Parquet: zstd, dictionaries, statistics per row group, row groups of the
//! size that DuckDB's threads share out, the catalogue's meaning in the embedded Arrow schema.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding, ZstdLevel},
    errors::ParquetError,
    file::properties::{EnabledStatistics, WriterProperties},
    schema::types::ColumnPath,
};

use crate::{FileEntry, StoreError, fs::HashingFile};

/// Rows of a row group.
pub(crate) const ROW_GROUP: usize = 122_880;

/// Bytes of a column's dictionary beyond which its values are written as they are: percentages of
/// two decimals fit, and columns that hardly repeat do not fill a large table in vain.
const DICTIONARY: usize = 128 << 10;

/// A Parquet file being written.
pub(crate) struct ParquetFile {
    path: PathBuf,
    writer: ArrowWriter<HashingFile>,
    rows: u64,
    fingerprint: String,
}

/// The format library's error for `path`; an error of the file system is given as such.
pub(crate) fn parquet_error(path: &Path, source: ParquetError) -> StoreError {
    match source {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(io) => StoreError::Io { source: *io },
            Err(other) => StoreError::Parquet { path: path.to_owned(), source: ParquetError::External(other) },
        },
        source => StoreError::Parquet { path: path.to_owned(), source },
    }
}

impl ParquetFile {
    pub(crate) fn create(path: &Path, schema: &SchemaRef) -> Result<ParquetFile, StoreError> {
        // Level 1 always exists; higher ones gain a few percent of size for twice the time.
        let level = ZstdLevel::try_new(1).map_err(|e| parquet_error(path, e))?;
        // Times ascend by the same step: their differences take next to nothing, a dictionary of
        // them takes time and room.
        let time = || ColumnPath::from("t");
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_column_dictionary_enabled(time(), false)
            .set_column_encoding(time(), Encoding::DELTA_BINARY_PACKED)
            .set_dictionary_page_size_limit(DICTIONARY)
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_created_by("fenxi".to_owned())
            .build();
        let file = HashingFile::create(path)?;
        let writer =
            ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(|e| parquet_error(path, e))?;
        Ok(ParquetFile { path: path.to_owned(), writer, rows: 0, fingerprint: fenxi_model::fingerprint(schema) })
    }

    pub(crate) fn arrow_error(&self, source: ArrowError) -> StoreError {
        StoreError::Arrow { path: self.path.clone(), source }
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        self.rows += batch.num_rows() as u64;
        self.writer.write(batch).map_err(|e| parquet_error(&self.path, e))
    }

    /// Ends the row group.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        self.writer.flush().map_err(|e| parquet_error(&self.path, e))
    }

    /// Writes the footer, makes the file durable and gives its entry in the manifest.
    pub(crate) fn finish(mut self, table: &str) -> Result<FileEntry, StoreError> {
        self.writer.finish().map_err(|e| parquet_error(&self.path, e))?;
        // What is still buffered: an error of the disk must be told as one.
        self.writer.sync()?;
        let (bytes, blake3) = self.writer.inner().finish()?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(FileEntry {
            name,
            table: Some(table.to_owned()),
            rows: self.rows,
            bytes,
            fingerprint: self.fingerprint,
            blake3,
        })
    }
}
