//! Pseudoterminals: what a program writes to a terminal is read before it is shown.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use rustix::{
    fs::{Mode, OFlags},
    termios::{OptionalActions, OutputModes, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize},
};

/// A terminal of the size of `like` that passes on what is written to it as it is, and the end from which that is read.
///
/// # Errors
/// When the kernel has none.
pub fn pair(like: BorrowedFd<'_>) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let reader = rustix::fs::open("/dev/ptmx", flags, Mode::empty())?;
    let locked: libc::c_int = 0;
    // SAFETY: both calls are of an open terminal; the first reads a number that outlives it, the second takes flags.
    let terminal = unsafe {
        if libc::ioctl(reader.as_raw_fd(), libc::TIOCSPTLCK, &raw const locked) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::ioctl(reader.as_raw_fd(), libc::TIOCGPTPEER, libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC)
    };
    if terminal < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave it to us.
    let terminal = unsafe { OwnedFd::from_raw_fd(terminal) };
    let mut modes = tcgetattr(&terminal)?;
    modes.output_modes.remove(OutputModes::OPOST);
    tcsetattr(&terminal, OptionalActions::Now, &modes)?;
    tcsetwinsize(&terminal, tcgetwinsize(like)?)?;
    Ok((reader, terminal))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::termios::{isatty, tcgetwinsize};

    use super::pair;

    #[test]
    fn what_is_written_to_a_terminal_is_read_as_it_is() {
        // A terminal is like itself; there may be none here.
        let size_of = rustix::fs::open("/dev/ptmx", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()).unwrap();
        let (reader, terminal) = pair(size_of.as_fd()).unwrap();
        assert!(isatty(&terminal));
        assert_eq!(tcgetwinsize(&terminal).unwrap().ws_col, tcgetwinsize(&size_of).unwrap().ws_col);
        rustix::io::write(&terminal, b"a\nb\r\n").unwrap();
        let mut bytes = [0; 16];
        let n = rustix::io::read(&reader, &mut bytes[..]).unwrap();
        assert_eq!(&bytes[..n], b"a\nb\r\n");
        drop(terminal);
        assert!(rustix::io::read(&reader, &mut bytes[..]).is_err(), "no writer is left");
    }
}
