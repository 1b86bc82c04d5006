//! Undoing a compaction: runs get their own files back, byte for byte where the same format library wrote them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use fenxi_model::RunId;
use fs_err as fs;

use crate::{
    FileEntry, Manifest, Scratch, Store, StoreError,
    bounds::WHOLE,
    compact::Watch,
    folder::read_regular,
    fs::sync_dir,
    locks::Keeps,
    packed::Compacted,
    parquet_file::ParquetFile,
    seal::{manifest_bytes, manifest_is_intact},
};

/// Runs that are given back with one change of the manifest.
const AT_ONCE: usize = 200;

impl Store {
    /// Gives runs their own files back; all runs where none are named. Gives how many it concerned.
    ///
    /// # Errors
    /// When a compaction is under way, a file is damaged, or the store cannot be written. Restored runs stay restored.
    pub fn undo_compaction(&self, runs: Option<&[RunId]>, watch: &mut Watch<'_>) -> Result<usize, StoreError> {
        let _alone = self.compacting()?;
        self.finish_compaction()?;
        let compacted = self.compacted()?;
        let wanted = |run: &&RunId| runs.is_none_or(|runs| runs.contains(run));
        let all: Vec<&RunId> = compacted.runs.iter().filter(wanted).collect();
        for (done, some) in all.chunks(AT_ONCE).enumerate() {
            watch("", done * AT_ONCE, all.len());
            self.give_back(&compacted, some)?;
        }
        watch("", all.len(), all.len());
        self.finish_compaction()?;
        Ok(all.len())
    }

    /// Gives some runs their files back: first all files, which are not read as long as the manifest names others, then it
    /// names them no longer.
    fn give_back(&self, compacted: &Compacted, runs: &[&RunId]) -> Result<(), StoreError> {
        let scratch = self.scratch()?;
        let mut given = Vec::new();
        for run in runs {
            let manifest = match self.manifest(run) {
                Err(StoreError::Unknown { .. }) if !self.run_dir(run).exists() => continue,
                manifest => manifest?,
            };
            let mut restored = BTreeMap::new();
            for file in compacted.of_run(run) {
                let Some(entry) = manifest.file(&file.table) else { continue };
                let part = scratch.path(&format!("{run}.{}", entry.name));
                restored.insert(entry.name.clone(), self.restore(run, entry, &part)?);
            }
            let _turn = self.changing()?;
            if !self.run_dir(run).exists() {
                continue;
            }
            let change = self.begin_change(&[format!("runs/run={run}")])?;
            for name in restored.keys() {
                let part = scratch.path(&format!("{run}.{name}"));
                self.modes().apply(&part)?;
                fs::rename(&part, self.run_dir(run).join(name))?;
            }
            if let Some((_, text)) = with_entries(&manifest, &restored)? {
                self.replace(&self.run_dir(run).join("run.json"), &text, Keeps::OverPowerLoss)?;
                // It has the sizes that were.
                let _ = fs::remove_file(self.index_path());
            }
            sync_dir(&self.run_dir(run))?;
            self.end_change(change);
            given.push((*run).clone());
        }
        let _turn = self.changing()?;
        let now = self.compacted()?;
        let mut files = now.parts();
        for (file, held) in &mut files {
            let (back, kept): (Vec<RunId>, Vec<RunId>) = held.drain(..).partition(|run| given.contains(run));
            *held = kept;
            file.gone.extend(back);
        }
        self.put_compacted(&Compacted::from_files(now.generation + 1, files))
    }

    /// Writes the table of one run as its own file; gives its entry in a manifest.
    pub(crate) fn restore(&self, run: &RunId, entry: &FileEntry, path: &Path) -> Result<FileEntry, StoreError> {
        let table = entry.table.as_deref().unwrap_or_default();
        let rows = self.rows(run, entry, None)?;
        let mut file = ParquetFile::create(path, &rows.schema_of_file())?;
        for batch in rows {
            file.write(&batch?)?;
        }
        let restored = FileEntry { name: entry.name.clone(), ..file.finish(table)? };
        if (restored.rows, &restored.fingerprint) != (entry.rows, &entry.fingerprint) {
            let what = format!("it has {} rows of {run}, {} by the run's manifest", restored.rows, entry.rows);
            return Err(StoreError::damaged(path, what));
        }
        Ok(restored)
    }

    /// A run with all of its files, as an archive of it has them: tables that are in files of many runs are written as files of
    /// their own, which are gone with the value.
    ///
    /// # Errors
    /// When there is no such run, or a file is damaged.
    pub fn whole(&self, id: &RunId) -> Result<WholeRun, StoreError> {
        let manifest = self.manifest(id)?;
        let path = self.run_dir(id).join("run.json");
        let text = read_regular(&path, WHOLE)?;
        if !manifest_is_intact(&String::from_utf8_lossy(&text), &manifest.digest) {
            return Err(StoreError::damaged(path, "it was changed: its digest does not fit"));
        }
        self.settled(|| {
            let compacted = self.compacted()?;
            let own = self.run_dir(id);
            let mut whole =
                WholeRun { manifest: manifest.clone(), text: text.clone(), own, made: BTreeSet::new(), scratch: None };
            let mut restored = BTreeMap::new();
            for file in compacted.of_run(id) {
                let Some(entry) = manifest.file(&file.table) else { continue };
                let scratch = match &mut whole.scratch {
                    Some(scratch) => scratch,
                    none => none.insert(self.scratch()?),
                };
                restored.insert(entry.name.clone(), self.restore(id, entry, &scratch.path(&entry.name))?);
            }
            if let Some((manifest, text)) = with_entries(&manifest, &restored)? {
                (whole.manifest, whole.text) = (manifest, text);
            }
            whole.made = restored.into_keys().collect();
            Ok(whole)
        })
    }
}

/// A run with all of its files.
#[derive(Debug)]
pub struct WholeRun {
    manifest: Manifest,
    text: Vec<u8>,
    /// The run's own folder.
    own: PathBuf,
    /// Files that were made, in the scratch.
    made: BTreeSet<String>,
    scratch: Option<Scratch>,
}

impl WholeRun {
    /// The text of its manifest.
    pub fn manifest_text(&self) -> &[u8] {
        &self.text
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its files, by name, and where they are.
    pub fn files(&self) -> impl Iterator<Item = (&FileEntry, PathBuf)> {
        let mut files: Vec<&FileEntry> = self.manifest.files.iter().collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        files.into_iter().map(|file| {
            let made = self.scratch.as_ref().filter(|_| self.made.contains(&file.name));
            (file, made.map_or_else(|| self.own.join(&file.name), |scratch| scratch.path(&file.name)))
        })
    }
}

/// A manifest with other entries for some files, and its text; None where they are the same ones.
fn with_entries(
    manifest: &Manifest,
    entries: &BTreeMap<String, FileEntry>,
) -> Result<Option<(Manifest, Vec<u8>)>, StoreError> {
    let mut now = manifest.clone();
    for file in &mut now.files {
        if let Some(entry) = entries.get(&file.name) {
            *file = entry.clone();
        }
    }
    if now == *manifest {
        return Ok(None);
    }
    let text = manifest_bytes(&mut now)?;
    Ok(Some((now, text)))
}
