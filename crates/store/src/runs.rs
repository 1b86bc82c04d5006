//! Sealed runs: their manifests and labels, and removing them.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use fenxi_model::RunId;
use fs_err as fs;

use crate::{
    FORMAT, Labels, Manifest, RunEntry, Store, StoreError, bounds::WHOLE, digest, folder::read_regular, fs as files,
    seal::manifest_is_intact, stamp::Stamp,
};

/// Members of labels that were written before they had a checksum.
pub(crate) const OF_LABELS: &[&str] = &["name", "tags", "baseline", "remarks", "windows", "marks"];
/// Beginning of the name of a run that is being removed.
pub(crate) const REMOVED: &str = ".removed-";

/// Stamp of a file of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelStamp(Stamp);

impl Store {
    /// Ids of all sealed runs, in no order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        let names = files::names(&self.runs_dir())?;
        let ids = names.iter().filter_map(|name| RunId::parse(name.strip_prefix("run=")?));
        Ok(ids.filter(|id| self.knows(id)).collect())
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
        let text = read_regular(&path, WHOLE).map_err(|e| self.no_manifest(id, &path, e));
        self.or_healed(id, text.and_then(|text| parse_manifest(id, path, &text)))
    }

    /// The manifest as it was read, or what a copy has of it where it is damaged.
    fn or_healed(&self, id: &RunId, read: Result<Manifest, StoreError>) -> Result<Manifest, StoreError> {
        match read {
            Err(StoreError::Damaged { path, why }) => self.heal_manifest(id).ok_or(StoreError::Damaged { path, why }),
            other => other,
        }
    }

    /// The manifest of `id`, which this process may have read before.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    pub fn kept_manifest(&self, id: &RunId) -> Result<Arc<Manifest>, StoreError> {
        let path = self.run_dir(id).join("run.json");
        let cannot = |e| self.no_manifest(id, &path, e);
        let stamp = match fs::metadata(&path) {
            Ok(meta) => Stamp::from_metadata(&meta),
            Err(e) => return self.or_healed(id, Err(cannot(e))).map(Arc::new),
        };
        let read = || {
            let text = read_regular(&path, WHOLE).map_err(cannot)?;
            Ok((text, Stamp::from_metadata(&fs::metadata(&path).map_err(cannot)?)))
        };
        let kept = self.checked().manifests.get(&path, stamp, read, |text| parse_manifest(id, path.clone(), text));
        match kept {
            Err(error @ StoreError::Damaged { .. }) => self.or_healed(id, Err(error)).map(Arc::new),
            kept => kept,
        }
    }

    /// The error when the manifest of `id` cannot be read.
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
            Ok(text) => {
                let read = |text: &[u8]| digest::value_of(text, &path, OF_LABELS).map(|(labels, _)| labels);
                let healed = |_: &StoreError| self.heal_small(&format!("labels/{id}.json"), |text| read(text).is_ok());
                match read(&text) {
                    Err(error) => healed(&error).map_or(Err(error), |text| read(&text).map(Some)),
                    labels => labels.map(Some),
                }
            }
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Changes the labels of `id` under a lock, so that no concurrent change is lost: the next
    /// writer finds this one. An error of `change` changes nothing.
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
        let before = entry.labels.clone();
        let done = change(&mut entry)?;
        self.may_become(&entry.labels)?;
        self.write_labels(id, &self.logged(&before, &entry.labels))?;
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
        self.may_become(labels)?;
        // Labels that cannot be read are replaced as if there had been none.
        let before = self.run(id).map(|run| run.labels).unwrap_or_default();
        self.write_labels(id, &self.logged(&before, labels))
    }

    /// Writes the labels of a run that is about to be shown.
    pub(crate) fn set_labels_of_new(&self, id: &RunId, labels: &Labels) -> Result<(), StoreError> {
        let _turn = self.changing()?;
        self.write_labels(id, labels)
    }

    /// The file of the labels of `id` as it is: another one whenever they were changed, with any fenxi. None where there is none.
    pub fn labels_stamp(&self, id: &RunId) -> Option<LabelStamp> {
        fs::symlink_metadata(self.labels_path(id)).ok().map(|meta| LabelStamp(Stamp::from_metadata(&meta)))
    }

    pub(crate) fn write_labels(&self, id: &RunId, labels: &Labels) -> Result<(), StoreError> {
        self.make_dir("labels")?;
        self.put_json(&self.labels_path(id), labels)
    }

    /// The file of the labels of `id`.
    pub(crate) fn labels_path(&self, id: &RunId) -> PathBuf {
        self.known_dir("labels", id).join(format!("{id}.json"))
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
        let names = [format!("runs/run={id}"), format!("labels/{id}.json")];
        self.mirrored(&names, || self.remove_here(id, &dir))
    }

    fn remove_here(&self, id: &RunId, dir: &Path) -> Result<(), StoreError> {
        // Out of sight with one rename, so that no reader sees half a run; the file that marks it as removed goes last.
        let hidden = self.open_dir().join(format!("{REMOVED}{id}"));
        {
            let _turn = self.changing()?;
            self.make_dir("open")?;
            if hidden.exists() {
                fs::remove_dir_all(&hidden)?;
            }
            fs::rename(dir, &hidden)?;
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

/// The manifest of `id` in `text`, at `path`: intact, and of a known version.
pub(crate) fn parse_manifest(id: &RunId, path: PathBuf, text: &[u8]) -> Result<Manifest, StoreError> {
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

/// Advice for a run that is damaged.
pub(crate) fn way_out(id: &RunId) -> String {
    format!(
        "`fenxi store verify {id}` looks at the whole run; where there is an archive of it, `fenxi store rm {id}` and `fenxi import` \
         restore it"
    )
}
