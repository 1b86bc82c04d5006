//! `fenxi inspect`, and what recordings keep of programs.

use std::os::unix::fs::PermissionsExt;

use crate::support::Fenxi;

#[test]
fn this_program_is_shown_with_its_compiler_libraries_and_allocator() {
    let fenxi = Fenxi::new();
    let program = env!("CARGO_BIN_EXE_fenxi");
    let shown = fenxi.ok(&["inspect", program]);
    let line = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("kind").contains("64-bit") && line("compiler").contains("rustc version"), "{shown}");
    assert!(line("allocator").contains("libc") && shown.contains("libc.so.6 => /"), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&fenxi.ok(&["inspect", program, "--json"])).unwrap();
    assert_eq!(json["binary"]["class"], 64);
    // Twice the same file: nothing to tell apart.
    assert!(fenxi.ok(&["inspect", program, program, "--differs"]).starts_with("no difference"));
    let own = std::process::id().to_string();
    assert!(fenxi.ok(&["inspect", "-p", &own]).contains("mapped"));
}

#[test]
fn caches_and_memory_are_measured() {
    let fenxi = Fenxi::new();
    let lines = fenxi.ok(&["inspect", "--measure", "--json"]);
    let all: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let latency = |line: &serde_json::Value| line["latency_ns"].as_f64().unwrap();
    let memory = all.last().unwrap();
    assert_eq!(memory["level"], "memory");
    // Whatever else runs: memory is never as near as the first cache.
    assert!(all.len() < 2 || latency(memory) > latency(&all[0]), "{lines}");
    fenxi.fails(2, &["inspect", "--measure", "gzip"]);
}

#[test]
fn what_is_no_program_is_refused_by_name() {
    let fenxi = Fenxi::new();
    let script = tempfile::NamedTempFile::new().unwrap();
    fs_err::write(script.path(), "#!/bin/sh\n").unwrap();
    assert!(fenxi.fails(1, &["inspect", script.path().to_str().unwrap()]).contains("a script"));
    assert!(fenxi.fails(1, &["inspect", "no-such-program-anywhere"]).contains("here or in PATH"));
    assert!(fenxi.fails(1, &["inspect", "-p", "4194305"]).contains("there is no process"));
    assert!(fenxi.fails(1, &["inspect", "--package", "no-such-package-anywhere"]).contains("no package"));
    fenxi.fails(2, &["inspect"]);
}

#[test]
fn a_recording_keeps_its_program_and_a_comparison_says_when_it_is_another() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    let program = |folder: &str, text: &str| {
        let path = dir.path().join(folder).join("work");
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, text).unwrap();
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let [old, new] = [("old", "#!/bin/sh\nsleep 0.1\n"), ("new", "#!/bin/sh\nsleep 0.2\n")].map(|(f, t)| program(f, t));
    for (name, path) in [("a1", &old), ("a2", &old), ("b1", &new), ("b2", &new)] {
        fenxi.ok(&[
            "-q",
            "record",
            "--source",
            "binary,cpu",
            "--name",
            name,
            "-t",
            &format!("group={}", &name[..1]),
            "--",
            path,
        ]);
    }
    let kept =
        fenxi.sql("SELECT name, value FROM text WHERE topic = 'binary' AND name = 'command file' ORDER BY value");
    assert_eq!(kept.len(), 4, "{kept:?}");
    let output = fenxi.run(&["compare", "group=a", "group=b"]);
    let said = crate::support::text(&output.stdout) + &crate::support::text(&output.stderr);
    assert!(said.contains("not the same binaries") && said.contains("work content ("), "{said}");
    let output = fenxi.run(&["compare", "a1", "a2"]);
    let said = crate::support::text(&output.stdout) + &crate::support::text(&output.stderr);
    assert!(!said.contains("not the same binaries"), "{said}");
}
