//! Two threads for each server: one looks at its sessions, one reads its counters. Neither waits for the other, and the
//! recorder for none of them.

mod heard;
mod threads;

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use fenxi_model::{Micros, Rows};
use fenxi_wire::client::ClientError;

pub use heard::Heard;

use crate::{
    check::Finding,
    moment::{Epoch, Interval},
    os::Task,
    reading::About,
    sample::Sample,
    server::{Server, ServerError},
};

/// How long the last readings are waited for when a recording ends.
const FAREWELL: Duration = Duration::from_secs(4);
/// How long the first readings are waited for when one begins.
const BASELINE: Duration = Duration::from_secs(4);

/// Looks at the sessions of a server.
pub trait Sampler: Send {
    /// Adds the sessions that are not idle.
    ///
    /// # Errors
    /// When the server refuses, or the connection is lost.
    fn sample(&mut self, into: &mut Sample) -> Result<(), ClientError>;

    /// Whether there is anything to look at.
    fn looks(&self) -> bool {
        true
    }
}

/// Reads the counters of a server.
pub trait Poller: Send {
    /// Reads what is due and adds rows; `heard` is what the sampler found since the last time. Readings that the server
    /// refuses become notes.
    ///
    /// # Errors
    /// When the connection is lost.
    fn poll(&mut self, interval: Interval, heard: &Heard, rows: &mut Rows) -> Result<(), ClientError>;

    /// The processes or threads of the sessions that there were at the last poll, on the server's host.
    fn tasks(&self) -> &[Task];

    /// Says that this is the last poll: all is due.
    fn hurry(&mut self);

    /// The server's version, as it says it.
    fn version(&self) -> String;

    /// Asks everything once, and tells how it went.
    ///
    /// # Errors
    /// When the connection is lost.
    fn check(&mut self, about: &About<'_>, heard: &Heard, rows: &mut Rows) -> Result<Vec<Finding>, ClientError>;
}

/// A connected server.
pub struct Connected {
    /// Looks at sessions.
    pub sampler: Box<dyn Sampler>,
    /// Reads counters.
    pub poller: Box<dyn Poller>,
}

/// What the threads of a server and its collector share.
pub struct Shared {
    epoch: Epoch,
    rows: Mutex<Rows>,
    heard: Mutex<Heard>,
    stop: AtomicBool,
    /// Notified when `stop` is set.
    bell: Condvar,
    bell_lock: Mutex<()>,
    stage: Mutex<Stage>,
    /// Notified when the stage changes.
    next_stage: Condvar,
    /// CPU time of the threads in nanoseconds, as each last told.
    cpu_ns: [AtomicU64; 2],
}

/// How far the threads of a server are.
#[derive(Debug, Default)]
struct Stage {
    /// Counters were read for the first time, or could not be.
    has_polled: bool,
    /// How many threads have ended.
    ended: u32,
}

/// A lock is poisoned by a panic of another thread, whose rows are whole all the same.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn new(epoch: Epoch) -> Shared {
        Shared {
            epoch,
            rows: Mutex::new(Rows::new("")),
            heard: Mutex::new(Heard::default()),
            stop: AtomicBool::new(false),
            bell: Condvar::new(),
            bell_lock: Mutex::new(()),
            stage: Mutex::new(Stage::default()),
            next_stage: Condvar::new(),
            cpu_ns: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }

    fn advance(&self, change: impl FnOnce(&mut Stage)) {
        change(&mut locked(&self.stage));
        self.next_stage.notify_all();
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Sleeps until a moment; false when all is over before.
    fn sleep_until(&self, until: Instant) -> bool {
        let mut guard = locked(&self.bell_lock);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.is_over() {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            guard = self.bell.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A server at work.
pub struct Gathering {
    shared: Arc<Shared>,
}

impl Gathering {
    /// Connects, reads counters for the first time, and begins.
    ///
    /// # Errors
    /// When the server cannot be reached or observed.
    pub fn start(server: &Server, step: Duration, poll: Duration, epoch: Epoch) -> Result<Gathering, ServerError> {
        let connected = Connected { sampler: server.sampler()?, poller: server.poller()? };
        let shared = Arc::new(Shared::new(epoch));
        threads::spawn(server, connected, &shared, step, poll).map_err(|error| ServerError::Unfit {
            server: server.name().to_owned(),
            why: format!("no thread can be started: {error}"),
        })?;
        let gathering = Gathering { shared };
        // What is observed begins afterwards: its counters are remembered before.
        gathering.wait_for(&|stage| stage.has_polled, BASELINE);
        Ok(gathering)
    }

    /// Moves what was gathered to `rows`; `now` is the wall clock's time.
    pub fn take(&self, now: Micros, rows: &mut Rows) {
        let gathered = locked(&self.shared.rows).take();
        let shift = Micros(now.0 - self.shared.epoch.now().0);
        rows.append(&gathered, shift);
    }

    /// Lets the threads read for the last time and waits for that, within limits.
    pub fn finish(&self) {
        self.ring();
        self.wait_for(&|stage| stage.ended == 2, FAREWELL);
    }

    /// Waits until the threads are so far, or the time is over.
    fn wait_for(&self, is_so_far: &dyn Fn(&Stage) -> bool, patience: Duration) {
        let until = Instant::now() + patience;
        let mut stage = locked(&self.shared.stage);
        while !is_so_far(&stage) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            stage = self.shared.next_stage.wait_timeout(stage, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn ring(&self) {
        let _guard = locked(&self.shared.bell_lock);
        self.shared.stop.store(true, Ordering::Release);
        self.shared.bell.notify_all();
    }

    /// CPU seconds that its threads have used.
    pub fn cpu_s(&self) -> f64 {
        self.shared.cpu_ns.iter().map(|ns| ns.load(Ordering::Relaxed)).sum::<u64>() as f64 / 1e9
    }
}

impl Drop for Gathering {
    fn drop(&mut self) {
        self.ring();
    }
}
