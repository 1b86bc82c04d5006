//! `compacted/manifest.json`: which tables of which runs are in files of many runs, and in which.
//!
//! It alone decides: a table that it names for a run is read there, whatever still lies in the run's folder, and a file that it
//! does not name is not read. It is replaced by one rename, so that no run counts twice and none is missed.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, PoisonError},
};

use fenxi_model::RunId;
use fs_err as fs;

use crate::{
    FORMAT, Store, StoreError, digest,
    packed::{Compacted, PackedFile},
    stamp::Stamp,
};

/// The folder of files of many runs.
pub(crate) const COMPACTED: &str = "compacted";
/// Its manifest, and the copy that is read when that is damaged.
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const COPY: &str = "manifest.copy.json";

impl Store {
    /// The folder of files of many runs.
    pub fn compacted_dir(&self) -> PathBuf {
        self.path().join(COMPACTED)
    }

    pub(crate) fn packed_path(&self, file: &PackedFile) -> PathBuf {
        self.compacted_dir().join(&file.name)
    }

    /// The manifest of the files of many runs; an empty one where there are none.
    pub(crate) fn compacted(&self) -> Result<Arc<Compacted>, StoreError> {
        let path = self.compacted_dir().join(MANIFEST);
        let stamp = match fs::metadata(&path) {
            Ok(meta) => Stamp::from_metadata(&meta),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(e) => return Err(e.into()),
        };
        let known = || self.packed().manifest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, compacted)) = known().as_ref().filter(|(read, _)| *read == stamp) {
            return Ok(Arc::clone(compacted));
        }
        let read = self.get_json::<Compacted>(&path, &[]);
        // Both are written one after the other: the copy is what the manifest was, or what it is to be.
        let compacted = match read {
            Err(StoreError::Damaged { .. }) => {
                let copy = self.get_json::<Compacted>(&self.compacted_dir().join(COPY), &[]);
                copy.or(read)?
            }
            read => read?,
        };
        if compacted.format > FORMAT {
            return Err(StoreError::Version { path, found: compacted.format, known: FORMAT });
        }
        if let Some(what) = compacted.wrong() {
            return Err(StoreError::damaged(path, format!("it {what}; restore it from a copy")));
        }
        let compacted = Arc::new(compacted);
        *known() = Some((stamp, Arc::clone(&compacted)));
        Ok(compacted)
    }

    /// A number that changes whenever tables move between runs' folders and files of many runs.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn layout(&self) -> Result<u64, StoreError> {
        Ok(self.compacted()?.generation)
    }

    /// Does `work`, and does it again where it failed and tables have moved meanwhile.
    pub(crate) fn settled<T>(&self, work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        loop {
            let before = self.layout()?;
            match work() {
                Err(_) if self.layout()? != before => {}
                done => return done,
            }
        }
    }

    /// Replaces the manifest; the caller holds the lock of changes.
    pub(crate) fn put_compacted(&self, compacted: &Compacted) -> Result<(), StoreError> {
        self.make_dir(COMPACTED)?;
        // The files before what names them, in copies as well.
        let names: Vec<String> = compacted.files.iter().map(|file| format!("{COMPACTED}/{}", file.name)).collect();
        self.mirrored(&names, || Ok::<(), StoreError>(()))?;
        self.put_json(&self.compacted_dir().join(MANIFEST), compacted)?;
        let copy = self.compacted_dir().join(COPY);
        // A change that a kill left out is made up for by the next one.
        self.replace(&copy, &digest::text_of(compacted, &copy)?, crate::locks::Keeps::Cached)
    }

    /// Takes a run that is no more out of the manifest; its rows count no longer. The caller holds the lock of changes.
    pub(crate) fn drop_compacted(&self, run: &RunId) -> Result<(), StoreError> {
        let compacted = self.compacted()?;
        if compacted.runs.binary_search(run).is_err() {
            return Ok(());
        }
        let mut files = compacted.parts();
        for (file, runs) in &mut files {
            if let Ok(place) = runs.binary_search(run) {
                file.gone.push(runs.remove(place));
            }
        }
        self.put_compacted(&Compacted::from_files(compacted.generation + 1, files))
    }
}
