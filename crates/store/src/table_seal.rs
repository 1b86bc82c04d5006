//! Sealing one table: streams in, a sorted Parquet file and the statistics of its series out,
//! in bounded memory.
//!
//! A table that fits a chunk is sorted as a whole. A larger one is sorted chunk by chunk; its
//! statistics are then made from the finished file, a few series at a time.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{Array, RecordBatch};
use fenxi_model::{
    Table,
    catalog::{self, DT},
    schema_of,
};
use fs_err as fs;
use indexmap::IndexSet;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rustc_hash::FxBuildHasher;

use crate::{
    FileEntry, StoreError,
    parquet_file::{ParquetFile, ROW_GROUP, parquet_error},
    sort_buffer::{Order, SortBuffer},
    stats::{Stats, summarise},
    stream::{Read, Recorded, widen},
    table_stats::{Finished, ValueBuffer},
};

/// Threads that make the statistics of a large table, or seal several.
pub(crate) const MAX_THREADS: usize = 4;

/// Asked in the course of long work whether it may go on.
#[derive(Clone)]
pub struct GoOn(Arc<dyn Fn() -> bool + Send + Sync>);

impl GoOn {
    /// It may for as long as this is true.
    pub fn while_true(may: impl Fn() -> bool + Send + Sync + 'static) -> GoOn {
        GoOn(Arc::new(may))
    }
}

impl std::fmt::Debug for GoOn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GoOn")
    }
}

/// How much memory sealing may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits<'a> {
    /// Bytes of rows that are sorted at a time.
    pub(crate) chunk_bytes: usize,
    /// Values of one column, over several series, that are summarised at a time.
    pub(crate) stat_values: usize,
    /// Asked every few thousand series, each of which takes memory; None: to the end.
    pub(crate) go_on: Option<&'a GoOn>,
}

/// Series between two of these questions.
const SERIES: usize = 4096;

impl Limits<'_> {
    pub(crate) const DEFAULT: Limits<'static> = Limits { chunk_bytes: 64 << 20, stat_values: 8 << 20, go_on: None };

    /// Fails at every [`SERIES`]th series if work is to end.
    fn check(&self, series: usize) -> Result<(), StoreError> {
        let ends = series.is_multiple_of(SERIES) && self.go_on.is_some_and(|go_on| !go_on.0());
        if ends { Err(StoreError::Stopped) } else { Ok(()) }
    }
}

/// A sealed table.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) entry: FileEntry,
    pub(crate) read: Read,
    pub(crate) last_t: Option<i64>,
    /// Hosts that rows belong to.
    pub(crate) hosts: BTreeSet<String>,
}

/// Tables whose rows are no series: a bucket of a histogram or a stack has no mean over time.
pub(crate) fn has_series(table: &Table) -> bool {
    ![catalog::histogram::TABLE.id, catalog::stack::TABLE.id].contains(&table.id)
}

/// Writes `table` into `dir` and its statistics into `stats`; None when it has no row.
///
/// `live` holds the same rows as the streams when the recorder still has them all in memory.
pub(crate) fn seal_table(
    recorded: &Recorded,
    live: Option<SortBuffer>,
    dir: &Path,
    stats: &mut dyn Stats,
    limits: Limits<'_>,
) -> Result<Option<Sealed>, StoreError> {
    let mut sealing = Sealing::new(recorded.table, dir);
    let mut read = Read::default();
    let mut last = match live {
        Some(gather) => gather,
        None => {
            let mut gather = SortBuffer::new(recorded.table);
            read = recorded.read(|batch| {
                push(&mut gather, &batch, dir)?;
                if gather.bytes < limits.chunk_bytes {
                    return Ok(());
                }
                let columns = recorded_columns(recorded, &mut sealing)?;
                let mut full = std::mem::replace(&mut gather, SortBuffer::new(recorded.table));
                sealing.write(&mut full, &columns, limits).map(|_| ())
            })?;
            gather
        }
    };
    if last.len() > 0 {
        let whole = sealing.file.is_none();
        let columns = sealing.columns.clone().unwrap_or_else(|| places(&last.in_use()));
        let order = sealing.write(&mut last, &columns, limits)?;
        if whole && has_series(recorded.table) {
            sealing.stats_of_chunk(&last, &order, &columns, stats, limits)?;
        }
        if whole {
            sealing.summarised = true;
        }
    }
    drop(last);
    sealing.finish(read, stats, limits)
}

/// Finishes a table of an import: the chunks that are `written` and the `last` one, into `dir`.
pub(crate) fn seal_chunked(
    mut last: SortBuffer,
    written: Option<Sealing>,
    dir: &Path,
    stats: &mut dyn Stats,
    limits: Limits<'_>,
) -> Result<Sealed, StoreError> {
    let table = last.table;
    let Some(mut sealing) = written else {
        let mut sealing = Sealing::new(table, dir);
        let columns = places(&last.in_use());
        let order = sealing.write(&mut last, &columns, limits)?;
        if has_series(table) {
            sealing.stats_of_chunk(&last, &order, &columns, stats, limits)?;
        }
        sealing.summarised = true;
        drop(last);
        return sealing.finish(Read::default(), stats, limits)?.ok_or_else(|| empty(table, dir));
    };
    sealing.write_more(&mut last, limits)?;
    drop(last);
    let path = sealing.path.clone();
    let sealed = sealing.finish(Read::default(), stats, limits)?.ok_or_else(|| empty(table, dir))?;
    fs::hard_link(path, dir.join(&sealed.entry.name))?;
    Ok(sealed)
}

/// A table is only begun with a row, so that this cannot be.
fn empty(table: &Table, dir: &Path) -> StoreError {
    StoreError::damaged(dir, format!("table `{}` was begun without a row", table.name))
}

/// Writes rows that are kept apart from their table, and have no statistics, into `<name>.parquet`.
pub(crate) fn seal_apart(mut gather: SortBuffer, name: &str, dir: &Path) -> Result<Option<FileEntry>, StoreError> {
    let mut sealing = Sealing::new(gather.table, dir);
    sealing.path = dir.join(format!("{name}.parquet"));
    let columns = places(&gather.in_use());
    sealing.write(&mut gather, &columns, Limits::DEFAULT)?;
    sealing.file.take().map(|file| file.finish(name)).transpose()
}

fn push(gather: &mut SortBuffer, batch: &RecordBatch, dir: &Path) -> Result<(), StoreError> {
    if gather.push(batch) {
        return Ok(());
    }
    Err(StoreError::damaged(dir, format!("table `{}` has columns that this fenxi does not know", gather.table.name)))
}

/// The columns that hold any value anywhere in the streams; read once, when the table proves large.
fn recorded_columns(recorded: &Recorded, sealing: &mut Sealing) -> Result<Vec<usize>, StoreError> {
    if let Some(columns) = &sealing.columns {
        return Ok(columns.clone());
    }
    let mut used = vec![false; recorded.table.columns.len()];
    recorded.read(|batch| {
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            if array.null_count() < array.len()
                && let Some(place) = recorded.table.index_of(field.name())
            {
                used[place] = true;
            }
        }
        Ok(())
    })?;
    let columns = places(&used);
    sealing.columns = Some(columns.clone());
    Ok(columns)
}

/// The places of the columns in use.
pub(crate) fn places(used: &[bool]) -> Vec<usize> {
    (0..used.len()).filter(|p| used[*p]).collect()
}

/// Columns of numbers among `columns`.
fn numbers<'a>(table: &'static Table, columns: &'a [usize]) -> impl Iterator<Item = usize> + use<'a> {
    columns.iter().copied().filter(move |p| table.columns[*p].is_value())
}

/// Statistics of every series of a chunk; `keys` are host and key of its groups, in their order.
pub(crate) fn chunk_stats<'k>(
    gather: &SortBuffer,
    order: &Order,
    columns: &[usize],
    keys: impl Iterator<Item = &'k (String, String)>,
    stats: &mut dyn Stats,
    limits: Limits<'_>,
) -> Result<(), StoreError> {
    let (mut values, mut dts, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
    for (n_series, (range, key)) in order.groups.iter().zip(keys).enumerate() {
        limits.check(n_series)?;
        let rows = &order.order[range.clone()];
        if !gather.numbers(DT, rows, &mut dts) {
            dts.resize(rows.len(), f64::NAN);
        }
        for place in numbers(gather.table, columns) {
            if gather.numbers(place, rows, &mut values)
                && let Some(stat) = summarise(&values, &dts, &mut scratch)
            {
                stats.add(gather.table.name, key, gather.table.columns[place].name, stat)?;
            }
        }
    }
    Ok(())
}

/// A table being sealed.
pub(crate) struct Sealing {
    table: &'static Table,
    path: PathBuf,
    file: Option<ParquetFile>,
    columns: Option<Vec<usize>>,
    /// Host and key of each series.
    series: IndexSet<(String, String), FxBuildHasher>,
    /// The series in the order of each row group of the file, each with its number of rows there.
    layout: Vec<Vec<(u32, usize)>>,
    last_t: Option<i64>,
    summarised: bool,
}

impl std::fmt::Debug for Sealing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sealing({})", self.table.name)
    }
}

impl Sealing {
    pub(crate) fn new(table: &'static Table, dir: &Path) -> Sealing {
        Sealing {
            table,
            path: dir.join(format!("{}.parquet", table.name)),
            file: None,
            columns: None,
            series: IndexSet::default(),
            layout: Vec::new(),
            last_t: None,
            summarised: false,
        }
    }

    /// Writes one more chunk of a table whose columns are not known beforehand. A chunk that brings a
    /// new column makes the file be written anew with it, which happens at most a few times.
    pub(crate) fn write_more(&mut self, gather: &mut SortBuffer, limits: Limits<'_>) -> Result<(), StoreError> {
        if gather.len() == 0 {
            return Ok(());
        }
        let used = gather.in_use();
        let known = self.columns.clone().unwrap_or_default();
        let columns: Vec<usize> = (0..used.len()).filter(|p| used[*p] || known.contains(p)).collect();
        if self.file.is_some() && columns != known {
            self.widen(&columns)?;
        }
        self.columns = Some(columns.clone());
        self.write(gather, &columns, limits).map(|_| ())
    }

    /// Writes the file anew with `columns`, more than it has.
    fn widen(&mut self, columns: &[usize]) -> Result<(), StoreError> {
        let Some(file) = self.file.take() else { return Ok(()) };
        file.finish(self.table.name)?;
        let narrow = self.path.with_extension("narrow");
        fs::rename(&self.path, &narrow)?;
        let fail = |e| parquet_error(&narrow, e);
        let schema = schema_of(self.table, columns.iter().copied());
        let mut wide = ParquetFile::create(&self.path, &schema)?;
        // Row groups stay what they are.
        for group in 0..self.layout.len() {
            let file = fs::File::open(&narrow)?.into_file();
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(fail)?.with_row_groups(vec![group]);
            for batch in builder.with_batch_size(ROW_GROUP).build().map_err(fail)? {
                let arrow = |source| StoreError::Arrow { path: narrow.clone(), source };
                wide.write(&widen(&schema, &batch.map_err(arrow)?).map_err(arrow)?)?;
            }
            wide.flush()?;
        }
        self.file = Some(wide);
        Ok(fs::remove_file(&narrow)?)
    }

    /// Sorts a chunk and writes it as its own row groups.
    fn write(&mut self, gather: &mut SortBuffer, columns: &[usize], limits: Limits<'_>) -> Result<Order, StoreError> {
        let order = gather.order();
        self.last_t = self.last_t.max(gather.last_t());
        let mut room = 0;
        for (n_series, range) in order.groups.iter().enumerate() {
            limits.check(n_series)?;
            let id = self.series.insert_full(gather.key(order.order[range.start])).0 as u32;
            let mut left = range.len();
            while left > 0 {
                if room == 0 {
                    self.layout.push(Vec::new());
                    room = ROW_GROUP;
                }
                let n = left.min(room);
                if let Some(group) = self.layout.last_mut() {
                    group.push((id, n));
                }
                (left, room) = (left - n, room - n);
            }
        }
        for rows in order.order.chunks(ROW_GROUP) {
            let batch = gather.batch(rows, columns);
            let batch = batch.map_err(|source| StoreError::Arrow { path: self.path.clone(), source })?;
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(ParquetFile::create(&self.path, &batch.schema())?),
            };
            file.write(&batch)?;
        }
        if let Some(file) = &mut self.file {
            file.flush()?;
        }
        Ok(order)
    }

    fn stats_of_chunk(
        &self,
        gather: &SortBuffer,
        order: &Order,
        columns: &[usize],
        stats: &mut dyn Stats,
        limits: Limits<'_>,
    ) -> Result<(), StoreError> {
        // Of a file with one chunk, the series are in the order of their groups.
        chunk_stats(gather, order, columns, self.series.iter(), stats, limits)
    }

    fn finish(mut self, read: Read, stats: &mut dyn Stats, limits: Limits<'_>) -> Result<Option<Sealed>, StoreError> {
        let Some(file) = self.file.take() else { return Ok(None) };
        let entry = file.finish(self.table.name)?;
        if !self.summarised && has_series(self.table) {
            self.stats_of_file(stats, limits)?;
        }
        let hosts = self.series.into_iter().map(|(host, _)| host).filter(|h| !h.is_empty()).collect();
        Ok(Some(Sealed { entry, read, last_t: self.last_t, hosts }))
    }

    /// Statistics of a table that did not fit a chunk: as many series, and of these as many columns, at a
    /// time as memory allows, read back from the finished file by a few threads.
    fn stats_of_file(&self, stats: &mut dyn Stats, limits: Limits<'_>) -> Result<(), StoreError> {
        let mut rows = vec![0usize; self.series.len()];
        self.layout.iter().flatten().for_each(|(series, n)| rows[*series as usize] += n);
        let columns: Vec<usize> = numbers(self.table, &self.columns.clone().unwrap_or_default()).collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        // The intervals are read once for all columns, and stay beside what each thread reads.
        let most = (limits.stat_values / (threads + 1)).max(1);
        let file = Finished { table: self.table, path: &self.path, layout: &self.layout };
        let (mut dts, mut rooms) = (ValueBuffer::default(), Vec::new());
        rooms.resize_with(threads, ValueBuffer::default);
        let mut begin = 0;
        while begin < rows.len() {
            limits.check(0)?;
            let (mut end, mut sum) = (begin, 0);
            while end < rows.len() && (end == begin || sum + rows[end] <= most) {
                sum += rows[end];
                end += 1;
            }
            file.read(&[DT], begin..end, &mut dts)?;
            let at_once = (most / sum.max(1)).clamp(1, columns.len().div_ceil(threads).max(1));
            for few in columns.chunks(at_once * threads) {
                for (series, name, stat) in file.stats(few, at_once, begin..end, &dts, &mut rooms)? {
                    stats.add(self.table.name, &self.series[series], name, stat)?;
                }
            }
            begin = end;
        }
        Ok(())
    }
}
