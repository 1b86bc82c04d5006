//! How commands end when their output has no reader, or it cannot be written.

use std::{
    io::Read,
    process::{Output, Stdio},
};

use fs_err as fs;

use crate::support::{Fenxi, ended_by_pipe, text};

/// A store with a run.
fn recorded() -> Fenxi {
    let fenxi = Fenxi::new();
    fenxi.ok(&["record", "--for", "0.3s", "--interval", "100ms", "--source", "cpu"]);
    fenxi
}

/// Runs with a standard output whose reader has gone.
fn unread(fenxi: &Fenxi, args: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    fenxi.command(args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn a_command_whose_reader_has_gone_ends_by_the_signal_and_without_a_word() {
    let fenxi = recorded();
    let everything = "SELECT range, 'x' AS y FROM range(3000000)";
    for args in [
        vec!["runs"],
        vec!["show", "@1"],
        vec!["tables"],
        vec!["formats", "--json"],
        vec!["sql", everything],
        vec!["sql", "-o", "csv", everything],
        vec!["ask"],
        vec!["--help"],
        vec!["mpstat", "--run", "@1"],
        vec!["completions", "bash"],
        vec!["export", "@1", "-o", "-"],
    ] {
        ended_by_pipe(&unread(&fenxi, &args));
    }
}

#[test]
fn head_gets_its_lines_and_a_shell_the_usual_code() {
    let fenxi = recorded();
    let program = env!("CARGO_BIN_EXE_fenxi");
    let script = format!(
        "{program} sql -o csv 'SELECT range FROM range(3000000)' | head -n 3; echo ${{PIPESTATUS[0]}} ${{PIPESTATUS[1]}}"
    );
    let mut command = fenxi.command(&[]);
    let mut bash = std::process::Command::new("bash");
    for (key, value) in command.stdin(Stdio::null()).get_envs() {
        bash.env(key, value.unwrap());
    }
    let output = bash.args(["-c", &script]).output().unwrap();
    assert_eq!(text(&output.stdout), "range\n0\n1\n141 0\n", "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn output_that_cannot_be_written_is_an_error_of_every_command() {
    let fenxi = recorded();
    for args in [
        vec!["runs"],
        vec!["runs", "--json"],
        vec!["show", "@1"],
        vec!["tables"],
        vec!["formats"],
        vec!["sql", "SELECT 1"],
        vec!["sql", "-o", "csv", "SELECT range FROM range(100000)"],
        vec!["sql", "-o", "parquet", "SELECT 1"],
        vec!["ask"],
        vec!["findings"],
        vec!["verify", "--json"],
        vec!["report", "-o", "-"],
        vec!["export", "@1", "-o", "-"],
        vec!["man", "runs"],
        vec!["completions", "fish"],
        vec!["--help"],
        vec!["--version"],
        vec!["mpstat", "--run", "@1"],
        vec!["pstime", "0.1", "1"],
        vec!["fence"],
        vec!["load", "workloads"],
        vec!["trace", "check"],
        vec!["window", "@1"],
        vec!["trend", "cpu.usr"],
        vec!["tamp", "-c", "/proc/self/status"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = fenxi.command(&args).stdout(full.into_file()).stderr(Stdio::piped()).output().unwrap();
        let said = text(&output.stderr);
        if args[0] == "verify" && output.status.success() {
            // Nothing was found, and nothing was to be written.
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("No space left on device"), "{args:?}: {said}");
        assert_eq!(said.matches("No space left").count(), 1, "{args:?}: {said}");
    }
}

#[test]
fn a_reader_that_leaves_tamp_ends_it_as_it_ends_others() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, (0..20_000_000_u32).map(|i| ((i / 7) ^ (i >> 11)) as u8).collect::<Vec<_>>()).unwrap();
    let path = path.to_str().unwrap();
    let mut child = fenxi.spawn(&["tamp", "--gzip", "-c", path]);
    child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
    ended_by_pipe(&child.wait_with_output().unwrap());
}
