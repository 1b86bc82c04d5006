//! Several runs of one recording as one: merged for good, or put together for a look at a range of time.
//!
//! The new run is written in a hidden directory and shown with one rename. It names the runs that it was made of: as
//! long as they are there too, who reads a series counts only the whole.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, TimestampMicrosecondType},
};
use fenxi_model::{Micros, RunId, Shape, TABLES, Table};
use fs_err as fs;

use crate::{
    APART, BOOT, FORMAT, FileEntry, Manifest, SERIES, SourceCost, Store, StoreError,
    fs::{sync_dir, write_synced},
    seal::manifest_bytes,
    sort_buffer::SortBuffer,
    stats::{ALL, StatsFile},
    table_seal::{Limits, Sealing, places, seal_apart, seal_chunked},
    thinned::{HIGHEST, LOWEST, Thinner},
};

/// Merge of several runs into one: inputs and options.
#[derive(Debug)]
pub struct Stitch<'a> {
    /// The runs, in the order of their time.
    pub pieces: &'a [RunId],
    /// The part of their time that counts; None for all. What begins in its last moment does not.
    pub span: Option<(Micros, Micros)>,
    /// Seconds of a row; 0 leaves rows as they are.
    pub step_s: f64,
    /// Asks for an end before it is done: then nothing is kept.
    pub stop: &'a AtomicBool,
}

/// Rows of a table, or of one that is kept apart, that are held before some are written.
const HELD_BYTES: usize = 12 << 20;
/// Rows read at a time.
const BATCH: usize = 1 << 14;
/// Statistics are made of no more values at a time.
const LIMITS: Limits<'static> = Limits { chunk_bytes: HELD_BYTES, stat_values: 2 << 20, go_on: None };

/// A sealed run, or one that is still recorded, and what it has.
pub(crate) struct Piece {
    pub(crate) manifest: Manifest,
    /// The rows until now of a run that is being recorded.
    pub(crate) live: Option<BTreeMap<&'static str, Vec<RecordBatch>>>,
}

impl Store {
    /// Makes one run of several. They stay; who has made sure that the new one is all that is wanted removes them. None when
    /// asked to stop.
    ///
    /// # Errors
    /// When there is no run, or one cannot be read, or the store cannot be written: then nothing is kept.
    pub fn stitch(&self, stitch: &Stitch<'_>, random: u64) -> Result<Option<RunId>, StoreError> {
        let mut pieces = Vec::with_capacity(stitch.pieces.len());
        for id in stitch.pieces {
            pieces.push(Piece { manifest: self.manifest(id)?, live: None });
        }
        let Some(first) = pieces.first() else {
            return Err(StoreError::damaged(self.path(), "no run to be made one"));
        };
        let mut random = random;
        let (start, name) = (first.manifest.start, first.manifest.name.clone().unwrap_or_default());
        let id = loop {
            let id = RunId::new(start, &name, random);
            if !self.run_dir(&id).exists() {
                break id;
            }
            random = random.wrapping_add(1);
        };
        self.make_dir("runs")?;
        Ok(self.put_together(&pieces, stitch, id.clone(), name)?.then_some(id))
    }

    /// Makes the run `id` of pieces, at its place; false when asked to stop.
    pub(crate) fn put_together(
        &self,
        pieces: &[Piece],
        stitch: &Stitch<'_>,
        id: RunId,
        name: String,
    ) -> Result<bool, StoreError> {
        let scratch = self.scratch()?;
        let (work, part) = (scratch.path("work"), scratch.path("run"));
        fs::create_dir(&work)?;
        fs::create_dir(&part)?;
        self.modes().apply(&part)?;
        let Some(files) = Making { store: self, pieces, stitch, work: &work, part: &part }.tables()? else {
            return Ok(false);
        };
        let mut manifest = whole(pieces, stitch, id.clone(), name, files);
        write_synced(&part.join("run.json"), &manifest_bytes(&mut manifest)?)?;
        self.modes().apply_all(&part)?;
        sync_dir(&part)?;
        if !id.is_range() {
            self.hand_on_marks(pieces, &manifest)?;
        }
        let shown = self.run_dir(&id);
        let change = if id.is_range() { None } else { Some(self.begin_change(&[format!("runs/run={id}")])?) };
        match fs::rename(&part, &shown) {
            // Somebody else made the same at the same moment.
            Err(_) if shown.join("run.json").exists() => {}
            renamed => renamed?,
        }
        if let Some(parent) = shown.parent() {
            sync_dir(parent)?;
        }
        if let Some(change) = change {
            self.end_change(change);
        }
        Ok(true)
    }
}

impl Store {
    /// Gives a run the marks of those that it is made of, before it is shown.
    fn hand_on_marks(&self, pieces: &[Piece], manifest: &Manifest) -> Result<(), StoreError> {
        let mut labels = manifest.first_labels();
        for piece in pieces {
            self.marks(&piece.manifest.id)?.into_iter().for_each(|mark| labels.add_mark(mark));
        }
        if labels.marks.is_empty() { Ok(()) } else { self.set_labels_of_new(&manifest.id, &labels) }
    }
}

/// A run being made.
struct Making<'a> {
    store: &'a Store,
    pieces: &'a [Piece],
    stitch: &'a Stitch<'a>,
    /// Where tables are written chunk by chunk.
    work: &'a Path,
    /// Where the run is made.
    part: &'a Path,
}

/// One table that rows are added to.
struct Growing {
    gather: SortBuffer,
    written: Option<Sealing>,
    path_of_chunks: std::path::PathBuf,
}

impl Growing {
    fn new(table: &'static Table, work: &Path) -> Growing {
        Growing { gather: SortBuffer::new(table), written: None, path_of_chunks: work.to_owned() }
    }

    fn push(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if !self.gather.push(batch) {
            return Err(StoreError::damaged(&self.path_of_chunks, "rows with columns that this fenxi does not know"));
        }
        if self.gather.bytes > HELD_BYTES {
            let (table, work) = (self.gather.table, &self.path_of_chunks);
            let sealing = self.written.get_or_insert_with(|| Sealing::new(table, work));
            sealing.write_more(&mut self.gather, LIMITS)?;
            self.gather.clear();
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.gather.len() == 0 && self.written.is_none()
    }
}

impl Making<'_> {
    /// The files of all tables; None when asked to stop.
    fn tables(&self) -> Result<Option<Vec<FileEntry>>, StoreError> {
        let mut stats = StatsFile::create(&self.part.join("stats.parquet"), ALL)?;
        let mut files = Vec::new();
        for table in TABLES {
            let thins = self.stitch.step_s > 0.0 && matches!(table.shape, Shape::Series | Shape::Distribution);
            let mut rows = Growing::new(table, self.work);
            let mut apart: BTreeMap<&str, SortBuffer> = BTreeMap::new();
            let mut thinner = Thinner::new(table, self.stitch.step_s);
            for piece in self.pieces {
                let read = self.rows(piece, table.name, &mut |batch| {
                    if thins {
                        thinner.push(&batch)?;
                        take_thinned(&mut thinner, false, &mut rows, &mut apart)
                    } else {
                        rows.push(&batch)
                    }
                })?;
                if thins {
                    take_thinned(&mut thinner, true, &mut rows, &mut apart)?;
                }
                if !read {
                    return Ok(None);
                }
            }
            if table.shape == Shape::Facts && rows.gather.len() > 0 {
                rows.gather = without_repeats(rows.gather, self.part)?;
            }
            if !rows.is_empty() {
                files.push(seal_chunked(rows.gather, rows.written, self.part, &mut stats, LIMITS)?.entry);
            }
            for prefix in APART {
                let name = format!("{prefix}.{}", table.name);
                let mut gather = apart.remove(prefix).unwrap_or_else(|| SortBuffer::new(table));
                // Averages since boot are what they were when it all began.
                let of = if prefix == BOOT { &self.pieces[..1] } else { self.pieces };
                for piece in of {
                    self.rows(piece, &name, &mut |batch| push(&mut gather, &batch, self.part))?;
                }
                if gather.len() > 0 {
                    files.extend(seal_apart(gather, &name, self.part)?);
                }
            }
        }
        files.push(stats.finish()?);
        Ok(Some(files))
    }

    /// Gives all rows of a table of a piece that count to `each`; false when asked to stop.
    fn rows(
        &self,
        piece: &Piece,
        table: &str,
        each: &mut dyn FnMut(RecordBatch) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        let stopped = || self.stitch.stop.load(Ordering::Relaxed);
        let declared = fenxi_model::table(table.rsplit('.').next().unwrap_or(table));
        let is_fact = declared.is_none_or(|table| table.shape == Shape::Facts);
        let span = self.stitch.span.filter(|_| !is_fact && !table.starts_with("boot."));
        let mut give = |batch: RecordBatch| match span {
            Some(span) => cut(&batch, span).into_iter().try_for_each(&mut *each),
            None => each(batch),
        };
        if let Some(live) = &piece.live {
            live.get(table).into_iter().flatten().cloned().try_for_each(give)?;
            return Ok(!stopped());
        }
        let Some(entry) = piece.manifest.file(table) else { return Ok(!stopped()) };
        for batch in self.store.rows_by(&piece.manifest.id, entry, None, BATCH)? {
            if stopped() {
                return Ok(false);
            }
            give(batch?)?;
        }
        Ok(true)
    }
}

/// Takes what is thinned so far; all of it at the `end` of a piece.
fn take_thinned(
    thinner: &mut Thinner,
    end: bool,
    rows: &mut Growing,
    apart: &mut BTreeMap<&str, SortBuffer>,
) -> Result<(), StoreError> {
    let Some(made) = thinner.take(end)? else { return Ok(()) };
    rows.push(&made.means)?;
    for (prefix, batch) in [(LOWEST, made.lowest), (HIGHEST, made.highest)] {
        if let Some(batch) = batch {
            let gather = apart.entry(prefix).or_insert_with(|| SortBuffer::new(rows.gather.table));
            push(gather, &batch, &rows.path_of_chunks)?;
        }
    }
    Ok(())
}

fn push(gather: &mut SortBuffer, batch: &RecordBatch, dir: &Path) -> Result<(), StoreError> {
    if gather.push(batch) {
        return Ok(());
    }
    Err(StoreError::damaged(dir, "rows with columns that this fenxi does not know"))
}

/// Facts that are equal in several runs are kept once: with the time of the first.
fn without_repeats(mut gather: SortBuffer, dir: &Path) -> Result<SortBuffer, StoreError> {
    let order = gather.order();
    let mut kept = Vec::with_capacity(order.order.len());
    for range in &order.groups {
        let mut reported: BTreeMap<String, u32> = BTreeMap::new();
        let mut of_group = Vec::new();
        for row in &order.order[range.clone()] {
            // Facts with phases are kept in each phase.
            let phase = gather.label(*row, "phase").unwrap_or_default();
            let same = reported.get(&phase).is_some_and(|before| gather.differ_in_time_only(*before, *row));
            if !same {
                of_group.push(*row);
                reported.insert(phase, *row);
            }
        }
        kept.extend(of_group);
    }
    let columns = places(&gather.in_use());
    let batch = gather.batch(&kept, &columns);
    let batch = batch.map_err(|source| StoreError::Arrow { path: dir.to_owned(), source })?;
    let mut fresh = SortBuffer::new(gather.table);
    if batch.num_rows() > 0 {
        push(&mut fresh, &batch, dir)?;
    }
    Ok(fresh)
}

/// The rows of a batch whose interval has its middle within a span, as slices.
fn cut(batch: &RecordBatch, (from, to): (Micros, Micros)) -> Vec<RecordBatch> {
    let Some(times) = batch.column_by_name("t").and_then(|c| c.as_primitive_opt::<TimestampMicrosecondType>()) else {
        return vec![batch.clone()];
    };
    let lengths = batch.column_by_name("dt").and_then(|c| c.as_primitive_opt::<Float64Type>());
    let counts = |row: usize| {
        let dt = lengths.filter(|l| l.is_valid(row)).map_or(0.0, |l| l.value(row));
        let middle = times.value(row) - (dt * 5e5) as i64;
        times.is_valid(row) && middle >= from.0 && middle < to.0
    };
    let mut slices = Vec::new();
    let mut begin = None;
    for row in 0..=batch.num_rows() {
        match (begin, row < batch.num_rows() && counts(row)) {
            (None, true) => begin = Some(row),
            (Some(first), false) => {
                slices.push(batch.slice(first, row - first));
                begin = None;
            }
            _ => {}
        }
    }
    slices
}

/// The manifest of the whole.
fn whole(pieces: &[Piece], stitch: &Stitch<'_>, id: RunId, name: String, files: Vec<FileEntry>) -> Manifest {
    let manifests = || pieces.iter().map(|piece| &piece.manifest);
    let start = manifests().map(|m| m.start).min().unwrap_or(Micros(0));
    let end = manifests().map(|m| m.end).max().unwrap_or(start);
    let (from, to) = stitch.span.unwrap_or((start, end));
    let (from, to) = (from.max(start), to.min(end));
    let is_all = from == start && to == end;
    let longest = manifests().filter_map(|m| m.interval_s).fold(stitch.step_s, f64::max);
    let mut hosts: Vec<String> = Vec::new();
    for host in manifests().flat_map(|m| &m.hosts) {
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
    }
    // Values that differ between them are left out of the whole.
    let mut params = pieces.first().map(|p| p.manifest.params.clone()).unwrap_or_default();
    params.retain(|key, value| manifests().all(|m| m.params.get(key) == Some(value)));
    let mut tags = pieces.first().map(|p| p.manifest.tags.clone()).unwrap_or_default();
    // A part of a recording is none of its runs: it is neither merged nor removed with them.
    let is_part = |key: &str| stitch.span.is_some() && key == SERIES;
    tags.retain(|key, value| !is_part(key) && manifests().all(|m| m.tags.get(key) == Some(value)));
    Manifest {
        format: FORMAT,
        digest: String::new(),
        id,
        name: Some(name).filter(|name| !name.is_empty()),
        kind: pieces.first().map_or_else(String::new, |p| p.manifest.kind.clone()),
        hosts,
        start: from,
        end: to,
        interval_s: (longest > 0.0).then_some(longest),
        command: Vec::new(),
        exit_status: None,
        signal: None,
        recovered: manifests().any(|m| m.recovered),
        params,
        tags,
        windows: manifests().flat_map(|m| m.windows.clone()).filter(|w| w.start < to && w.end > from).collect(),
        sources: manifests().flat_map(|m| m.sources.clone()).collect::<BTreeSet<_>>().into_iter().collect(),
        costs: if is_all { costs(manifests()) } else { Vec::new() },
        // The samples of a part were not counted.
        ticks: is_all.then(|| manifests().filter_map(|m| m.ticks).sum()),
        missed_ticks: is_all.then(|| manifests().filter_map(|m| m.missed_ticks).sum()),
        seal_cpu_s: None,
        inputs: Vec::new(),
        made_of: manifests().map(|m| m.id.clone()).collect(),
        files,
    }
}

fn costs<'a>(manifests: impl Iterator<Item = &'a Manifest>) -> Vec<SourceCost> {
    let mut all: Vec<SourceCost> = Vec::new();
    for cost in manifests.flat_map(|m| &m.costs) {
        match all.iter_mut().find(|known| known.source == cost.source) {
            Some(known) => {
                known.samples += cost.samples;
                known.cpu_s += cost.cpu_s;
                known.wall_s += cost.wall_s;
                known.max_s = known.max_s.max(cost.max_s);
                known.failures += cost.failures;
                known.rows += cost.rows;
            }
            None => all.push(cost.clone()),
        }
    }
    all
}
