//! The store: a directory of runs, and what is read and changed in it.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use fenxi_model::RunId;
use fs_err as fs;

use crate::{
    Begin, FORMAT, Labels, Manifest, OpenRun, RunEntry, StoreError,
    bounds::WHOLE,
    checked::{Checked, Stamp},
    compacted::CompactedCache,
    digest,
    folder::{Folder, read_regular},
    fs as files,
    fs::Modes,
    mark,
    seal::manifest_is_intact,
};

/// A store of runs. A cheap handle: clones name the same directory, and know what one of them has checked.
#[derive(Clone, Debug)]
pub struct Store {
    path: Arc<Path>,
    modes: Modes,
    checked: Arc<Checked>,
    packed: Arc<CompactedCache>,
}

/// Above so many runs, a whole look at the index is cheaper than one look at each manifest.
pub(crate) const MANY: usize = 64;
/// Members of labels that were written before they had a checksum.
pub(crate) const OF_LABELS: &[&str] = &["name", "tags", "baseline", "remarks", "windows", "marks"];

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
        let modes = mark::read(&text, &path.join(MARK))?;
        // A write through a link ends outside: a store from an untrusted source must not choose where.
        for name in OWN.iter().chain(&["findings"]) {
            folder.not_a_link(name)?;
        }
        Ok(Store { path: path.into(), modes, checked: Arc::default(), packed: Arc::default() })
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

    /// The directory of the run `id` among the runs.
    pub(crate) fn own_dir(&self, id: &RunId) -> PathBuf {
        self.path.join("runs").join(format!("run={id}"))
    }

    /// An error where `id` is a range of time, which cannot be changed.
    fn not_a_range(&self, id: &RunId) -> Result<(), StoreError> {
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

    /// What was compared with its checksum.
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

    pub(crate) fn open_dir(&self) -> PathBuf {
        self.path.join("open")
    }

    pub(crate) fn labels_dir(&self) -> PathBuf {
        self.path.join("labels")
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.path.join("cache/index.json")
    }

    /// Begins a run.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn begin(&self, begin: Begin) -> Result<OpenRun, StoreError> {
        OpenRun::begin(self, begin)
    }

    /// Ids of all sealed runs, in no order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        let names = files::names(&self.runs_dir())?;
        Ok(names.iter().filter_map(|name| RunId::parse(name.strip_prefix("run=")?)).collect())
    }

    /// All sealed runs with whole manifests, newest first. Prefer [`Store::summaries`] for a listing.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self) -> Result<Vec<RunEntry>, StoreError> {
        let mut runs = Vec::new();
        for id in self.ids()? {
            match self.run(&id) {
                Ok(run) => runs.push(run),
                // Removed since it was listed.
                Err(StoreError::Unknown { .. }) if !self.run_dir(&id).exists() => {}
                Err(error) => return Err(error),
            }
        }
        runs.sort_by(|a, b| (b.manifest.start, &b.manifest.id).cmp(&(a.manifest.start, &a.manifest.id)));
        Ok(runs)
    }

    /// The sealed run `id`.
    ///
    /// # Errors
    /// When there is none or its manifest cannot be read.
    pub fn run(&self, id: &RunId) -> Result<RunEntry, StoreError> {
        let manifest = Arc::unwrap_or_clone(self.kept_manifest(id)?);
        let labels = self.read_labels(id)?.unwrap_or_else(|| manifest.first_labels());
        Ok(RunEntry { manifest, labels })
    }

    /// The manifest of `id`; [`StoreError::Unknown`] without suggestions when there is no such run.
    pub(crate) fn manifest(&self, id: &RunId) -> Result<Manifest, StoreError> {
        let path = self.run_dir(id).join("run.json");
        let text = read_regular(&path, WHOLE).map_err(|e| self.no_manifest(id, &path, e))?;
        parse_manifest(id, path, &text)
    }

    /// The manifest of `id`, which this process may have read before.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    pub fn kept_manifest(&self, id: &RunId) -> Result<Arc<Manifest>, StoreError> {
        let path = self.run_dir(id).join("run.json");
        let cannot = |e| self.no_manifest(id, &path, e);
        let stamp = Stamp::from_metadata(&fs::metadata(&path).map_err(cannot)?);
        let read = || {
            let text = read_regular(&path, WHOLE).map_err(cannot)?;
            Ok((text, Stamp::from_metadata(&fs::metadata(&path).map_err(cannot)?)))
        };
        self.checked().manifests.get(&path, stamp, read, |text| parse_manifest(id, path.clone(), text))
    }

    /// What it means that the manifest of `id` cannot be read.
    fn no_manifest(&self, id: &RunId, path: &Path, error: io::Error) -> StoreError {
        match error.kind() {
            io::ErrorKind::NotFound if self.run_dir(id).exists() => {
                StoreError::damaged(path, "it is missing; `fenxi store rm` removes what is left of the run")
            }
            io::ErrorKind::NotFound => StoreError::Unknown { selector: id.to_string(), near: Vec::new() },
            _ => error.into(),
        }
    }

    /// The labels that were set for `id`; None when they never were.
    pub(crate) fn read_labels(&self, id: &RunId) -> Result<Option<Labels>, StoreError> {
        if id.is_range() && !self.own_dir(id).exists() {
            return self.labels_of_range(id).map(Some);
        }
        let path = self.labels_path(id);
        match self.read_own(&path) {
            Ok(text) => digest::value_of(&text, &path, OF_LABELS).map(|(labels, _)| Some(labels)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Changes the labels of `id`. No other process changes any meanwhile, so that no change is lost: the next one
    /// finds this one. An error of `change` changes nothing.
    ///
    /// # Errors
    /// That of `change`; also when there is no such run, the store cannot be written, or others hold it for long.
    pub fn change_labels<T, E: From<StoreError>>(
        &self,
        id: &RunId,
        change: impl FnOnce(&mut RunEntry) -> Result<T, E>,
    ) -> Result<T, E> {
        let _turn = self.changing()?;
        self.not_a_range(id)?;
        if !self.run_dir(id).is_dir() {
            return Err(self.unknown(id.as_str()).into());
        }
        let mut entry = self.run(id)?;
        let done = change(&mut entry)?;
        self.write_labels(id, &entry.labels)?;
        Ok(done)
    }

    /// Replaces the labels of `id`, whatever they are, all at once: a reader sees the old or the new ones. Who has
    /// read them before uses [`Store::change_labels`].
    ///
    /// # Errors
    /// When there is no such run or the store cannot be written.
    pub fn set_labels(&self, id: &RunId, labels: &Labels) -> Result<(), StoreError> {
        let _turn = self.changing()?;
        self.not_a_range(id)?;
        if !self.run_dir(id).is_dir() {
            return Err(self.unknown(id.as_str()));
        }
        self.write_labels(id, labels)
    }

    /// Writes the labels of a run that is about to be shown.
    pub(crate) fn set_labels_of_new(&self, id: &RunId, labels: &Labels) -> Result<(), StoreError> {
        let _turn = self.changing()?;
        self.write_labels(id, labels)
    }

    pub(crate) fn write_labels(&self, id: &RunId, labels: &Labels) -> Result<(), StoreError> {
        self.make_dir("labels")?;
        self.put_json(&self.labels_path(id), labels)
    }

    /// The file of the labels of `id`.
    pub(crate) fn labels_path(&self, id: &RunId) -> PathBuf {
        self.labels_dir().join(format!("{id}.json"))
    }

    /// Removes the run `id` and its labels. Queries that have it open finish undisturbed.
    ///
    /// # Errors
    /// When there is no such run, it is still being recorded, or the store cannot be written.
    pub fn remove(&self, id: &RunId) -> Result<(), StoreError> {
        self.not_a_range(id)?;
        let dir = self.run_dir(id);
        if !dir.is_dir() {
            if self.is_recording(id) {
                return Err(StoreError::Recording { id: id.clone() });
            }
            return Err(self.unknown(id.as_str()));
        }
        // Out of sight with one rename, so that no reader sees half a run; the marker of the removal goes last.
        let hidden = self.open_dir().join(format!("{REMOVED}{id}"));
        {
            let _turn = self.changing()?;
            self.make_dir("open")?;
            if hidden.exists() {
                fs::remove_dir_all(&hidden)?;
            }
            fs::rename(&dir, &hidden)?;
            files::sync_dir(&self.runs_dir())?;
            self.forget(id)?;
        }
        match fs::remove_dir_all(&hidden) {
            // Another command that found it removed the rest.
            Err(_) if !hidden.exists() => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// Removes what is kept about a run that is no more.
    pub(crate) fn forget(&self, id: &RunId) -> Result<(), StoreError> {
        self.forget_derived(id);
        self.drop_compacted(id)?;
        match fs::remove_file(self.labels_path(id)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e.into()),
            _ => Ok(()),
        }
    }
}

/// Parses the `text` of the manifest of `id`, at `path`: intact, and of a version that is known.
fn parse_manifest(id: &RunId, path: PathBuf, text: &[u8]) -> Result<Manifest, StoreError> {
    let manifest: Manifest = serde_json::from_slice(text).map_err(|e| StoreError::damaged(&path, e))?;
    if manifest.format > FORMAT {
        return Err(StoreError::Version { path, found: manifest.format, known: FORMAT });
    }
    if manifest.id != *id || !manifest_is_intact(&String::from_utf8_lossy(text), &manifest.digest) {
        let why = format!("it was changed: its digest does not fit; {}", way_out(id));
        return Err(StoreError::damaged(path, why));
    }
    Ok(manifest)
}

/// What a person does about a run that is damaged.
pub(crate) fn way_out(id: &RunId) -> String {
    format!(
        "`fenxi store verify {id}` looks at the whole run; where there is an archive of it, `fenxi store rm {id}` and `fenxi import` \
         restore it"
    )
}

/// What the name of a run that is being removed begins with.
pub(crate) const REMOVED: &str = ".removed-";

/// What marks a directory as a store, and the most that it may have.
pub(crate) const MARK: &str = "store.json";
const MARK_BYTES: u64 = 64 << 10;

/// What a store's directory holds.
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
