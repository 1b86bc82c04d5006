//! Helpers of the store's tests: a store in a temporary directory, rows with known values.

use std::{collections::BTreeMap, path::Path};

use arrow_array::RecordBatch;
use fenxi_model::{
    Micros, Rows, RunId,
    catalog::{cpu, disk, process},
};
use fenxi_store::{Begin, End, Store};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// 2026-11-21 14:35:53 UTC.
pub const START: Micros = Micros(1_795_271_753_000_000);

pub fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(dir.path().join("store")).unwrap();
    (dir, store)
}

pub fn begin(name: &str, random: u64) -> Begin {
    Begin {
        name: Some(name.to_owned()),
        kind: "record".to_owned(),
        host: "h1".to_owned(),
        command: vec!["sleep".to_owned(), "1".to_owned()],
        params: BTreeMap::from([("threads".to_owned(), "8".to_owned())]),
        tags: BTreeMap::from([("kernel".to_owned(), "6.12".to_owned())]),
        start: START,
        interval_s: Some(1.0),
        random,
        sources: vec!["cpu".to_owned(), "disk".to_owned()],
    }
}

pub fn end(ticks: u64) -> End {
    End { exit_status: Some(0), ticks, ..End::at(Micros(START.0 + ticks as i64 * 1_000_000)) }
}

/// Rows of tick `i` (from 1): four CPUs and all of them, two disks, a few processes, one new each tick.
pub fn tick(i: u64, rows: &mut Rows) {
    let t = Micros(START.0 + i as i64 * 1_000_000);
    for c in ["3", "1", "0", "2"] {
        let number: f64 = c.parse().unwrap();
        rows.row(&cpu::TABLE, t, 1.0).str(cpu::cpu, c).f64(cpu::usr, number * 10.0 + (i % 7) as f64);
    }
    rows.row(&cpu::TABLE, t, 1.0).f64(cpu::usr, (i % 7) as f64);
    for d in ["vdb", "vda"] {
        rows.row(&disk::TABLE, t, 1.0).str(disk::device, d);
    }
    for pid in [1, 2, 100 + i as i64] {
        rows.row(&process::TABLE, t, 1.0).i64(process::pid, pid).str(process::comm, format!("c{pid}").as_str());
    }
}

/// A sealed run of `ticks` ticks.
pub fn run(store: &Store, name: &str, random: u64, ticks: u64) -> RunId {
    let mut open = store.begin(begin(name, random)).unwrap();
    let mut rows = Rows::new("h1");
    for i in 1..=ticks {
        tick(i, &mut rows);
        open.append(&mut rows).unwrap();
    }
    open.seal(end(ticks)).unwrap()
}

pub fn read(path: &Path) -> Vec<RecordBatch> {
    let file = fs_err::File::open(path).unwrap().into_file();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().with_batch_size(1 << 20).build().unwrap();
    reader.map(Result::unwrap).collect()
}

pub fn rows_in(path: &Path) -> usize {
    read(path).iter().map(RecordBatch::num_rows).sum()
}
