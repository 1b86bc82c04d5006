//! Rows as Arrow batches.

use std::sync::Arc;

use arrow_array::{
    Array,
    cast::AsArray,
    types::{Float64Type, Int32Type, Int64Type},
};

use super::{cells::MAX_DICTIONARY, *};
use crate::catalog::{cpu, process};

#[test]
fn what_is_not_set_is_null_and_what_nobody_sets_is_no_column() {
    let mut rows = Rows::new("h");
    rows.row(&cpu::TABLE, Micros(5), 1.0).str(cpu::cpu, "0").f64(cpu::usr, 3.0);
    rows.row(&cpu::TABLE, Micros(5), 1.0).f64(cpu::idle, f64::NAN);
    rows.row(&cpu::TABLE, Micros(5), 1.0).f64(cpu::usr, f64::INFINITY).f64(cpu::usr, 4.0);
    let cells = rows.of(&cpu::TABLE).unwrap();
    assert_eq!((cells.f64(0, cpu::usr), cells.f64(1, cpu::usr), cells.f64(9, cpu::usr)), (Some(3.0), None, None));
    assert_eq!((cells.str(0, cpu::cpu), cells.str(1, cpu::cpu), cells.str(0, cpu::host)), (Some("0"), None, Some("h")));
    let batch = rows.tables_mut().next().unwrap().take().unwrap();
    let names: Vec<_> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["t", "dt", "host", "cpu", "usr", "idle"]);
    let usr = batch.column(4).as_primitive::<Float64Type>();
    assert_eq!((usr.value(0), usr.is_null(1), usr.value(2)), (3.0, true, 4.0));
    assert_eq!(batch.column(5).null_count(), 3);
    assert!(batch.column(3).is_null(1));
    assert!(rows.is_empty());
}

#[test]
fn what_cannot_be_is_null_and_told_once() {
    let mut rows = Rows::new("h");
    for value in [3.0, -380_140.0, 3_035_110_221.0, 100.4] {
        rows.row(&cpu::TABLE, Micros(5), 1.0).f64(cpu::iowait, value).f64(cpu::intr_per_s, -value);
    }
    rows.row(&process::TABLE, Micros(5), 1.0).f64(process::cpu, 640.0);
    rows.row(&event::TABLE, Micros(5), 1.0);
    let cells = rows.of(&cpu::TABLE).unwrap();
    assert_eq!([0, 1, 2, 3].map(|row| cells.f64(row, cpu::iowait)), [Some(3.0), None, None, Some(100.4)]);
    assert_eq!([0, 1].map(|row| cells.f64(row, cpu::intr_per_s)), [None, Some(380_140.0)]);
    // Of one CPU several threads use more than all.
    assert_eq!(rows.of(&process::TABLE).unwrap().f64(0, process::cpu), Some(640.0));
    let reported: Vec<String> = rows.refused().iter().map(ToString::to_string).collect();
    assert_eq!(
        reported,
        [
            "cpu.intr_per_s: 3 values cannot be, and are left out: -3 is the first",
            "cpu.iowait: 2 values cannot be, and are left out: -380140 is the first",
        ]
    );
    assert!(rows.refused().is_empty());
    rows.row(&cpu::TABLE, Micros(6), 1.0).f64(cpu::usr, -50.0);
    rows.note_refused();
    let notes = rows.of(&note::TABLE).unwrap();
    assert_eq!(notes.str(0, note::message), Some("cpu.usr: a value cannot be, and is left out: -50"));
}

#[test]
fn codes_stay_the_same_from_batch_to_batch() {
    let mut rows = Rows::new("h");
    let mut take = |names: &[&str]| {
        for name in names {
            rows.row(&process::TABLE, Micros(1), 1.0).i64(process::pid, 7).str(process::comm, *name);
        }
        rows.tables_mut().next().unwrap().take().unwrap()
    };
    let first = take(&["a", "b"]);
    let second = take(&["b", "c", "a"]);
    let keys = second.column(4).as_dictionary::<Int32Type>().keys().values().to_vec();
    assert_eq!(keys, [1, 2, 0]);
    assert!(Arc::ptr_eq(&first.schema(), &second.schema()));
    assert_eq!(first.column(3).as_primitive::<Int64Type>().value(1), 7);
}

#[test]
fn a_dictionary_cannot_grow_for_ever() {
    let mut rows = Rows::new("h");
    for i in 0..=MAX_DICTIONARY {
        rows.row(&process::TABLE, Micros(1), 1.0).str(process::comm, format!("c{i}").as_str());
    }
    rows.tables_mut().next().unwrap().take().unwrap();
    rows.row(&process::TABLE, Micros(2), 1.0).str(process::comm, "new");
    let batch = rows.tables_mut().next().unwrap().take().unwrap();
    let comm = batch.column(3).as_dictionary::<Int32Type>();
    assert_eq!((comm.values().len(), comm.keys().value(0)), (1, 0));
}

#[test]
fn notes_and_events_are_rows() {
    let mut rows = Rows::new("h");
    rows.set_source("vmstat");
    rows.note("a.txt", 3, "no header");
    rows.event(Micros(9), "counter reset", "eth0", "rx went back");
    let tables: Vec<_> = rows.tables().map(|t| t.table().name).collect();
    assert_eq!(tables, ["event", "note"]);
}

#[test]
fn rows_of_other_hosts_are_taken_as_they_are_or_become_ours() {
    let mut theirs = Rows::new("db1");
    theirs.event(Micros(9), "mark", "x", "here");
    let mut ours = Rows::new("driver");
    ours.absorb(&theirs);
    ours.append(&theirs, Micros(2));
    let events = ours.of(&event::TABLE).unwrap();
    let seen = |row| (events.str(row, event::host).unwrap().to_owned(), events.micros(row, event::t).unwrap());
    assert_eq!([seen(0), seen(1)], [("db1".to_owned(), Micros(9)), ("driver".to_owned(), Micros(11))]);
}
