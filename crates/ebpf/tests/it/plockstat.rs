//! A program with a hot lock: it and who takes it come first; one without contention shows nothing.

use std::{path::PathBuf, process::Command};

use fenxi_ebpf::{Tracked, plockstat::Plockstat};
use fenxi_model::{
    Rows,
    catalog::{lock as c, note},
};

use crate::{observed::Observed, programs::compiled};

/// The program of `programs/locks.c`.
fn program() -> Option<PathBuf> {
    compiled("locks", &["-O2", "-g", "-pthread"])
}

/// One line of the table.
#[derive(Debug)]
struct Line {
    event: String,
    lock: String,
    caller: String,
    events: f64,
    total_s: f64,
}

/// Lines by time, the longest first.
fn lines(rows: &Rows) -> Vec<Line> {
    let mut found = Vec::new();
    if let Some(rows) = rows.of(&c::TABLE) {
        for row in 0..rows.n_rows() {
            let text = |place| rows.str(row, place).unwrap_or("").to_owned();
            let value = |place| rows.f64(row, place).unwrap();
            let (event, lock, caller) = (text(c::event), text(c::lock), text(c::caller));
            found.push(Line { event, lock, caller, events: value(c::events), total_s: value(c::total_s) });
        }
    }
    found.sort_by(|a, b| b.total_s.total_cmp(&a.total_s));
    found
}

fn observe(holds: bool, all_waits: bool, arguments: &[&str]) -> Option<Observed> {
    let mut observed = Observed::begin(&Plockstat { tracked: Tracked::Children, holds, all_waits })?;
    assert!(Command::new(program()?).args(arguments).status().unwrap().success());
    observed.read();
    Some(observed)
}

#[test]
fn the_hot_lock_and_its_caller_come_first() {
    if program().is_none() {
        return;
    }
    let Some(observed) = observe(false, false, &["200"]) else { return };
    let lines = lines(&observed.rows);
    let first = &lines[0];
    assert_eq!(first.event, "mutex block", "{lines:#?}");
    assert!(first.lock.ends_with("`hot_lock"), "{lines:#?}");
    assert!(first.caller.contains("`take_the_hot_lock+"), "{lines:#?}");
    // Three threads wait while one sleeps at least 200 µs, 800 times.
    let hot: f64 = lines.iter().filter(|line| line.lock.ends_with("`hot_lock")).map(|line| line.total_s).sum();
    assert!(hot > 0.1, "{lines:#?}");
    assert!(lines.iter().all(|line| line.event == "mutex block"), "joins and conditions are no locks: {lines:#?}");
}

#[test]
fn one_thread_alone_waits_for_no_lock() {
    if program().is_none() {
        return;
    }
    let Some(observed) = observe(false, false, &["50", "alone"]) else { return };
    assert!(lines(&observed.rows).is_empty(), "{:#?}", lines(&observed.rows));
}

#[test]
fn other_waits_are_told_apart_when_asked_for() {
    if program().is_none() {
        return;
    }
    let Some(observed) = observe(false, true, &["5", "alone"]) else { return };
    let lines = lines(&observed.rows);
    let count = |event: &str| lines.iter().filter(|line| line.event == event).map(|line| line.events).sum::<f64>();
    assert_eq!((count("condition wait"), count("join")), (1.0, 1.0), "{lines:#?}");
}

#[test]
fn every_hold_is_counted_with_its_time() {
    if program().is_none() {
        return;
    }
    let Some(observed) = observe(true, false, &["100", "alone"]) else { return };
    let lines = lines(&observed.rows);
    let of = |lock: &str| lines.iter().find(|line| line.event == "mutex hold" && line.lock.ends_with(lock)).unwrap();
    let (hot, cool) = (of("`hot_lock"), of("`cool_lock"));
    assert_eq!((hot.events, cool.events), (100.0, 10.0), "{lines:#?}");
    assert!(hot.caller.contains("`take_the_hot_lock+"), "{lines:#?}");
    // It sleeps 200 µs while it holds it.
    assert!(hot.total_s / hot.events > 200e-6, "{lines:#?}");
    assert!(cool.total_s / cool.events < hot.total_s / hot.events, "{lines:#?}");
    // The lock of the condition, once: it is not held during the wait of 300 ms.
    let of_condition: Vec<_> = lines.iter().filter(|line| line.caller.contains("fight")).collect();
    assert!(of_condition.iter().all(|line| line.events > 1.0 || line.total_s < 0.2), "{lines:#?}");
}

#[test]
fn contention_of_malloc_is_advised_on() {
    if program().is_none() {
        return;
    }
    let mut command = Command::new(program().unwrap());
    // One arena for all threads.
    command.args(["20000", "malloc"]).env("GLIBC_TUNABLES", "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0");
    let source = Plockstat { tracked: Tracked::Children, holds: false, all_waits: false };
    let Some(mut observed) = Observed::begin(&source) else { return };
    assert!(command.status().unwrap().success());
    let rows = observed.read();
    let found = lines(rows);
    let of_malloc: Vec<_> = found.iter().filter(|line| line.lock.starts_with("malloc's ")).collect();
    assert!(!of_malloc.is_empty(), "{found:#?}");
    // Nothing else is waited for there.
    let (recognised, whole): (f64, f64) =
        (of_malloc.iter().map(|line| line.total_s).sum(), found.iter().map(|line| line.total_s).sum());
    eprintln!("malloc: {recognised:.3} of {whole:.3} s are known to be its own");
    assert!(recognised >= 0.99 * whole, "{found:#?}");
    assert!(of_malloc.iter().any(|line| line.caller.contains("`allocate+")), "{found:#?}");
    let notes = rows.of(&note::TABLE).unwrap();
    let reported = (0..notes.n_rows()).filter_map(|row| notes.str(row, note::message)).any(|m| m.contains("jemalloc"));
    assert!(reported);
}

#[test]
fn without_tracefs_it_is_said_how_to_mount_it() {
    let root = fenxi_source::Root::live();
    match fenxi_source::Source::start(&Plockstat::ALL, &root) {
        Ok(_) => eprintln!("SKIPPED plockstat without tracefs: it is mounted here"),
        Err(error) if error.to_string().contains("tracefs is not mounted") => {
            assert!(error.to_string().contains("`mount -t tracefs tracefs /sys/kernel/tracing`"), "{error}");
        }
        Err(error) => eprintln!("SKIPPED plockstat without tracefs: {error}"),
    }
}
