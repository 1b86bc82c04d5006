//! Non-blocking socket of a connection, with TLS if the target asks for it.
//!
//! Its only memory is what the kernel did not take at once; what comes is read into a buffer that all connections of a
//! thread share.

use std::{
    io::{self, Read, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use fenxi_sys::socket;
use rustix::{
    buffer::spare_capacity,
    net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt},
    time::{ClockId, clock_gettime},
};
use rustls::ClientConnection;

use crate::{
    target::{Endpoint, Target},
    tls,
};

/// Outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Bytes were added, and there may be more.
    Some,
    /// Bytes were added, and there are no more at the moment.
    All,
    /// There are none at the moment.
    Later,
    /// The server has closed the connection.
    End,
}

/// How much is read at once. A full socket gives more with the next read.
const READ: usize = 64 << 10;

/// A connection.
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
    tls: Option<Box<ClientConnection>>,
    /// Bytes that the kernel did not take yet.
    unsent: Vec<u8>,
}

impl Channel {
    /// Begins to connect; the socket is writable when that is done.
    ///
    /// # Errors
    /// When it fails at once.
    pub fn connect(endpoint: &Endpoint) -> io::Result<Channel> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let family = match endpoint {
            Endpoint::Tcp(address) if address.is_ipv4() => AddressFamily::INET,
            Endpoint::Tcp(_) => AddressFamily::INET6,
            Endpoint::Unix(_) => AddressFamily::UNIX,
        };
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        let begun = match endpoint {
            Endpoint::Tcp(address) => {
                sockopt::set_tcp_nodelay(&socket, true)?;
                rustix::net::connect(&socket, address)
            }
            Endpoint::Unix(path) => rustix::net::connect(&socket, &SocketAddrUnix::new(path)?),
        };
        match begun {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(Channel { socket, tls: None, unsent: Vec::new() }),
            Err(error) => Err(error.into()),
        }
    }

    /// Checks that the connection was established, once the socket is writable.
    ///
    /// # Errors
    /// Why it was not.
    pub fn established(&self) -> io::Result<()> {
        sockopt::socket_error(&self.socket)?.map_err(io::Error::from)
    }

    /// Begins TLS.
    ///
    /// # Errors
    /// When the library refuses, or the target wants none.
    pub fn secure(&mut self, target: &Target) -> io::Result<()> {
        let Some((config, name)) = &target.tls else {
            return Err(io::Error::other("the target wants no TLS"));
        };
        let tls = ClientConnection::new(config.clone(), name.clone()).map_err(io::Error::other)?;
        self.tls = Some(Box::new(tls));
        self.push_tls()
    }

    /// Channel binding of a login to this connection; None where it is not encrypted, or the certificate has none.
    pub fn end_point(&self) -> Option<Vec<u8>> {
        tls::end_point(self.tls.as_ref()?.peer_certificates()?.first()?)
    }

    /// Sends bytes; what the kernel does not take waits for [`Channel::flush`].
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.writer().write_all(bytes)?;
            return self.push_tls();
        }
        if !self.unsent.is_empty() {
            self.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let sent = self.offer(bytes)?;
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    fn push_tls(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            while tls.wants_write() {
                tls.write_tls(&mut self.unsent)?;
            }
        }
        self.flush()
    }

    /// Sends what waits.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let sent = self.offer(&self.unsent)?;
        if sent == self.unsent.len() {
            // A burst should not keep its memory in ten thousand connections.
            self.unsent = Vec::new();
        } else {
            self.unsent.drain(..sent);
        }
        Ok(())
    }

    /// How much of `bytes` the kernel took.
    fn offer(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() {
            match rustix::net::send(&self.socket, &bytes[sent..], SendFlags::NOSIGNAL) {
                Ok(count) => sent += count,
                Err(rustix::io::Errno::INTR) => {}
                // A Unix socket returns this too while its peer's queue is full.
                Err(rustix::io::Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(sent)
    }

    /// Returns true if something waits to be sent.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Lets the kernel note when bytes arrive, for [`Channel::receive_late`]. Where it does not, arrival times are unknown.
    pub fn stamp_arrivals(&self) {
        let _ = socket::stamp_arrivals(&self.socket);
    }

    /// As [`Channel::receive`], and how long what came last had been there. None where the kernel did not note it, as of Unix
    /// sockets, and of what is encrypted.
    ///
    /// # Errors
    /// As [`Channel::receive`].
    pub fn receive_late(&mut self, into: &mut Vec<u8>) -> io::Result<(Received, Option<Duration>)> {
        if self.tls.is_some() {
            return self.receive_tls(into).map(|received| (received, None));
        }
        read_late(&self.socket, into)
    }

    /// Adds what has come to `into`; of what is encrypted it may be nothing.
    ///
    /// # Errors
    /// When the connection is lost or the encryption broken.
    pub fn receive(&mut self, into: &mut Vec<u8>) -> io::Result<Received> {
        if self.tls.is_some() {
            return self.receive_tls(into);
        }
        into.reserve(READ);
        read(&self.socket, into)
    }

    fn receive_tls(&mut self, into: &mut Vec<u8>) -> io::Result<Received> {
        let mut raw = Vec::with_capacity(READ);
        let received = read(&self.socket, &mut raw)?;
        let mut rest = raw.as_slice();
        if let Some(tls) = &mut self.tls {
            while !rest.is_empty() {
                tls.read_tls(&mut rest)?;
                let state = tls.process_new_packets().map_err(io::Error::other)?;
                let plain = into.len();
                into.resize(plain + state.plaintext_bytes_to_read(), 0);
                tls.reader().read_exact(&mut into[plain..])?;
            }
        }
        self.push_tls()?;
        Ok(received)
    }
}

fn read(socket: &OwnedFd, into: &mut Vec<u8>) -> io::Result<Received> {
    match rustix::net::recv(socket, spare_capacity(into), RecvFlags::empty()) {
        Ok((0, _)) => Ok(Received::End),
        // A stream that gives less than there is room for has no more.
        Ok(_) if into.len() < into.capacity() => Ok(Received::All),
        Ok(_) => Ok(Received::Some),
        Err(rustix::io::Errno::AGAIN) => Ok(Received::Later),
        Err(rustix::io::Errno::INTR) => Ok(Received::Some),
        Err(error) => Err(error.into()),
    }
}

fn read_late(socket: &OwnedFd, into: &mut Vec<u8>) -> io::Result<(Received, Option<Duration>)> {
    let begin = into.len();
    into.resize(begin + READ, 0);
    let (received, count, arrived) = match socket::receive_stamped(socket, &mut into[begin..]) {
        Ok((0, arrived)) => (Ok(Received::End), 0, arrived),
        Ok((n, arrived)) if n < READ => (Ok(Received::All), n, arrived),
        Ok((n, arrived)) => (Ok(Received::Some), n, arrived),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => (Ok(Received::Later), 0, None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => (Ok(Received::Some), 0, None),
        Err(error) => (Err(error), 0, None),
    };
    into.truncate(begin + count);
    // A clock that was set back is of no use.
    let late = arrived.and_then(|at| now().checked_sub(at));
    received.map(|received| (received, late))
}

/// By the clock of the kernel's stamps: since 1970.
fn now() -> Duration {
    let now = clock_gettime(ClockId::Realtime);
    Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec as u32)
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
