//! Sleeps until a deadline, a signal or the exit of the command, whichever is first.

use std::{io, os::fd::AsFd};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
        time::TimeSpec,
        timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    },
};

/// Signals that end a recording, or are passed on to its command.
const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
/// Signals that are only passed on to the command.
const PASSED_ON: [Signal; 2] = [Signal::SIGUSR1, Signal::SIGUSR2];

/// Why the sleeper woke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The deadline came.
    Deadline,
    /// A child process changed state.
    Child,
    /// Somebody sent a signal.
    Signal {
        /// Which.
        signal: Signal,
        /// Whether it asks for an end.
        ends: bool,
        /// Whether a process sent it, and not the terminal: the terminal sends it to the command too.
        by_process: bool,
    },
}

/// Holds back this thread's signals and hands them out one by one.
#[derive(Debug)]
pub struct Sleeper {
    signals: SignalFd,
    timer: TimerFd,
    before: SigSet,
}

impl Sleeper {
    /// Blocks the signals that matter in this thread, and so in threads it starts from now on.
    ///
    /// # Errors
    /// When the kernel refuses a signal or timer descriptor.
    pub fn new(passes_on: bool) -> io::Result<Sleeper> {
        let mut set = SigSet::empty();
        ENDING.iter().for_each(|s| set.add(*s));
        set.add(Signal::SIGCHLD);
        if passes_on {
            PASSED_ON.iter().for_each(|s| set.add(*s));
        }
        let before = SigSet::thread_get_mask()?;
        set.thread_block()?;
        Ok(Sleeper {
            signals: SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?,
            timer: TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?,
            before,
        })
    }

    /// Sleeps until `deadline` (seconds on the steady clock; None: for ever) or an earlier signal.
    ///
    /// # Errors
    /// When the kernel refuses to poll; interruptions are not errors.
    pub fn sleep_until(&self, deadline: Option<f64>) -> io::Result<Wake> {
        match deadline {
            Some(at) => {
                // A timer set to zero is a timer switched off, hence at least one nanosecond.
                let at = TimeSpec::from_duration(std::time::Duration::from_secs_f64(at.max(1e-9)));
                self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            }
            None => self.timer.unset()?,
        }
        loop {
            if let Some(wake) = self.pending_signal()? {
                return Ok(wake);
            }
            let mut fds = [
                PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.timer.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
            let due = fds[1].revents().is_some_and(|r| r.contains(PollFlags::POLLIN));
            if due && self.pending_is_none()? {
                return Ok(Wake::Deadline);
            }
        }
    }

    fn pending_is_none(&self) -> io::Result<bool> {
        let mut fds = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::ZERO) {
            Ok(n) => Ok(n == 0),
            Err(Errno::EINTR) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }

    fn pending_signal(&self) -> io::Result<Option<Wake>> {
        let Some(info) = self.signals.read_signal()? else { return Ok(None) };
        let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else { return Ok(None) };
        Ok(Some(match signal {
            Signal::SIGCHLD => Wake::Child,
            _ => Wake::Signal { signal, ends: ENDING.contains(&signal), by_process: info.ssi_code <= 0 },
        }))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // What still waits is taken off first, or it would strike as soon as it is let through. Where somebody
        // else held signals back before, it is for them.
        if !self.before.contains(Signal::SIGINT) {
            while let Ok(Some(_)) = self.pending_signal() {}
        }
        let _ = self.before.thread_set_mask();
    }
}
