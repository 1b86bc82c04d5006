//! When bytes arrived at a socket, by the kernel's stamps: `rustix` knows neither the option nor the message.

use std::{
    io,
    os::fd::{AsFd, AsRawFd},
    time::Duration,
};

/// Lets the kernel note when bytes arrive, for [`receive_stamped`].
///
/// # Errors
/// When the kernel refuses.
pub fn stamp_arrivals(socket: impl AsFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the value of the option is an int, which outlives the call.
    let failed = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Receives into `bytes`. Gives how many came, 0 at the end, and when the last of them did, since 1970; None where the
/// kernel did not note it.
///
/// # Errors
/// When there are none at the moment, or the connection is lost.
pub fn receive_stamped(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // Room for a header and a time, in words, so that it is aligned as a header.
    let mut control = [0_u64; 8];
    // SAFETY: a msghdr is plain data, for which zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: what the message points to is writable, of the length in it, and outlives the call.
    let n = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, 0) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    Ok((n, stamp_of(&message)))
}

/// The last stamp among a message's control messages.
fn stamp_of(message: &libc::msghdr) -> Option<Duration> {
    let mut stamp: Option<libc::timespec> = None;
    // SAFETY: the kernel wrote the headers into the control buffer, which is aligned for them; `CMSG_NXTHDR` gives null
    // at its end. The data of a stamp is a time, wherever it lies.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(found) = header.as_ref() {
            if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                stamp = Some(libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned());
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    let stamp = stamp?;
    Some(Duration::new(stamp.tv_sec.try_into().ok()?, stamp.tv_nsec.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Write},
        net::{TcpListener, TcpStream},
        time::Duration,
    };

    use rustix::time::{ClockId, clock_gettime};

    use super::{receive_stamped, stamp_arrivals};

    fn now() -> Duration {
        let now = clock_gettime(ClockId::Realtime);
        Duration::new(now.tv_sec.try_into().unwrap(), now.tv_nsec.try_into().unwrap())
    }

    #[test]
    fn bytes_come_with_the_moment_they_arrived() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let mut bytes = [0; 8];
        client.write_all(b"plain").unwrap();
        assert_eq!(receive_stamped(&server, &mut bytes).unwrap(), (5, None));
        stamp_arrivals(&server).unwrap();
        // Stamps are switched on for the whole system, in the background when no other socket has them.
        let begin = now();
        let (n, stamp) = loop {
            client.write_all(b"stamped").unwrap();
            let (n, stamp) = receive_stamped(&server, &mut bytes).unwrap();
            if stamp.is_some_and(|at| at >= begin) || now() > begin + Duration::from_secs(10) {
                break (n, stamp);
            }
        };
        let stamp = stamp.unwrap();
        assert!((n, &bytes[..n]) == (7, b"stamped") && stamp >= begin && stamp <= now(), "{begin:?} {stamp:?}");
        server.set_nonblocking(true).unwrap();
        assert_eq!(receive_stamped(&server, &mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(client);
        server.set_nonblocking(false).unwrap();
        assert_eq!(receive_stamped(&server, &mut bytes).unwrap(), (0, None));
    }
}
