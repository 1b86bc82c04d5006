//! The time of a recording, which tests make up: its clocks, and waiting for what comes first.

use std::io;

use fenxi_model::Micros;

use crate::{
    clock,
    wake::{Sleeper, Wake},
};

/// The clocks that rows are timed by, and the wait for the next sample.
pub trait Time {
    /// Seconds on a clock that never steps.
    fn monotonic(&self) -> f64;

    /// Wall-clock time, which may step.
    fn wall(&self) -> Micros;

    /// Waits until `deadline` (seconds of [`Time::monotonic`]; None: for ever) or what comes earlier.
    ///
    /// # Errors
    /// When nothing can be waited for.
    fn sleep_until(&mut self, deadline: Option<f64>) -> io::Result<Wake>;

    /// Whether it goes on by itself, so that work can be done beside sampling.
    fn flows(&self) -> bool {
        true
    }
}

/// The system's time, signals and child processes.
pub struct SystemTime {
    sleeper: Sleeper,
}

impl SystemTime {
    /// Blocks the signals that matter in this thread, see [`Sleeper::new`].
    ///
    /// # Errors
    /// When the kernel refuses a signal or timer descriptor.
    pub fn new(passes_on: bool) -> io::Result<SystemTime> {
        Ok(SystemTime { sleeper: Sleeper::new(passes_on)? })
    }
}

impl Time for SystemTime {
    fn monotonic(&self) -> f64 {
        clock::monotonic()
    }

    fn wall(&self) -> Micros {
        clock::wall()
    }

    fn sleep_until(&mut self, deadline: Option<f64>) -> io::Result<Wake> {
        self.sleeper.sleep_until(deadline)
    }
}
