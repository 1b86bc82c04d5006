//! Reads the mappings of processes as soon as a program meets them (`bpf/met.h`): short-lived ones have ended at the next tick.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use libbpf_rs::{MapHandle, RingBufferBuilder};

use super::Symbols;
use crate::{EbpfError, bytes::Bytes};

/// Symbols that learn of processes by themselves.
#[derive(Debug)]
pub struct Watched {
    symbols: Arc<Mutex<Symbols>>,
    stop: Arc<AtomicBool>,
}

/// How long the thread sleeps when nothing comes, and may outlive us.
const TURN: Duration = Duration::from_millis(200);

impl Watched {
    /// Watches the ring buffer `met`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(met: MapHandle) -> Result<Watched, EbpfError> {
        let symbols = Arc::new(Mutex::new(Symbols::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (for_thread, stopped) = (Arc::clone(&symbols), Arc::clone(&stop));
        let spawned = thread::Builder::new().name("mappings".to_owned()).spawn(move || {
            let mut builder = RingBufferBuilder::new();
            let meet = |bytes: &[u8]| {
                lock(&for_thread).meet(Bytes(bytes).u32());
                0
            };
            if builder.add(&met, meet).is_err() {
                return;
            }
            let Ok(ring) = builder.build() else { return };
            while !stopped.load(Ordering::Relaxed) && ring.poll(TURN).is_ok() {}
        });
        spawned.map_err(|error| EbpfError::Target(format!("a thread cannot be started: {error}")))?;
        Ok(Watched { symbols, stop })
    }

    /// The symbols.
    pub fn symbols(&self) -> MutexGuard<'_, Symbols> {
        lock(&self.symbols)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn lock(symbols: &Mutex<Symbols>) -> MutexGuard<'_, Symbols> {
    symbols.lock().unwrap_or_else(PoisonError::into_inner)
}
