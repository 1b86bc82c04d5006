//! Formats that a store brings: listed, tried, imported, and never run for what comes over HTTP.

use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use fs_err as fs;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Fenxi, signal, text, wait_for};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/fixtures/own").join(name)
}

/// A store with formats, a path for each and its content.
fn store_with(files: &[(&str, &str)]) -> Fenxi {
    let fenxi = Fenxi::new();
    fs::create_dir_all(fenxi.path()).unwrap();
    fs::remove_dir(fenxi.path()).unwrap();
    fenxi_store::Store::open_or_create(fenxi.path()).unwrap();
    for (name, content) in files {
        let path = fenxi.path().join("formats").join(name);
        fs::write(&path, content).unwrap();
        if content.starts_with("#!") {
            fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    fenxi
}

fn described(name: &str) -> String {
    fs::read_to_string(fixture(name)).unwrap()
}

#[test]
fn a_stores_format_is_listed_tried_and_imported_as_a_shipped_one() {
    let fenxi = store_with(&[("poolstat.toml", &described("poolstat.toml")), ("jobs", &described("jobs.py"))]);
    let list = fenxi.ok(&["formats"]);
    assert!(list.contains("Own formats of this store\n"), "{list}");
    assert!(list.contains("poolstat") && list.contains("jobs, the log of the batch queue"), "{list}");
    assert!(
        fenxi.ok(&["formats", "poolstat"]).contains("file: formats/poolstat.toml\nused: recognised by its content")
    );
    let entry: Value = serde_json::from_str(&fenxi.ok(&["formats", "jobs", "--json"])).unwrap();
    assert_eq!((&entry["own"], &entry["file"]), (&Value::Bool(true), &Value::from("formats/jobs")));

    let file = fixture("poolstat.txt");
    let path = file.to_str().unwrap();
    let tried = fenxi.ok(&["format", "try", "--as", "poolstat", path]);
    assert!(tried.contains("disk device=nvme0n1") && tried.contains("read_bytes_per_s=19136512"), "{tried}");
    assert!(
        tried.ends_with(
            "poolstat.txt as poolstat: 14 rows of disk, metric; all of 17 lines read\nrecognised by its content\n"
        ),
        "{tried}"
    );
    assert_eq!(fenxi.ok(&["formats", "test", "poolstat", path]), tried, "the name of before");
    let lines = fenxi.ok(&["format", "try", path, "--json"]);
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!((&last["rows"], &last["notes"], &last["recognised_as"]), (&14.into(), &0.into(), &"poolstat".into()));
    assert_eq!(lines.lines().count(), 18);
    let disk: Value = serde_json::from_str(lines.lines().nth(3).unwrap()).unwrap();
    assert_eq!((&disk["line"], &disk["rows"][0]["reads_per_s"]), (&4.into(), &1520.0.into()), "{disk}");
    // Trying keeps nothing.
    assert_eq!(fenxi.ok(&["runs", "--json"]), "");

    fenxi.ok(&["import", path]);
    assert_eq!(fenxi.number("select read_bytes_per_s from disk where device = 'sda' order by t"), 157_286.4);
    // The version of the format is a fact of the run: its BLAKE3 by another program, where there is one.
    let fact = fenxi.sql("select name, value from text where topic = 'format'");
    assert_eq!(fact.len(), 1);
    let digest = fact[0]["value"].as_str().unwrap().strip_prefix("formats/poolstat.toml, BLAKE3 ").unwrap().to_owned();
    assert_eq!(digest.len(), 64);
    assert_eq!(digest, blake3::hash(described("poolstat.toml").as_bytes()).to_hex().to_string());
    let again: Value = serde_json::from_str(&fenxi.ok(&["import", "--json", "--again", "@1"])).unwrap();
    assert_eq!(again["inputs"][0]["format"], "poolstat");
}

#[test]
fn a_program_of_the_store_reads_what_it_says_is_its_own() {
    let fenxi = store_with(&[("jobs", &described("jobs.py"))]);
    let file = fixture("jobs.txt");
    let path = file.to_str().unwrap();
    let summary: Value = serde_json::from_str(&fenxi.ok(&["import", "--json", path])).unwrap();
    assert_eq!((&summary["inputs"][0]["format"], &summary["inputs"][0]["notes"]), (&"jobs".into(), &0.into()));
    assert_eq!(fenxi.number("select count(*) from metric"), 8.0);
    assert_eq!(fenxi.number("select sum(value) from metric where name = 'jobs.waiting'"), 23.0);
    assert_eq!(fenxi.number("select value from metric where labels = 'queue=night' and name = 'jobs.running'"), 4.0);
    assert_eq!(fenxi.sql("select name from text where topic = 'format'")[0]["name"], "jobs");
}

#[test]
fn a_format_that_recognises_nothing_reads_what_it_is_named_for() {
    let fenxi = store_with(&[("nettotals.toml", &described("nettotals.toml"))]);
    let file = fixture("nettotals.txt");
    let path = file.to_str().unwrap();
    assert!(fenxi.fails(1, &["import", path]).contains("unknown format"));
    fenxi.ok(&["import", path, "--format", "nettotals"]);
    assert_eq!(fenxi.number("select max(rx_bytes_per_s) from net"), 20_480.0);
    // The format for reading it again is known.
    fenxi.ok(&["import", "--again", "@1"]);
    assert!(fenxi.fails(1, &["import", path, "--force", "--format", "nettotal"]).contains("did you mean nettotals"));
}

#[test]
fn a_wrong_file_is_said_once_and_stands_in_nobodys_way() {
    let wrong = described("poolstat.toml").replace("table = \"disk\"", "table = \"disc\"");
    let fenxi = store_with(&[("wrong.toml", &wrong), ("poolstat.toml", &described("poolstat.toml"))]);
    let file = fixture("poolstat.txt");
    let output = fenxi.run(&["import", file.to_str().unwrap(), "--strict"]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    assert!(said.contains("formats/wrong.toml:28: there is no table `disc`; did you mean `disk`?"), "{said}");
    assert!(
        fenxi.fails(1, &["format", "try", "--as", "wrong", file.to_str().unwrap()]).contains("unknown format `wrong`")
    );
}

#[test]
fn what_a_format_cannot_read_is_shown_with_its_line() {
    let fenxi = store_with(&[("poolstat.toml", &described("poolstat.toml"))]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pool.log");
    let content = fs::read_to_string(fixture("poolstat.txt")).unwrap().replace("queue 5,", "queue five,");
    fs::write(&path, content).unwrap();
    let tried = fenxi.ok(&["format", "try", path.to_str().unwrap()]);
    let line = tried.lines().find(|line| line.contains("queue five, longest 9")).unwrap();
    assert!(line.contains("nothing") && line.ends_with("! no pattern matches"), "{tried}");
    assert!(tried.contains("12 rows of disk, metric; 1 of 17 lines not read, marked `!`"), "{tried}");
}

#[test]
fn interrupting_an_import_ends_its_program_and_keeps_nothing() {
    let fenxi = store_with(&[("mine", "#!/bin/sh\ncat > /dev/null\nsleep 731\n")]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("words");
    fs::write(&path, "words\n").unwrap();
    let mut child = fenxi.spawn(&["import", path.to_str().unwrap(), "--format", "mine"]);
    let sleeping = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries.filter(|e| fs::read(e.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x00731\0")).count()
    };
    wait_for("the program to run", || sleeping() == 1);
    let begun = Instant::now();
    signal(&child, Signal::INT);
    assert!(!child.wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(sleeping(), 0);
    assert_eq!(fenxi.ok(&["runs", "--json"]), "");
}

#[test]
fn a_description_is_tried_drafted_and_checked_without_a_store() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (log, toml) = (path("queues.log"), path("queues.toml"));
    fs::write(&log, "Queue  Active  Pending  Share\nread   3  12  40%\nwrite  1  0  60%\n").unwrap();
    // Nothing reads it yet.
    let unknown = fenxi.fails(1, &["format", "try", &log]);
    assert!(unknown.contains("no format reads") && unknown.contains("fenxi format new --from"), "{unknown}");
    fenxi.ok(&["format", "new", "--from", &log, "-o", &toml]);
    assert!(fenxi.fails(1, &["format", "new", "--from", &log, "-o", &toml]).contains("exists"));
    let tried = fenxi.ok(&["format", "try", &log, "--description", &toml]);
    assert!(tried.contains("6 rows of metric; all of 3 lines read\n"), "{tried}");
    assert!(tried.ends_with("recognised by its content\n"), "{tried}");
    assert!(tried.contains("[[table]] :"), "{tried}");
    let checked = fenxi.ok(&["format", "check", &toml, "--text", &log]);
    assert!(checked.ends_with("all is right\n"), "{checked}");
    // A fault is listed, with its line.
    fs::write(&toml, fs::read_to_string(&toml).unwrap().replace("\"metric\"", "\"mem.fre_bytes\"")).unwrap();
    let wrong = text(&fenxi.run(&["format", "check", &toml]).stdout);
    assert!(wrong.contains("did you mean `free_bytes`") && wrong.contains("1 of 1 checks failed"), "{wrong}");
    assert_eq!(fenxi.run(&["format", "check", &toml, "--json"]).status.code(), Some(1));
}

#[test]
fn an_unknown_format_names_the_nearest_and_what_is_missing() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("siege.txt");
    fs::write(&path, "Transactions:\t 10 hits\nElapsed time:\t 1 secs\nTransaction rate:\t 5 trans/sec\n").unwrap();
    for command in [&["import"][..], &["format", "try"]] {
        let said = fenxi.fails(1, &[command, &[path.to_str().unwrap()]].concat());
        assert!(said.contains("near: siege (it has ") && said.contains("lacks a line `availability: …`"), "{said}");
    }
}

#[test]
fn a_watched_file_is_tried_again_when_it_is_saved() {
    let fenxi = store_with(&[("poolstat.toml", &described("poolstat.toml"))]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pool.log");
    fs::copy(fixture("poolstat.txt"), &path).unwrap();
    let mut child = fenxi.spawn(&["format", "try", path.to_str().unwrap(), "--watch"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut until = |wanted: &str| lines.by_ref().map(Result::unwrap).find(|line| line.contains(wanted));
    assert!(until("recognised by its content").is_some());
    fs::write(&path, fs::read_to_string(&path).unwrap() + "nonsense\n").unwrap();
    assert!(until("1 of 18 lines not read").is_some());
    signal(&child, Signal::INT);
    assert!(child.wait().unwrap().success());
}
