//! Compaction: tables of many runs become files of many runs, sorted by run, and the runs' own files go.
//!
//! A file is written in a hidden directory, gets its name, and is then named by the manifest with one rename; only after that do the
//! runs' own files go. A kill at any moment leaves either the old files in use or the new one; the next compaction removes what is
//! in use no longer. What stays in a run's folder: its manifest, its inputs, and tables of facts, which are small and read run by run.

use std::{collections::BTreeMap, io, path::Path, sync::Arc};

use arrow_array::{DictionaryArray, Int32Array, RecordBatch, StringArray, types::Int32Type};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fenxi_model::{Micros, RunId, Shape};
use fs_err as fs;

use crate::{
    FileEntry, Store, StoreError,
    fs::{names, sync_dir},
    locks::HeldLock,
    packed::{Compacted, PackedFile},
    parquet_file::{ParquetFile, ROW_GROUP},
    rows::RUN,
};

/// Bytes from which on a file is ended: with the run that is being added it stays below twice as many.
const TARGET: u64 = 256 << 20;
/// A file of many runs below this is merged with what comes; a run's own file from this on is left as it is.
pub(crate) const SMALL: u64 = 128 << 20;
/// Runs whose own files are removed while changes are locked out, at a time.
const AT_ONCE: usize = 500;
/// A file of which so many of its runs were removed is written anew; as a divisor.
const GONE: usize = 4;

/// Which runs are compacted.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompactWish<'a> {
    /// Only these; None for all.
    pub runs: Option<&'a [RunId]>,
    /// Only runs that ended before this.
    pub before: Option<Micros>,
    /// Only reports what would be done.
    pub dry_run: bool,
}

/// Result of a compaction, or of a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Tables that it concerned.
    pub tables: usize,
    /// Files before: those of runs, and small ones of many runs.
    pub files_before: u64,
    /// Their bytes.
    pub bytes_before: u64,
    /// Files after; 0 for a dry run.
    pub files_after: u64,
    /// Their bytes.
    pub bytes_after: u64,
    /// Rows in them.
    pub rows: u64,
}

/// Tables of equal columns: what can be one file.
type Kind = (String, String);

/// Runs and files of one kind that are to be written.
#[derive(Default)]
struct Group {
    runs: Vec<RunId>,
    files: u64,
    bytes: u64,
}

/// Takes how far a compaction is: the table, runs that are done, all of them.
pub type Watch<'a> = dyn FnMut(&str, usize, usize) + 'a;

impl Store {
    /// Writes tables of many runs into files of many runs.
    ///
    /// # Errors
    /// When another compaction is under way, a file is damaged, or the store cannot be written. Completed tables stay compacted.
    pub fn compact(&self, wish: &CompactWish<'_>, watch: &mut Watch<'_>) -> Result<Compaction, StoreError> {
        if self.knows_only_some() {
            return self.all_runs().compact(wish, watch);
        }
        let mut done = Compaction::default();
        let _alone = if wish.dry_run { None } else { Some(self.compacting()?) };
        if !wish.dry_run {
            self.finish_compaction()?;
        }
        for ((table, fingerprint), group) in self.groups(wish)? {
            done.tables += 1;
            done.files_before += group.files;
            done.bytes_before += group.bytes;
            if wish.dry_run {
                continue;
            }
            let mut at = 0;
            while at < group.runs.len() {
                let from = at;
                let file = self.write_packed(&table, &fingerprint, &group.runs, &mut at, watch)?;
                done.files_after += 1;
                done.bytes_after += file.bytes;
                done.rows += file.rows;
                self.swap_in(file, &group.runs[from..at])?;
                self.finish_compaction()?;
            }
        }
        Ok(done)
    }

    /// Files that are worth writing, by kind; runs in order.
    fn groups(&self, wish: &CompactWish<'_>) -> Result<BTreeMap<Kind, Group>, StoreError> {
        let compacted = self.compacted()?;
        let mut groups: BTreeMap<Kind, Group> = BTreeMap::new();
        for summary in self.summaries()? {
            let is_chosen = wish.runs.is_none_or(|runs| runs.contains(&summary.id));
            if !is_chosen || wish.before.is_some_and(|before| summary.end >= before) {
                continue;
            }
            for (table, fingerprint, _) in summary.tables {
                if !is_moved(&table) || compacted.find(&summary.id, &table).is_some() {
                    continue;
                }
                // The index does not have the size; a file that is not there is an error when it is read.
                let path = self.run_dir(&summary.id).join(format!("{table}.parquet"));
                let bytes = fs::metadata(&path).map_or(0, |meta| meta.len());
                if bytes < SMALL {
                    let group = groups.entry((table, fingerprint)).or_default();
                    group.runs.push(summary.id.clone());
                    group.files += 1;
                    group.bytes += bytes;
                }
            }
        }
        for file in &compacted.files {
            let kind = (file.table.clone(), file.fingerprint.clone());
            let merges = file.bytes < SMALL && groups.get(&kind).is_some_and(|group| group.files > 0);
            if merges || file.gone.len() * GONE > file.n_runs() {
                let group = groups.entry(kind).or_default();
                group.runs.extend(compacted.runs_of(file).cloned());
                group.files += 1;
                group.bytes += file.bytes;
            }
        }
        groups.retain(|(table, _), group| {
            group.runs.sort();
            group.files > 1 || compacted.files.iter().any(|f| f.table == *table && !f.gone.is_empty())
        });
        Ok(groups)
    }

    /// Writes runs from `at` on into one file, until it is large enough.
    fn write_packed(
        &self,
        table: &str,
        fingerprint: &str,
        runs: &[RunId],
        at: &mut usize,
        watch: &mut Watch<'_>,
    ) -> Result<PackedFile, StoreError> {
        let scratch = self.scratch()?;
        let path = scratch.path("part");
        let mut file: Option<ParquetFile> = None;
        while let Some(run) = runs.get(*at) {
            if file.as_ref().is_some_and(|file| file.bytes_written() >= TARGET) {
                break;
            }
            watch(table, *at, runs.len());
            *at += 1;
            self.add_run(table, run, &mut file, &path)?;
        }
        watch(table, *at, runs.len());
        let file = file.ok_or_else(|| StoreError::damaged(&path, "there was nothing to write"))?;
        let FileEntry { rows, bytes, blake3, .. } = file.finish(table)?;
        self.modes().apply(&path)?;
        let folder = self.make_dir(&format!("{}/{table}", crate::compacted::COMPACTED))?;
        let short: String = blake3.chars().take(16).collect();
        // Its content is its name: another one never gets it.
        let name = format!("{table}/{short}.parquet");
        self.move_in(&path, &self.compacted_dir().join(&name))?;
        sync_dir(&folder)?;
        Ok(PackedFile {
            name,
            table: table.to_owned(),
            fingerprint: fingerprint.to_owned(),
            rows,
            bytes,
            blake3,
            unswept: true,
            ..PackedFile::default()
        })
    }

    /// Adds the rows of a run; nothing of one that was removed meanwhile.
    fn add_run(&self, table: &str, run: &RunId, file: &mut Option<ParquetFile>, path: &Path) -> Result<(), StoreError> {
        let manifest = match self.manifest(run) {
            Err(StoreError::Unknown { .. }) if !self.run_dir(run).exists() => return Ok(()),
            manifest => manifest?,
        };
        let Some(entry) = manifest.file(table) else { return Ok(()) };
        let rows = self.rows(run, entry, None)?;
        let schema = with_run(&rows.schema_of_file());
        let mut n_rows = 0;
        for batch in rows {
            let batch = batch?;
            n_rows += batch.num_rows() as u64;
            let file = match &mut *file {
                Some(file) => file,
                none => none.insert(ParquetFile::create(path, &schema)?),
            };
            // A run gets its own row group rather than two halves.
            let in_group = file.rows_in_group();
            if in_group >= ROW_GROUP / 2 && in_group + batch.num_rows() > ROW_GROUP {
                file.flush()?;
            }
            let packed = named(&batch, run, &schema).map_err(|source| file.arrow_error(source))?;
            file.write(&packed)?;
        }
        if n_rows != entry.rows {
            let what = format!("{n_rows} rows of {run} were read, its manifest has {}", entry.rows);
            return Err(StoreError::damaged(self.run_dir(run).join(&entry.name), what));
        }
        Ok(())
    }

    /// Names the new file in the manifest, and its runs in no other file of the table.
    fn swap_in(&self, file: PackedFile, runs: &[RunId]) -> Result<(), StoreError> {
        let _turn = self.changing()?;
        let compacted = self.compacted()?;
        let mut files = compacted.parts();
        for (other, held) in files.iter_mut().filter(|(other, _)| other.table == file.table) {
            let (moved, kept): (Vec<RunId>, Vec<RunId>) =
                held.drain(..).partition(|run| runs.binary_search(run).is_ok());
            *held = kept;
            other.gone.extend(moved);
        }
        let (held, removed) = runs.iter().cloned().partition(|run| self.run_dir(run).exists());
        files.push((PackedFile { gone: removed, ..file }, held));
        self.put_compacted(&Compacted::from_files(compacted.generation + 1, files))
    }

    /// Removes what files of many runs have replaced, and files that the manifest does not name. The caller is the only one that
    /// compacts.
    pub(crate) fn finish_compaction(&self) -> Result<(), StoreError> {
        loop {
            let compacted = self.compacted()?;
            let Some(file) = compacted.files.iter().find(|file| file.unswept) else { break };
            let runs: Vec<RunId> = compacted.runs_of(file).cloned().collect();
            for some in runs.chunks(AT_ONCE) {
                let _turn = self.changing()?;
                // A run that was removed, and came again from an archive, is in its own files.
                let now = self.compacted()?;
                for run in some.iter().filter(|run| now.find(run, &file.table).is_some_and(|f| f.name == file.name)) {
                    remove(&self.run_dir(run).join(format!("{}.parquet", file.table)))?;
                }
            }
            let _turn = self.changing()?;
            let now = self.compacted()?;
            let mut files = now.parts();
            files.iter_mut().filter(|(f, _)| f.name == file.name).for_each(|(f, _)| f.unswept = false);
            self.put_compacted(&Compacted::from_files(now.generation + 1, files))?;
        }
        for path in self.unnamed_packed()? {
            remove(&path)?;
        }
        Ok(())
    }

    /// Files of many runs that the manifest does not name: replaced, or left by a compaction that was killed.
    pub(crate) fn unnamed_packed(&self) -> Result<Vec<std::path::PathBuf>, StoreError> {
        let compacted = self.compacted()?;
        let mut found = Vec::new();
        for folder in names(&self.compacted_dir())? {
            let dir = self.compacted_dir().join(&folder);
            for name in if dir.is_dir() { names(&dir)? } else { Vec::new() } {
                let within = format!("{folder}/{name}");
                if !compacted.files.iter().any(|file| file.name == within) {
                    found.push(dir.join(name));
                }
            }
        }
        Ok(found)
    }

    /// The right to compact, or to undo it: only one does.
    pub(crate) fn compacting(&self) -> Result<HeldLock, StoreError> {
        self.only_one("compact")
    }
}

/// Whether a table is moved into files of many runs: facts stay, and what this fenxi does not know.
pub(crate) fn is_moved(table: &str) -> bool {
    let declared = fenxi_model::table(table.rsplit('.').next().unwrap_or(table));
    table == "stats" || declared.is_some_and(|t| t.shape != Shape::Facts && t.name != "result")
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The columns of a table, `run` before them.
fn with_run(schema: &SchemaRef) -> SchemaRef {
    let ty = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let mut fields = vec![Arc::new(Field::new(RUN, ty, false))];
    fields.extend(schema.fields().iter().cloned());
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Rows of a run with its id before them.
fn named(batch: &RecordBatch, run: &RunId, schema: &SchemaRef) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let keys = Int32Array::from(vec![0; batch.num_rows()]);
    let values = Arc::new(StringArray::from(vec![run.as_str()]));
    let runs = DictionaryArray::<Int32Type>::try_new(keys, values)?;
    let mut columns: Vec<arrow_array::ArrayRef> = vec![Arc::new(runs)];
    columns.extend(batch.columns().iter().cloned());
    RecordBatch::try_new(Arc::clone(schema), columns)
}
