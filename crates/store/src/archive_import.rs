//! Import of run archives. An archive may come from anybody, so everything in it is validated.
//!
//! The next entry is always known: the list of runs, then each run's manifest, then the files of that manifest in the
//! order of their names. Names in the archive are compared with what is expected and never followed; those
//! in a manifest must be of a run's own layout. Everything is unpacked into a hidden directory, checked against its
//! BLAKE3, and shown with one rename for each run, after the whole archive was read.

mod manifest;

use std::{
    cell::Cell,
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
    rc::Rc,
};

use fenxi_model::RunId;
use fs_err as fs;
use tar::{Archive, Entries};

use crate::{
    FileEntry, Labels, Manifest, Store, StoreError,
    archive::{ARCHIVE, HEAD, Head, labels_file, run_file},
    bounds::{MANIFEST, TEXT, excess},
    digest,
    fs::{sync_dir, write_synced},
    locks::{Keeps, Scratch},
    runs::OF_LABELS,
    seal::RAW,
    verify::check_table,
};

/// The most that is taken from an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Runs in it.
    pub runs: usize,
    /// Files of all runs together.
    pub files: u64,
    /// Bytes of the archive, unpacked.
    pub bytes: u64,
    /// Bytes of all manifests and labels together: every listing reads of them.
    pub text: u64,
    /// How many times the packed bytes the unpacked ones may be; the first [`ALWAYS`] are free.
    pub ratio: u64,
}

impl Default for ArchiveLimits {
    /// Limits that no exported archive reaches: for archives on the user's own disk.
    fn default() -> ArchiveLimits {
        ArchiveLimits { runs: 100_000, files: 10_000_000, bytes: 1 << 42, text: 1 << 30, ratio: 200 }
    }
}

/// Unpacked bytes that may be of any ratio: a few small files are mostly the zeros between them.
pub const ALWAYS: u64 = 16 << 20;
/// Bytes of a list of runs, for each run that may be in it.
const NAMED: u64 = 256;
/// The longest list of runs.
const HEAD_TEXT: u64 = 8 << 20;
/// The longest name of an entry.
const NAME: u64 = 4096;
/// Bytes that may follow the last entry: a tar is filled up with zeros.
const FILLING: u64 = 1 << 20;
/// The largest window of zstd, as a power of two: what unpacking may take of memory.
const WINDOW_LOG: u32 = 24;

/// A run that was in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedRun {
    /// The run.
    pub id: RunId,
    /// True if it is new; otherwise the same run was there already and stays as it is, with its labels.
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
    pub fn import_archive(&self, archive: impl Read, limits: &ArchiveLimits) -> Result<Vec<ImportedRun>, StoreError> {
        let meter = Rc::new(Meter { limits: *limits, ..Meter::default() });
        let packed = Packed { inner: archive, meter: Rc::clone(&meter) };
        let unpack = || {
            let mut decoder = zstd::Decoder::with_buffer(BufReader::with_capacity(1 << 16, packed))?;
            decoder.window_log_max(WINDOW_LOG)?;
            io::Result::Ok(Archive::new(Unpacked { inner: decoder, meter: Rc::clone(&meter) }))
        };
        let mut archive = unpack().map_err(|e| meter.fault(&e))?;
        let part = Part::create(self)?;
        // Which runs there are is a question of the whole store: none is written over.
        let whole = self.all_runs();
        let mut taking = Taking {
            store: &whole,
            handle: self,
            part: &part,
            meter: &meter,
            // Extensions of tar are not the crate's to read: it would hold them in memory, whatever their size.
            entries: archive.entries().map_err(|e| meter.fault(&e))?.raw(true),
            files: 0,
            text: 0,
            ahead: None,
        };
        let runs = taking.all()?;
        end_of(&mut archive.into_inner(), &meter)?;
        let mut shown = Vec::with_capacity(runs.len());
        for run in runs {
            let run = part.show(&whole, run)?;
            if run.is_new {
                self.made(&run.id);
            }
            shown.push(run);
        }
        Ok(shown)
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

/// The error for an archive that is not as it must be.
fn broken(why: impl ToString) -> StoreError {
    StoreError::Archive { why: why.to_string() }
}

/// How much was read, and how much may be.
#[derive(Default)]
struct Meter {
    limits: ArchiveLimits,
    packed: Cell<u64>,
    unpacked: Cell<u64>,
    /// The limit that was exceeded.
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

/// The hidden directory in which runs are unpacked; gone with the value.
struct Part(Scratch);

impl Part {
    fn create(store: &Store) -> Result<Part, StoreError> {
        Ok(Part(store.scratch()?))
    }

    fn run_dir(&self, id: &RunId) -> PathBuf {
        self.0.path(id.as_str())
    }

    /// Where the labels of a run wait until it is shown.
    fn labels(&self, id: &RunId) -> PathBuf {
        self.0.path(&format!(".labels-{id}"))
    }

    /// Shows one run. Its labels come first: it is never seen without them.
    fn show(&self, store: &Store, run: Unpacking) -> Result<ImportedRun, StoreError> {
        let Unpacking { id, digest, bytes, is_new } = run;
        if !is_new {
            return Ok(ImportedRun { id, is_new: false, bytes });
        }
        let change = store.begin_change(&[format!("runs/run={id}")])?;
        let turn = store.changing()?;
        match fs::read(self.labels(&id)) {
            Ok(labels) => {
                store.make_dir("labels")?;
                store.replace(&store.labels_path(&id), &labels, Keeps::OverPowerLoss)?;
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e.into()),
        }
        store.make_dir("runs")?;
        store.modes().apply_all(&self.run_dir(&id))?;
        match fs::rename(self.run_dir(&id), store.own_dir(&id)) {
            Ok(()) => sync_dir(&store.runs_dir())?,
            // Somebody else took it in meanwhile, or another one of its id.
            Err(e) => {
                let known = known(store, &id, &digest)?;
                return if known { Ok(ImportedRun { id, is_new: false, bytes }) } else { Err(e.into()) };
            }
        }
        drop(turn);
        store.end_change(change);
        Ok(ImportedRun { id, is_new: true, bytes })
    }
}

/// Whether the store has this very run; an error when it has another one of its id.
fn known(store: &Store, id: &RunId, digest: &str) -> Result<bool, StoreError> {
    if store.open_dir().join(id.as_str()).exists() {
        return Err(StoreError::Recording { id: id.clone() });
    }
    match store.manifest(id) {
        Ok(here) if here.digest == digest => Ok(true),
        Ok(_) => Err(StoreError::Differs { id: id.clone() }),
        Err(StoreError::Unknown { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A run that was unpacked: no more of it than showing it needs, because all of them are held until the end.
struct Unpacking {
    id: RunId,
    digest: String,
    bytes: u64,
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
    /// The handle that asked, which may know only some runs.
    handle: &'a Store,
    part: &'a Part,
    meter: &'a Meter,
    entries: Entries<'a, R>,
    files: u64,
    /// Bytes of manifests and labels so far.
    text: u64,
    /// An entry that was read when labels were looked for, and is none.
    ahead: Option<Next<'a, R>>,
}

impl<'a, R: Read> Taking<'a, R> {
    fn all(&mut self) -> Result<Vec<Unpacking>, StoreError> {
        let runs = self.meter.limits.runs;
        let most = (runs as u64).saturating_mul(NAMED).clamp(1 << 16, HEAD_TEXT);
        let head = self.text(HEAD, most)?;
        // Every name is between two quotation marks: they are counted before the names are read.
        if head.iter().filter(|b| **b == b'"').count() / 2 > runs.saturating_add(8) {
            return Err(StoreError::ArchiveLimit { what: "runs".to_owned() });
        }
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

    /// The labels of a run as a handle that knows only some runs takes it in; None where it stays as it is.
    fn filed(&self, manifest: &Manifest, given: Option<Labels>) -> Result<Option<Vec<u8>>, StoreError> {
        let before = given.unwrap_or_else(|| manifest.first_labels());
        let mut after = before.clone();
        self.handle.file(&mut after.tags)?;
        if after == before {
            return Ok(None);
        }
        let path = self.store.labels_path(&manifest.id);
        digest::text_of(&self.handle.logged(&before, &after), &path).map(Some)
    }

    fn run(&mut self, id: &RunId) -> Result<Unpacking, StoreError> {
        let labels_name = labels_file(id);
        let found = self.next()?;
        let labels = match found {
            Some(next) if next.name == labels_name => Some(self.read_text(next, TEXT as u64)?),
            other => {
                self.ahead = other;
                None
            }
        };
        let mut given = None;
        if let Some(text) = &labels {
            self.weigh(&labels_name, text)?;
            let (read, _) = digest::value_of::<Labels>(text, Path::new(&labels_name), OF_LABELS)
                .map_err(|e| broken(format!("has no labels in {labels_name}: {e}")))?;
            given = Some(read);
        }
        let name = run_file(id, "run.json");
        let text = self.text(&name, MANIFEST)?;
        self.weigh(&name, &text)?;
        let manifest = manifest::manifest(id, &text)?;
        let is_new = !known(self.store, id, &manifest.digest)?;
        let dir = self.part.run_dir(id);
        if is_new {
            fs::create_dir(&dir)?;
            let labels = self.filed(&manifest, given)?.or(labels);
            if let Some(labels) = &labels {
                fs::File::create_new(self.part.labels(id))?.write_all(labels)?;
            }
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
        let bytes = manifest.files.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
        Ok(Unpacking { id: manifest.id, digest: manifest.digest, bytes, is_new })
    }

    /// Refuses a manifest or labels that hold more than anybody has a reason to write.
    fn weigh(&mut self, name: &str, text: &[u8]) -> Result<(), StoreError> {
        self.text += text.len() as u64;
        if self.text > self.meter.limits.text {
            return Err(StoreError::ArchiveLimit { what: "bytes of manifests and labels".to_owned() });
        }
        excess(text).map_or(Ok(()), |what| Err(broken(format!("has too much in {name}: {what}"))))
    }

    /// Reads one file of a run, compares it with its manifest and keeps it at `path`, if it is to be kept.
    fn file(&mut self, id: &RunId, file: &FileEntry, path: Option<&Path>) -> Result<(), StoreError> {
        let name = run_file(id, &file.name);
        let mut next = self.expect(&name)?;
        if next.entry.size() != file.bytes {
            let size = next.entry.size();
            return Err(broken(format!("has {size} bytes of {name}, {} by its manifest", file.bytes)));
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
    fn text(&mut self, name: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        let next = self.expect(name)?;
        self.read_text(next, most)
    }

    fn read_text(&self, mut next: Next<'a, R>, most: u64) -> Result<Vec<u8>, StoreError> {
        let size = next.entry.size();
        if size > most {
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
            None if name == HEAD => Err(broken("is not an archive of runs; `fenxi store export` makes one")),
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
                return Err(broken(format!("has `{name}`, which is not a regular file")));
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
