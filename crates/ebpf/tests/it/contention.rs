//! Waits for the kernel's locks: of a lock that is held for a known time, and beside perf.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use fenxi_ebpf::{Tracked, contention::Contention};
use fenxi_model::{Rows, catalog::lock as c};

use crate::{
    observed::{Observed, once_right},
    programs::compiled,
};

/// One line of the table.
#[derive(Debug)]
struct Line {
    event: String,
    lock: String,
    caller: String,
    holder: String,
    events: f64,
    total_s: f64,
    max_us: f64,
}

fn lines(rows: &Rows) -> Vec<Line> {
    let Some(rows) = rows.of(&c::TABLE) else { return Vec::new() };
    let of = |row: usize| {
        let text = |place| rows.str(row, place).unwrap_or("").to_owned();
        let value = |place| rows.f64(row, place).unwrap();
        let (event, lock, caller, holder) = (text(c::event), text(c::lock), text(c::caller), text(c::holder));
        let (events, total_s, max_us) = (value(c::events), value(c::total_s), value(c::max_us));
        Line { event, lock, caller, holder, events, total_s, max_us }
    };
    (0..rows.n_rows()).map(of).collect()
}

fn program(name: &'static str) -> Option<PathBuf> {
    compiled(name, &["-O2", "-g", "-pthread"])
}

#[test]
fn waits_for_a_lock_that_is_held_for_a_known_time_are_as_long_as_the_callers_measure() {
    const ROUNDS: usize = 10;
    let Some(program) = program("pipe_lock") else { return };
    let source = Contention { tracked: Tracked::Children, addresses: false };
    let Some(mut observed) = Observed::begin(&source) else { return };
    let done = Command::new(program).arg(ROUNDS.to_string()).output().unwrap();
    if done.status.code() == Some(2) {
        eprintln!("SKIPPED contention of a pipe: no userfaultfd for the kernel's own accesses");
        return;
    }
    assert!(done.status.success(), "{done:?}");
    let text = String::from_utf8(done.stdout).unwrap();
    let mut words = text.split_whitespace();
    let waits: f64 = words.next().unwrap().parse().unwrap();
    let measured_s = words.next().unwrap().parse::<f64>().unwrap() / 1e9;
    let lines = lines(observed.read());
    // The spinlock inside a mutex is contended now and then, too.
    let is_it = |line: &&Line| line.caller.ends_with("pipe_write") && line.event == "kernel mutex";
    let pipe: Vec<_> = lines.iter().filter(is_it).collect();
    let (events, total_s) = (pipe.iter().map(|l| l.events).sum::<f64>(), pipe.iter().map(|l| l.total_s).sum::<f64>());
    eprintln!("contention: {events} waits of {waits}, {total_s:.4} s of {measured_s:.4}");
    assert_eq!(events, waits, "{lines:#?}");
    assert!(total_s <= measured_s && total_s >= 0.97 * measured_s, "{total_s} of {measured_s}: {lines:#?}");
    // One waits for the one that holds it while it copies, the other for that or for the first waiter.
    assert!(pipe.iter().all(|line| line.holder == "pipe_lock"), "{lines:#?}");
    assert!(pipe.iter().map(|line| line.max_us).fold(0.0, f64::max) >= 19_000.0, "{lines:#?}");
}

#[test]
fn faults_and_mappings_of_one_process_meet_at_its_lock_of_mappings() {
    let Some(program) = program("map_fight") else { return };
    let source = Contention { tracked: Tracked::Children, addresses: false };
    let Some(mut observed) = Observed::begin(&source) else { return };
    assert!(Command::new(program).arg("2000").status().unwrap().success());
    let lines = lines(observed.read());
    let of_mappings: f64 = lines.iter().filter(|line| line.lock == "mmap_lock").map(|line| line.total_s).sum();
    let of_rwsems: f64 =
        lines.iter().filter(|line| line.event.starts_with("kernel rwsem")).map(|line| line.total_s).sum();
    assert!(of_mappings > 0.0 && of_mappings >= 0.9 * of_rwsems, "{of_mappings} of {of_rwsems}: {lines:#?}");
    let locking = ["rwsem", "down_", "bpf_", "queued_spin", "__traceiter"];
    let is_lock = |line: &&Line| locking.iter().any(|begin| line.caller.starts_with(begin));
    assert!(!lines.iter().any(|line| is_lock(&line)), "callers are no functions of locking: {lines:#?}");
}

#[test]
fn one_thread_alone_waits_for_no_lock_of_mappings() {
    let Some(program) = program("map_fight") else { return };
    let source = Contention { tracked: Tracked::Children, addresses: false };
    let Some(mut observed) = Observed::begin(&source) else { return };
    assert!(Command::new(program).args(["2000", "alone"]).status().unwrap().success());
    let lines = lines(observed.read());
    assert!(lines.iter().all(|line| line.lock != "mmap_lock" && line.event != "kernel mutex"), "{lines:#?}");
}

/// Waits as we and as perf count them, in one run of the program; None, reported, where either may not.
fn beside_perf(program: &Path) -> Option<[f64; 2]> {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("perf.data");
    // The command that perf follows is its own child, which the observer follows as well.
    let source = Contention { tracked: Tracked::Children, addresses: false };
    let mut observed = Observed::begin(&source)?;
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-m", "4096", "-e", "lock:contention_begin,lock:contention_end", "-o"])
        .arg(&data)
        .arg("--");
    let done = perf.arg(program).arg("2000").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !done.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED contention against perf: it is not installed, or may not trace here");
        return None;
    }
    let ours: f64 = lines(observed.read()).iter().map(|line| line.events).sum();
    let script = Command::new("perf").args(["script", "-F", "comm,event", "-i"]).arg(&data).output().unwrap();
    let text = String::from_utf8_lossy(&script.stdout);
    let ends = text.lines().filter(|line| line.contains("map_fight") && line.contains("contention_end")).count() as f64;
    eprintln!("contention: {ours} waits, perf has {ends} ends");
    Some([ours, ends])
}

#[test]
fn waits_are_those_that_perf_records() {
    let Some(program) = program("map_fight") else { return };
    // Perf loses events where it is too late to write them.
    let is_right = |[ours, ends]: &[f64; 2]| *ends > 100.0 && (ours - ends).abs() <= 0.05 * ends;
    once_right("ours, and perf's", || beside_perf(&program), is_right);
}
