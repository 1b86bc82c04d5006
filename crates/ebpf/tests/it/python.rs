//! Functions of Python stand in the stacks, between the native ones that they call and are called by.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use fenxi_ebpf::{Tracked, profile::Profile};
use fenxi_model::{Rows, catalog::stack as c};

use crate::{
    observed::{Observed, once_right},
    programs::compiled,
};

const FAST: Profile = Profile { tracked: Tracked::Children, frequency: 997, off_cpu: false, light: false };

/// Interpreters that are here, with the minor parts of their versions: the one that `python3` is, and those of pyenv.
fn interpreters() -> Vec<(PathBuf, u32)> {
    let home = || std::env::var("HOME").map(|home| format!("{home}/.pyenv"));
    let pyenv = std::env::var("PYENV_ROOT").or_else(|_| home());
    let of_pyenv = pyenv.map(|root: String| Path::new(&root).join("versions"));
    let folders = of_pyenv.ok().and_then(|folder| fs_err::read_dir(folder).ok()).into_iter().flatten().flatten();
    let others = folders.map(|folder| folder.path().join("bin/python3"));
    let named = ["/usr/bin/python3", "python3"].into_iter().map(PathBuf::from);
    let mut found: Vec<(PathBuf, u32)> = named.chain(others).filter_map(|path| interpreter(&path)).collect();
    found.sort();
    found.dedup_by(|a, b| a.0 == b.0);
    found
}

/// The program that a command for Python begins, and the minor part of its version; None: it is none that is known.
fn interpreter(path: &Path) -> Option<(PathBuf, u32)> {
    let asked = "import os, sys; print(os.path.realpath(sys.executable), *sys.version_info[:2])";
    let said = Command::new(path).args(["-c", asked]).output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let mut words = said.split_ascii_whitespace();
    let (executable, major, minor) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
    (major == "3" && (9..=14).contains(&minor)).then(|| (executable.into(), minor))
}

/// Stacks with their samples of what is called `python…`: whether they are of process `pid`.
fn stacks(rows: &Rows, pid: u32) -> Vec<(bool, String, f64)> {
    let Some(rows) = rows.of(&c::TABLE) else { return Vec::new() };
    let is_it = |row: &usize| rows.str(*row, c::comm).is_some_and(|comm| comm.starts_with("python"));
    let of_row = |row: usize| {
        let stack = rows.str(row, c::stack).unwrap_or_default().to_owned();
        (rows.i64(row, c::pid) == Some(i64::from(pid)), stack, rows.f64(row, c::samples).unwrap_or(0.0))
    };
    (0..rows.n_rows()).filter(is_it).map(of_row).collect()
}

/// Whether a stack has these functions in this order.
fn has_in_order(stack: &str, functions: &[&str]) -> bool {
    let mut frames = stack.split(';');
    functions.iter().all(|function| frames.any(|frame| frame == *function))
}

/// Samples of the whole, of a thread and of a child, and those of them that are as they have to be.
#[derive(Debug)]
struct Seen {
    all: f64,
    right: f64,
    threaded: f64,
    forked: f64,
    through_c: f64,
    generated: f64,
    /// Examples of what is wrong.
    wrong: Vec<(String, f64)>,
}

fn look(observed: &mut Observed, python: &Path, minor: u32) -> Seen {
    let program = format!("{}/tests/it/programs/calls.py", env!("CARGO_MANIFEST_DIR"));
    // The tables are there from then on.
    assert!(Command::new(python).args([&program, "0.5"]).status().unwrap().success());
    let mut child = Command::new(python).args([&program, "1"]).spawn().unwrap();
    let pid = child.id();
    assert!(child.wait().unwrap().success());
    let method = if minor < 11 { "method (calls.py)" } else { "Work.method (calls.py)" };
    let ways = [
        &["by_calls (calls.py)", method, "spin (calls.py)"][..],
        &["by_generator (calls.py)", "generated (calls.py)", "spin (calls.py)"],
        &["by_c (calls.py)", "list_sort_impl", "key (calls.py)", "spin (calls.py)"],
    ];
    let mut seen =
        Seen { all: 0.0, right: 0.0, threaded: 0.0, forked: 0.0, through_c: 0.0, generated: 0.0, wrong: Vec::new() };
    let mut first_run = true;
    for (is_it, stack, samples) in stacks(observed.read(), pid) {
        let is_child = !is_it && has_in_order(&stack, &["main (calls.py)", "work (calls.py)"]);
        first_run &= !is_it;
        if !is_it && !is_child {
            continue;
        }
        let has = |functions: &[&str]| has_in_order(&stack, functions);
        let is_threaded =
            has(&["Thread.run (threading.py)", "work (calls.py)"]) || has(&["run (threading.py)", "work (calls.py)"]);
        let begins = if is_threaded { "clone" } else { "_start;" };
        let is_in_main = has(&["<module> (calls.py)", "main (calls.py)", "work (calls.py)"]);
        let is_right = stack.starts_with(begins) && (is_threaded || is_in_main);
        seen.all += samples;
        let add = |to: &mut f64, is_one: bool| *to += if is_one { samples } else { 0.0 };
        add(&mut seen.right, is_right);
        add(&mut seen.threaded, is_right && is_threaded);
        add(&mut seen.forked, is_right && is_child);
        add(&mut seen.generated, is_right && has(ways[1]));
        // Where the interpreter has no symbols but those it exports, functions of C are its file.
        let in_c = &ways[2];
        add(&mut seen.through_c, is_right && (has(in_c) || has(&[in_c[0], in_c[2], in_c[3]])));
        if !is_right {
            seen.wrong.push((stack, samples));
        }
    }
    assert!(!first_run, "no stack of the process");
    seen.wrong.sort_by(|a, b| b.1.total_cmp(&a.1));
    seen.wrong.truncate(5);
    seen
}

#[test]
#[cfg(target_arch = "x86_64")]
fn stacks_of_python_reach_the_module_or_the_thread_with_functions_in_order() {
    let interpreters = interpreters();
    if interpreters.is_empty() {
        eprintln!("SKIPPED stacks of Python: no python3 of version 3.9 to 3.14 is installed");
    }
    for (python, minor) in interpreters {
        let see = || Some(look(&mut Observed::begin(&FAST)?, &python, minor));
        let is_right = |seen: &Seen| {
            let parts = [seen.threaded, seen.forked, seen.through_c, seen.generated];
            let are_parts = parts.iter().all(|part| (0.2..0.6).contains(&(part / seen.all)));
            seen.all > 300.0 && seen.right >= 0.95 * seen.all && are_parts
        };
        let what = python.display().to_string();
        let Some(Seen { all, right, .. }) = once_right(&what, see, is_right) else { return };
        eprintln!("{what}: {right} of {all} stacks are right");
    }
}

/// A program that only looks like Python leads the BPF programs nowhere.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_with_the_names_of_python_keeps_its_native_stacks() {
    let Some(program) = compiled("no_python", &["-O1", "-rdynamic"]) else { return };
    let see = || {
        let mut observed = Observed::begin(&FAST)?;
        assert!(Command::new(&program).arg("0.5").status().unwrap().success());
        let mut child = Command::new(&program).arg("1.2").spawn().unwrap();
        let pid = child.id();
        assert!(child.wait().unwrap().success());
        let rows = observed.read().of(&c::TABLE)?;
        let (mut all, mut native, mut unnamed, mut wrong) = (0.0, 0.0, 0.0, Vec::new());
        for row in (0..rows.n_rows()).filter(|row| rows.i64(*row, c::pid) == Some(i64::from(pid))) {
            let (stack, samples) = (rows.str(row, c::stack).unwrap(), rows.f64(row, c::samples).unwrap());
            let is_native = stack.contains("_start;") && stack.contains(";main;burn");
            all += samples;
            native += if is_native { samples } else { 0.0 };
            // Round in a circle as often as there is room.
            unnamed += if stack.matches("[Python function];").count() >= 128 { samples } else { 0.0 };
            wrong.extend((!is_native).then(|| (stack.to_owned(), samples)));
        }
        Some((all, native, unnamed, wrong))
    };
    once_right("stacks of what only looks like Python", see, |(all, native, unnamed, _)| {
        *all > 200.0 && *native >= 0.95 * all && (0.2..0.45).contains(&(unnamed / all))
    });
}
