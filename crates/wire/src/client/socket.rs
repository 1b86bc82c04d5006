//! Waiting for a socket, as long as it may take.

use std::{io, time::Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{channel::Channel, target::Endpoint};

/// The error of a connection on which nothing came in time.
pub(super) fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer in time")
}

/// Connects.
pub(super) fn establish(endpoint: &Endpoint, until: Instant) -> io::Result<Channel> {
    let channel = Channel::connect(endpoint)?;
    wait_for(&channel, PollFlags::OUT, Some(until))?;
    channel.established()?;
    Ok(channel)
}

/// Waits until the socket can be read or written.
pub(super) fn wait_for(channel: &Channel, what: PollFlags, until: Option<Instant>) -> io::Result<()> {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let timeout = left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
    let mut sockets = [PollFd::new(channel, what)];
    match poll(&mut sockets, timeout.as_ref()) {
        Ok(0) => Err(late()),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
