//! Waits of PostgreSQL whose length is known, measured at context switches.

use std::{
    thread,
    time::{Duration, Instant},
};

use fenxi_ebpf::dbwait::Dbwait;
use fenxi_model::{
    Rows,
    catalog::{db_statement_wait as s, db_wait as c, histogram, note, stack},
};

use crate::{
    observed::{Observed, lost},
    server::Server,
};

const SETTINGS: &[&str] = &["-c", "deadlock_timeout=300ms", "-c", "compute_query_id=on"];

fn server() -> Option<Server> {
    let server = Server::postgres_with(SETTINGS);
    if server.is_none() {
        eprintln!("SKIPPED dbwait: PostgreSQL is not installed here");
    }
    server
}

fn of(server: &Server) -> Dbwait {
    Dbwait { pids: vec![server.child.id()], stacks: false }
}

/// Reads when clients have had their last answers for a while: a wait is counted when its process sleeps the next time.
fn read_at_rest(observed: &mut Observed) -> &Rows {
    thread::sleep(Duration::from_millis(100));
    observed.read()
}

/// Waits of clients in an event, and their seconds. Intervals are those that were read.
fn waits(rows: &Rows, event: &str) -> (f64, f64) {
    let Some(found) = rows.of(&c::TABLE) else { return (0.0, 0.0) };
    let is_it = |row: &usize| {
        found.str(*row, c::wait_event) == Some(event)
            && found.str(*row, c::kind) == Some("client")
            && found.str(*row, c::measured) == Some("exact")
    };
    let all = (0..found.n_rows()).filter(is_it).map(|row| {
        let dt = found.f64(row, c::dt).unwrap_or_default();
        (found.f64(row, c::waits_per_s).unwrap_or_default() * dt, found.f64(row, c::time).unwrap_or_default() * dt)
    });
    all.fold((0.0, 0.0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
}

/// Within 1 % and a millisecond for each wait: a timer is late, and the clock of a client has the way to the server. Who waits may
/// sleep once more on the way to its latch: a hundred waits may be one more, and not one less.
fn assert_near(what: &str, measured: (f64, f64), (times, seconds): (f64, f64)) {
    assert_between(what, measured, times, (seconds, seconds));
}

/// The same where the time is known to lie between two: a slow machine adds to what a client sees.
fn assert_between(what: &str, measured: (f64, f64), times: f64, (least, most): (f64, f64)) {
    let counts = times - 0.5..times * 1.01 + 0.5;
    let seconds = 0.99 * least - 0.001 * times..=1.01 * most + 0.001 * times;
    let is_right = counts.contains(&measured.0) && seconds.contains(&measured.1);
    assert!(is_right, "{what}: {measured:?} of {times} with {least} to {most} s");
}

#[test]
fn sleeps_are_as_long_as_they_were_asked_for() {
    let Some(server) = server() else { return };
    let Some(mut observed) = Observed::begin(&of(&server)) else { return };
    let mut client = server.client("postgres");
    for _ in 0..10 {
        client.run("SELECT pg_sleep(0.1)").unwrap();
    }
    let rows = read_at_rest(&mut observed);
    assert_near("pg_sleep", waits(rows, "PgSleep"), (10.0, 1.0));
    assert_eq!(lost(rows, ""), 0);
    let found = rows.of(&c::TABLE).unwrap();
    let slept = (0..found.n_rows()).filter(|row| found.str(*row, c::wait_event) == Some("PgSleep"));
    assert!(slept.clone().all(|row| found.str(row, c::activity) == Some("timeout")), "it is no network and no client");
    // Its statement has it, too.
    let statements = rows.of(&s::TABLE).unwrap();
    let of_statement = (0..statements.n_rows())
        .filter(|row| statements.str(*row, s::wait_event) == Some("PgSleep"))
        .filter_map(|row| Some(statements.f64(row, s::time)? * statements.f64(row, s::dt)?))
        .sum::<f64>();
    assert!((of_statement - waits(rows, "PgSleep").1).abs() < 0.05, "{of_statement}");
    // Bounds of the histogram are around what it was: 65.536 to 131.072 ms.
    let histograms = rows.of(&histogram::TABLE).unwrap();
    let of_sleep = (0..histograms.n_rows())
        .filter(|row| histograms.str(*row, histogram::labels).is_some_and(|labels| labels.ends_with("Timeout:PgSleep")))
        .map(|row| (histograms.f64(row, histogram::lo).unwrap(), histograms.f64(row, histogram::count).unwrap()))
        .collect::<Vec<_>>();
    assert_eq!(of_sleep, [(65.536e3 * 1.024, 10.0)], "microseconds, by powers of two of nanoseconds");
}

#[test]
fn a_wait_that_goes_on_is_in_the_interval_in_which_it_was() {
    let Some(server) = server() else { return };
    let mut early = server.client("postgres");
    let pid = early.number("SELECT pg_backend_pid()").unwrap().unwrap();
    thread::scope(|scope| {
        // One that waits already when the observer begins, and one that begins afterwards.
        scope.spawn(move || early.run("SELECT pg_sleep(600)").is_err());
        let asleep = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep'");
        let mut other = server.client("postgres");
        while other.number(&asleep).unwrap() != Some(1) {}
        let cancel = format!("SELECT pg_cancel_backend({pid})");
        let mut late = server.client("postgres");
        let Some(mut observed) = Observed::begin(&of(&server)) else { return drop(other.run(&cancel)) };
        let began = Instant::now();
        scope.spawn(move || late.run("SELECT pg_sleep(1)").unwrap());
        thread::sleep(Duration::from_millis(500));
        let first = waits(observed.read(), "PgSleep");
        let half = began.elapsed().as_secs_f64();
        thread::sleep(Duration::from_millis(1000));
        other.run(&cancel).unwrap();
        let all = began.elapsed().as_secs_f64();
        thread::sleep(Duration::from_millis(200));
        let whole = waits(observed.read(), "PgSleep");
        assert_eq!(first.0, 0.0);
        assert!((first.1 - 2.0 * half).abs() < 0.15, "{first:?} in {half}");
        assert_eq!(whole.0.round(), 2.0);
        assert!((whole.1 - (all + 1.0)).abs() < 0.15, "{whole:?} in {all}");
    });
}

/// Waits for a lock: the seconds for which others saw that it waited, and those that its client waited.
fn locked(server: &Server, (take, wait, release): (&str, &str, &str), times: u32, held: Duration) -> (f64, f64) {
    let mut holder = server.client("postgres");
    let mut waiter = server.client("postgres");
    let pid = waiter.number("SELECT pg_backend_pid()").unwrap().unwrap();
    let mut watcher = server.client("postgres");
    let (mut seen, mut waited) = (0.0, 0.0);
    for _ in 0..times {
        holder.run("BEGIN").unwrap();
        holder.run(take).unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let began = Instant::now();
                waiter.run(wait).unwrap();
                began.elapsed().as_secs_f64()
            });
            while watcher.number(&format!("SELECT count(*) FROM pg_locks WHERE pid = {pid} AND NOT granted")).unwrap()
                != Some(1)
            {}
            let began = Instant::now();
            thread::sleep(held);
            seen += began.elapsed().as_secs_f64();
            holder.run(release).unwrap();
            waited += waits.join().unwrap();
        });
        waiter.run("SELECT pg_advisory_unlock_all()").unwrap();
        holder.run("COMMIT").unwrap();
    }
    (seen, waited)
}

#[test]
fn waits_for_locks_are_as_many_and_as_long_as_they_were() {
    let Some(server) = server() else { return };
    server.client("postgres").run("CREATE TABLE t (id int PRIMARY KEY, n int)").unwrap();
    server.client("postgres").run("INSERT INTO t VALUES (1, 0)").unwrap();
    let Some(mut observed) = Observed::begin(&of(&server)) else { return };
    let hundred = Duration::from_millis(100);
    let advisory = ("SELECT pg_advisory_lock(1)", "SELECT pg_advisory_lock(1)", "SELECT pg_advisory_unlock(1)");
    let of_advisory = locked(&server, advisory, 100, hundred);
    // Longer than deadlock_timeout: an alarm interrupts it, and it is one wait all the same.
    let table = ("LOCK TABLE t", "SELECT count(*) FROM t", "COMMIT");
    let of_table = locked(&server, table, 2, Duration::from_millis(800));
    let row = ("UPDATE t SET n = n + 1 WHERE id = 1", "UPDATE t SET n = n + 1 WHERE id = 1", "COMMIT");
    let of_row = locked(&server, row, 10, hundred);
    let rows = read_at_rest(&mut observed);
    for (event, times, waited) in
        [("advisory", 100.0, of_advisory), ("relation", 2.0, of_table), ("transactionid", 10.0, of_row)]
    {
        assert_between(event, waits(rows, event), times, waited);
    }
    assert_eq!(lost(rows, ""), 0);
}

#[test]
fn sessions_and_their_time_on_a_cpu_are_told_apart() {
    let Some(server) = server() else { return };
    let mut client = server.client("postgres");
    let mut other = server.client("postgres");
    let pid = client.number("SELECT pg_backend_pid()").unwrap().unwrap();
    let only = Dbwait { pids: vec![u32::try_from(pid).unwrap()], stacks: true };
    let Some(mut observed) = Observed::begin(&only) else { return };
    let ran = |pid: i64| -> f64 {
        let text = fs_err::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
        text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
    };
    let before = ran(pid);
    client.run("SELECT count(*) FROM generate_series(1, 2000000) n WHERE md5(n::text) < '0'").unwrap();
    client.run("SELECT pg_sleep(0.2)").unwrap();
    other.run("SELECT pg_sleep(0.2)").unwrap();
    let rows = read_at_rest(&mut observed);
    let on_cpu = ran(pid) - before;
    let (_, cpu) = waits(rows, "cpu");
    assert!((cpu - on_cpu).abs() < 0.02 * on_cpu + 0.005, "{cpu} of {on_cpu}");
    assert_near("pg_sleep of one session", waits(rows, "PgSleep"), (1.0, 0.2));
    // Where it slept.
    let stacks = rows.of(&stack::TABLE).unwrap();
    let of_sleep: Vec<_> = (0..stacks.n_rows())
        .filter(|row| stacks.str(*row, stack::event) == Some("Timeout:PgSleep"))
        .filter_map(|row| stacks.str(row, stack::stack))
        .collect();
    let is_whole = |stack: &&str| {
        stack.contains("PostmasterMain;") && stack.contains(";pg_sleep;") && stack.contains("epoll_wait")
    };
    assert!(of_sleep.iter().any(is_whole), "{of_sleep:?}");
}

#[test]
fn what_is_no_server_is_refused_with_a_reason() {
    let none = Dbwait { pids: vec![std::process::id()], stacks: false };
    let Err(error) = fenxi_source::Source::start(&none, &fenxi_source::Root::live()) else {
        panic!("this process is no server");
    };
    let text = error.to_string();
    if text.contains("the kernel refuses") {
        eprintln!("SKIPPED dbwait: {text}");
        return;
    }
    assert!(text.contains("is none of PostgreSQL"), "{text}");
}

#[test]
fn a_server_that_begins_later_is_observed() {
    let Some(mut observed) = Observed::begin(&Dbwait::ALL) else { return };
    let Some(server) = server() else { return };
    for _ in 0..5 {
        observed.read();
    }
    server.client("postgres").run("SELECT pg_sleep(0.3)").unwrap();
    let rows = read_at_rest(&mut observed);
    let found = rows.of(&c::TABLE).unwrap();
    let of_it = (0..found.n_rows()).filter(|row| {
        found.str(*row, c::wait_event) == Some("PgSleep")
            && found.str(*row, c::server).is_some_and(|name| name.ends_with(&server.port.to_string()))
    });
    let slept: f64 = of_it.filter_map(|row| Some(found.f64(row, c::time)? * found.f64(row, c::dt)?)).sum();
    assert!((slept - 0.3).abs() < 0.02, "{slept}: {:?}", rows.of(&note::TABLE).map(|notes| notes.n_rows()));
}
