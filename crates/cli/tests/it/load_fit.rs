//! `fenxi load fit`: a load on a real PostgreSQL, its fit, and how near they are.

use serde_json::Value;

use crate::{
    server::{Server, skipped},
    support::{Fenxi, text},
};

#[test]
fn a_fitted_workload_has_the_statements_rows_round_trips_and_rate_of_the_load() {
    let preload = ["-c", "shared_preload_libraries=pg_stat_statements"];
    let Some(server) = Server::postgres_with(&preload) else {
        return skipped("load fit", "PostgreSQL is not installed");
    };
    if server.client("postgres").run("CREATE EXTENSION pg_stat_statements").is_err() {
        return skipped("load fit", "pg_stat_statements is not installed");
    }
    let (fenxi, url) = (Fenxi::new(), server.url("postgres"));
    let load = |workload: &str, rate: &str, name: &str, more: &[&str]| {
        fenxi.ok(&[&["load", "prepare", &url, "-w", workload], more].concat());
        let run =
            ["load", "run", &url, "-w", workload, "-c", "4", "--rate", rate, "--for", "8s", "--record", "--name", name];
        fenxi.ok(&[&run[..], more].concat());
    };
    load("oltp_read_write", "25", "original", &["--set", "table_size=2000", "--set", "range_size=30"]);
    let file = fenxi.path().join("mine.toml");
    let file = file.to_str().unwrap();
    let fitted = fenxi.run(&["load", "fit", "original", "-o", file]);
    let said = text(&fitted.stderr);
    assert!(fitted.status.success() && said.contains("inserts and deletes: as many rows are updated"), "{said}");
    // The connections and the rate that it names are those of the load.
    let rate = said.split("--rate ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    assert!(said.contains(" -c 4 ") && (rate.parse::<f64>().unwrap() / 25.0 - 1.0).abs() < 0.1, "{said}");
    load(file, rate, "fitted", &[]);
    let compared = fenxi.ok(&["load", "fit", "original", "fitted", "--json"]);
    let knobs: Vec<Value> = compared.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(knobs.len(), 9, "{compared}");
    // The CPU time of few transactions beside other tests is not judged.
    assert!(knobs[8]["fit"].as_f64().is_some_and(|us| us > 100.0), "{compared}");
    for knob in &knobs[..8] {
        assert!(knob["off_pct"].as_f64().is_some_and(|off| off.abs() < 10.0), "{compared}");
    }
    // 10 points, 4 ranges, of which a sum has one row: 14 reads with 101 rows.
    let of = |name: &str| knobs.iter().find(|knob| knob["knob"] == name).unwrap()["load"].as_f64().unwrap();
    assert!((of("reads") / 14.0 - 1.0).abs() < 0.05 && (of("rows read") / 101.0 - 1.0).abs() < 0.05, "{compared}");
}

#[test]
fn a_fitted_workload_of_mariadb_needs_statements_that_it_counts() {
    let Some(server) = Server::mariadb_with(&["--performance-schema=ON"]) else {
        return skipped("load fit", "MariaDB is not installed");
    };
    let (fenxi, url) = (Fenxi::new(), server.url("mysql"));
    let load = |protocol: &str| {
        let run = [
            "load",
            "run",
            &url,
            "-w",
            "oltp_read_only",
            "-c",
            "2",
            "--rate",
            "20",
            "--for",
            "3s",
            "--record",
            "--name",
        ];
        fenxi.ok(&[&run[..], &[protocol, "--protocol", protocol]].concat());
    };
    fenxi.ok(&["load", "prepare", &url, "-w", "oltp_read_only"]);
    load("prepared");
    assert!(fenxi.fails(1, &["load", "fit", "prepared"]).contains("--protocol simple"));
    load("simple");
    let fitted = fenxi.ok(&["load", "fit", "simple"]);
    assert!(fitted.contains("repeat = \"10\"") && fitted.contains("sql = \"BEGIN\""), "{fitted}");
}

#[test]
fn a_run_without_statements_is_not_fitted() {
    let fenxi = Fenxi::new();
    fenxi.ok(&["record", "--for", "0.2s", "--source", "net", "--name", "idle"]);
    assert!(fenxi.fails(1, &["load", "fit", "idle"]).contains("record with --db"));
    assert!(fenxi.fails(1, &["load", "fit", "none"]).contains("none"));
    fenxi.fails(1, &["load", "fit", "postgres://u@127.0.0.1:1/d", "--for", "0.2s"]);
    fenxi.fails(2, &["load", "fit", "idle", "idle", "-o", "x"]);
}
