//! `fenxi record`: commands, signals, time, failures.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::{Fenxi, signal, text};

#[test]
fn a_command_is_recorded_with_its_results_and_its_status_is_passed_on() {
    let fenxi = Fenxi::new();
    let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 7";
    let output = fenxi.run(&["record", "--interval", "50ms", "--tag", "a=b", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    let value = |name: &str| fenxi.number(&format!("select value from result where name = '{name}'"));
    assert_eq!(value("exit_status"), 7.0);
    assert!(value("user_time") > 0.01 && value("user_time") <= value("elapsed") * 1.05);
    assert!(value("max_rss") > 100_000.0);
    let run = &fenxi.sql("select name, exit_status, tags from runs")[0];
    assert_eq!(run["name"], "sh");
    assert_eq!(run["exit_status"], 7);
    assert!(fenxi.ok(&["runs", "a=b"]).contains("a=b"));
}

#[test]
fn ticks_come_on_absolute_deadlines() {
    let fenxi = Fenxi::new();
    fenxi.ok(&["record", "--interval", "100ms", "--for", "2s", "--source", "cpu,mem"]);
    let manifest = fenxi.store().runs().unwrap().remove(0).manifest;
    let (ticks, missed) = (manifest.ticks.unwrap(), manifest.missed_ticks.unwrap());
    assert_eq!(ticks + missed, 20);
    // Every taken tick lies behind its deadline by less than an interval: nothing drifts.
    let sql = "select max(abs(epoch(t) - epoch(first) - round((epoch(t) - epoch(first)) / 0.1) * 0.1)) as off \
               from (select t, min(t) over () as first from mem)";
    assert!(fenxi.number(sql) < 0.09);
    let covered = fenxi.number("select sum(dt) as s from mem");
    assert!((covered - 2.0).abs() < 0.1, "{covered}");
    assert_eq!(fenxi.number("select count(*) as n from (select t from cpu group by t)"), ticks as f64);
}

#[test]
fn ctrl_c_ends_the_recording_and_keeps_the_run() {
    let fenxi = Fenxi::new();
    let child = fenxi.spawn(&["record", "--interval", "20ms", "--source", "cpu"]);
    fenxi.wait_until_recording();
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(fenxi.number("select count(distinct t) as n from cpu") > 3.0);
    assert!(fenxi.ok(&["runs", "--json"]).contains("\"recovered\":false"));
}

#[test]
fn signals_are_passed_on_to_the_command_and_recording_goes_on_until_it_ends() {
    let fenxi = Fenxi::new();
    let script = "trap 'exit 42' TERM; echo ready; while :; do sleep 0.02; done";
    let mut child = fenxi.spawn(&["record", "--interval", "20ms", "--source", "cpu", "--", "sh", "-c", script]);
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    signal(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(42), "{}", text(&output.stderr));
    assert_eq!(fenxi.number("select value from result where name = 'exit_status'"), 42.0);
}

#[test]
fn a_command_that_a_signal_kills_gives_128_and_its_number() {
    let fenxi = Fenxi::new();
    let output = fenxi.run(&["record", "--interval", "20ms", "--source", "cpu", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(output.status.code(), Some(137));
}

#[test]
fn when_the_time_is_over_the_command_is_asked_to_end() {
    let fenxi = Fenxi::new();
    let output = fenxi.run(&["record", "--interval", "50ms", "--for", "300ms", "--source", "cpu", "--", "sleep", "60"]);
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    assert!(fenxi.number("select value from result where name = 'elapsed'") < 5.0);
}

#[test]
fn a_command_that_cannot_be_run_leaves_nothing() {
    let fenxi = Fenxi::new();
    let message = fenxi.fails(127, &["record", "--", "/no/such/program"]);
    assert!(message.contains("cannot run `/no/such/program`"), "{message}");
    assert!(fenxi.store().summaries().unwrap().is_empty());
    assert!(crate::support::walk(&fenxi.path().join("open")).is_empty());
}

#[test]
fn wrong_arguments_are_refused_with_the_way_out() {
    let fenxi = Fenxi::new();
    assert!(fenxi.fails(2, &["record", "--interval", "5ms"]).contains("10ms"));
    assert!(fenxi.fails(1, &["record", "--source", "cpuu"]).contains("did you mean cpu?"));
    assert!(fenxi.fails(2, &["record", "--tag", "novalue"]).contains("KEY=VALUE"));
    assert!(fenxi.fails(1, &["record", "--root", "/nonexistent"]).contains("--root"));
}

#[test]
fn a_source_that_the_saved_system_lacks_is_noted_and_the_others_go_on() {
    let fenxi = Fenxi::new();
    let root = tempfile::TempDir::new().unwrap();
    let proc_dir = root.path().join("proc");
    fs_err::create_dir_all(&proc_dir).unwrap();
    fs_err::write(proc_dir.join("meminfo"), "MemTotal: 1000 kB\nMemFree: 400 kB\nMemAvailable: 600 kB\n").unwrap();
    let root = root.path().to_str().unwrap();
    fenxi.ok(&["record", "--root", root, "--interval", "20ms", "--for", "100ms"]);
    assert_eq!(fenxi.number("select max(used_bytes) as b from mem"), 400.0 * 1024.0);
    assert!(fenxi.number("select count(*) as n from note where source = 'cpu'") >= 1.0);
}

#[test]
fn the_cost_of_each_source_is_kept_and_shown() {
    let fenxi = Fenxi::new();
    fenxi.ok(&["record", "--interval", "50ms", "--for", "500ms"]);
    let shown = fenxi.ok(&["show", "@1"]);
    for word in ["Recording overhead", "cpu", "store", "recorder in all", "ticks"] {
        assert!(shown.contains(word), "{word} in {shown}");
    }
}

/// A program of this name that prints what pgbench does, in two steps.
fn pgbench(folder: &std::path::Path) -> String {
    let path = folder.join("pgbench");
    let lines = [
        "transaction type: <builtin: TPC-B (sort of)>",
        "scaling factor: 1",
        "query mode: simple",
        "number of clients: 1",
    ];
    let more = [
        "number of threads: 1",
        "duration: 5 s",
        "number of transactions actually processed: 500",
        "latency average = 10.000 ms",
        "tps = 100.500000 (without initial connection time)",
    ];
    let print = |lines: &[&str]| lines.iter().map(|line| format!("echo '{line}'\n")).collect::<String>();
    let script = format!("#!/bin/sh\n{}echo $1 >&2\nsleep 0.3\n{}exit 3\n", print(&lines), print(&more));
    fs_err::write(&path, script).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_a_load_generator_prints_passes_and_is_results_of_the_run() {
    let (fenxi, folder) = (Fenxi::new(), tempfile::tempdir().unwrap());
    let program = pgbench(folder.path());
    // Through the shell that it names, as a process that has just written a program may not be able to run it yet.
    let words = ["record", "--interval", "50ms", "--source", "cpu", "--", "env", "sh", &program, "said"];
    let output = fenxi.run(&words);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let direct = std::process::Command::new("sh").args([&program, "said"]).output().unwrap();
    assert_eq!(text(&output.stdout), text(&direct.stdout));
    assert!(text(&output.stderr).contains("said"), "{}", text(&output.stderr));
    assert_eq!(fenxi.number("select value from result where name = 'throughput'"), 100.5);
    assert_eq!(fenxi.number("select value from result where name = 'latency_mean'"), 10.0);
}

#[test]
fn what_a_command_prints_into_a_file_is_read_behind_what_was_there() {
    let (fenxi, folder) = (Fenxi::new(), tempfile::tempdir().unwrap());
    let program = pgbench(folder.path());
    let log = folder.path().join("log");
    fs_err::write(&log, "something else\n").unwrap();
    let file = fs_err::OpenOptions::new().append(true).open(&log).unwrap();
    let mut command = fenxi.command(&["record", "--interval", "50ms", "--source", "cpu", "--", "sh", &program]);
    command.stdout(std::process::Stdio::from(file.into_parts().0));
    assert_eq!(command.status().unwrap().code(), Some(3));
    assert!(fs_err::read_to_string(&log).unwrap().starts_with("something else\ntransaction type"));
    assert_eq!(fenxi.number("select value from result where name = 'throughput'"), 100.5);
    // Of what is no load generator's nothing is kept.
    fenxi.ok(&["record", "--interval", "50ms", "--source", "cpu", "--", "sh", "-c", "echo tps = 7"]);
    assert_eq!(fenxi.number("select count(*) as n from result where name = 'throughput'"), 1.0);
}

#[test]
fn the_elapsed_time_of_a_command_of_several_threads_is_explained() {
    let fenxi = Fenxi::new();
    // One of three processes at a time has the lock on a file.
    let script = "for i in 1 2 3; do (j=0; while [ $j -lt 30 ]; do flock lock sh -c 'i=0; while [ $i -lt 4000 ]; do i=$((i+1)); done'; \
                  j=$((j+1)); done) & done; wait";
    let folder = tempfile::tempdir().unwrap();
    let mut command = fenxi.command(&["record", "--", "sh", "-c", script]);
    assert!(command.current_dir(folder.path()).status().unwrap().success());
    let lines = fenxi.ok(&["explain", "@1", "--json"]);
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mean = |part: &str| {
        let found = lines.iter().find(|line| line["part"] == part);
        found.and_then(|line| line["mean"].as_f64()).unwrap_or(0.0)
    };
    let (whole, residual) = (mean("elapsed"), mean("residual"));
    assert!(whole > 0.1 && residual.abs() <= 0.1 * whole, "{residual} of {whole}: {lines:?}");
    // Without wchan (root only) there are no looks.
    if fenxi.number("select count(*) as n from note where message like '%wchan%'") == 0.0 {
        assert!(mean("file lock") > 0.2 * whole, "{lines:?}");
        assert!(fenxi.number("select count(distinct t) as n from thread_wait where role = 'command'") > 5.0);
    }
}

#[test]
fn what_is_asked_for_and_cannot_be_recorded_is_a_warning() {
    let fenxi = Fenxi::new();
    let source = ["--source", "cpu,log:file=/nonexistent", "--db", "postgres://me@127.0.0.1:1/x?sslmode=disable"];
    let args = [&["record", "--interval", "100ms"], &source[..], &["--", "sleep", "0.3"]].concat();
    let output = fenxi.run(&args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for what in ["warning: db is asked for and not recorded: ", "warning: log is asked for and not recorded: "] {
        assert_eq!(said.matches(what).count(), 2, "at the start and behind what the command prints: {said}");
    }
    assert!(said.contains("127.0.0.1:1"), "{said}");
    // Sources that are missing by default were not asked for.
    let output = fenxi.run(&["record", "--interval", "100ms", "--for", "200ms"]);
    assert!(!text(&output.stderr).contains("warning"), "{}", text(&output.stderr));
}
