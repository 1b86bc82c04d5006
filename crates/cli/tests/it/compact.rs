//! `fenxi store compact` through the binary: the same answers, also while it is killed.

use std::{
    collections::BTreeMap,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::support::{Fenxi, signal, text};

/// How often it is killed unless `FENXI_KILLS` is set.
const KILLS: usize = 50;
const RUNS: usize = 12;

/// Questions of every kind of reader: SQL over all runs and over one, statistics, a time series, facts.
const ASKED: &[&[&str]] = &[
    &[
        "sql",
        "-o",
        "csv",
        "SELECT run, count(*), round(sum(usr), 6), min(t), max(t) FROM cpu GROUP BY run ORDER BY run",
    ],
    &["sql", "-o", "csv", "SELECT count(*), count(DISTINCT run) FROM mem"],
    &["sql", "-o", "csv", "-r", "r3", "SELECT count(*), round(avg(idle), 6) FROM cpu"],
    &["sql", "-o", "csv", "SELECT run, count(*), round(sum(mean), 6) FROM stats GROUP BY run ORDER BY run"],
    &["ask", "cpu-summary", "-r", "r2", "-r", "r5", "-o", "csv", "--quiet"],
    &["compare", "r1", "r2", "--force", "--all", "--json"],
    &["show", "r4", "--json"],
];

fn recorded() -> Fenxi {
    let fenxi = Fenxi::new();
    for i in 0..RUNS {
        let name = format!("r{i}");
        fenxi.ok(&[
            "record",
            "--quiet",
            "--name",
            &name,
            "--interval",
            "20ms",
            "--for",
            "100ms",
            "--source",
            "cpu,mem",
        ]);
    }
    fenxi
}

fn answers(fenxi: &Fenxi) -> BTreeMap<String, String> {
    ASKED.iter().map(|args| (args.join(" "), text(&fenxi.run(args).stdout))).collect()
}

fn copy(from: &Path, to: &Path) {
    fs_err::create_dir_all(to).unwrap();
    fs_err::set_permissions(to, fs_err::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs_err::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target)
        } else {
            fs_err::copy(&path, &target).map(drop).unwrap()
        }
        fs_err::set_permissions(&target, fs_err::metadata(&path).unwrap().permissions()).unwrap();
    }
}

#[test]
fn a_store_answers_the_same_compacted_and_given_back() {
    let fenxi = recorded();
    let before = answers(&fenxi);
    assert!(before.values().all(|answer| !answer.is_empty()), "{before:?}");
    assert!(text(&fenxi.run(&["compact", "--older", "1h"]).stderr).contains("nothing to compact"));
    let told: serde_json::Value = serde_json::from_str(&fenxi.ok(&["compact", "--dry-run", "--json"])).unwrap();
    assert!(told["files_before"].as_u64().unwrap() >= 2 * RUNS as u64, "{told}");
    fenxi.ok(&["compact"]);
    assert_eq!(answers(&fenxi), before);
    fenxi.ok(&["verify"]);
    fenxi.ok(&["tag", "r3", "kept=yes", "--name", "renamed"]);
    assert!(fenxi.ok(&["runs", "kept=yes"]).contains("renamed"));
    fenxi.ok(&["tag", "renamed", "kept=", "--name", "r3"]);
    fenxi.ok(&["compact", "--undo", "r3"]);
    assert_eq!(answers(&fenxi), before);
    fenxi.ok(&["compact", "--undo"]);
    assert_eq!(answers(&fenxi), before);
    fenxi.ok(&["verify"]);
}

#[test]
fn whenever_a_compaction_is_killed_the_store_answers_the_same() {
    let base = recorded();
    let kills = std::env::var("FENXI_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    let asked = ASKED[0];
    let wanted = base.ok(asked);
    let whole = {
        let fenxi = Fenxi::new();
        copy(&base.path(), &fenxi.path());
        let begun = Instant::now();
        fenxi.ok(&["compact", "--quiet"]);
        begun.elapsed()
    };
    let (mut seed, mut killed, mut between) = (11u64, 0, 0);
    let mut fenxi = None::<Fenxi>;
    for kill in 0..kills {
        let fenxi = fenxi.get_or_insert_with(|| {
            let fenxi = Fenxi::new();
            copy(&base.path(), &fenxi.path());
            fenxi
        });
        // Forwards and backwards in turn, each from whatever the kill before left.
        let args: &[&str] = if kill % 3 == 2 { &["compact", "--undo", "--quiet"] } else { &["compact", "--quiet"] };
        let mut child = fenxi.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((seed >> 33) % (whole.as_micros() as u64 + 1)));
        signal(&child, Signal::KILL);
        killed += usize::from(!child.wait().unwrap().success());
        let manifest = fenxi.path().join("compacted/manifest.json");
        let own =
            crate::support::walk(&fenxi.path().join("runs")).iter().filter(|p| p.ends_with("cpu.parquet")).count();
        between += usize::from(manifest.exists() && own > 0);
        assert_eq!(fenxi.ok(asked), wanted, "after kill {kill}");
    }
    eprintln!("compact: killed {killed} times of {kills} within {} ms, {between} of them half-way", whole.as_millis());
    let fenxi = fenxi.unwrap();
    fenxi.ok(&["compact", "--quiet"]);
    assert_eq!(fenxi.ok(asked), wanted);
    let verified = fenxi.ok(&["verify", "--json"]);
    assert!(!verified.contains("problem") && !verified.contains("remark"), "{verified}");
}

#[test]
fn a_store_answers_while_it_is_compacted() {
    let fenxi = recorded();
    let wanted = fenxi.ok(ASKED[0]);
    for round in 0..3 {
        let args: &[&str] = if round % 2 == 0 { &["compact"] } else { &["compact", "--undo"] };
        let mut child = fenxi.spawn(args);
        loop {
            assert_eq!(fenxi.ok(ASKED[0]), wanted);
            if child.try_wait().unwrap().is_some() {
                break;
            }
        }
    }
}
