//! A run being recorded.
//!
//! `open/<id>/` holds `begin.json`, the streams of the tables, and `lock`, which the recorder keeps
//! locked (flock) as long as it lives: a process that gets the lock knows that the recorder is dead.

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use fenxi_model::{Rows, RunId, TABLES, Table};
use fs_err as fs;
use rustix::fs::{FlockOperation, flock};

use crate::{
    Begin, End, FORMAT, FileEntry, Folder, Store, StoreError,
    fs::{HashingFile, sync_dir, write_synced},
    seal::{IMPORT, Opened, RAW, Recording, give_up, is_made_again},
    sort_buffer::SortBuffer,
    stream::{Shared, TableStream, Written},
    table_seal::{GoOn, Limits, Sealing},
};

/// How long written rows may wait until they are made durable.
const SYNC_EVERY: Duration = Duration::from_secs(5);
/// Bytes of rows that a recorder keeps besides writing them; sealing need not read these back.
const LIVE_BYTES: usize = 32 << 20;
/// Kept inputs that are made durable one by one; those of an import that has more, all together when it is sealed.
const SYNCED_RAWS: usize = 8;
/// Space that sealing takes of the smallest run: a file of each table, and what is written beside.
const MIN_ROOM: u64 = 256 << 10;
/// Bytes of rows that an import gathers, over all tables, before it writes those of the largest.
const IMPORT_BYTES: usize = 40 << 20;

/// A run being recorded; dropping it without [`OpenRun::seal`] leaves it for [`Store::recover`].
#[derive(Debug)]
pub struct OpenRun {
    store: Store,
    dir: PathBuf,
    opened: Opened,
    streams: Vec<Option<TableStream>>,
    live: Option<Vec<Option<SortBuffer>>>,
    live_limit: usize,
    apart: Vec<(String, SortBuffer)>,
    /// An import's tables: written sorted, chunk by chunk, without the streams from which a recording
    /// could be recovered. An import that was cut short is begun anew.
    import: Option<Chunks>,
    pub(crate) import_limit: usize,
    go_on: Option<GoOn>,
    /// Inputs that were begun to be kept.
    raws: AtomicUsize,
    syncer: Syncer,
    /// Declared last: the lock is given up after everything else is closed.
    _lock: fs::File,
}

impl Store {
    /// Begins a run.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn begin(&self, begin: Begin) -> Result<OpenRun, StoreError> {
        OpenRun::begin(self, begin)
    }
}

impl OpenRun {
    pub(crate) fn begin(store: &Store, mut begin: Begin) -> Result<OpenRun, StoreError> {
        store.file(&mut begin.tags)?;
        let open = store.make_dir("open")?;
        let name = begin.name.clone().unwrap_or_default();
        let mut random = begin.random;
        let _beginning = store.beginning()?;
        loop {
            let id = RunId::new(begin.start, &name, random);
            let dir = open.join(id.as_str());
            // Made under a hidden name and locked first, so that it is not taken for a dead recorder's.
            let hidden = open.join(format!(".new-{id}-{}", std::process::id()));
            let taken = dir.exists() || store.all_runs().run_dir(&id).exists();
            match if taken { Err(std::io::ErrorKind::AlreadyExists.into()) } else { fs::create_dir(&hidden) } {
                Ok(()) => store.modes().apply(&hidden)?,
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                    random = random.wrapping_add(1);
                    continue;
                }
                Err(e) => return Err(e.into()),
            }
            let import = (begin.kind == IMPORT).then(Chunks::default);
            let opened = Opened { format: FORMAT, id, begin };
            let Some(lock) = claim(store, &hidden, &dir, &opened)? else {
                random = random.wrapping_add(1);
                begin = opened.begin;
                continue;
            };
            store.made(&opened.id);
            return Ok(OpenRun {
                store: store.clone(),
                syncer: Syncer::start(),
                dir,
                opened,
                streams: TABLES.iter().map(|_| None).collect(),
                live: Some(TABLES.iter().map(|_| None).collect()),
                live_limit: LIVE_BYTES,
                apart: Vec::new(),
                import,
                import_limit: IMPORT_BYTES,
                go_on: None,
                raws: AtomicUsize::new(0),
                _lock: lock,
            });
        }
    }

    /// Lets an import end where `go_on` returns false: nothing of it is kept then ([`StoreError::Stopped`]).
    pub fn go_on_while(&mut self, go_on: GoOn) {
        self.go_on = Some(go_on);
    }

    /// The id it has and keeps.
    pub fn id(&self) -> &RunId {
        &self.opened.id
    }

    /// Adds a tag that was not known when the run began. It is kept when the run is sealed; a run that is
    /// recovered from a dead recorder does not have it.
    pub fn tag(&mut self, key: &str, value: &str) {
        self.opened.begin.tags.insert(key.to_owned(), value.to_owned());
    }

    /// Sets which host it is of, where that was not known when the run began. It is kept when the run is sealed.
    pub fn set_host(&mut self, host: &str) {
        host.clone_into(&mut self.opened.begin.host);
    }

    /// Takes all rows out of `rows` and writes them: one write a table.
    ///
    /// # Errors
    /// When a file cannot be written, or could not be made durable; what was written before stays. Rows that were not
    /// written are written by the next call, in their order.
    pub fn append(&mut self, rows: &mut Rows) -> Result<(), StoreError> {
        if let Some(chunks) = &mut self.import {
            return chunks.append(rows, &self.dir, (self.import_limit, self.go_on.as_ref()));
        }
        let mut first_error = None;
        for (place, table) in TABLES.iter().enumerate() {
            let written = self.streams[place].as_mut().map(TableStream::retry);
            first_error = first_error.or(written.and_then(|written| self.note_written(table, written).err()));
        }
        if let Some(error) = first_error {
            return Err(error);
        }
        for table in rows.tables_mut() {
            let known = table.table();
            let stream = self.streams[known.id as usize]
                .get_or_insert_with(|| TableStream::new(&self.dir, known, self.store.modes()));
            let written = stream.append(table);
            // The other tables' rows are still worth writing.
            first_error = first_error.or(self.note_written(known, written).err());
        }
        let held = |live: &Vec<Option<SortBuffer>>| live.iter().flatten().map(|g| g.bytes).sum::<usize>();
        if self.live.as_ref().is_some_and(|live| held(live) > self.live_limit) {
            self.live = None;
        }
        match first_error {
            Some(error) => Err(error),
            None => self.syncer.error(&self.dir),
        }
    }

    fn note_written(&mut self, table: &'static Table, written: Result<Written, StoreError>) -> Result<(), StoreError> {
        let (batch, begun) = written?;
        if let Some(file) = begun {
            self.syncer.add(file);
        }
        if let (Some(batch), Some(live)) = (batch, &mut self.live) {
            let gather = live[table.id as usize].get_or_insert_with(|| SortBuffer::new(table));
            // A column that the catalogue does not know cannot come from `Rows`.
            let _ = gather.push(&batch);
        }
        Ok(())
    }

    /// Returns true if the disk has room for sealing what was written so far. The files of a run take a quarter to a half of the
    /// streams that they are made of. True where the file system does not report it.
    pub fn has_room(&self) -> bool {
        let written: u64 = self.streams.iter().flatten().map(TableStream::bytes).sum();
        rustix::fs::statvfs(&self.dir).map_or(true, |disk| disk.f_bavail * disk.f_frsize >= written / 2 + MIN_ROOM)
    }

    /// Forgets rows that could not be written.
    pub fn lose_unwritten(&mut self) {
        self.streams.iter_mut().flatten().for_each(TableStream::forget_unwritten);
    }

    /// Takes all rows out of `rows` and keeps them apart from the others, as tables `<prefix>.<table>`:
    /// averages since boot must not be mixed with samples. They should be few: they stay in memory
    /// until the run is sealed.
    ///
    /// # Errors
    /// When rows have columns that the catalogue does not know.
    pub fn append_apart(&mut self, prefix: &str, rows: &mut Rows) -> Result<(), StoreError> {
        for table in rows.tables_mut() {
            let id = table.table().id;
            let Some(batch) = table.take() else { continue };
            let found = self.apart.iter().position(|(p, g)| p == prefix && g.table.id == id);
            let place = found.unwrap_or_else(|| {
                self.apart.push((prefix.to_owned(), SortBuffer::new(table.table())));
                self.apart.len() - 1
            });
            if !self.apart[place].1.push(&batch) {
                return Err(StoreError::damaged(&self.dir, "rows with columns that this fenxi does not know"));
            }
        }
        Ok(())
    }

    /// Begins a file that keeps an input of an import; `name` is a file name within the run's `raw/`.
    ///
    /// # Errors
    /// When there is one of that name already, or it cannot be made.
    pub fn raw_file(&self, name: &str) -> Result<RawFile, StoreError> {
        let raw = self.dir.join(RAW);
        let before = self.raws.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            Folder::open(&self.dir)?.make(RAW, self.store.modes().of_folders())?;
        }
        let is_synced = self.import.is_none() || before < SYNCED_RAWS;
        Ok(RawFile { file: HashingFile::create(&raw.join(name))?, name: format!("{RAW}/{name}"), is_synced })
    }

    /// Turns the recording into a run and gives its id.
    ///
    /// # Errors
    /// [`StoreError::Seal`] when it cannot be written; the recording is kept and a later
    /// [`Store::recover`] seals it. Of an import nothing is kept.
    pub fn seal(mut self, end: End) -> Result<RunId, StoreError> {
        self.syncer.stop();
        let go_on = self.go_on.take();
        // For a later recovery, should sealing fail. Without room for it, it is done without.
        if !is_made_again(&self.opened.begin.kind)
            && let Ok(text) = serde_json::to_vec(&end)
        {
            let _ = write_synced(&self.dir.join("end.json"), &text);
        }
        let recording = Recording {
            store: &self.store,
            dir: self.dir.clone(),
            opened: Opened { format: FORMAT, id: self.opened.id.clone(), begin: self.opened.begin.clone() },
            end: Some(end),
            recovered: false,
            live: self.live.take(),
            apart: std::mem::take(&mut self.apart),
            chunks: self.import.take(),
            sync_all: self.raws.load(Ordering::Relaxed) > SYNCED_RAWS,
            limits: Limits { go_on: go_on.as_ref(), ..Limits::DEFAULT },
        };
        let made_again = is_made_again(&self.opened.begin.kind);
        match recording.seal() {
            // Nothing is kept of an import, so that its inputs are imported again and not half of them.
            Err(StoreError::Seal { cause, .. }) if made_again => {
                let _ = give_up(&self.dir);
                return Err(*cause);
            }
            sealed => sealed?,
        };
        Ok(self.opened.id.clone())
    }

    /// Gives the recording up: nothing of it is kept.
    ///
    /// # Errors
    /// When its files cannot be removed.
    pub fn discard(mut self) -> Result<(), StoreError> {
        self.syncer.stop();
        Ok(give_up(&self.dir)?)
    }
}

/// The tables of an import, gathered and written chunk by chunk.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    tables: Vec<Chunked>,
    bytes: usize,
}

/// One table of an import: what is written, and what is not yet.
#[derive(Debug)]
pub(crate) struct Chunked {
    pub(crate) gather: SortBuffer,
    pub(crate) written: Option<Sealing>,
}

impl Chunks {
    /// Gathers all rows; writes those of the largest table when all take more than `limit` bytes.
    fn append(
        &mut self,
        rows: &mut Rows,
        dir: &Path,
        (limit, go_on): (usize, Option<&GoOn>),
    ) -> Result<(), StoreError> {
        for table in rows.tables_mut() {
            let id = table.table().id;
            let Some(batch) = table.take() else { continue };
            let found = self.tables.iter().position(|t| t.gather.table.id == id);
            let place = found.unwrap_or_else(|| {
                self.tables.push(Chunked { gather: SortBuffer::new(table.table()), written: None });
                self.tables.len() - 1
            });
            let gather = &mut self.tables[place].gather;
            let before = gather.bytes;
            if !gather.push(&batch) {
                return Err(StoreError::damaged(dir, "rows with columns that this fenxi does not know"));
            }
            self.bytes += gather.bytes - before;
        }
        if self.bytes > limit
            && let Some(largest) = self.tables.iter_mut().max_by_key(|t| t.gather.bytes)
        {
            self.bytes -= largest.gather.bytes;
            let table = largest.gather.table;
            let sealing = largest.written.get_or_insert_with(|| Sealing::new(table, dir));
            sealing.write_more(&mut largest.gather, Limits { go_on, ..Limits::DEFAULT })?;
            largest.gather.clear();
        }
        Ok(())
    }

    /// The tables in the catalogue's order.
    pub(crate) fn into_tables(mut self) -> Vec<Chunked> {
        self.tables.sort_by_key(|t| t.gather.table.id);
        self.tables
    }
}

/// An input of an import, being kept.
#[derive(Debug)]
pub struct RawFile {
    file: HashingFile,
    name: String,
    /// Whether it is made durable by itself.
    is_synced: bool,
}

impl RawFile {
    /// Makes the file durable, unless it is one of many that are when the run is sealed, and gives what the manifest has to
    /// know of it.
    ///
    /// # Errors
    /// When it cannot be made durable.
    pub fn finish(self) -> Result<FileEntry, StoreError> {
        let (bytes, blake3) = if self.is_synced { self.file.finish()? } else { self.file.finish_later() };
        Ok(FileEntry { name: self.name, bytes, blake3, ..FileEntry::default() })
    }
}

impl Write for RawFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Makes `dir` by way of `hidden`; gives its lock. None when another run of the same id was begun at the
/// same moment, so that another id is needed.
fn claim(store: &Store, hidden: &Path, dir: &Path, opened: &Opened) -> Result<Option<fs::File>, StoreError> {
    match make(store, hidden, dir, opened) {
        // The other run was begun and sealed since it was looked for.
        Ok(_lock) if store.run_dir(&opened.id).exists() => {
            give_up(dir)?;
            Ok(None)
        }
        Ok(lock) => Ok(Some(lock)),
        Err(error) => {
            let _ = fs::remove_dir_all(hidden);
            if is_rivalry(&error) && store.open_dir().is_dir() { Ok(None) } else { Err(error) }
        }
    }
}

/// Whether a run could not be begun because another one of its id was at the same moment, or because it
/// was stopped for so long before it was locked that a recovery took it for a dead recorder's.
fn is_rivalry(error: &StoreError) -> bool {
    use std::io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotFound};
    matches!(error, StoreError::Io { source } if [AlreadyExists, DirectoryNotEmpty, NotFound].contains(&source.kind()))
}

/// Makes `dir` with its lock and `begin.json`; gives the lock.
fn make(store: &Store, hidden: &Path, dir: &Path, opened: &Opened) -> Result<fs::File, StoreError> {
    let lock = fs::File::create_new(hidden.join("lock"))?;
    flock(lock.file(), FlockOperation::NonBlockingLockExclusive).map_err(std::io::Error::from)?;
    let text = serde_json::to_vec_pretty(opened).map_err(|e| StoreError::damaged(hidden.join("begin.json"), e))?;
    write_synced(&hidden.join("begin.json"), &text)?;
    store.modes().apply_all(hidden)?;
    fs::rename(hidden, dir)?;
    if let Some(open) = dir.parent() {
        sync_dir(open)?;
    }
    Ok(lock)
}

/// Makes written rows durable every few seconds, beside the recording.
#[derive(Debug)]
struct Syncer {
    shared: Arc<(Mutex<ToSync>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct ToSync {
    files: Vec<Arc<Shared>>,
    error: Option<std::io::Error>,
    stop: bool,
}

impl Syncer {
    fn start() -> Syncer {
        let shared: Arc<(Mutex<ToSync>, Condvar)> = Arc::default();
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("fenxi-sync".to_owned()).spawn(move || sync_loop(&theirs));
        // Without a thread rows are durable when sealed; the kernel writes them out before long.
        Syncer { shared, thread: thread.ok() }
    }

    fn add(&self, file: Arc<Shared>) {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).files.push(file);
    }

    fn error(&self, dir: &Path) -> Result<(), StoreError> {
        match self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).error.take() {
            Some(e) => {
                let text = format!("{}: rows could not be made durable: {e}", dir.display());
                Err(StoreError::Io { source: std::io::Error::new(e.kind(), text) })
            }
            None => Ok(()),
        }
    }

    fn stop(&mut self) {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // It cannot panic; if it did, sealing makes everything durable anyway.
            let _ = thread.join();
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn sync_loop(shared: &(Mutex<ToSync>, Condvar)) {
    let mut state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let waited = shared.1.wait_timeout_while(state, SYNC_EVERY, |s| !s.stop);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.stop {
            return;
        }
        let files = state.files.clone();
        drop(state);
        let mut error = None;
        for file in files {
            if file.dirty.swap(false, Ordering::Relaxed)
                && let Err(e) = file.file.sync_data()
            {
                error = Some(e);
            }
        }
        state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.error = error.or(state.error.take());
    }
}
