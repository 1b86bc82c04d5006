//! `tcp_bytes`: as `tcp`, and the bytes that TCP carried, which Linux keeps for each socket but does not sum up.
//!
//! Every sample asks for all sockets' counters (NETLINK_SOCK_DIAG, as `ss -i` does), and between samples the
//! kernel reports each socket that ends, with its last counters (as `ss -E`): connections that live
//! shorter than the interval are not missed. The bytes are payload: no headers, no retransmissions.
//! That costs about a microsecond for each socket and sample, so it is done only when asked for.

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
        connections(root, root.is_live().then(Payload::open))
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
/// Where `tcp_info` has its counters of bytes.
const BYTES_ACKED: usize = 120;
const BYTES_RECEIVED: usize = 128;
const BYTES_SENT: usize = 200;
const BYTES_AGAIN: usize = 208;
/// Sockets that are remembered though they were not in the last answer: those that were reset but not yet closed.
const ASIDE: usize = 10_000;

/// Bytes received and sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bytes {
    pub received: u64,
    pub sent: u64,
}

/// The sockets of one network namespace, and how far each was at the last sample.
#[derive(Debug)]
pub struct Payload {
    questions: OwnedFd,
    ends: OwnedFd,
    buffer: Vec<u8>,
    sockets: Sockets,
}

impl Payload {
    /// Begins to watch the network namespace of the calling thread.
    ///
    /// # Errors
    /// When the kernel or a sandbox refuses such sockets.
    pub fn open() -> io::Result<Payload> {
        let open = |groups: u32| -> io::Result<OwnedFd> {
            let flags = SocketFlags::CLOEXEC;
            let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))?;
            bind(&fd, &netlink::SocketAddrNetlink::new(0, groups))?;
            Ok(fd)
        };
        let ends = open(DESTROYED)?;
        // Thousands of connections may end between two samples; less room is granted where this is too much.
        let _ = sockopt::set_socket_recv_buffer_size(&ends, 8 << 20);
        Ok(Payload { questions: open(0)?, ends, buffer: vec![0; 256 << 10], sockets: Sockets::default() })
    }

    /// Bytes since the sample before; None at the first, and when the kernel had to drop messages.
    ///
    /// # Errors
    /// When the kernel gives no answer.
    pub fn sample(&mut self) -> io::Result<Option<Bytes>> {
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
        loop {
            match recv(&self.ends, &mut self.buffer[..], RecvFlags::DONTWAIT) {
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

/// The subject of a message.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Living,
    Ended,
}

/// How far each socket was, by its cookie.
#[derive(Debug, Default)]
struct Sockets {
    known: FxHashMap<u64, (Bytes, u64)>,
    round: u64,
    living: usize,
    grown: Bytes,
}

impl Sockets {
    fn begin(&mut self) {
        self.round += 1;
        self.living = 0;
        self.grown = Bytes::default();
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
        let (Some(cookie), Some(bytes)) = (number(body, COOKIE, 8), bytes_of(body)) else { return };
        let before = match of {
            Of::Living => {
                self.living += 1;
                self.known.insert(cookie, (bytes, self.round))
            }
            Of::Ended => self.known.remove(&cookie),
        };
        // A socket that was not there before began in this interval, at nothing.
        let (before, _) = before.unwrap_or_default();
        self.grown.received += bytes.received.saturating_sub(before.received);
        self.grown.sent += bytes.sent.saturating_sub(before.sent);
    }

    fn end(&mut self) -> Option<Bytes> {
        if self.known.len() > self.living + ASIDE {
            let round = self.round;
            self.known.retain(|_, (_, seen)| *seen == round);
        }
        (self.round > 1).then_some(self.grown)
    }
}

/// The counters in a message's `tcp_info`; kernels before 4.19 only count what was acknowledged.
fn bytes_of(body: &[u8]) -> Option<Bytes> {
    let mut attributes = body.get(MESSAGE..)?;
    loop {
        let len = number(attributes, 0, 2)? as usize;
        if number(attributes, 2, 2)? as u16 == INFO {
            let info = attributes.get(4..len)?;
            let sent = number(info, BYTES_SENT, 8).zip(number(info, BYTES_AGAIN, 8));
            let sent = sent.map(|(all, again)| all.saturating_sub(again)).or_else(|| number(info, BYTES_ACKED, 8))?;
            return Some(Bytes { received: number(info, BYTES_RECEIVED, 8)?, sent });
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
