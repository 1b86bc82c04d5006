//! Queries of real servers, whose number and forms are known, are counted exactly.

mod latency;
mod without_probes;

use std::{
    collections::BTreeMap,
    process::Command,
    time::{Duration, Instant},
};

use fenxi_ebpf::querystat::{Querystat, Servers};
use fenxi_load::{schedule::Schedule, workload::Workload};
use fenxi_model::{
    Rows, RowsOf, Table,
    catalog::{event, preemption as p, query as c},
};
use fenxi_wire::{Mode, client::Client};

use crate::{observed::Observed, server::Server, util::Hog};

/// Queries of a statement, and microseconds of all of them.
type Seen = BTreeMap<String, (u64, f64)>;

/// By statement; what was pre-empted is in it.
fn statements(rows: &Rows) -> Seen {
    let mut seen = Seen::new();
    if let Some(rows) = rows.of(&c::TABLE) {
        for row in (0..rows.n_rows()).filter(|row| rows.str(*row, c::preempted).is_none()) {
            let Some(statement) = rows.str(row, c::statement) else { continue };
            let queries = rows.f64(row, c::queries).unwrap();
            let sums = seen.entry(statement.to_owned()).or_default();
            sums.0 += queries as u64;
            sums.1 += queries * rows.f64(row, c::mean_us).unwrap();
        }
    }
    seen
}

fn of(server: &Server) -> Querystat {
    Querystat { servers: Servers::Processes(vec![server.child.id()]), slower_ns: None, cache: server.scheme == "mysql" }
}

fn skipped(server: &str) {
    eprintln!("SKIPPED querystat of {server}: it is not installed here");
}

/// Sends `count` statements and gives how long each took for the client, in microseconds.
fn send(client: &mut Client, count: u64, sql: impl Fn(u64) -> String) -> Vec<f64> {
    let mut took = Vec::new();
    for number in 0..count {
        let sql = sql(number);
        let began = Instant::now();
        let _ = client.run(&sql);
        took.push(began.elapsed().as_secs_f64() * 1e6);
    }
    took
}

/// A client has its answer before the server is done with the query.
fn wait_for_the_last() {
    std::thread::sleep(Duration::from_millis(300));
}

/// Ten thousand statements of five forms, each text another one.
fn ten_thousand_are_ten_thousand(server: &Server) {
    let mut client = server.client(server.database());
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int, s varchar(40))").unwrap();
    let Some(mut observed) = Observed::begin(&of(server)) else { return };
    send(&mut client, 3000, |n| format!("INSERT INTO t VALUES ({n}, {}, 'it''s {n}')", n * 7));
    let selects = send(&mut client, 4000, |n| format!("select v from t where id = {n}"));
    observed.read();
    send(&mut client, 1000, |n| format!("SELECT  v\nFROM t WHERE id={n} -- no {n}"));
    send(&mut client, 1500, |n| format!("UPDATE t SET v = v + {n} WHERE id = {n} AND s <> 'x{n}'"));
    send(&mut client, 400, |n| format!("SELECT v FROM t WHERE id IN ({})", "1, ".repeat(n as usize % 9 + 1) + "2"));
    // Errors are queries, too.
    send(&mut client, 100, |n| format!("selec {n}"));
    wait_for_the_last();
    let seen = statements(observed.read());
    let counts: BTreeMap<&str, u64> = seen.iter().map(|(text, (queries, _))| (text.as_str(), *queries)).collect();
    let expected = [
        ("insert into t values (?, ...)", 3000),
        ("select v from t where id = ?", 4000),
        ("select v from t where id=?", 1000),
        ("update t set v = v + ? where id = ? and s <> ?", 1500),
        ("select v from t where id in (?, ...)", 400),
        ("selec ?", 100),
    ];
    assert_eq!(counts, BTreeMap::from(expected), "{}", server.scheme);
    let (queries, inside_us) = seen["select v from t where id = ?"];
    let outside_us: f64 = selects.iter().sum();
    assert!(inside_us < outside_us, "{queries}: {inside_us} us inside, {outside_us} us outside");
    // The fastest represents all: on a busy machine most of the client's time is waits for a CPU.
    let fastest_us = selects.iter().copied().fold(f64::INFINITY, f64::min) * queries as f64;
    assert!(inside_us > 0.02 * fastest_us, "{queries}: {inside_us} us inside, {fastest_us} us outside at the fastest");
    a_known_time_is_measured(server, observed);
}

/// Queries that sleep 20 ms, reported as slow ones.
fn a_known_time_is_measured(server: &Server, observed: Observed) {
    drop(observed);
    let mut client = server.client(server.database());
    let slow = Querystat { slower_ns: Some(15_000_000), ..of(server) };
    let Some(mut observed) = Observed::begin(&slow) else { return };
    let sleep = if server.scheme == "mysql" { "SELECT sleep(0.02)" } else { "SELECT pg_sleep(0.02)" };
    let took = send(&mut client, 20, |_| sleep.to_owned());
    wait_for_the_last();
    let rows = observed.read();
    let seen = statements(rows);
    let (queries, inside_us) = seen[&sleep.to_lowercase().replace("0.02", "?")];
    assert_eq!(queries, 20);
    assert!(inside_us >= 20.0 * 20_000.0 && inside_us < took.iter().sum(), "{inside_us} of {took:?}");
    let slow = rows.of(&event::TABLE).map_or(0, |slow| slow.n_rows());
    assert_eq!(slow, 20);
    let waited: f64 = rows_of(rows, &c::TABLE).filter_map(|(rows, row)| rows.f64(row, c::cpu_us)).fold(0.0, f64::max);
    assert!(waited < 5_000.0, "sleeping is not on a CPU: {waited} us");
    let network: f64 =
        rows_of(rows, &c::TABLE).filter_map(|(rows, row)| rows.f64(row, c::network_us)).fold(0.0, f64::max);
    assert!(network < 5_000.0, "sleeping is no network: {network} us");
}

/// Transactions of a workload of one statement are its queries, however they are sent.
fn every_way_of_sending_is_counted_once(server: &Server, modes: &[Mode]) {
    let target = server.target(server.database());
    let mut client = server.client(server.database());
    client.run("CREATE TABLE sbtest1 (id int PRIMARY KEY, k int, c char(120), pad char(60))").unwrap();
    for mode in modes {
        let mut workload = Workload::shipped("oltp_point_select").unwrap();
        workload.set("table_size", "100").unwrap();
        let Some(mut observed) = Observed::begin(&of(server)) else { return };
        let program = workload.compile(target.login.dialect).unwrap();
        let outcome = server.run(program, *mode, Schedule::Closed);
        let sent = outcome.total.tally.transactions + outcome.drained.transactions;
        wait_for_the_last();
        let seen = statements(observed.read());
        let counted: u64 =
            seen.iter().filter(|(text, _)| text.starts_with("select c from sbtest1")).map(|(_, (n, _))| n).sum();
        assert!(sent > 0);
        assert_eq!(counted, sent, "{} {mode:?}: {seen:?}", server.scheme);
    }
}

fn pin_to_cpu_0(thread: u32) {
    let done = Command::new("taskset").args(["-cp", "0", &thread.to_string()]).output();
    assert!(done.is_ok_and(|output| output.status.success()), "taskset cannot pin {thread}");
}

/// Lets a thread run before all others, where that is allowed.
fn first_on_its_cpu(thread: u32) {
    let _ = Command::new("renice").args(["-n", "-20", "-p", &thread.to_string()]).output();
}

/// The thread that executes a client's queries.
fn thread_of(client: &mut Client, server: &Server) -> u32 {
    let sql = match server.scheme {
        "mysql" => "SELECT tid FROM information_schema.processlist WHERE id = connection_id()",
        _ => "SELECT pg_backend_pid()",
    };
    u32::try_from(client.number(sql).unwrap().unwrap()).unwrap()
}

/// Rows of a table, each with its table.
fn rows_of<'a, S>(rows: &'a Rows, table: &'static Table<S>) -> impl Iterator<Item = (RowsOf<'a, S>, usize)> {
    rows.of(table).into_iter().flat_map(|rows| (0..rows.n_rows()).map(move |row| (rows, row)))
}

/// How often this loop ran instead of a query.
fn pushed_off_by(hog: &Hog, rows: &Rows) -> f64 {
    let is_it = |(rows, row): &(RowsOf<'_, p::Schema>, usize)| {
        rows.i64(*row, p::by_pid) == Some(i64::from(hog.pid())) && rows.str(*row, p::by_comm) == Some("sh")
    };
    rows_of(rows, &p::TABLE).filter(is_it).filter_map(|(rows, row)| rows.f64(row, p::preemptions)).sum()
}

/// Microseconds that all pre-empted queries waited for a CPU.
fn waited_us(rows: &Rows) -> f64 {
    rows_of(rows, &c::TABLE)
        .filter(|(rows, row)| rows.str(*row, c::preempted) == Some("yes") && rows.str(*row, c::digest).is_none())
        .map(|(rows, row)| rows.f64(row, c::run_queue_us).unwrap() * rows.f64(row, c::queries).unwrap())
        .sum()
}

/// A loop on the same CPU as the session that executes.
fn a_hog_is_the_preemptor(server: &Server) {
    let mut client = server.client(server.database());
    let thread = thread_of(&mut client, server);
    pin_to_cpu_0(thread);
    // As the hog: where others want the CPU, too, the two come first.
    first_on_its_cpu(thread);
    let busy = match server.scheme {
        "mysql" => "SELECT benchmark(200000, md5('a'))",
        _ => "SELECT count(*) FROM generate_series(1, 300000)",
    };
    let hog = Hog::on(0);
    let Some(mut observed) = Observed::begin(&of(server)) else { return };
    for turn in 0..20 {
        let until = Instant::now() + Duration::from_millis(1000);
        while Instant::now() < until {
            client.run(busy).unwrap();
        }
        let rows = observed.read();
        if turn == 0 {
            let name = |(rows, row): (RowsOf<'_, p::Schema>, usize)| {
                (rows.i64(row, p::by_pid), rows.str(row, p::by_comm).map(str::to_owned))
            };
            let mut all: Vec<_> = rows_of(rows, &p::TABLE).map(name).collect();
            all.sort();
            assert!(all.windows(2).all(|two| two[0] != two[1]), "each is there once: {all:?}");
        }
        if pushed_off_by(&hog, rows) >= 5.0 && waited_us(rows) > 300_000.0 {
            break;
        }
    }
    let (times, waited_us) = (pushed_off_by(&hog, &observed.rows), waited_us(&observed.rows));
    eprintln!("{}: pushed off {times} times, waited {:.0} ms for the CPU", server.scheme, waited_us / 1e3);
    assert!(times >= 5.0, "{}: pushed off {times} times", server.scheme);
    assert!(waited_us > 300_000.0, "{}: waited {waited_us} us for the CPU", server.scheme);
}

/// A row that another session has locked is waited for.
fn a_lock_is_a_lock(server: &Server) {
    let (mut holder, mut waiter) = (server.client(server.database()), server.client(server.database()));
    let Some(mut observed) = Observed::begin(&of(server)) else { return };
    holder.run("BEGIN").unwrap();
    holder.run("UPDATE t SET v = 0 WHERE id = 5").unwrap();
    let waiting = std::thread::spawn(move || waiter.run("UPDATE t SET s = 'y' WHERE id = 5").unwrap());
    until_one_waits(&mut holder, server);
    std::thread::sleep(Duration::from_millis(300));
    holder.run("COMMIT").unwrap();
    waiting.join().unwrap();
    wait_for_the_last();
    let rows = observed.read();
    let most = rows_of(rows, &c::TABLE).filter_map(|(rows, row)| rows.f64(row, c::lock_us)).fold(0.0, f64::max);
    assert!((300_000.0..20_000_000.0).contains(&most), "{most} us; {:?}", statements(rows));
}

/// On a busy machine the one that is to wait may come late.
fn until_one_waits(holder: &mut Client, server: &Server) {
    let sql = match server.scheme {
        "mysql" => "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
        _ => "SELECT count(*) FROM pg_locks WHERE NOT granted",
    };
    let until = Instant::now() + Duration::from_secs(20);
    while holder.number(sql).unwrap() != Some(1) {
        assert!(Instant::now() < until, "{}: none waits", server.scheme);
        // InnoDB shows what it showed before to a client that asks again within a tenth of a second.
        std::thread::sleep(Duration::from_millis(250));
    }
}

#[test]
fn postgres_queries_are_counted_once_timed_and_their_waits_told_apart() {
    let Some(server) = Server::postgres() else { return skipped("PostgreSQL") };
    ten_thousand_are_ten_thousand(&server);
    every_way_of_sending_is_counted_once(&server, &[Mode::Simple, Mode::Prepared, Mode::Pipelined]);
    a_lock_is_a_lock(&server);
    a_hog_is_the_preemptor(&server);
    latency::inside_is_outside_less_the_round_trip(&server);
}

#[test]
fn mariadb_queries_are_counted_once_timed_and_their_waits_told_apart() {
    let Some(server) = Server::mariadb() else { return skipped("MariaDB") };
    ten_thousand_are_ten_thousand(&server);
    every_way_of_sending_is_counted_once(&server, &[Mode::Simple, Mode::Prepared]);
    a_lock_is_a_lock(&server);
    a_hog_is_the_preemptor(&server);
    latency::inside_is_outside_less_the_round_trip(&server);
}
