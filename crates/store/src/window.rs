//! Named time windows of a run, and their statistics: computed on first use and cached in `cache/windows`.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, TimestampMicrosecondType},
};
use fenxi_model::{
    RunId, Table,
    catalog::{DT, HOST, N_COMMON, T},
    table,
};
use fs_err as fs;

use crate::{
    FileEntry, Store, StoreError, Window,
    sort_buffer::SortBuffer,
    stats::StatsFile,
    table_seal::{Limits, chunk_stats, has_series, places},
};

/// Where files are cached that are derived from a run.
pub(crate) const DERIVED: &str = "cache/windows";

/// Values that are held at a time; a table of more is read several times, some columns each.
const VALUES: u64 = 64 << 20;

impl Store {
    /// The file with the statistics of `window` of a run; made when there is none yet.
    ///
    /// A row belongs to a window when the middle of its interval lies within it.
    pub(crate) fn window_stats(&self, run: &RunId, window: &Window) -> Result<PathBuf, StoreError> {
        let path = self.derived(run, &format!("{}-{}.parquet", window.start.0, window.end.0));
        if self.has_cached(&path) {
            return Ok(path);
        }
        self.make_derived()?;
        let scratch = self.scratch()?;
        let part = scratch.path("stats.parquet");
        self.make_window_stats(run, window, &part)?;
        self.keep_cached(&part, &path)?;
        Ok(path)
    }

    /// Where a file is cached that is derived from a run and goes with it: statistics of a window, coarse bins, findings. `name`
    /// distinguishes it from the run's others.
    pub fn derived(&self, run: &RunId, name: &str) -> PathBuf {
        self.path().join(DERIVED).join(format!("{run}.{name}"))
    }

    /// Makes the folder of [`Store::derived`].
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn make_derived(&self) -> Result<PathBuf, StoreError> {
        self.make_dir(DERIVED)
    }

    fn make_window_stats(&self, run: &RunId, window: &Window, path: &Path) -> Result<(), StoreError> {
        self.settled(|| match fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
            _ => self.try_window_stats(run, window, path),
        })
    }

    fn try_window_stats(&self, run: &RunId, window: &Window, path: &Path) -> Result<(), StoreError> {
        let mut stats = StatsFile::create(path, &window.name)?;
        for file in &self.run(run)?.manifest.files {
            let known = file.table.as_deref().and_then(table).filter(|table| has_series(table));
            if let Some(table) = known {
                self.table_stats(table, (run, file), window, &mut stats)?;
            }
        }
        stats.finish().map(|_| ())
    }

    /// Adds the statistics of one table.
    fn table_stats(
        &self,
        table: &'static Table,
        (run, entry): (&RunId, &FileEntry),
        window: &Window,
        stats: &mut StatsFile,
    ) -> Result<(), StoreError> {
        let schema = self.rows(run, entry, Some(&[]))?.schema_of_file();
        let held: Vec<usize> = schema.fields().iter().filter_map(|f| table.index_of(f.name())).collect();
        let is_key = |p: &usize| [T, DT].contains(p) || (HOST..N_COMMON + table.n_keys).contains(p);
        let values: Vec<usize> = held.iter().copied().filter(|p| table.columns[*p].is_value()).collect();
        let at_once = usize::try_from(VALUES / entry.rows.max(1)).unwrap_or(1).max(1);
        for columns in values.chunks(at_once) {
            let wanted = held.iter().filter(|p| is_key(p)).chain(columns).map(|p| table.columns[*p].name);
            let wanted: Vec<&str> = wanted.collect();
            let mut gather = SortBuffer::new(table);
            let rows = self.rows(run, entry, Some(&wanted))?;
            let path = rows.path().to_owned();
            for batch in rows {
                let batch = batch?;
                for rows in within(&batch, window) {
                    if !gather.push(&batch.slice(rows.start, rows.len())) {
                        return Err(StoreError::damaged(path, "it has columns that this fenxi does not know"));
                    }
                }
            }
            let order = gather.order();
            let keys: Vec<_> = order.groups.iter().map(|g| gather.key(order.order[g.start])).collect();
            chunk_stats(&gather, &order, &places(&gather.in_use()), keys.iter(), stats, Limits::DEFAULT)?;
        }
        Ok(())
    }

    /// Forgets what is derived from a run that is no more.
    pub(crate) fn forget_derived(&self, run: &RunId) {
        let dir = self.path().join(DERIVED);
        for name in crate::fs::names(&dir).unwrap_or_default() {
            if name.starts_with(&format!("{run}.")) {
                // Only a cache: what stays is never read again.
                let _ = fs::remove_file(dir.join(name));
            }
        }
    }
}

/// The rows of a batch that lie within a window, as ranges.
fn within(batch: &RecordBatch, window: &Window) -> Vec<Range<usize>> {
    let Some(times) = batch.column_by_name("t").and_then(|c| c.as_primitive_opt::<TimestampMicrosecondType>()) else {
        return Vec::new();
    };
    let lengths = batch.column_by_name("dt").and_then(|c| c.as_primitive_opt::<Float64Type>());
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for row in (0..batch.num_rows()).filter(|row| times.is_valid(*row)) {
        let dt = lengths.filter(|l| l.is_valid(row)).map_or(0.0, |l| l.value(row));
        let middle = times.value(row) - (dt * 5e5) as i64;
        if middle < window.start.0 || middle > window.end.0 {
            continue;
        }
        match ranges.last_mut() {
            Some(last) if last.end == row => last.end = row + 1,
            _ => ranges.push(row..row + 1),
        }
    }
    ranges
}
