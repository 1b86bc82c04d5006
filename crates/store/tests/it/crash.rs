//! A dead recorder's recording is sealed: every whole tick, once, and never half.

use std::path::{Path, PathBuf};

use fenxi_model::{Rows, RunId};
use fenxi_store::{OpenRun, Store, StoreError};
use proptest::prelude::*;

use crate::common::{begin, end, rows_in, store, tick};

/// Records `ticks` ticks and dies: the recording stays, the lock is given up. Also gives the length
/// of every stream after each tick.
fn dead(store: &Store, ticks: u64) -> (RunId, PathBuf, Vec<Vec<(PathBuf, u64)>>) {
    let mut open = store.begin(begin("dead", 5)).unwrap();
    let dir = store.path().join("open").join(open.id().as_str());
    let mut rows = Rows::new("h1");
    let mut lengths = Vec::new();
    for i in 1..=ticks {
        tick(i, &mut rows);
        open.append(&mut rows).unwrap();
        lengths.push(streams(&dir));
    }
    (open.id().clone(), dir, lengths)
}

fn streams(dir: &Path) -> Vec<(PathBuf, u64)> {
    let mut all: Vec<_> = fs_err::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "arrows"))
        .map(|p| (p.clone(), fs_err::metadata(&p).unwrap().len()))
        .collect();
    all.sort();
    all
}

#[test]
fn a_live_recorder_is_left_alone_and_a_dead_one_sealed_once() {
    let (_dir, store) = store();
    let mut open: OpenRun = store.begin(begin("live", 1)).unwrap();
    let mut rows = Rows::new("h1");
    tick(1, &mut rows);
    open.append(&mut rows).unwrap();
    assert!(store.recover().unwrap().is_empty());
    let id = open.id().clone();
    drop(open);
    let done: Vec<_> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..8).map(|_| s.spawn(|| store.recover().unwrap())).collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(done.len(), 1, "{done:?}");
    assert!(done[0].error.is_none() && done[0].id == id);
    let m = store.run(&id).unwrap().manifest;
    assert!(m.recovered && m.ticks == Some(1) && m.missed_ticks.is_none());
    assert_eq!(m.end, fenxi_model::Micros(m.start.0 + 1_000_000));
    assert_eq!(store.verify(&id).unwrap(), []);
    assert!(store.recover().unwrap().is_empty());
}

#[test]
fn what_a_killed_sealer_left_is_neither_seen_nor_in_the_way() {
    let (_dir, store) = store();
    let (id, dir, _) = dead(&store, 3);
    // Where it is sealed now, and where an older fenxi sealed it.
    let parts = ["open", "runs"].map(|folder| store.path().join(folder).join(format!(".sealing-{id}")));
    for part in &parts {
        fs_err::create_dir(part).unwrap();
        fs_err::write(part.join("cpu.parquet"), "half").unwrap();
    }
    assert!(store.summaries().unwrap().is_empty());
    // Killed after the rename: the recording is still there, the run too.
    let copy = store.path().join("copy");
    copy_dir(&dir, &copy);
    assert_eq!(store.recover().unwrap().len(), 1);
    copy_dir(&copy, &dir);
    assert!(store.recover().unwrap().is_empty());
    assert!(!dir.exists() && parts.iter().all(|part| !part.exists()));
    assert_eq!(store.verify(&id).unwrap(), []);
    // Died while it began, or begins right now: who lives holds its lock.
    let hidden = store.path().join("open/.new-x");
    fs_err::create_dir_all(&hidden).unwrap();
    let lock = fs_err::File::create(hidden.join("lock")).unwrap();
    lock.file().lock().unwrap();
    assert!(store.recover().unwrap().is_empty());
    assert!(hidden.exists(), "its owner lives");
    drop(lock);
    assert!(store.recover().unwrap().is_empty());
    assert!(!hidden.exists());
}

fn copy_dir(from: &Path, to: &Path) {
    fs_err::create_dir_all(to).unwrap();
    for entry in fs_err::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs_err::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_failure_while_sealing_keeps_the_recording_and_the_end_of_it() {
    let (_dir, store) = store();
    let mut open = store.begin(begin("kept", 1)).unwrap();
    let mut rows = Rows::new("h1");
    tick(1, &mut rows);
    open.append(&mut rows).unwrap();
    let id = open.id().clone();
    // A file where the directory of runs should be: nothing can be sealed.
    let (runs, aside) = (store.runs_dir(), store.path().join("aside"));
    fs_err::rename(&runs, &aside).unwrap();
    fs_err::write(&runs, "").unwrap();
    let error = open.seal(end(1)).unwrap_err();
    assert!(matches!(error, StoreError::Seal { .. }), "{error}");
    assert!(error.to_string().contains("nothing is lost"), "{error}");
    let failed = store.recover().unwrap();
    assert!(failed[0].error.is_some());
    fs_err::remove_file(&runs).unwrap();
    fs_err::rename(&aside, &runs).unwrap();
    assert!(store.recover().unwrap()[0].error.is_none());
    let m = store.run(&id).unwrap().manifest;
    assert_eq!((m.exit_status, m.recovered, m.missed_ticks), (Some(0), true, Some(0)));
    assert_eq!(store.verify(&id).unwrap(), []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_stream_cut_at_any_byte_gives_back_its_whole_ticks(cuts in prop::array::uniform3(0.0f64..=1.0)) {
        let (_dir, store) = store();
        let (id, _, lengths) = dead(&store, 12);
        let last = lengths.last().unwrap().clone();
        let mut expected = Vec::new();
        for ((path, length), cut) in last.iter().zip(cuts) {
            let keep = (*length as f64 * cut) as u64;
            let file = fs_err::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(keep).unwrap();
            let whole = lengths.iter().filter(|l| l.iter().any(|(p, n)| p == path && *n <= keep)).count();
            let name = path.file_name().unwrap().to_string_lossy().split('.').next().unwrap().to_owned();
            expected.push((name, whole));
        }
        let done = store.recover().unwrap();
        prop_assert!(done.len() == 1 && done[0].error.is_none(), "{:?}", done);
        let run = store.run(&id).unwrap().manifest;
        for (table, ticks) in expected {
            let per_tick = match table.as_str() { "cpu" => 5, "disk" => 2, _ => 3 };
            prop_assert_eq!(run.file(&table).map_or(0, |f| f.rows), ticks as u64 * per_tick, "{}", table);
            if let Some(file) = run.file(&table) {
                prop_assert_eq!(rows_in(&store.run_dir(&id).join(&file.name)) as u64, file.rows);
            }
        }
        prop_assert_eq!(store.verify(&id).unwrap(), []);
    }
}
