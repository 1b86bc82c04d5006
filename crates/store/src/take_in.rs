//! Taking in runs that another store exported. The archive may come from anybody, so nothing in it is believed.
//!
//! What comes next is always known: the list of runs, then each run's manifest, then the files of that manifest in the
//! order of their names. Names in the archive are compared with what is expected and never followed; those
//! in a manifest must be of a run's own layout. Everything is unpacked into a hidden directory, checked against its
//! BLAKE3, and shown with one rename for each run, after the whole archive was read.

use std::{
    cell::Cell,
    collections::BTreeSet,
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
    rc::Rc,
};

use fenxi_model::RunId;
use fs_err as fs;
use rustix::fs::{FlockOperation, flock};
use tar::{Archive, Entries};

use crate::{
    FORMAT, FileEntry, Labels, Manifest, Store, StoreError,
    archive::{ARCHIVE, HEAD, Head, labels_file, run_file},
    fs::{replace, sync_dir, write_synced},
    seal::{RAW, manifest_is_intact},
    verify::check_table,
};

/// The most that is taken from an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakeLimits {
    /// Runs in it.
    pub runs: usize,
    /// Files of all runs together.
    pub files: u64,
    /// Bytes of the archive, unpacked.
    pub bytes: u64,
    /// How many times the packed bytes the unpacked ones may be; the first [`ALWAYS`] are free.
    pub ratio: u64,
}

impl Default for TakeLimits {
    /// What nobody reaches who exported runs: for archives that a user takes from their own disk.
    fn default() -> TakeLimits {
        TakeLimits { runs: 100_000, files: 10_000_000, bytes: 1 << 42, ratio: 200 }
    }
}

/// Unpacked bytes that may be of any ratio: a few small files are mostly the zeros between them.
pub const ALWAYS: u64 = 16 << 20;
/// The longest list of runs, manifest or labels; they are held in memory.
const TEXT: u64 = 32 << 20;
/// The longest name of an entry.
const NAME: u64 = 4096;
/// What may follow the last entry: a tar is filled up with zeros.
const FILLING: u64 = 1 << 20;
/// The largest window of zstd, as a power of two: what unpacking may take of memory.
const WINDOW_LOG: u32 = 24;

/// A run that was in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenIn {
    /// The run.
    pub id: RunId,
    /// Whether it is new; otherwise the same run was there already and stays as it is, with its labels.
    pub is_new: bool,
    /// Bytes of its files.
    pub bytes: u64,
}

impl Store {
    /// Takes in the runs of an archive that [`Store::export`] wrote, under their ids and with their labels; all of them
    /// or, when anything is wrong, none.
    ///
    /// # Errors
    /// [`StoreError::Archive`] when it is none, damaged or cut short, [`StoreError::ArchiveLimit`] when it is larger than
    /// `limits`, [`StoreError::Differs`] when the store has another run of the same id.
    pub fn take_in(&self, archive: impl Read, limits: &TakeLimits) -> Result<Vec<TakenIn>, StoreError> {
        let meter = Rc::new(Meter { limits: *limits, ..Meter::default() });
        let packed = Packed { inner: archive, meter: Rc::clone(&meter) };
        let unpack = || {
            let mut decoder = zstd::Decoder::with_buffer(BufReader::with_capacity(1 << 16, packed))?;
            decoder.window_log_max(WINDOW_LOG)?;
            io::Result::Ok(Archive::new(Unpacked { inner: decoder, meter: Rc::clone(&meter) }))
        };
        let mut archive = unpack().map_err(|e| meter.fault(&e))?;
        let part = Part::create(self)?;
        let mut taking = Taking {
            store: self,
            part: &part,
            meter: &meter,
            // Extensions of tar are not the crate's to read: it would hold them in memory, whatever their size.
            entries: archive.entries().map_err(|e| meter.fault(&e))?.raw(true),
            files: 0,
            ahead: None,
        };
        let runs = taking.all()?;
        end_of(&mut archive.into_inner(), &meter)?;
        runs.into_iter().map(|run| part.show(self, run)).collect()
    }
}

/// Reads to the end of what is unpacked, so that its checksum is compared and nothing hides behind.
fn end_of(rest: &mut impl Read, meter: &Meter) -> Result<(), StoreError> {
    let mut filling = Vec::new();
    rest.take(FILLING).read_to_end(&mut filling).map_err(|e| meter.fault(&e))?;
    if filling.len() as u64 == FILLING || filling.iter().any(|b| *b != 0) {
        return Err(broken("goes on after its end"));
    }
    Ok(())
}

/// What is wrong with an archive.
fn broken(why: impl ToString) -> StoreError {
    StoreError::Archive { why: why.to_string() }
}

/// How much was read, and how much may be.
#[derive(Default)]
struct Meter {
    limits: TakeLimits,
    packed: Cell<u64>,
    unpacked: Cell<u64>,
    /// What was exceeded.
    exceeded: Cell<Option<&'static str>>,
}

impl Meter {
    /// The error that reading ended with.
    fn fault(&self, error: &io::Error) -> StoreError {
        match self.exceeded.get() {
            Some(what) => StoreError::ArchiveLimit { what: what.to_owned() },
            None if error.kind() == io::ErrorKind::UnexpectedEof => broken("is cut short"),
            None => broken(format!("cannot be read: {error}")),
        }
    }

    fn check(&self) -> io::Result<()> {
        let unpacked = self.unpacked.get();
        if unpacked > self.limits.bytes {
            self.exceeded.set(Some("bytes"));
        } else if unpacked > ALWAYS.max(self.packed.get().saturating_mul(self.limits.ratio)) {
            self.exceeded.set(Some("bytes for what it takes packed"));
        }
        if self.exceeded.get().is_some() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    }
}

/// Counts what comes in.
struct Packed<R> {
    inner: R,
    meter: Rc<Meter>,
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        self.meter.packed.set(self.meter.packed.get() + n as u64);
        Ok(n)
    }
}

/// Counts what comes out, and ends when it is too much.
struct Unpacked<R> {
    inner: R,
    meter: Rc<Meter>,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        self.meter.unpacked.set(self.meter.unpacked.get() + n as u64);
        self.meter.check().map(|()| n)
    }
}

/// The hidden directory in which runs are unpacked; gone with the value. It is locked like one in which a recording
/// begins, so that what a killed process left is removed as theirs is.
struct Part {
    dir: PathBuf,
    _lock: fs::File,
}

impl Part {
    fn create(store: &Store) -> Result<Part, StoreError> {
        fs::create_dir_all(store.open_dir())?;
        let mut turn = 0u32;
        let dir = loop {
            let dir = store.open_dir().join(format!(".new-archive-{}-{turn}", std::process::id()));
            match fs::create_dir(&dir) {
                Ok(()) => break dir,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => turn += 1,
                Err(e) => return Err(e.into()),
            }
        };
        let lock = fs::File::create(dir.join("lock"))?;
        flock(lock.file(), FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from)?;
        Ok(Part { dir, _lock: lock })
    }

    fn run_dir(&self, id: &RunId) -> PathBuf {
        self.dir.join(id.as_str())
    }

    /// Shows one run. Its labels come first: it is never seen without them.
    fn show(&self, store: &Store, run: Unpacking) -> Result<TakenIn, StoreError> {
        let bytes = run.manifest.bytes();
        let id = run.manifest.id.clone();
        if !run.is_new {
            return Ok(TakenIn { id, is_new: false, bytes });
        }
        if let Some(labels) = &run.labels {
            fs::create_dir_all(store.labels_dir())?;
            replace(&store.labels_dir().join(format!("{id}.json")), labels, true)?;
        }
        fs::create_dir_all(store.runs_dir())?;
        match fs::rename(self.run_dir(&id), store.run_dir(&id)) {
            Ok(()) => sync_dir(&store.runs_dir())?,
            // Somebody else took it in meanwhile, or another one of its id.
            Err(e) => {
                let known = known(store, &run.manifest)?;
                return if known { Ok(TakenIn { id, is_new: false, bytes }) } else { Err(e.into()) };
            }
        }
        Ok(TakenIn { id, is_new: true, bytes })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // What stays is hidden, and removed by a later command.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Whether the store has this very run; an error when it has another one of its id.
fn known(store: &Store, manifest: &Manifest) -> Result<bool, StoreError> {
    let id = &manifest.id;
    if store.open_dir().join(id.as_str()).exists() {
        return Err(StoreError::Recording { id: id.clone() });
    }
    match store.manifest(id) {
        Ok(here) if here.digest == manifest.digest => Ok(true),
        Ok(_) => Err(StoreError::Differs { id: id.clone() }),
        Err(StoreError::Unknown { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A run that was unpacked.
struct Unpacking {
    manifest: Manifest,
    labels: Option<Vec<u8>>,
    is_new: bool,
}

/// An entry of the archive.
struct Next<'a, R: Read> {
    name: String,
    entry: tar::Entry<'a, R>,
}

/// The archive being read.
struct Taking<'a, R: Read> {
    store: &'a Store,
    part: &'a Part,
    meter: &'a Meter,
    entries: Entries<'a, R>,
    files: u64,
    /// What was read when labels were looked for, and is none.
    ahead: Option<Next<'a, R>>,
}

impl<'a, R: Read> Taking<'a, R> {
    fn all(&mut self) -> Result<Vec<Unpacking>, StoreError> {
        let head = self.text(HEAD)?;
        let head: Head = serde_json::from_slice(&head).map_err(|e| broken(format!("has no list of runs: {e}")))?;
        if head.fenxi_archive > ARCHIVE {
            let (path, found) = (PathBuf::from("the archive"), head.fenxi_archive);
            return Err(StoreError::Version { path, found, known: ARCHIVE });
        }
        if head.runs.len() > self.meter.limits.runs {
            return Err(StoreError::ArchiveLimit { what: "runs".to_owned() });
        }
        let ids: Option<Vec<RunId>> = head.runs.iter().map(|id| RunId::parse(id).filter(|_| id.len() < 200)).collect();
        let ids = ids.filter(|ids| !ids.is_empty() && ids.windows(2).all(|pair| pair[0] < pair[1]));
        let ids = ids.ok_or_else(|| broken("has no list of runs in order"))?;
        let runs = ids.iter().map(|id| self.run(id)).collect::<Result<Vec<_>, _>>()?;
        match self.next()? {
            None => Ok(runs),
            Some(more) => Err(broken(format!("has `{}` after its last run", more.name))),
        }
    }

    fn run(&mut self, id: &RunId) -> Result<Unpacking, StoreError> {
        let labels_name = labels_file(id);
        let found = self.next()?;
        let labels = match found {
            Some(next) if next.name == labels_name => Some(self.read_text(next)?),
            other => {
                self.ahead = other;
                None
            }
        };
        if let Some(text) = &labels {
            serde_json::from_slice::<Labels>(text)
                .map_err(|e| broken(format!("has no labels in {labels_name}: {e}")))?;
        }
        let text = self.text(&run_file(id, "run.json"))?;
        let manifest = manifest(id, &text)?;
        let is_new = !known(self.store, &manifest)?;
        let dir = self.part.run_dir(id);
        if is_new {
            fs::create_dir(&dir)?;
            if manifest.files.iter().any(|f| f.name.starts_with(RAW)) {
                fs::create_dir(dir.join(RAW))?;
            }
        }
        let mut files: Vec<&FileEntry> = manifest.files.iter().collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        for file in files {
            self.file(id, file, is_new.then(|| dir.join(&file.name)).as_deref())?;
        }
        if is_new {
            write_synced(&dir.join("run.json"), &text)?;
            if dir.join(RAW).is_dir() {
                sync_dir(&dir.join(RAW))?;
            }
            sync_dir(&dir)?;
        }
        Ok(Unpacking { manifest, labels, is_new })
    }

    /// Reads one file of a run, compares it with its manifest and keeps it at `path`, if it is to be kept.
    fn file(&mut self, id: &RunId, file: &FileEntry, path: Option<&Path>) -> Result<(), StoreError> {
        let name = run_file(id, &file.name);
        let mut next = self.expect(&name)?;
        if next.entry.size() != file.bytes {
            let size = next.entry.size();
            return Err(broken(format!("has {size} bytes of {name}, its manifest says {}", file.bytes)));
        }
        let mut kept = path.map(fs::File::create_new).transpose()?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0u8; 1 << 16];
        let mut bytes = 0;
        loop {
            let n = next.entry.read(&mut buffer).map_err(|e| self.meter.fault(&e))?;
            if n == 0 {
                break;
            }
            hasher.update(&buffer[..n]);
            bytes += n as u64;
            if let Some(kept) = &mut kept {
                kept.write_all(&buffer[..n])?;
            }
        }
        if bytes != file.bytes {
            return Err(broken("is cut short"));
        }
        if hasher.finalize().to_hex().as_str() != file.blake3 {
            return Err(broken(format!("is damaged: the BLAKE3 of {name} is not the one in its manifest")));
        }
        if let (Some(kept), Some(path)) = (kept, path) {
            kept.sync_all()?;
            if file.table.is_some() {
                let file_again = fs::File::open(path)?;
                check_table(file_again, file).map_err(|what| broken(format!("is damaged: {name} {what}")))?;
            }
        }
        Ok(())
    }

    /// The content of the entry that must come next, of which it is known that it is short.
    fn text(&mut self, name: &str) -> Result<Vec<u8>, StoreError> {
        let next = self.expect(name)?;
        self.read_text(next)
    }

    fn read_text(&self, mut next: Next<'a, R>) -> Result<Vec<u8>, StoreError> {
        let size = next.entry.size();
        if size > TEXT {
            return Err(StoreError::ArchiveLimit { what: format!("bytes in {}", next.name) });
        }
        let mut text = Vec::new();
        next.entry.read_to_end(&mut text).map_err(|e| self.meter.fault(&e))?;
        if text.len() as u64 == size { Ok(text) } else { Err(broken("is cut short")) }
    }

    /// The entry that must come next.
    fn expect(&mut self, name: &str) -> Result<Next<'a, R>, StoreError> {
        match self.next()? {
            Some(next) if next.name == name => Ok(next),
            Some(next) => Err(broken(format!("has `{}` where {name} is expected", next.name))),
            None if name == HEAD => Err(broken("is no archive of runs; `fenxi export` makes one")),
            None => Err(broken("is cut short")),
        }
    }

    /// The next entry: a regular file, or nothing.
    fn next(&mut self) -> Result<Option<Next<'a, R>>, StoreError> {
        if self.ahead.is_some() {
            return Ok(self.ahead.take());
        }
        let mut long_name = None;
        loop {
            let Some(entry) = self.entries.next() else { return Ok(None) };
            let mut entry = entry.map_err(|e| self.meter.fault(&e))?;
            let kind = entry.header().entry_type();
            if kind.is_gnu_longname() && long_name.is_none() && entry.size() <= NAME {
                let mut name = Vec::new();
                entry.read_to_end(&mut name).map_err(|e| self.meter.fault(&e))?;
                name.truncate(name.iter().position(|b| *b == 0).unwrap_or(name.len()));
                long_name = Some(name);
                continue;
            }
            let name = long_name.unwrap_or_else(|| entry.header().path_bytes().into_owned());
            let name = String::from_utf8_lossy(&name).escape_debug().to_string();
            if !kind.is_file() {
                return Err(broken(format!("has `{name}`, which is no regular file")));
            }
            self.files += 1;
            // The list itself is none of the files.
            if self.files > self.meter.limits.files.saturating_add(1) {
                return Err(StoreError::ArchiveLimit { what: "files".to_owned() });
            }
            return Ok(Some(Next { name, entry }));
        }
    }
}

/// The manifest in `text`, if it is the whole and unchanged one of the run `id`, and all files that it names are where a
/// run has its own.
fn manifest(id: &RunId, text: &[u8]) -> Result<Manifest, StoreError> {
    let wrong = |what: String| broken(format!("is damaged: the manifest of {id} {what}"));
    let manifest: Manifest = serde_json::from_slice(text).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    if manifest.format > FORMAT {
        let path = PathBuf::from(run_file(id, "run.json"));
        return Err(StoreError::Version { path, found: manifest.format, known: FORMAT });
    }
    if manifest.id != *id {
        return Err(wrong(format!("is that of {:?}", manifest.id.as_str())));
    }
    if !manifest_is_intact(&String::from_utf8_lossy(text), &manifest.digest) {
        return Err(wrong("was changed: its digest does not fit".to_owned()));
    }
    let mut names = BTreeSet::new();
    for file in &manifest.files {
        if !is_own(file) {
            return Err(wrong(format!("names {:?}, which is no file of a run", file.name)));
        }
        if !names.insert(file.name.as_str()) {
            return Err(wrong(format!("names {} twice", file.name)));
        }
    }
    match manifest.inputs.iter().find(|input| !names.contains(input.raw.name.as_str())) {
        Some(input) => Err(wrong(format!("keeps an input in {:?}, which is none of its files", input.raw.name))),
        None => Ok(manifest),
    }
}

/// Whether a file is of those that runs have: `<table>.parquet`, or `raw/<name>`.
fn is_own(file: &FileEntry) -> bool {
    let is_plain = |name: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-+@=".contains(&b);
        !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.bytes().all(plain)
    };
    match (&file.table, file.name.strip_prefix("raw/")) {
        (Some(table), None) => is_plain(table) && file.name.strip_suffix(".parquet") == Some(table.as_str()),
        (None, Some(name)) => is_plain(name),
        _ => false,
    }
}
