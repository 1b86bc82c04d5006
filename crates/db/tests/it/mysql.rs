//! MariaDB as it is installed.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use fenxi_load::{engine::run, schedule::Schedule};
use fenxi_model::{
    Rows,
    catalog::{db, db_index, db_lock, db_pool, db_session, db_setting, db_statement, db_table, db_wal, metric},
    statement::digest,
};
use fenxi_wire::{Dialect, Mode};

use crate::{
    observe::{amount, begin, events, notes, places, texts, time_in},
    saved::{self, Listener},
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
    all_that_was_done_is_counted(&server, ("mariadb-10.11", "MariaDB"));
}

/// Checks that the work of a driver is the work that is read.
pub fn all_that_was_done_is_counted(server: &Server, (name, vendor): (&str, &str)) {
    let program = server.program("tpcb_like", &[("scale", "1")]);
    server.prepare(&program).unwrap();
    let listener = saved::is_wanted().then(|| Listener::before(server));
    let url = listener.as_ref().map_or_else(|| server.url("test"), |listener| listener.url(server));
    let mut observation = begin(&url, 20).unwrap();
    // Prepared statements are in no digest of MariaDB 10.11.
    let outcome = server.run(program, Mode::Simple, Schedule::Closed);
    let done = (outcome.total.tally.transactions + outcome.drained.transactions) as f64;
    observation.go_on(1.2);
    let rows = observation.end();
    if let Some(listener) = listener {
        saved::save(name, done, &listener.exchanges(Dialect::Mysql));
    }
    is_counted(&rows, done, vendor);
}

/// Checks an observation during which so many transactions were done.
pub fn is_counted(rows: &Rows, done: f64, vendor_is: &str) {
    let statements = rows.of(&db_statement::TABLE).unwrap();
    let calls = |begin: &str| {
        amount(rows, &db_statement::TABLE, (db_statement::dt, db_statement::calls_per_s), |row| {
            statements.str(row, db_statement::statement).is_some_and(|text| text.starts_with(begin))
        })
    };
    assert!(done > 20.0);
    let all: Vec<_> = (0..statements.n_rows()).filter_map(|row| statements.str(row, db_statement::statement)).collect();
    for begin in ["update pgbench_accounts", "insert into pgbench_history"] {
        // Transactions that were rolled back in a deadlock are tried again. The server's digests miss up to half a percent of what
        // several sessions execute at once: of 64,000 insertions by its 8 clients it counted 63,822.
        let calls = calls(begin);
        assert!((done * 0.99..done * 1.5).contains(&(calls + 1e-6)), "{begin}: {calls} of {done}: {all:?}");
    }
    let databases = rows.of(&db::TABLE).unwrap();
    let server_row = |row: usize| databases.str(row, db::database).is_none();
    // A message over loopback and back, each second.
    assert!(
        (0..databases.n_rows())
            .filter(|row| server_row(*row))
            .all(|row| { databases.f64(row, db::round_trip_ms).is_some_and(|ms| (0.005..500.0).contains(&ms)) })
    );
    let commits = amount(rows, &db::TABLE, (db::dt, db::commits_per_s), server_row);
    assert!((done - 1e-6..done * 1.2 + 20.0).contains(&commits), "{commits} of {done}");
    assert!(rows.of(&db_wal::TABLE).is_some());
    let tables = rows.of(&db_table::TABLE).unwrap();
    let history = |row: usize| tables.str(row, db_table::relation) == Some("test.pgbench_history");
    let inserted = amount(rows, &db_table::TABLE, (db_table::dt, db_table::rows_inserted_per_s), history);
    assert!(inserted >= done - 1e-6, "{inserted} of {done}");
    let settings = rows.of(&db_setting::TABLE).unwrap();
    let vendor = places(rows, &db_setting::TABLE, |row| settings.str(row, db_setting::name) == Some("vendor"));
    assert_eq!(settings.str(vendor[0], db_setting::value), Some(vendor_is));
    assert!(
        notes(rows).iter().all(|note| !note.contains(" read: ") && !note.contains(" saved to: ")),
        "{:?}",
        notes(rows)
    );
}

#[test]
fn prepared_statements_are_seen_by_samples_and_it_is_told_that_no_digest_counts_them() {
    let Some(server) = server(&[SCHEMA]) else { return };
    let program = server.program("oltp_read_only", &[("tables", "1"), ("table_size", "1000")]);
    server.prepare(&program).unwrap();
    let mut observation = begin(&server.url("test"), 100).unwrap();
    // Threads of sessions are learned each second: they are there for longer.
    let program = server.program("oltp_read_only", &[("tables", "1"), ("table_size", "1000")]);
    let mut plan = server.plan(program, Mode::Prepared, Schedule::Closed);
    plan.run.duration_s = 3.0;
    run(&plan, &mut |_| ControlFlow::Continue(())).unwrap();
    observation.go_on(1.2);
    let rows = observation.end();
    let told = notes(&rows);
    assert_eq!(told.iter().filter(|note| note.starts_with("prepared statements are executed")).count(), 1, "{told:?}");
    let sessions = rows.of(&db_session::TABLE).unwrap();
    let with_text = places(&rows, &db_session::TABLE, |row| {
        sessions.str(row, db_session::statement).is_some_and(|text| text.contains("from sbtest1 where id"))
    });
    assert!(with_text.len() > 20, "{} of {}", with_text.len(), sessions.n_rows());
    assert!(with_text.iter().any(|row| sessions.i64(*row, db_session::tid).is_some()));
    // No poller reads figures of prepared statements where there are none.
    let counted = rows.of(&db_statement::TABLE).map_or(0, |statements| {
        (0..statements.n_rows())
            .filter(|row| {
                statements.str(*row, db_statement::statement).is_some_and(|text| text.contains("sbtest1 where"))
            })
            .count()
    });
    assert_eq!(counted, 0, "MariaDB counts them now: the note is wrong");
}

/// A row lock is held for two seconds, with and without the performance schema.
pub fn a_row_is_waited_for(server: &Server, more: &[&str]) {
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
        assert_eq!(edges.str(0, db_lock::database), Some("test"));
        assert_eq!(edges.str(0, db_lock::digest), Some(digest("update a set n = ? where id = ?").as_str()));
        let age = edges.f64(edges.n_rows() - 1, db_lock::blocker_state_age_s).unwrap();
        assert!((1.0..4.0).contains(&age), "{age}");
        assert_eq!(edges.str(0, db_lock::blocker_state), Some("idle in transaction"));
        let sessions = rows.of(&db_session::TABLE).unwrap();
        assert!(
            (0..sessions.n_rows())
                .all(|row| [Some(waiter), Some(root)].contains(&sessions.i64(row, db_session::session)))
        );
        assert!(sessions.i64(sessions.n_rows() - 1, db_session::tid).is_some(), "{more:?}");
    });
}

/// Three sessions wait for a row that a fourth one has changed.
pub fn a_queue_for_a_row_has_its_root(server: &Server) {
    let mut holder = server.client("test");
    holder.run("CREATE TABLE q (id int PRIMARY KEY, n int) ENGINE=InnoDB").unwrap();
    holder.run("INSERT INTO q VALUES (1, 0)").unwrap();
    holder.run("BEGIN").unwrap();
    holder.run("UPDATE q SET n = 1 WHERE id = 1").unwrap();
    let root = i64::from(holder.about().number);
    let mut observation = begin(&server.url("test"), 10).unwrap();
    thread::scope(|scope| {
        let mut waiters = std::collections::BTreeSet::new();
        for n in 2..5 {
            let mut client = server.client("test");
            waiters.insert(i64::from(client.about().number));
            scope.spawn(move || client.run(&format!("UPDATE q SET n = {n} WHERE id = 1")).unwrap());
        }
        observation.go_on(4.0);
        holder.run("COMMIT").unwrap();
        observation.go_on(0.5);
        let rows = observation.end();
        let edges = rows.of(&db_lock::TABLE).unwrap();
        let of_root = |row: &usize| edges.i64(*row, db_lock::root) == Some(root);
        let found = (0..edges.n_rows()).filter(of_root).filter_map(|row| edges.i64(row, db_lock::waiter)).collect();
        assert_eq!(waiters, found);
        let waited = (0..edges.n_rows()).filter_map(|row| edges.f64(row, db_lock::waited_s)).fold(0.0, f64::max);
        assert!((1.0..8.0).contains(&waited), "{waited}");
    });
}

#[test]
fn the_queue_of_a_thread_pool_is_seen_and_is_no_network() {
    let Some(server) = server(&[SCHEMA, "--thread-handling=pool-of-threads", "--thread-pool-size=1"]) else { return };
    let ended = AtomicBool::new(false);
    let observation = thread::scope(|scope| {
        for _ in 0..6 {
            let mut client = server.client("test");
            let ended = &ended;
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    client.run("SELECT benchmark(20000, md5('a'))").unwrap();
                }
            });
        }
        let mut observation = begin(&server.url("test"), 5).unwrap();
        // Our own statements wait in the queue, too: a look takes longer than a second, and much longer where CPUs are busy.
        for _ in 0..30 {
            observation.go_on(2.0);
            let pools = observation.rows().of(&db_pool::TABLE);
            if pools
                .is_some_and(|pools| (0..pools.n_rows()).any(|row| pools.f64(row, db_pool::first_wait_s) > Some(0.0)))
            {
                break;
            }
        }
        ended.store(true, Ordering::Relaxed);
        observation
    });
    let rows = observation.end();
    let pools = rows.of(&db_pool::TABLE).unwrap();
    let most = |place| (0..pools.n_rows()).filter_map(|row| pools.f64(row, place)).fold(0.0, f64::max);
    // One of six works, or a few where the pool takes one that works for long as stalled.
    assert!((1.0..6.5).contains(&most(db_pool::clients_waiting)), "{} waited", most(db_pool::clients_waiting));
    assert!(most(db_pool::first_wait_s) > 0.0);
    assert_eq!((most(db_pool::size_limit), pools.str(0, db_pool::database)), (1.0, Some("thread pool")));
    assert!(figures(&rows, db::round_trip_ms).is_empty(), "a ping waits in the pool");
}

#[test]
fn without_a_thread_pool_none_is_seen() {
    let Some(server) = server(&[SCHEMA]) else { return };
    let mut observation = begin(&server.url("test"), 5).unwrap();
    observation.go_on(1.5);
    let rows = observation.end();
    assert!(rows.of(&db_pool::TABLE).is_none_or(|pools| pools.n_rows() == 0));
}

#[test]
fn a_queue_of_mariadb_has_its_root() {
    let Some(server) = server(&[SCHEMA]) else { return };
    a_queue_for_a_row_has_its_root(&server);
}

#[test]
fn a_row_lock_is_a_lock_whatever_the_state_says() {
    for more in [SCHEMA, "--performance-schema=OFF"] {
        let Some(server) = server(&[more]) else { return };
        a_row_is_waited_for(&server, &[more]);
    }
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
    observation.go_on(2.5);
    server.kill();
    observation.go_on(0.3);
    server.start_again();
    observation.go_on(7.0);
    let rows = observation.end();
    let told = events(&rows);
    for kind in ["counter reset", "connection lost", "connected", "restart"] {
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

/// Figures of the server's own row, without those of the first seconds.
fn figures(rows: &Rows, place: fenxi_model::Place<db::Schema, fenxi_model::place::F64>) -> Vec<f64> {
    let databases = rows.of(&db::TABLE).unwrap();
    (0..databases.n_rows()).skip(3).filter_map(|row| databases.f64(row, place)).collect()
}

#[test]
fn an_idle_server_looks_idle() {
    let Some(server) = server(&[SCHEMA]) else { return };
    let mut observation = begin(&server.url("test"), 20).unwrap();
    observation.go_on(13.0);
    let rows = observation.end();
    assert_eq!(rows.of(&db_session::TABLE).map_or(0, |sessions| sessions.n_rows()), 0);
    let statements = rows.of(&db_statement::TABLE).map_or(0, |statements| statements.n_rows());
    assert_eq!(statements, 0, "{}", texts(&rows));
    // Twenty looks a second are as many statements, and five readings of transactions as many temporary tables.
    for place in [
        db::statements_per_s,
        db::temp_tables_per_s,
        db::temp_disk_tables_per_s,
        db::full_scans_per_s,
        db::sent_bytes_per_s,
        db::received_bytes_per_s,
    ] {
        let n_rows = rows.of(&db::TABLE).unwrap().n_rows();
        let all = amount(&rows, &db::TABLE, (db::dt, place), |_| true);
        let each = || (0..n_rows).map(|row| rows.of(&db::TABLE).unwrap().f64(row, place)).collect::<Vec<_>>();
        assert!(n_rows > 9 && all == 0.0, "{place:?}: {all} of {:?}", each());
    }
    assert!(figures(&rows, db::sessions).iter().all(|sessions| *sessions == 0.0));
    let metrics = rows.of(&metric::TABLE).unwrap();
    let cost = places(&rows, &metric::TABLE, |row| metrics.str(row, metric::name) == Some("db_poller_server_cpu"));
    let cpu: Vec<_> = cost.iter().filter_map(|row| metrics.f64(*row, metric::value)).collect();
    assert!(!cpu.is_empty() && cpu.iter().all(|cpu| (0.0..0.5).contains(cpu)), "{cpu:?}");
}

#[test]
fn who_holds_a_metadata_lock_is_found_where_the_server_lists_them() {
    let Some(server) = server(&[SCHEMA, "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON"]) else {
        return;
    };
    let mut holder = server.client("test");
    holder.run("CREATE TABLE a (id int PRIMARY KEY) ENGINE=InnoDB").unwrap();
    holder.run("BEGIN").unwrap();
    holder.run("SELECT * FROM a").unwrap();
    let root = i64::from(holder.about().number);
    let mut observation = begin(&server.url("test"), 20).unwrap();
    thread::scope(|scope| {
        let (mut ddl, mut reader) = (server.client("test"), server.client("test"));
        let (alter, behind) = (i64::from(ddl.about().number), i64::from(reader.about().number));
        scope.spawn(move || ddl.run("ALTER TABLE a ADD COLUMN n int").unwrap());
        observation.go_on(0.5);
        scope.spawn(move || reader.run("SELECT * FROM a").unwrap());
        observation.go_on(2.5);
        holder.run("COMMIT").unwrap();
        let rows = observation.end();
        let edges = rows.of(&db_lock::TABLE).unwrap();
        let found: Vec<_> = (0..edges.n_rows())
            .map(|row| {
                let session = |place| edges.i64(row, place).unwrap();
                let direct = edges.str(row, db_lock::direct).unwrap();
                (session(db_lock::waiter), session(db_lock::blocker), session(db_lock::root), direct)
            })
            .collect();
        for edge in [(alter, root, root, "yes"), (behind, alter, root, "no")] {
            assert!(found.contains(&edge), "{edge:?}: {found:?}");
        }
        assert_eq!((edges.str(0, db_lock::lock), edges.str(0, db_lock::relation)), (Some("metadata"), Some("test.a")));
    });
}

#[test]
fn a_server_that_becomes_read_only_has_changed_its_role() {
    let Some(server) = server(&["--performance-schema=OFF", "--userstat=1"]) else { return };
    let mut client = server.client("test");
    client.run("CREATE TABLE a (id int PRIMARY KEY) ENGINE=InnoDB").unwrap();
    client.run("INSERT INTO a VALUES (1), (2), (3)").unwrap();
    let mut observation = begin(&server.url("test"), 10).unwrap();
    for _ in 0..10 {
        client.run("SELECT * FROM a WHERE id = 2").unwrap();
    }
    client.run("SELECT SLEEP(0.5), 'hunter2'").unwrap();
    observation.go_on(1.2);
    client.run("SET GLOBAL read_only = 1").unwrap();
    observation.go_on(1.5);
    let rows = observation.end();
    assert_eq!(events(&rows), ["role changed"]);
    // There are no statistics of statements, but sessions that were seen in them.
    let sessions = rows.of(&db_session::TABLE).unwrap();
    let seen = (0..sessions.n_rows()).filter_map(|row| sessions.str(row, db_session::statement));
    let seen: std::collections::BTreeSet<_> = seen.collect();
    // Each of the short ones may have been under way at a look.
    assert!(seen.contains("select sleep(?), ?"), "{seen:?}");
    assert!(seen.iter().all(|text| ["select sleep(?), ?", "select * from a where id = ?"].contains(text)), "{seen:?}");
    // MariaDB counts what a session did in userstat when the statement ends.
    let indexes = rows.of(&db_index::TABLE).unwrap();
    let of_a = |row: usize| indexes.str(row, db_index::relation) == Some("test.a");
    let read = amount(&rows, &db_index::TABLE, (db_index::dt, db_index::entries_read_per_s), of_a).round();
    // The plan of one that was seen is looked at, for which the optimizer reads the row.
    let looked = f64::from(u8::from(seen.contains("select * from a where id = ?")));
    assert!((10.0..=10.0 + looked).contains(&read), "{read}, {seen:?}");
    let settings = rows.of(&db_setting::TABLE).unwrap();
    let started = places(&rows, &db_setting::TABLE, |row| settings.str(row, db_setting::name) == Some("started"));
    assert_eq!(started.len(), 1);
    let changed = places(&rows, &db_setting::TABLE, |row| settings.str(row, db_setting::name) == Some("read_only"));
    assert_eq!(changed.len(), 2, "at the start, and at the end because it changed");
}

#[test]
fn a_text_longer_than_an_answer_may_be_ends_no_observation() {
    let Some(server) = server(&["--performance-schema=OFF", "--max-allowed-packet=64M"]) else { return };
    let mut observation = begin(&server.url("test"), 20).unwrap();
    thread::scope(|scope| {
        let mut client = server.client("test");
        let sql = format!("SELECT SLEEP(3), LENGTH('{}')", "x".repeat(9 << 20));
        scope.spawn(move || client.run(&sql).unwrap());
        observation.go_on(3.5);
    });
    let rows = observation.end();
    let sessions = rows.of(&db_session::TABLE).unwrap();
    assert!(
        (0..sessions.n_rows()).all(|row| sessions.str(row, db_session::statement).is_none_or(|text| text.len() < 5000))
    );
    assert!((1.0..3.5).contains(&time_in(&rows, "timeout", "sampled")), "{}", time_in(&rows, "timeout", "sampled"));
}

#[test]
fn truncated_statements_count_from_nothing() {
    let Some(server) = server(&[SCHEMA]) else { return };
    let mut client = server.client("test");
    for _ in 0..50 {
        client.run("SELECT 1 + 1").unwrap();
    }
    let mut observation = begin(&server.url("test"), 10).unwrap();
    // The server reports in whole seconds since when it counts.
    thread::sleep(Duration::from_millis(1100));
    client.run("TRUNCATE performance_schema.events_statements_summary_by_digest").unwrap();
    for _ in 0..60 {
        client.run("SELECT 1 + 1").unwrap();
    }
    observation.go_on(1.2);
    let rows = observation.end();
    let statements = rows.of(&db_statement::TABLE).unwrap();
    let calls = amount(&rows, &db_statement::TABLE, (db_statement::dt, db_statement::calls_per_s), |row| {
        statements.str(row, db_statement::statement) == Some("select ? + ?")
    });
    assert_eq!(calls.round(), 60.0);
    assert!(events(&rows).iter().any(|kind| kind == "counter reset"));
}
