//! Files of many runs: what their manifest names, and what was last read of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use fenxi_model::RunId;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use serde::{Deserialize, Serialize};

use crate::{FORMAT, stamp::Stamp};

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

    /// Content that cannot be: an attacker who wrote it may have written its digest as well.
    pub(crate) fn wrong(&self) -> Option<String> {
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

/// The manifest and footers of files as last read. A file is never changed, and none has another's name.
#[derive(Debug, Default)]
pub(crate) struct CompactedCache {
    pub(crate) manifest: Mutex<Option<(Stamp, Arc<Compacted>)>>,
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
