//! `tcp_bytes`: as `tcp`, and the bytes that TCP carried, which Linux keeps for each socket but does not sum up.
//!
//! Every sample asks for all sockets' counters (NETLINK_SOCK_DIAG, as `ss -i` does), and between samples the
//! kernel reports each socket that ends, with its last counters (as `ss -E`): connections that live
//! shorter than the interval are not missed. The bytes are payload: no headers, no retransmissions.
//! That costs about a microsecond for each socket and sample, and a millisecond or two for the kernel's walk through
//! its hash table of a quarter of a million entries, so it is done only when asked for. `tcp` asks now and then, for
//! what limits senders.

use std::{io, os::fd::OwnedFd};

use fenxi_model::catalog::tcp;
use rustc_hash::FxHashMap;
use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink, recv, send, socket_with, sockopt,
    },
};

use super::tcp::connections;
use crate::{Collector, Root, Source, SourceError, Spec, Take};

/// The `tcp_bytes` source.
pub static SOURCE: TcpBytes = TcpBytes;

static SPEC: Spec = Spec {
    name: "tcp_bytes",
    summary: "as tcp, and the bytes of TCP, summed over all sockets",
    tables: &[&tcp::TABLE],
    take: Take::EveryTick,
    default: false,
    live: true,
};

/// Collects the `tcp` table with its bytes.
pub struct TcpBytes;

impl Source for TcpBytes {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        // A saved copy has no sockets: all but the bytes can be had from it.
        connections(root, root.is_live().then(Payload::open_with_ends))
    }
}

/// NLMSG_ERROR and NLMSG_DONE.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// SOCK_DIAG_BY_FAMILY.
const BY_FAMILY: u16 = 20;
/// NLM_F_REQUEST | NLM_F_DUMP.
const DUMP: u16 = 0x301;
/// SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY, as a mask.
const DESTROYED: u32 = 1 | 1 << 2;
const TCP: u8 = 6;
/// The attribute with `struct tcp_info`.
const INFO: u16 = 2;
/// Sockets in all states but TIME_WAIT, LISTEN and NEW_SYN_RECV, which have no such structure.
const STATES: u32 = 0xfff & !(1 << 6 | 1 << 10);
/// Bytes of `nlmsghdr` and of `inet_diag_msg`, and where the latter has the socket's cookie.
const HEADER: usize = 16;
const MESSAGE: usize = 72;
const COOKIE: usize = 44;
/// Where `tcp_info` has its counters of bytes, and of microseconds in which there was something to send.
const BYTES_ACKED: usize = 120;
const BYTES_RECEIVED: usize = 128;
const BUSY_US: usize = 168;
const WINDOW_LIMITED_US: usize = 176;
const SEND_BUFFER_LIMITED_US: usize = 184;
const BYTES_SENT: usize = 200;
const BYTES_AGAIN: usize = 208;
/// Sockets that are remembered though they were not in the last answer: those that were reset but not yet closed.
const ASIDE: usize = 10_000;

/// Counters of sockets: bytes received and sent; microseconds in which they had data to send or in flight, those of
/// them in which the receiver's window was full, and those in which the send buffer was (kernels since 4.10).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    pub received: u64,
    pub sent: u64,
    pub busy_us: u64,
    pub window_limited_us: u64,
    pub send_buffer_limited_us: u64,
    /// Whether the kernel does not count these times.
    pub lacks_times: bool,
}

impl Counters {
    /// Adds what was counted from `before` to `now`.
    fn add(&mut self, before: Counters, now: Counters) {
        self.received += now.received.saturating_sub(before.received);
        self.sent += now.sent.saturating_sub(before.sent);
        self.busy_us += now.busy_us.saturating_sub(before.busy_us);
        self.window_limited_us += now.window_limited_us.saturating_sub(before.window_limited_us);
        self.send_buffer_limited_us += now.send_buffer_limited_us.saturating_sub(before.send_buffer_limited_us);
        self.lacks_times |= now.lacks_times;
    }
}

/// The sockets of one network namespace, and how far each was at the last sample.
#[derive(Debug)]
pub struct Payload {
    questions: OwnedFd,
    /// Where the kernel reports sockets that end.
    ends: Option<OwnedFd>,
    buffer: Vec<u8>,
    sockets: Sockets,
}

impl Payload {
    /// Begins to watch the network namespace of the calling thread: the sockets that are open when they are asked.
    ///
    /// # Errors
    /// When the kernel or a sandbox refuses such sockets.
    pub fn open() -> io::Result<Payload> {
        Ok(Payload { questions: socket(0)?, ends: None, buffer: vec![0; 256 << 10], sockets: Sockets::default() })
    }

    /// Watches those that end as well.
    ///
    /// # Errors
    /// As [`Payload::open`].
    pub fn open_with_ends() -> io::Result<Payload> {
        let ends = socket(DESTROYED)?;
        // Thousands of connections may end between two samples; less room is granted where this is too much.
        let _ = sockopt::set_socket_recv_buffer_size(&ends, 8 << 20);
        Ok(Payload { ends: Some(ends), ..Payload::open()? })
    }

    /// Whether sockets that end are watched, for which every sample has to ask.
    pub fn counts_all(&self) -> bool {
        self.ends.is_some()
    }

    /// Growth of counters since the sample before; None at the first, and when the kernel had to drop messages.
    ///
    /// # Errors
    /// When the kernel gives no answer.
    pub fn sample(&mut self) -> io::Result<Option<Counters>> {
        self.sockets.begin();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            send(&self.questions, &question(family.as_raw() as u8), SendFlags::empty())?;
            loop {
                let (n, _) = recv(&self.questions, &mut self.buffer[..], RecvFlags::empty())?;
                if self.sockets.read_messages(&self.buffer[..n], Of::Living)? {
                    break;
                }
            }
        }
        let mut whole = true;
        while let Some(ends) = &self.ends {
            match recv(ends, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                Ok((n, _)) => drop(self.sockets.read_messages(&self.buffer[..n], Of::Ended)?),
                Err(Errno::AGAIN) => break,
                // Messages were lost: the sum is not known, and the next one is good again.
                Err(Errno::NOBUFS) => whole = false,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.sockets.end().filter(|_| whole))
    }
}

/// A socket for questions about sockets, or for the messages of `groups`.
fn socket(groups: u32) -> io::Result<OwnedFd> {
    let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    bind(&fd, &netlink::SocketAddrNetlink::new(0, groups))?;
    Ok(fd)
}

/// The subject of a message.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Living,
    Ended,
}

/// How far each socket was, by its cookie.
#[derive(Debug, Default)]
struct Sockets {
    known: FxHashMap<u64, (Counters, u64)>,
    round: u64,
    living: usize,
    grown: Counters,
}

impl Sockets {
    fn begin(&mut self) {
        self.round += 1;
        self.living = 0;
        self.grown = Counters::default();
    }

    /// Takes messages; true when the last one of an answer was among them.
    fn read_messages(&mut self, mut messages: &[u8], of: Of) -> io::Result<bool> {
        while let (Some(len), Some(kind)) = (number(messages, 0, 4), number(messages, 4, 2)) {
            let len = len as usize;
            if len < HEADER || len > messages.len() {
                break;
            }
            let body = &messages[HEADER..len];
            match kind as u16 {
                DONE => return Ok(true),
                ERROR => {
                    let code = number(body, 0, 4).map_or(0, |n| n as u32 as i32);
                    return if code == 0 { Ok(true) } else { Err(io::Error::from_raw_os_error(-code)) };
                }
                BY_FAMILY => self.message(body, of),
                _ => {}
            }
            messages = &messages[len.next_multiple_of(4).min(messages.len())..];
        }
        Ok(false)
    }

    fn message(&mut self, body: &[u8], of: Of) {
        let (Some(cookie), Some(now)) = (number(body, COOKIE, 8), counters(body)) else { return };
        let before = match of {
            Of::Living => {
                self.living += 1;
                self.known.insert(cookie, (now, self.round))
            }
            Of::Ended => self.known.remove(&cookie),
        };
        // A socket that was not there before began in this interval, at nothing.
        let (before, _) = before.unwrap_or_default();
        self.grown.add(before, now);
    }

    fn end(&mut self) -> Option<Counters> {
        if self.known.len() > self.living + ASIDE {
            let round = self.round;
            self.known.retain(|_, (_, seen)| *seen == round);
        }
        (self.round > 1).then_some(self.grown)
    }
}

/// The counters in a message's `tcp_info`; kernels before 4.19 only count what was acknowledged.
fn counters(body: &[u8]) -> Option<Counters> {
    let mut attributes = body.get(MESSAGE..)?;
    loop {
        let len = number(attributes, 0, 2)? as usize;
        if number(attributes, 2, 2)? as u16 == INFO {
            let info = attributes.get(4..len)?;
            let sent = number(info, BYTES_SENT, 8).zip(number(info, BYTES_AGAIN, 8));
            let sent = sent.map(|(all, again)| all.saturating_sub(again)).or_else(|| number(info, BYTES_ACKED, 8))?;
            let time = |place| number(info, place, 8).unwrap_or(0);
            return Some(Counters {
                received: number(info, BYTES_RECEIVED, 8)?,
                sent,
                busy_us: time(BUSY_US),
                window_limited_us: time(WINDOW_LIMITED_US),
                send_buffer_limited_us: time(SEND_BUFFER_LIMITED_US),
                lacks_times: info.len() < SEND_BUFFER_LIMITED_US + 8,
            });
        }
        attributes = attributes.get(len.max(4).next_multiple_of(4)..)?;
    }
}

/// The number of `width` bytes at `place`, as the machine writes it.
fn number(bytes: &[u8], place: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(place..place + width)?;
    Some(match width {
        2 => u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
        4 => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
        _ => u64::from_ne_bytes(bytes.try_into().ok()?),
    })
}

/// Asks for all TCP sockets of a family: `nlmsghdr` and `inet_diag_req_v2`.
fn question(family: u8) -> [u8; 72] {
    let mut bytes = [0; 72];
    bytes[..4].copy_from_slice(&72_u32.to_ne_bytes());
    bytes[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    (bytes[16], bytes[17], bytes[18]) = (family, TCP, 1 << (INFO - 1));
    bytes[20..24].copy_from_slice(&STATES.to_ne_bytes());
    bytes
}

#[cfg(test)]
#[path = "tcp_bytes/tests.rs"]
mod tests;
