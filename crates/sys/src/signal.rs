//! Signals of a thread: blocked, waited for, and read from a descriptor.

use std::{
    fmt, io,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd},
};

pub use rustix::process::Signal;

/// A set of signals.
#[derive(Clone, Copy)]
pub struct Signals(libc::sigset_t);

impl Signals {
    /// Every signal.
    pub fn all() -> Signals {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the call writes the whole set, and cannot fail for a valid pointer.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            Signals(set.assume_init())
        }
    }

    /// These signals.
    pub fn of(signals: impl IntoIterator<Item = Signal>) -> Signals {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the first call writes the whole set, the others change it.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in signals {
                libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
            }
            Signals(set.assume_init())
        }
    }

    /// Returns true if `signal` is one of them.
    pub fn contains(&self, signal: Signal) -> bool {
        // SAFETY: the set is initialised and only read.
        unsafe { libc::sigismember(&raw const self.0, signal.as_raw()) == 1 }
    }

    /// Blocks them in this thread, and in those that it starts from now on. Gives what was blocked before.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn block(&self) -> io::Result<Signals> {
        self.mask(libc::SIG_BLOCK)
    }

    /// Unblocks them in this thread. Gives what was blocked before. Safe to call between fork and exec.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn unblock(&self) -> io::Result<Signals> {
        self.mask(libc::SIG_UNBLOCK)
    }

    /// Blocks them and no others in this thread. Gives what was blocked before.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn block_only(&self) -> io::Result<Signals> {
        self.mask(libc::SIG_SETMASK)
    }

    fn mask(&self, how: libc::c_int) -> io::Result<Signals> {
        let mut before = Signals::of([]);
        // SAFETY: both sets are initialised and outlive the call.
        match unsafe { libc::pthread_sigmask(how, &raw const self.0, &raw mut before.0) } {
            0 => Ok(before),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Waits until one of them comes, which must be blocked, and takes it.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn wait(&self) -> io::Result<()> {
        let mut came = 0;
        // SAFETY: the set is initialised, the number is written to a variable; both outlive the call.
        match unsafe { libc::sigwait(&raw const self.0, &raw mut came) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// A descriptor that is readable while one of them, which must be blocked, is pending. Reading does not wait.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn descriptor(&self) -> io::Result<Descriptor> {
        // SAFETY: the set is initialised and only read.
        let fd = unsafe { libc::signalfd(-1, &raw const self.0, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave it to us.
        Ok(Descriptor(unsafe { OwnedFd::from_raw_fd(fd) }))
    }
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = (1..32).filter_map(Signal::from_named_raw).filter(|signal| self.contains(*signal));
        f.debug_set().entries(named).finish()
    }
}

/// Where signals are read.
#[derive(Debug)]
pub struct Descriptor(OwnedFd);

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// Which.
    pub signal: Signal,
    /// True if a process sent it, and not the kernel, as for the keys of a terminal.
    pub by_process: bool,
}

impl Descriptor {
    /// The next pending signal; None when there is none, or one without a name.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn read(&self) -> io::Result<Option<Came>> {
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        match rustix::io::read(&self.0, &mut info) {
            Ok(_) => {}
            Err(rustix::io::Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // The number, an error that is not used, and the code.
        let [number, _, code] =
            [0, 4, 8].map(|at| i32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]));
        Ok(Signal::from_named_raw(number).map(|signal| Came { signal, by_process: code <= 0 }))
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Ends the process by `signal`, also where it was blocked or ignored; returns only if it ends no process.
pub fn end_by(signal: Signal) {
    let _ = Signals::of([signal]).unblock();
    // SAFETY: the default action runs no code of this program.
    unsafe {
        if libc::signal(signal.as_raw(), libc::SIG_DFL) != libc::SIG_ERR {
            libc::raise(signal.as_raw());
        }
    }
}

/// Lets `signal` do nothing from here on.
pub fn ignore(signal: Signal) {
    // SAFETY: an ignored signal runs no code of this program.
    unsafe {
        libc::signal(signal.as_raw(), libc::SIG_IGN);
    }
}

#[cfg(test)]
mod tests {
    use super::{Came, Signal, Signals};

    #[test]
    fn a_set_has_its_signals_and_no_others() {
        let set = Signals::of([Signal::INT, Signal::USR1]);
        assert!(set.contains(Signal::INT) && set.contains(Signal::USR1) && !set.contains(Signal::TERM));
        assert!(Signals::all().contains(Signal::TERM));
        assert_eq!(format!("{:?}", Signals::of([])), "{}");
    }

    #[test]
    fn blocking_gives_what_was_blocked_before() {
        let begin = Signals::of([Signal::URG]).block_only().unwrap();
        let before = Signals::of([Signal::WINCH]).block().unwrap();
        assert!(before.contains(Signal::URG) && !before.contains(Signal::WINCH));
        let before = Signals::of([Signal::URG]).unblock().unwrap();
        assert!(before.contains(Signal::URG) && before.contains(Signal::WINCH));
        let before = begin.block_only().unwrap();
        assert!(!before.contains(Signal::URG) && before.contains(Signal::WINCH));
    }

    #[test]
    fn a_descriptor_gives_what_is_pending_once() {
        let set = Signals::of([Signal::WINCH]);
        let before = set.block().unwrap();
        let descriptor = set.descriptor().unwrap();
        assert_eq!(descriptor.read().unwrap(), None);
        // SAFETY: the signal is blocked in this thread, to which alone it goes, so that nothing runs.
        let raise = || unsafe { libc::raise(Signal::WINCH.as_raw()) };
        raise();
        assert_eq!(descriptor.read().unwrap(), Some(Came { signal: Signal::WINCH, by_process: true }));
        assert_eq!(descriptor.read().unwrap(), None);
        raise();
        set.wait().unwrap();
        assert_eq!(descriptor.read().unwrap(), None);
        before.block_only().unwrap();
    }
}
