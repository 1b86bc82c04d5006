//! A store with copies: what is damaged in one is read from another before the answer is given, repaired, and counted once.

use std::path::{Path, PathBuf};

use fenxi_model::RunId;
use fenxi_store::{CompactWish, CopiesStatus, Labels, Store};
use fs_err as fs;

use crate::common::{run, store};

/// How many bits are flipped unless `FENXI_FLIPS` is set.
const FLIPS: usize = 200;

/// The name of the copy's folder: whatever a file system allows.
const COPY: &str = "a copy,\n\"quoted\" é";

/// A store with a copy, and the runs in it.
struct Mirrored {
    dir: tempfile::TempDir,
    ids: Vec<RunId>,
}

impl Mirrored {
    fn new(n_runs: u64) -> Mirrored {
        let (dir, store) = store();
        let copy = dir.path().join(COPY);
        fs::create_dir(&copy).unwrap();
        name_copies(store.path(), &[&copy]);
        let made = Mirrored { dir, ids: Vec::new() };
        let store = Store::open(store.path()).unwrap();
        store.scrub_copies(&mut |_, _| {}).unwrap();
        let ids: Vec<RunId> = (0..n_runs).map(|n| run(&store, &format!("r{n}"), n + 1, 8)).collect();
        let labels = Labels { remarks: vec!["kept".to_owned()], ..Labels::default() };
        store.set_labels(&ids[0], &labels).unwrap();
        Mirrored { ids, ..made }
    }

    /// The store, as another process opens it.
    fn store(&self) -> Store {
        Store::open(self.dir.path().join("store")).unwrap()
    }

    fn copy(&self) -> PathBuf {
        self.dir.path().join(COPY)
    }

    fn status(&self) -> CopiesStatus {
        self.store().copies_status().unwrap()
    }

    /// CKSUM and REPAIRED of the store and of the copy.
    fn counts(&self) -> [(u64, u64); 2] {
        let status = self.status();
        [0, 1].map(|at: usize| (status.copies[at].cksum, status.copies[at].repaired))
    }

    /// A store's answers about all its runs.
    fn answer(&self, store: &Store) -> Result<String, String> {
        let one = |id: &RunId| {
            let entry = store.run(id)?;
            let mut text = format!("{entry:?}");
            for table in ["cpu", "disk", "process", "stats"] {
                store.read(id, table)?.iter().for_each(|batch| text += &format!("{:?}", batch.columns()));
            }
            store.check(&store.files("cpu", Some(std::slice::from_ref(id)))?)?;
            Ok::<_, fenxi_store::StoreError>(text)
        };
        self.ids.iter().map(|id| one(id).map_err(|e| e.to_string())).collect()
    }
}

/// Names copies in a store's `store.json`, as people do.
fn name_copies(store: &Path, copies: &[&Path]) {
    let path = store.join("store.json");
    let mut mark: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    mark["copies"] = serde_json::json!(copies);
    fs::write(&path, serde_json::to_vec_pretty(&mark).unwrap()).unwrap();
}

/// The files of runs and labels below a store or a copy, in order.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["runs", "labels"] {
        let mut folders = vec![path.join(folder)];
        while let Some(dir) = folders.pop() {
            // Without labels there is no folder for them.
            for entry in fs::read_dir(&dir).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
    }
    found.sort();
    found
}

fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    files(path)
        .into_iter()
        .map(|file| (file.strip_prefix(path).unwrap().to_owned(), fs::read(&file).unwrap()))
        .collect()
}

fn flip(path: &Path, bit: usize) {
    let mut bytes = fs::read(path).unwrap();
    let bit = bit % (bytes.len() * 8);
    bytes[bit / 8] ^= 1 << (bit % 8);
    fs::write(path, bytes).unwrap();
}

fn copied(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

#[test]
fn sealing_and_labelling_write_to_all_copies_and_a_copy_is_a_store() {
    let made = Mirrored::new(2);
    assert_eq!(contents(made.store().path()), contents(&made.copy()));
    assert!(made.status().copies[1].behind.is_empty(), "{:?}", made.status());
    let copy = Store::open(made.copy()).unwrap();
    assert!(copy.copies().is_empty());
    assert_eq!(made.answer(&copy), made.answer(&made.store()));
    made.store().remove(&made.ids[1]).unwrap();
    assert_eq!(contents(made.store().path()), contents(&made.copy()));
}

#[test]
fn each_flipped_bit_in_either_copy_gives_the_right_answer_and_is_repaired_and_counted_once() {
    let made = Mirrored::new(1);
    let right = made.answer(&made.store()).unwrap();
    let (here, there) = (made.store().path().to_owned(), made.copy());
    let whole = contents(&here);
    let flips = std::env::var("FENXI_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(FLIPS);
    let mut seed = 5u64;
    let mut next = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    for n in 0..flips {
        let in_copy = n % 2;
        let side = [&here, &there][in_copy];
        let files = files(side);
        let (file, bit) = (&files[next(files.len())], next(1 << 20));
        flip(file, bit);
        let before = made.counts();
        let store = made.store();
        assert_eq!(made.answer(&store).as_ref(), Ok(&right), "{} bit {bit}", file.display());
        // Answers read the store itself; what they do not read, and the copy, is seen by a scrub.
        store.scrub_copies(&mut |_, _| {}).unwrap();
        assert_eq!(made.answer(&made.store()).as_ref(), Ok(&right));
        let mut expected = before;
        expected[in_copy] = (before[in_copy].0 + 1, before[in_copy].1 + 1);
        assert_eq!(made.counts(), expected, "{} bit {bit}", file.display());
        assert_eq!((contents(&here) == whole, contents(&there) == whole), (true, true), "{}", file.display());
    }
    assert!(made.status().damaged.is_empty());
}

#[test]
fn what_is_gone_is_taken_from_the_copy_and_what_is_wrong_in_both_names_the_run() {
    let made = Mirrored::new(2);
    let right = made.answer(&made.store()).unwrap();
    let store = made.store();
    fs::remove_file(store.run_dir(&made.ids[0]).join("cpu.parquet")).unwrap();
    fs::remove_file(store.run_dir(&made.ids[1]).join("run.json")).unwrap();
    assert_eq!(made.answer(&made.store()), Ok(right.clone()));
    // A whole run that is gone: only a scrub sees that.
    fs::remove_dir_all(store.run_dir(&made.ids[1])).unwrap();
    store.scrub_copies(&mut |_, _| {}).unwrap();
    assert_eq!(made.answer(&made.store()), Ok(right));
    // Different files of a run in either copy are no harm; the same one is.
    let of = |path: &Path, file: &str| path.join(format!("runs/run={}/{file}", made.ids[0]));
    flip(&of(store.path(), "cpu.parquet"), 999);
    flip(&of(&made.copy(), "disk.parquet"), 999);
    store.scrub_copies(&mut |_, _| {}).unwrap();
    assert!(made.answer(&made.store()).is_ok());
    flip(&of(store.path(), "cpu.parquet"), 999);
    flip(&of(&made.copy(), "cpu.parquet"), 77);
    let store = made.store();
    let error = store.read(&made.ids[0], "cpu").unwrap_err().to_string();
    assert!(error.contains(made.ids[0].as_str()) && error.contains("no copy could repair it"), "{error}");
    assert!(store.read(&made.ids[1], "cpu").is_ok());
    let damaged = made.status().damaged;
    assert!(damaged.keys().all(|file| file.contains(made.ids[0].as_str())) && damaged.len() == 1, "{damaged:?}");
    store.clear_copies_status().unwrap();
    assert_eq!(made.counts(), [(0, 0), (0, 0)]);
    assert_eq!(store.scrub_copies(&mut |_, _| {}).unwrap().damaged.len(), 1, "a scrub finds it again");
}

#[test]
fn an_older_copy_is_never_taken_for_good() {
    let made = Mirrored::new(2);
    let store = made.store();
    let old = made.dir.path().join("old");
    copied(&made.copy(), &old);
    store.set_labels(&made.ids[0], &Labels { remarks: vec!["newer".to_owned()], ..Labels::default() }).unwrap();
    store.remove(&made.ids[1]).unwrap();
    // The copy's disk comes back from a backup: all of its checksums fit.
    fs::remove_dir_all(made.copy()).unwrap();
    copied(&old, &made.copy());
    flip(&store.path().join(format!("labels/{}.json", made.ids[0])), 300);
    assert!(made.store().run(&made.ids[0]).is_err(), "labels of an older state are no repair");
    // Files of runs never change, so that these can be taken from it.
    flip(&store.run_dir(&made.ids[0]).join("cpu.parquet"), 999);
    assert!(made.store().read(&made.ids[0], "cpu").is_ok());
    store.scrub_copies(&mut |_, _| {}).unwrap();
    assert_eq!(made.store().ids().unwrap().len(), 1, "a removed run does not come back");
    assert!(made.copy().join(format!("left/runs/run={}/run.json", made.ids[1])).exists());
    assert!(made.store().run(&made.ids[0]).is_err());
    // A copy that was away while labels changed is behind, and is not asked for them.
    let labels = Labels { remarks: vec!["newest".to_owned()], ..Labels::default() };
    made.store().set_labels(&made.ids[0], &labels).unwrap();
    let away = made.dir.path().join("away");
    fs::rename(made.copy(), &away).unwrap();
    made.store().set_labels(&made.ids[0], &Labels { remarks: vec!["without the copy".to_owned()], ..labels }).unwrap();
    assert!(made.status().copies[1].unavailable.is_some());
    fs::rename(&away, made.copy()).unwrap();
    flip(&store.path().join(format!("labels/{}.json", made.ids[0])), 300);
    assert!(made.store().run(&made.ids[0]).is_err());
    flip(&store.path().join(format!("labels/{}.json", made.ids[0])), 300);
    made.store().scrub_copies(&mut |_, _| {}).unwrap();
    assert_eq!(contents(made.store().path()), contents(&made.copy()));
}

#[test]
fn a_folder_that_is_no_copy_is_neither_read_nor_written() {
    let made = Mirrored::new(1);
    let (other_dir, other) = store();
    run(&other, "other", 9, 3);
    for (folder, why) in [(other.path().to_owned(), "another store"), (other_dir.path().to_owned(), "something else")] {
        let before = everything(&folder);
        name_copies(made.store().path(), &[&folder]);
        let status = made.store().scrub_copies(&mut |_, _| {}).unwrap();
        assert!(status.copies[1].unavailable.as_deref().is_some_and(|text| text.contains(why)), "{status:?}");
        assert_eq!(everything(&folder), before);
    }
    // An empty folder where the copy was: its disk is not mounted.
    name_copies(made.store().path(), &[&made.copy()]);
    made.store().scrub_copies(&mut |_, _| {}).unwrap();
    fs::rename(made.copy(), made.dir.path().join("disk")).unwrap();
    fs::create_dir(made.copy()).unwrap();
    run(&made.store(), "late", 5, 3);
    assert_eq!(fs::read_dir(made.copy()).unwrap().count(), 0);
    for wrong in ["relative", made.store().path().join("runs").to_str().unwrap()] {
        name_copies(made.store().path(), &[Path::new(wrong)]);
        assert!(
            Store::open(made.dir.path().join("store")).unwrap_err().to_string().contains("a copy is another folder")
        );
        let mut mark: serde_json::Value =
            serde_json::from_slice(&fs::read(made.dir.path().join("store/store.json")).unwrap()).unwrap();
        mark["copies"] = serde_json::json!([]);
        fs::write(made.dir.path().join("store/store.json"), mark.to_string()).unwrap();
    }
}

#[test]
fn a_store_that_has_runs_gets_a_copy_later() {
    let (dir, plain) = store();
    let ids: Vec<RunId> = (0..3).map(|n| run(&plain, &format!("r{n}"), n + 1, 8)).collect();
    fs::create_dir(dir.path().join(COPY)).unwrap();
    name_copies(plain.path(), &[&dir.path().join(COPY)]);
    let made = Mirrored { dir, ids };
    let status = made.store().scrub_copies(&mut |_, _| {}).unwrap();
    assert_eq!(contents(made.store().path()), contents(&made.copy()));
    assert_eq!((status.scrub.unwrap().filled, made.counts()), (15, [(0, 0), (0, 0)]));
}

#[test]
fn compaction_reaches_copies_and_what_it_replaced_leaves_them_with_a_scrub() {
    let made = Mirrored::new(4);
    let right = made.answer(&made.store()).unwrap();
    let store = made.store();
    store.compact(&CompactWish::default(), &mut |_, _, _| ()).unwrap();
    let status = store.scrub_copies(&mut |_, _| {}).unwrap();
    assert_eq!((status.copies[1].cksum, status.damaged.len()), (0, 0), "{status:?}");
    assert_eq!(contents(store.path()), contents(&made.copy()));
    assert_eq!(made.answer(&Store::open(made.copy()).unwrap()), Ok(right.clone()));
    let packed: Vec<PathBuf> = everything(&store.path().join("compacted")).into_iter().map(|(path, _)| path).collect();
    let packed = packed.iter().find(|path| path.extension().is_some_and(|e| e == "parquet")).unwrap();
    flip(packed, 4321);
    assert_eq!(made.answer(&made.store()), Ok(right));
    assert_eq!(made.counts()[0], (1, 1));
}

#[test]
fn what_people_put_there_is_brought_and_taken_away_and_is_no_fault() {
    let made = Mirrored::new(1);
    let n = std::env::var("FENXI_FILES").ok().and_then(|n| n.parse().ok()).unwrap_or(50);
    let store = made.store();
    let folder = store.path().join("findings");
    fs::create_dir_all(&folder).unwrap();
    (0..n).for_each(|n| fs::write(folder.join(format!("f{n}\n.sql")), format!("SELECT {n}")).unwrap());
    let status = store.scrub_copies(&mut |_, _| {}).unwrap();
    assert_eq!(status.scrub.unwrap().filled, n);
    assert_eq!(fs::read_dir(made.copy().join("findings")).unwrap().count() as u64, n);
    fs::write(folder.join("f1\n.sql"), "SELECT 'edited'").unwrap();
    fs::remove_file(folder.join("f2\n.sql")).unwrap();
    store.scrub_copies(&mut |_, _| {}).unwrap();
    assert_eq!(fs::read_to_string(made.copy().join("findings/f1\n.sql")).unwrap(), "SELECT 'edited'");
    assert!(!folder.join("f2\n.sql").exists() && made.copy().join("left/findings/f2\n.sql").exists());
    assert_eq!(made.counts(), [(0, 0), (0, 0)]);
    store.keep_question("mine", "SELECT 1").unwrap();
    store.forget_question("mine").unwrap();
    store.scrub_copies(&mut |_, _| {}).unwrap();
    assert!(store.question_text("mine").is_err() && !made.copy().join("questions/mine.sql").exists());
}

#[test]
fn recordings_and_labels_go_on_while_a_scrub_runs() {
    let made = Mirrored::new(3);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..20 {
                made.store().scrub_copies(&mut |_, _| {}).unwrap();
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let mut n = 100;
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            n += 1;
            let store = made.store();
            let id = run(&store, &format!("beside{n}"), n, 3);
            let labels = Labels { remarks: vec![n.to_string()], ..Labels::default() };
            store.set_labels(&made.ids[0], &labels).unwrap();
            if n % 2 == 0 {
                store.remove(&id).unwrap();
            }
        }
    });
    assert_eq!(made.counts(), [(0, 0), (0, 0)], "{:?}", made.status());
    made.store().scrub_copies(&mut |_, _| {}).unwrap();
    assert_eq!(contents(made.store().path()), contents(&made.copy()));
}

/// All names below a folder, with what is in the files.
fn everything(path: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(dir) = folders.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path())
            }
            found.push((entry.path(), entry.metadata().unwrap().len()));
        }
    }
    found.sort();
    found
}
