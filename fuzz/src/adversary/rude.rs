//! Clients without manners beside the statements: streams that are reset at once, connections that say nothing or
//! half of something, answers that are never read. Others must be answered within a second more than before.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use super::{served::Served, siege::Broken};

/// How much longer others may have to wait than without them: the machine may be busy with something else.
const OTHERS: Duration = Duration::from_secs(1);
/// So often others are slow before it counts.
const TRIES: usize = 3;
/// How often it is asked before anybody is rude.
const USUAL: usize = 10;

/// How many of each.
#[derive(Clone, Copy, Debug)]
pub struct Rudeness {
    /// Connections that say nothing, or half a head.
    pub silent: usize,
    /// HTTP/2 streams that are opened and reset.
    pub resets: usize,
    /// Answers that are asked for and not read.
    pub unread: usize,
}

/// Behaves badly in every way, and asks for something small after each.
///
/// # Errors
/// When others had to wait, or the server is gone.
pub fn behave(served: &Served, n: Rudeness) -> Result<String, Broken> {
    let mut slowest = Duration::ZERO;
    let usual = (0..USUAL).map(|_| asked(served).1).max().unwrap_or_default();
    let others = |during: &str| others(served, during, usual);
    let mut held = Vec::new();
    for i in 0..n.silent {
        let said: &[u8] = [&b""[..], b"P", b"PRI * HTTP/2.0\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nX-A: "][i % 4];
        // Refused is as good as held.
        if let Ok(mut stream) = TcpStream::connect_timeout(&served.address, OTHERS) {
            let _ = stream.write_all(said);
            held.push(stream);
        }
    }
    slowest = slowest.max(others("silent connections")?);
    let refused = resets(served.address, n.resets);
    slowest = slowest.max(others("streams reset at once")?);
    for _ in 0..n.unread {
        held.extend(unread(served.address));
    }
    slowest = slowest.max(others("answers that are never read")?);
    drop(held);
    others("all of them gone")?;
    let (silent, resets, unread) = (n.silent, n.resets, n.unread);
    Ok(format!(
        "{silent} silent connections, {resets} resets ({refused}), {unread} unread streams: others waited at most {slowest:?}, else {usual:?}"
    ))
}

/// Asks twice for something small: whether the answers were right, and how long they took.
fn asked(served: &Served) -> (Result<(), String>, Duration) {
    let begun = Instant::now();
    let about = served.get("/api/v1/about");
    let answer = served.sql("SELECT 42 AS a", None);
    let right = about.status == 200 && answer.value() == 42;
    let statuses = || format!("status {} and {}", about.status, answer.status);
    (if right { Ok(()) } else { Err(statuses()) }, begun.elapsed())
}

/// How long two small requests took; much longer than usual, each time it is tried, is a failure. Once can be the machine's
/// doing.
fn others(served: &Served, during: &str, usual: Duration) -> Result<Duration, Broken> {
    let mut seen = String::new();
    for _ in 0..TRIES {
        let (right, took) = asked(served);
        if right.is_ok() && took < usual + OTHERS {
            return Ok(took);
        }
        let right = right.err().unwrap_or_else(|| "right".to_owned());
        seen = format!("{during}: {right}, {took:?}, else {usual:?}");
    }
    Err(Broken { what: "others had to wait for rude clients", seen })
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [&length[1..], &[kind, flags][..], &stream.to_be_bytes()[..]].concat();
    [head, payload.to_vec()].concat()
}

/// Preface and settings of a client that takes `window` bytes of each stream.
fn preface(window: u32) -> Vec<u8> {
    let settings = [&[0, 4][..], &window.to_be_bytes()[..]].concat();
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(4, 0, 0, &settings)].concat()
}

/// The head of a GET, without compression: method and scheme by their numbers, path and name spelled out.
fn head(stream: u32, path: &str, host: &str) -> Vec<u8> {
    let literal = |index: u8, text: &str| [&[index, text.len().min(126) as u8][..], text.as_bytes()].concat();
    let block = [vec![0x82, 0x86], literal(0x04, path), literal(0x01, host)].concat();
    frame(1, 0x5, stream, &block)
}

/// Opens streams and resets each at once; gives what became of the connections.
fn resets(address: SocketAddr, n: usize) -> String {
    let (mut sent, mut connections) = (0, 0);
    let host = address.to_string();
    while sent < n && connections < n.div_ceil(10) {
        let Ok(mut stream) = TcpStream::connect_timeout(&address, OTHERS) else { break };
        connections += 1;
        let _ = stream.set_write_timeout(Some(OTHERS));
        if stream.write_all(&preface(65_535)).is_err() {
            continue;
        }
        for i in 0..1_000_u32 {
            let id = 2 * i + 1;
            let both = [head(id, "/api/v1/sql?q=SELECT%201", &host), frame(3, 0, id, &8_u32.to_be_bytes())].concat();
            if sent == n || stream.write_all(&both).is_err() {
                break;
            }
            sent += 1;
        }
    }
    format!("over {connections} connections")
}

/// A connection with ten streams whose answers it never takes.
fn unread(address: SocketAddr) -> Option<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, OTHERS).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(10))).ok()?;
    let host = address.to_string();
    let mut bytes = preface(0);
    for i in 0..10_u32 {
        bytes.extend(head(2 * i + 1, "/api/v1/sql?q=SELECT%20*%20FROM%20range(1000)", &host));
    }
    stream.write_all(&bytes).ok()?;
    // The first bytes of the server may be its settings; nothing more is read.
    let _ = stream.read(&mut [0; 9]);
    Some(stream)
}
