//! `fenxi runs`, `show`, `tag`, `rm`, `verify`.

use std::path::Path;

use crate::support::{Fenxi, ended_by_pipe, text, walk};

fn with_runs(names: &[&str]) -> Fenxi {
    let fenxi = Fenxi::new();
    for name in names {
        fenxi.ok(&["record", "--name", name, "--interval", "20ms", "--for", "60ms", "--source", "cpu"]);
    }
    fenxi
}

#[test]
fn runs_are_listed_selected_tagged_and_removed() {
    let fenxi = with_runs(&["alpha", "beta"]);
    let listed = fenxi.ok(&["runs"]);
    assert!(listed.find("beta").unwrap() < listed.find("alpha").unwrap(), "{listed}");
    fenxi.ok(&["tag", "alpha", "good=yes", "--remark", "first one"]);
    assert!(fenxi.ok(&["runs", "good=yes"]).contains("alpha"));
    assert!(fenxi.ok(&["show", "@2"]).contains("first one"));
    fenxi.ok(&["tag", "alpha", "good="]);
    fenxi.fails(1, &["runs", "good=yes"]);
    fenxi.ok(&["rm", "alpha"]);
    let left = fenxi.ok(&["runs", "--json"]);
    assert_eq!(left.lines().count(), 1);
}

#[test]
fn a_store_may_be_named_from_the_folder_one_is_in() {
    let fenxi = with_runs(&["alpha"]);
    for asked in [
        ["sql", "SELECT count(*) > 0 AS any FROM cpu"],
        ["ask", "cpu-summary"],
        ["show", "alpha"],
        ["findings", "alpha"],
    ] {
        let mut command = fenxi.command(&asked);
        let output = command.args(["--store", "./store"]).current_dir(fenxi.path().parent().unwrap()).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 3)), "{asked:?}: {}", text(&output.stderr));
    }
}

#[test]
fn of_several_runs_of_a_name_the_latest_is_shown_and_that_is_said() {
    let fenxi = with_runs(&["alpha", "beta", "alpha"]);
    let output = fenxi.run(&["show", "alpha", "--json", "--no-answer"]);
    let ids = fenxi.ok(&["runs", "alpha", "--json"]);
    let latest: serde_json::Value = serde_json::from_str(ids.lines().next().unwrap()).unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["manifest"]["id"], latest["run"]);
    assert!(text(&output.stderr).contains("the latest of 2 runs that `alpha` names"), "{}", text(&output.stderr));
    // One that is alone is not commented on.
    assert_eq!(text(&fenxi.run(&["show", "beta", "--no-answer"]).stderr), "");
}

#[test]
fn a_damaged_run_does_not_blind_the_others() {
    let fenxi = with_runs(&["alpha", "beta"]);
    let damaged = walk(&fenxi.path()).into_iter().find(|path| path.ends_with("cpu.parquet")).unwrap();
    let mut bytes = fs_err::read(&damaged).unwrap();
    bytes[100] ^= 1;
    fs_err::write(&damaged, bytes).unwrap();
    let output = fenxi.run(&["sql", "-o", "csv", "SELECT count(DISTINCT run) AS n FROM cpu"]);
    // A program does not take it for the whole answer.
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), "n\n1\n"));
    let said = text(&output.stderr);
    assert!(said.contains("warning: a run is left out") && said.contains("fenxi store verify"), "{said}");
    // Findings and explanations are of the others, too.
    let fails = |args: &[&str]| {
        let output = fenxi.run(args);
        let (out, errors) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{args:?}: {out}{errors}");
        assert_eq!(errors.matches("warning: a run is left out").count(), 1, "{args:?}: {errors}");
        assert!(!out.is_empty() && !errors.contains("error:"), "{args:?}: {out}{errors}");
    };
    fails(&["findings", "alpha", "beta"]);
    fails(&["explain", "alpha", "beta"]);
    fails(&["explain", "-f", "json", "alpha", "beta"]);
    // Where it is all that was asked for there is no answer.
    let run = damaged.parent().unwrap().file_name().unwrap().to_str().unwrap().trim_start_matches("run=").to_owned();
    let alone = fenxi.run(&["sql", "-o", "csv", "-r", &run, "SELECT count(*) AS n FROM cpu"]);
    assert_eq!((alone.status.code(), text(&alone.stdout).as_str()), (Some(1), ""));
}

#[test]
fn unknown_and_ambiguous_selectors_say_what_there_is() {
    let fenxi = with_runs(&["alpha", "beta"]);
    let unknown = fenxi.fails(1, &["show", "alhpa"]);
    assert!(unknown.contains("alpha"), "{unknown}");
    let ambiguous = fenxi.fails(1, &["show", "20"]);
    assert!(ambiguous.contains("alpha") && ambiguous.contains("beta"), "{ambiguous}");
    fenxi.fails(1, &["show", "@9"]);
    fenxi.fails(1, &["show", "@zero"]);
}

#[test]
fn a_flipped_bit_is_found_and_the_file_named() {
    let fenxi = with_runs(&["alpha"]);
    fenxi.ok(&["verify"]);
    let files = walk(&fenxi.path().join("runs"));
    let cpu = files.iter().find(|p| p.ends_with("cpu.parquet")).unwrap();
    let mut bytes = fs_err::read(cpu).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs_err::write(cpu, bytes).unwrap();
    let output = fenxi.run(&["verify"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("cpu.parquet"), "{output:?}");
}

#[test]
fn without_a_store_the_message_says_how_to_get_one() {
    let fenxi = Fenxi::new();
    let message = fenxi.fails(1, &["runs"]);
    assert!(message.contains("fenxi record"), "{message}");
}

#[test]
fn what_needs_no_engine_runs_without_its_library() {
    let fenxi = with_runs(&["alpha"]);
    // A copy in another folder finds neither `fenxi-engine` nor the engine's library.
    let alone = tempfile::TempDir::new().unwrap();
    // Two folders down, as the engine is looked for one folder up as well, where others may have put theirs.
    let folder = alone.path().join("lib/fenxi");
    fs_err::create_dir_all(&folder).unwrap();
    let program = folder.join("fenxi");
    // Copied by another process: a child that another test starts meanwhile would hold our copy open for writing (ETXTBSY).
    let copied = std::process::Command::new("cp").args([Path::new(env!("CARGO_BIN_EXE_fenxi")), &program]).status();
    assert!(copied.unwrap().success());
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command.args(args).env("FENXI_STORE", fenxi.path()).env_remove("LD_LIBRARY_PATH").output().unwrap()
    };
    assert!(text(&run(&["runs"]).stdout).contains("alpha"));
    let refused = run(&["sql", "select 1"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("the SQL engine is not installed here"), "{refused:?}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let fenxi = with_runs(&["alpha"]);
    let mut child = fenxi.spawn(&["sql", "-o", "csv", "select * from range(200000)"]);
    drop(child.stdout.take());
    ended_by_pipe(&child.wait_with_output().unwrap());
}
