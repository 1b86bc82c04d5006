//! Compaction: the same rows before and after, for every reader, and the way back.

use std::collections::BTreeMap;

use arrow_array::{ArrayRef, RecordBatch};
use fenxi_model::{Micros, RunId, number_at, text_at, whole_at};
use fenxi_store::{ArchiveLimits, CompactWish, Holds, RunFilter, Store, Window};

use crate::common::{run, store};

fn filled(store: &Store, n: u64) -> Vec<RunId> {
    (0..n).map(|i| run(store, &format!("run{i}"), i + 1, 5 + i)).collect()
}

fn compact(store: &Store) -> fenxi_store::Compaction {
    store.compact(&CompactWish::default(), &mut |_, _, _| ()).unwrap()
}

/// Everything that is read of a run: every table, and the statistics of the whole and of a window.
fn content(store: &Store, run: &RunId) -> BTreeMap<String, String> {
    let entry = store.run(run).unwrap();
    let mut all = BTreeMap::new();
    for file in &entry.manifest.files {
        let Some(table) = &file.table else { continue };
        let batches: Vec<RecordBatch> = store.read(run, table).unwrap();
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows as u64, file.rows, "{table}");
        // As text: dictionaries may have other orders.
        let text = |batch: &RecordBatch| format!("{:?}\n{}", batch.schema().fields().len(), csv(batch));
        all.insert(table.clone(), batches.iter().map(text).collect());
    }
    let start = entry.manifest.start;
    let window = Window { name: "w".to_owned(), start, end: Micros(start.0 + 3_000_000) };
    for (name, window) in [("all", None), ("window", Some(&window))] {
        let mut stats = Vec::new();
        store.series_stats(run, window, |s| stats.push(format!("{s:?}"))).unwrap();
        stats.sort();
        all.insert(format!("stats of {name}"), stats.join("\n"));
    }
    all
}

fn csv(batch: &RecordBatch) -> String {
    let cell = |c: &ArrayRef, row| format!("{:?}", (whole_at(c, row), number_at(c, row), text_at(c, row)));
    let row = |row| batch.columns().iter().map(|c| cell(c, row)).collect::<Vec<_>>().join(",");
    (0..batch.num_rows()).map(row).collect::<Vec<_>>().join("\n")
}

fn all(store: &Store, ids: &[RunId]) -> Vec<BTreeMap<String, String>> {
    ids.iter().map(|id| content(store, id)).collect()
}

fn is_clean(store: &Store) {
    let found = store.scrub().unwrap();
    assert_eq!((found.problems, found.remarks), (vec![], vec![]));
    for id in store.ids().unwrap() {
        assert_eq!(store.verify(&id).unwrap(), [], "{id}");
    }
}

#[test]
fn every_run_reads_the_same_compacted_and_given_back_byte_for_byte() {
    let (_dir, store) = store();
    let ids = filled(&store, 6);
    let before = all(&store, &ids);
    let manifest = fs_err::read(store.run_dir(&ids[3]).join("run.json")).unwrap();
    let cpu = fs_err::read(store.run_dir(&ids[3]).join("cpu.parquet")).unwrap();
    let done = compact(&store);
    assert!(done.tables >= 2 && done.files_after == done.tables as u64, "{done:?}");
    assert!(!store.run_dir(&ids[3]).join("cpu.parquet").exists());
    assert_eq!(all(&store, &ids), before);
    is_clean(&store);

    let files = store.files("cpu", None).unwrap();
    assert_eq!(files.len(), 1);
    assert!(matches!(&files[0].holds, Holds::Runs { runs, filter: RunFilter::All } if runs.len() == 6));
    let one = store.files("cpu", Some(&ids[2..3])).unwrap();
    assert!(matches!(&one[0].holds, Holds::Runs { runs, filter: RunFilter::Only } if *runs == ids[2..3]));
    store.check(&files).unwrap();

    assert_eq!(store.undo_compaction(Some(&ids[3..4]), &mut |_, _, _| ()).unwrap(), 1);
    assert_eq!(fs_err::read(store.run_dir(&ids[3]).join("cpu.parquet")).unwrap(), cpu);
    assert_eq!(fs_err::read(store.run_dir(&ids[3]).join("run.json")).unwrap(), manifest);
    assert_eq!(all(&store, &ids), before);
    assert_eq!(store.files("cpu", None).unwrap().len(), 2);
    is_clean(&store);
    store.undo_compaction(None, &mut |_, _, _| ()).unwrap();
    assert_eq!(all(&store, &ids), before);
    assert!(store.files("cpu", None).unwrap().iter().all(|f| matches!(f.holds, Holds::Run(_))));
    is_clean(&store);
}

#[test]
fn runs_that_come_later_are_merged_and_removed_ones_do_not_count() {
    let (_dir, store) = store();
    let mut ids = filled(&store, 4);
    compact(&store);
    ids.extend((4..6).map(|i| run(&store, &format!("run{i}"), i + 1, 7)));
    let before = all(&store, &ids);
    compact(&store);
    assert_eq!(store.files("cpu", None).unwrap().len(), 1);
    assert_eq!(all(&store, &ids), before);

    store.remove(&ids[1]).unwrap();
    let files = store.files("cpu", None).unwrap();
    assert!(matches!(&files[0].holds, Holds::Runs { filter: RunFilter::Except(gone), .. } if *gone == ids[1..2]));
    assert!(store.read(&ids[1], "cpu").is_err());
    is_clean(&store);
    store.remove(&ids[2]).unwrap();
    // Two of six are gone: the file is written anew without them.
    compact(&store);
    let files = store.files("cpu", None).unwrap();
    assert!(matches!(&files[0].holds, Holds::Runs { runs, filter: RunFilter::All } if runs.len() == 4));
    for i in [0, 3, 4, 5] {
        assert_eq!(content(&store, &ids[i]), before[i]);
    }
    is_clean(&store);
}

#[test]
fn an_archive_of_a_compacted_run_is_the_one_of_the_run_as_it_was() {
    let (_dir, store) = store();
    let ids = filled(&store, 3);
    let export = |store: &Store| {
        let mut archive = Vec::new();
        store.export(&ids, &mut archive).unwrap();
        archive
    };
    let before = export(&store);
    compact(&store);
    assert!(export(&store) == before, "the archive differs");
    let content = all(&store, &ids);
    // A run that was removed comes again, beside the file that still has its old rows.
    store.remove(&ids[0]).unwrap();
    store.import_archive(&before[..], &ArchiveLimits::default()).unwrap();
    assert_eq!(all(&store, &ids), content);
    compact(&store);
    assert_eq!(all(&store, &ids), content);
    is_clean(&store);
}

#[test]
fn only_what_is_asked_for_is_compacted() {
    let (_dir, store) = store();
    let ids = filled(&store, 4);
    let wish = |runs| CompactWish { runs, dry_run: true, ..CompactWish::default() };
    let reported = store.compact(&wish(Some(&ids[..2])), &mut |_, _, _| ()).unwrap();
    assert!(reported.files_before > 0 && reported.files_after == 0);
    assert!(store.files("cpu", None).unwrap().iter().all(|f| matches!(f.holds, Holds::Run(_))));
    let before = CompactWish { before: Some(Micros(0)), ..CompactWish::default() };
    assert_eq!(store.compact(&before, &mut |_, _, _| ()).unwrap().tables, 0);
    store.compact(&CompactWish { runs: Some(&ids[..2]), ..CompactWish::default() }, &mut |_, _, _| ()).unwrap();
    assert_eq!(store.files("cpu", None).unwrap().len(), 3);
}

#[test]
fn damage_to_a_file_of_many_runs_is_found_and_no_row_of_it_is_used() {
    let (_dir, store) = store();
    let ids = filled(&store, 3);
    compact(&store);
    let path = store.files("cpu", None).unwrap().pop().unwrap().path;
    let mut bytes = fs_err::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs_err::write(&path, bytes).unwrap();
    let store = Store::open(store.path()).unwrap();
    assert!(store.check(&store.files("cpu", None).unwrap()).is_err());
    assert!(store.read(&ids[0], "cpu").unwrap_err().to_string().contains("BLAKE3"));
    assert!(store.scrub().unwrap().problems.iter().any(|p| p.path == path));
    assert!(store.verify(&ids[0]).unwrap().iter().any(|p| p.path == path));
    // The manifest itself has a copy.
    let manifest = store.path().join("compacted/manifest.json");
    let text = fs_err::read_to_string(&manifest).unwrap();
    fs_err::write(&manifest, text.replace("\"table\": \"cpu\"", "\"table\": \"cpv\"")).unwrap();
    let store = Store::open(store.path()).unwrap();
    assert_eq!(store.files("cpu", None).unwrap().len(), 1);
    assert!(store.scrub().unwrap().problems.iter().any(|p| p.path == manifest));
}

#[test]
fn a_compacted_run_that_somebody_was_killed_while_removing_is_gone_with_the_next_command() {
    let (_dir, store) = store();
    let ids = filled(&store, 4);
    compact(&store);
    let open = store.path().join("open");
    fs_err::rename(store.run_dir(&ids[1]), open.join(format!(".removed-{}", ids[1]))).unwrap();
    let began = std::time::Instant::now();
    store.clear();
    assert!(began.elapsed().as_secs() < 15, "it waits 30 s for what it holds itself: {:?}", began.elapsed());
    assert_eq!(fs_err::read_dir(&open).unwrap().count(), 0);
    let files = store.files("cpu", None).unwrap();
    assert!(matches!(&files[0].holds, Holds::Runs { filter: RunFilter::Except(gone), .. } if *gone == ids[1..2]));
    is_clean(&store);
}
