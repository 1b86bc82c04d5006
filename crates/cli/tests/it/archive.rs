//! `fenxi store export` and `fenxi import` of what it wrote: every kind of run, by file and by pipe.

use std::{collections::BTreeMap, io::Write, path::PathBuf, process::Stdio};

use crate::support::{Fenxi, text, walk};

/// All files of runs and labels by name.
fn content(fenxi: &Fenxi) -> BTreeMap<PathBuf, Vec<u8>> {
    let root = fenxi.path();
    let files = ["runs", "labels"].map(|folder| walk(&root.join(folder))).concat();
    let content = |path: PathBuf| (path.strip_prefix(&root).unwrap().to_owned(), fs_err::read(&path).unwrap());
    files.into_iter().map(content).collect()
}

/// A store with two recordings, their average, and an import.
fn filled() -> Fenxi {
    let fenxi = Fenxi::new();
    for name in ["one", "two"] {
        let seen = ["--interval", "20ms", "--for", "100ms", "--source", "cpu"];
        fenxi.ok(&[&["record", "--name", name][..], &seen].concat());
    }
    fenxi.ok(&["average", "one", "two", "--name", "both"]);
    let vmstat = fenxi.path().with_file_name("vmstat.txt");
    fs_err::write(&vmstat, " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n 1  0      0 100000   2000  50000    0    0     1     2   30   40  5  1 94  0  0\n 2  0      0 100000   2000  50000    0    0     1     2   30   40  7  1 92  0  0\n").unwrap();
    let procs = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n";
    let rows = fs_err::read_to_string(&vmstat).unwrap();
    fs_err::write(&vmstat, format!("{procs}{rows}")).unwrap();
    fenxi.ok(&[
        "import",
        vmstat.to_str().unwrap(),
        "--name",
        "imported",
        "--start",
        "2026-11-21 10:00",
        "--interval",
        "1s",
    ]);
    fenxi.ok(&["tag", "one", "good=yes", "--remark", "kept"]);
    fenxi.ok(&["window", "two", "steady", "0s..50ms"]);
    fenxi
}

#[test]
fn every_kind_of_run_comes_whole_into_another_store() {
    let here = filled();
    let archive = here.path().with_file_name("runs.tar.zst");
    let archive = archive.to_str().unwrap();
    let names = ["one", "two", "both", "imported"];
    let said = here.run(&[&["export"], &names[..], &["-o", archive]].concat());
    assert!(said.status.success() && text(&said.stderr).contains("exported 4 runs"), "{said:?}");
    let there = Fenxi::new();
    let lines = there.ok(&["import", archive, "--json"]);
    assert_eq!(lines.lines().filter(|line| line.contains("\"is_new\":true")).count(), 4, "{lines}");
    assert_eq!(content(&here), content(&there));
    there.ok(&["verify"]);
    assert!(there.ok(&["show", "good=yes"]).contains("kept"));
    assert!(there.ok(&["window", "two"]).contains("steady"));
    assert_eq!(there.number("select count(*) from runs"), 4.0);
    // The parts of an average and an import beside tables are there as well.
    assert!(there.number("select count(*) from spread.cpu") > 0.0);
    there.ok(&["import", "--again", "imported", "--name", "again"]);
    let again = there.run(&["import", archive]);
    assert_eq!(text(&again.stderr).matches("already exists").count(), 4, "{}", text(&again.stderr));
    let refused = there.fails(1, &["import", archive, "--name", "other"]);
    assert!(refused.contains("omit --name"), "{refused}");
}

#[test]
fn an_archive_goes_through_a_pipe_and_a_broken_one_leaves_nothing() {
    let here = filled();
    let archive = here.run(&["export", "imported", "one", "-o", "-"]).stdout;
    let pipe = |fenxi: &Fenxi, bytes: &[u8]| {
        let mut command = fenxi.command(&["import", "-", "--quiet"]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // One that is refused early reads no further.
        let _ = child.stdin.take().unwrap().write_all(bytes);
        child.wait_with_output().unwrap()
    };
    let there = Fenxi::new();
    let cut = pipe(&there, &archive[..archive.len() - 7]);
    assert_eq!(cut.status.code(), Some(1));
    assert!(text(&cut.stderr).contains("error: cannot import -: the archive is cut short; nothing of it"), "{cut:?}");
    assert!(content(&there).is_empty() && walk(&there.path().join("open")).is_empty());
    assert!(pipe(&there, &archive).status.success());
    assert_eq!(there.store().ids().unwrap().len(), 2);
    // A compressed text that is no archive is imported as ever, also when it comes through a pipe.
    let plain = fs_err::read(here.path().with_file_name("vmstat.txt")).unwrap();
    let kept = walk(&here.path().join("runs")).into_iter().find(|p| p.ends_with("raw/vmstat.txt.zst")).unwrap();
    for bytes in [plain, fs_err::read(kept).unwrap()] {
        let fenxi = Fenxi::new();
        let output = pipe(&fenxi, &bytes);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(fenxi.number("select count(*) from vm") > 0.0);
    }
    let unknown = here.fails(1, &["export", "three", "-o", "x"]);
    assert!(unknown.contains("no run matches `three`"), "{unknown}");
    let nowhere = here.fails(1, &["export", "one", "-o", "/nonexistent/x"]);
    assert!(nowhere.contains("cannot export to /nonexistent/x"), "{nowhere}");
}
