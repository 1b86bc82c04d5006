//! Parquet layout: zstd, dictionaries, statistics per row group, row groups sized for DuckDB's threads, catalogue
//! metadata in the embedded Arrow schema.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::{
    arrow::{
        ArrowWriter,
        arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves},
    },
    basic::{Compression, Encoding, ZstdLevel},
    errors::ParquetError,
    file::{
        properties::{EnabledStatistics, WriterProperties},
        writer::SerializedFileWriter,
    },
    schema::types::ColumnPath,
};

use crate::{FileEntry, StoreError, fs::HashingFile, pages};

/// Rows of a row group.
pub(crate) const ROW_GROUP: usize = 122_880;

/// Bytes of a column's dictionary beyond which its values are written as they are: percentages of
/// two decimals fit, and columns that hardly repeat do not fill a large table in vain.
const DICTIONARY: usize = 128 << 10;

/// A Parquet file being written.
pub(crate) struct ParquetFile {
    path: PathBuf,
    writer: SerializedFileWriter<HashingFile>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// The row group that is gathered, and its rows.
    group: Option<Vec<ArrowColumnWriter>>,
    in_group: usize,
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
        let writer = ArrowWriter::try_new(file, Arc::clone(schema), Some(properties));
        let parts = writer.and_then(ArrowWriter::into_serialized_writer).map_err(|e| parquet_error(path, e))?;
        let (writer, factory) = parts;
        Ok(ParquetFile {
            path: path.to_owned(),
            writer,
            factory,
            schema: Arc::clone(schema),
            group: None,
            in_group: 0,
            rows: 0,
            fingerprint: fenxi_model::fingerprint(schema),
        })
    }

    pub(crate) fn arrow_error(&self, source: ArrowError) -> StoreError {
        StoreError::Arrow { path: self.path.clone(), source }
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        self.rows += batch.num_rows() as u64;
        let mut done = 0;
        while done < batch.num_rows() {
            let n = (ROW_GROUP - self.in_group).min(batch.num_rows() - done);
            self.encode(&batch.slice(done, n)).map_err(|e| parquet_error(&self.path, e))?;
            self.in_group += n;
            done += n;
            if self.in_group >= ROW_GROUP {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Rows of the row group that is gathered.
    pub(crate) fn rows_in_group(&self) -> usize {
        self.in_group
    }

    /// Bytes of the row groups that were written.
    pub(crate) fn bytes_written(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    /// Encodes rows of the row group that is gathered.
    fn encode(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        let group = match &mut self.group {
            Some(group) => group,
            none => none.insert(self.factory.create_column_writers(self.writer.flushed_row_groups().len())?),
        };
        let mut writers = group.iter_mut();
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            for leaf in compute_leaves(field, column)? {
                let writer = writers.next().ok_or_else(|| ParquetError::General("too many columns".to_owned()))?;
                writer.write(&leaf)?;
            }
        }
        Ok(())
    }

    /// Ends the row group.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        let Some(group) = self.group.take() else { return Ok(()) };
        self.in_group = 0;
        pages::write_group(&mut self.writer, group).map_err(|e| parquet_error(&self.path, e))
    }

    /// Writes the footer, makes the file durable and gives its entry in the manifest.
    pub(crate) fn finish(mut self, table: &str) -> Result<FileEntry, StoreError> {
        self.flush()?;
        self.writer.finish().map_err(|e| parquet_error(&self.path, e))?;
        // Writes bytes that are still buffered: an error of the disk must be reported as one.
        self.writer.flush()?;
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
