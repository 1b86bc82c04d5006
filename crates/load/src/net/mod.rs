//! Messages of a load without its database: a sender and a receiver exchange requests and replies of given sizes, over more and
//! more connections until throughput no longer rises.
//!
//! `mix` has what is exchanged, `receiver` and `sender` are the ends, `usage` what threads, CPUs and interfaces of an end did
//! meanwhile, `peak` the steps and what limited them. The receiver is a part of the sender's process, or a program at another host that is
//! reached by a pipe; it answers nothing that does not begin with the key of the session, which comes through that pipe.

pub mod mix;
pub mod peak;
mod receiver;
mod sender;
mod usage;

use std::{
    io::{self, Read, Write},
    net::{IpAddr, TcpStream},
};

use rustix::net::{RecvFlags, SendFlags};
use serde::{Deserialize, Serialize};

pub use receiver::serve_pipe;
pub use usage::Used;

use usage::Snapshot;

/// The longest message over TCP, and in a datagram.
pub const LONGEST: usize = 16 << 20;
/// As [`LONGEST`].
pub const LONGEST_UDP: usize = 65_507;
/// A datagram has the session's key, and a number that its reply repeats.
pub const SHORTEST_UDP: usize = KEY + 8;
/// Connections at most.
pub const MOST_CONNECTIONS: usize = 10_000;
/// Threads of an end at most.
pub const MOST_THREADS: usize = 256;
/// Bytes of a key.
const KEY: usize = 16;
/// Bytes that are read, and sent, at once.
const CHUNK: usize = 64 << 10;

/// Order that a receiver carries out.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Order {
    /// Key that each connection, or datagram, begins with.
    key: [u8; KEY],
    /// Where it listens, and the other end's address.
    address: IpAddr,
    peer: IpAddr,
    /// The port of its first thread, of which the others have the next ones; 0 for any.
    port: u16,
    threads: usize,
    udp: bool,
    request: usize,
    reply: usize,
    /// How long a thread is held up by each request.
    service_us: u64,
}

/// Messages between sender and receiver, framed as those of a [`crate::team`].
#[derive(Debug, Serialize, Deserialize)]
enum Message {
    /// The first one.
    Order(Order),
    /// Its answer: the ports of its threads.
    Ports(Vec<u16>),
    /// Or why there are none.
    Refused(String),
    /// Asks for the use of threads and CPUs so far.
    Look,
    /// The answer.
    Seen(Box<Snapshot>),
}

/// One end of a TCP connection: so many bytes to send, then so many to receive.
#[derive(Debug)]
struct Exchange {
    socket: TcpStream,
    to_send: usize,
    to_receive: usize,
}

impl Exchange {
    fn new(socket: TcpStream) -> io::Result<Exchange> {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        Ok(Exchange { socket, to_send: 0, to_receive: 0 })
    }

    /// Sends what the kernel takes; whether that was all.
    fn push(&mut self, from: &[u8]) -> io::Result<bool> {
        while self.to_send > 0 {
            match rustix::net::send(&self.socket, &from[..self.to_send.min(from.len())], SendFlags::NOSIGNAL) {
                Ok(n) => self.to_send -= n,
                Err(rustix::io::Errno::AGAIN) => return Ok(false),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Receives what has come; whether that was all.
    fn pull(&mut self, into: &mut [u8]) -> io::Result<bool> {
        while self.to_receive > 0 {
            let room = self.to_receive.min(into.len());
            match rustix::net::recv(&self.socket, &mut into[..room], RecvFlags::empty()) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((n, _)) => self.to_receive -= n,
                Err(rustix::io::Errno::AGAIN) => return Ok(false),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

fn say(to: &mut dyn Write, message: &Message) -> io::Result<()> {
    crate::team::message::send(to, message)
}

fn hear(from: &mut dyn Read) -> io::Result<Message> {
    crate::team::message::receive(from, 1 << 20)
}
