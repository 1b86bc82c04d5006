//! Two threads for each server: one looks at its sessions, one reads its counters. Neither waits for the other, and the
//! recorder for none of them.

pub(crate) mod heard;
mod threads;

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use fenxi_model::{Micros, Rows};

pub use heard::Heard;

use crate::{moment::Epoch, server::Server};

/// Limit of sessions kept between two ticks of the recorder, in bytes. Ten seconds of 2,000 sessions at work take less.
const MOST_SESSIONS: u64 = 48 << 20;

/// State shared by the threads of a server and its collector.
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
    /// Size of sessions that were not taken yet, in bytes.
    sessions: AtomicU64,
    /// Whether it was reported that some are left out.
    has_left_out: AtomicBool,
    /// CPU time of the threads in nanoseconds, as each last reported.
    cpu_ns: [AtomicU64; 2],
}

/// How far the threads of a server are.
#[derive(Debug, Default)]
struct Stage {
    /// Counters were read for the first time, or could not be.
    has_polled: bool,
    /// Why the server is not observed.
    refused: Option<String>,
    /// How many threads have begun, and how many have ended.
    begun: u32,
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
            sessions: AtomicU64::new(0),
            has_left_out: AtomicBool::new(false),
            cpu_ns: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }

    fn advance(&self, change: impl FnOnce(&mut Stage)) {
        change(&mut locked(&self.stage));
        self.next_stage.notify_all();
    }

    /// Ends what has begun: the server cannot be observed.
    fn refuse(&self, why: &dyn std::fmt::Display) {
        self.advance(|stage| stage.refused = Some(why.to_string()));
        self.ring();
    }

    fn ring(&self) {
        let _guard = locked(&self.bell_lock);
        self.stop.store(true, Ordering::Release);
        self.bell.notify_all();
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
    server: Server,
    shared: Arc<Shared>,
}

/// State of a server after waiting for it.
pub enum Begun {
    /// Its counters were read for the first time.
    AtWork,
    /// It has not answered so far.
    Waits,
    /// It cannot be reached or observed.
    Refused(String),
}

impl Gathering {
    /// Begins to connect. A server that answers slowly, or not at all, holds up no other one.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(server: &Server, step: Duration, poll: Duration, epoch: Epoch) -> io::Result<Gathering> {
        let shared = Arc::new(Shared::new(epoch));
        threads::spawn(server, &shared, step, poll)?;
        Ok(Gathering { server: server.clone(), shared })
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        self.server.name()
    }

    /// Waits for the first reading: what is observed begins afterwards, and its counters are remembered before.
    pub fn begun(&self, until: Instant) -> Begun {
        self.wait_for(&|stage| stage.has_polled || stage.refused.is_some(), until);
        let stage = locked(&self.shared.stage);
        match &stage.refused {
            Some(why) => Begun::Refused(why.clone()),
            None if stage.has_polled => Begun::AtWork,
            None => Begun::Waits,
        }
    }

    /// Moves what was gathered to `rows`; `now` is the wall clock's time.
    pub fn take(&self, now: Micros, rows: &mut Rows) {
        for caution in self.server.cautions() {
            rows.note(self.name(), None, &caution);
        }
        if let Some(why) = locked(&self.shared.stage).refused.take() {
            rows.note(self.name(), None, &format!("not observed: {why}"));
        }
        let gathered = locked(&self.shared.rows).take();
        self.shared.sessions.store(0, Ordering::Relaxed);
        let shift = Micros(now.0 - self.shared.epoch.now().0);
        rows.append(&gathered, shift);
    }

    /// Lets the threads read for the last time.
    pub fn finish(&self) {
        self.shared.ring();
    }

    /// Waits for the last readings, if there was a first one; false when they are not there in time.
    pub fn ended(&self, until: Instant) -> bool {
        !locked(&self.shared.stage).has_polled || self.wait_for(&|stage| stage.ended == stage.begun, until)
    }

    /// Waits until the threads are so far; false when the time is over before.
    fn wait_for(&self, is_so_far: &dyn Fn(&Stage) -> bool, until: Instant) -> bool {
        let mut stage = locked(&self.shared.stage);
        while !is_so_far(&stage) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            stage = self.shared.next_stage.wait_timeout(stage, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// CPU seconds that its threads have used.
    pub fn cpu_s(&self) -> f64 {
        self.shared.cpu_ns.iter().map(|ns| ns.load(Ordering::Relaxed)).sum::<u64>() as f64 / 1e9
    }
}

impl Drop for Gathering {
    fn drop(&mut self) {
        self.shared.ring();
    }
}
