//! Questions of databases on rows with answers calculated by hand.

use fenxi_model::{
    Rows,
    catalog::{
        db, db_checkpoint, db_index, db_io, db_lock, db_plan, db_progress, db_replication, db_session, db_setting,
        db_statement, db_statement_wait, db_table, db_wait, db_wal, disk, file_cache, io_pattern, metric, process,
        query, sched,
    },
};
use fenxi_query::{Scope, questions};

use crate::store::{TestStore, at, cells};

const SERVER: &str = "localhost:5432";
/// Seconds of the run.
const SECONDS: u32 = 10;

/// A row of db_wait.
fn wait(
    rows: &mut Rows,
    second: u32,
    activity: &str,
    event: Option<&str>,
    kind: &str,
    measured: Option<&str>,
    time: f64,
) {
    rows.row(&db_wait::TABLE, at(f64::from(second)), 1.0)
        .str(db_wait::server, SERVER)
        .str(db_wait::activity, activity)
        .str(db_wait::wait_event, event)
        .str(db_wait::kind, kind)
        .str(db_wait::measured, measured)
        .f64(db_wait::time, time);
}

/// The server's own row and one of a database: 200 commits a second.
fn counters(rows: &mut Rows, second: u32) {
    for database in [None, Some("shop")] {
        let mut row = rows.row(&db::TABLE, at(f64::from(second)), 1.0);
        row.str(db::server, SERVER)
            .str(db::database, database)
            .f64(db::commits_per_s, 190.0)
            .f64(db::rollbacks_per_s, 10.0)
            .f64(db::cache_hits_per_s, 9_000.0)
            .f64(db::cache_misses_per_s, 1_000.0)
            .f64(db::block_read_time, 0.5)
            .f64(db::sessions, 8.0)
            .f64(db::xid_age, 5e6);
        if database.is_none() {
            row.f64(db::samples, 10.0)
                .f64(db::active_sampled, 2.0)
                .f64(db::round_trip_ms, 0.2)
                .f64(db::statements_per_s, 800.0)
                .f64(db::log_bytes_per_s, 2e6);
        }
    }
}

/// Each second: on CPU 1.0 and in the run queue 0.5 by the kernel, where samples saw 0.2; half of the seconds two
/// sessions wait for a lock and one reads.
fn waits(rows: &mut Rows, second: u32) {
    wait(rows, second, "cpu", Some("cpu"), "client", Some("os"), 1.0);
    wait(rows, second, "run queue", Some("run queue"), "client", Some("os"), 0.5);
    wait(rows, second, "cpu", Some("cpu"), "background", Some("os"), 0.1);
    wait(rows, second, "cpu", None, "client", Some("sampled"), 0.2);
    wait(rows, second, "idle in transaction", Some("ClientRead"), "client", Some("sampled"), 3.0);
    if second <= SECONDS / 2 {
        wait(rows, second, "lock", Some("transactionid"), "client", Some("sampled"), 2.0);
        wait(rows, second, "user io", Some("DataFileRead"), "client", Some("sampled"), 1.0);
    }
}

/// Two samples a second of session 7, which waits for 9 for five seconds; 9 is idle in a transaction all the time.
fn sessions(rows: &mut Rows, second: u32) {
    for half in [0.5, 1.0] {
        let t = at(f64::from(second - 1) + half);
        let mut session = |number: i64, state: &str, activity: &str, application: &str| {
            rows.row(&db_session::TABLE, t, 0.5)
                .str(db_session::server, SERVER)
                .i64(db_session::session, number)
                .i64(db_session::pid, number)
                .str(db_session::kind, "client backend")
                .str(db_session::state, state)
                .str(db_session::activity, activity)
                .str(db_session::application, application)
                .str(db_session::digest, if number == 7 { "d7" } else { "d2" })
                .str(db_session::statement, if number == 7 { "UPDATE seen SET n = ?" } else { "SELECT ?" })
                .f64(db_session::transaction_age_s, f64::from(second) + half)
                .f64(db_session::state_age_s, f64::from(second));
        };
        session(9, "idle in transaction", "idle in transaction", "batch");
        if second <= SECONDS / 2 {
            session(7, "active", "lock", "shop");
        }
    }
    if second <= SECONDS / 2 {
        rows.row(&db_statement_wait::TABLE, at(f64::from(second)), 1.0)
            .str(db_statement_wait::server, SERVER)
            .str(db_statement_wait::query_id, "41")
            .str(db_statement_wait::activity, "lock")
            .str(db_statement_wait::wait_class, "Lock")
            .str(db_statement_wait::wait_event, "transactionid")
            .f64(db_statement_wait::time, 0.5)
            .f64(db_statement_wait::waits_per_s, 10.0)
            .f64(db_statement_wait::mean_ms, 50.0);
        for (waiter, blocker, depth) in [(7, 9, 1.0), (8, 7, 2.0)] {
            rows.row(&db_lock::TABLE, at(f64::from(second)), 1.0)
                .str(db_lock::server, SERVER)
                .i64(db_lock::waiter, waiter)
                .i64(db_lock::blocker, blocker)
                .i64(db_lock::root, 9)
                .f64(db_lock::depth, depth)
                .str(db_lock::lock, "transactionid")
                .str(db_lock::direct, "yes")
                .str(db_lock::relation, "public.orders")
                .f64(db_lock::waited_s, f64::from(second))
                .str(db_lock::digest, "d1")
                .str(db_lock::blocker_state, if blocker == 9 { "idle in transaction" } else { "active" })
                .f64(db_lock::blocker_transaction_age_s, 60.0)
                .str(db_lock::blocker_digest, "d2");
        }
    }
}

/// Statements of ten seconds; the second did not run in the first five.
fn statements(rows: &mut Rows) {
    let mut statement = |second: f64, digest: Option<&str>, text: &str, calls: f64, time: f64| {
        rows.row(&db_statement::TABLE, at(second), 5.0)
            .str(db_statement::server, SERVER)
            .str(db_statement::database, "shop")
            .str(db_statement::digest, digest)
            .str(db_statement::statement, text)
            .f64(db_statement::calls_per_s, calls)
            .f64(db_statement::time, time)
            .f64(db_statement::rows_per_s, calls)
            .f64(db_statement::cache_hits_per_s, 10.0 * calls)
            .f64(db_statement::cache_misses_per_s, calls);
    };
    statement(5.0, Some("d1"), "UPDATE orders SET a = ? WHERE id = ?", 100.0, 2.0);
    statement(10.0, Some("d1"), "UPDATE orders SET a = ? WHERE id = ?", 100.0, 1.0);
    statement(10.0, Some("d2"), "SELECT ?", 300.0, 0.03);
    statement(10.0, None, "(others)", 20.0, 0.1);
}

/// Tables, indexes and what the server does beside.
fn objects(rows: &mut Rows) {
    let t = at(10.0);
    for (name, misses, size) in [("public.orders", 900.0, 1e9), ("public.log", 50.0, 8e9)] {
        rows.row(&db_table::TABLE, t, 10.0)
            .str(db_table::server, SERVER)
            .str(db_table::database, "shop")
            .str(db_table::relation, name)
            .str(db_table::file, "base/5/100")
            .f64(db_table::cache_misses_per_s, misses)
            .f64(db_table::cache_hits_per_s, 9.0 * misses)
            .f64(db_table::full_scans_per_s, 1.0)
            .f64(db_table::full_scan_rows_per_s, 1e4)
            .f64(db_table::live_rows, 1e4)
            .f64(db_table::dead_rows, 100.0)
            .f64(db_table::rows_updated_per_s, 100.0)
            .f64(db_table::xid_age, 4e6)
            .f64(db_table::size_bytes, size);
    }
    rows.row(&db_index::TABLE, t, 10.0)
        .str(db_index::server, SERVER)
        .str(db_index::database, "shop")
        .str(db_index::relation, "public.orders")
        .str(db_index::index_name, "orders_pkey")
        .f64(db_index::scans_per_s, 0.0)
        .f64(db_index::cache_misses_per_s, 50.0)
        .f64(db_index::cache_hits_per_s, 50.0)
        .f64(db_index::size_bytes, 1e8);
    rows.row(&db_io::TABLE, t, 10.0)
        .str(db_io::server, SERVER)
        .str(db_io::kind, "client backend")
        .f64(db_io::reads_per_s, 1_000.0)
        .f64(db_io::read_time, 0.5);
    rows.row(&db_wal::TABLE, t, 1.0)
        .str(db_wal::server, SERVER)
        .f64(db_wal::wal_bytes_per_s, 2e6)
        .f64(db_wal::sync_time, 0.2);
    rows.row(&db_checkpoint::TABLE, t, 1.0)
        .str(db_checkpoint::server, SERVER)
        .f64(db_checkpoint::timed, 1.0)
        .f64(db_checkpoint::checkpoint_buffers_per_s, 50.0);
    rows.row(&db_replication::TABLE, t, 1.0)
        .str(db_replication::server, SERVER)
        .str(db_replication::name, "standby")
        .f64(db_replication::replay_lag_s, 0.1);
    rows.row(&db_progress::TABLE, t, 1.0).str(db_progress::server, SERVER).i64(db_progress::session, 12);
    for (second, plan, replaced) in [(0.0, "p1", None), (5.0, "p2", Some("p1"))] {
        rows.row(&db_plan::TABLE, at(second), None)
            .str(db_plan::server, SERVER)
            .str(db_plan::digest, "d1")
            .str(db_plan::plan, plan)
            .str(db_plan::source, "generic")
            .text(db_plan::shape, plan)
            .text(db_plan::tree, plan)
            .str(db_plan::replaced, replaced)
            .text(db_plan::change, replaced.map(|_| "t: index scan → sequential scan"));
    }
    for (name, value, origin) in
        [("cpus", "2", "server"), ("max_connections", "100", "default"), ("work_mem", "4096", "file")]
    {
        for (second, value) in [(0.0, value), (10.0, if name == "work_mem" { "8192" } else { value })] {
            rows.row(&db_setting::TABLE, at(second), None)
                .str(db_setting::server, SERVER)
                .str(db_setting::name, name)
                .str(db_setting::origin, origin)
                .text(db_setting::built_in, "100")
                .text(db_setting::value, value);
        }
    }
}

/// Rows about it from the rest of Fenxi.
fn around(rows: &mut Rows) {
    let t = at(10.0);
    rows.row(&sched::TABLE, t, 1.0).f64(sched::cpus_online, 4.0);
    rows.row(&process::TABLE, t, 10.0).i64(process::pid, 7).f64(process::cpu, 40.0).f64(process::run_queue_wait, 20.0);
    rows.row(&disk::TABLE, t, 1.0)
        .str(disk::device, "sda")
        .str(disk::class, "disk")
        .f64(disk::reads_per_s, 50.0)
        .f64(disk::read_await_ms, 4.0);
    rows.row(&io_pattern::TABLE, t, 10.0)
        .str(io_pattern::file, "/var/lib/db/base/5/100.1")
        .str(io_pattern::op, "read")
        .f64(io_pattern::ops_per_s, 90.0)
        .f64(io_pattern::mean_us, 20.0);
    rows.row(&file_cache::TABLE, t, 1.0)
        .str(file_cache::path, "/var/lib/db/base/5/100")
        .f64(file_cache::cached_bytes, 4e8);
    rows.row(&query::TABLE, t, 10.0)
        .str(query::digest, "d1")
        .str(query::statement, "UPDATE orders SET a = ? WHERE id = ?")
        .f64(query::queries, 1_000.0)
        .f64(query::mean_us, 16_000.0);
    rows.row(&metric::TABLE, t, 1.0)
        .str(metric::name, "db_poller_server_cpu")
        .str(metric::labels, format!("server={SERVER}").as_str())
        .f64(metric::value, 0.002);
    rows.note(SERVER, None, "times of reads and writes are not known: track_io_timing is off");
}

fn shop(rows: &mut Rows) {
    for second in 1..=SECONDS {
        counters(rows, second);
        waits(rows, second);
        sessions(rows, second);
    }
    statements(rows);
    objects(rows);
    around(rows);
    crate::pools::rows(rows);
}

fn asked() -> TestStore {
    let mut s = TestStore::new();
    s.run("shop", f64::from(SECONDS), shop);
    s
}

#[test]
fn every_question_of_databases_has_an_answer_in_a_recording_of_one() {
    let s = asked();
    let engine = s.engine();
    let mut wrong = Vec::new();
    for question in questions(&s.store).unwrap().iter().filter(|q| q.name.starts_with("db-")) {
        match engine.answer(question, &[], &Scope::all()) {
            Err(e) => wrong.push(format!("{}: {e}", question.name)),
            Ok(answer) if answer.n_rows() == 0 => wrong.push(format!("{} has no rows", question.name)),
            Ok(answer) => {
                for y in question.y.iter().take(1) {
                    if answer.f64s(y).iter().all(Option::is_none) {
                        wrong.push(format!("{}: no {y}", question.name));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn db_time_is_the_kernels_cpu_and_the_samples_waits_over_all_samples() {
    let s = asked();
    // Waits of five of ten seconds count half. What samples called CPU (0.2) is in none of it.
    let mut rows: Vec<Vec<String>> = s.ask("db-time").into_iter().map(|row| row[1..].to_vec()).collect();
    assert_eq!(rows[4][0], "idle in transaction", "what is no DB time comes last");
    rows.sort();
    assert_eq!(
        rows,
        [
            ["background: cpu", "0.1", "-", "os"],
            ["cpu", "1", "33.333333", "os"],
            ["idle in transaction", "3", "-", "sampled"],
            ["lock", "1", "33.333333", "sampled"],
            ["run queue", "0.5", "16.666667", "os"],
            ["user io", "0.5", "16.666667", "sampled"],
        ]
    );
    let waits = s.ask("db-waits");
    let lock = waits.iter().find(|row| row[3] == "transactionid").unwrap();
    assert_eq!(lock[1..], ["lock", "-", "transactionid", "client", "1", "33.333333", "-", "-", "sampled"]);
}

#[test]
fn active_sessions_are_nought_where_nobody_was_seen_and_a_server_knows_its_cpus() {
    let s = asked();
    let rows = s.ask("db-activity");
    assert_eq!(rows.len(), SECONDS as usize);
    // t, dt, server, on_cpu, run_queue, user_io, system_io, commit, concurrency, lock, ipc, …, idle in transaction, CPUs.
    assert_eq!(rows[0][1..], ["1", SERVER, "1", "0.5", "1", "0", "0", "0", "2", "0", "0", "0", "0", "0", "3", "2"]);
    assert_eq!(rows[9][1..], ["1", SERVER, "1", "0.5", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "3", "2"]);
}

#[test]
fn a_root_holds_up_all_that_wait_behind_it() {
    let s = asked();
    let rows = s.ask("db-blocking");
    assert_eq!(rows.len(), 1, "8 waits for 7, which waits for 9: {rows:?}");
    // Two sessions for five seconds.
    assert_eq!(rows[0][..8], [SERVER, "9", "10", "5", "2", "2", "5", "idle in transaction"]);
    assert_eq!(rows[0].last().unwrap(), "SELECT ?");
    let targets = s.ask("db-lock-targets");
    assert_eq!(targets[0][7], "10", "{targets:?}");
    // Only sessions were seen in it.
    let running = s.ask("db-statements-running");
    let seen: Vec<&str> = running[0][2..9].iter().map(String::as_str).collect();
    assert_eq!(seen, ["0.5", "100", "lock", "100", "10", "UPDATE seen SET n = ?", "d7"]);
    let over_time = s.ask("db-blocking-over-time");
    let waiters: Vec<&str> = over_time.iter().map(|row| row[3].as_str()).collect();
    assert_eq!(waiters, ["2", "2", "2", "2", "2", "0", "0", "0", "0", "0"]);
}

#[test]
fn a_statement_that_rests_in_an_interval_counts_for_all_the_time() {
    let s = asked();
    let rows: Vec<Vec<String>> = s.ask("db-statements").into_iter().map(|row| row[2..6].to_vec()).collect();
    // (2.0 * 5 + 1.0 * 5) / 10 s of 1.565; 15 s in 1,000 calls. The second ran 1,500 times in 0.15 s.
    assert_eq!(rows[0], ["1.5", "95.846645", "100", "15"]);
    assert_eq!(rows[2], ["0.015", "0.958466", "150", "0.1"]);
    let pings = s.ask("db-pings");
    // 150 of 260 calls a second.
    assert_eq!((pings[0][1..3].join(" "), pings[0][5].as_str()), ("150 57.692308".to_owned(), "SELECT ?"));
    assert_eq!(pings.len(), 1);
}

#[test]
fn what_statements_do_not_explain_is_db_time_less_their_time() {
    let s = asked();
    let rows: Vec<Vec<String>> = s.ask("db-unexplained").into_iter().map(|row| row[1..].to_vec()).collect();
    // 1 + 0.5 + 2 + 1 in the first five seconds, 1 + 0.5 in the others.
    assert_eq!(rows[0], ["5", SERVER, "2", "2.5", "4.5"]);
    assert_eq!(rows[1], ["5", SERVER, "1.13", "0.37", "1.5"]);
}

#[test]
fn a_transactions_cost_is_that_of_the_server_and_not_of_its_databases_too() {
    let s = asked();
    let rows = s.ask("db-time-per-transaction");
    let of = |what: &str| rows.iter().find(|row| row[1] == what).unwrap()[3..].to_vec();
    assert_eq!(of("transactions"), ["200", "1", "0.25"]);
    assert_eq!(of("DB time"), ["3000", "15", "3.75"], "milliseconds");
    assert_eq!(of("log"), ["2000000", "10000", "2500"]);
}

#[test]
fn sessions_count_by_the_time_that_their_samples_stand_for() {
    let s = asked();
    let rows = s.ask("db-sessions");
    let of = |application: &str| rows.iter().find(|row| row[3] == application).unwrap()[5..9].to_vec();
    // Session 7 was seen in 10 samples of half a second of ten seconds, 9 in all twenty.
    assert_eq!(of("shop"), ["1", "0.5", "0.5", "0"]);
    assert_eq!(of("batch"), ["1", "0", "0", "1"]);
    let cpu = s.ask("db-session-cpu");
    assert_eq!((cpu[0][1].as_str(), cpu[0][6].as_str(), cpu[0][7].as_str()), ("7", "4", "2"));
}

#[test]
fn objects_are_ordered_by_reads_per_byte_until_enough_are_covered() {
    let s = asked();
    assert_eq!(s.ask("db-hot-objects").len(), 1, "900 of 1,000 reads are one table's");
    let until = [("until".to_owned(), "95.0".to_owned())];
    let rows = cells(&s.engine().ask("db-hot-objects", &until, &Scope::all()).unwrap());
    let names: Vec<(&str, &str)> = rows.iter().map(|row| (row[3].as_str(), row[7].as_str())).collect();
    assert_eq!(names, [("public.orders", "90"), ("public.orders orders_pkey", "95")]);
}

/// The answer to a question with parameters, over a time range in seconds.
fn chosen(s: &TestStore, name: &str, params: &[(&str, &str)], range: (Option<f64>, Option<f64>)) -> Vec<Vec<String>> {
    let params: Vec<(String, String)> = params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    cells(&s.engine().ask(name, &params, &Scope::all().between(range.0, range.1)).unwrap())
}

const ALWAYS: (Option<f64>, Option<f64>) = (None, None);

#[test]
fn what_was_active_is_split_by_class_and_narrowed_down() {
    let s = asked();
    let top = |params: &[(&str, &str)]| chosen(&s, "db-top-activity", params, ALWAYS);
    // Who, text, sessions, share, sessions seen; session 9 did no work, 7 waited in five of ten seconds.
    let rows = top(&[]);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0][..6], [SERVER, "d7", "UPDATE seen SET n = ?", "0.5", "100", "1"]);
    // on_cpu to lock_wait.
    assert_eq!(rows[0][6..13], ["0", "0", "0", "0", "0", "0", "0.5"]);
    assert_eq!(top(&[("by", "session"), ("class", "lock")])[0][1], "7");
    assert_eq!(top(&[("by", "event")])[0][1], "(none)", "no event was seen");
    assert_eq!(top(&[("by", "user"), ("user", "(none)")])[0][4], "100", "what has none can be chosen");
    for no_one in [("session", "9"), ("class", "cpu"), ("server", "other"), ("application", "batch")] {
        assert_eq!(top(&[no_one]), Vec::<Vec<String>>::new(), "{no_one:?}");
    }
    // Sessions idle in a transaction are shown where that is chosen.
    let idle = top(&[("by", "application"), ("class", "idle in transaction")]);
    assert_eq!((idle[0][1].as_str(), idle[0][3].as_str()), ("batch", "1"));
    // Of the first five seconds it is all of the time.
    assert_eq!(chosen(&s, "db-top-activity", &[], (None, Some(5.2)))[0][3], "1");
    let over_time = chosen(&s, "db-by-application", &[("by", "class"), ("session", "7")], ALWAYS);
    let classes: Vec<&str> = over_time.iter().map(|row| row[2].as_str()).collect();
    assert!(!classes.is_empty() && classes.iter().all(|class| *class == "lock"), "{over_time:?}");
}

#[test]
fn the_list_of_classes_is_what_the_chart_above_it_shows() {
    let s = asked();
    let list = s.engine().ask("db-top-activity", &[("by".to_owned(), "class".to_owned())], &Scope::all()).unwrap();
    let chart = s.engine().ask("db-activity", &[], &Scope::all()).unwrap();
    let listed: Vec<_> = list.strings("who").into_iter().flatten().zip(list.f64s("active_sessions")).collect();
    let known = [("cpu", "on_cpu"), ("lock", "lock_wait"), ("run queue", "run_queue"), ("user io", "user_io")];
    assert_eq!(listed.len(), known.len(), "{listed:?}");
    for (class, column) in known {
        let drawn = chart.f64s(column).into_iter().flatten().sum::<f64>() / chart.n_rows() as f64;
        let (_, sessions) = listed.iter().find(|(name, _)| name == class).unwrap();
        assert!((sessions.unwrap() - drawn).abs() < 1e-9, "{class}: {sessions:?}, {drawn}");
    }
}

#[test]
fn the_tree_of_blockers_is_that_of_one_moment() {
    let s = asked();
    // Session, waits for, root, depth, waited, state: of the moment at which they had waited longest.
    let rows: Vec<Vec<String>> = s.ask("db-blocking-tree").into_iter().map(|row| row[2..8].to_vec()).collect();
    assert_eq!(rows[0], ["9", "-", "9", "0", "-", "idle in transaction"]);
    assert_eq!(rows[1], ["7", "9", "9", "1", "5", "waiting"]);
    assert_eq!(rows[2], ["8", "7", "9", "2", "5", "waiting"]);
    assert_eq!(rows.len(), 3);
    let second = chosen(&s, "db-blocking-tree", &[], (Some(0.9), Some(2.0)));
    assert_eq!((second.len(), second[1][6].as_str()), (3, "2"));
    assert_eq!(chosen(&s, "db-blocking-tree", &[], (Some(7.0), Some(9.0))).len(), 0);
}

#[test]
fn key_figures_are_those_of_the_time_range_or_are_left_out() {
    let s = asked();
    let figures = |range| {
        let rows = chosen(&s, "db-key-figures", &[], range);
        move |name: &str| rows.iter().find(|row| row[1] == name).map(|row| row[3].clone())
    };
    let of = figures(ALWAYS);
    assert_eq!(of("DB time").unwrap(), "3");
    assert_eq!(of("DB time per transaction").unwrap(), "15");
    // (2.0 + 1.13) * 5 of 30 s.
    assert_eq!(of("time in statements").unwrap(), "52.166667");
    assert_eq!(of("cache hits").unwrap(), "90");
    assert_eq!(of("checkpoints").unwrap(), "1");
    assert_eq!(of("oldest transaction"), None, "the server does not say it");
    // Statements of the second five seconds alone: those of an interval that began before are not compared.
    assert_eq!(figures((Some(5.2), None))("time in statements").unwrap(), "75.333333");
    assert_eq!(figures((Some(7.2), None))("time in statements"), None);
}

#[test]
fn a_session_has_the_times_of_its_own_process() {
    let s = asked();
    let rows = chosen(&s, "db-session-process", &[("session", "7")], ALWAYS);
    assert_eq!(rows[0][2..5], ["session 7", "40", "20"]);
    assert_eq!(chosen(&s, "db-session-process", &[("session", "9")], ALWAYS).len(), 0);
}
