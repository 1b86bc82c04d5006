//! The store: a directory of runs.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fenxi_model::RunId;

use crate::{Begin, Labels, OpenRun, Problem, Recovered, RunEntry, StoreError, Summary, TableFile};

/// A store of runs. A cheap handle: clones name the same directory.
#[derive(Clone, Debug)]
pub struct Store {
    path: Arc<Path>,
}

fn unfinished<T>() -> Result<T, StoreError> {
    Err(StoreError::damaged("", "unfinished"))
}

impl Store {
    /// Where the store is unless said otherwise: `$XDG_DATA_HOME/fenxi` or `~/.local/share/fenxi`.
    pub fn default_path() -> PathBuf {
        PathBuf::new()
    }
    /// Opens the store at `path`.
    ///
    /// # Errors
    /// When there is none, or one of a later version.
    pub fn open(_path: impl AsRef<Path>) -> Result<Store, StoreError> {
        unfinished()
    }
    /// Opens the store at `path`; makes one where nothing is.
    ///
    /// # Errors
    /// When the directory holds something else, or cannot be written.
    pub fn open_or_create(_path: impl AsRef<Path>) -> Result<Store, StoreError> {
        unfinished()
    }
    /// The store's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// The directory of sealed runs, each `run=<id>`.
    pub fn runs_dir(&self) -> PathBuf {
        self.path.join("runs")
    }
    /// Begins a run.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn begin(&self, _begin: Begin) -> Result<OpenRun, StoreError> {
        unfinished()
    }
    /// Seals what dead recorders left. Costs one look at `open/` when there is nothing to do.
    ///
    /// # Errors
    /// When `open/` cannot be read; a run that cannot be sealed is reported in the list.
    pub fn recover(&self) -> Result<Vec<Recovered>, StoreError> {
        unfinished()
    }
    /// All sealed runs with whole manifests, newest first. Prefer [`Store::summaries`] for a listing.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self) -> Result<Vec<RunEntry>, StoreError> {
        unfinished()
    }
    /// What a listing needs of all sealed runs, newest first, from the index.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn summaries(&self) -> Result<Vec<Summary>, StoreError> {
        unfinished()
    }
    /// The runs that `selector` names, newest first, at least one.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] with near names, [`StoreError::Ambiguous`] for a beginning of several ids.
    pub fn select(&self, _selector: &str) -> Result<Vec<RunId>, StoreError> {
        unfinished()
    }
    /// The one run that `selector` names.
    ///
    /// # Errors
    /// As [`Store::select`], and [`StoreError::Ambiguous`] when there are several.
    pub fn select_one(&self, _selector: &str) -> Result<RunId, StoreError> {
        unfinished()
    }
    /// The sealed run `id`.
    ///
    /// # Errors
    /// When there is none or its manifest cannot be read.
    pub fn run(&self, _id: &RunId) -> Result<RunEntry, StoreError> {
        unfinished()
    }
    /// Replaces the labels of `id`, all at once.
    ///
    /// # Errors
    /// When there is no such run or the store cannot be written.
    pub fn set_labels(&self, _id: &RunId, _labels: &Labels) -> Result<(), StoreError> {
        unfinished()
    }
    /// Removes the run `id` and its labels.
    ///
    /// # Errors
    /// When there is no such run or the store cannot be written.
    pub fn remove(&self, _id: &RunId) -> Result<(), StoreError> {
        unfinished()
    }
    /// Compares every file of `id` with its manifest; an empty list means the run is as it was sealed.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn verify(&self, _id: &RunId) -> Result<Vec<Problem>, StoreError> {
        unfinished()
    }
    /// The Parquet files of `table` (also `stats`) in `runs`, or in all runs; newest run first.
    ///
    /// # Errors
    /// When the store or a named run cannot be read.
    pub fn files(&self, _table: &str, _runs: Option<&[RunId]>) -> Result<Vec<TableFile>, StoreError> {
        unfinished()
    }
}
