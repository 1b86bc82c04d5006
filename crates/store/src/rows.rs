//! Reading one table of a run, wherever its rows are: in the run's own file, or in one of many runs.
//!
//! A file of many runs is sorted by run. Its statistics narrow it to the row groups that may hold the run, the column `run` of these
//! to its rows, and only they are decoded.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use arrow_array::{Array, RecordBatch, cast::AsArray, types::Int32Type};
use arrow_schema::{Schema, SchemaRef};
use fenxi_model::RunId;
use fs_err as fs;
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection},
    },
    file::{reader::ChunkReader, statistics::Statistics},
};

use crate::{
    FileEntry, Store, StoreError,
    checked::Expected,
    packed::PackedFile,
    parquet_file::{ROW_GROUP, parquet_error},
};

/// The column with the run.
pub(crate) const RUN: &str = "run";

/// The rows of a table of a run, batch by batch.
pub(crate) struct Rows {
    path: PathBuf,
    schema: SchemaRef,
    reader: ParquetRecordBatchReader,
    n_rows: u64,
}

impl Rows {
    /// The file that they come from.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Length.
    pub(crate) fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// All columns that the table has in this run, whichever are read.
    pub(crate) fn schema_of_file(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        Some(batch.map_err(|source| StoreError::Arrow { path: self.path.clone(), source }))
    }
}

impl Store {
    /// The rows of a table of a run, in the order of its own file; `columns` are the ones to read, None for all. What is read
    /// was compared with its checksum.
    pub(crate) fn rows(&self, run: &RunId, entry: &FileEntry, columns: Option<&[&str]>) -> Result<Rows, StoreError> {
        self.rows_by(run, entry, columns, ROW_GROUP)
    }

    /// The same, at most `n` rows at a time.
    pub(crate) fn rows_by(
        &self,
        run: &RunId,
        entry: &FileEntry,
        columns: Option<&[&str]>,
        n: usize,
    ) -> Result<Rows, StoreError> {
        let compacted = self.compacted()?;
        match entry.table.as_deref().and_then(|table| compacted.find(run, table)) {
            Some(file) => self.rows_of_packed(run, file, columns, n),
            None => {
                self.check_file(run, entry)?;
                let path = self.run_dir(run).join(&entry.name);
                let fail = |e| parquet_error(&path, e);
                let file = fs::File::open(&path)?.into_file();
                let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(fail)?;
                let schema = SchemaRef::clone(builder.schema());
                let mask = mask(&builder, columns);
                let reader = builder.with_projection(mask).with_batch_size(n).build().map_err(fail)?;
                Ok(Rows { path, schema, reader, n_rows: entry.rows })
            }
        }
    }

    fn rows_of_packed(
        &self,
        run: &RunId,
        file: &PackedFile,
        columns: Option<&[&str]>,
        n: usize,
    ) -> Result<Rows, StoreError> {
        let path = self.packed_path(file);
        self.check_one(Expected { path: path.clone(), bytes: Some(file.bytes), blake3: file.blake3.clone() })?;
        let fail = |e| parquet_error(&path, e);
        let metadata = self.footer(&path)?;
        let open = || -> Result<_, StoreError> {
            let file = fs::File::open(&path)?.into_file();
            Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone()))
        };
        let (groups, rows) = places(run, &metadata, &path, open()?)?;
        let fields = metadata.schema().fields().iter().filter(|f| f.name() != RUN).cloned().collect::<Vec<_>>();
        let schema = SchemaRef::new(Schema::new_with_metadata(fields, metadata.schema().metadata().clone()));
        let names: Vec<&str> = match columns {
            Some(names) => names.to_vec(),
            None => schema.fields().iter().map(|f| f.name().as_str()).collect(),
        };
        let n_rows = rows.iter().map(|range| range.len() as u64).sum();
        let all: usize = groups.iter().map(|g| metadata.metadata().row_group(*g).num_rows() as usize).sum();
        let builder = open()?;
        let mask = mask(&builder, Some(&names));
        let selection = RowSelection::from_consecutive_ranges(rows.into_iter(), all);
        let builder = builder.with_row_groups(groups).with_row_selection(selection).with_projection(mask);
        let reader = builder.with_batch_size(n).build().map_err(fail)?;
        Ok(Rows { path, schema, reader, n_rows })
    }

    /// The footer of a file of many runs, kept for the next run in it.
    fn footer(&self, path: &Path) -> Result<ArrowReaderMetadata, StoreError> {
        if let Some(known) = self.packed().footer(path) {
            return Ok(known);
        }
        let file = fs::File::open(path)?.into_file();
        let read = ArrowReaderMetadata::load(&file, Default::default()).map_err(|e| parquet_error(path, e))?;
        self.packed().keep_footer(path, &read);
        Ok(read)
    }
}

fn mask<F: ChunkReader>(builder: &ParquetRecordBatchReaderBuilder<F>, columns: Option<&[&str]>) -> ProjectionMask {
    match columns {
        Some(names) => ProjectionMask::columns(builder.parquet_schema(), names.iter().copied()),
        None => ProjectionMask::all(),
    }
}

/// The row groups that hold a run, and its rows among theirs.
fn places<F: ChunkReader + 'static>(
    run: &RunId,
    metadata: &ArrowReaderMetadata,
    path: &Path,
    builder: ParquetRecordBatchReaderBuilder<F>,
) -> Result<(Vec<usize>, Vec<Range<usize>>), StoreError> {
    let column = metadata.parquet_schema().columns().iter().position(|c| c.name() == RUN);
    let column = column.ok_or_else(|| StoreError::damaged(path, "it has no column `run`"))?;
    let id = run.as_str().as_bytes();
    let may_hold = |group: usize| match metadata.metadata().row_group(group).column(column).statistics() {
        Some(Statistics::ByteArray(of)) => {
            of.min_opt().is_none_or(|min| min.data() <= id) && of.max_opt().is_none_or(|max| max.data() >= id)
        }
        _ => true,
    };
    let groups: Vec<usize> = (0..metadata.metadata().num_row_groups()).filter(|g| may_hold(*g)).collect();
    let mask = ProjectionMask::columns(builder.parquet_schema(), [RUN]);
    let reader = builder.with_row_groups(groups.clone()).with_projection(mask).with_batch_size(ROW_GROUP).build();
    let (mut ranges, mut at): (Vec<Range<usize>>, usize) = (Vec::new(), 0);
    for batch in reader.map_err(|e| parquet_error(path, e))? {
        let batch = batch.map_err(|source| StoreError::Arrow { path: path.to_owned(), source })?;
        let runs = batch.column(0).as_dictionary_opt::<Int32Type>();
        let runs = runs.and_then(|runs| Some((runs.keys(), runs.values().as_string_opt::<i32>()?)));
        let (keys, values) = runs.ok_or_else(|| StoreError::damaged(path, "its column `run` is no text"))?;
        let wanted: Vec<i32> =
            (0..values.len()).filter(|i| values.value(*i) == run.as_str()).map(|i| i as i32).collect();
        for (row, _) in keys.values().iter().enumerate().filter(|(_, key)| wanted.contains(key)) {
            match ranges.last_mut() {
                Some(last) if last.end == at + row => last.end += 1,
                _ => ranges.push(at + row..at + row + 1),
            }
        }
        at += batch.num_rows();
    }
    Ok((groups, ranges))
}
