//! One table of a run being recorded: append-only Arrow IPC streams `<table>.<segment>.arrows`.
//!
//! A tick is one `write`: the dictionary values that are new, then the rows. A segment ends when
//! the table gains a column or a write fails; the next one has all columns seen so far. A reader
//! takes whole messages up to the first torn one.

use std::{
    io::{BufReader, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_ipc::{
    MetadataVersion,
    reader::StreamReader,
    writer::{DictionaryHandling, IpcWriteOptions, StreamWriter},
};
use arrow_schema::{ArrowError, SchemaRef};
use fenxi_model::{Table, TableRows, schema_of};
use fs_err as fs;

use crate::{
    StoreError,
    folder::open_regular,
    fs::{self as files, Modes},
};

/// A file that the syncing thread makes durable from time to time.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) file: fs::File,
    pub(crate) dirty: AtomicBool,
}

/// The rows that were written, if there were any, and their file where it is a new one.
pub(crate) type Written = (Option<RecordBatch>, Option<Arc<Shared>>);

/// The writing end of one table.
#[derive(Debug)]
pub(crate) struct TableStream {
    dir: PathBuf,
    modes: Modes,
    table: &'static Table,
    /// Segments begun so far.
    segments: u32,
    /// Columns that any segment has had, by place.
    seen: Vec<bool>,
    /// The schema of the rows last taken; the common case is the same pointer again.
    last: Option<SchemaRef>,
    segment: Option<Segment>,
    /// Bytes written.
    bytes: u64,
    /// Rows that could not be written yet.
    unwritten: Option<RecordBatch>,
}

struct Segment {
    shared: Arc<Shared>,
    writer: StreamWriter<Vec<u8>>,
    schema: SchemaRef,
    /// Bytes of whole messages in the file.
    bytes: u64,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Segment({} bytes)", self.bytes)
    }
}

impl TableStream {
    pub(crate) fn new(dir: &Path, table: &'static Table, modes: Modes) -> TableStream {
        let seen = vec![false; table.columns.len()];
        let dir = dir.to_owned();
        TableStream { dir, modes, table, segments: 0, seen, last: None, segment: None, bytes: 0, unwritten: None }
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the rows and writes them. Gives the batch written and the file when it is a new one.
    pub(crate) fn append(&mut self, rows: &mut TableRows) -> Result<Written, StoreError> {
        let schema = rows.schema();
        let Some(batch) = rows.take() else { return Ok((None, None)) };
        let batch = self.fit(schema, batch)?;
        self.write(batch)
    }

    /// Writes the rows that could not be written before, if there are any.
    pub(crate) fn retry(&mut self) -> Result<Written, StoreError> {
        match self.unwritten.take() {
            Some(batch) => self.write(batch),
            None => Ok((None, None)),
        }
    }

    /// Forgets rows that could not be written.
    pub(crate) fn forget_unwritten(&mut self) {
        self.unwritten = None;
    }

    fn write(&mut self, batch: RecordBatch) -> Result<Written, StoreError> {
        let mut begun = None;
        let written = match &mut self.segment {
            Some(segment) => segment.write(&batch).map_err(|error| self.error(error)),
            None => self.begin().and_then(|mut segment| {
                begun = Some(Arc::clone(&segment.shared));
                let written = segment.write(&batch).map_err(|error| self.error(error));
                self.segment = Some(segment);
                written
            }),
        };
        match written {
            Ok(length) => {
                self.bytes += length;
                Ok((Some(batch), begun))
            }
            Err(error) => {
                // The writer's state (what it takes for sent) no longer matches the file.
                self.segment = None;
                if begun.is_some() {
                    self.withdraw();
                }
                self.unwritten = Some(batch);
                Err(error)
            }
        }
    }

    /// Makes the batch fit the segment: a new column ends the segment, a missing one is NULL.
    fn fit(&mut self, schema: SchemaRef, batch: RecordBatch) -> Result<RecordBatch, StoreError> {
        let known = self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &schema));
        if !known {
            for field in schema.fields() {
                if let Some(place) = self.table.index_of(field.name())
                    && !self.seen[place]
                {
                    self.seen[place] = true;
                    self.segment = None;
                }
            }
            self.last = Some(schema);
        }
        match &self.segment {
            Some(segment) if segment.schema.fields().len() > batch.num_columns() => widen(&segment.schema, &batch),
            None if self.seen.iter().filter(|s| **s).count() > batch.num_columns() => widen(&self.schema(), &batch),
            _ => Ok(batch),
        }
        .map_err(|e| self.error(e))
    }

    fn schema(&self) -> SchemaRef {
        schema_of(self.table, (0..self.seen.len()).filter(|p| self.seen[*p]))
    }

    fn path(&self, segment: u32) -> PathBuf {
        self.dir.join(format!("{}.{segment:04}.arrows", self.table.name))
    }

    /// Removes the segment begun last, of which nothing could be written: a full disk would fill with empty ones.
    fn withdraw(&mut self) {
        if fs::remove_file(self.path(self.segments - 1)).is_ok() {
            self.segments -= 1;
        }
    }

    fn begin(&mut self) -> Result<Segment, StoreError> {
        let path = self.path(self.segments);
        let file = fs::OpenOptions::new().append(true).create_new(true).open(&path)?;
        self.modes.apply(&path)?;
        self.segments += 1;
        let schema = self.schema();
        let make = || {
            let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5)?
                .with_dictionary_handling(DictionaryHandling::Delta);
            // Meaning and units come from the catalogue when the run is sealed; streams do without.
            let bare = arrow_schema::Schema::new(
                schema
                    .fields()
                    .iter()
                    .map(|f| f.as_ref().clone().with_metadata(Default::default()))
                    .collect::<Vec<_>>(),
            );
            StreamWriter::try_new_with_options(Vec::with_capacity(16 << 10), &bare, options)
        };
        let writer = make().map_err(|e| self.error(e))?;
        let shared = Arc::new(Shared { file, dirty: AtomicBool::new(false) });
        Ok(Segment { shared, writer, schema, bytes: 0 })
    }

    fn error(&self, source: ArrowError) -> StoreError {
        match source {
            ArrowError::IoError(_, io) => StoreError::Io { source: io },
            source => StoreError::Arrow { path: self.dir.join(self.table.name), source },
        }
    }
}

impl Segment {
    /// Writes the rows and gives the bytes that they took.
    fn write(&mut self, batch: &RecordBatch) -> Result<u64, ArrowError> {
        self.writer.write(batch)?;
        let message = self.writer.get_mut();
        let mut file = &self.shared.file;
        let written = file.write_all(message);
        let length = message.len() as u64;
        message.clear();
        if let Err(error) = written {
            // Leave no torn message behind; if even that fails, reading stops at it.
            let _ = self.shared.file.set_len(self.bytes);
            return Err(error.into());
        }
        self.bytes += length;
        self.shared.dirty.store(true, Ordering::Relaxed);
        Ok(length)
    }
}

/// The batch with the columns of `schema`, NULL where it has none.
pub(crate) fn widen(schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let column = |field: &arrow_schema::FieldRef| -> ArrayRef {
        let own = batch.column_by_name(field.name()).cloned();
        own.unwrap_or_else(|| new_null_array(field.data_type(), batch.num_rows()))
    };
    RecordBatch::try_new(Arc::clone(schema), schema.fields().iter().map(column).collect())
}

/// The segments of one table that a recording left, in the order in which they were written.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) table: &'static Table,
    pub(crate) segments: Vec<PathBuf>,
}

/// Counts from reading a table's segments, besides rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Read {
    pub(crate) batches: u64,
    pub(crate) dropped_bytes: u64,
}

/// The tables recorded in `dir`, in the catalogue's order.
pub(crate) fn recorded(dir: &Path) -> Result<Vec<Recorded>, StoreError> {
    let mut names: Vec<String> = files::names(dir)?.into_iter().filter(|n| n.ends_with(".arrows")).collect();
    names.sort();
    let mut tables: Vec<Recorded> = Vec::new();
    for name in names {
        let path = dir.join(&name);
        let stem = name.split('.').next().unwrap_or_default();
        let table = fenxi_model::table(stem)
            .ok_or_else(|| StoreError::damaged(&path, format!("this fenxi knows no table `{stem}`")))?;
        match tables.iter_mut().find(|t| t.table.id == table.id) {
            Some(found) => found.segments.push(path),
            None => tables.push(Recorded { table, segments: vec![path] }),
        }
    }
    tables.sort_by_key(|t| t.table.id);
    Ok(tables)
}

impl Recorded {
    /// Gives every whole batch to `each`; stops a segment at its first torn message.
    pub(crate) fn read(&self, mut each: impl FnMut(RecordBatch) -> Result<(), StoreError>) -> Result<Read, StoreError> {
        let mut read = Read::default();
        for path in &self.segments {
            let file = open_regular(path)?;
            let length = file.metadata()?.len();
            let counted = Counted { inner: BufReader::with_capacity(1 << 18, file), bytes: 0 };
            let mut whole = 0;
            if let Ok(mut reader) = StreamReader::try_new(counted, None) {
                whole = reader.get_ref().bytes;
                // An error of the format is a torn tail. An error of the disk must not pass for one.
                while let Some(next) = reader.next() {
                    match next {
                        Ok(batch) => {
                            whole = reader.get_ref().bytes;
                            read.batches += 1;
                            each(batch)?;
                        }
                        Err(ArrowError::IoError(_, e)) if e.kind() != std::io::ErrorKind::UnexpectedEof => {
                            return Err(StoreError::Io { source: e });
                        }
                        Err(_) => break,
                    }
                }
            }
            read.dropped_bytes += length.saturating_sub(whole);
        }
        Ok(read)
    }
}

/// A reader that knows how far it has come.
struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: std::io::Read> std::io::Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.bytes += n as u64;
        Ok(n)
    }
}
