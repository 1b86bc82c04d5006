//! Completions: what shells are given, and what bash makes of it.

use std::process::{Command, Stdio};

use crate::{
    compare,
    support::{Fenxi, skipped, text},
};

fn store() -> Fenxi {
    let fenxi = Fenxi::new();
    compare::import(&fenxi, "before", "old", 10, 1000.0, |_| 40, 10);
    compare::import(&fenxi, "after:2", "new", 10, 900.0, |_| 60, 10);
    fenxi
}

fn found(fenxi: &Fenxi, words: &[&str]) -> Vec<String> {
    let all = [&["complete", "--"], words].concat();
    let mut names: Vec<String> =
        fenxi.ok(&all).lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect();
    // Runs of the same start stand in the order of their random ids.
    names.sort();
    names
}

#[test]
fn names_of_the_store_and_of_the_program_are_completed() {
    let fenxi = store();
    assert_eq!(found(&fenxi, &["show", ""]), ["@1", "@2", "after:2", "before", "g=new", "g=old"]);
    assert_eq!(found(&fenxi, &["explain", "bef"]), ["before"]);
    assert_eq!(found(&fenxi, &["compare", "before,af"]), ["before,after:2"]);
    assert_eq!(found(&fenxi, &["compare", "before", "g="]), ["g=new", "g=old"]);
    assert_eq!(found(&fenxi, &["sql", "-r", "be"]), ["before"]);
    assert_eq!(found(&fenxi, &["ask", "hottest"]), ["hottest-cpu"]);
    assert_eq!(found(&fenxi, &["ask", "hottest-cpu", "be"]), ["before"]);
    assert_eq!(found(&fenxi, &["trend", "cpu.us"]), ["cpu.usr"]);
    assert_eq!(found(&fenxi, &["trend", "x", "--where", "g=n"]), ["g=new"]);
    assert_eq!(found(&fenxi, &["label", "tag", "be"]), ["before"]);
    assert_eq!(found(&fenxi, &["load", "run", "-w", "tpcb"]), ["tpcb_like"]);
    // A word that is no known name is a file for the shell.
    assert_eq!(found(&fenxi, &["import", "be"]), Vec::<String>::new());
    assert_eq!(found(&fenxi, &["record", "--", "ls", "be"]), Vec::<String>::new());
    // Another store has other runs; one that is not there has none.
    assert_eq!(found(&fenxi, &["--store", "/nowhere", "show", "be"]), Vec::<String>::new());
}

#[test]
fn scripts_ask_the_program() {
    let fenxi = store();
    for shell in ["bash", "zsh", "fish"] {
        assert!(fenxi.ok(&["completions", shell]).contains("fenxi complete"), "{shell}");
    }
    assert!(fenxi.ok(&["completions", "elvish"]).contains("compare"));
    fenxi.fails(2, &["completions", "tcl"]);
}

/// Completions that bash offers at the end of a line.
fn in_bash(fenxi: &Fenxi, line: &str, words: &str) -> Option<String> {
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_fenxi")).parent().unwrap();
    let script = format!(
        "source <(fenxi completions bash); COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({words}); \
         COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _fenxi; echo \"${{COMPREPLY[*]}}\""
    );
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-c", &script]).env("PATH", path).env("FENXI_STORE", fenxi.path()).stdin(Stdio::null());
    let output = command.output().ok()?;
    assert_eq!(text(&output.stderr), "");
    let stdout = text(&output.stdout);
    let mut found: Vec<&str> = stdout.split_whitespace().collect();
    found.sort_unstable();
    Some(found.join(" "))
}

#[test]
fn bash_completes_words_that_it_takes_apart() {
    let fenxi = store();
    let Some(found) = in_bash(&fenxi, "fenxi show b", "fenxi show b") else {
        return skipped("bash completes", "there is no bash");
    };
    assert_eq!(found, "before");
    let bash = |line: &str, words: &str| in_bash(&fenxi, line, words).unwrap();
    assert_eq!(bash("fenxi show ", "fenxi show \"\""), "@1 @2 after:2 before g=new g=old");
    assert_eq!(bash("fenxi show g=n", "fenxi show g = n"), "new");
    assert_eq!(bash("fenxi show g=", "fenxi show g ="), "new old");
    assert_eq!(bash("fenxi show after:", "fenxi show after :"), "2");
    assert_eq!(bash("fenxi explain --format=mark", "fenxi explain --format = mark"), "markdown");
}
