//! The engines: a few, each serving one request at a time, and a bounded queue before them.
//!
//! Who waits too long, or goes away, is forgotten: a place in the queue is given up, a statement at work is
//! interrupted. A free statement never takes the last engine, so that pages are drawn beside it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use fenxi_query::{Engine, Interrupt, Options};
use fenxi_report::api::{ApiError, Context};
use fenxi_store::Store;
use tokio::sync::Semaphore;

use crate::Limits;

/// Between two attempts to interrupt: an interruption between two statements of one request is lost.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(10);
/// The least memory an engine is of use with.
const LEAST_MEMORY: u64 = 64 << 20;

/// How many times its memory an engine may spill to disk.
const SPILL: u64 = 8;

/// What a request asks of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// What a page is made of.
    Page,
    /// A free statement, or anything else that may take as long as it likes.
    Free,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Too many wait already.
    Busy,
    /// It took longer than this.
    TooLong(Duration),
    /// The request itself.
    Api(ApiError),
}

/// The engines of a store.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Shared>);

struct Shared {
    store: Store,
    options: Options,
    spill: PathBuf,
    made: AtomicUsize,
    idle: Mutex<Vec<Engine>>,
    engines: Arc<Semaphore>,
    free: Arc<Semaphore>,
    limits: Limits,
    waiting: AtomicUsize,
    busy: AtomicUsize,
}

impl Pool {
    pub(crate) fn new(store: Store, limits: Limits) -> Pool {
        let engines = limits.engines.max(2);
        let cpus = std::thread::available_parallelism().map_or(2, usize::from);
        let memory = (limits.memory_bytes / engines as u64).max(LEAST_MEMORY);
        Pool(Arc::new(Shared {
            store,
            options: Options {
                memory_limit: Some(format!("{}MiB", memory >> 20)),
                threads: Some((cpus / 2).max(2)),
                spill_limit: Some(format!("{}MiB", (SPILL * memory) >> 20)),
                ..Options::default()
            },
            spill: std::env::temp_dir().join(format!("fenxi-serve-{}", std::process::id())),
            made: AtomicUsize::new(0),
            idle: Mutex::default(),
            engines: Arc::new(Semaphore::new(engines)),
            free: Arc::new(Semaphore::new(engines - 1)),
            limits,
            waiting: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
        }))
    }

    /// Requests that wait, and engines at work.
    pub(crate) fn load(&self) -> (usize, usize) {
        (self.0.waiting.load(Ordering::Relaxed), self.0.busy.load(Ordering::Relaxed))
    }

    /// Does `work` in one of the engines.
    ///
    /// Dropping the future, and the time limit, interrupt it.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        weight: Weight,
        read_only: bool,
        work: impl FnOnce(&Context<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, Refused> {
        let limit = self.0.limits.time;
        match tokio::time::timeout(limit, self.turn(weight, read_only, work)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Refused::TooLong(limit)),
        }
    }

    async fn turn<T: Send + 'static>(
        &self,
        weight: Weight,
        read_only: bool,
        work: impl FnOnce(&Context<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, Refused> {
        let shared = &self.0;
        let waiting = Counted::enter(Arc::clone(shared), |s| &s.waiting);
        if shared.waiting.load(Ordering::Relaxed) > shared.limits.queue {
            return Err(Refused::Busy);
        }
        let closed = |_| Refused::Busy;
        let free = match weight {
            Weight::Free => Some(Arc::clone(&shared.free).acquire_owned().await.map_err(closed)?),
            Weight::Page => None,
        };
        let turn = Arc::clone(&shared.engines).acquire_owned().await.map_err(closed)?;
        drop(waiting);
        let job = Arc::new(Job::default());
        let cancel = Cancel(Arc::clone(&job));
        let theirs = Arc::clone(shared);
        let done = tokio::task::spawn_blocking(move || {
            // Until the work has ended, whether anybody still waits for it or not.
            let _turn = (free, turn);
            let _busy = Counted::enter(Arc::clone(&theirs), |s| &s.busy);
            theirs.work(&job, read_only, work)
        });
        let outcome = done.await.unwrap_or_else(|e| Err(ApiError::Failed(format!("an engine ended: {e}"))));
        drop(cancel);
        outcome.map_err(Refused::Api)
    }
}

impl Shared {
    fn work<T>(
        &self,
        job: &Job,
        read_only: bool,
        work: impl FnOnce(&Context<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let engine = idle.map_or_else(|| self.engine(), Ok)?;
        job.begin(engine.interrupt());
        let context = Context { store: &self.store, engine: &engine, read_only };
        // Asked after the interruption is possible, so that none is lost between the two. A mistake in one answer must
        // not take the server with it; its engine is thrown away.
        let cancelled = || Err(ApiError::Interrupted);
        let outcome = catch_unwind(AssertUnwindSafe(|| if job.is_cancelled() { cancelled() } else { work(&context) }));
        job.end();
        match outcome {
            Ok(outcome) => {
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(engine);
                outcome
            }
            Err(_) => Err(ApiError::Failed("the answer failed unexpectedly; please report this".to_owned())),
        }
    }

    fn engine(&self) -> Result<Engine, ApiError> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        // Engines are databases of their own: two that spill into one folder take each other's files.
        let options = Options { temp_dir: Some(self.spill.join(number.to_string())), ..self.options.clone() };
        Ok(Engine::open(&self.store, &options)?)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Nothing was spilled if there is no such folder.
        let _ = fs_err::remove_dir_all(&self.spill);
    }
}

/// A request at work, as far as it can be stopped.
#[derive(Default)]
struct Job {
    cancelled: AtomicBool,
    /// Set while an engine works for it, so that nobody interrupts the request after.
    at: Mutex<Option<Interrupt>>,
}

impl Job {
    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    fn begin(&self, interrupt: Interrupt) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(interrupt);
    }

    fn end(&self) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether there was something to interrupt.
    fn interrupt(&self) -> bool {
        let at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        at.as_ref().map(Interrupt::interrupt).is_some()
    }
}

/// Stops the job when it is dropped before the job is done.
struct Cancel(Arc<Job>);

impl Drop for Cancel {
    fn drop(&mut self) {
        let job = Arc::clone(&self.0);
        job.cancelled.store(true, Ordering::Release);
        if let (true, Ok(runtime)) = (job.interrupt(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                while job.interrupt() {
                    tokio::time::sleep(INTERRUPT_AGAIN).await;
                }
            });
        }
    }
}

/// Counts for as long as it lives.
struct Counted {
    shared: Arc<Shared>,
    which: fn(&Shared) -> &AtomicUsize,
}

impl Counted {
    fn enter(shared: Arc<Shared>, which: fn(&Shared) -> &AtomicUsize) -> Counted {
        which(&shared).fetch_add(1, Ordering::Relaxed);
        Counted { shared, which }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.which)(&self.shared).fetch_sub(1, Ordering::Relaxed);
    }
}
