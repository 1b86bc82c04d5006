//! Engine pool: a few engines, each serving one request at a time, behind a bounded queue.
//!
//! Each has at most one process at work (`fenxi_worker`), forked from one template. Who waits too long, or goes away, is
//! forgotten: a place in the queue is given up, a process at work is killed. A free statement never takes the last
//! engine, so that pages are drawn beside it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use fenxi_api::{ApiError, Context};
use fenxi_query::{Engine, Interrupt, Options, QueryError, Workers, start_workers};
use fenxi_store::Store;
use tokio::sync::Semaphore;

use crate::{Limits, Settings, rights::Asker};

/// Between two attempts to interrupt: an interruption between two statements of one request is lost.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(10);
/// Work that a request causes an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// A request of a page.
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

/// Takes a line for the log.
pub(crate) type Log = Box<dyn Fn(&str) + Send + Sync>;

/// The engines of a store.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Shared>);

struct Shared {
    store: Store,
    options: Options,
    workers: OnceLock<Workers>,
    idle: Mutex<Vec<Engine>>,
    /// Takes a line about what went wrong.
    log: Log,
    engines: Arc<Semaphore>,
    free: Arc<Semaphore>,
    limits: Limits,
    waiting: AtomicUsize,
    busy: AtomicUsize,
}

impl Pool {
    /// Engines as `settings` say.
    pub(crate) fn new(settings: &Settings, log: Log) -> Pool {
        let limits = settings.limits.clone();
        let engines = limits.engines.max(2);
        let pool = Pool(Arc::new(Shared {
            store: settings.store.clone(),
            options: Options { backend: settings.backend.clone(), ..limits.options(engines, settings.carried) },
            workers: OnceLock::new(),
            idle: Mutex::default(),
            log,
            engines: Arc::new(Semaphore::new(engines)),
            free: Arc::new(Semaphore::new(engines - 1)),
            limits,
            waiting: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
        }));
        // Ready before the first request; what is wrong is reported with the first.
        let early = Arc::clone(&pool.0);
        std::thread::spawn(move || early.begin());
        pool
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
        asker: &Asker,
        read_only: bool,
        work: impl FnOnce(&Context<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, Refused> {
        let limit = self.0.limits.time;
        match tokio::time::timeout(limit, self.turn(weight, asker, read_only, work)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Refused::TooLong(limit)),
        }
    }

    async fn turn<T: Send + 'static>(
        &self,
        weight: Weight,
        asker: &Asker,
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
        let (theirs, asker) = (Arc::clone(shared), asker.clone());
        let done = tokio::task::spawn_blocking(move || {
            // Until the work has ended, whether anybody still waits for it or not.
            let _turn = (free, turn);
            let _busy = Counted::enter(Arc::clone(&theirs), |s| &s.busy);
            theirs.work(&job, &asker, read_only, work)
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
        asker: &Asker,
        read_only: bool,
        work: impl FnOnce(&Context<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let store = asker.view(&self.store)?;
        // An engine has read what its store knows: who sees less has another one, for this request alone.
        let is_own = store.knows_only_some();
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let engine = if is_own {
            Engine::with(self.workers()?.clone(), &store, &self.options)
        } else {
            idle().map_or_else(|| self.engine(), Ok)?
        };
        // Interruptions from here on mean this request, see below.
        engine.interrupt().renew();
        job.begin(engine.interrupt());
        let context = Context { store: &store, engine: &engine, read_only };
        // Asked after the interruption is possible, so that none is lost between the two. A mistake in one answer must
        // not take the server with it; its engine is thrown away.
        let cancelled = || Err(ApiError::Interrupted);
        let outcome = catch_unwind(AssertUnwindSafe(|| if job.is_cancelled() { cancelled() } else { work(&context) }));
        job.end();
        if let Ok(Err(ApiError::Crashed(how))) = &outcome {
            (self.log)(&format!("a statement failed: {how}"));
        }
        match outcome {
            Ok(outcome) if is_own => outcome,
            Ok(outcome) => {
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(engine);
                outcome
            }
            Err(_) => Err(ApiError::Failed("the answer failed unexpectedly; please report this".to_owned())),
        }
    }

    /// Starts workers, and reports where the kernel confines them less than it could.
    fn begin(&self) {
        let confined = self.engine().ok().and_then(|engine| engine.confined().ok());
        if let Some(lack) = confined.iter().flatten().find(|by| by.starts_with("no ")) {
            (self.log)(&format!("statements are confined less than they could be: {lack}"));
        }
    }

    fn engine(&self) -> Result<Engine, ApiError> {
        Ok(Engine::with(self.workers()?.clone(), &self.store, &self.options))
    }

    /// The workers, started when they are first needed.
    fn workers(&self) -> Result<&Workers, QueryError> {
        if let Some(workers) = self.workers.get() {
            return Ok(workers);
        }
        let started = start_workers(None)?;
        Ok(self.workers.get_or_init(|| started))
    }
}

/// A request at work, as far as it can be stopped.
#[derive(Default)]
struct Job {
    cancelled: AtomicBool,
    /// Set while an engine works for it, so that the request after is not interrupted.
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
