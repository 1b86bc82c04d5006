//! Pre-aggregated coarse bins of long runs, built on first use and cached beside the statistics of windows.
//!
//! A bin of a level holds minimum, maximum, the weighted sum and the weight of every series: coarser bins
//! are made of them without looking at rows. The files are in `cache/windows`, named after their run, so that
//! they go with it; deleting them is harmless.

use std::path::{Path, PathBuf};

use fenxi_model::RunId;
use fenxi_store::Store;
use fs_err as fs;
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};

use super::{BinSql, timewise::Timewise};
use crate::{
    Engine, Part, QueryError, Question, Scope,
    answers::{Asked, Dialect},
};

/// Sampling intervals in a bin of each level, the finest first; each is a multiple of the one before.
const LEVELS: [u64; 2] = [8, 64];
/// Files that are kept of all runs and questions; the oldest go first.
const KEPT: usize = 512;

/// A whole number of intervals, not less than `n`, that a level divides where bins are that coarse.
///
/// The bins of a level are to be thinned by two at least: a finer bin is read from the rows as quickly.
pub(super) fn rounded(n: u64) -> u64 {
    match LEVELS.into_iter().rev().find(|level| n >= 2 * level) {
        Some(level) => n.div_ceil(level) * level,
        None => n,
    }
}

/// Inputs from which the levels of one run and question are built.
pub(super) struct Source<'a> {
    pub engine: &'a Engine,
    pub question: &'a Question,
    pub timewise: &'a Timewise<'a>,
    /// Length of a sampling interval, seconds.
    pub step_s: f64,
}

impl Source<'_> {
    /// The files of the coarsest level that bins of `n` intervals can be made of, with the intervals in its bins. None when bins are finer, or the level could not be kept.
    pub(super) fn level(&self, runs: &[RunId], n: u64) -> Result<Option<(Vec<PathBuf>, u64)>, QueryError> {
        let Some(place) = LEVELS.iter().rposition(|level| n >= 2 * level && n.is_multiple_of(*level)) else {
            return Ok(None);
        };
        if !self.question.params.is_empty() {
            return Ok(None);
        }
        let Ok(dir) = self.engine.store().make_derived() else {
            // A store that cannot be written is read all the same, only slower.
            return Ok(None);
        };
        let mut files = Vec::new();
        for run in runs {
            match self.files(run, place) {
                Ok(more) => files.extend(more),
                Err(QueryError::Interrupted) => return Err(QueryError::Interrupted),
                Err(_) => return Ok(None),
            }
        }
        forget_oldest(self.engine.store(), &dir);
        Ok(Some((files, LEVELS[place])))
    }

    /// The files of one level of a run, made if they are not there: those of the finest level from rows, one for
    /// each slice of time, so that little memory is enough; that of another one from the finest.
    fn files(&self, run: &RunId, place: usize) -> Result<Vec<PathBuf>, QueryError> {
        let level = LEVELS[place];
        let sql = BinSql { question: self.question, timewise: self.timewise };
        let store = self.engine.store();
        let path = |slice: u64| store.derived(run, &format!("bins-{}-{level}-{slice}.parquet", self.name()));
        if place > 0 {
            let path = path(0);
            if !store.has_cached(&path) {
                let finest = self.files(run, 0)?;
                let scope = Scope::of([run.clone()]);
                self.keep(&sql.merged(level / LEVELS[0], None), &scope, &finest, &path)?;
            }
            return Ok(vec![path]);
        }
        let whole = [run.clone()];
        let start = store.run(run)?.manifest.start;
        let Some(file) = store.files(self.timewise.table.name, Some(&whole))?.pop() else { return Ok(Vec::new()) };
        let width_us = self.step_s * 1e6 * level as f64;
        let end_us = self.engine.last_us(self.timewise, &file, run)?.unwrap_or(start.0).saturating_sub(start.0) as f64;
        let slices = file.rows.div_ceil(self.engine.coarse_from.max(1)).max(1);
        let bins = ((end_us / width_us).ceil() as u64).div_ceil(slices).max(1);
        let mut files = Vec::new();
        for slice in 0..slices {
            let path = path(slice);
            if !store.has_cached(&path) {
                let (first, after) = (slice * bins, (slice + 1) * bins);
                let last = (slice + 1 < slices).then_some(after as f64 * width_us);
                let from_us = Some((first as f64 * width_us).floor() as i64).filter(|us| *us > 0);
                let part = Part { from_us, to_us: last.map(|us| us.ceil() as i64) };
                let part = Some(part).filter(|part| *part != Part::default());
                let scope = Scope { runs: Some(whole.to_vec()), part };
                let sums = sql.sums(&[(run.clone(), start)], width_us / 1e6);
                let before = last.map(|_| format!(" AND fenxi_bin < {after}")).unwrap_or_default();
                let wanted = format!("SELECT * FROM ({sums}) WHERE fenxi_bin >= {first}{before}");
                self.keep(&wanted, &scope, &[], &path)?;
            }
            files.push(path);
        }
        Ok(files)
    }

    /// Distinguishes the levels of questions and of versions of a question.
    fn name(&self) -> String {
        let q = self.question;
        let text = format!("2\n{}\n{:?}\n{:?}\n{:?}", self.timewise.sql, q.series, q.y, self.step_s);
        blake3::hash(text.as_bytes()).to_hex().chars().take(20).collect()
    }

    /// Writes what `sql` answers to `path`, whole or not at all, with its checksum.
    fn keep(&self, sql: &str, scope: &Scope, files: &[PathBuf], path: &Path) -> Result<(), QueryError> {
        let store = self.engine.store();
        let scratch = store.scratch()?;
        let part = scratch.path("bins");
        let asked =
            Asked { author: self.question.author(), dialect: Dialect::Questions, sql, params: &[], scope, files };
        self.write(&asked, &part)?;
        Ok(store.keep_cached(&part, path)?)
    }

    fn write(&self, asked: &Asked<'_>, path: &Path) -> Result<(), QueryError> {
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let mut writer = None;
        let (_, schema) = self.engine.pieces(asked, &mut |_, batch| {
            let writer = match &mut writer {
                Some(writer) => writer,
                none => {
                    let file = fs::File::create(path)?.into_parts().0;
                    none.insert(ArrowWriter::try_new(file, batch.schema(), Some(properties.clone()))?)
                }
            };
            Ok(writer.write(&batch)?)
        })?;
        let writer = match writer {
            Some(writer) => writer,
            // No bins at all are an answer as well.
            None => ArrowWriter::try_new(fs::File::create(path)?.into_parts().0, schema, Some(properties))?,
        };
        writer.close()?;
        Ok(())
    }
}

/// Removes files of levels beyond those that are kept.
fn forget_oldest(store: &Store, dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let level = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.ok()?.path();
        let name = path.file_name()?.to_string_lossy().into_owned();
        let is_level = name.contains(".bins-") && name.ends_with(".parquet");
        let modified = fs::metadata(&path).and_then(|m| m.modified()).ok()?;
        is_level.then_some((modified, path))
    };
    let mut levels: Vec<_> = entries.filter_map(level).collect();
    levels.sort();
    for (_, path) in levels.iter().take(levels.len().saturating_sub(KEPT)) {
        // One that stays is tried again the next time.
        let _ = store.forget_cached(path);
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn coarse_bins_are_whole_bins_of_a_level() {
        assert_eq!([1, 7, 15, 16, 17, 36, 127, 128, 144].map(rounded), [1, 7, 15, 16, 24, 40, 128, 128, 192]);
    }
}
