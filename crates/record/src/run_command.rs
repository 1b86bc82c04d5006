//! Runs a command to its end during an experiment, and survives signals.

use std::{ffi::OsString, io};

use rustix::process::Signal;

use crate::{
    clock,
    command::{Contained, Ended, GRACE_S, Running},
    wake::{Sleeper, Wake},
};

/// End of an observed command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommandEnd {
    /// Its exit status, as a shell gives it.
    pub exit_code: i32,
    /// Seconds it ran.
    pub elapsed_s: f64,
    /// Reason why it ended.
    pub cause: Cause,
}

/// Reason why a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It exited by itself.
    Itself,
    /// Its time was over.
    OutOfTime,
    /// This process was asked to end by this signal.
    Interrupted(i32),
}

/// Holds signals that ask for an end back in this thread for as long as it lives: they are then seen by
/// [`run_command`], [`pause`] and [`crate::observe`] only, so that nothing is left undone between these.
#[derive(Debug)]
pub struct Hold {
    _sleeper: Sleeper,
}

impl Hold {
    /// Begins to hold signals back.
    ///
    /// # Errors
    /// When the kernel refuses signal descriptors.
    pub fn new() -> io::Result<Hold> {
        Ok(Hold { _sleeper: Sleeper::new(false)? })
    }
}

/// Runs `argv` to its end, or for `limit_s` seconds, or until a signal asks for the end; then all of its
/// process group is ended.
///
/// # Errors
/// When the command cannot be started, or the kernel refuses to wait for it.
pub fn run_command(argv: &[OsString], contained: &Contained, limit_s: Option<f64>) -> io::Result<CommandEnd> {
    let sleeper = Sleeper::new(false)?;
    let mut running = Running::start(argv, Some(contained), None)?;
    let mut deadline = limit_s.map(|limit| clock::monotonic() + limit);
    let mut cause = Cause::Itself;
    loop {
        if let Some(ended) = running.ended()? {
            if cause != Cause::Itself {
                running.kill_rest();
            }
            return Ok(CommandEnd { exit_code: Ended::exit_code(&ended), elapsed_s: ended.elapsed_s(), cause });
        }
        let why = match sleeper.sleep_until(deadline)? {
            Wake::Child => continue,
            Wake::Signal { ends: false, .. } => continue,
            Wake::Signal { signal, .. } => Cause::Interrupted(signal.as_raw()),
            Wake::Deadline => Cause::OutOfTime,
        };
        if cause == Cause::Itself {
            cause = why;
            running.signal(Signal::TERM);
            deadline = Some(clock::monotonic() + GRACE_S);
        } else {
            // It had its time to end, or somebody asked twice.
            running.signal(Signal::KILL);
            deadline = None;
        }
    }
}

/// Waits for `seconds`; gives the signal that asked for the end before, if one did.
///
/// # Errors
/// When the kernel refuses to wait.
pub fn pause(seconds: f64) -> io::Result<Option<i32>> {
    let sleeper = Sleeper::new(false)?;
    let until = clock::monotonic() + seconds;
    loop {
        match sleeper.sleep_until(Some(until))? {
            Wake::Deadline => return Ok(None),
            Wake::Signal { signal, ends: true, .. } => return Ok(Some(signal.as_raw())),
            Wake::Child | Wake::Signal { .. } => {}
        }
    }
}
