//! Views, scopes, the gate, errors, interrupts, bounds.

use std::time::Duration;

use arrow_schema::DataType;
use fenxi_model::catalog::{cpu, disk};
use fenxi_query::{Engine, Options, QueryError, Scope, Value};

use crate::store::{START, TestStore, at, cells, fill_everything};

fn two_runs() -> (TestStore, [fenxi_model::RunId; 2]) {
    let mut s = TestStore::new();
    let a = s.run("before", 2.0, |rows| {
        for i in 1..=2 {
            rows.row(&cpu::TABLE, at(f64::from(i)), 1.0).f64(cpu::usr, 10.0).f64(cpu::idle, 90.0);
        }
    });
    let b = s.run("after", 2.0, |rows| {
        rows.row(&cpu::TABLE, at(1.0), 1.0).f64(cpu::usr, 30.0).f64(cpu::sys, 5.0);
    });
    (s, [a, b])
}

fn text(s: &TestStore, sql: &str) -> Vec<Vec<String>> {
    cells(&s.engine().query(sql, &Scope::all()).unwrap())
}

fn error(s: &TestStore, sql: &str) -> String {
    s.engine().query(sql, &Scope::all()).unwrap_err().to_string()
}

#[test]
fn runs_with_different_columns_are_one_table_and_what_is_missing_is_null() {
    let (s, _) = two_runs();
    let got = text(&s, "SELECT name, usr, sys, idle, steal FROM cpu JOIN runs USING (run) ORDER BY usr, t");
    assert_eq!(
        got,
        [["before", "10", "-", "90", "-"], ["before", "10", "-", "90", "-"], ["after", "30", "5", "-", "-"],]
    );
}

#[test]
fn a_scope_of_runs_hides_all_others() {
    let (s, [a, b]) = two_runs();
    let e = s.engine();
    for (scope, want) in
        [(Scope::of([a.clone()]), "2"), (Scope::of([b]), "1"), (Scope::all(), "3"), (Scope::of([]), "0")]
    {
        let got = cells(&e.query("SELECT count(*) AS n FROM cpu", &scope).unwrap());
        assert_eq!(got, [[want]], "{scope:?}");
    }
    let got = cells(&e.query("SELECT name FROM runs", &Scope::of([a])).unwrap());
    assert_eq!(got, [["before"]]);
}

#[test]
fn the_runs_table_has_times_tags_and_the_command() {
    let (s, [a, _]) = two_runs();
    let sql = "SELECT name, runs.host AS machine, duration_s, command, exit_status, recovered, tags['build'] AS build,
               params['threads'] AS threads, epoch_us(start) AS start_us, runs.\"end\" - start = INTERVAL 2 SECONDS AS ok FROM runs";
    let got = cells(&s.engine().query(sql, &Scope::of([a])).unwrap());
    let start = START.0.to_string();
    assert_eq!(got, [["before", "h1", "2", "sleep 10", "0", "false", "before", "8", &start, "true"]]);
}

#[test]
fn a_table_without_rows_is_empty_and_typed() {
    let s = TestStore::new();
    let answer = s.engine().query("SELECT run, t, device, util FROM disk", &Scope::all()).unwrap();
    assert_eq!(answer.n_rows(), 0);
    let types: Vec<&DataType> = answer.columns.iter().map(|c| &c.ty).collect();
    assert!(
        matches!(types[..], [DataType::Utf8, DataType::Timestamp(..), DataType::Utf8, DataType::Float64]),
        "{types:?}"
    );
    assert_eq!(answer.columns[3].unit, fenxi_model::Unit::Percent);
}

#[test]
fn a_store_in_a_folder_with_an_odd_name_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it's a=b [x] *");
    let store = fenxi_store::Store::open_or_create(&path).unwrap();
    let mut s = TestStore { store, ..TestStore::new() };
    s.run("x", 1.0, |rows| {
        rows.row(&cpu::TABLE, at(1.0), 1.0).f64(cpu::usr, 1.0);
    });
    assert_eq!(text(&s, "SELECT usr FROM cpu"), [["1"]]);
}

#[test]
fn statements_that_do_more_than_read_are_refused_and_change_nothing() {
    let (s, _) = two_runs();
    let inside = s.store.path().join("evil");
    let inside = inside.display();
    let outside = s.folder.path().join("evil");
    let outside = outside.display();
    let refused = [
        format!("COPY (SELECT 1) TO '{inside}.csv'"),
        format!("EXPLAIN ANALYZE COPY (SELECT 1) TO '{inside}.csv'"),
        format!("explain /* x */ analyze copy (select 1) to '{inside}.csv'"),
        format!("EXPLAIN (ANALYZE) COPY (SELECT 1) TO '{inside}.csv'"),
        format!("SELECT 1; COPY (SELECT 1) TO '{inside}.csv'"),
        format!("COPY (SELECT 1) TO '{inside}.csv'; SELECT 1"),
        format!("ATTACH '{inside}.db'"),
        format!("EXPORT DATABASE '{inside}'"),
        "CREATE TABLE x AS SELECT 1".to_owned(),
        "CREATE TABLE x (i INT); SELECT 1".to_owned(),
        "DROP VIEW cpu".to_owned(),
        "INSERT INTO fenxi_runs (run) VALUES ('x')".to_owned(),
        "DELETE FROM fenxi_runs".to_owned(),
        "SET memory_limit = '1TB'".to_owned(),
        "RESET lock_configuration".to_owned(),
        "PRAGMA enable_profiling".to_owned(),
        "INSTALL httpfs".to_owned(),
        "LOAD httpfs".to_owned(),
        "CHECKPOINT".to_owned(),
        "BEGIN".to_owned(),
        format!("SELECT * FROM read_csv('{outside}.csv')"),
        "SELECT * FROM read_csv('/etc/passwd')".to_owned(),
        "SELECT * FROM '/etc/passwd'".to_owned(),
        "SELECT * FROM read_text('/proc/self/environ')".to_owned(),
        "SELECT * FROM glob('/etc/*')".to_owned(),
    ];
    let e = s.engine();
    e.query("SELECT count(*) FROM runs", &Scope::all()).unwrap();
    let evil = |p: &std::path::Path| {
        fs_err::read_dir(p).unwrap().any(|e| e.unwrap().file_name().to_string_lossy().contains("evil"))
    };
    for sql in refused {
        let got = e.query(&sql, &Scope::all());
        assert!(got.is_err(), "{sql} gave {:?}", got.map(|a| cells(&a)));
        assert!(!evil(s.store.path()) && !evil(s.folder.path()), "{sql} wrote");
    }
    let count = cells(&e.query("SELECT count(*) AS n FROM runs", &Scope::all()).unwrap());
    assert_eq!(count, [["2"]]);
}

#[test]
fn reading_statements_of_every_kind_are_answered() {
    let (s, _) = two_runs();
    for sql in [
        "FROM cpu",
        "WITH x AS (SELECT 1) SELECT * FROM x;",
        "DESCRIBE cpu",
        "SUMMARIZE cpu",
        "SHOW TABLES",
        "EXPLAIN SELECT * FROM cpu",
        "EXPLAIN ANALYZE SELECT count(*) FROM cpu",
        "PIVOT (SELECT name, usr FROM cpu JOIN runs USING (run)) ON name USING avg(usr)",
        "VALUES (1), (2)",
        "-- a comment\nSELECT 1 -- and one more",
        "SELECT table_name FROM information_schema.tables",
    ] {
        let answer = s.engine().query(sql, &Scope::all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
        assert!(answer.n_rows() > 0, "{sql}");
    }
    assert!(matches!(s.engine().query(" -- nothing", &Scope::all()), Err(QueryError::Empty)));
    assert!(text(&s, "SHOW TABLES").iter().any(|r| r[0] == "disk"));
}

#[test]
fn wrong_sql_is_shown_with_its_place_and_near_names() {
    let (s, _) = two_runs();
    let e = error(&s, "SELECT usrr FROM cpu");
    assert!(e.starts_with("there is no column `usrr`\n  line 1 | SELECT usrr FROM cpu\n                  ^"), "{e}");
    assert!(e.contains("`usr`"), "{e}");
    let e = error(&s, "SELECT *\nFROM dsk");
    assert!(e.starts_with("there is no table `dsk`\n  line 2 | FROM dsk\n                ^"), "{e}");
    assert!(e.ends_with("hint: did you mean `disk`?"), "{e}");
    let e = error(&s, "SELECT a FORM cpu WHERE");
    assert!(e.contains("syntax error") && e.contains('^'), "{e}");
    let e = error(&s, "SELECT 1; SELECT 2");
    assert!(e.contains("several statements"), "{e}");
    let e = s.engine().ask("hotest-cpu", &[], &Scope::all()).unwrap_err().to_string();
    assert_eq!(e, "there is no question `hotest-cpu`; did you mean `hottest-cpu`, `hosts-cpu`?");
}

#[test]
fn a_query_can_be_interrupted() {
    let s = TestStore::new();
    let e = s.engine();
    let handle = e.interrupt();
    let stopper = std::thread::spawn(move || {
        for _ in 0..50 {
            std::thread::sleep(Duration::from_millis(20));
            handle.interrupt();
        }
    });
    let got = e.query("SELECT sum(a.i * b.i) FROM range(1000000) a(i), range(1000000) b(i)", &Scope::all());
    assert!(matches!(got, Err(QueryError::Interrupted)), "{got:?}");
    stopper.join().unwrap();
}

#[test]
fn memory_is_bounded_and_a_large_sort_spills() {
    let s = TestStore::new();
    let temp_dir = s.folder.path().join("spill");
    let options = Options {
        memory_limit: Some("64MB".to_owned()),
        threads: Some(2),
        temp_dir: Some(temp_dir),
        ..Options::default()
    };
    let e = Engine::open(&s.store, &options).unwrap();
    let sql = "SELECT hash(i) AS h, repeat('x', 40) || i AS text FROM range(3000000) r(i) ORDER BY h";
    let mut rows = 0;
    e.each(sql, &[], &Scope::all(), &mut |_, batch| {
        rows += batch.num_rows();
        Ok(())
    })
    .unwrap();
    assert_eq!(rows, 3_000_000);
    let got = e.query("SELECT length(list(repeat('x', 1000) || i)::VARCHAR) FROM range(1000000) r(i)", &Scope::all());
    assert!(matches!(got, Err(QueryError::Memory(_))), "{got:?}");
}

#[test]
fn values_are_bound_not_pasted() {
    let (s, _) = two_runs();
    let evil = Value::Text("' OR 1=1 --".to_owned());
    let sql = "SELECT count(*) AS n FROM cpu WHERE host = $host AND usr > $usr";
    let got = s.engine().query_with(sql, &[("host", evil), ("usr", Value::Int(1))], &Scope::all()).unwrap();
    assert_eq!(cells(&got), [["0"]]);
}

#[test]
fn every_table_of_a_full_store_can_be_read_whole() {
    let mut s = TestStore::new();
    s.run("full", 2.0, fill_everything);
    let e = s.engine();
    for table in fenxi_model::TABLES {
        let answer = e.query(&format!("SELECT * FROM {}", table.name), &Scope::all()).unwrap();
        assert_eq!(answer.n_rows(), 4, "{}", table.name);
        assert_eq!(answer.columns.len(), table.columns.len() + 1, "{}", table.name);
    }
    assert!(e.query("SELECT * FROM stats", &Scope::all()).unwrap().n_rows() > 10);
    let _ = disk::TABLE.name;
}
