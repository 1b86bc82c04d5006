//! `compacted/manifest.json`: which tables of which runs are in files of many runs, and in which.
//!
//! It alone decides: a table that it names for a run is read there, whatever still lies in the run's folder, and a file that it
//! does not name is not read. It is replaced by one rename, so that no run counts twice and none is missed.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use fenxi_model::RunId;
use fs_err as fs;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use serde::{Deserialize, Serialize};

use crate::{FORMAT, Store, StoreError, checked::Stamp, digest};

/// The folder of files of many runs.
pub(crate) const COMPACTED: &str = "compacted";
/// Its manifest, and the copy that is read when that is damaged.
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const COPY: &str = "manifest.copy.json";

/// The manifest of the files of many runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Compacted {
    /// Format version, see [`FORMAT`].
    pub(crate) format: u32,
    /// Grows with every change.
    pub(crate) generation: u64,
    /// Runs that any file holds, in order: files name them by their places.
    pub(crate) runs: Vec<RunId>,
    /// The files.
    pub(crate) files: Vec<PackedFile>,
}

/// A file of one table of many runs, sorted by run, then as each run's own file was: by host, keys and time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PackedFile {
    /// Path within the folder.
    pub(crate) name: String,
    /// The table, as in a run's manifest.
    pub(crate) table: String,
    /// That of the runs' own files: of the columns without `run`.
    pub(crate) fingerprint: String,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) blake3: String,
    /// Places of its runs: from and to, both included.
    pub(crate) runs: Vec<(u32, u32)>,
    /// Runs whose rows are in it and do not count: they were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) gone: Vec<RunId>,
    /// Whether what it holds may still lie in the runs' folders as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unswept: bool,
}

impl PackedFile {
    fn has(&self, place: u32) -> bool {
        let at = self.runs.partition_point(|(_, to)| *to < place);
        self.runs.get(at).is_some_and(|(from, _)| *from <= place)
    }

    /// How many runs count.
    pub(crate) fn n_runs(&self) -> usize {
        self.runs.iter().map(|(from, to)| (to - from + 1) as usize).sum()
    }
}

impl Compacted {
    /// The file that holds `table` of a run.
    pub(crate) fn find(&self, run: &RunId, table: &str) -> Option<&PackedFile> {
        self.files.get(self.place_of(run, table)?)
    }

    /// The place of that file in the list.
    pub(crate) fn place_of(&self, run: &RunId, table: &str) -> Option<usize> {
        let place = self.runs.binary_search(run).ok()? as u32;
        self.files.iter().position(|file| file.table == table && file.has(place))
    }

    /// The files that hold any table of a run.
    pub(crate) fn of_run(&self, run: &RunId) -> impl Iterator<Item = &PackedFile> {
        let place = self.runs.binary_search(run).ok().map(|place| place as u32);
        self.files.iter().filter(move |file| place.is_some_and(|place| file.has(place)))
    }

    /// The runs of a file that count, in order.
    pub(crate) fn runs_of<'a>(&'a self, file: &'a PackedFile) -> impl Iterator<Item = &'a RunId> {
        let runs = |(from, to): &(u32, u32)| self.runs.get(*from as usize..=*to as usize).unwrap_or_default().iter();
        file.runs.iter().flat_map(runs)
    }

    /// What is invalid in it: a forged file can have a matching digest.
    fn wrong(&self) -> Option<String> {
        if !self.runs.is_sorted() {
            return Some("names its runs out of order".to_owned());
        }
        for file in &self.files {
            if file.name.split('/').any(|part| part.is_empty() || part.starts_with('.')) {
                return Some(format!("names {:?}, which is outside the folder", file.name));
            }
            let mut next = 0;
            for (from, to) in &file.runs {
                if *from < next || to < from || *to as usize >= self.runs.len() {
                    return Some(format!("has runs {from} to {to} of {} in {}", self.runs.len(), file.name));
                }
                next = to + 1;
            }
        }
        None
    }

    /// Puts together what was taken apart: files with the runs that count in each.
    pub(crate) fn from_files(generation: u64, files: Vec<(PackedFile, Vec<RunId>)>) -> Compacted {
        let mut runs: Vec<RunId> = files.iter().flat_map(|(_, runs)| runs.iter().cloned()).collect();
        runs.sort();
        runs.dedup();
        let places: BTreeMap<&RunId, u32> = runs.iter().zip(0u32..).collect();
        let mut packed = Vec::with_capacity(files.len());
        for (mut file, mut of) in files {
            of.sort();
            file.runs = Vec::new();
            for place in of.iter().filter_map(|run| places.get(run).copied()) {
                match file.runs.last_mut() {
                    Some((_, to)) if *to + 1 == place => *to = place,
                    _ => file.runs.push((place, place)),
                }
            }
            // One in which nothing counts is no longer named.
            if !file.runs.is_empty() {
                packed.push(file);
            }
        }
        Compacted { format: FORMAT, generation, runs, files: packed }
    }

    /// Takes it apart: files with the runs that count in each.
    pub(crate) fn parts(&self) -> Vec<(PackedFile, Vec<RunId>)> {
        self.files.iter().map(|file| (file.clone(), self.runs_of(file).cloned().collect())).collect()
    }
}

/// Footers that are kept: those of the files that are read most, one a table.
const FOOTERS: usize = 16;

/// What was last read: the manifest, and footers of files. A file is never changed, and none has another's name.
#[derive(Debug, Default)]
pub(crate) struct CompactedCache {
    manifest: Mutex<Option<(Stamp, Arc<Compacted>)>>,
    footers: Mutex<Vec<(PathBuf, ArrowReaderMetadata)>>,
    /// Names of files that were compared anew by this handle.
    verified: Mutex<BTreeSet<String>>,
}

impl CompactedCache {
    pub(crate) fn footer(&self, path: &Path) -> Option<ArrowReaderMetadata> {
        let footers = self.footers.lock().unwrap_or_else(PoisonError::into_inner);
        footers.iter().find(|(known, _)| known == path).map(|(_, footer)| footer.clone())
    }

    pub(crate) fn was_verified(&self, name: &str) -> bool {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    pub(crate) fn set_verified(&self, name: &str) {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    pub(crate) fn keep_footer(&self, path: &Path, footer: &ArrowReaderMetadata) {
        let mut footers = self.footers.lock().unwrap_or_else(PoisonError::into_inner);
        if footers.len() >= FOOTERS {
            footers.remove(0);
        }
        footers.push((path.to_owned(), footer.clone()));
    }
}

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
        self.put_json(&self.compacted_dir().join(MANIFEST), compacted)?;
        let copy = self.compacted_dir().join(COPY);
        // What a kill leaves out is made up for by the next change.
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

#[cfg(test)]
mod tests {
    use super::{Compacted, PackedFile};
    use fenxi_model::RunId;

    fn id(n: u32) -> RunId {
        RunId::parse(&format!("20261121T1422{n:02}-a-k3f9")).unwrap()
    }

    #[test]
    fn a_manifest_that_leads_elsewhere_or_counts_wrongly_is_refused() {
        let of = |name: &str, runs: &[(u32, u32)]| Compacted {
            runs: vec![id(1), id(2)],
            files: vec![PackedFile { name: name.to_owned(), runs: runs.to_vec(), ..PackedFile::default() }],
            ..Compacted::default()
        };
        assert_eq!(of("cpu/a.parquet", &[(0, 0), (1, 1)]).wrong(), None);
        for name in ["../../x", "/etc/x", "cpu/../x", "", "cpu/.x"] {
            assert!(of(name, &[]).wrong().unwrap().contains("is outside the folder"), "{name}");
        }
        for runs in [&[(1, 0)][..], &[(0, 2)], &[(0, u32::MAX)], &[(0, 1), (1, 1)], &[(1, 1), (0, 0)]] {
            assert!(of("a", runs).wrong().unwrap().contains("has runs"), "{runs:?}");
        }
    }

    #[test]
    fn a_run_is_found_in_the_one_file_that_holds_its_table() {
        let file = |table: &str, name: &str| PackedFile {
            table: table.to_owned(),
            name: name.to_owned(),
            ..PackedFile::default()
        };
        let parts = vec![
            (file("cpu", "a"), vec![id(1), id(2), id(4)]),
            (file("cpu", "b"), vec![id(3)]),
            (file("disk", "c"), vec![id(2)]),
            (file("disk", "empty"), vec![]),
        ];
        let all = Compacted::from_files(1, parts.clone());
        let name = |n, table| all.find(&id(n), table).map(|f| f.name.clone());
        assert_eq!(name(4, "cpu").as_deref(), Some("a"));
        assert_eq!(name(3, "cpu").as_deref(), Some("b"));
        assert_eq!((name(3, "disk"), name(5, "cpu")), (None, None));
        assert_eq!(all.files[0].runs, [(0, 1), (3, 3)]);
        assert_eq!(all.files[0].n_runs(), 3);
        assert_eq!(all.of_run(&id(2)).map(|f| f.name.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        let again: Vec<_> = all.parts().into_iter().map(|(f, runs)| (f.name, runs)).collect();
        assert_eq!(again, parts.into_iter().take(3).map(|(f, runs)| (f.name, runs)).collect::<Vec<_>>());
    }
}
