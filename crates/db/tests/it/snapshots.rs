//! Two snapshots of real servers: what they make is what was done between them, and nothing of our own.

use std::{thread::sleep, time::Duration};

use fenxi_db::{
    Server as Observed,
    snapshot::{Period, PeriodError, Snapshot, period, take},
};
use fenxi_model::{
    Micros, Rows,
    catalog::{db, db_statement, db_table},
};
use fenxi_wire::target::{Surroundings, Target};

use crate::{
    observe::{amount, events, places},
    server::{Server, skipped},
};

/// A snapshot as it is read from a file, `at` seconds by our own clock.
pub fn snap(url: &str, at: i64) -> Snapshot {
    let server = Observed::new(&Target::parse(url, &Surroundings::default()).unwrap());
    let taken = take(&server, Micros(at * 1_000_000)).unwrap();
    let text = taken.snapshot.to_text();
    assert!(!text.contains("hunter2"), "{text}");
    Snapshot::from_text(&text).unwrap()
}

pub fn transactions(rows: &Rows, database: Option<&str>) -> f64 {
    let found = rows.of(&db::TABLE).unwrap();
    amount(rows, &db::TABLE, (db::dt, db::commits_per_s), |row| found.str(row, db::database) == database)
}

pub fn calls(rows: &Rows, begin: &str) -> f64 {
    let Some(found) = rows.of(&db_statement::TABLE) else { return 0.0 };
    amount(rows, &db_statement::TABLE, (db_statement::dt, db_statement::calls_per_s), |row| {
        found.str(row, db_statement::statement).is_some_and(|text| text.starts_with(begin))
    })
}

/// A session publishes what it did a second after the last time, at the latest when it ends.
pub fn published() {
    sleep(Duration::from_millis(1200));
}

fn close(value: f64, wanted: f64) -> bool {
    (value - wanted).abs() < 0.01
}

#[test]
fn postgres_did_what_was_done_between_two_snapshots() {
    let more = ["-c", "shared_preload_libraries=pg_stat_statements", "-c", "autovacuum=off"];
    let Some(server) = Server::postgres_with(&more) else { return skipped("PostgreSQL", "it is not installed") };
    let url = server.url("postgres");
    let mut client = server.client("postgres");
    client.run("CREATE EXTENSION pg_stat_statements").unwrap();
    client.run("CREATE DATABASE shop").unwrap();
    client.run("CREATE TABLE a (n int)").unwrap();
    client.run("CREATE ROLE bob PASSWORD 'hunter2'").unwrap();
    client.run("CREATE ROLE reader LOGIN").unwrap();
    drop(client);
    published();
    let first = snap(&url, 100);
    let between = snap(&url, 110);
    let mut client = server.client("shop");
    for _ in 0..50 {
        client.run("SELECT 1 AS one").unwrap();
    }
    drop(client);
    let mut client = server.client("postgres");
    for n in 0..20 {
        client.run(&format!("INSERT INTO a VALUES ({n})")).unwrap();
    }
    drop(client);
    published();
    let second = snap(&url, 120);
    let heads = vec![between.head.clone()];
    let Period { rows, warnings, start, .. } = period(second.clone(), first.clone(), heads).unwrap();
    assert_eq!((warnings, start), (Vec::<String>::new(), Micros(100_000_000)), "their order is found");
    // A login is a transaction.
    assert!(close(transactions(&rows, Some("shop")), 51.0), "{}", transactions(&rows, Some("shop")));
    assert!(close(transactions(&rows, Some("postgres")), 21.0), "{}", transactions(&rows, Some("postgres")));
    assert!(close(calls(&rows, "select ? as one"), 50.0) && close(calls(&rows, "insert into a"), 20.0));
    let tables = rows.of(&db_table::TABLE).unwrap();
    let of_a = |row: usize| tables.str(row, db_table::relation) == Some("public.a");
    assert!(close(amount(&rows, &db_table::TABLE, (db_table::dt, db_table::rows_inserted_per_s), of_a), 20.0));
    assert!(
        places(&rows, &db_statement::TABLE, |row| {
            rows.of(&db_statement::TABLE)
                .unwrap()
                .str(row, db_statement::statement)
                .is_some_and(|s| s.contains("fenxi"))
        })
        .is_empty()
    );

    // Statistics that began anew are reported, also where they have grown beyond what they were.
    let mut client = server.client("shop");
    client.run("SELECT pg_stat_reset()").unwrap();
    for _ in 0..500 {
        client.run("SELECT 2 + 2 AS two").unwrap();
    }
    drop(client);
    published();
    let third = snap(&url, 130);
    let Period { rows, warnings, .. } = period(second.clone(), third, Vec::new()).unwrap();
    assert!(warnings.iter().any(|told| told.contains("/shop: counters began anew")), "{warnings:?}");
    assert!(transactions(&rows, Some("shop")) == 0.0 && close(calls(&rows, "select ? + ? as two"), 500.0));

    a_reader_sees_nothing_of_our_own(&server.url("postgres").replace("postgres@", "reader@"));
    let mut other = second;
    other.head.identity.insert("system_identifier".to_owned(), "1".to_owned());
    let error = period(first, other, Vec::new()).unwrap_err().to_string();
    assert!(error.contains("different servers: system_identifier"), "{error}");
}

/// Who may only read sees the server's figures, too.
fn a_reader_sees_nothing_of_our_own(reader: &str) {
    let a = snap(reader, 140);
    assert!(matches!(period(a.clone(), a.clone(), Vec::new()), Err(PeriodError::SameTime)));
    sleep(Duration::from_secs(1));
    let b = snap(reader, 150);
    let Period { rows, .. } = period(a, b, Vec::new()).unwrap();
    assert!(close(transactions(&rows, Some("postgres")), 0.0), "{}", transactions(&rows, Some("postgres")));
}

#[test]
fn a_restart_between_two_snapshots_is_told_and_leaves_no_figure() {
    let Some(mut server) = Server::postgres() else { return skipped("PostgreSQL", "it is not installed") };
    let url = server.url("postgres");
    let first = snap(&url, 1);
    server.kill();
    server.start_again();
    let second = snap(&url, 9);
    let Period { rows, warnings, .. } = period(first, second, Vec::new()).unwrap();
    assert!(warnings.iter().any(|told| told.starts_with("restart")), "{warnings:?}");
    assert!(events(&rows).iter().any(|kind| kind == "restart"));
    let found = rows.of(&db::TABLE).unwrap();
    assert!((0..found.n_rows()).all(|row| found.f64(row, db::commits_per_s).is_none()));
}

#[test]
fn mariadb_did_what_was_done_between_two_snapshots() {
    let Some(server) = Server::mariadb_with(&["--performance-schema=ON"]) else {
        return skipped("MariaDB", "it is not installed");
    };
    let url = server.url(server.database());
    let mut client = server.client(server.database());
    client.run("CREATE TABLE a (n int)").unwrap();
    client.run("CREATE USER bob IDENTIFIED BY 'hunter2'").unwrap();
    let first = snap(&url, 100);
    for n in 0..30 {
        client.run(&format!("INSERT INTO a VALUES ({n})")).unwrap();
    }
    sleep(Duration::from_secs(1));
    let second = snap(&url, 110);
    let Period { rows, warnings, .. } = period(first.clone(), second.clone(), Vec::new()).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    let all = |place| amount(&rows, &db::TABLE, (db::dt, place), |_| true);
    // A busy server counts the end of a snapshot's session behind it: the first one's is one more, the second one's one less.
    let statements = all(db::statements_per_s);
    assert!((statements - 30.0).abs() < 1.01, "{statements}");
    assert!(close(all(db::connects_per_s), 0.0), "{}", all(db::connects_per_s));
    assert!(close(all(db::rows_inserted_per_s), 30.0) && close(calls(&rows, "insert into a"), 30.0));

    client.run("FLUSH STATUS").unwrap();
    for _ in 0..3000 {
        client.run("DO 1").unwrap();
    }
    sleep(Duration::from_secs(3));
    let third = snap(&url, 120);
    let Period { rows, warnings, .. } = period(second, third, Vec::new()).unwrap();
    assert!(warnings.iter().any(|told| told.contains("FLUSH STATUS")), "{warnings:?}");
    let found = rows.of(&db::TABLE).unwrap();
    assert!((0..found.n_rows()).all(|row| found.f64(row, db::statements_per_s).is_none()));
}
