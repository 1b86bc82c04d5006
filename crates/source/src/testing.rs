//! A small machine for tests: saved files that a collector reads, changed between two samples.
//!
//! `observe(&SOURCE, "cpu", 1.0)` runs a collector over `fixtures/cpu/before` and then
//! `fixtures/cpu/after`; [`Machine`] does the same with files written by the test itself.
#![allow(dead_code, reason = "each collector's tests use what they need")]

use std::path::{Path, PathBuf};

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, Int32Type, Int64Type},
};
use fenxi_model::{Micros, Rows, table};
use fs_err as fs;

use crate::{Collector, Root, Source, SourceError, Tick};

/// The moment of a machine's first sample.
const BEGIN: Micros = Micros(1_700_000_000_000_000);

/// The folder `fixtures/<name>`.
pub fn fixture(name: &str) -> PathBuf {
    Path::new("fixtures").join(name)
}

/// Rows of `source` for the interval of `dt` seconds between the saved roots
/// `fixtures/<name>/before` and `fixtures/<name>/after`.
pub fn observe(source: &dyn Source, name: &str, dt: f64) -> Observed {
    let machine = Machine::new();
    machine.copy(&fixture(name).join("before"));
    let mut session = machine.start(source);
    session.tick(None);
    session.machine.copy(&fixture(name).join("after"));
    session.tick(dt)
}

/// A root in a temporary folder.
pub struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    /// A machine without any file.
    pub fn new() -> Machine {
        Machine { folder: tempfile::tempdir().unwrap() }
    }

    /// Writes one file in place, so that a collector that holds it open sees the new content.
    pub fn put(&self, absolute: &str, content: impl AsRef<[u8]>) -> &Machine {
        let path = self.path(absolute);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Removes a file or a folder with all it holds; files held open by a collector become empty.
    pub fn remove(&self, absolute: &str) -> &Machine {
        let path = self.path(absolute);
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(path).unwrap();
        } else {
            if !path.is_symlink() {
                fs::write(&path, "").unwrap();
            }
            fs::remove_file(path).unwrap();
        }
        self
    }

    /// Makes a symbolic link at `absolute` that points to `target` (relative, as /sys has them).
    pub fn link(&self, absolute: &str, target: &str) -> &Machine {
        let path = self.path(absolute);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        fs_err::os::unix::fs::symlink(target, path).unwrap();
        self
    }

    /// Copies all files and links below `from`; files that are here only stay.
    pub fn copy(&self, from: &Path) -> &Machine {
        for entry in fs::read_dir(from).unwrap() {
            self.copy_entry(from, &entry.unwrap().path());
        }
        self
    }

    fn copy_entry(&self, from: &Path, path: &Path) {
        let absolute = format!("/{}", path.strip_prefix(from).unwrap().display());
        if path.is_symlink() {
            self.link(&absolute, fs::read_link(path).unwrap().to_str().unwrap());
        } else if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                self.copy_entry(from, &entry.unwrap().path());
            }
        } else {
            self.put(&absolute, fs::read(path).unwrap());
        }
    }

    /// Where the root is.
    pub fn root(&self) -> Root {
        Root::saved(self.folder.path())
    }

    /// Begins observing this machine.
    pub fn start(self, source: &dyn Source) -> Session {
        self.try_start(source).unwrap()
    }

    /// Begins observing this machine, which may not offer what the source needs.
    pub fn try_start(self, source: &dyn Source) -> Result<Session, SourceError> {
        let collector = source.start(&self.root())?;
        Ok(Session { machine: self, collector, t: BEGIN })
    }

    fn path(&self, absolute: &str) -> PathBuf {
        self.root().path(absolute)
    }
}

/// A collector at work on a machine.
pub struct Session {
    /// The machine, to change between samples.
    pub machine: Machine,
    collector: Box<dyn Collector>,
    t: Micros,
}

impl Session {
    /// Samples once; `dt` is None for the first sample.
    pub fn tick(&mut self, dt: impl Into<Option<f64>>) -> Observed {
        self.try_tick(dt).unwrap()
    }

    /// Looks between two ticks, `dt` seconds after the last look.
    pub fn between(&mut self, dt: f64) -> Observed {
        self.t = Micros(self.t.0 + (dt * 1e6) as i64);
        let mut rows = Rows::new("test");
        self.collector.sample(Tick { is_between: true, ..Tick::new(self.t, Some(dt)) }, &mut rows).unwrap();
        Observed::of(rows)
    }

    /// Samples for the first time, `seconds` after boot.
    pub fn since_boot(&mut self, seconds: f64) -> Observed {
        let mut rows = Rows::new("test");
        self.collector.sample(Tick::since_boot(self.t, seconds), &mut rows).unwrap();
        Observed::of(rows)
    }

    /// Samples once where that may fail.
    pub fn try_tick(&mut self, dt: impl Into<Option<f64>>) -> Result<Observed, SourceError> {
        let dt = dt.into();
        self.t = Micros(self.t.0 + (dt.unwrap_or(0.0) * 1e6) as i64);
        let mut rows = Rows::new("test");
        self.collector.sample(Tick::new(self.t, dt), &mut rows)?;
        Ok(Observed::of(rows))
    }
}

/// The rows of one sample, to be asked by table, column and key.
///
/// A key is the values of the table's key columns as text; `""` is NULL.
pub struct Observed {
    batches: Vec<(&'static str, RecordBatch)>,
}

impl Observed {
    /// Content of `rows`.
    pub fn of(mut rows: Rows) -> Observed {
        Observed { batches: rows.tables_mut().map(|t| (t.table().name, t.take().unwrap())).collect() }
    }

    /// Number of rows of `table`.
    pub fn count(&self, table: &str) -> usize {
        self.batch(table).map_or(0, RecordBatch::num_rows)
    }

    /// The number in `column` of the row with `key`; None when it is NULL.
    ///
    /// Panics when there is no such column in the catalogue or no such row.
    pub fn value(&self, table: &str, column: &str, key: &[&str]) -> Option<f64> {
        self.text(table, column, key).map(|v| v.parse().unwrap())
    }

    /// The value in `column` of the row with `key` as text; None when it is NULL.
    pub fn text(&self, table: &str, column: &str, key: &[&str]) -> Option<String> {
        let row = self.row(table, key).unwrap_or_else(|| panic!("no row {key:?}, but {:?}", self.keys(table)));
        cell(table, self.batch(table)?, column, row)
    }

    /// Returns true if `table` has a row with `key`.
    pub fn has(&self, table: &str, key: &[&str]) -> bool {
        self.row(table, key).is_some()
    }

    /// The keys of all rows of `table`, in the order of the rows.
    pub fn keys(&self, table: &str) -> Vec<Vec<String>> {
        (0..self.count(table)).map(|row| self.key(table, row)).collect()
    }

    /// Every event as `kind subject: message`.
    pub fn events(&self) -> Vec<String> {
        let Some(batch) = self.batch("event") else { return Vec::new() };
        let get = |column, row| cell("event", batch, column, row).unwrap_or_default();
        (0..batch.num_rows())
            .map(|r| format!("{} {}: {}", get("kind", r), get("subject", r), get("message", r)))
            .collect()
    }

    /// Every note as `file: message`.
    pub fn notes(&self) -> Vec<String> {
        let Some(batch) = self.batch("note") else { return Vec::new() };
        let get = |column, row| cell("note", batch, column, row).unwrap_or_default();
        (0..batch.num_rows()).map(|r| format!("{}: {}", get("file", r), get("message", r))).collect()
    }

    fn batch(&self, table: &str) -> Option<&RecordBatch> {
        self.batches.iter().find(|(name, _)| *name == table).map(|(_, batch)| batch)
    }

    fn row(&self, table: &str, key: &[&str]) -> Option<usize> {
        (0..self.count(table)).find(|row| self.key(table, *row) == key)
    }

    fn key(&self, name: &str, row: usize) -> Vec<String> {
        let Some(batch) = self.batch(name) else { return Vec::new() };
        let keys = table(name).unwrap().keys();
        keys.iter().map(|c| cell(name, batch, c.name, row).unwrap_or_default()).collect()
    }
}

/// One value as text; None when it is NULL or no row ever set its column.
fn cell(name: &str, batch: &RecordBatch, column: &str, row: usize) -> Option<String> {
    assert!(table(name).unwrap().index_of(column).is_some(), "{name} has no column {column}");
    let array = batch.column_by_name(column)?;
    if array.is_null(row) {
        return None;
    }
    Some(if let Some(values) = array.as_primitive_opt::<Float64Type>() {
        values.value(row).to_string()
    } else if let Some(values) = array.as_primitive_opt::<Int64Type>() {
        values.value(row).to_string()
    } else if let Some(labels) = array.as_dictionary_opt::<Int32Type>() {
        labels.values().as_string::<i32>().value(labels.key(row).unwrap()).to_owned()
    } else {
        array.as_string::<i32>().value(row).to_owned()
    })
}

/// Asserts that a value is known and within a billionth of `expected`.
#[track_caller]
pub fn near(value: Option<f64>, expected: f64) {
    let value = value.expect("a value, not NULL");
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value} is not {expected}");
}
