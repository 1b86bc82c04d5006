//! Generic netlink, as little of it as exit records need: find a family, ask, take messages.

use std::{io, os::fd::OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, netlink::SocketAddrNetlink, sockopt,
};

/// The family that lists families, and what asks it for one by name.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// Type of the message that acknowledges or refuses.
const ERROR: u16 = 2;
/// A request that is to be acknowledged.
const REQUEST_ACK: u16 = 1 | 4;
const HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;
/// The bits of an attribute's type that say how it is laid out.
const LAYOUT_BITS: u16 = 0xc000;

/// A socket that never blocks.
#[derive(Debug)]
pub struct Socket {
    pub fd: OwnedFd,
}

impl Socket {
    /// Opens one with room for `bytes` of messages that wait, or as many as are allowed.
    pub fn open(bytes: usize) -> io::Result<Socket> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::GENERIC))?;
        if sockopt::set_socket_recv_buffer_size_force(&fd, bytes).is_err() {
            sockopt::set_socket_recv_buffer_size(&fd, bytes)?;
        }
        rustix::net::bind(&fd, &SocketAddrNetlink::new(0, 0))?;
        Ok(Socket { fd })
    }

    /// The number of the family called `name`.
    pub fn family(&self, name: &str) -> io::Result<u16> {
        let name = [name.as_bytes(), b"\0"].concat();
        let answer = self.ask(CONTROL, GET_FAMILY, FAMILY_NAME, &name)?;
        let found = attributes(&answer).find(|(kind, _)| *kind == FAMILY_ID).and_then(|(_, value)| u16_at(value, 0));
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the kernel's answer names no family"))
    }

    /// Sends a command with one attribute; gives the attributes of the answer, if it has any.
    pub fn ask(&self, family: u16, command: u8, kind: u16, value: &[u8]) -> io::Result<Vec<u8>> {
        let attribute_len = 4 + value.len();
        let len = HEADER + GENERIC_HEADER + attribute_len.next_multiple_of(4);
        let mut message = Vec::with_capacity(len);
        message.extend((len as u32).to_ne_bytes());
        message.extend(family.to_ne_bytes());
        message.extend(REQUEST_ACK.to_ne_bytes());
        message.extend([0; 8]);
        message.extend([command, 1, 0, 0]);
        message.extend((attribute_len as u16).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(value);
        message.resize(len, 0);
        rustix::net::send(&self.fd, &message, SendFlags::empty())?;
        // The kernel answers within the call that asks: everything is there now.
        let mut answer = Vec::new();
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let (n, _) = rustix::net::recv(&self.fd, &mut buffer[..], RecvFlags::empty())?;
            for (kind, payload) in messages(&buffer[..n]) {
                match kind {
                    ERROR => match u32_at(payload, 0).map(|code| code as i32) {
                        Some(0) => return Ok(answer),
                        code => return Err(io::Error::from_raw_os_error(-code.unwrap_or(-5))),
                    },
                    kind if kind == family => answer.extend(payload.get(GENERIC_HEADER..).unwrap_or_default()),
                    _ => {}
                }
            }
        }
    }

    /// Takes one datagram into `buffer`; None when none waits.
    ///
    /// # Errors
    /// `NOBUFS` when messages were lost for want of room.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::net::recv(&self.fd, buffer, RecvFlags::empty()) {
            Ok((n, _)) => Ok(Some(n)),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The messages of a datagram: type and what follows the header.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = u32_at(bytes, 0)? as usize;
        let kind = u16_at(bytes, 4)?;
        let payload = bytes.get(HEADER..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, payload))
    })
}

/// The attributes of a generic message.
pub fn generic(payload: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    attributes(payload.get(GENERIC_HEADER..).unwrap_or_default())
}

/// Attributes one after the other: type and value.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & !LAYOUT_BITS;
        let value = bytes.get(4..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{attributes, messages};

    #[test]
    fn torn_messages_end_the_list() {
        let bytes = [8, 0, 3, 0, 1, 2, 3, 4, 5, 0, 0x02, 0x80, 9, 0, 0, 0, 99, 0, 1, 0];
        assert_eq!(attributes(&bytes).collect::<Vec<_>>(), [(3, &[1, 2, 3, 4][..]), (2, &[9])]);
        assert_eq!(attributes(&[0, 0, 1, 0]).count() + attributes(&[4]).count() + messages(&[0; 20]).count(), 0);
    }
}
