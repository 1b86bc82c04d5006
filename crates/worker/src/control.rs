//! Words between a program and its template process: one datagram each, with a socket beside it for a fork.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

/// Messages to a template; each names a session by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Fork the session; its socket comes along.
    Fork(u32),
    /// End the session at once.
    Kill(u32),
    /// Report how the session ended.
    Ask(u32),
}

/// End of a session, as its template reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing is known of it, or it has not ended.
    Unknown,
    /// It ended itself, with this status.
    Exit(i32),
    /// A signal ended it.
    Signal(i32),
}

/// Bytes of an order and of an end.
const LENGTH: usize = 5;

impl Order {
    fn bytes(self) -> [u8; LENGTH] {
        let (letter, id) = match self {
            Order::Fork(id) => (b'F', id),
            Order::Kill(id) => (b'K', id),
            Order::Ask(id) => (b'A', id),
        };
        packed(letter, id)
    }

    fn from_bytes(bytes: [u8; LENGTH]) -> Option<Order> {
        let id = unpacked(bytes);
        match bytes[0] {
            b'F' => Some(Order::Fork(id)),
            b'K' => Some(Order::Kill(id)),
            b'A' => Some(Order::Ask(id)),
            _ => None,
        }
    }
}

impl End {
    fn bytes(self) -> [u8; LENGTH] {
        match self {
            End::Unknown => packed(b'U', 0),
            End::Exit(status) => packed(b'E', status.cast_unsigned()),
            End::Signal(signal) => packed(b'S', signal.cast_unsigned()),
        }
    }

    fn from_bytes(bytes: [u8; LENGTH]) -> End {
        let number = unpacked(bytes).cast_signed();
        match bytes[0] {
            b'E' => End::Exit(number),
            b'S' => End::Signal(number),
            _ => End::Unknown,
        }
    }
}

fn packed(letter: u8, number: u32) -> [u8; LENGTH] {
    let mut bytes = [letter, 0, 0, 0, 0];
    bytes[1..].copy_from_slice(&number.to_le_bytes());
    bytes
}

fn unpacked(bytes: [u8; LENGTH]) -> u32 {
    u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]])
}

/// Sends an order, and `socket` with it.
///
/// # Errors
/// When the template has gone.
pub fn send(to: impl AsFd, order: Order, socket: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let sockets: Vec<BorrowedFd<'_>> = socket.into_iter().collect();
    if !sockets.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(&sockets));
    }
    rustix::net::sendmsg(to, &[IoSlice::new(&order.bytes())], &mut beside, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for an order; None when who gives them has gone.
///
/// # Errors
/// When reading fails, or what comes is no order.
pub fn receive(from: impl AsFd) -> io::Result<Option<(Order, Option<OwnedFd>)>> {
    let mut bytes = [0_u8; LENGTH];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(&mut bytes)];
    let got = rustix::net::recvmsg(from, parts, &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    let socket = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    match got.bytes {
        0 => Ok(None),
        LENGTH => {
            Order::from_bytes(bytes).map(|order| Some((order, socket))).ok_or_else(|| io::Error::other("no order"))
        }
        _ => Err(io::Error::other("no order")),
    }
}

/// Sends how a session ended.
///
/// # Errors
/// When who asked has gone.
pub fn send_end(to: impl AsFd, end: End) -> io::Result<()> {
    rustix::net::send(to, &end.bytes(), SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for what [`send_end`] sends.
///
/// # Errors
/// When the template has gone.
pub fn receive_end(from: impl AsFd) -> io::Result<End> {
    let mut bytes = [0_u8; LENGTH];
    let (got, _) = rustix::net::recv(from, &mut bytes, RecvFlags::empty())?;
    if got == LENGTH { Ok(End::from_bytes(bytes)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::{End, Order, receive, receive_end, send, send_end};
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    use std::os::fd::AsFd;

    #[test]
    fn orders_and_ends_arrive_as_they_were_sent() {
        let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let file = fs_err::File::open("/dev/null").unwrap();
        send(&a, Order::Fork(7), Some(file.as_fd())).unwrap();
        send(&a, Order::Kill(u32::MAX), None).unwrap();
        let (order, socket) = receive(&b).unwrap().unwrap();
        assert!(order == Order::Fork(7) && socket.is_some());
        assert!(matches!(receive(&b).unwrap(), Some((Order::Kill(u32::MAX), None))));
        for end in [End::Unknown, End::Exit(3), End::Signal(11)] {
            send_end(&b, end).unwrap();
            assert_eq!(receive_end(&a).unwrap(), end);
        }
        drop(a);
        assert!(receive(&b).unwrap().is_none());
    }
}
