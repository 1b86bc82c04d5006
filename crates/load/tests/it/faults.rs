//! Fault injection for servers and networks: the test goes on or ends by its policy, and reports
//! what happened.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    ops::ControlFlow,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use fenxi_load::{
    engine::{Interval, Outcome, Plan, run},
    policy::{Action, Failure},
    schedule::{Arrival, Rate, Schedule},
};
use fenxi_wire::{
    Mode,
    client::Client,
    target::{Endpoint, Surroundings, Target},
};
use fs_err as fs;

use crate::{
    server::{Server, quietly, skipped},
    stub::{Answer, Stub},
};

fn steady(per_s: f64) -> Schedule {
    Schedule::Open { rate: Rate::constant(per_s), arrival: Arrival::Steady { jitter: 0.1 } }
}

/// A minute at most, in which `act` is called at the end of each interval and may end it.
fn until(mut plan: Plan, act: &mut dyn FnMut(&Interval) -> ControlFlow<()>) -> Outcome {
    (plan.run.duration_s, plan.run.interval_s, plan.run.drain_s) = (60.0, 0.25, 1.0);
    run(&plan, act).unwrap()
}

fn codes(outcome: &Outcome) -> Vec<String> {
    outcome.total.tally.errors.keys().map(ToString::to_string).collect()
}

/// Killed in mid-run and started again: what was under way is lost, connections come back by themselves.
fn a_server_is_killed_and_comes_back(mut server: Server) {
    let program = server.program("oltp_point_select", &[("table_size", "100")]);
    server.prepare(&program).unwrap();
    let plan = server.plan(program, Mode::Prepared, steady(100.0));
    let (report, reported) = mpsc::channel();
    let mender = thread::spawn(move || {
        let () = reported.recv().unwrap();
        server.kill();
        thread::sleep(Duration::from_secs(1));
        server.start_again();
        server
    });
    let (mut good, mut was_down) = (0, false);
    let outcome = until(plan, &mut |interval| {
        good += u32::from(interval.tally.transactions > 0);
        if !was_down && good == 4 {
            let _ = report.send(());
        }
        if good >= 4 && interval.tally.transactions == 0 {
            (was_down, good) = (true, 100);
        }
        // Well again: all connections, and no transaction waits any more.
        let well =
            was_down && interval.tally.connected == 8 && interval.tally.waiting < 8 && interval.tally.transactions > 0;
        if well { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let tally = &outcome.total.tally;
    assert!(was_down && outcome.total.end_s < 60.0, "it did not come back: {tally:?}");
    assert_eq!(outcome.stopped.as_deref(), Some("it was interrupted"));
    // Processes of a killed PostgreSQL still say why they end.
    let lost: u64 = [Failure::Lost, Failure::Server(*b"57P01", 0)]
        .iter()
        .filter_map(|failure| tally.errors.get(failure))
        .map(|(count, _)| count)
        .sum();
    assert!(lost >= 1 && tally.reconnects >= 8, "{:?}", tally.errors);
    // Back-off: eight connections do not try hundreds of times in some seconds.
    let refused = tally.errors.get(&Failure::Connect).map_or(0, |(count, _)| *count);
    assert!((1..400).contains(&refused), "{refused}");
    // Transactions that fell due while it was away waited, and their latencies include that.
    assert!(tally.latency.max() > 900_000_000, "{}", tally.latency.max());
    drop(mender.join().unwrap());
}

/// More connections than the server has: those that it takes do the work, the rest is counted and tried again slowly.
fn a_server_is_full(server: &Server, code: &str) {
    let program = server.program("select_only", &[]);
    server.prepare(&program).unwrap();
    let mut plan = server.plan(program, Mode::Prepared, steady(200.0));
    // Of two threads one might have none of the connections, and its share of the transactions would not begin.
    (plan.run.connections, plan.threads, plan.run.duration_s, plan.run.drain_s) = (40, 1, 3.0, 5.0);
    let outcome = run(&plan, &mut |_| ControlFlow::Continue(())).unwrap();
    let tally = &outcome.total.tally;
    assert_eq!(codes(&outcome), [code], "{:?}", tally.errors);
    assert!(tally.connected < 40 && tally.connected > 5 && tally.failed == 0, "{tally:?}");
    assert!(outcome.stopped.is_none() && outcome.total.per_s(tally.transactions) > 180.0, "{:?}", outcome.doubts());
    // Or the test ends, because that is what was asked for.
    let class = code.split('/').next().unwrap();
    plan.run.policy.add(class, Action::Stop).unwrap();
    let outcome = run(&plan, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(
        outcome.stopped.as_ref().is_some_and(|why| why.contains("many") || why.contains("connection")),
        "{outcome:?}"
    );
}

/// A login that is refused is counted for each connection, and nothing is done.
fn a_login_is_refused(server: &Server, user: &str, code: &str) {
    let program = server.program("select_only", &[]);
    let mut plan = server.plan(program, Mode::Prepared, steady(100.0));
    let url = server.url(server.database());
    let (scheme, rest) = url.split_once("://").unwrap();
    let place = rest.split_once('@').unwrap().1;
    plan.target = Target::parse(&format!("{scheme}://{user}:wrong@{place}"), &Surroundings::default()).unwrap();
    plan.run.drain_s = 1.0;
    let outcome = run(&plan, &mut |_| ControlFlow::Continue(())).unwrap();
    let tally = &outcome.total.tally;
    assert_eq!((codes(&outcome), tally.transactions, tally.connected), (vec![code.to_owned()], 0, 0));
    assert!(outcome.unstarted > 40, "{}", outcome.unstarted);
    assert!(outcome.doubts().iter().any(|doubt| doubt.contains("never started")), "{:?}", outcome.doubts());
    plan.run.policy.add(code.split('/').next().unwrap(), Action::Stop).unwrap();
    let outcome = run(&plan, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(outcome.stopped.as_ref().is_some_and(|why| why.contains(user)), "{:?}", outcome.stopped);
}

#[test]
fn postgres_fails_in_every_way_and_the_load_says_how() {
    let Some(server) = Server::postgres_with(&["-c", "max_connections=20"]) else {
        return skipped("a failing PostgreSQL", "it is not installed here");
    };
    let mut client = server.client("postgres");
    client.run("CREATE ROLE bob LOGIN PASSWORD 'secret'").unwrap();
    a_server_is_full(&server, "53300");
    let rules = "host all bob 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
    fs::write(server.folder.path().join("data/pg_hba.conf"), rules).unwrap();
    client.run("SELECT pg_reload_conf()").unwrap();
    let stranger =
        Target::parse(&server.url("postgres").replace("postgres@", "bob@"), &Surroundings::default()).unwrap();
    let begun = Instant::now();
    while Client::connect(&stranger, Duration::from_secs(10)).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the server does not read its rules");
        thread::sleep(Duration::from_millis(20));
    }
    a_login_is_refused(&server, "bob", "28P01");
    drop(client);
    a_server_is_killed_and_comes_back(server);
}

#[test]
fn mariadb_fails_in_every_way_and_the_load_says_how() {
    let Some(server) = Server::mariadb_with(&["--max-connections=20"]) else {
        return skipped("a failing MariaDB", "it is not installed here");
    };
    a_server_is_full(&server, "1040/HY000");
    server.client("mysql").run("CREATE USER bob@'127.0.0.1' IDENTIFIED BY 'secret'").unwrap();
    a_login_is_refused(&server, "bob", "1045/28000");
    a_server_is_killed_and_comes_back(server);
}

/// A small file system that is gone with the value.
struct Small<'a>(&'a Path);

impl Small<'_> {
    fn mount(path: &Path, megabytes: u32) -> Option<Small<'_>> {
        let size = format!("size={megabytes}m");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).output().ok()?;
        mount.status.success().then_some(Small(path))
    }

    fn resize(&self, megabytes: u32) {
        let size = format!("remount,size={megabytes}m");
        assert!(quietly(Command::new("mount").args(["-o", &size]).arg(self.0)));
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        quietly(Command::new("umount").arg("-l").arg(self.0));
    }
}

#[test]
fn a_full_disk_of_the_server_is_counted_and_survived() {
    let Some(server) = Server::postgres() else {
        return skipped("a full disk", "PostgreSQL is not installed here");
    };
    let place = server.folder.path().join("small");
    fs::create_dir(&place).unwrap();
    let Some(disk) = Small::mount(&place, 2) else {
        return skipped("a full disk", "mounting a file system is not permitted here");
    };
    quietly(Command::new("chown").arg("postgres").arg(&place));
    quietly(Command::new("chmod").arg("700").arg(&place));
    // The tables are there and nothing else is, so that the server itself goes on.
    let mut client = server.client("postgres");
    client.run(&format!("CREATE TABLESPACE small LOCATION '{}'", place.display())).unwrap();
    client.run("ALTER DATABASE postgres SET default_tablespace = small").unwrap();
    let program = server.program("oltp_insert", &[("table_size", "1000")]);
    server.prepare(&program).unwrap();
    let (mut refused, mut last) = (0, 0);
    let outcome = until(server.plan(program, Mode::Prepared, Schedule::Closed), &mut |interval| {
        refused += interval.tally.error_count();
        if refused == 0 || last > 0 {
            last += u32::from(last > 0);
        } else {
            // Somebody makes room.
            disk.resize(200);
            last = 1;
        }
        if last > 8 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let (count, example) = &outcome.total.tally.errors[&Failure::Server(*b"53100", 0)];
    assert!(*count > 0 && example.contains("No space left on device"), "{count} {example}");
    assert!(outcome.total.end_s < 60.0 && outcome.total.tally.transactions > 100);
    let rows = u64::try_from(server.number("SELECT count(*) FROM sbtest1")).unwrap();
    let done = 1000 + outcome.total.tally.transactions + outcome.drained.transactions;
    // Transactions without an answer when the test ended may have been done or not.
    assert!((done..=done + outcome.unfinished).contains(&rows), "{rows}, {done} and {}", outcome.unfinished);
    drop(client);
    drop(server);
}

/// A network between the load and its server: every direction takes a while, and at times a connection is cut.
struct Network {
    endpoint: Endpoint,
    cut: Arc<AtomicBool>,
    cuts: Arc<AtomicU64>,
}

impl Network {
    fn between(to: Endpoint, delay: Duration) -> Network {
        let Endpoint::Tcp(to) = to else { panic!("a stub listens on TCP") };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
        let (cut, cuts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (cut_there, cuts_there) = (Arc::clone(&cut), Arc::clone(&cuts));
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let far = TcpStream::connect(to).unwrap();
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (cut, cuts) = (Arc::clone(&cut_there), Arc::clone(&cuts_there));
                    thread::spawn(move || carry(from, to, delay, &cut, &cuts));
                }
            }
        });
        Network { endpoint, cut, cuts }
    }
}

/// Carries what comes, each piece after the delay. Pieces follow one another as answers follow questions, so that sleeping
/// is the delay.
fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration, cut: &AtomicBool, cuts: &AtomicU64) {
    let _ = to.set_nodelay(true);
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if cut.load(Ordering::Relaxed) {
            cuts.fetch_add(1, Ordering::Relaxed);
            break;
        }
        let due = Instant::now() + delay;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    for end in [from, to] {
        let _ = end.shutdown(std::net::Shutdown::Both);
    }
}

#[test]
fn a_slow_network_shows_in_both_times_and_a_cut_one_is_reconnected() {
    let stub = Stub::start(|t, _| Answer::NotBefore(t));
    let network = Network::between(stub.target().endpoints().unwrap().remove(0), Duration::from_millis(20));
    let mut plan = crate::engine::plan(&stub, crate::engine::QUERY, steady(100.0));
    plan.endpoint = network.endpoint.clone();
    (plan.run.duration_s, plan.run.interval_s) = (4.0, 0.25);
    let mut number = 0;
    let outcome = run(&plan, &mut |_| {
        number += 1;
        // For half a second in the middle whatever is carried cuts its connection.
        network.cut.store((6..8).contains(&number), Ordering::Relaxed);
        ControlFlow::Continue(())
    })
    .unwrap();
    let tally = &outcome.total.tally;
    // Two ways of 20 ms, and what the machine adds.
    let least_ms = tally.service.min() as f64 / 1e6;
    assert!((39.9..60.0).contains(&least_ms), "{least_ms}");
    assert!(tally.latency.value_at_quantile(0.5) >= 39_900_000);
    let lost = tally.errors[&Failure::Lost].0;
    assert!(lost >= 1 && network.cuts.load(Ordering::Relaxed) >= 1 && tally.reconnects >= 1, "{tally:?}");
    assert!(tally.connected == 16 && tally.transactions > 250, "{} {}", tally.connected, tally.transactions);
    assert!(outcome.stopped.is_none());
}

/// A clock that is set is no clock for a schedule. What reads one is found by its name.
#[test]
fn no_clock_that_can_be_set_is_read() {
    fn sources(folder: &Path, all: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() { sources(&entry.path(), all) } else { all.push(entry.path()) }
        }
    }
    let mut all = Vec::new();
    sources(Path::new("src"), &mut all);
    assert!(all.len() > 20);
    for path in all {
        let text = fs::read_to_string(&path).unwrap();
        for clock in ["SystemTime", "UNIX_EPOCH", "ClockId::Realtime", "gettimeofday", "jiff"] {
            assert!(!text.contains(clock), "{}: {clock}", path.display());
        }
    }
}
