//! Checksum verification of files before their rows are used.
//!
//! A comparison holds as long as device, inode, size and both times of the file stay what they were. A process
//! remembers it for itself. Hashing is cheap for small files; that of large ones, and of those of very many runs, is
//! remembered for other processes too, in `cache/verified` and for a day: deleting that file is harmless, and who
//! edits a file of a run gains nothing by it, because no program can set the second time.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use fenxi_model::RunId;
use fs_err as fs;

use crate::{
    FileEntry, Manifest, Store, StoreError, TableFile,
    bounds::MANY,
    folder::open_regular,
    runs::way_out,
    stamp::{Stamp, now_ns},
    verified::Verified,
};

/// Bytes from which on a comparison is remembered beyond the process.
const LARGE: u64 = 4 << 20;
/// Bytes read at a time.
const BUFFER: usize = 256 << 10;
/// Threads that hash beside each other.
const THREADS: usize = 8;

/// Expected length and checksum of a file.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Option<u64>,
    pub(crate) blake3: String,
}

/// A file that is to be compared, as it was found.
struct Due {
    expected: Expected,
    stamp: Stamp,
}

impl Store {
    /// Compares files with their checksums, unless this was done since they last changed: to be called before rows of
    /// them are used, each time.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first file that is not as it was sealed.
    pub fn check(&self, files: &[TableFile]) -> Result<(), StoreError> {
        let mut manifests: BTreeMap<&RunId, Manifest> = BTreeMap::new();
        let is_many = files.len() > MANY;
        let (mut due, mut record) = (Vec::new(), None);
        for file in files {
            let stamp = match fs::metadata(&file.path) {
                Ok(meta) => Stamp::from_metadata(&meta),
                // Removed since it was listed, with its run: there is nothing to believe.
                Err(e)
                    if e.kind() == io::ErrorKind::NotFound && file.runs().iter().all(|r| !self.run_dir(r).exists()) =>
                {
                    continue;
                }
                // A file that is missing, or cannot be looked at, is compared as what it should be.
                Err(_) => Stamp::default(),
            };
            let is_known = self.checked().knows(&file.path, stamp)
                || (is_many || stamp.size >= LARGE)
                    && record.get_or_insert_with(|| Verified::load(self)).vouches(&file.path, stamp);
            if is_known {
                continue;
            }
            let blake3 = match (&file.blake3, file.runs().first()) {
                (Some(blake3), _) => blake3.clone(),
                (None, None) => continue,
                (None, Some(run)) => {
                    if !manifests.contains_key(run) {
                        manifests.insert(run, self.manifest(run)?);
                    }
                    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
                    let listed = manifests.get(run).into_iter().flat_map(|m| &m.files);
                    let entry = listed.into_iter().find(|f| f.name == name);
                    entry.ok_or_else(|| self.wrong(&file.path, "it is not in the manifest"))?.blake3.clone()
                }
            };
            due.push(Due { expected: Expected { path: file.path.clone(), bytes: None, blake3 }, stamp });
        }
        self.compare(due, is_many)
    }

    /// Compares one file of a run with its manifest, as [`Store::check`] does.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is not as it was sealed.
    pub fn check_file(&self, run: &RunId, entry: &FileEntry) -> Result<(), StoreError> {
        let path = self.run_dir(run).join(&entry.name);
        self.check_one(Expected { path, bytes: Some(entry.bytes), blake3: entry.blake3.clone() })
    }

    /// Compares one file with what it must be.
    pub(crate) fn check_one(&self, expected: Expected) -> Result<(), StoreError> {
        let stamp = fs::metadata(&expected.path).map(|meta| Stamp::from_metadata(&meta)).unwrap_or_default();
        if self.checked().knows(&expected.path, stamp) {
            return Ok(());
        }
        if stamp.size >= LARGE && Verified::load(self).vouches(&expected.path, stamp) {
            // Asked again and again of a file of many runs: what others wrote down is read once.
            self.checked().add(expected.path, stamp);
            return Ok(());
        }
        self.compare(vec![Due { expected, stamp }], false)
    }

    /// Compares one file with what it must be, whatever was found before.
    pub(crate) fn compare_anew(&self, expected: Expected) -> Result<(), StoreError> {
        let stamp = Stamp::from_metadata(&fs::metadata(&expected.path)?);
        self.hash(&Due { expected, stamp }, &mut vec![0u8; BUFFER]).map(|_| ())
    }

    fn compare(&self, due: Vec<Due>, is_many: bool) -> Result<(), StoreError> {
        if due.is_empty() {
            return Ok(());
        }
        let mut outcomes: Vec<Option<Result<Stamp, StoreError>>> = Vec::new();
        outcomes.resize_with(due.len(), || None);
        let outcomes = Mutex::new(outcomes);
        let turn = AtomicUsize::new(0);
        let work = || {
            let mut buffer = vec![0u8; BUFFER];
            loop {
                let place = turn.fetch_add(1, Ordering::Relaxed);
                let Some(one) = due.get(place) else { return };
                let outcome = self.hash(one, &mut buffer);
                outcomes.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(outcome);
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(THREADS)).min(due.len());
        if threads <= 1 || due.iter().map(|d| d.stamp.size).sum::<u64>() < LARGE {
            work();
        } else {
            std::thread::scope(|scope| {
                for _ in 1..threads {
                    scope.spawn(work);
                }
                work();
            });
        }
        let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (now, mut lasting) = (now_ns(), Vec::new());
        for (one, outcome) in due.iter().zip(outcomes) {
            let outcome = outcome.unwrap_or_else(|| Err(self.wrong(&one.expected.path, "it could not be compared")));
            let stamp = match outcome {
                Ok(stamp) => stamp,
                Err(why) => {
                    self.heal(&one.expected, why)?;
                    continue;
                }
            };
            if stamp.is_settled(now) {
                self.checked().add(one.expected.path.clone(), stamp);
                if is_many || stamp.size >= LARGE {
                    lasting.push((one.expected.path.clone(), stamp));
                }
            }
        }
        Verified::add(self, &lasting, now);
        Ok(())
    }

    /// Hashes a file; gives what it was when it was read.
    fn hash(&self, due: &Due, buffer: &mut [u8]) -> Result<Stamp, StoreError> {
        let path = &due.expected.path;
        let mut file = match open_regular(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(self.wrong(path, "it is missing")),
            opened => opened?,
        };
        let before = Stamp::from_metadata(&file.metadata()?);
        if let Some(bytes) = due.expected.bytes.filter(|bytes| *bytes != before.size) {
            return Err(self.wrong(path, &format!("it has {} bytes, {bytes} were written", before.size)));
        }
        let mut hasher = blake3::Hasher::new();
        loop {
            match file.read(buffer) {
                Ok(0) => break,
                Ok(n) => hasher.update(&buffer[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e.into()),
            };
        }
        if hasher.finalize().to_hex().as_str() != due.expected.blake3 {
            return Err(self.wrong(path, "it was changed: its BLAKE3 is not the one that was written down"));
        }
        // A file that changed while it was read is no longer what was compared.
        match Stamp::from_metadata(&file.metadata()?) == before {
            true => Ok(before),
            false => Err(self.wrong(path, "it is being changed")),
        }
    }

    /// The error for a file that cannot be believed, with the way out where it is a run's.
    fn wrong(&self, path: &Path, what: &str) -> StoreError {
        let within = path.strip_prefix(self.runs_dir()).ok().and_then(|p| p.components().next());
        let run = within.map(|c| c.as_os_str().to_string_lossy().into_owned());
        let id = run.as_deref().and_then(|name| name.strip_prefix("run=")).and_then(RunId::parse);
        match id {
            Some(id) => StoreError::damaged(path, format!("{what}; no row of it is used; {}", way_out(&id))),
            None => StoreError::damaged(path, what),
        }
    }
}
