//! Calls of before and of now, and the tasks of `docs/tasks.md`: what the pages say is run.

use std::{
    path::Path,
    process::{Command, Output},
};

use fs_err as fs;

use crate::{
    compare,
    support::{Fenxi, text, walk},
};

const RENAMED: &str = include_str!("../../../../docs/commands-renamed.md");
const TASKS: &str = include_str!("../../../../docs/tasks.md");

/// Runs that calls of the pages name.
fn store() -> Fenxi {
    let fenxi = Fenxi::new();
    for i in 0..4u32 {
        compare::import(&fenxi, &format!("a{i}"), "a", 10, 1000.0 + f64::from(i), |s| 40 + (s + i) % 3, 60);
        compare::import(&fenxi, &format!("b{i}"), "b", 10, 900.0 + f64::from(i), |s| 60 + (s + i) % 3, 60);
    }
    for (tool, name) in
        [("mpstat", "live"), ("nicstat", "net"), ("pstime", "processes"), ("util", "accounts"), ("memstat", "memory")]
    {
        fenxi.ok(&["watch", tool, "50ms", "2", "--save", name]);
    }
    fenxi
}

/// The code of the cells of a page's first table.
fn rows(page: &str) -> Vec<[String; 2]> {
    let lines =
        page.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let cell = |cell: &str| cell.trim().trim_matches('`').to_owned();
    let row = |line: &str| {
        let (first, second) = line.trim_matches('|').split_once(" | ")?;
        Some([cell(first), cell(second)])
    };
    lines.filter_map(row).collect()
}

/// A folder with a copy of the store, in which a call is made.
struct Copy(tempfile::TempDir);

impl Copy {
    fn of(fenxi: &Fenxi) -> Copy {
        let dir = tempfile::tempdir().unwrap();
        for path in walk(&fenxi.path()) {
            let there = dir.path().join("store").join(path.strip_prefix(fenxi.path()).unwrap());
            fs::create_dir_all(there.parent().unwrap()).unwrap();
            fs::copy(&path, there).unwrap();
        }
        Copy(dir)
    }

    fn call(&self, line: &str) -> Output {
        let bin = Path::new(env!("CARGO_BIN_EXE_fenxi")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.0.path()).env("PATH", path).env("NO_COLOR", "1");
        command.env("FENXI_STORE", self.0.path().join("store")).stdin(std::process::Stdio::null()).output().unwrap()
    }

    /// Printed text, wherever this copy is.
    fn shown(&self, bytes: &[u8]) -> String {
        text(bytes).replace(self.0.path().to_str().unwrap(), "HERE")
    }

    /// State of the store afterwards.
    fn after(&self) -> String {
        let listed = text(
            &self.call("fenxi runs -f json; fenxi label window g=a -f json; fenxi label mark -r a0 -f json").stdout,
        );
        let shared = walk(&self.0.path().join("shared")).len();
        format!("{listed}{shared} files")
    }
}

#[test]
fn calls_of_before_and_of_now_do_the_same() {
    let fenxi = store();
    let rows = rows(RENAMED);
    assert!(rows.len() >= 35, "{rows:?}");
    for [before, now] in rows {
        let (old, new) = (Copy::of(&fenxi), Copy::of(&fenxi));
        let (was, is) = (old.call(&before), new.call(&now));
        assert_eq!(was.status.code(), is.status.code(), "{before}: {}\n{now}: {}", text(&was.stderr), text(&is.stderr));
        let (printed, prints) = (old.shown(&was.stdout), new.shown(&is.stdout));
        assert!(printed == prints, "{before}\n{printed}\n{now}\n{prints}");
        assert_ne!(is.status.code(), Some(2), "{now}: {}", text(&is.stderr));
        assert_eq!(old.after(), new.after(), "{before}");
        // Nothing is printed where there is no terminal.
        assert!(!text(&was.stderr).contains("hint:"), "{before}: {}", text(&was.stderr));
    }
}

#[test]
fn each_task_is_done_by_its_call() {
    let fenxi = store();
    fenxi.ok(&["record", "--roll", "1s", "--interval", "100ms", "--name", "db1", "--for", "2s"]);
    let rows = rows(TASKS);
    assert!(rows.len() >= 20, "{rows:?}");
    for [task, call] in rows {
        let copy = Copy::of(&fenxi);
        let vmstat = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n";
        let vmstat =
            format!("procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n{vmstat}");
        fs::write(
            copy.0.path().join("vmstat.txt"),
            vmstat + &" 1  0  0 1 1 1  0  0  0  0  500 9 7 5 88  0  0\n".repeat(3),
        )
        .unwrap();
        let done = copy.call(&call);
        assert!(done.status.success(), "{task}: {call}: {}", text(&done.stderr));
        if let Some((_, file)) = call.split_once(" -o ") {
            let file = copy.0.path().join(file.split(' ').next().unwrap());
            assert!(fs::metadata(&file).unwrap().len() > 0, "{call}");
            assert_eq!(text(&done.stdout), "", "{call}");
        }
    }
}

#[test]
fn the_ending_of_a_file_chooses_the_form_of_rows() {
    let fenxi = store();
    let copy = Copy::of(&fenxi);
    let written = |call: &str, file: &str| {
        assert!(copy.call(call).status.success(), "{call}");
        fs::read(copy.0.path().join(file)).unwrap()
    };
    assert_eq!(written("fenxi sql -o x.csv 'select 1 as n'", "x.csv"), b"n\n1\n");
    assert!(written("fenxi sql -o x.parquet 'select 1 as n'", "x.parquet").starts_with(b"PAR1"));
    assert_eq!(written("fenxi sql -f json -o x.csv 'select 1 as n'", "x.csv"), b"{\"n\":1}\n");
    assert!(written("fenxi sql -o x.txt 'select 1 as n'", "x.txt").starts_with(b"n\n-\n"));
}

#[test]
fn commands_of_other_programs_are_named_with_ours() {
    let fenxi = store();
    let errors = fenxi.fails(2, &["diff", "a", "b"]);
    assert!(errors.contains("`diff` of other programs is `fenxi compare A B` here"), "{errors}");
}

#[test]
fn a_file_of_output_is_whole_or_not_there() {
    let fenxi = store();
    let copy = Copy::of(&fenxi);
    let file = copy.0.path().join("out");
    assert!(copy.call("fenxi sql -f csv -o out 'select 1 as n'").status.success());
    assert_eq!(fs::read_to_string(&file).unwrap(), "n\n1\n");
    // One that fails leaves what was there.
    assert!(!copy.call("fenxi sql -f csv -o out 'select nothing'").status.success());
    assert_eq!(fs::read_to_string(&file).unwrap(), "n\n1\n");
    assert_eq!(text(&copy.call("fenxi sql -f csv -o - 'select 2 as n'").stdout), "n\n2\n");
    // A comparison that fails on purpose is written all the same.
    let failed = copy.call("fenxi compare g=a g=b --fail-on worse -f markdown -o out");
    assert_eq!((failed.status.code(), text(&failed.stdout).as_str()), (Some(1), ""));
    assert!(fs::read_to_string(&file).unwrap().contains("|---"), "{}", text(&failed.stderr));
}
