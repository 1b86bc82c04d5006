//! A stored file is compared before it is believed: a flipped bit gives an error, a repair or the same answer, wherever
//! in a store it is; and changes made at the same time are all kept.

use std::{
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use arrow_array::Array;
use fenxi_model::{Micros, Rows, RunId, number_at, text_at, whole_at};
use fenxi_store::{End, InputEntry, Labels, Store, StoreError, Window};
use serde_json::{Value, json};

use crate::common::{START, begin, end, run, store, tick};

/// How many bits are flipped unless `FENXI_FLIPS` is set.
const FLIPS: usize = 300;

/// A sequence of numbers that is the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// An import of one file, which is kept.
fn import(store: &Store) -> RunId {
    let mut open = store.begin(fenxi_store::Begin { kind: "import".to_owned(), ..begin("imported", 7) }).unwrap();
    let mut raw = open.raw_file("vmstat.txt.zst").unwrap();
    raw.write_all(&[7; 900]).unwrap();
    let raw = raw.finish().unwrap();
    let mut rows = Rows::new("h1");
    tick(1, &mut rows);
    open.append(&mut rows).unwrap();
    let input = InputEntry { name: "vmstat.txt".to_owned(), raw, bytes: 900, ..InputEntry::default() };
    open.seal(End { inputs: vec![input], ..end(1) }).unwrap()
}

fn window() -> Window {
    Window { name: "steady".to_owned(), start: Micros(START.0 + 2_000_000), end: Micros(START.0 + 5_000_000) }
}

/// A store with every kind of file.
fn full(store: &Store) -> [RunId; 2] {
    let ids = [run(store, "recorded", 1, 8), import(store)];
    let labels = Labels { name: Some("renamed".to_owned()), remarks: vec!["good".to_owned()], ..Labels::default() };
    store.set_labels(&ids[0], &Labels { windows: vec![window()], ..labels }).unwrap();
    store.keep_question("mine", "-- title: Mine\nSELECT 1 AS a, 'some text' AS b\n").unwrap();
    let study = store.make_dir("studies").unwrap().join("s.json");
    store.put_json(&study, &json!({ "name": "s", "seed": 5, "text": "a plan" })).unwrap();
    store.summaries().unwrap();
    ids
}

/// Everything that the store answers, each answer for itself.
fn answers(path: &Path, ids: &[RunId]) -> Vec<Result<String, String>> {
    let store = match Store::open(path) {
        Ok(store) => store,
        Err(e) => return vec![Err(e.to_string()); 8],
    };
    let message = |answer: Result<String, StoreError>| answer.map_err(|e| e.to_string());
    let mut all = vec![
        message(store.summaries().map(|s| format!("{s:?}"))),
        message(store.question_text("mine")),
        message(store.get_json::<Value>(&path.join("studies/s.json"), &[]).map(|v| v.to_string())),
    ];
    for id in ids {
        all.push(message(store.run(id).map(|r| format!("{r:?}"))));
        all.push(message(rows(&store, id)));
        all.push(message(stats(&store, id, None)));
        all.push(message(stats(&store, id, Some(&window()))));
        all.push(message(raw(&store, id)));
    }
    all
}

/// A value of any type that a table has.
fn value(column: &dyn Array, row: usize) -> (Option<i128>, Option<f64>, Option<&str>) {
    (whole_at(column, row), number_at(column, row), text_at(column, row))
}

fn rows(store: &Store, id: &RunId) -> Result<String, StoreError> {
    let tables = ["cpu", "disk", "process"].map(|table| store.read(id, table));
    let mut text = String::new();
    for table in tables {
        for batch in table? {
            // Every value: what prints a column leaves rows out.
            for column in batch.columns() {
                let cell = |row| format!("{:?}\n", value(column.as_ref(), row));
                text += &(0..column.len()).map(cell).collect::<String>();
            }
        }
    }
    // The same files as SQL gets them.
    store.check(&store.files("cpu", None)?)?;
    Ok(text)
}

fn stats(store: &Store, id: &RunId, window: Option<&Window>) -> Result<String, StoreError> {
    let mut lines = Vec::new();
    store.series_stats(id, window, |stat| lines.push(format!("{stat:?}")))?;
    Ok(lines.join("\n"))
}

fn raw(store: &Store, id: &RunId) -> Result<String, StoreError> {
    let mut text = String::new();
    for input in store.run(id)?.manifest.inputs {
        store.check_file(id, &input.raw)?;
        text += &format!("{:?}", fs_err::read(store.run_dir(id).join(&input.raw.name))?);
    }
    Ok(text)
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn a_flipped_bit_anywhere_is_an_error_a_repair_or_the_same_answer() {
    let (_dir, store) = store();
    let ids = full(&store);
    let right = answers(store.path(), &ids);
    assert!(right.iter().all(Result::is_ok), "{right:?}");
    let all: Vec<PathBuf> =
        files(store.path()).into_iter().filter(|p| !p.starts_with(store.path().join("locks"))).collect();
    assert!(all.len() > 16, "{all:?}");
    let flips = std::env::var("FENXI_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(FLIPS);
    let mut numbers = Numbers(7);
    let (mut errors, mut unseen) = (0, Vec::new());
    for flip in 0..flips {
        let path = &all[flip % all.len()];
        let before = fs_err::read(path).unwrap();
        let mut bytes = before.clone();
        let bit = numbers.below(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs_err::write(path, &bytes).unwrap();
        // Before anything is repaired.
        if Store::open(store.path()).is_ok() && checked_clean(store.path(), &ids) {
            unseen.push((path.clone(), bit));
        }
        let now = answers(store.path(), &ids);
        errors += usize::from(now.iter().any(Result::is_err));
        for (place, (now, right)) in now.iter().zip(&right).enumerate() {
            assert!(now.is_err() || now == right, "bit {bit} of {} changed answer {place}: {now:?}", path.display());
        }
        fs_err::write(path, &before).unwrap();
    }
    assert!(unseen.is_empty(), "`verify` did not see {unseen:?}");
    assert!(errors > flips / 2, "only {errors} of {flips} were errors");
    assert_eq!(answers(store.path(), &ids), right);
}

fn checked_clean(path: &Path, ids: &[RunId]) -> bool {
    let store = Store::open(path).unwrap();
    store.scrub().unwrap().problems.is_empty() && ids.iter().all(|id| store.verify(id).unwrap().is_empty())
}

#[test]
fn forty_changes_at_the_same_time_lose_none() {
    let (_dir, store) = store();
    let id = run(&store, "a", 1, 2);
    std::thread::scope(|scope| {
        for i in 0..40 {
            let (store, id) = (Store::open(store.path()).unwrap(), id.clone());
            scope.spawn(move || {
                store
                    .change_labels(&id, |entry| {
                        entry.labels.tags.insert(format!("t{i}"), "x".to_owned());
                        entry.labels.remarks.push(format!("remark {i}"));
                        entry.labels.set_window(Window { name: format!("w{i}"), ..window() });
                        Ok::<_, StoreError>(())
                    })
                    .unwrap();
            });
        }
    });
    let labels = store.run(&id).unwrap().labels;
    // One tag came with the run.
    assert_eq!((labels.tags.len(), labels.remarks.len(), labels.windows.len()), (41, 40, 40));
    let refused = store.change_labels(&id, |entry| {
        entry.labels.name = Some("never".to_owned());
        Err::<(), _>(StoreError::Recording { id: entry.manifest.id.clone() })
    });
    assert!(refused.is_err() && store.run(&id).unwrap().labels == labels, "an error changes nothing");
    assert_eq!(fs_err::read_dir(store.path().join("open")).unwrap().count(), 0);
}

#[test]
fn a_file_that_was_compared_is_compared_again_when_it_changed() {
    let (_dir, store) = store();
    let id = run(&store, "a", 1, 2);
    let listed = store.files("cpu", None).unwrap();
    store.check(&listed).unwrap();
    let path = store.run_dir(&id).join("cpu.parquet");
    let right = fs_err::read(&path).unwrap();
    let mut wrong = right.clone();
    wrong[40] ^= 1;
    fs_err::write(&path, &wrong).unwrap();
    let error = store.check(&listed).unwrap_err().to_string();
    assert!(
        error.contains("cpu.parquet") && error.contains("fenxi store verify") && error.contains("fenxi import"),
        "{error}"
    );
    assert!(store.read(&id, "cpu").unwrap_err().to_string().contains("no row of it is used"));
    fs_err::write(&path, &right).unwrap();
    store.check(&listed).unwrap();
    fs_err::remove_file(&path).unwrap();
    assert!(store.check(&listed).unwrap_err().to_string().contains("is missing"));
    store.remove(&id).unwrap();
    store.check(&listed).unwrap();
}

#[test]
fn pages_carry_checksums_that_readers_compare() {
    let (_dir, store) = store();
    let id = run(&store, "a", 1, 50);
    let path = store.run_dir(&id).join("cpu.parquet");
    let right = fs_err::read(&path).unwrap();
    let read = |bytes: &[u8]| {
        fs_err::write(&path, bytes).unwrap();
        let file = fs_err::File::open(&path).unwrap().into_file();
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file)?.build()?;
        reader.collect::<Result<Vec<_>, _>>().map_err(parquet::errors::ParquetError::from)
    };
    let rows = read(&right).unwrap();
    let metadata = {
        let file = fs_err::File::open(&path).unwrap().into_file();
        parquet::arrow::arrow_reader::ArrowReaderMetadata::load(&file, Default::default()).unwrap()
    };
    let mut refused = 0;
    for column in metadata.metadata().row_group(0).columns() {
        // The last byte of a column is in its last page.
        let (start, length) = column.byte_range();
        let mut wrong = right.clone();
        wrong[(start + length - 1) as usize] ^= 1;
        let error = read(&wrong).unwrap_err().to_string();
        refused += usize::from(error.contains("CRC"));
    }
    assert_eq!(refused, metadata.metadata().row_group(0).num_columns());
    assert_eq!(read(&right).unwrap(), rows);
}

#[test]
fn a_store_from_before_checksums_is_read_and_says_so() {
    let (_dir, store) = store();
    let id = run(&store, "a", 1, 2);
    fs_err::write(store.path().join("store.json"), r#"{"format": 1, "id": "00112233aabbccdd"}"#).unwrap();
    fs_err::write(store.path().join("labels").join(format!("{id}.json")), r#"{"name": "old", "tags": {"a": "b"}}"#)
        .unwrap();
    fs_err::create_dir_all(store.path().join("cache")).unwrap();
    fs_err::write(store.path().join("cache/index.json"), r#"{"version":1,"kinds":[],"runs":{},"labels":{}}"#).unwrap();
    let store = Store::open(store.path()).unwrap();
    assert_eq!(store.run(&id).unwrap().labels.name.as_deref(), Some("old"));
    let remarks = format!("{:?}", store.scrub().unwrap().remarks);
    assert!(remarks.contains("has no checksum"), "{remarks}");
    assert_eq!(store.summaries().unwrap().len(), 1);
    store
        .change_labels(&id, |entry| {
            entry.labels.baseline = true;
            Ok::<_, StoreError>(())
        })
        .unwrap();
    assert!(!format!("{:?}", store.scrub().unwrap().remarks).contains("has no checksum"));
    assert_eq!(store.run(&id).unwrap().labels.tags["a"], "b");
}

#[test]
fn a_question_that_was_edited_by_hand_is_used_and_named() {
    let (_dir, store) = store();
    let path = store.path().join("questions/mine.sql");
    store.keep_question("mine", "-- title: Mine\nSELECT 10 AS a").unwrap();
    assert_eq!(store.scrub().unwrap().remarks, []);
    fs_err::write(&path, "-- title: Mine\nSELECT 25 AS a").unwrap();
    assert!(store.question_text("mine").unwrap().contains("25"));
    let remarks = store.scrub().unwrap().remarks;
    assert!(remarks[0].what.contains("changed by hand"), "{remarks:?}");
    fs_err::write(&path, "-- title: Mine\nSELECT 11 AS a").unwrap();
    let error = store.question_text("mine").unwrap_err().to_string();
    assert!(error.contains("one bit") && error.contains(".kept/mine.json"), "{error}");
    fs_err::remove_file(store.path().join("questions/.kept/mine.json")).unwrap();
    assert!(store.question_text("mine").unwrap().contains("11"));
    assert!(store.forget_question("mine").unwrap() && !store.forget_question("mine").unwrap());
}

#[test]
fn everything_in_a_store_is_known_or_named() {
    let (_dir, store) = store();
    let ids = full(&store);
    store.series_stats(&ids[0], Some(&window()), |_| {}).unwrap();
    assert_eq!(store.scrub().unwrap(), fenxi_store::ScrubReport::default());
    let strange = [
        "x.txt",
        "runs/x",
        "labels/x",
        "open/x",
        "questions/x",
        "studies/x",
        "cache/x",
        "locks/x",
        "questions/.kept/x",
    ];
    for name in strange {
        fs_err::write(store.path().join(name), "x").unwrap();
    }
    let named = store.scrub().unwrap();
    for name in strange {
        let path = store.path().join(name);
        assert!(named.remarks.iter().any(|r| r.path == path && r.what.contains("not a file of the store")), "{name}");
    }
    assert_eq!(named.problems, []);
}

#[test]
fn what_the_killed_left_is_named_and_removed_and_what_the_living_have_is_not() {
    let (_dir, store) = store();
    let id = run(&store, "a", 1, 2);
    let open = store.path().join("open");
    let alive = store.scratch().unwrap();
    let gone = RunId::parse("20261121T000000-x-0000").unwrap();
    for name in [".new-scratch-1-0", ".new-y", ".gone-20261121T000000-x-0000"] {
        fs_err::create_dir(open.join(name)).unwrap();
        fs_err::write(open.join(name).join("part"), "x").unwrap();
    }
    // Killed while it removed a run: the labels are still there.
    fs_err::rename(store.run_dir(&id), open.join(format!(".removed-{id}"))).unwrap();
    store.summaries().unwrap();
    fs_err::write(store.path().join("labels").join(format!("{id}.json")), r#"{"name": "old"}"#).unwrap();
    for folder in ["open", "runs"] {
        fs_err::create_dir(store.path().join(folder).join(format!(".sealing-{gone}"))).unwrap();
    }
    let left = store.scrub().unwrap().remarks;
    assert_eq!(left.iter().filter(|r| r.what.contains("was killed")).count(), 6, "{left:?}");
    assert!(store.recover().unwrap().is_empty());
    store.clear();
    assert_eq!(fs_err::read_dir(&open).unwrap().count(), 1, "only what is in use");
    assert!(alive.dir().is_dir() && store.ids().unwrap().is_empty());
    drop(alive);
    assert_eq!(
        [files(&open), files(&store.runs_dir()), files(&store.path().join("labels"))].concat(),
        Vec::<PathBuf>::new()
    );
    assert_eq!(store.scrub().unwrap().remarks, []);
}

#[test]
fn what_root_makes_is_for_root_alone_until_store_json_says_otherwise() {
    let (_dir, store) = store();
    if !rustix::process::geteuid().is_root() {
        assert!(!fs_err::read_to_string(store.path().join("store.json")).unwrap().contains("private"));
        return;
    }
    let ids = full(&store);
    store.series_stats(&ids[0], Some(&window()), |_| {}).unwrap();
    let mut live = store.begin(begin("live", 3)).unwrap();
    let mut rows = Rows::new("h1");
    tick(1, &mut rows);
    live.append(&mut rows).unwrap();
    let mode = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in files(store.path()) {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        assert_eq!(mode(path.parent().unwrap()), 0o700, "{}", path.display());
    }
    drop(live);
    assert_eq!(store.scrub().unwrap().remarks.len(), 1, "only the recording that is not sealed");
    store.recover().unwrap();
    fs_err::set_permissions(store.run_dir(&ids[0]).join("run.json"), PermissionsExt::from_mode(0o644)).unwrap();
    let remarks = store.scrub().unwrap().remarks;
    assert!(remarks.len() == 1 && remarks[0].what.contains("0644"), "{remarks:?}");
    // Opened by its owner: what is written from then on is as the umask allows, and nothing is a remark.
    let mark = store.path().join("store.json");
    let text = fs_err::read_to_string(&mark).unwrap().replace("true", "false");
    fs_err::write(&mark, text).unwrap();
    let store = Store::open(store.path()).unwrap();
    assert_eq!(store.scrub().unwrap().remarks, []);
    let id = run(&store, "open", 9, 1);
    assert_ne!(mode(&store.run_dir(&id).join("run.json")), 0o600);
}

#[test]
fn a_damaged_cache_is_made_anew() {
    let (_dir, store) = store();
    let ids = full(&store);
    let right = stats(&store, &ids[0], Some(&window())).unwrap();
    let cache = store.path().join("cache/windows");
    for path in files(&cache) {
        fs_err::write(&path, "not what it was").unwrap();
        assert!(!store.scrub().unwrap().problems.is_empty());
        assert_eq!(stats(&store, &ids[0], Some(&window())).unwrap(), right);
        assert_eq!(store.scrub().unwrap().problems, []);
    }
}
