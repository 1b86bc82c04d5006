//! MariaDB as it is installed.

use std::{
    thread,
    time::{Duration, Instant},
};

use fenxi_load::schedule::Schedule;
use fenxi_model::catalog::{db, db_lock, db_session, db_setting, db_statement, db_table, db_wal};
use fenxi_wire::Mode;

use crate::{
    observe::{amount, begin, events, notes, places, texts, time_in},
    server::{Server, skipped},
};

fn server(more: &[&str]) -> Option<Server> {
    let server = Server::mariadb_with(more);
    if server.is_none() {
        skipped("MariaDB", "it is not installed");
    }
    server
}

const SCHEMA: &str = "--performance-schema=ON";

#[test]
fn statements_and_commits_are_as_many_as_the_driver_made() {
    let Some(server) = server(&[SCHEMA]) else { return };
    let program = server.program("tpcb_like", &[("scale", "1")]);
    server.prepare(&program).unwrap();
    let mut observation = begin(&server.url("test"), 20).unwrap();
    // Prepared statements are in no digest of MariaDB 10.11.
    let outcome = server.run(program, Mode::Simple, Schedule::Closed);
    let done = (outcome.total.tally.transactions + outcome.drained.transactions) as f64;
    observation.go_on(1.2);
    let rows = observation.end();
    let statements = rows.of(&db_statement::TABLE).unwrap();
    let calls = |begin: &str| {
        amount(&rows, &db_statement::TABLE, (db_statement::dt, db_statement::calls_per_s), |row| {
            statements.str(row, db_statement::statement).is_some_and(|text| text.starts_with(begin))
        })
    };
    assert!(done > 20.0);
    let all: Vec<_> = (0..statements.n_rows()).filter_map(|row| statements.str(row, db_statement::statement)).collect();
    for begin in ["update pgbench_accounts", "insert into pgbench_history"] {
        // Transactions that were rolled back in a deadlock are tried again.
        let calls = calls(begin);
        assert!((done..done * 1.5).contains(&(calls + 1e-6)), "{begin}: {calls} of {done}: {all:?}");
    }
    let databases = rows.of(&db::TABLE).unwrap();
    let server_row = |row: usize| databases.str(row, db::database).is_none();
    let commits = amount(&rows, &db::TABLE, (db::dt, db::commits_per_s), server_row);
    assert!((done - 1e-6..done * 1.2 + 20.0).contains(&commits), "{commits} of {done}");
    assert!(rows.of(&db_wal::TABLE).is_some());
    let tables = rows.of(&db_table::TABLE).unwrap();
    let history = |row: usize| tables.str(row, db_table::relation) == Some("test.pgbench_history");
    let inserted = amount(&rows, &db_table::TABLE, (db_table::dt, db_table::rows_inserted_per_s), history);
    assert!(inserted >= done - 1e-6, "{inserted} of {done}");
    let settings = rows.of(&db_setting::TABLE).unwrap();
    let vendor = places(&rows, &db_setting::TABLE, |row| settings.str(row, db_setting::name) == Some("vendor"));
    assert_eq!(settings.str(vendor[0], db_setting::value), Some("MariaDB"));
    assert!(notes(&rows).iter().all(|note| !note.contains(" read: ")), "{:?}", notes(&rows));
}

/// A row lock is held for two seconds, with and without the performance schema.
fn a_row_is_waited_for(more: &[&str]) {
    let Some(server) = server(more) else { return };
    let mut holder = server.client("test");
    holder.run("CREATE TABLE a (id int PRIMARY KEY, n int) ENGINE=InnoDB").unwrap();
    holder.run("INSERT INTO a VALUES (1, 0)").unwrap();
    let mut observation = begin(&server.url("test"), 20).unwrap();
    holder.run("BEGIN").unwrap();
    holder.run("UPDATE a SET n = 1 WHERE id = 1").unwrap();
    let root = i64::from(holder.about().number);
    thread::scope(|scope| {
        let mut client = server.client("test");
        let waiter = i64::from(client.about().number);
        scope.spawn(move || client.run("UPDATE a SET n = 2 WHERE id = 1").unwrap());
        observation.go_on(2.5);
        holder.run("COMMIT").unwrap();
        observation.go_on(0.5);
        let rows = observation.end();
        let locked = time_in(&rows, "lock", "sampled");
        assert!((2.0..3.0).contains(&locked), "{more:?}: {locked} of 2.5 s");
        let idle = time_in(&rows, "idle in transaction", "sampled");
        assert!((2.0..3.1).contains(&idle), "{more:?}: {idle} of 2.5 s");
        let edges = rows.of(&db_lock::TABLE).unwrap();
        assert_eq!((edges.i64(0, db_lock::waiter), edges.i64(0, db_lock::root)), (Some(waiter), Some(root)));
        assert_eq!(edges.str(0, db_lock::relation), Some("test.a"));
        assert_eq!(edges.str(0, db_lock::blocker_state), Some("idle in transaction"));
        let sessions = rows.of(&db_session::TABLE).unwrap();
        assert!(
            (0..sessions.n_rows())
                .all(|row| [Some(waiter), Some(root)].contains(&sessions.i64(row, db_session::session)))
        );
    });
}

#[test]
fn a_row_lock_is_a_lock_whatever_the_state_says() {
    a_row_is_waited_for(&[SCHEMA]);
    a_row_is_waited_for(&["--performance-schema=OFF"]);
}

#[test]
fn a_metadata_lock_and_a_sleep_are_what_they_are() {
    let Some(server) = server(&[SCHEMA]) else { return };
    let mut holder = server.client("test");
    holder.run("CREATE TABLE a (id int PRIMARY KEY) ENGINE=InnoDB").unwrap();
    holder.run("BEGIN").unwrap();
    holder.run("SELECT * FROM a").unwrap();
    let mut observation = begin(&server.url("test"), 20).unwrap();
    thread::scope(|scope| {
        let (mut ddl, mut sleeper) = (server.client("test"), server.client("test"));
        scope.spawn(move || ddl.run("ALTER TABLE a ADD COLUMN n int").unwrap());
        scope.spawn(move || sleeper.run("SELECT SLEEP(2), \"hunter2\", 'hunter2'").unwrap());
        observation.go_on(1.5);
        holder.run("COMMIT").unwrap();
        observation.go_on(1.0);
    });
    let rows = observation.end();
    assert!((1.0..2.0).contains(&time_in(&rows, "lock", "sampled")), "{}", time_in(&rows, "lock", "sampled"));
    assert!((1.6..2.4).contains(&time_in(&rows, "timeout", "sampled")), "{}", time_in(&rows, "timeout", "sampled"));
    assert!(!texts(&rows).contains("hunter2"));
}

#[test]
fn a_busy_server_shows_its_cpu_by_the_kernel() {
    let Some(server) = server(&["--performance-schema=OFF"]) else { return };
    let mut client = server.client("test");
    let mut observation = begin(&server.url("test"), 10).unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        client.run("SELECT BENCHMARK(2000000, MD5('a'))").unwrap();
    }
    let took = began.elapsed().as_secs_f64();
    observation.go_on(0.2);
    let rows = observation.end();
    let busy = time_in(&rows, "cpu", "os") + time_in(&rows, "run queue", "os");
    assert!((took * 0.75..took * 1.1 + 0.3).contains(&busy), "{busy} of {took} s");
    assert!(notes(&rows).iter().any(|note| note.contains("performance_schema is OFF")));
}

#[test]
fn resets_and_restarts_give_no_wrong_figure() {
    let Some(mut server) = server(&[SCHEMA]) else { return };
    let program = server.program("oltp_point_select", &[("table_size", "10")]);
    server.prepare(&program).unwrap();
    let mut observation = begin(&server.url("test"), 10).unwrap();
    server.run(program, Mode::Simple, Schedule::Closed);
    observation.go_on(1.2);
    server.client("test").run("FLUSH STATUS").unwrap();
    observation.go_on(1.5);
    server.kill();
    observation.go_on(0.3);
    server.start_again();
    observation.go_on(7.0);
    let rows = observation.end();
    let told = events(&rows);
    for kind in ["counter reset", "connection lost", "connected"] {
        assert!(told.iter().any(|told| told == kind), "{kind}: {told:?}");
    }
    let databases = rows.of(&db::TABLE).unwrap();
    for row in 0..databases.n_rows() {
        for place in [db::commits_per_s, db::statements_per_s, db::received_bytes_per_s, db::log_bytes_per_s] {
            let value = databases.f64(row, place).unwrap_or(0.0);
            assert!((0.0..1e9).contains(&value), "{value}");
        }
    }
    assert!(databases.f64(databases.n_rows() - 1, db::samples).unwrap() > 0.0, "it is sampled again");
}

#[test]
fn who_may_not_see_is_told_what_helps() {
    let Some(server) = server(&[SCHEMA]) else { return };
    server.client("test").run("CREATE USER mon@'%'").unwrap();
    let url = format!("mysql://mon@127.0.0.1:{}/", server.port);
    let mut observation = begin(&url, 10).unwrap();
    observation.go_on(1.2);
    let told = notes(&observation.end());
    assert!(told.iter().any(|note| note.contains("GRANT PROCESS")), "{told:?}");
}
