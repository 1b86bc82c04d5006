//! Tests that a table sealed in many small chunks holds the same rows and statistics as one sealed
//! as a whole, and that rows read back from streams are those that the recorder still had.

use std::collections::BTreeSet;

use arrow_array::{Array, RecordBatch, StringArray, cast::AsArray, types::Float64Type, types::Int32Type};
use fenxi_model::{
    Micros, Rows, RunId,
    catalog::{cpu, process},
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::{
    Begin, End, IMPORT, OpenRun, Store, StoreError,
    table_seal::{GoOn, Limits},
};

fn record(store: &Store, random: u64) -> OpenRun {
    fill(store, "record", random, usize::MAX)
}

/// A run of `kind` that is about to end; an import writes a chunk whenever it has more than `limit` bytes.
fn fill(store: &Store, kind: &str, random: u64, limit: usize) -> OpenRun {
    let begin = Begin { interval_s: Some(1.0), random, ..Begin::new(kind, "h", Micros(1_795_271_753_000_000)) };
    let mut open = store.begin(begin).unwrap();
    open.import_limit = limit;
    let mut rows = Rows::new("h");
    for i in 0..300i64 {
        let t = Micros(1_795_271_753_000_000 + i * 1_000_000);
        let dt = 1.0 + (i % 3) as f64;
        for c in 0..5 {
            let name = format!("{c}");
            let mut row = rows.row(&cpu::TABLE, t, dt);
            row.str(cpu::cpu, name.as_str()).f64(cpu::usr, ((i * 37 + c * 11) % 101) as f64);
            if i > 250 {
                // A column that only the last chunk has.
                row.f64(cpu::steal, (i % 100) as f64);
            }
        }
        rows.row(&process::TABLE, t, dt).i64(process::pid, i / 10).str(process::comm, format!("c{}", i % 4).as_str());
        open.append(&mut rows).unwrap();
    }
    open
}

fn end() -> End {
    End { ticks: 300, ..End::at(Micros(1_795_272_053_000_000)) }
}

fn read(store: &Store, id: &RunId, table: &str) -> Vec<RecordBatch> {
    let file = fs_err::File::open(store.run_dir(id).join(format!("{table}.parquet"))).unwrap().into_file();
    ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().map(Result::unwrap).collect()
}

/// Every row as text, whatever the order.
fn lines(batches: &[RecordBatch]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for batch in batches {
        for i in 0..batch.num_rows() {
            let mut line = String::new();
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                let one = column.slice(i, 1);
                let text = match one.as_dictionary_opt::<Int32Type>() {
                    Some(label) => {
                        let label = label.downcast_dict::<StringArray>().unwrap();
                        label.into_iter().next().unwrap().unwrap_or("NULL").to_owned()
                    }
                    None => match one.as_primitive_opt::<Float64Type>() {
                        // Sums in another order differ in the last digits.
                        Some(number) if number.is_valid(0) => format!("{:.9}", number.value(0)),
                        _ => format!("{one:?}"),
                    },
                };
                line += &format!("{}={text} ", field.name());
            }
            assert!(all.insert(line.clone()), "twice: {line}");
        }
    }
    all
}

#[test]
fn many_small_chunks_hold_the_same_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(dir.path()).unwrap();
    let whole = record(&store, 1).seal(end()).unwrap();
    for (random, limits) in [
        (2, Limits::DEFAULT),
        (3, Limits { chunk_bytes: 3000, stat_values: 1 << 20, ..Limits::DEFAULT }),
        (4, Limits { chunk_bytes: 9000, stat_values: 100, ..Limits::DEFAULT }),
    ] {
        let open = record(&store, random);
        let id = open.id().clone();
        drop(open);
        assert!(store.recover_with(limits).unwrap()[0].error.is_none());
        let entry = store.run(&id).unwrap().manifest;
        assert_eq!(entry.ticks, Some(300));
        for table in ["cpu", "process", "stats"] {
            assert_eq!(lines(&read(&store, &id, table)), lines(&read(&store, &whole, table)), "{table}, {limits:?}");
            let (a, b) = (entry.file(table).unwrap(), store.run(&whole).unwrap().manifest);
            assert_eq!(a.fingerprint, b.file(table).unwrap().fingerprint);
        }
    }
}

#[test]
fn an_import_in_chunks_holds_the_same_as_one_and_may_gain_columns() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(dir.path()).unwrap();
    let whole = fill(&store, IMPORT, 1, usize::MAX).seal(end()).unwrap();
    for (random, limit) in [(2, 20_000), (3, 3_000)] {
        let parts = fill(&store, IMPORT, random, limit).seal(end()).unwrap();
        for table in ["cpu", "process", "stats"] {
            assert_eq!(lines(&read(&store, &parts, table)), lines(&read(&store, &whole, table)), "{table} by {limit}");
        }
        let file = |id| store.run(id).unwrap().manifest.file("cpu").unwrap().fingerprint.clone();
        assert_eq!(file(&parts), file(&whole));
        assert_eq!(store.verify(&parts).unwrap(), []);
        assert!(crate::fs::names(&dir.path().join("open")).unwrap().is_empty());
    }
}

#[test]
fn an_import_that_is_stopped_while_it_is_sealed_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(dir.path()).unwrap();
    for limit in [usize::MAX, 3_000] {
        let mut open = fill(&store, IMPORT, 1, limit);
        open.go_on_while(GoOn::while_true(|| false));
        assert!(matches!(open.seal(end()), Err(StoreError::Stopped)));
        assert!(store.ids().unwrap().is_empty());
        assert!(crate::fs::names(&dir.path().join("open")).unwrap().is_empty());
    }
    let mut open = fill(&store, IMPORT, 1, 3_000);
    open.go_on_while(GoOn::while_true(|| true));
    open.seal(end()).unwrap();
}
