//! Ctrl-C during work that must not be left half done.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use nix::sys::signal::{SigSet, Signal};

/// Ctrl-C asks the work to end, so that nothing half-written stays.
#[derive(Debug)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Begins to listen for SIGINT and SIGTERM, which no longer end the process from here on.
    pub fn on_interrupt() -> Stop {
        let asked = Arc::new(AtomicBool::new(false));
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        let theirs = Arc::clone(&asked);
        // Threads started from here on leave these signals to the one that waits for them.
        if signals.thread_block().is_ok() {
            std::thread::spawn(move || {
                while signals.wait().is_ok() {
                    theirs.store(true, Ordering::Relaxed);
                }
            });
        }
        Stop(asked)
    }

    /// Whether one came.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
