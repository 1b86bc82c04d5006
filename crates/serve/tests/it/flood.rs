//! Many who ask for nothing, take nothing or do not mean it: others are answered all the same.
//!
//! `FENXI_FLOOD=N` sets how many there are, and then others must be answered within a second;
//! `FENXI_FLOOD_AT=ADDRESS:PORT` lets them come to a server that runs already, with `FENXI_FLOOD_RUN=ID` for a run of
//! some megabytes.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use fenxi_model::{Micros, Rows, catalog::cpu};
use fenxi_serve::Settings;
use fenxi_store::End;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    changes::{START, begin},
    support::{Served, serve_with, wait_for},
};

/// How many, and how long others may wait: by hand as it is promised, else few and with the patience of a busy machine.
fn flood(few: usize) -> (usize, Duration) {
    let many = std::env::var("FENXI_FLOOD").ok().map(|n| n.parse().expect("FENXI_FLOOD is a number"));
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    many.map_or((few, Duration::from_secs(10)), |n| (n, Duration::from_secs(1)))
}

/// A server with room for few, unless it is there already or the flood is large.
enum Target {
    Ours(Served),
    There(SocketAddr),
}

impl Target {
    fn new(change: impl FnOnce(&mut Settings)) -> Target {
        match std::env::var("FENXI_FLOOD_AT") {
            Ok(address) => Target::There(address.parse().expect("FENXI_FLOOD_AT is an address")),
            Err(_) => Target::Ours(serve_with(|s| {
                if std::env::var_os("FENXI_FLOOD").is_none() {
                    s.limits.connections = 64;
                }
                change(s);
            })),
        }
    }

    fn address(&self) -> SocketAddr {
        match self {
            Target::Ours(served) => served.address,
            Target::There(address) => *address,
        }
    }

    /// The id of a run whose archive is larger than what is kept for a client that does not read.
    fn large_run(&self) -> String {
        match self {
            Target::Ours(served) => large_run(served),
            Target::There(_) => std::env::var("FENXI_FLOOD_RUN").expect("FENXI_FLOOD_RUN is a run"),
        }
    }

    /// How long the slowest of others' requests took.
    fn slowest(&self, limit: Duration) -> Duration {
        let mut slowest = Duration::ZERO;
        for path in ["/api/v1/about", "/", "/metrics"] {
            let begun = Instant::now();
            let mut stream = TcpStream::connect(self.address()).unwrap();
            stream.set_read_timeout(Some(limit.max(Duration::from_secs(5)))).unwrap();
            write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address()).unwrap();
            let mut answer = Vec::new();
            let outcome = stream.read_to_end(&mut answer);
            let took = begun.elapsed();
            assert!(answer.starts_with(b"HTTP/1.1 200 "), "{path} after {took:?}: {outcome:?} {}", answer.len());
            slowest = slowest.max(took);
        }
        slowest
    }

    /// Asks as others do, for a while.
    fn others_are_answered(&self, what: &str, limit: Duration) {
        let slowest = (0..5).map(|_| self.slowest(limit)).max().unwrap_or_default();
        println!("{what}: the slowest of 15 requests of others took {:.1} ms", slowest.as_secs_f64() * 1e3);
        assert!(slowest < limit, "{what}: {slowest:?}");
    }
}

pub fn large_run(served: &Served) -> String {
    let mut open = served.store.begin(begin("large", 1)).unwrap();
    let id = open.id().to_string();
    let mut rows = Rows::new("h1");
    let mut random = 88_172_645_463_325_252u64;
    for t in 0..200_000i64 {
        let mut row = rows.row(&cpu::TABLE, Micros(START + t * 1_000_000), 1.0);
        row.str(cpu::cpu, "0");
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random as f64 / u64::MAX as f64
        };
        row.f64(cpu::usr, next()).f64(cpu::sys, next()).f64(cpu::idle, next());
    }
    open.append(&mut rows).unwrap();
    open.seal(End::at(Micros(START + 200_000_000_000))).unwrap();
    id
}

/// One end of HTTP/2 that sends frames and reads nothing.
struct Streams {
    socket: TcpStream,
    next: u32,
}

impl Streams {
    fn open(address: SocketAddr) -> Streams {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        let mut streams = Streams { socket, next: 1 };
        // Settings: a window of nothing for every stream.
        streams.frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]).unwrap();
        streams
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> std::io::Result<()> {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.socket.write_all(&frame)
    }

    /// Asks for `path`; gives the number of the stream.
    fn get(&mut self, path: &str) -> std::io::Result<u32> {
        let host = self.socket.peer_addr()?.to_string();
        // GET and http by their numbers, then path and host as they are.
        let mut head = vec![0x82, 0x86, 0x04, path.len() as u8];
        head.extend(path.bytes());
        head.extend([0x01, host.len() as u8]);
        head.extend(host.bytes());
        let stream = self.next;
        self.next += 2;
        self.frame(1, 0x5, stream, &head)?;
        Ok(stream)
    }
}

/// Connections that begin like this and go no further.
fn silent(address: SocketAddr, n: usize, begins: &[&[u8]]) -> Vec<TcpStream> {
    let open = |i: usize| {
        let mut stream = TcpStream::connect(address).unwrap();
        // It may have been closed already.
        let _ = stream.write_all(begins[i % begins.len()]);
        stream
    };
    (0..n).map(open).collect()
}

const BEGINS: [&[u8]; 6] = [
    b"",
    b"P",
    b"PRI",
    b"GET / HTTP/1.1\r\nHost: 127",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
];

#[test]
fn silent_connections_keep_nobody_out() {
    let (n, limit) = flood(300);
    let target = Target::new(|_| ());
    let _flood = silent(target.address(), n, &BEGINS);
    target.others_are_answered(&format!("{n} silent connections"), limit);
}

#[test]
fn silent_connections_are_closed_and_so_are_idle_ones_that_take_nothing() {
    let served = serve_with(|s| s.limits.arrival = Duration::from_millis(300));
    for mut stream in silent(served.address, BEGINS.len(), &BEGINS) {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let end = stream.read_to_end(&mut Vec::new());
        let is_end = |e: &std::io::Error| e.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(end.is_ok() || end.as_ref().is_err_and(is_end), "{end:?}");
    }
}

#[test]
fn connections_that_asked_once_and_stay_keep_nobody_out() {
    let (n, limit) = flood(200);
    let target = Target::new(|_| ());
    let ask = format!("GET /assets/login.css HTTP/1.1\r\nHost: {}\r\n\r\n", target.address());
    let _flood = silent(target.address(), n, &[ask.as_bytes()]);
    target.others_are_answered(&format!("{n} idle connections"), limit);
}

#[test]
fn streams_that_are_not_read_keep_nobody_out() {
    let (n, limit) = flood(120);
    let target = Target::new(|_| ());
    let path = format!("/api/v1/runs/{}/export", target.large_run());
    let mut flood: Vec<Streams> = (0..n.div_ceil(100).max(6)).map(|_| Streams::open(target.address())).collect();
    let each = n.div_ceil(flood.len());
    for streams in &mut flood {
        for _ in 0..each {
            // A server that has seen enough may close before everything is sent.
            let _ = streams.get(&path);
        }
    }
    target.others_are_answered(&format!("{n} streams that are not read"), limit);
}

#[test]
fn streams_that_are_ended_at_once_keep_nobody_out() {
    let (n, limit) = flood(1000);
    let target = Target::new(|_| ());
    let (mut left, mut connections) = (n, 0);
    while left > 0 {
        let mut streams = Streams::open(target.address());
        connections += 1;
        while left > 0 {
            left -= 1;
            let Ok(stream) = streams.get("/api/v1/about") else { break };
            if streams.frame(3, 0, stream, &[0, 0, 0, 8]).is_err() {
                break;
            }
        }
    }
    target.others_are_answered(&format!("{n} streams ended at once, over {connections} connections"), limit);
}

fn metric(served: &Served, name: &str) -> f64 {
    let text = served.get("/metrics").text();
    let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' ')).unwrap().to_owned();
    line.parse().unwrap()
}

#[test]
fn an_archive_that_is_not_read_is_given_up_and_its_place_is_free_again() {
    let served = serve_with(|s| {
        s.limits.patience = Duration::from_secs(1);
        s.limits.transfers = 1;
    });
    let path = format!("/api/v1/runs/{}/export", large_run(&served));
    let mut streams = Streams::open(served.address);
    for _ in 0..3 {
        streams.get(&path).unwrap();
    }
    wait_for("them to be given up", || metric(&served, "fenxi_requests") < 2.0);
    let archive = served.get(&path);
    assert_eq!(archive.status, 200);
    assert!(archive.body.len() > 2 << 20 && archive.body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    let mut unread = TcpStream::connect(served.address).unwrap();
    write!(unread, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).unwrap();
    // Who comes while the place is taken waits, and the one that takes nothing has to give it up.
    wait_for("it to begin", || metric(&served, "fenxi_requests") > 1.5);
    assert_eq!(served.get(&path).status, 200);
}

#[test]
fn a_body_that_trickles_in_is_given_up() {
    let served = serve_with(|s| s.limits.patience = Duration::from_millis(500));
    let mut stream = TcpStream::connect(served.address).unwrap();
    let head = "POST /api/v1/sql HTTP/1.1\r\nX-Fenxi: 1\r\nContent-Length: 100000";
    write!(stream, "{head}\r\nHost: {}\r\n\r\n", served.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let begun = Instant::now();
    let mut answer = Vec::new();
    while begun.elapsed() < Duration::from_secs(25) {
        if stream.write_all(b" ").is_err() {
            break;
        }
        let mut piece = [0u8; 4096];
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => answer.extend(&piece[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    let text = String::from_utf8_lossy(&answer);
    assert!(text.starts_with("HTTP/1.1 400 ") && text.contains("too early"), "{text}");
}

#[test]
fn a_listener_that_does_not_read_is_given_up() {
    let served = serve_with(|s| s.limits.patience = Duration::from_millis(500));
    let mut streams = Streams::open(served.address);
    streams.get("/api/v1/live").unwrap();
    wait_for("it to listen", || metric(&served, "fenxi_live_listeners") > 0.5);
    wait_for("it to be given up", || metric(&served, "fenxi_live_listeners") < 0.5);
}
