//! Sealing: turns a finished recording into an immutable run.
//!
//! Everything is written into `open/.sealing-<id>`, made durable, and shown with one rename. Only
//! then is `open/<id>` removed. A failure at any moment leaves `open/<id>` as it was.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use fenxi_model::{Micros, RunId, TABLES};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::{
    Begin, End, FORMAT, FileEntry, InputEntry, Manifest, Store, StoreError,
    bounds::kept_command,
    digest::BLANK,
    fs::{sync_all_of, sync_dir, write_synced},
    open::Chunks,
    seal_together::seal_together,
    sort_buffer::SortBuffer,
    stats::{ALL, StatsFile},
    stream::{Read, Recorded, recorded},
    table_seal::{Limits, Sealed, seal_apart, seal_table},
    thinned::{HIGHEST, LOWEST},
};

/// The kind of run that keeps inputs, and has no streams to recover it from.
pub const IMPORT: &str = "import";
/// The kind of run that is made of others.
pub const AVERAGE: &str = "average";

/// The kind of a run that keeps a snapshot of a database server.
pub const SNAPSHOT: &str = "snapshot";
/// The kind of a run that is the interval between two snapshots.
pub const PERIOD: &str = "period";

/// Whether runs of a kind are made of what is there afterwards too: half of one would pass for a whole one, so that
/// nothing is kept of it.
pub(crate) fn is_made_again(kind: &str) -> bool {
    [IMPORT, AVERAGE, SNAPSHOT, PERIOD].contains(&kind)
}
/// Prefix of tables of averages since boot: `boot.cpu`.
pub const BOOT: &str = "boot";
/// Prefix of tables of standard deviations over the runs of an average: `spread.cpu`.
pub const SPREAD: &str = "spread";
/// All prefixes of tables that are kept apart.
pub const APART: [&str; 4] = [BOOT, SPREAD, LOWEST, HIGHEST];
/// The directory of an import's inputs within a run.
pub(crate) const RAW: &str = "raw";

/// Beginning of the name of a directory in which a run is sealed.
pub(crate) const SEALING: &str = ".sealing-";
/// Beginning of the name of a recording that is no longer needed.
pub(crate) const GONE: &str = ".gone-";

/// Removes a recording that is no longer needed: out of sight at once, so that half of it is never looked at.
pub(crate) fn give_up(dir: &Path) -> std::io::Result<()> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let gone = dir.with_file_name(format!("{GONE}{name}"));
    if gone.exists() {
        fs::remove_dir_all(&gone)?;
    }
    fs::rename(dir, &gone)?;
    match fs::remove_dir_all(&gone) {
        // Another command that found it removed the rest.
        Err(_) if !gone.exists() => Ok(()),
        removed => removed,
    }
}

/// `open/<id>/begin.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opened {
    pub(crate) format: u32,
    pub(crate) id: RunId,
    #[serde(flatten)]
    pub(crate) begin: Begin,
}

/// A recording whose lock the caller holds.
pub(crate) struct Recording<'a> {
    pub(crate) store: &'a Store,
    pub(crate) dir: PathBuf,
    pub(crate) opened: Opened,
    /// None when the recorder died before it could say.
    pub(crate) end: Option<End>,
    /// Whether somebody else than the recorder seals.
    pub(crate) recovered: bool,
    /// The rows of all tables by place in the catalogue, when the recorder still has them all.
    pub(crate) live: Option<Vec<Option<SortBuffer>>>,
    /// Rows that are kept in separate files, by the prefix of the table's name.
    pub(crate) apart: Vec<(String, SortBuffer)>,
    /// The tables of an import, which has no streams.
    pub(crate) chunks: Option<Chunks>,
    /// Whether there are kept inputs that are not durable yet.
    pub(crate) sync_all: bool,
    pub(crate) limits: Limits<'a>,
}

impl Recording<'_> {
    /// Seals; gives the bytes of torn messages that were dropped.
    pub(crate) fn seal(mut self) -> Result<u64, StoreError> {
        let id = self.opened.id.clone();
        let (store, kept) = (self.store.clone(), self.dir.clone());
        let part = store.open_dir().join(format!("{SEALING}{id}"));
        let sealed = self.write(&part);
        sealed.map_err(|cause| {
            // Free the room at once; what cannot be removed is removed by the next attempt.
            let _ = fs::remove_dir_all(&part);
            StoreError::Seal { id, kept, cause: Box::new(cause) }
        })
    }

    fn write(&mut self, part: &Path) -> Result<u64, StoreError> {
        let id = self.opened.id.clone();
        let shown = self.store.run_dir(&id);
        let cpu = cpu_seconds();
        let runs = self.store.make_dir("runs")?;
        // A sealer that was killed may have left one; its lock was given up with its life.
        for left in [part, &runs.join(format!("{SEALING}{id}"))] {
            if fs::symlink_metadata(left).is_ok() {
                fs::remove_dir_all(left)?;
            }
        }
        // It is made new, and each file in it too: nothing that somebody put there before is written through. So its name need be
        // no secret, and the next process after a kill finds it.
        fs::create_dir(part)?;
        self.store.modes().apply(part)?;
        let tables = self.tables(part)?;
        let (dropped, of_others) = (tables.read.dropped_bytes, tables.cpu_s);
        let mut manifest = self.manifest(tables);
        manifest.seal_cpu_s = Some((cpu_seconds() - cpu).max(0.0) + of_others);
        write_synced(&part.join("run.json"), &manifest_bytes(&mut manifest)?)?;
        self.link_inputs(part, &manifest.inputs)?;
        self.store.modes().apply_all(part)?;
        sync_dir(part)?;
        // Where this fails, a scrub finds what copies lack.
        let change = if id.is_range() { None } else { self.store.begin_change(&[format!("runs/run={id}")]).ok() };
        // A process that sets a mark now waits, and finds the sealed run.
        let turn = self.store.changing()?;
        self.store.settle_marks(&id, &self.dir, manifest.first_labels())?;
        fs::rename(part, &shown)?;
        sync_dir(&runs)?;
        drop(turn);
        if let Some(change) = change {
            self.store.end_change(change);
        }
        // From here on the run is there. A leftover in `open/` is removed by the next recovery.
        let _ = give_up(&self.dir);
        Ok(dropped)
    }

    fn tables(&mut self, part: &Path) -> Result<Tables, StoreError> {
        let mut stats = StatsFile::create(&part.join("stats.parquet"), ALL)?;
        let mut sealed_tables = Tables::default();
        let mut live = self.live.take();
        let tables = match &live {
            Some(live) => {
                let filled = TABLES.iter().filter(|t| live[t.id as usize].is_some());
                filled.map(|table| Recorded { table, segments: Vec::new() }).collect()
            }
            None if self.chunks.is_some() => Vec::new(),
            None => recorded(&self.dir)?,
        };
        for table in tables {
            let gather = live.as_mut().and_then(|live| live[table.table.id as usize].take());
            if let Some(sealed) = seal_table(&table, gather, part, &mut stats, self.limits)? {
                sealed_tables.add(sealed);
            }
        }
        let chunked = self.chunks.take().map(Chunks::into_tables).unwrap_or_default();
        let (sealed, cpu_s) = seal_together(chunked, part, &mut stats, self.limits)?;
        sealed_tables.cpu_s = cpu_s;
        sealed.into_iter().for_each(|sealed| sealed_tables.add(sealed));
        for (prefix, gather) in self.apart.drain(..) {
            let name = format!("{prefix}.{}", gather.table.name);
            sealed_tables.files.extend(seal_apart(gather, &name, part)?);
        }
        sealed_tables.files.push(stats.finish()?);
        Ok(sealed_tables)
    }

    /// Gives the inputs of an import a second name in `part`; the first goes with `open/<id>`.
    fn link_inputs(&self, part: &Path, inputs: &[InputEntry]) -> Result<(), StoreError> {
        let mut any = false;
        // Of an import nothing is kept when sealing fails: the folder goes over as it is, however many inputs there are.
        if self.sync_all && is_made_again(&self.opened.begin.kind) && !inputs.is_empty() {
            fs::rename(self.dir.join(RAW), part.join(RAW))?;
            return Ok(sync_all_of(&part.join(RAW))?);
        }
        // Short inputs share a file.
        let mut linked = BTreeSet::new();
        for input in inputs.iter().filter(|input| input.part.is_none() || linked.insert(&input.raw.name)) {
            if !any {
                fs::create_dir(part.join(RAW))?;
                any = true;
            }
            fs::hard_link(self.dir.join(&input.raw.name), part.join(&input.raw.name))?;
        }
        if any { Ok(sync_dir(&part.join(RAW))?) } else { Ok(()) }
    }

    fn manifest(&mut self, mut tables: Tables) -> Manifest {
        let begin = self.opened.begin.clone();
        let mut end = self.end.take();
        // There may be many thousands.
        let inputs = end.as_mut().map(|e| std::mem::take(&mut e.inputs)).unwrap_or_default();
        let mut shared = BTreeSet::new();
        let kept = inputs.iter().filter(|input| input.part.is_none() || shared.insert(&input.raw.name));
        tables.files.extend(kept.map(|input| input.raw.clone()));
        let last = tables.last_t.map_or(begin.start, Micros).max(begin.start);
        let mut hosts = std::mem::take(&mut tables.hosts);
        let named = hosts.remove(&begin.host);
        // An import knows its hosts only from its rows; the one it began with may occur in none.
        let first = (named || hosts.is_empty() || begin.kind != IMPORT).then_some(begin.host);
        let hosts = first.into_iter().chain(hosts).collect();
        Manifest {
            format: FORMAT,
            digest: String::new(),
            id: self.opened.id.clone(),
            name: begin.name.filter(|n| !n.is_empty()),
            kind: begin.kind,
            hosts,
            start: end.as_ref().and_then(|e| e.start).unwrap_or(begin.start),
            end: end.as_ref().map_or(last, |e| e.end),
            interval_s: begin.interval_s,
            command: kept_command(begin.command),
            exit_status: end.as_ref().and_then(|e| e.exit_status),
            signal: end.as_ref().and_then(|e| e.signal),
            recovered: self.recovered,
            params: begin.params,
            tags: begin.tags,
            windows: end.as_ref().map(|e| e.windows.clone()).unwrap_or_default(),
            sources: begin.sources.into_iter().collect::<BTreeSet<_>>().into_iter().collect(),
            costs: end.as_ref().map(|e| e.costs.clone()).unwrap_or_default(),
            ticks: Some(end.as_ref().map_or(tables.read.batches, |e| e.ticks)),
            missed_ticks: end.as_ref().map(|e| e.missed_ticks),
            seal_cpu_s: None,
            inputs,
            made_of: Vec::new(),
            files: tables.files,
        }
    }
}

/// Result of sealing the tables.
#[derive(Default)]
struct Tables {
    files: Vec<FileEntry>,
    read: Read,
    last_t: Option<i64>,
    hosts: BTreeSet<String>,
    /// CPU seconds of other threads than the one that seals.
    cpu_s: f64,
}

impl Tables {
    fn add(&mut self, sealed: Sealed) {
        self.files.push(sealed.entry);
        self.read.batches = self.read.batches.max(sealed.read.batches);
        self.read.dropped_bytes += sealed.read.dropped_bytes;
        self.last_t = self.last_t.max(sealed.last_t);
        self.hosts.extend(sealed.hosts);
    }
}

/// CPU seconds this thread has used.
pub(crate) fn cpu_seconds() -> f64 {
    fenxi_sys::clock::thread_cpu_ns() as f64 / 1e9
}

/// The manifest as it is written, with its own digest in it.
pub(crate) fn manifest_bytes(manifest: &mut Manifest) -> Result<Vec<u8>, StoreError> {
    BLANK.clone_into(&mut manifest.digest);
    let mut text = serde_json::to_string_pretty(manifest).map_err(|e| StoreError::damaged("run.json", e))?;
    text.push('\n');
    manifest.digest = blake3::hash(text.as_bytes()).to_hex().to_string();
    Ok(text.replacen(BLANK, &manifest.digest, 1).into_bytes())
}

/// Whether the text of a manifest is the one that its digest was made of.
pub(crate) fn manifest_is_intact(text: &str, digest: &str) -> bool {
    digest.len() == BLANK.len() && blake3::hash(text.replacen(digest, BLANK, 1).as_bytes()).to_hex().as_str() == digest
}
