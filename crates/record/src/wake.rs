//! Sleeps until a deadline, a signal or the exit of the command, whichever is first.

use std::{io, os::fd::OwnedFd, time::Duration};

use fenxi_sys::signal::{Came, Descriptor, Signal, Signals};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime},
};

/// Signals that end a recording, or are passed on to its command.
const ENDING: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
/// Signals that are only passed on to the command.
const PASSED_ON: [Signal; 2] = [Signal::USR1, Signal::USR2];

/// No time: for a poll, not to wait; for a timer, to be switched off.
const NONE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

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
    signals: Descriptor,
    timer: OwnedFd,
    before: Signals,
}

impl Sleeper {
    /// Blocks the signals that matter in this thread, and so in threads it starts from now on.
    ///
    /// # Errors
    /// When the kernel refuses a signal or timer descriptor.
    pub fn new(passes_on: bool) -> io::Result<Sleeper> {
        let passed_on = PASSED_ON.iter().filter(|_| passes_on);
        let set = Signals::of(ENDING.iter().chain(&[Signal::CHILD]).chain(passed_on).copied());
        let before = set.block()?;
        Ok(Sleeper {
            signals: set.descriptor()?,
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?,
            before,
        })
    }

    /// Sleeps until `deadline` (seconds on the steady clock; None: for ever) or an earlier signal.
    ///
    /// # Errors
    /// When the kernel refuses to poll; interruptions are not errors.
    pub fn sleep_until(&self, deadline: Option<f64>) -> io::Result<Wake> {
        // A timer set to zero is a timer switched off, hence at least one nanosecond.
        let at = deadline.map_or(Duration::ZERO, |at| Duration::from_secs_f64(at.max(1e-9)));
        let at = Itimerspec { it_interval: NONE, it_value: at.try_into().map_err(io::Error::other)? };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &at)?;
        loop {
            if let Some(wake) = self.pending_signal()? {
                return Ok(wake);
            }
            let mut fds = [PollFd::new(&self.signals, PollFlags::IN), PollFd::new(&self.timer, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            let due = fds[1].revents().contains(PollFlags::IN);
            if due && self.pending_is_none()? {
                return Ok(Wake::Deadline);
            }
        }
    }

    fn pending_is_none(&self) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.signals, PollFlags::IN)];
        match poll(&mut fds, Some(&NONE)) {
            Ok(n) => Ok(n == 0),
            Err(Errno::INTR) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }

    fn pending_signal(&self) -> io::Result<Option<Wake>> {
        Ok(self.signals.read()?.map(|Came { signal, by_process }| match signal {
            Signal::CHILD => Wake::Child,
            _ => Wake::Signal { signal, ends: ENDING.contains(&signal), by_process },
        }))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // Pending signals are taken off first, or they would strike as soon as they are let through. Where the
        // caller held signals back before, they are for the caller.
        if !self.before.contains(Signal::INT) {
            while let Ok(Some(_)) = self.pending_signal() {}
        }
        let _ = self.before.block_only();
    }
}
