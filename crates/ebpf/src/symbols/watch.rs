//! Reads the mappings of processes as soon as a program meets them (`bpf/met.h`): short-lived ones have ended at the next tick.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use libbpf_rs::{MapHandle, RingBufferBuilder};

use fenxi_model::Rows;
use fenxi_source::Tick;
use fenxi_sys::clock::thread_cpu_ns;

use super::Symbols;
use crate::{EbpfError, bytes::Bytes, unwind::Unwinder};

/// Symbols that learn of processes by themselves.
#[derive(Debug)]
pub struct Watched {
    symbols: Arc<Mutex<Symbols>>,
    /// Learns of them, too, where stacks are followed by tables.
    unwinder: Option<Arc<Mutex<Unwinder>>>,
    stop: Arc<AtomicBool>,
    /// CPU time of each of the two threads.
    cpu_ns: [Arc<AtomicU64>; 2],
}

/// How long the thread sleeps when nothing comes, and may outlive us.
const TURN: Duration = Duration::from_millis(200);

/// Code mapped so soon after a process's meeting has tables at once, and needs names, too: nothing asks for them again.
const LATE: Duration = Duration::from_millis(1);

impl Watched {
    /// Watches the ring buffer `met`; with an `unwinder`, it learns of the processes, too.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(met: MapHandle, unwinder: Option<Unwinder>) -> Result<Watched, EbpfError> {
        Watched::with(Symbols::new(), met, unwinder, |_| {})
    }

    /// As [`Watched::new`], with these symbols; `later` is called for a process that there was no time to read.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn with(
        symbols: Symbols,
        met: MapHandle,
        unwinder: Option<Unwinder>,
        later: impl Fn(u32) + Send + 'static,
    ) -> Result<Watched, EbpfError> {
        let unwinder = unwinder.map(|unwinder| Arc::new(Mutex::new(unwinder)));
        let symbols = Arc::new(Mutex::new(symbols));
        let cpu_ns: [Arc<AtomicU64>; 2] = Default::default();
        let [cpu_of_reader, cpu_of_names] = cpu_ns.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let (for_thread, stopped) = (Arc::clone(&symbols), Arc::clone(&stop));
        // Reading a large file takes its time, in which other processes come and go: their names are not to wait for it.
        let (reader, met_by_it) = mpsc::channel::<(u32, Instant)>();
        let failed = |error| EbpfError::Target(format!("a thread cannot be started: {error}"));
        if let Some(unwinder) = unwinder.clone() {
            let with_reader = Arc::clone(&symbols);
            let keep_up = move || {
                for (pid, met) in met_by_it {
                    let is_late = met.elapsed() > LATE;
                    if !lock(&unwinder).meet(pid) {
                        later(pid);
                    } else if is_late {
                        lock(&with_reader).meet(pid);
                    }
                    cpu_of_reader.store(thread_cpu_ns(), Ordering::Relaxed);
                }
            };
            thread::Builder::new().name("unwinding".to_owned()).spawn(keep_up).map_err(failed)?;
        }
        let spawned = thread::Builder::new().name("mappings".to_owned()).spawn(move || {
            let mut builder = RingBufferBuilder::new();
            let meet = |bytes: &[u8]| {
                let pid = Bytes(bytes).u32();
                // Without an unwinder there is no receiver.
                let _ = reader.send((pid, Instant::now()));
                lock(&for_thread).meet(pid);
                cpu_of_names.store(thread_cpu_ns(), Ordering::Relaxed);
                0
            };
            if builder.add(&met, meet).is_err() {
                return;
            }
            let Ok(ring) = builder.build() else { return };
            while !stopped.load(Ordering::Relaxed) && ring.poll(TURN).is_ok() {}
        });
        spawned.map_err(failed)?;
        Ok(Watched { symbols, unwinder, stop, cpu_ns })
    }

    /// The symbols.
    pub fn symbols(&self) -> MutexGuard<'_, Symbols> {
        lock(&self.symbols)
    }

    /// CPU seconds of the threads that read processes.
    pub(crate) fn cpu_of_threads(&self) -> f64 {
        self.cpu_ns.iter().map(|ns| ns.load(Ordering::Relaxed) as f64 / 1e9).sum()
    }

    /// Reports how walks by tables ended in the interval that ends now.
    pub(crate) fn report(&self, observer: &str, tick: Tick, rows: &mut Rows) -> Result<(), EbpfError> {
        match &self.unwinder {
            // One that reads a new file is not waited for: the next interval has it all.
            Some(unwinder) => unwinder.try_lock().map_or(Ok(()), |mut unwinder| unwinder.report(observer, tick, rows)),
            None => Ok(()),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
