//! Which files hold a table of runs: the one place that knows of both forms, a run's own file and files of many runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use fenxi_model::RunId;

use crate::{
    FileEntry, Manifest, Store, StoreError,
    bounds::MANY,
    compacted::COMPACTED,
    packed::{Compacted, PackedFile},
};

/// A Parquet file of one table, and which rows of it are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFile {
    /// The whole path.
    pub path: PathBuf,
    /// Equal for two files with the same columns and types, besides `run`.
    pub fingerprint: String,
    /// Rows of the runs that are asked for.
    pub rows: u64,
    /// Its BLAKE3, where that was read; [`Store::check`] finds it otherwise.
    pub blake3: Option<String>,
    /// Whose rows it holds.
    pub holds: Holds,
}

/// Whose rows a file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Holds {
    /// Those of one run, named by the folder (`run=<id>`).
    Run(RunId),
    /// Those of several, identified by the column `run`; rows are sorted by it.
    Runs {
        /// The runs that are asked for, in order.
        runs: Vec<RunId>,
        /// Which rows these are.
        filter: RunFilter,
    },
}

/// Which rows of a file of many runs are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunFilter {
    /// All.
    All,
    /// Those of the runs that are asked for.
    Only,
    /// All but those of these runs, which were removed.
    Except(Vec<RunId>),
}

impl TableFile {
    /// The runs whose rows are asked for.
    pub fn runs(&self) -> &[RunId] {
        match &self.holds {
            Holds::Run(run) => std::slice::from_ref(run),
            Holds::Runs { runs, .. } => runs,
        }
    }
}

/// Files found so far.
#[derive(Default)]
struct Placed {
    own: Vec<TableFile>,
    /// By the file's place in the manifest: runs, and their rows.
    packed: BTreeMap<usize, (Vec<RunId>, u64)>,
}

impl Store {
    /// The Parquet files of `table` (also `stats`) in `runs`, or in all runs: own files of runs, the newest run first, then files of
    /// many runs. No row is in two of them.
    ///
    /// # Errors
    /// When the store or a named run cannot be read.
    pub fn files(&self, table: &str, runs: Option<&[RunId]>) -> Result<Vec<TableFile>, StoreError> {
        let compacted = self.compacted()?;
        let mut found = Placed::default();
        match runs {
            Some(few) if few.len() <= MANY => {
                let mut started = Vec::with_capacity(few.len());
                for id in few.iter().collect::<BTreeSet<_>>() {
                    started.push(self.kept_manifest(id)?);
                }
                started.sort_by(|a, b| (b.start, &b.id).cmp(&(a.start, &a.id)));
                for manifest in &started {
                    let Manifest { id, files, .. } = &**manifest;
                    if let Some(entry) = files.iter().find(|f| f.table.as_deref() == Some(table)) {
                        let blake3 = Some(entry.blake3.clone());
                        self.place(&compacted, table, id, (&entry.fingerprint, entry.rows, blake3), &mut found);
                    }
                }
            }
            chosen => {
                let chosen: Option<BTreeSet<&RunId>> = chosen.map(|ids| ids.iter().collect());
                let all = if chosen.is_some() { self.summaries()? } else { self.counted()? };
                for summary in all {
                    let is_asked = chosen.as_ref().is_none_or(|ids| ids.contains(&summary.id));
                    let entry = summary.tables.iter().find(|(name, _, _)| is_asked && name == table);
                    if let Some((_, print, rows)) = entry {
                        self.place(&compacted, table, &summary.id, (print, *rows, None), &mut found);
                    }
                }
            }
        }
        let Placed { mut own, packed } = found;
        for (place, (mut runs, rows)) in packed {
            let Some(file) = compacted.files.get(place) else { continue };
            runs.sort();
            let filter = match (runs.len() == file.n_runs(), file.gone.is_empty()) {
                (true, true) => RunFilter::All,
                (true, false) if file.gone.len() < runs.len() => RunFilter::Except(file.gone.clone()),
                _ => RunFilter::Only,
            };
            own.push(TableFile {
                path: self.packed_path(file),
                fingerprint: file.fingerprint.clone(),
                rows,
                blake3: Some(file.blake3.clone()),
                holds: Holds::Runs { runs, filter },
            });
        }
        Ok(own)
    }

    /// Adds where `table` of a run is.
    fn place(
        &self,
        compacted: &Compacted,
        table: &str,
        run: &RunId,
        (fingerprint, rows, blake3): (&str, u64, Option<String>),
        found: &mut Placed,
    ) {
        let place = compacted.place_of(run, table);
        match place {
            Some(place) => {
                let of = found.packed.entry(place).or_default();
                of.0.push(run.clone());
                of.1 += rows;
            }
            None => found.own.push(TableFile {
                path: self.run_dir(run).join(format!("{table}.parquet")),
                fingerprint: fingerprint.to_owned(),
                rows,
                blake3,
                holds: Holds::Run(run.clone()),
            }),
        }
    }

    /// Returns true if a table of a run is in a file of many runs.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_packed(&self, run: &RunId, table: &str) -> Result<bool, StoreError> {
        Ok(self.compacted()?.find(run, table).is_some())
    }

    /// The files of a run that lie in its own folder.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn own_files<'m>(&self, manifest: &'m Manifest) -> Result<Vec<&'m FileEntry>, StoreError> {
        let compacted = self.compacted()?;
        let is_own =
            |f: &&FileEntry| f.table.as_deref().is_none_or(|table| compacted.find(&manifest.id, table).is_none());
        Ok(manifest.files.iter().filter(is_own).collect())
    }

    /// The files of many runs; names are paths within the store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn packed_files(&self) -> Result<Vec<FileEntry>, StoreError> {
        let entry = |file: &PackedFile| FileEntry {
            name: format!("{COMPACTED}/{}", file.name),
            table: Some(file.table.clone()),
            rows: file.rows,
            bytes: file.bytes,
            fingerprint: file.fingerprint.clone(),
            blake3: file.blake3.clone(),
        };
        Ok(self.compacted()?.files.iter().map(entry).collect())
    }

    /// The files of many runs that hold any table of `runs`: what a process has to read besides the runs' folders.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn shared_files(&self, runs: &[RunId]) -> Result<Vec<PathBuf>, StoreError> {
        let compacted = self.compacted()?;
        let mut paths = BTreeSet::new();
        for run in runs {
            paths.extend(compacted.of_run(run).map(|file| self.packed_path(file)));
        }
        Ok(paths.into_iter().collect())
    }
}
