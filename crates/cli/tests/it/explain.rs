//! Where the time of transactions went, of made-up runs with an injected lock, through the command.

use fenxi_model::{
    Micros, Rows,
    catalog::{db, db_wait, load, process},
};
use fenxi_store::{Begin, End, Store};

use crate::{
    compare::lines,
    support::{Fenxi, text},
};

/// 2026-11-21 14:00:00 UTC.
const START: i64 = 1_795_269_600_000_000;

/// Makes a run of 20 s of 500 transactions a second, whose sessions wait for locks `lock` s/s.
fn add(fenxi: &Fenxi, name: &str, group: &str, n: i64, lock: f64, polled: bool) {
    let store = Store::open_or_create(fenxi.path()).unwrap();
    let start = Micros(START + n * 3_600_000_000);
    let begin = Begin {
        name: Some(name.to_owned()),
        interval_s: Some(1.0),
        random: n as u64 * 7919,
        tags: [("g".to_owned(), group.to_owned())].into(),
        ..Begin::new("record", "h1", start)
    };
    let mut rows = Rows::new("h1");
    for second in 1..=20 {
        let t = Micros(start.0 + second * 1_000_000);
        let mut row = rows.row(&load::TABLE, t, 1.0);
        row.str(load::generator, "fenxi").f64(load::transactions_per_s, 500.0);
        row.f64(load::latency_mean_ms, 4.0 + 2.0 * lock);
        for (pid, comm, command, cpu) in [
            (10, "postgres", "postgres: app shop [local] UPDATE", 100.0),
            (11, "postgres", "postgres: checkpointer ", 90.0),
            (12, "gzip", "gzip -9 of somebody else", 300.0),
        ] {
            let mut row = rows.row(&process::TABLE, t, 1.0);
            row.i64(process::pid, pid).i64(process::ppid, 1).str(process::comm, comm).str(process::command, command);
            row.f64(process::cpu, cpu).f64(process::run_queue_wait, cpu / 2.0);
        }
        if polled {
            rows.row(&db::TABLE, t, 1.0).str(db::server, "s").f64(db::samples, 10.0).f64(db::commits_per_s, 500.0);
            let mut row = rows.row(&db_wait::TABLE, t, 1.0);
            row.str(db_wait::server, "s").str(db_wait::kind, "client").str(db_wait::measured, "sampled");
            row.str(db_wait::activity, "lock").f64(db_wait::time, lock);
        }
    }
    let mut open = store.begin(begin).unwrap();
    open.append(&mut rows).unwrap();
    open.seal(End::at(Micros(start.0 + 20_000_000))).unwrap();
}

#[test]
fn the_latency_of_a_transaction_is_split_and_the_planted_lock_is_the_largest_change() {
    let fenxi = Fenxi::new();
    for i in 0..4 {
        let off = 0.01 * i as f64;
        add(&fenxi, &format!("a{i}"), "a", i, 0.1 + off, true);
        add(&fenxi, &format!("b{i}"), "b", 10 + i, 3.0 + off, true);
    }
    let found = lines(&fenxi.ok(&["explain", "g=b", "--json"]));
    let part = |name: &str| found.iter().find(|l| l["part"] == name).unwrap_or_else(|| panic!("{found:#?}"));
    let mean = |name: &str| part(name)["mean"].as_f64().unwrap();
    // One session's CPU of 500 a second: 2 ms; half as long in the run queue; 3.015 sessions that wait for locks.
    for (name, ms, how) in [("on CPU", 2.0, "os"), ("run queue", 1.0, "os"), ("lock", 6.03, "sampled")] {
        assert!((mean(name) - ms).abs() < 1e-9 && part(name)["measured"] == how, "{name}: {}", part(name));
    }
    assert!((mean("other (residual)") - 1.0).abs() < 1e-9 && (mean("latency") - 10.03).abs() < 1e-9, "{found:#?}");
    let [low, high] = [0, 1].map(|i| part("lock")["interval"][i].as_f64().unwrap());
    assert!(low < 6.03 && 6.03 < high && high - low < 0.2, "{low} {high}");
    assert!(found.iter().any(|l| l["kind"] == "note"), "{found:#?}");

    let page = fenxi.ok(&["explain", "g=b"]);
    assert!(page.starts_with("Database sessions wait for locks: 60% of the latency of a transaction.\n"), "{page}");
    assert!(page.contains("\nWhere the latency of a transaction went: "), "{page}");
    let line = page.lines().find(|l| l.starts_with("lock ")).unwrap_or_else(|| panic!("{page}"));
    assert!(line.contains("6.03 ms") && line.contains("60 %") && line.ends_with("sampled"), "{page}");
    assert!(fenxi.ok(&["explain", "b0", "b1", "--markdown"]).contains("\n| lock | 6.0"), "{page}");

    let page = fenxi.ok(&["compare", "g=a", "g=b"]);
    let line = page.lines().find(|l| l.starts_with("lock ")).unwrap_or_else(|| panic!("{page}"));
    assert!(line.contains("+5.80 ms") && line.contains("100 %"), "{page}");
    let split =
        lines(&fenxi.ok(&["compare", "g=a", "g=b", "--json"])).into_iter().find(|l| l["kind"] == "split").unwrap();
    let changes = split["parts"].as_array().unwrap().iter().map(|p| p["change"]["value"].as_f64().unwrap());
    assert!((changes.sum::<f64>() - split["whole"]["change"]["value"].as_f64().unwrap()).abs() < 1e-9);
}

#[test]
fn what_would_explain_more_is_said_and_who_has_nothing_to_explain_is_told() {
    let fenxi = Fenxi::new();
    add(&fenxi, "r", "a", 0, 1.0, false);
    let page = fenxi.ok(&["explain", "r"]);
    assert!(page.contains("record with `--db URL`, or on the server's host with `--source +querystat`"), "{page}");
    let residual = page.lines().find(|l| l.starts_with("other (residual)")).unwrap();
    assert!(residual.contains("3.00 ms") && residual.contains("50 %"), "{page}");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.csv");
    fs_err::write(&file, "time,x\n2026-11-21 10:00:00,1\n2026-11-21 10:00:01,2\n").unwrap();
    fenxi.ok(&["import", "-q", "--name", "x", file.to_str().unwrap()]);
    let output = fenxi.run(&["explain", "x"]);
    assert!(
        text(&output.stdout).starts_with("Nothing here shows a bottleneck. It shows: x 1.5"),
        "{}",
        text(&output.stdout)
    );
    let answer = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(answer.contains("neither the latency of transactions nor the elapsed time of a command"), "{answer}");
    assert!(fenxi.fails(1, &["explain", "nobody"]).contains("nobody"));
}
