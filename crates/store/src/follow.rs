//! Readers of runs that are still being recorded: which there are, and their rows as they arrive.
//!
//! Reading disturbs no recorder: its streams are read from where the last look ended, and a message that is not
//! yet whole is kept until the rest has come.

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use fenxi_model::{RunId, Table};
use fs_err as fs;

use crate::{
    Begin, Store, StoreError,
    bounds::WHOLE,
    folder::{open_regular, read_text},
    fs::names,
    seal::Opened,
    stream::recorded,
};

/// A run that is being recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its id, which it keeps.
    pub id: RunId,
    /// Metadata at the start of the run.
    pub begin: Begin,
    /// The tables that have rows so far.
    pub tables: Vec<&'static str>,
}

impl Store {
    /// The runs whose recorders live, the latest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn recordings(&self) -> Result<Vec<Recorded>, StoreError> {
        let mut found = Vec::new();
        for name in names(&self.open_dir())? {
            let Some(id) = RunId::parse(&name).filter(|id| self.is_recording(id)) else { continue };
            let dir = self.open_dir().join(&name);
            // Sealed since it was listed: it is one of the others now.
            let Ok(text) = read_text(&dir.join("begin.json"), WHOLE) else { continue };
            let opened: Opened = serde_json::from_str(&text).map_err(|e| StoreError::damaged(&dir, e))?;
            let tables = recorded(&dir)?.iter().map(|t| t.table.name).collect();
            found.push(Recorded { id, begin: opened.begin, tables });
        }
        found.sort_by(|a, b| (b.begin.start, &b.id).cmp(&(a.begin.start, &a.id)));
        Ok(found)
    }

    /// Bytes that the recording `id` takes on disk until now; 0 when there is none.
    pub fn open_bytes(&self, id: &RunId) -> u64 {
        let dir = self.open_run_dir(id);
        let size = |name: &String| fs::metadata(dir.join(name)).map_or(0, |meta| meta.len());
        names(&dir).unwrap_or_default().iter().map(size).sum()
    }

    /// Follows the run `id`, from its first row.
    ///
    /// # Errors
    /// When it is not being recorded.
    pub fn follow(&self, id: &RunId) -> Result<Follow, StoreError> {
        if !self.is_recording(id) {
            return Err(StoreError::Unknown { selector: id.to_string(), near: Vec::new() });
        }
        Ok(Follow { store: self.clone(), id: id.clone(), segments: BTreeMap::new() })
    }
}

/// Reads the rows of a run as its recorder writes them.
pub struct Follow {
    store: Store,
    id: RunId,
    segments: BTreeMap<PathBuf, Segment>,
}

impl Follow {
    /// Returns batches written since the last call; None when the recorder has ended.
    ///
    /// # Errors
    /// When a stream cannot be read.
    pub fn advance(&mut self) -> Result<Option<Vec<(&'static Table, RecordBatch)>>, StoreError> {
        // Asked before reading: what is written until the end is read in this call or in the one before.
        let is_alive = self.store.is_recording(&self.id);
        let mut batches = Vec::new();
        for table in recorded(&self.store.open_run_dir(&self.id))? {
            for path in table.segments {
                let segment = self.segments.entry(path.clone()).or_default();
                match segment.read(&path, &mut |batch| batches.push((table.table, batch))) {
                    Err(StoreError::Io { source }) if source.kind() == io::ErrorKind::NotFound => {}
                    read => read?,
                }
            }
        }
        Ok((is_alive || !batches.is_empty()).then_some(batches))
    }
}

/// One stream and how far it was read.
#[derive(Default)]
struct Segment {
    bytes: u64,
    decoder: StreamDecoder,
}

impl Segment {
    fn read(&mut self, path: &Path, each: &mut dyn FnMut(RecordBatch)) -> Result<(), StoreError> {
        let mut file = open_regular(path)?;
        file.seek(SeekFrom::Start(self.bytes))?;
        let mut new = Vec::new();
        self.bytes += file.read_to_end(&mut new)? as u64;
        let mut new = Buffer::from_vec(new);
        while !new.is_empty() {
            let decoded = self.decoder.decode(&mut new);
            match decoded.map_err(|source| StoreError::Arrow { path: path.to_owned(), source })? {
                Some(batch) => each(batch),
                None => break,
            }
        }
        Ok(())
    }
}
