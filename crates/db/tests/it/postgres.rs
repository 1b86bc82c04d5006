//! PostgreSQL as it is installed.

use std::{
    thread,
    time::{Duration, Instant},
};

use fenxi_load::schedule::Schedule;
use fenxi_model::catalog::{db, db_lock, db_session, db_setting, db_statement, db_table};
use fenxi_wire::Mode;

use crate::{
    observe::{amount, begin, events, notes, places, texts, time_in},
    saved::Listener,
    server::{Server, skipped},
};

const WITH_STATEMENTS: &[&str] =
    &["-c", "shared_preload_libraries=pg_stat_statements", "-c", "track_io_timing=on", "-c", "deadlock_timeout=60s"];

fn server() -> Option<Server> {
    let server = Server::postgres_with(WITH_STATEMENTS);
    match &server {
        Some(server) => {
            server.client("postgres").run("CREATE EXTENSION pg_stat_statements").unwrap();
        }
        None => skipped("PostgreSQL", "it is not installed"),
    }
    server
}

#[test]
fn statements_commits_and_rows_are_as_many_as_the_driver_made() {
    let Some(server) = server() else { return };
    let program = server.program("tpcb_like", &[("scale", "1")]);
    server.prepare(&program).unwrap();
    let mut observation = begin(&server.url("postgres"), 20).unwrap();
    let outcome = server.run(program, Mode::Prepared, Schedule::Closed);
    let done = (outcome.total.tally.transactions + outcome.drained.transactions) as f64;
    // The sessions are closed, and have published what they counted.
    observation.go_on(1.5);
    let rows = observation.end();
    let statements = rows.of(&db_statement::TABLE).unwrap();
    let calls = |begin: &str| {
        amount(&rows, &db_statement::TABLE, (db_statement::dt, db_statement::calls_per_s), |row| {
            statements.str(row, db_statement::statement).is_some_and(|text| text.starts_with(begin))
        })
    };
    assert!(done > 50.0);
    for begin in ["update pgbench_accounts", "select abalance", "insert into pgbench_history"] {
        assert!((calls(begin) - done).abs() < 1e-6 * done, "{begin}: {} of {done}", calls(begin));
    }
    assert_eq!(calls("fenxi-db"), 0.0, "what pollers ask is in no list");
    let databases = rows.of(&db::TABLE).unwrap();
    let server_row = |row: &usize| databases.str(*row, db::database).is_none();
    // A message over loopback and back, each second.
    assert!(
        (0..databases.n_rows())
            .filter(server_row)
            .all(|row| { databases.f64(row, db::round_trip_ms).is_some_and(|ms| (0.005..500.0).contains(&ms)) })
    );
    let shop = |row: usize| databases.str(row, db::database) == Some("postgres");
    let commits = amount(&rows, &db::TABLE, (db::dt, db::commits_per_s), shop);
    // The driver's sessions begin with a transaction each; those of the test itself are a few. None is the poller's.
    assert!((done..done + 20.0).contains(&commits), "{commits} of {done}");
    let inserted = amount(&rows, &db::TABLE, (db::dt, db::rows_inserted_per_s), shop);
    assert_eq!(inserted.round(), done);
    let tables = rows.of(&db_table::TABLE).unwrap();
    let history = |row: usize| tables.str(row, db_table::relation) == Some("public.pgbench_history");
    let inserted = amount(&rows, &db_table::TABLE, (db_table::dt, db_table::rows_inserted_per_s), history);
    assert_eq!(inserted.round(), done);
    let settings = rows.of(&db_setting::TABLE).unwrap();
    let io_timing =
        places(&rows, &db_setting::TABLE, |row| settings.str(row, db_setting::name) == Some("track_io_timing"));
    assert_eq!(settings.str(io_timing[0], db_setting::value), Some("on"));
}

#[test]
fn an_idle_server_shows_no_transactions_and_an_offered_rate_is_shown_as_it_is() {
    let Some(server) = server() else { return };
    let mut observation = begin(&server.url("postgres"), 10).unwrap();
    let mut client = server.client("postgres");
    observation.go_on(4.2);
    let began = Instant::now();
    for n in 1..=200_u32 {
        client.run("SELECT count(*) FROM pg_class WHERE oid = 1").unwrap();
        let due = began + Duration::from_millis(25) * n;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    // A session that falls idle publishes its last second ten seconds later, or when it ends.
    drop(client);
    observation.go_on(2.2);
    let rows = observation.end();
    let databases = rows.of(&db::TABLE).unwrap();
    let whole = places(&rows, &db::TABLE, |row| databases.str(row, db::database).is_none());
    let rate = |row: &usize| {
        let per_s = |place| databases.f64(*row, place).unwrap_or_default();
        per_s(db::commits_per_s) + per_s(db::rollbacks_per_s)
    };
    let done = |row: &usize| rate(row) * databases.f64(*row, db::dt).unwrap_or_default();
    // No client works: the login of the test's own session is all there is.
    assert!(whole[..3].iter().map(done).sum::<f64>() <= 1.5, "{:?}", whole.iter().map(rate).collect::<Vec<_>>());
    let all: f64 = whole.iter().map(done).sum();
    assert!((all - 201.0).abs() <= 2.0, "{all} of 201: {:?}", whole.iter().map(rate).collect::<Vec<_>>());
    let connects = amount(&rows, &db::TABLE, (db::dt, db::connects_per_s), |row| {
        databases.str(row, db::database) == Some("postgres")
    });
    assert!(connects <= 1.5, "{connects} of the test's own session");
}

#[test]
fn what_our_own_sessions_read_is_in_no_figure_of_an_idle_server() {
    let Some(server) = server() else { return };
    let mut observation = begin(&server.url("postgres"), 20).unwrap();
    // Tables are read at the begin and ten seconds later.
    observation.go_on(12.2);
    let rows = observation.end();
    let databases = rows.of(&db::TABLE).unwrap();
    let whole = places(&rows, &db::TABLE, |row| databases.str(row, db::database).is_none());
    assert!(whole.len() >= 11, "{}", texts(&rows));
    for place in [
        db::commits_per_s,
        db::cache_hits_per_s,
        db::cache_misses_per_s,
        db::rows_returned_per_s,
        db::rows_fetched_per_s,
        db::db_time,
        db::connects_per_s,
    ] {
        let figures: Vec<_> = whole.iter().map(|row| databases.f64(*row, place)).collect();
        assert!(figures[1..].iter().all(|figure| *figure == Some(0.0)), "{place:?}: {figures:?}");
        assert!(figures.iter().flatten().all(|figure| *figure == 0.0), "{place:?}: {figures:?}");
    }
}

#[test]
fn sampled_time_is_the_time_that_sessions_spent() {
    let Some(server) = server() else { return };
    let mut observation = begin(&server.url("postgres"), 20).unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| server.client("postgres").run("SELECT pg_sleep(2)").unwrap());
        }
    });
    observation.go_on(1.2);
    let rows = observation.end();
    let slept = time_in(&rows, "timeout", "sampled");
    assert!((slept - 6.0).abs() < 0.6, "{slept} of 6 s");
    let databases = rows.of(&db::TABLE).unwrap();
    let counted = amount(&rows, &db::TABLE, (db::dt, db::db_time), |row| databases.str(row, db::database).is_none());
    assert!((counted - 6.0).abs() < 0.2, "{counted} of 6 s");
    let sessions = rows.of(&db_session::TABLE).unwrap();
    let own = places(&rows, &db_session::TABLE, |row| {
        sessions.str(row, db_session::application).is_some_and(|name| name.starts_with("fenxi-db"))
    });
    assert!(own.is_empty(), "the poller leaves itself out");
    let asleep = places(&rows, &db_session::TABLE, |row| sessions.str(row, db_session::wait_event) == Some("PgSleep"));
    for row in asleep {
        assert_eq!(sessions.str(row, db_session::statement), Some("select pg_sleep(?)"));
    }
    let samples = amount(&rows, &db::TABLE, (db::dt, db::samples), |_| true);
    assert!(samples > 20.0, "{samples}");
}

#[test]
fn a_busy_server_shows_its_cpu_by_the_kernel() {
    let Some(server) = server() else { return };
    let mut observation = begin(&server.url("postgres"), 10).unwrap();
    let began = Instant::now();
    let mut client = server.client("postgres");
    while began.elapsed() < Duration::from_secs(2) {
        client.run("SELECT sum(i) FROM generate_series(1, 300000) AS s(i)").unwrap();
    }
    let took = began.elapsed().as_secs_f64();
    observation.go_on(0.5);
    let rows = observation.end();
    let busy = time_in(&rows, "cpu", "os") + time_in(&rows, "run queue", "os");
    assert!((took * 0.75..took * 1.1 + 0.3).contains(&busy), "{busy} of {took} s");
}

#[test]
fn a_prepared_transaction_that_holds_a_lock_is_no_session() {
    let Some(server) = Server::postgres_with(&["-c", "max_prepared_transactions=2"]) else {
        return skipped("PostgreSQL", "it is not installed");
    };
    let mut holder = server.client("postgres");
    for sql in ["CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)", "BEGIN", "DELETE FROM a"] {
        holder.run(sql).unwrap();
    }
    holder.run("PREPARE TRANSACTION 'transfer 7'").unwrap();
    let mut observation = begin(&server.url("postgres"), 20).unwrap();
    let rows = thread::scope(|scope| {
        let mut client = server.client("postgres");
        scope.spawn(move || client.run("UPDATE a SET id = 2").unwrap());
        observation.go_on(2.2);
        holder.run("COMMIT PREPARED 'transfer 7'").unwrap();
        observation.end()
    });
    let edges = rows.of(&db_lock::TABLE).unwrap();
    assert_eq!((edges.i64(0, db_lock::blocker), edges.i64(0, db_lock::root)), (Some(0), Some(0)));
    assert_eq!(edges.str(0, db_lock::blocker_state), Some("prepared as transfer 7"));
}

#[test]
fn a_queue_for_a_row_has_its_root_and_its_edges() {
    let Some(server) = server() else { return };
    let mut holder = server.client("postgres");
    holder.run("CREATE TABLE a (id int PRIMARY KEY, n int)").unwrap();
    holder.run("INSERT INTO a VALUES (1, 0), (2, 0)").unwrap();
    let mut observation = begin(&server.url("postgres"), 20).unwrap();
    holder.run("BEGIN").unwrap();
    holder.run("UPDATE a SET n = 1 WHERE id = 1").unwrap();
    let root = i64::from(holder.about().number);
    let rows = thread::scope(|scope| {
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let mut client = server.client("postgres");
                let number = i64::from(client.about().number);
                scope.spawn(move || client.run("UPDATE a SET n = 2 WHERE id = 1").unwrap());
                thread::sleep(Duration::from_millis(200));
                number
            })
            .collect();
        observation.go_on(2.2);
        holder.run("COMMIT").unwrap();
        let rows = observation.end();
        let edges = rows.of(&db_lock::TABLE).unwrap();
        let direct = places(&rows, &db_lock::TABLE, |row| {
            edges.i64(row, db_lock::waiter) == Some(waiters[0]) && edges.str(row, db_lock::direct) == Some("yes")
        });
        let first = direct[0];
        assert_eq!(edges.i64(first, db_lock::blocker), Some(root));
        assert_eq!(edges.str(first, db_lock::lock), Some("transactionid"));
        assert_eq!(edges.str(first, db_lock::relation), Some("public.a"));
        assert_eq!(edges.str(first, db_lock::blocker_state), Some("idle in transaction"));
        // Later the first that waited holds the row, and is the root itself.
        for row in
            places(&rows, &db_lock::TABLE, |row| edges.micros(row, db_lock::t) == edges.micros(first, db_lock::t))
        {
            assert_eq!(edges.i64(row, db_lock::root), Some(root), "one root for all");
        }
        let second = places(&rows, &db_lock::TABLE, |row| edges.i64(row, db_lock::waiter) == Some(waiters[1]));
        assert!(!second.is_empty());
        rows
    });
    let locked = time_in(&rows, "lock", "sampled");
    assert!((3.0..5.6).contains(&locked), "two sessions waited some 2.4 s: {locked}");
    assert!(time_in(&rows, "idle in transaction", "sampled") > 1.5);
}

#[test]
fn a_crash_and_a_return_are_events_and_no_figure_is_wrong() {
    let Some(mut server) = server() else { return };
    let program = server.program("tpcb_like", &[("scale", "1")]);
    server.prepare(&program).unwrap();
    let mut observation = begin(&server.url("postgres"), 10).unwrap();
    server.run(program, Mode::Simple, Schedule::Closed);
    observation.go_on(1.2);
    server.kill();
    observation.go_on(0.5);
    server.start_again();
    observation.go_on(7.0);
    let rows = observation.end();
    let told = events(&rows);
    assert!(
        told.iter().any(|kind| kind == "connection lost") && told.iter().any(|kind| kind == "connected"),
        "{told:?}"
    );
    let databases = rows.of(&db::TABLE).unwrap();
    for row in 0..databases.n_rows() {
        for place in [db::commits_per_s, db::cache_hits_per_s, db::db_time, db::log_bytes_per_s] {
            let value = databases.f64(row, place).unwrap_or(0.0);
            assert!((0.0..1e9).contains(&value), "{value}");
        }
    }
    let last = places(&rows, &db::TABLE, |row| databases.str(row, db::database).is_none());
    assert!(databases.f64(*last.last().unwrap(), db::samples).unwrap() > 0.0, "it is sampled again");
}

#[test]
fn a_reset_of_counters_is_null_and_an_event() {
    let Some(server) = server() else { return };
    let program = server.program("tpcb_like", &[("scale", "1")]);
    server.prepare(&program).unwrap();
    server.run(program, Mode::Simple, Schedule::Closed);
    let mut observation = begin(&server.url("postgres"), 10).unwrap();
    observation.go_on(1.2);
    server.client("postgres").run("SELECT pg_stat_reset()").unwrap();
    observation.go_on(2.2);
    let rows = observation.end();
    assert!(events(&rows).iter().any(|kind| kind == "counter reset"), "{:?}", events(&rows));
    let databases = rows.of(&db::TABLE).unwrap();
    assert!((0..databases.n_rows()).all(|row| databases.f64(row, db::commits_per_s).is_none_or(|rate| rate >= 0.0)));
}

#[test]
fn who_may_not_see_is_told_what_helps() {
    let Some(server) = server() else { return };
    let mut client = server.client("postgres");
    client.run("CREATE ROLE mon LOGIN").unwrap();
    client.run("BEGIN").unwrap();
    // Through a relay sessions are asked for: the server's memory would show them without the right.
    let relay = Listener::before(&server);
    let url = format!("postgres://mon@127.0.0.1:{}/postgres", relay.port);
    let mut observation = begin(&url, 10).unwrap();
    observation.go_on(2.2);
    let rows = observation.end();
    for told in ["GRANT pg_monitor TO mon", "statements of others are not seen"] {
        assert!(notes(&rows).iter().any(|note| note.contains(told)), "{told}: {:?}", notes(&rows));
    }
}

#[test]
fn no_password_is_kept() {
    let Some(server) = server() else { return };
    let mut client = server.client("postgres");
    client.run("CREATE ROLE secretive LOGIN SUPERUSER PASSWORD 'tops3cret'").unwrap();
    let url = format!("postgres://secretive:tops3cret@127.0.0.1:{}/postgres", server.port);
    let mut observation = begin(&url, 20).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            client.run("DO $$ BEGIN PERFORM pg_sleep(1); PERFORM 'hunter2'; END $$").unwrap();
            client.run("ALTER ROLE secretive PASSWORD 'hunter2'").unwrap();
            client.run("SELECT pg_sleep(1), 'hunter2'").unwrap();
        });
        observation.go_on(2.5);
    });
    let rows = observation.end();
    let all = texts(&rows);
    assert!(!all.contains("tops3cret") && !all.contains("hunter2"), "{all}");
}

#[test]
fn a_server_that_is_not_there_is_told_at_once() {
    let began = Instant::now();
    let error = begin("postgres://nobody@127.0.0.1:1/x", 10).err().unwrap().to_string();
    assert!(error.contains("127.0.0.1:1") && began.elapsed() < Duration::from_secs(5), "{error}");
}
