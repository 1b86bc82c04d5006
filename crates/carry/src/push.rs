//! Pushing: what a place lacks is put there, a run's manifest after its files.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use fenxi_model::RunId;
use fenxi_store::{FileEntry, LabelConflict, Store};
use fs_err as fs;

use crate::{
    CarryError, Place, Transfer,
    fetch::small,
    names::{MARK_BYTES, STATE, manifest_of},
};

/// The longest such list: it has a hundred bytes for each run.
const STATE_BYTES: u64 = 64 << 20;
/// Folders of small files that may change, besides labels.
const SMALL: &[&str] = &["questions", "questions/.kept", "formats", "findings", "studies"];

/// Result of a push, or of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Runs that were there already.
    pub known: usize,
    /// Runs that were put there.
    pub runs: usize,
    /// Files of these, and other ones.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that were removed there, because their rows are in files of many runs now.
    pub removed: u64,
    /// The runs that were put there.
    pub ids: Vec<RunId>,
    /// Runs that were there already whose labels were merged.
    pub labels: usize,
    /// Fields of labels that both sides had changed.
    pub conflicts: Vec<LabelConflict>,
    /// Runs that cannot be read there, and why.
    pub unreadable: Vec<String>,
}

/// A push in progress.
struct Pushing<'a> {
    store: &'a Store,
    place: &'a dyn Place,
    transfer: &'a Transfer<'a>,
    /// Files that lie there: names and sizes.
    there: BTreeMap<String, u64>,
    files: AtomicU64,
    bytes: AtomicU64,
}

/// Puts runs at a place, all of them without `runs`, with their labels; then also what else a store has.
///
/// # Errors
/// When a file is damaged here or does not arrive; what did arrive is not sent again.
pub fn push(
    store: &Store,
    place: &dyn Place,
    runs: Option<&[RunId]>,
    transfer: &Transfer<'_>,
) -> Result<Pushed, CarryError> {
    if !transfer.dry_run {
        place.clear()?;
    }
    let there = place.list()?;
    let pushing = Pushing { store, place, transfer, there, files: AtomicU64::new(0), bytes: AtomicU64::new(0) };
    pushing.claim()?;
    let mut ids = runs.map_or_else(|| store.ids(), |runs| Ok(runs.to_vec()))?;
    ids.sort();
    ids.dedup();
    let mut pushed = Pushed::default();
    // Files of many runs first, but not what names them: concurrent readers read the runs' own files.
    let packed = if runs.is_none() { store.packed_files()? } else { Vec::new() };
    for file in &packed {
        pushing.file(&file.name, &store.path().join(&file.name), file.bytes)?;
    }
    let new: Vec<&RunId> = ids.iter().filter(|id| !pushing.there.contains_key(&manifest_of(id))).collect();
    pushed.runs = new.len();
    pushed.ids = new.iter().map(|id| (*id).clone()).collect();
    pushed.known = ids.len() - new.len();
    for id in ids.iter().filter(|id| pushing.there.contains_key(&manifest_of(id))) {
        pushing.same(id)?;
    }
    pushing.runs(&new, runs.is_none())?;
    pushing.small(&ids, runs.is_none())?;
    if runs.is_none() {
        pushed.removed = pushing.replaced(&packed)?;
    }
    pushed.files = pushing.files.into_inner();
    pushed.bytes = pushing.bytes.into_inner();
    Ok(pushed)
}

impl Pushing<'_> {
    /// Marks the place as this store's; one of another store takes runs, but no files of many runs.
    fn claim(&self) -> Result<(), CarryError> {
        let own = self.store.read_own(&self.store.path().join("store.json"))?;
        match small(self.place, "store.json", MARK_BYTES)? {
            None => self.bytes("store.json", &own),
            Some(theirs) if id_of(&theirs) != id_of(&own) && !self.store.packed_files()?.is_empty() => {
                Err(CarryError::Foreign { place: self.place.name(), theirs: id_of(&theirs), ours: id_of(&own) })
            }
            Some(_) => Ok(()),
        }
    }

    /// A run that is there must be this one: its manifest has the same size, whose digest is in it.
    fn same(&self, id: &RunId) -> Result<(), CarryError> {
        let name = manifest_of(id);
        let own = fs::metadata(self.store.path().join(&name))?.len();
        if self.there.get(&name) == Some(&own) {
            return Ok(());
        }
        Err(CarryError::Differs { place: self.place.name(), run: id.to_string() })
    }

    /// Puts runs there, several at the same time.
    fn runs(&self, ids: &[&RunId], all: bool) -> Result<(), CarryError> {
        let (turn, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let failed: Mutex<Option<CarryError>> = Mutex::new(None);
        let has_failed = || failed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let work = || {
            while let Some(id) = ids.get(turn.fetch_add(1, Ordering::Relaxed)).filter(|_| !has_failed()) {
                if let Err(error) = self.run(id, all) {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    return;
                }
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                (self.transfer.watch)(done, ids.len(), self.bytes.load(Ordering::Relaxed));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.transfer.threads.max(1) {
                scope.spawn(work);
            }
            work();
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Puts a run there: what is in files of many runs only where these are not pushed with it.
    fn run(&self, id: &RunId, all: bool) -> Result<(), CarryError> {
        let folder = format!("runs/run={id}");
        if all {
            let manifest = self.store.run(id)?.manifest;
            for entry in self.store.own_files(&manifest)? {
                self.store.check_file(id, entry)?;
                let path = self.store.run_dir(id).join(&entry.name);
                self.file(&format!("{folder}/{}", entry.name), &path, entry.bytes)?;
            }
            let path = self.store.run_dir(id).join("run.json");
            return self.file(&manifest_of(id), &path, fs::metadata(&path)?.len());
        }
        let whole = self.store.whole(id)?;
        for (entry, path) in whole.files() {
            self.file(&format!("{folder}/{}", entry.name), &path, entry.bytes)?;
        }
        self.bytes(&manifest_of(id), whole.manifest_text())
    }

    /// Puts a file there that never changes, unless it is there.
    fn file(&self, name: &str, path: &Path, bytes: u64) -> Result<(), CarryError> {
        if self.there.get(name) == Some(&bytes) {
            return Ok(());
        }
        if !self.transfer.dry_run {
            self.place.put_file(name, path)?;
        }
        self.count(bytes);
        Ok(())
    }

    fn bytes(&self, name: &str, bytes: &[u8]) -> Result<(), CarryError> {
        if !self.transfer.dry_run {
            self.place.put(name, bytes)?;
        }
        self.count(bytes.len() as u64);
        Ok(())
    }

    fn count(&self, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Puts there what may change: labels of the runs, and of a whole store also questions, studies and what names files of
    /// many runs. A list of checksums there shows what is known.
    fn small(&self, ids: &[RunId], all: bool) -> Result<(), CarryError> {
        let mut names: Vec<String> = ids.iter().map(|id| format!("labels/{id}.json")).collect();
        if all {
            for folder in SMALL {
                let Ok(entries) = fs::read_dir(self.store.path().join(folder)) else { continue };
                for entry in entries {
                    let entry = entry?;
                    let name = entry.file_name().to_string_lossy().into_owned();
                    if entry.file_type()?.is_file() && !name.starts_with('.') && !name.ends_with(".lock") {
                        names.push(format!("{folder}/{name}"));
                    }
                }
            }
            names.push("compacted/manifest.json".to_owned());
        }
        let known = small(self.place, STATE, STATE_BYTES)?.unwrap_or_default();
        let mut known: BTreeMap<String, String> = serde_json::from_slice(&known).unwrap_or_default();
        let before = known.clone();
        for name in names {
            let text = match self.store.read_own(&self.store.path().join(&name)) {
                Ok(text) => text,
                Err(e) if e.is_not_found() => continue,
                Err(e) => return Err(e.into()),
            };
            let digest = blake3::hash(&text).to_hex().to_string();
            if known.get(&name) != Some(&digest) || !self.there.contains_key(&name) {
                self.bytes(&name, &text)?;
                known.insert(name, digest);
            }
        }
        if known != before && !self.transfer.dry_run {
            let text = serde_json::to_vec(&known).map_err(|e| storage(self.place, &e))?;
            self.place.put(STATE, &text)?;
        }
        Ok(())
    }

    /// Removes there what files of many runs have replaced: own files of runs, and older files of many runs.
    fn replaced(&self, packed: &[FileEntry]) -> Result<u64, CarryError> {
        let mut removed = 0;
        for name in self.there.keys() {
            let is_old = name.starts_with("compacted/")
                && name.ends_with(".parquet")
                && !packed.iter().any(|file| file.name == *name);
            if is_old || self.is_packed(name)? {
                if !self.transfer.dry_run {
                    self.place.delete(name)?;
                }
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn is_packed(&self, name: &str) -> Result<bool, CarryError> {
        let parts = name.strip_prefix("runs/run=").and_then(|rest| rest.split_once('/'));
        let Some((id, table)) = parts.and_then(|(id, file)| Some((RunId::parse(id)?, file.strip_suffix(".parquet")?)))
        else {
            return Ok(false);
        };
        Ok(self.store.is_packed(&id, table)?)
    }
}

fn storage(place: &dyn Place, error: &dyn std::fmt::Display) -> CarryError {
    CarryError::Storage { what: place.name(), why: error.to_string() }
}

/// The id of a store, as its mark has it.
pub(crate) fn id_of(mark: &[u8]) -> String {
    let mark: serde_json::Value = serde_json::from_slice(mark).unwrap_or_default();
    mark["id"].as_str().unwrap_or("unknown").chars().take(40).collect()
}
