//! Run index: what a listing needs of every run, in `cache/index.json`, so that 10,000 runs are one file.
//!
//! It is a cache: it is never believed where the directories say otherwise or its checksum (its first line) does not
//! fit, it is written whole and renamed in, and deleting it is harmless. A run in it never changes, so that the list of
//! names decides; labels are taken again when their file's time or size differs.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_model::{Micros, RunId};
use fs_err as fs;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{
    Labels, Manifest, Store, StoreError, Summary, bounds::listed_command, fs as files, locks::Keeps, stamp::Stamp,
    verified,
};

/// The index's own version; another one is thrown away.
const VERSION: u32 = 4;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Index {
    version: u32,
    /// Tables and fingerprints that occur, by number.
    kinds: Vec<(String, String)>,
    runs: BTreeMap<RunId, Entry>,
    labels: BTreeMap<RunId, Labelled>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(rename = "k")]
    kind: String,
    #[serde(rename = "h")]
    hosts: Vec<String>,
    #[serde(rename = "s")]
    start: Micros,
    #[serde(rename = "e")]
    end: Micros,
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    command: Vec<String>,
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    exit_status: Option<i32>,
    #[serde(rename = "r", default, skip_serializing_if = "std::ops::Not::not")]
    recovered: bool,
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    ticks: Option<u64>,
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    missed_ticks: Option<u64>,
    #[serde(rename = "p", default, skip_serializing_if = "BTreeMap::is_empty")]
    params: BTreeMap<String, String>,
    #[serde(rename = "t", default, skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
    #[serde(rename = "o", default, skip_serializing_if = "Vec::is_empty")]
    made_of: Vec<RunId>,
    #[serde(rename = "b")]
    bytes: u64,
    /// Number among the index's kinds, and rows.
    #[serde(rename = "f")]
    tables: Vec<(u32, u64)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Labelled {
    /// The file when it was read: both times in nanoseconds, inode, size.
    stamp: (i128, i128, u64, u64),
    labels: Labels,
}

impl Index {
    /// The index as it was last written; an empty one when there is none that can be used.
    fn load(store: &Store) -> Index {
        let text = store.read_own(&store.index_path()).unwrap_or_default();
        match verified::body(&text).map(serde_json::from_str::<Index>) {
            Some(Ok(index)) if index.version == VERSION => index,
            _ => Index { version: VERSION, ..Index::default() },
        }
    }

    /// Brings the index up to date with the directories; gives whether it changed, and adds what is wrong with labels.
    fn refresh(&mut self, store: &Store, wrong: &mut Vec<StoreError>) -> Result<bool, StoreError> {
        let ids: BTreeSet<RunId> = store.ids()?.into_iter().collect();
        let before = self.runs.len();
        self.runs.retain(|id, _| ids.contains(id));
        let mut changed = self.runs.len() != before;
        let mut numbers: FxHashMap<(String, String), u32> = self.kinds.iter().cloned().zip(0u32..).collect();
        for id in ids {
            if self.runs.contains_key(&id) {
                continue;
            }
            // Removed since it was listed: it is no longer a run. Any other error must be seen.
            match store.manifest(&id) {
                Ok(manifest) => {
                    let entry = self.entry(manifest, &mut numbers);
                    self.runs.insert(id, entry);
                    changed = true;
                }
                Err(StoreError::Unknown { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.refresh_labels(store, wrong)? || changed)
    }

    fn entry(&mut self, m: Manifest, numbers: &mut FxHashMap<(String, String), u32>) -> Entry {
        let bytes = m.bytes();
        let mut tables = Vec::with_capacity(m.files.len());
        for file in m.files {
            let Some(table) = file.table else { continue };
            let kind = (table, file.fingerprint);
            let next = self.kinds.len() as u32;
            let number = *numbers.entry(kind.clone()).or_insert(next);
            if number == next {
                self.kinds.push(kind);
            }
            tables.push((number, file.rows));
        }
        Entry {
            name: m.name,
            kind: m.kind,
            hosts: m.hosts,
            start: m.start,
            end: m.end,
            command: listed_command(m.command),
            exit_status: m.exit_status,
            recovered: m.recovered,
            ticks: m.ticks,
            missed_ticks: m.missed_ticks,
            params: m.params,
            tags: m.tags,
            made_of: m.made_of,
            bytes,
            tables,
        }
    }

    fn refresh_labels(&mut self, store: &Store, wrong: &mut Vec<StoreError>) -> Result<bool, StoreError> {
        let mut found = BTreeMap::new();
        let mut changed = false;
        for name in files::names(&store.labels_dir())? {
            let Some(id) = name.strip_suffix(".json").and_then(RunId::parse) else { continue };
            let Ok(meta) = fs::symlink_metadata(store.labels_dir().join(&name)) else { continue };
            // A label file is always a new file renamed in: its inode distinguishes two of one moment.
            let stamp = Stamp::from_metadata(&meta);
            let stamp = (stamp.mtime_ns, stamp.ctime_ns, stamp.ino, stamp.size);
            let labelled = match self.labels.remove(&id) {
                Some(known) if known.stamp == stamp => known,
                known => {
                    changed |= known.is_some();
                    match store.read_labels(&id) {
                        Ok(Some(labels)) => {
                            changed = true;
                            Labelled { stamp, labels }
                        }
                        // Removed since it was listed.
                        Ok(None) => continue,
                        Err(error) => {
                            wrong.push(error);
                            continue;
                        }
                    }
                }
            };
            found.insert(id, labelled);
        }
        changed |= !self.labels.is_empty();
        self.labels = found;
        Ok(changed)
    }

    fn summary(&self, id: &RunId, e: &Entry) -> Summary {
        let labels = match self.labels.get(id) {
            Some(labelled) => labelled.labels.clone(),
            None => Labels { name: e.name.clone(), tags: e.tags.clone(), ..Labels::default() },
        };
        let kind = |n: u32| self.kinds.get(n as usize).cloned().unwrap_or_default();
        let tables: Vec<(String, String, u64)> = e
            .tables
            .iter()
            .map(|(n, rows)| (kind(*n), *rows))
            .map(|((table, print), rows)| (table, print, rows))
            .collect();
        Summary {
            id: id.clone(),
            kind: e.kind.clone(),
            hosts: e.hosts.clone(),
            start: e.start,
            end: e.end,
            command: e.command.clone(),
            exit_status: e.exit_status,
            recovered: e.recovered,
            ticks: e.ticks,
            missed_ticks: e.missed_ticks,
            params: e.params.clone(),
            rows: tables.iter().filter(|(table, _, _)| table != "stats").map(|(_, _, rows)| rows).sum(),
            bytes: e.bytes,
            tables,
            made_of: e.made_of.clone(),
            labels,
        }
    }
}

impl Store {
    /// Summary of one run, also of one that no listing shows.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    pub fn summary(&self, id: &RunId) -> Result<Summary, StoreError> {
        let labels = self.read_labels(id)?;
        let mut index = Index::default();
        let entry = index.entry(self.manifest(id)?, &mut FxHashMap::default());
        let summary = index.summary(id, &entry);
        Ok(Summary { labels: labels.unwrap_or(summary.labels), ..summary })
    }

    /// Summaries of all sealed runs, newest first, from the index.
    ///
    /// # Errors
    /// When the store cannot be read, the labels of any run among it: who asks by labels must not be answered without some.
    pub fn summaries(&self) -> Result<Vec<Summary>, StoreError> {
        let (all, wrong) = self.listing()?;
        wrong.into_iter().next().map_or(Ok(all), Err)
    }

    /// The same where labels of some runs cannot be read, and what is wrong with these: the runs have the labels that they
    /// were made with.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn listing(&self) -> Result<(Vec<Summary>, Vec<StoreError>), StoreError> {
        let (mut index, mut wrong) = (Index::load(self), Vec::new());
        // The index is the whole store's.
        if index.refresh(&self.all_runs(), &mut wrong)? {
            // A store that cannot be written is read all the same, only slower.
            if let Ok(text) = serde_json::to_string(&index)
                && self.make_dir("cache").is_ok()
            {
                let _ = self.replace(&self.index_path(), &verified::sealed(&text), Keeps::Cached);
            }
        }
        let known = index.runs.iter().filter(|(id, _)| self.knows(id));
        let mut all: Vec<Summary> = known.map(|(id, entry)| index.summary(id, entry)).collect();
        if self.knows_only_some() {
            // It names runs that are not known here; those whose labels cannot be read are not.
            wrong.clear();
        }
        all.sort_by(|a, b| (b.start, &b.id).cmp(&(a.start, &a.id)));
        Ok((all, wrong))
    }
}
