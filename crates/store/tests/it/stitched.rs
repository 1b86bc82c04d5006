//! Runs made one of several: figures stay what they were, thinned ones are means with their minimum and maximum.

use std::sync::atomic::AtomicBool;

use arrow_array::{Array, RecordBatch, cast::AsArray, types::Float64Type};
use fenxi_model::{
    Micros, Rows, RunId,
    catalog::{cpu, event, process, text},
};
use fenxi_store::{End, SERIES, Stitch, Store, StoreError};

use crate::common::{START, begin, store};

const SECOND: i64 = 1_000_000;

/// Runs of `series` of ten seconds each, one after another: `usr` of all CPUs counts up from 1, a process lives for three
/// seconds of each ten.
fn series(store: &Store, name: &str, runs: i64) -> Vec<RunId> {
    let one = |number: i64| {
        let start = Micros(START.0 + number * 10 * SECOND);
        let mut begin = begin(name, number as u64);
        begin.start = start;
        begin.tags.insert(SERIES.to_owned(), name.to_owned());
        let mut open = store.begin(begin).unwrap();
        let mut rows = Rows::new("h1");
        let same = ("kernel", "6.12".to_owned());
        for (fact, value) in [same, ("load", if number < 2 { "low".to_owned() } else { "high".to_owned() })] {
            let mut row = rows.row(&text::TABLE, start, None);
            row.str(text::topic, "host").str(text::name, fact).text(text::value, value.as_str());
        }
        for second in 1..=10 {
            let t = Micros(start.0 + second * SECOND);
            rows.row(&cpu::TABLE, t, 1.0).f64(cpu::usr, (number * 10 + second) as f64);
            if (3..6).contains(&second) {
                rows.row(&process::TABLE, t, 1.0).i64(process::pid, 7).str(process::comm, "x").f64(process::usr, 50.0);
            }
            open.append(&mut rows).unwrap();
        }
        rows.event(Micros(start.0 + 5 * SECOND), "mark", "test", &format!("in run {number}"));
        open.append(&mut rows).unwrap();
        open.seal(End { ticks: 10, ..End::at(Micros(start.0 + 10 * SECOND)) }).unwrap()
    };
    (0..runs).map(one).collect()
}

fn floats(store: &Store, id: &RunId, table: &str, column: &str) -> Vec<f64> {
    let of = |batch: &RecordBatch| {
        let array = batch.column_by_name(column).unwrap().as_primitive::<Float64Type>();
        array.iter().map(|value| value.unwrap_or(f64::NAN)).collect::<Vec<_>>()
    };
    store.read(id, table).unwrap().iter().flat_map(of).collect()
}

fn facts(store: &Store, id: &RunId) -> Vec<String> {
    let of = |batch: &RecordBatch| {
        let array = batch.column_by_name("value").unwrap().as_string::<i32>();
        (0..array.len()).map(|row| array.value(row).to_owned()).collect::<Vec<_>>()
    };
    store.read(id, "text").unwrap().iter().flat_map(of).collect()
}

fn stitch(store: &Store, pieces: &[RunId], step_s: f64) -> RunId {
    let stitch = Stitch { pieces, span: None, step_s, stop: &AtomicBool::new(false) };
    store.stitch(&stitch, 99).unwrap().unwrap()
}

#[test]
fn merged_runs_have_the_rows_of_all_and_facts_once() {
    let (_dir, store) = store();
    let pieces = series(&store, "night", 3);
    let id = stitch(&store, &pieces, 0.0);
    assert_eq!(floats(&store, &id, "cpu", "usr"), (1..=30).map(f64::from).collect::<Vec<_>>());
    assert_eq!(facts(&store, &id), ["6.12", "low", "high"], "what stays the same is kept once");
    let manifest = store.run(&id).unwrap().manifest;
    assert_eq!((manifest.start, manifest.end), (START, Micros(START.0 + 30 * SECOND)));
    assert_eq!((manifest.ticks, manifest.file("event").unwrap().rows), (Some(30), 3));
    assert_eq!(manifest.made_of, pieces);
    assert_eq!(manifest.tags[SERIES], "night");
    // It is a run as any other, and its statistics are those of all rows.
    assert_eq!(store.verify(&id).unwrap(), []);
    let mut mean = None;
    store
        .series_stats(&id, None, |s| {
            if (s.table, s.column) == ("cpu", "usr") {
                mean = Some((s.n, s.mean))
            }
        })
        .unwrap();
    assert_eq!(mean, Some((30, 15.5)));
}

#[test]
fn thinned_rows_are_means_and_keep_their_least_and_greatest() {
    let (_dir, store) = store();
    let pieces = series(&store, "night", 2);
    let id = stitch(&store, &pieces, 10.0);
    // Intervals are those of the clock: the runs begin at 53 s of a minute.
    let seven = |first: f64| (first + first + 6.0) / 2.0;
    let means = floats(&store, &id, "cpu", "usr");
    let lengths = floats(&store, &id, "cpu", "dt");
    assert_eq!(lengths, [7.0, 3.0, 7.0, 3.0]);
    assert_eq!(means, [seven(1.0), 9.0, seven(11.0), 19.0]);
    assert_eq!(floats(&store, &id, "lowest.cpu", "usr"), [1.0, 8.0, 11.0, 18.0]);
    assert_eq!(floats(&store, &id, "highest.cpu", "usr"), [7.0, 10.0, 17.0, 20.0]);
    // Who lived for a part of it has the mean of that, over its time: CPU seconds stay what they were.
    assert_eq!(floats(&store, &id, "process", "dt"), [3.0, 3.0]);
    assert_eq!(floats(&store, &id, "process", "usr"), [50.0, 50.0]);
    assert_eq!(store.run(&id).unwrap().manifest.interval_s, Some(10.0));
    assert_eq!(store.verify(&id).unwrap(), []);
}

#[test]
fn who_stops_it_leaves_nothing() {
    let (_dir, store) = store();
    let pieces = series(&store, "night", 2);
    let stitch = Stitch { pieces: &pieces, span: None, step_s: 0.0, stop: &AtomicBool::new(true) };
    assert_eq!(store.stitch(&stitch, 1).unwrap(), None);
    assert_eq!(store.ids().unwrap().len(), 2);
    assert_eq!(fs_err::read_dir(store.path().join("open")).unwrap().count(), 0);
}

#[test]
fn a_range_is_one_run_cut_from_several() {
    let (_dir, store) = store();
    let pieces = series(&store, "night", 3);
    // 14:35:53 is the begin.
    let id = store.select_one("2026-11-21T14:35:58..14:36:18").unwrap();
    assert_eq!(floats(&store, &id, "cpu", "usr"), (6..=25).map(f64::from).collect::<Vec<_>>());
    assert_eq!(id.as_str().get(..23), Some("20261121T143558..143618"));
    let entry = store.run(&id).unwrap();
    assert_eq!(entry.labels.name.as_deref(), Some("night 2026-11-21 14:35:58..14:36:18"));
    assert_eq!(entry.manifest.made_of, pieces);
    assert!(!entry.labels.tags.contains_key(SERIES));
    // In no list, the same again at once, and each row in one of two ranges that meet.
    assert_eq!(store.ids().unwrap().len(), 3);
    assert_eq!(store.select_one("night/2026-11-21T14:35:58..14:36:18").unwrap(), id);
    let other = store.select_one("2026-11-21T14:36:18..14:36:30").unwrap();
    assert_eq!(floats(&store, &other, "cpu", "usr"), [26.0, 27.0, 28.0, 29.0, 30.0]);
    // A range that is a whole run is that run.
    assert_eq!(store.select_one("2026-11-21T14:36:03..14:36:13").unwrap(), pieces[1]);
    assert_eq!(store.select_runs(["2026-11-21T14:36:00..14:36:05"]).unwrap(), pieces[..2]);
    // It cannot be changed.
    assert!(matches!(store.remove(&id), Err(StoreError::IsRange { .. })));
    assert!(matches!(store.set_labels(&id, &entry.labels), Err(StoreError::IsRange { .. })));
}

#[test]
fn ranges_that_nobody_recorded_are_said_and_several_series_told_apart() {
    let (_dir, store) = store();
    series(&store, "night", 1);
    let message = |selector: &str| store.select(selector).unwrap_err().to_string();
    let nothing = message("2026-11-20");
    assert!(nothing.contains("reach from 2026-11-21 14:35:53 to 2026-11-21 14:36:03 UTC"), "{nothing}");
    series(&store, "day", 1);
    let several = message("2026-11-21");
    assert!(several.contains("by several: day, night") && several.contains("day/2026-11-21"), "{several}");
    assert!(store.select("day/2026-11-21").is_ok());
}

#[test]
fn a_range_reaches_into_the_run_that_is_being_recorded() {
    let (_dir, store) = store();
    series(&store, "night", 1);
    let start = Micros(START.0 + 10 * SECOND);
    let mut begin = begin("night", 5);
    begin.start = start;
    begin.tags.insert(SERIES.to_owned(), "night".to_owned());
    let mut open = store.begin(begin).unwrap();
    let mut rows = Rows::new("h1");
    for second in 1..=5 {
        rows.row(&cpu::TABLE, Micros(start.0 + second * SECOND), 1.0).f64(cpu::usr, 100.0);
        open.append(&mut rows).unwrap();
    }
    let id = store.select_one("2026-11-21T14:36:00..14:36:06").unwrap();
    assert_eq!(floats(&store, &id, "cpu", "usr"), [8.0, 9.0, 10.0, 100.0, 100.0, 100.0]);
    rows.row(&event::TABLE, start, None).str(event::kind, "mark");
    open.append(&mut rows).unwrap();
    assert_ne!(store.select_one("2026-11-21T14:36:00..14:36:06").unwrap(), id, "it has more now");
}
