//! A standby: how far it is behind its primary, and what recovery does to its queries.

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use fenxi_db::{
    check::{Seen, check},
    snapshot::period,
};
use fenxi_model::{
    Rows,
    catalog::{db, db_replication, db_setting},
};

use crate::{
    observe::{amount, begin, notes, places},
    server::{Server, as_user, free_port, postgres_programs, quietly, skipped},
    snapshots::{calls, published, snap, transactions},
};

/// A standby of a server, which replays what that one writes.
fn standby_of(primary: &Server, more: &[&str]) -> Server {
    let bin = postgres_programs().unwrap();
    let folder = tempfile::tempdir().unwrap();
    assert!(quietly(Command::new("chmod").arg("777").arg(folder.path())));
    let (data, port) = (folder.path().join("data"), free_port());
    let mut copy = as_user("postgres", bin.join("pg_basebackup"));
    copy.args(["-R", "-c", "fast", "-X", "stream", "-h", "127.0.0.1", "-U", "postgres", "-p"]);
    assert!(quietly(copy.arg(primary.port.to_string()).arg("-D").arg(&data)));
    let mut command = as_user("postgres", bin.join("postgres"));
    command.arg("-D").arg(&data).args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-p"]);
    command.arg(port.to_string()).arg("-k").arg(folder.path()).args(more);
    Server::started("postgres", "postgres", port, command, folder)
}

/// The largest value that a column of a role has.
fn most(rows: &Rows, role: &str, place: fenxi_model::Place<db_replication::Schema, fenxi_model::place::F64>) -> f64 {
    let Some(found) = rows.of(&db_replication::TABLE) else { return -1.0 };
    let of_role = places(rows, &db_replication::TABLE, |row| found.str(row, db_replication::role) == Some(role));
    of_role.into_iter().filter_map(|row| found.f64(row, place)).fold(-1.0, f64::max)
}

/// Waits for something that comes, for 20 seconds at most.
fn until(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() && Instant::now() < end {
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_standby_is_read_and_its_lag_and_conflicts_are_seen_on_both_sides() {
    let Some(primary) = Server::postgres_with(&["-c", "shared_preload_libraries=pg_stat_statements"]) else {
        return skipped("a standby of PostgreSQL", "it is not installed");
    };
    let mut writer = primary.client("postgres");
    writer.run("CREATE EXTENSION pg_stat_statements").unwrap();
    writer.run("CREATE TABLE a AS SELECT n, repeat('x', 200) AS note FROM generate_series(1, 20000) n").unwrap();
    let more = ["-c", "max_standby_streaming_delay=300ms", "-c", "shared_preload_libraries=pg_stat_statements"];
    let standby = standby_of(&primary, &more);
    let (_, findings) = check(&fenxi_db::Server::new(&standby.target("postgres")), 10).unwrap();
    let refused: Vec<_> = findings.iter().filter(|finding| finding.seen == Seen::Refused).collect();
    assert!(refused.is_empty() && findings.len() > 10, "{refused:?}");

    let mut of_primary = begin(&primary.url("postgres"), 10).unwrap();
    let mut of_standby = begin(&standby.url("postgres"), 10).unwrap();
    let mut reader = standby.client("postgres");
    // How old the last replayed transaction is, only a standby knows that has replayed one.
    writer.run("INSERT INTO a VALUES (0, 'first')").unwrap();
    until(|| reader.number("SELECT 1 WHERE pg_last_xact_replay_timestamp() IS NOT NULL").unwrap().is_some());
    reader.run("SELECT pg_wal_replay_pause()").unwrap();
    writer.run("INSERT INTO a SELECT n, repeat('y', 200) FROM generate_series(1, 50000) n").unwrap();
    // 50,000 rows of more than 200 bytes each were received and are not replayed. On a busy machine readings take long, and
    // come seldom.
    let are_late = |primary: &Rows, standby: &Rows| {
        most(primary, "sends", db_replication::replay_lag_bytes) > 1e7
            && most(standby, "receives", db_replication::replay_lag_bytes) > 1e7
            && most(standby, "receives", db_replication::replay_lag_s) > 1.0
    };
    until(|| {
        of_primary.go_on(0.5);
        of_standby.go_on(0.5);
        are_late(of_primary.rows(), of_standby.rows())
    });
    assert!(are_late(of_primary.rows(), of_standby.rows()), "{:?}", notes(of_standby.rows()));
    reader.run("SELECT pg_wal_replay_resume()").unwrap();
    // A query holds an old snapshot while the rows that it may see are removed.
    let conflict = thread::spawn({
        let mut client = standby.client("postgres");
        move || {
            client.run("BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap();
            client.run("SELECT count(*) FROM a, pg_sleep(10)").is_err()
        }
    });
    thread::sleep(Duration::from_millis(500));
    writer.run("DELETE FROM a").unwrap();
    writer.run("VACUUM a").unwrap();
    assert!(conflict.join().unwrap(), "the query was cancelled");
    until(|| standby.number("SELECT sum(conflicts)::bigint FROM pg_stat_database") > 0);
    of_standby.go_on(1.2);
    drop(of_primary);
    let of_standby = of_standby.end();

    is_told(&of_standby);
}

/// The standby's report of itself.
fn is_told(rows: &Rows) {
    let late = most(rows, "receives", db_replication::replay_lag_s);
    assert!((1.0..60.0).contains(&late), "{late} s");
    let databases = rows.of(&db::TABLE).unwrap();
    let conflicts: f64 = places(rows, &db::TABLE, |row| databases.str(row, db::database).is_none())
        .into_iter()
        .filter_map(|row| databases.f64(row, db::conflicts))
        .sum();
    assert!(conflicts >= 1.0, "{conflicts}");
    let settings = rows.of(&db_setting::TABLE).unwrap();
    let role = places(rows, &db_setting::TABLE, |row| settings.str(row, db_setting::name) == Some("in_recovery"));
    assert_eq!(settings.str(role[0], db_setting::value), Some("true"));
    // The log that it replays counts as its own.
    let log = amount(rows, &db::TABLE, (db::dt, db::log_bytes_per_s), |row| databases.str(row, db::database).is_none());
    assert!(log > 1e7, "{log}");
    let refused: Vec<_> = notes(rows).into_iter().filter(|note| note.contains(" read: ")).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

#[test]
fn two_snapshots_of_a_standby_are_what_was_asked_of_it_also_with_a_role_that_only_reads() {
    let more = ["-c", "shared_preload_libraries=pg_stat_statements"];
    let Some(primary) = Server::postgres_with(&more) else {
        return skipped("a standby of PostgreSQL", "it is not installed");
    };
    let mut client = primary.client("postgres");
    client.run("CREATE EXTENSION pg_stat_statements").unwrap();
    client.run("CREATE ROLE reader LOGIN").unwrap();
    let standby = standby_of(&primary, &more);
    let url = standby.url("postgres");
    let of_reader = url.replace("postgres@", "reader@");
    assert_ne!(url, of_reader);
    let first = [snap(&url, 100), snap(&of_reader, 100)];
    let mut client = standby.client("postgres");
    for _ in 0..50 {
        client.run("SELECT 1 AS one").unwrap();
    }
    drop(client);
    published();
    for (place, (first, url)) in first.into_iter().zip([&url, &of_reader]).enumerate() {
        let second = snap(url, 110);
        let rows = period(second, first, Vec::new()).unwrap().rows;
        let settings = rows.of(&db_setting::TABLE).unwrap();
        let recovery = places(&rows, &db_setting::TABLE, |row| {
            settings.str(row, db_setting::name) == Some("in_recovery")
                && settings.str(row, db_setting::value) == Some("true")
        });
        assert!(!recovery.is_empty());
        // A login is a transaction; of the other role's snapshots there may be some, too.
        let all = transactions(&rows, None);
        assert!((51.0 - 0.01..400.0).contains(&all), "{all}");
        // Texts of others are hidden from one that only reads.
        let wanted = if place == 0 { 50.0 } else { 0.0 };
        assert!((calls(&rows, "select ? as one") - wanted).abs() < 0.01, "{place}");
    }
}
