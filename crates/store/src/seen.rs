//! Files that this process has compared and read.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rustc_hash::FxHashMap;

use crate::{manifest_cache::ManifestCache, stamp::Stamp};

/// Files that were compared with their checksums, and manifests that were read.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    known: Mutex<FxHashMap<PathBuf, Stamp>>,
    /// Manifests, which are compared with their own digests.
    pub(crate) manifests: ManifestCache,
}

impl Checked {
    pub(crate) fn knows(&self, path: &Path, stamp: Stamp) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(path) == Some(&stamp)
    }

    pub(crate) fn add(&self, path: PathBuf, stamp: Stamp) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(path, stamp);
    }
}
