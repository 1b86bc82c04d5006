//! Sessions of PostgreSQL by its memory, beside the same sessions by its answers, at the same time.

use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
    time::{Duration, Instant},
};

use fenxi_load::schedule::Schedule;
use fenxi_model::{
    Rows,
    catalog::{db_session, db_wait},
};
use fenxi_wire::{Mode, client::Client};

use crate::{
    observe::{amount, begin, notes, places, time_in},
    saved::Listener,
    server::{Server, skipped},
    versions::of_version,
};

const WITH_STATEMENTS: &[&str] =
    &["-c", "shared_preload_libraries=pg_stat_statements", "-c", "deadlock_timeout=1s", "-c", "fsync=on"];

/// Session seconds of clients in a wait.
fn waited(rows: &Rows, event: &str) -> f64 {
    let Some(waits) = rows.of(&db_wait::TABLE) else { return 0.0 };
    amount(rows, &db_wait::TABLE, (db_wait::dt, db_wait::time), |row| {
        waits.str(row, db_wait::wait_event) == Some(event) && waits.str(row, db_wait::measured) == Some("sampled")
    })
}

/// Whether sessions were read from memory: else a note says why not.
fn is_by_memory(rows: &Rows) -> bool {
    !notes(rows).iter().any(|note| note.contains("is asked for its sessions"))
}

/// States of all sessions with this application, as words that do not depend on the moment, and in how many looks.
fn known(rows: &Rows, application: &str) -> BTreeMap<String, u32> {
    let sessions = rows.of(&db_session::TABLE).unwrap();
    let is_it = |row: usize| sessions.str(row, db_session::application) == Some(application);
    let text = |row: usize, place| sessions.str(row, place).unwrap_or("-").to_owned();
    let mut all = BTreeMap::new();
    for row in places(rows, &db_session::TABLE, is_it) {
        let words = [
            db_session::database,
            db_session::user,
            db_session::state,
            db_session::wait_class,
            db_session::wait_event,
            db_session::activity,
            db_session::kind,
        ];
        let mut words: Vec<String> = words.into_iter().map(|place| text(row, place)).collect();
        words.push(text(row, db_session::digest));
        words.push(text(row, db_session::query_id));
        words.push(sessions.str(row, db_session::statement).unwrap_or("-").to_owned());
        words.push(sessions.i64(row, db_session::pid).unwrap_or_default().to_string());
        *all.entry(words.join(" ")).or_default() += 1;
    }
    all
}

#[test]
fn memory_and_answers_say_the_same_of_every_version() {
    thread::scope(|scope| {
        for version in 14..=18 {
            scope.spawn(move || {
                of_version(version, WITH_STATEMENTS, &mut |server| says_the_same(server, version));
            });
        }
    });
}

fn says_the_same(server: &Server, version: u32) {
    server.client("postgres").run("CREATE EXTENSION pg_stat_statements; CREATE TABLE held (n int)").unwrap();
    let listener = Listener::before(server);
    let mut by_memory = begin(&server.url("postgres"), 40).unwrap();
    // A proxy is not the server itself, so that this one is asked.
    let mut by_answers = begin(&listener.url(server), 40).unwrap();
    let began = Instant::now();
    thread::scope(|scope| {
        let named = |name: &str| {
            let mut client = server.client("postgres");
            client.run(&format!("SET application_name = '{name}'")).unwrap();
            client
        };
        let sleeper = scope.spawn(move || named("sleeper").run("SELECT pg_sleep(2)").unwrap());
        let mut holder = named("holder");
        holder.run("BEGIN").unwrap();
        holder.run("LOCK TABLE held").unwrap();
        let waiter = scope.spawn(move || named("waiter").run("SELECT count(*) FROM held").unwrap());
        thread::sleep(Duration::from_millis(1500));
        holder.run("COMMIT").unwrap();
        waiter.join().unwrap();
        sleeper.join().unwrap();
    });
    by_memory.go_on(0.5);
    by_answers.go_on(0.1);
    let seconds = began.elapsed().as_secs_f64();
    let (memory, answers) = (by_memory.end(), by_answers.end());
    assert!(is_by_memory(&memory), "{version}: {:?}", notes(&memory));
    for application in ["sleeper", "waiter", "holder"] {
        let (of_memory, of_answers) = (known(&memory, application), known(&answers, application));
        // States that last shorter than a few looks are seen by chance.
        let main: Vec<_> = of_answers.iter().filter(|(_, looks)| **looks > 5).collect();
        assert!(!main.is_empty(), "{version}: {application} is not seen");
        for (line, _) in main {
            assert!(of_memory.contains_key(line), "{version}: {line}\n{of_memory:#?}");
        }
    }
    for (event, least) in [("PgSleep", 1.8), ("relation", 1.3)] {
        let both = (waited(&memory, event), waited(&answers, event));
        assert!(both.0 > least && (both.0 - both.1).abs() < 0.2, "{version}: {event} {both:?} of {seconds} s");
    }
    let idle = |rows: &Rows| time_in(rows, "idle in transaction", "sampled");
    assert!((idle(&memory) - idle(&answers)).abs() < 0.2, "{version}");
    // The statement that looks at sessions was not executed for the one that reads memory: only the other one's is there.
    let looks =
        server.number("SELECT sum(calls) FROM pg_stat_statements WHERE query LIKE '%pg_stat_get_backend_idset%'");
    assert!(looks > 20, "{version}: {looks}");
}

#[test]
fn a_server_that_is_only_read_executes_no_statement_for_a_look() {
    let Some(server) = Server::postgres_with(WITH_STATEMENTS) else {
        return skipped("PostgreSQL", "it is not installed");
    };
    server.client("postgres").run("CREATE EXTENSION pg_stat_statements").unwrap();
    let program = server.program("tpcb_like", &[("scale", "1")]);
    server.prepare(&program).unwrap();
    let mut observation = begin(&server.url("postgres"), 40).unwrap();
    server.run(program, Mode::Prepared, Schedule::Closed);
    observation.go_on(0.5);
    let rows = observation.end();
    assert!(is_by_memory(&rows), "{:?}", notes(&rows));
    let looks =
        server.number("SELECT count(*) FROM pg_stat_statements WHERE query LIKE '%pg_stat_get_backend_idset%' AND query NOT LIKE '%count(*)%'");
    assert_eq!(looks, 0);
    let sessions = rows.of(&db_session::TABLE).unwrap();
    let of_load = places(&rows, &db_session::TABLE, |row| sessions.str(row, db_session::state) == Some("active"));
    assert!(!of_load.is_empty());
    let named = of_load.iter().filter(|row| sessions.str(**row, db_session::digest).is_some()).count();
    // A session has no number for its statement until that was parsed.
    assert!(named * 2 > of_load.len(), "{named} of {}", of_load.len());
}

#[test]
fn workers_of_a_parallel_statement_have_its_leader() {
    let Some(server) = Server::postgres_with(&[
        "-c",
        "max_parallel_workers_per_gather=2",
        "-c",
        "min_parallel_table_scan_size=0",
        "-c",
        "parallel_setup_cost=0",
        "-c",
        "parallel_tuple_cost=0",
    ]) else {
        return skipped("PostgreSQL", "it is not installed");
    };
    let mut client = server.client("postgres");
    client.run("CREATE TABLE wide AS SELECT n, repeat('x', 100) AS t FROM generate_series(1, 200000) n").unwrap();
    client.run("ANALYZE wide").unwrap();
    let mut observation = begin(&server.url("postgres"), 50).unwrap();
    client.run("SELECT count(*) FROM wide a WHERE md5(repeat(t, 100)) < '0'").unwrap();
    observation.go_on(0.3);
    let rows = observation.end();
    assert!(is_by_memory(&rows), "{:?}", notes(&rows));
    let sessions = rows.of(&db_session::TABLE).unwrap();
    let workers =
        places(&rows, &db_session::TABLE, |row| sessions.str(row, db_session::kind) == Some("parallel worker"));
    assert!(!workers.is_empty(), "{:?}", sessions.n_rows());
    let leaders: BTreeSet<_> = workers.iter().filter_map(|row| sessions.i64(*row, db_session::leader)).collect();
    assert_eq!(leaders.len(), 1);
}

#[test]
fn a_server_that_begins_anew_is_read_from_its_new_memory() {
    let Some(server) = Server::postgres_with(WITH_STATEMENTS) else {
        return skipped("PostgreSQL", "it is not installed");
    };
    let mut observation = begin(&server.url("postgres"), 20).unwrap();
    let mut client = server.client("postgres");
    let victim = client.number("SELECT pg_backend_pid()").unwrap().unwrap();
    observation.go_on(0.3);
    // All sessions end, and shared memory is made anew.
    let victim = rustix::process::Pid::from_raw(i32::try_from(victim).unwrap()).unwrap();
    rustix::process::kill_process(victim, rustix::process::Signal::KILL).unwrap();
    // Until both observers are there again: a server that recovers refuses them.
    let until = Instant::now() + Duration::from_secs(30);
    let ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fenxi-db'";
    let observers = || Client::connect(&server.target("postgres"), Duration::from_secs(1)).ok()?.number(ours).ok()?;
    while observers().is_none_or(|observers| observers < 2) {
        assert!(Instant::now() < until, "it is not observed again");
        observation.go_on(0.3);
    }
    observation.go_on(0.5);
    thread::scope(|scope| {
        scope.spawn(|| server.client("postgres").run("SELECT pg_sleep(1.5)").unwrap());
    });
    observation.go_on(0.3);
    let rows = observation.end();
    let slept = waited(&rows, "PgSleep");
    assert!((1.1..1.7).contains(&slept), "{slept}: {:?}", notes(&rows));
    assert!(is_by_memory(&rows), "{:?}", notes(&rows));
}
