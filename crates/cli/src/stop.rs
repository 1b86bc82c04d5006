//! Ctrl-C during work that must not be left half done.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use fenxi_procfs::{Root, status};
use fenxi_sys::signal::{Signal, Signals};

/// Ctrl-C asks the work to end, so that nothing half-written stays.
#[derive(Clone, Debug)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Begins to listen for SIGINT, SIGTERM and SIGHUP, which no longer end the process from here on. One that the parent
    /// made us ignore, as `nohup` does, is none.
    pub fn on_interrupt() -> Stop {
        let asked = Arc::new(AtomicBool::new(false));
        let ignored = ignored();
        let wanted = [Signal::INT, Signal::TERM, Signal::HUP];
        let signals = Signals::of(wanted.into_iter().filter(|signal| ignored & 1 << (signal.as_raw() - 1) == 0));
        let theirs = Arc::clone(&asked);
        // Threads started from here on leave these signals to the one that waits for them.
        if signals.block().is_ok() {
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

/// Signals that are ignored, as bits; none where the kernel does not report them.
fn ignored() -> u64 {
    let status = Root::live().read_text("/proc/self/status").unwrap_or_default();
    status::value(&status, "SigIgn").and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0)
}
