//! Observers at the command line: what they keep, what is refused, what is left behind.

use std::{collections::BTreeSet, process::Command};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Fenxi, signal, skipped, text, wait_for};

/// Numbers of the BPF programs that process `pid` holds; None: they cannot be listed here.
fn programs_of(pid: u32) -> Option<BTreeSet<u64>> {
    let output = Command::new("bpftool").args(["--json", "prog", "list"]).output().ok()?;
    let all: Value = serde_json::from_slice(&output.stdout).ok()?;
    let holds = |program: &&Value| program["pids"].as_array().is_some_and(|pids| pids.iter().any(|p| p["pid"] == pid));
    Some(all.as_array()?.iter().filter(holds).filter_map(|program| program["id"].as_u64()).collect())
}

fn exists(program: u64) -> bool {
    let id = program.to_string();
    Command::new("bpftool").args(["prog", "show", "id", &id]).output().is_ok_and(|output| output.status.success())
}

/// Whether observers work here at all; printed loudly if not.
fn observes(fenxi: &Fenxi, test: &str) -> bool {
    let tried = fenxi.run(&["trace", "procsystime", "0.1", "1"]);
    if !tried.status.success() {
        skipped(test, text(&tried.stderr).trim());
    }
    tried.status.success()
}

#[test]
fn nothing_is_left_attached_by_a_killed_observer() {
    let fenxi = Fenxi::new();
    let name = "nothing_is_left_attached_by_a_killed_observer";
    if !observes(&fenxi, name) {
        return;
    }
    let mut child = fenxi.spawn(&["trace", "procsystime", "1"]);
    let held = || programs_of(child.id()).unwrap_or_default();
    let listed = std::time::Instant::now();
    while held().len() < 3 {
        if listed.elapsed().as_secs() > 20 {
            skipped(name, "bpftool does not show whose programs there are");
            signal(&child, Signal::KILL);
            let _ = child.wait();
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let programs = held();
    signal(&child, Signal::KILL);
    let _ = child.wait();
    wait_for("the kernel to let go of the programs", || !programs.iter().any(|program| exists(*program)));
}

#[test]
fn without_the_capabilities_it_is_said_which_are_missing() {
    let fenxi = Fenxi::new();
    let program = fenxi.command(&[]).get_program().to_owned();
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-bpf,-perfmon,-sys_admin", "--inh-caps=-all"]).arg(program);
    command.args(["trace", "procsystime", "0.1", "1"]);
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    if said.contains("setpriv:") {
        return skipped("without_the_capabilities_it_is_said_which_are_missing", said.trim());
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("this process lacks CAP_BPF and CAP_PERFMON"), "{said}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
}

#[test]
fn what_an_observer_sees_can_be_recorded_and_shown_again() {
    let fenxi = Fenxi::new();
    if !observes(&fenxi, "what_an_observer_sees_can_be_recorded_and_shown_again") {
        return;
    }
    let live = fenxi.ok(&["trace", "procsystime", "--save", "calls", "-c", "--", "true"]);
    let again = fenxi.ok(&["trace", "procsystime", "--run", "calls", "-c"]);
    assert!(live.contains("execve"), "{live}");
    let totals = |shown: &str| shown.lines().find(|line| line.starts_with("sys totals")).map(str::to_owned);
    assert_eq!(totals(&again), totals(&live));
    let calls = fenxi.number("SELECT sum(calls) FROM syscall WHERE syscall = 'execve' AND comm = 'true'");
    assert!((calls - 1.0).abs() < 1e-9, "{calls}");
}

#[test]
fn the_check_tries_everything() {
    let fenxi = Fenxi::new();
    let output = fenxi.run(&["trace", "check", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let observers = found["observers"].as_array().unwrap();
    let works = observers.iter().all(|observer| observer["refused"].is_null());
    assert_eq!(output.status.code(), Some(i32::from(!works)), "{found}");
    for name in ["procsystime", "profile", "querystat"] {
        assert!(observers.iter().any(|observer| observer["observer"] == name), "{found}");
    }
    assert!(found["abilities"].as_array().unwrap().len() > 5, "{found}");
}

#[test]
fn a_recording_takes_an_observer_s_options() {
    let fenxi = Fenxi::new();
    let wrong = fenxi.run(&["record", "--source", "procsystime:pid=x", "--for", "0.2s"]);
    assert_eq!(wrong.status.code(), Some(1), "{}", text(&wrong.stderr));
    let said = text(&wrong.stderr);
    assert!(said.contains("`procsystime`: `pid` is `x`: expected numbers of processes"), "{said}");
    if !observes(&fenxi, "a_recording_takes_an_observer_s_options") {
        return;
    }
    let mut busy = Command::new("yes").stdout(std::process::Stdio::null()).spawn().unwrap();
    let source = format!("procsystime:by=thread,pid={},mem", busy.id());
    let recorded = fenxi.run(&["record", "--name", "one", "--source", &source, "--interval", "200ms", "--for", "1s"]);
    let _ = busy.kill();
    let _ = busy.wait();
    assert!(recorded.status.success(), "{}", text(&recorded.stderr));
    let calls = fenxi.number("SELECT sum(calls) FROM syscall WHERE comm = 'yes'");
    let others = fenxi.number("SELECT count(*) FROM syscall WHERE comm <> 'yes'");
    assert!(calls > 100.0 && others.abs() < 1e-9, "{calls} calls of the process, {others} rows of others");
    assert!(fenxi.number("SELECT count(*) FROM mem") > 0.0, "the source behind the options");
}

#[test]
fn a_former_name_is_understood_and_not_shown() {
    let fenxi = Fenxi::new();
    let [now, formerly] = ["irqsteal", "pin"].map(|name| fenxi.ok(&["trace", name, "--help"]));
    assert!(now.contains("--by <BY>") && now.contains("fenxi trace irqsteal 5"), "{now}");
    assert_eq!(formerly, now);
    let listed = fenxi.ok(&["trace", "--help"]);
    assert!(listed.contains("\n  irqsteal ") && !listed.contains("\n  pin "), "{listed}");
}
