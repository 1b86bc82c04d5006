//! The store: a directory of runs, and where everything is in it.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use fenxi_model::RunId;
use fs_err as fs;

use crate::{
    StoreError,
    bounds::WHOLE,
    folder::Folder,
    fs as files,
    fs::Modes,
    mark::{self, MARK, MARK_BYTES},
    only::Seen,
    packed::CompactedCache,
    seen::Checked,
};

/// A store of runs. A cheap handle: clones name the same directory, and know what one of them has checked.
#[derive(Clone, Debug)]
pub struct Store {
    path: Arc<Path>,
    modes: Modes,
    checked: Arc<Checked>,
    packed: Arc<CompactedCache>,
    /// Who changes labels; None: the user of this process.
    pub(crate) by: Option<Arc<str>>,
    /// Further folders to which everything is written.
    pub(crate) copies: Arc<[PathBuf]>,
    /// The only runs that this handle knows; None: all.
    pub(crate) seen: Option<Arc<Seen>>,
}

impl Store {
    /// The default path of the store: `$XDG_DATA_HOME/fenxi` or `~/.local/share/fenxi`.
    pub fn default_path() -> PathBuf {
        let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        match (set("XDG_DATA_HOME"), set("HOME")) {
            (Some(data), _) => data.join("fenxi"),
            (None, Some(home)) => home.join(".local/share/fenxi"),
            (None, None) => PathBuf::from("fenxi-store"),
        }
    }

    /// Opens the store at `path`.
    ///
    /// # Errors
    /// When there is none, or one of a later version.
    pub fn open(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        let read = |folder: Folder| Ok((folder.read(MARK, MARK_BYTES)?, folder));
        let (text, folder) = match Folder::open(path).and_then(read) {
            Ok(read) => read,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(StoreError::NotAStore { path: path.to_owned() });
            }
            Err(e) => return Err(e.into()),
        };
        let mark::Settings { modes, copies } = mark::read(&text, &path.join(MARK))?;
        // A write through a link ends outside: a store from an untrusted source must not choose where.
        for name in OWN.iter().chain(&["findings"]) {
            folder.not_a_link(name)?;
        }
        Ok(Store {
            path: path.into(),
            modes,
            checked: Arc::default(),
            packed: Arc::default(),
            by: None,
            copies: copies.into(),
            seen: None,
        })
    }

    /// Opens the store at `path`; makes one where nothing is.
    ///
    /// # Errors
    /// When the directory holds something else, or cannot be written.
    pub fn open_or_create(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        match Store::open(path) {
            Err(StoreError::NotAStore { .. }) => {}
            other => return other,
        }
        fs::create_dir_all(path)?;
        if files::names(path)?.iter().any(|name| !name.starts_with('.') && !OWN.contains(&name.as_str())) {
            return Err(StoreError::Occupied { path: path.to_owned() });
        }
        let modes = mark::of_creator();
        modes.apply(path)?;
        let folder = Folder::open(path)?;
        for dir in OWN.iter().filter(|name| **name != MARK) {
            folder.make(dir, modes.of_folders())?;
        }
        let mut random = [0u8; 8];
        fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        mark::write(path, u64::from_le_bytes(random), modes)?;
        Store::open(path)
    }

    /// The store's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of sealed runs, each `run=<id>`.
    pub fn runs_dir(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// The directory of the sealed run `id`, whether it exists or not. That of a range of time is in the cache, unless it
    /// was imported as a run.
    pub fn run_dir(&self, id: &RunId) -> PathBuf {
        let own = self.own_dir(id);
        self.range_dir(id).filter(|_| !own.exists()).unwrap_or(own)
    }

    /// The directory of the run `id` among the runs; one that never exists where this handle does not know the run.
    pub(crate) fn own_dir(&self, id: &RunId) -> PathBuf {
        self.known_dir("runs", id).join(format!("run={id}"))
    }

    /// An error where `id` is a range of time, which cannot be changed.
    pub(crate) fn not_a_range(&self, id: &RunId) -> Result<(), StoreError> {
        if id.is_range() && !self.own_dir(id).exists() { Err(StoreError::IsRange { id: id.clone() }) } else { Ok(()) }
    }

    /// The mode with which a file is made in the store, before the process's umask.
    pub fn file_mode(&self) -> u32 {
        self.modes().of_files()
    }

    /// The directory of what studies wrote down about their plans.
    pub fn studies_dir(&self) -> PathBuf {
        self.path.join("studies")
    }

    /// Who may read what is written here.
    pub(crate) fn modes(&self) -> Modes {
        self.modes
    }

    /// Files that were compared with their checksums.
    pub(crate) fn checked(&self) -> &Checked {
        &self.checked
    }

    /// The manifest of files of many runs, as it was last read.
    pub(crate) fn packed(&self) -> &CompactedCache {
        &self.packed
    }

    /// Makes the directory `name` of the store if it is not there, with those above it within the store.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn make_dir(&self, name: &str) -> Result<PathBuf, StoreError> {
        self.folder()?.make(name, self.modes.of_folders())?;
        Ok(self.path.join(name))
    }

    /// The store's directory, opened: what is written goes below it, whatever its folders become meanwhile.
    pub(crate) fn folder(&self) -> Result<Folder, StoreError> {
        Ok(Folder::open(&self.path)?)
    }

    /// The name within the store of what lies at `path`.
    pub(crate) fn name_of<'p>(&self, path: &'p Path) -> Result<&'p str, StoreError> {
        let name = path.strip_prefix(&*self.path).ok().and_then(Path::to_str);
        name.ok_or_else(|| StoreError::damaged(path, "it does not lie in the store"))
    }

    /// Reads a file of the store that is small enough to be read whole. What is a link, or in a folder that is one, is refused
    /// by name, and so is what is no file.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn read_own(&self, path: &Path) -> Result<Vec<u8>, StoreError> {
        Ok(self.folder()?.read(self.name_of(path)?, WHOLE)?)
    }

    /// The same of a text.
    ///
    /// # Errors
    /// As [`Store::read_own`], and when it is no UTF-8.
    pub fn read_text(&self, path: &Path) -> Result<String, StoreError> {
        Ok(crate::folder::text_of(path, self.read_own(path)?)?)
    }

    /// The folder `name`, or one that is never there where this handle does not know `id`.
    pub(crate) fn known_dir(&self, name: &str, id: &RunId) -> PathBuf {
        let folder = self.path.join(name);
        if self.knows(id) { folder } else { folder.join(UNKNOWN) }
    }

    pub(crate) fn open_dir(&self) -> PathBuf {
        self.path.join("open")
    }

    pub(crate) fn labels_dir(&self) -> PathBuf {
        self.path.join("labels")
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.path.join("cache/index.json")
    }
}

/// A folder that no store has: where runs lie that a handle does not know.
const UNKNOWN: &str = ".unknown";

/// Entries of a store's directory.
pub(crate) const OWN: &[&str] = &[
    "store.json",
    "runs",
    "labels",
    "open",
    "cache",
    "locks",
    "questions",
    "formats",
    "boards",
    "studies",
    "compacted",
];
