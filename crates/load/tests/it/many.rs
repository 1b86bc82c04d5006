//! Many connections of one process, and many transactions in a second, against a server that is one thread of another
//! process: its files and its memory are not counted with the driver's.

#![expect(clippy::print_stdout, reason = "the server prints its port")]

use std::{
    env,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    ops::ControlFlow,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::{buffer::spare_capacity, event::epoll};

use fenxi_load::{
    engine::{Outcome, Plan, run},
    schedule::Schedule,
};
use fenxi_wire::target::{Surroundings, Target};

use crate::{
    engine::{QUERY, eventually, go, plan, steady, with},
    stub::Stub,
};

/// Marks this program as the server: set in its environment.
const IS_SERVER: &str = "FENXI_TEST_IS_SERVER";
/// The text before the port that the server prints.
const PORT: &str = "port ";

/// The server; it ends with its handle.
struct Crowd {
    child: Child,
    port: u16,
}

impl Crowd {
    fn start() -> Crowd {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "many::a_server_of_many_is_this_program", "--nocapture"])
            .env(IS_SERVER, "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // The harness prints its own words before, in the same line or in others.
        let reported =
            lines.map_while(Result::ok).find_map(|line| Some(line.split_once(PORT)?.1.trim().parse().unwrap()));
        Crowd { child, port: reported.expect("the server prints its port") }
    }

    fn plan(&self, schedule: Schedule) -> Plan {
        let target =
            Target::parse(&format!("postgres://u@127.0.0.1:{}/d", self.port), &Surroundings::default()).unwrap();
        Plan { endpoint: target.endpoints().unwrap().remove(0), target, ..plan(&Stub::quick(), QUERY, schedule) }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server's process is this test, which otherwise has nothing to do.
#[test]
fn a_server_of_many_is_this_program() {
    if env::var_os(IS_SERVER).is_some() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        println!("{PORT}{}", listener.local_addr().unwrap().port());
        serve(&listener);
    }
}

/// Answers logins and queries, each of which comes in one piece, until the process ends.
fn serve(listener: &TcpListener) {
    const LISTENER: u64 = u64::MAX;
    allow_all_files();
    listener.set_nonblocking(true).unwrap();
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    epoll::add(&epoll, listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN).unwrap();
    let mut streams: Vec<Option<TcpStream>> = Vec::new();
    let mut events = Vec::with_capacity(256);
    let mut buffer = [0; 4096];
    loop {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), None).unwrap();
        for event in &events {
            let id = event.data.u64();
            if id == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true).unwrap();
                    stream.set_nodelay(true).unwrap();
                    let data = epoll::EventData::new_u64(streams.len() as u64);
                    epoll::add(&epoll, &stream, data, epoll::EventFlags::IN).unwrap();
                    streams.push(Some(stream));
                }
                continue;
            }
            let place = &mut streams[id as usize];
            let Some(stream) = place else { continue };
            let answer: &[u8] = match stream.read(&mut buffer) {
                Ok(1..) if buffer[0] == b'Q' => b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I",
                // The first message has no letter before its length.
                Ok(1..) if buffer[0] == 0 => b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I",
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                _ => b"",
            };
            if answer.is_empty() || stream.write_all(answer).is_err() {
                *place = None;
            }
        }
    }
}

/// Raises the limit of open files as far as it goes; where that is.
fn allow_all_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    limit.maximum.unwrap_or(u64::MAX)
}

/// Bytes of memory that this process has.
fn memory() -> usize {
    let text = fs_err::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size()
}

/// A run in which every connection has its turn, and the most memory that it needed.
fn crowded(server: &Crowd, connections: usize) -> (Outcome, usize) {
    let plan = with(server.plan(steady(5000.0, 0.0)), |run| (run.connections, run.duration_s) = (connections, 3.0));
    let mut most = 0;
    let outcome = run(&plan, &mut |_| {
        most = most.max(memory());
        ControlFlow::Continue(())
    });
    (outcome.unwrap(), most)
}

#[test]
fn ten_thousand_connections_have_eight_kibibytes_each_at_most() {
    let allowed = allow_all_files();
    let wanted = 10_000;
    let many = wanted.min(usize::try_from(allowed).unwrap_or(usize::MAX).saturating_sub(500));
    if many < wanted {
        eprintln!(
            "SKIPPED load with {wanted} connections, tried with {many}: no more files may be open (`ulimit -Hn`)"
        );
    }
    let server = Crowd::start();
    let (_, few_bytes) = crowded(&server, 100);
    let (outcome, many_bytes) = crowded(&server, many);
    let tally = &outcome.total.tally;
    assert_eq!((tally.connected, tally.reconnects), (many as u64, 0), "{:?}", tally.errors);
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    let each = many_bytes.saturating_sub(few_bytes) / (many - 100);
    assert!(each <= 8192, "{each} bytes for a connection: {few_bytes} and {many_bytes}");
}

#[test]
fn twenty_thousand_a_second_are_met_within_half_a_percent() {
    let server = Crowd::start();
    eventually(|| {
        let outcome = go(&with(server.plan(steady(20_000.0, 0.1)), |run| run.connections = 64));
        let achieved = outcome.total.per_s(outcome.total.tally.transactions);
        let good = (achieved / 20_000.0 - 1.0).abs() < 0.005;
        if good { Ok(()) } else { Err(format!("{achieved}: {:?}", outcome.doubts())) }
    });
}

#[test]
fn connections_are_made_at_the_rate_that_is_asked_for() {
    let server = Crowd::start();
    let began = Instant::now();
    let outcome = go(&with(server.plan(steady(500.0, 0.0)), |run| {
        (run.connections, run.connects_per_s) = (60, Some(100.0));
        (run.duration_s, run.interval_s) = (0.2, 0.2);
    }));
    // Each of two threads makes 30 of them, one in 20 ms.
    let least = Duration::from_millis(29 * 20 + 200);
    assert!(began.elapsed() >= least, "{:?}", began.elapsed());
    assert_eq!(outcome.total.tally.connected, 60);
}

#[test]
fn more_connections_than_files_are_refused_before_any_is_made() {
    let stub = Stub::quick();
    let too_many = with(plan(&stub, QUERY, Schedule::Closed), |run| run.connections = usize::MAX / 4);
    let refused = run(&too_many, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(refused.contains("open files") && refused.contains("`ulimit -n`"), "{refused}");
    assert!(stub.seen().is_empty());
}
