//! Figures of PostgreSQL beside what was done to it: positions in its log, locks held for a known time, statements that its
//! statistics have no room for, servers without a free connection, connections that somebody ends.

use std::{
    thread,
    time::{Duration, Instant},
};

use fenxi_model::catalog::{db, db_statement, db_wal};

use crate::{
    observe::{amount, begin, notes, places, time_in},
    saved::Listener,
    server::{Server, skipped},
};

fn server(more: &[&str]) -> Option<Server> {
    let server = Server::postgres_with(more);
    if server.is_none() {
        skipped("PostgreSQL", "it is not installed");
    }
    server
}

#[test]
fn bytes_of_the_log_are_the_distance_of_two_positions() {
    let Some(server) = server(&[]) else { return };
    let mut client = server.client("postgres");
    client.run("CREATE TABLE a (n int, note text)").unwrap();
    client.run("CHECKPOINT").unwrap();
    let mut observation = begin(&server.url("postgres"), 10).unwrap();
    let position = |server: &Server| server.number("SELECT (pg_current_wal_lsn() - '0/0')::bigint");
    let before = position(&server);
    for _ in 0..5 {
        client.run("INSERT INTO a SELECT n, repeat('x', 200) FROM generate_series(1, 10000) n").unwrap();
    }
    drop(client);
    let written = (position(&server) - before) as f64;
    observation.go_on(1.5);
    let rows = observation.end();
    let counted = amount(&rows, &db_wal::TABLE, (db_wal::dt, db_wal::wal_bytes_per_s), |_| true);
    // Positions count the headers of pages, too: 24 of 8192 bytes.
    assert!(written > 1e7 && (0.985..1.005).contains(&(counted / written)), "{counted} of {written}");
}

#[test]
fn locks_held_for_a_known_time_are_waited_for_as_long() {
    let Some(server) = server(&[]) else { return };
    let mut observation = begin(&server.url("postgres"), 50).unwrap();
    let waited = thread::scope(|scope| {
        let (mut holder, mut waiter) = (server.client("postgres"), server.client("postgres"));
        let held = scope.spawn(move || {
            for _ in 0..15 {
                holder.run("SELECT pg_advisory_lock(7), pg_sleep(0.1)").unwrap();
                holder.run("SELECT pg_advisory_unlock(7)").unwrap();
                thread::sleep(Duration::from_millis(30));
            }
        });
        let mut waited = 0.0;
        while !held.is_finished() {
            let began = Instant::now();
            waiter.run("SELECT pg_advisory_lock(7)").unwrap();
            waited += began.elapsed().as_secs_f64();
            waiter.run("SELECT pg_advisory_unlock(7)").unwrap();
            thread::sleep(Duration::from_millis(5));
        }
        waited
    });
    observation.go_on(1.2);
    let rows = observation.end();
    let seen = time_in(&rows, "lock", "sampled");
    assert!(waited > 0.8 && (seen - waited).abs() < 0.2 * waited + 0.1, "{seen} of {waited} s");
}

/// Entries that were evicted while 400 statements ran, and how many calls were seen; None where the server was too busy to
/// answer in time, which a note says.
fn evicted(server: &Server) -> Option<(f64, f64)> {
    let mut client = server.client("postgres");
    let mut observation = begin(&server.url("postgres"), 10).unwrap();
    let columns = |n: usize| (0..n).map(|column| format!("{column} AS c{column}")).collect::<Vec<_>>().join(", ");
    for n in 1..=400 {
        client.run(&format!("SELECT {}", columns(n))).unwrap();
    }
    observation.go_on(1.5);
    let rows = observation.end();
    if notes(&rows).iter().any(|note| note.contains("it has not answered")) {
        return None;
    }
    let databases = rows.of(&db::TABLE).unwrap();
    let lost = (0..databases.n_rows()).filter_map(|row| databases.f64(row, db::statements_lost)).sum();
    let statements = rows.of(&db_statement::TABLE).unwrap();
    let own = |row: usize| statements.str(row, db_statement::digest) == Some("fenxi-db");
    let calls = amount(&rows, &db_statement::TABLE, (db_statement::dt, db_statement::calls_per_s), |row| !own(row));
    Some((lost, calls))
}

#[test]
fn statements_that_were_evicted_are_counted_and_none_is_huge() {
    let more = ["-c", "shared_preload_libraries=pg_stat_statements", "-c", "pg_stat_statements.max=100"];
    let Some(server) = server(&more) else { return };
    server.client("postgres").run("CREATE EXTENSION pg_stat_statements").unwrap();
    let (lost, calls) = (0..4).find_map(|_| evicted(&server)).expect("it answers in time once");
    assert!(lost > 0.0 && calls <= 401.0, "{lost} evicted, {calls} calls");
}

#[test]
fn a_server_without_a_free_connection_is_told_and_held_up_by_nothing() {
    let more = ["-c", "max_connections=6", "-c", "superuser_reserved_connections=0", "-c", "max_wal_senders=0"];
    let Some(server) = server(&more) else { return };
    let all: Vec<_> = (0..6).map(|_| server.client("postgres")).collect();
    let began = Instant::now();
    let error = begin(&server.url("postgres"), 10).err().unwrap().to_string();
    assert!(error.contains("too many clients") && began.elapsed() < Duration::from_secs(10), "{error}");
    drop(all);
}

#[test]
fn an_observation_goes_on_when_somebody_ends_its_connections_or_takes_its_rights() {
    let Some(server) = server(&[]) else { return };
    let mut client = server.client("postgres");
    client.run("CREATE ROLE mon LOGIN IN ROLE pg_monitor").unwrap();
    // Through a relay sessions are asked for: the server's memory would show them without the right.
    let relay = Listener::before(&server);
    let url = format!("postgres://mon@127.0.0.1:{}/postgres", relay.port);
    let mut observation = begin(&url, 20).unwrap();
    observation.go_on(1.2);
    client.run("REVOKE pg_monitor FROM mon").unwrap();
    client.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'mon'").unwrap();
    observation.go_on(4.0);
    let rows = observation.end();
    let databases = rows.of(&db::TABLE).unwrap();
    let whole = places(&rows, &db::TABLE, |row| databases.str(row, db::database).is_none());
    let last = *whole.last().unwrap();
    assert!(databases.f64(last, db::samples).unwrap() > 0.0, "it is sampled again: {:?}", notes(&rows));
    assert!(notes(&rows).iter().any(|note| note.contains("GRANT pg_monitor TO mon")), "{:?}", notes(&rows));
    for row in whole {
        assert!(databases.f64(row, db::commits_per_s).is_none_or(|rate| (0.0..1e4).contains(&rate)));
    }
}
