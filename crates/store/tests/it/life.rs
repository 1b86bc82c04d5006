//! The life of a run: begun, appended to, sealed, listed, labelled, verified, removed.

use arrow_array::{
    Array,
    cast::AsArray,
    types::{Float64Type, Int32Type, Int64Type},
};
use fenxi_model::{
    Micros, Rows, RunId,
    catalog::{cpu, net, vm},
};
use fenxi_store::{Labels, Store, StoreError};

use crate::common::{START, begin, end, read, rows_in, run, store, tick};

#[test]
fn a_sealed_run_holds_its_rows_sorted_and_typed() {
    let (_dir, store) = store();
    let id = run(&store, "oltp", 7, 5);
    assert!(!store.path().join("open").join(id.as_str()).exists());
    let entry = store.run(&id).unwrap();
    let m = &entry.manifest;
    assert_eq!((m.hosts[0].as_str(), m.ticks, m.missed_ticks, m.recovered), ("h1", Some(5), Some(0), false));
    assert_eq!((m.file("cpu").unwrap().rows, m.file("process").unwrap().rows, m.rows()), (25, 15, 50));
    assert_eq!(entry.labels.tags["kernel"], "6.12");
    let batch = read(&store.run_dir(&id).join("cpu.parquet")).remove(0);
    let names: Vec<_> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["t", "dt", "host", "cpu", "usr"]);
    let schema = batch.schema();
    assert_eq!(schema.field(4).metadata()["unit"], "%");
    assert!(schema.field(4).metadata()["doc"].len() > 10);
    // All CPUs first (NULL), then 0 to 3, each in order of time.
    let usr = batch.column(4).as_primitive::<Float64Type>().values().to_vec();
    let expected: Vec<f64> =
        [0.0, 0.0, 10.0, 20.0, 30.0].iter().flat_map(|b| (1..=5).map(move |i| b + f64::from(i))).collect();
    assert_eq!(usr, expected);
    let cpu = batch.column(3).as_dictionary::<Int32Type>();
    assert_eq!((cpu.null_count(), cpu.is_null(0)), (5, true));
    assert_eq!(store.verify(&id).unwrap(), []);
}

#[test]
fn statistics_are_what_one_computes_by_hand() {
    let (_dir, store) = store();
    let mut open = store.begin(begin("s", 1)).unwrap();
    let mut rows = Rows::new("h1");
    // usr 1, 2, 6 over 1, 1 and 2 seconds: mean 15/4, variance (7.5625 + 3.0625 + 2*5.0625)/4 = 5.1875.
    for (i, (value, dt)) in [(1.0, 1.0), (2.0, 1.0), (6.0, 2.0)].into_iter().enumerate() {
        rows.row(&cpu::TABLE, Micros(START.0 + i as i64), dt).str(cpu::cpu, "a,b=c").f64(cpu::usr, value);
        open.append(&mut rows).unwrap();
    }
    let id = open.seal(end(3)).unwrap();
    let batch = read(&store.run_dir(&id).join("stats.parquet")).remove(0);
    let text = |name: &str| {
        let column = batch.column_by_name(name).unwrap().as_dictionary::<Int32Type>();
        column.downcast_dict::<arrow_array::StringArray>().unwrap().into_iter().next().unwrap().unwrap().to_owned()
    };
    let number = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Float64Type>().value(0);
    assert_eq!(batch.num_rows(), 1);
    assert_eq!([text("table_name"), text("host"), text("key")], ["cpu", "h1", r"cpu=a\,b\=c"]);
    assert_eq!([text("column_name"), text("window_name")], ["usr", "all"]);
    assert_eq!(batch.column_by_name("n").unwrap().as_primitive::<Int64Type>().value(0), 3);
    assert_eq!((number("seconds"), number("mean"), number("min"), number("max")), (4.0, 3.75, 1.0, 6.0));
    assert!((number("sd") - 5.1875_f64.sqrt()).abs() < 1e-12);
    assert!((number("p50") - 2.0).abs() < 1e-12 && (number("p95") - 5.6).abs() < 1e-12);
    assert!((number("p99") - 5.92).abs() < 1e-12);
}

#[test]
fn a_table_may_gain_columns_while_it_is_recorded() {
    let (_dir, store) = store();
    let mut open = store.begin(begin("grow", 1)).unwrap();
    let (mut a, mut b) = (Rows::new("h1"), Rows::new("h2"));
    for i in 0..6 {
        let t = Micros(START.0 + i);
        a.row(&net::TABLE, t, 1.0).str(net::interface, "eth0").f64(net::rx_bytes_per_s, 1.0);
        if i >= 2 {
            a.row(&net::TABLE, t, 1.0).str(net::interface, "eth1").f64(net::tx_bytes_per_s, 2.0);
        }
        open.append(&mut a).unwrap();
        // Another gathering, with fewer columns, in turn with the first.
        b.row(&net::TABLE, t, 1.0).str(net::interface, "lo");
        open.append(&mut b).unwrap();
    }
    let dir = store.path().join("open").join(open.id().as_str());
    let segments = fs_err::read_dir(dir)
        .unwrap()
        .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with("net."));
    assert_eq!(segments.count(), 2);
    let id = open.seal(end(6)).unwrap();
    assert_eq!(store.run(&id).unwrap().manifest.hosts, ["h1", "h2"]);
    let batch = read(&store.run_dir(&id).join("net.parquet")).remove(0);
    assert_eq!(batch.num_rows(), 16);
    let tx = batch.column_by_name("tx_bytes_per_s").unwrap();
    assert_eq!(tx.len() - tx.null_count(), 4);
}

#[test]
fn a_store_is_made_where_nothing_is_and_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    let error = Store::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("is not a fenxi store") && error.contains("FENXI_STORE"), "{error}");
    fs_err::write(dir.path().join("thesis.txt"), "x").unwrap();
    assert!(matches!(Store::open_or_create(dir.path()), Err(StoreError::Occupied { .. })));
    let store = Store::open_or_create(dir.path().join("a/b")).unwrap();
    assert!(Store::open(store.path()).is_ok());
    fs_err::write(store.path().join("store.json"), r#"{"format": 9, "new": []}"#).unwrap();
    let error = Store::open(store.path()).unwrap_err().to_string();
    assert!(error.contains("format version 9") && error.contains("newer fenxi"), "{error}");
    assert!(matches!(Store::open("/proc/self/status"), Err(StoreError::NotAStore { .. })));
}

#[test]
fn a_store_that_cannot_be_written_says_so_with_a_way_out() {
    // /proc takes no new files, also from root.
    let error = Store::open_or_create("/proc/fenxi").unwrap_err().to_string();
    assert!(error.contains("/proc/fenxi"), "{error}");
}

#[test]
fn labels_are_replaced_whole_and_seen_at_once() {
    let (_dir, store) = store();
    let id = run(&store, "before", 3, 1);
    assert_eq!(store.select_one("before").unwrap(), id);
    let labels = Labels { name: Some("after".to_owned()), baseline: true, ..Labels::default() };
    store.set_labels(&id, &labels).unwrap();
    let now = store.run(&id).unwrap().labels;
    assert_eq!(Labels { changes: Vec::new(), ..now.clone() }, labels);
    assert_eq!(now.changes.len(), 3, "name, baseline and a tag that is gone");
    assert_eq!(store.summaries().unwrap()[0].labels, now);
    assert_eq!(store.select_one("after").unwrap(), id);
    assert!(matches!(store.select("before"), Err(StoreError::Unknown { .. })));
    assert!(store.select("kernel=6.12").is_err());
    let no_one = RunId::parse("20261121T000000-x-0000").unwrap();
    assert!(matches!(store.set_labels(&no_one, &labels), Err(StoreError::Unknown { .. })));
    std::thread::scope(|s| {
        let writer = s.spawn(|| {
            for i in 0..200 {
                let remarks = vec!["x".repeat(i % 50 * 100); 3];
                store.set_labels(&id, &Labels { remarks, ..labels.clone() }).unwrap();
            }
        });
        while !writer.is_finished() {
            assert_eq!(store.run(&id).unwrap().labels.name.as_deref(), Some("after"));
        }
    });
}

#[test]
fn a_removed_run_is_gone_with_its_labels() {
    let (_dir, store) = store();
    let (a, b) = (run(&store, "a", 1, 1), run(&store, "b", 2, 1));
    store.set_labels(&a, &Labels::default()).unwrap();
    assert_eq!(store.summaries().unwrap().len(), 2);
    store.remove(&a).unwrap();
    assert_eq!(store.summaries().unwrap().iter().map(|s| s.id.clone()).collect::<Vec<_>>(), [b]);
    assert!(matches!(store.run(&a), Err(StoreError::Unknown { .. })));
    assert!(matches!(store.remove(&a), Err(StoreError::Unknown { .. })));
    let open = store.begin(begin("live", 9)).unwrap();
    assert!(matches!(store.remove(open.id()), Err(StoreError::Recording { .. })));
}

#[test]
fn verify_names_the_file_that_changed() {
    let (_dir, store) = store();
    let id = run(&store, "v", 1, 20);
    let dir = store.run_dir(&id);
    let files = store.run(&id).unwrap().manifest.files;
    for name in files.iter().map(|f| f.name.as_str()).chain(["run.json"]) {
        let path = dir.join(name);
        let sound = fs_err::read(&path).unwrap();
        for at in [0, sound.len() / 3, sound.len() / 2, sound.len() - 2] {
            let mut bad = sound.clone();
            bad[at] ^= 0x04;
            fs_err::write(&path, bad).unwrap();
            let problems = store.verify(&id).unwrap();
            assert!(problems.iter().any(|p| p.path == path), "{name} at {at}: {problems:?}");
        }
        fs_err::write(&path, &sound[..sound.len() - 1]).unwrap();
        assert!(store.verify(&id).unwrap().iter().any(|p| p.path == path), "{name} cut");
        fs_err::remove_file(&path).unwrap();
        let problems = store.verify(&id).unwrap();
        assert!(problems[0].path == path && problems[0].what.contains("missing"), "{problems:?}");
        fs_err::write(&path, &sound).unwrap();
        assert_eq!(store.verify(&id).unwrap(), []);
    }
    fs_err::write(dir.join("extra.txt"), "").unwrap();
    assert!(store.verify(&id).unwrap()[0].to_string().contains("extra.txt: is not in the manifest"));
}

#[test]
fn files_come_with_their_fingerprint_from_index_and_manifests_alike() {
    let (_dir, store) = store();
    let ids: Vec<RunId> = (0..3).map(|i| run(&store, "f", i, 2)).collect();
    let all = store.files("cpu", None).unwrap();
    let mut named = store.files("cpu", Some(&ids)).unwrap();
    assert!(named.iter_mut().all(|file| file.blake3.take().is_some()), "a manifest that was read has checksums");
    assert_eq!(all, named);
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|f| f.rows == 10 && f.fingerprint == all[0].fingerprint && rows_in(&f.path) == 10));
    assert_eq!(store.files("stats", Some(&ids[..1])).unwrap().len(), 1);
    assert_eq!(store.files("net", None).unwrap(), []);
    fs_err::remove_dir_all(store.path().join("cache")).unwrap();
    assert_eq!(store.files("cpu", None).unwrap(), all);
    fs_err::write(store.path().join("cache/index.json"), "{ torn").unwrap();
    assert_eq!(store.files("cpu", None).unwrap(), all);
}

#[test]
fn many_recorders_and_readers_use_one_store_at_once() {
    let (_dir, store) = store();
    std::thread::scope(|s| {
        for r in 0..4u64 {
            let store = &store;
            s.spawn(move || {
                for k in 0..5 {
                    // The same random number on purpose: ids must come out different all the same.
                    run(store, "same", k, 3 + r);
                }
            });
        }
        for _ in 0..2 {
            s.spawn(|| {
                for _ in 0..40 {
                    assert!(store.recover().unwrap().is_empty());
                    for summary in store.summaries().unwrap() {
                        assert_eq!(store.verify(&summary.id).unwrap(), []);
                    }
                }
            });
        }
    });
    assert_eq!(store.runs().unwrap().len(), 20);
    assert_eq!(store.summaries().unwrap().len(), 20);
}

#[test]
fn a_run_without_rows_is_a_run() {
    let (_dir, store) = store();
    let id = store.begin(begin("", 1)).unwrap().seal(end(0)).unwrap();
    assert_eq!(store.verify(&id).unwrap(), []);
    assert_eq!(store.summaries().unwrap()[0].labels.name, None);
    let mut rows = Rows::new("h");
    rows.row(&vm::TABLE, None, None);
    tick(1, &mut rows);
    let mut open = store.begin(begin("", 2)).unwrap();
    open.append(&mut rows).unwrap();
    let id = open.seal(end(1)).unwrap();
    assert_eq!(store.run(&id).unwrap().manifest.file("vm").unwrap().rows, 1);
}

#[test]
fn marks_that_are_set_while_a_run_is_recorded_are_beside_it_when_it_is_sealed() {
    let (_dir, store) = store();
    let mark = |t: i64, text: &str| fenxi_store::Mark { t: Micros(t), text: text.to_owned(), host: None };
    let open = store.begin(begin("x", 1)).unwrap();
    let id = open.id().clone();
    store.mark(&id, mark(START.0 + 2, "second")).unwrap();
    store.mark(&id, mark(START.0 + 1, "first")).unwrap();
    assert_eq!(store.marks(&id).unwrap().len(), 2);
    open.seal(end(3)).unwrap();
    store.mark(&id, mark(START.0 + 3, "third")).unwrap();
    let labels = store.run(&id).unwrap().labels;
    assert_eq!(labels.marks.iter().map(|m| m.text.as_str()).collect::<Vec<_>>(), ["first", "second", "third"]);
    assert_eq!(labels.name.as_deref(), Some("x"), "it has what it was made with");
    assert!(store.mark(&RunId::new(Micros(0), "none", 1), mark(0, "x")).is_err());
}
