//! The engine: workers take the next block under a lock, work on it while it is warm, and the one that completes the
//! head block writes.
//!
//! There is no thread for reading and none for writing. Threads are started one by one as blocks turn up, so
//! that a small file is done by one. At most [`Limits::jobs`] blocks and about [`Limits::bytes`] bytes are in
//! flight. The first failure in the order of the input is the outcome; whatever came before it has
//! been written. The caller gets an outcome at once, also when a thread is still caught reading a silent pipe.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use crate::{Error, Meter, Watch};

/// How long the caller waits between two looks at whether it was asked to stop.
const TICK: Duration = Duration::from_millis(50);

/// Bounds of what is in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub threads: usize,
    /// Blocks read and not yet written.
    pub jobs: usize,
    /// Bytes that they may hold; one block more may begin whenever there are fewer.
    pub bytes: u64,
}

/// A block on its way, with buffers that are used again.
pub(crate) trait Job: Default + Send + 'static {
    /// Bytes that it will hold while it is in flight.
    fn bytes(&self) -> u64;
    /// Bytes of memory that its buffers keep.
    fn capacity(&self) -> u64;
}

/// Where blocks come from; called by one thread at a time, in the order of the data.
pub(crate) trait Source: Send + 'static {
    type Job: Job;
    /// Fills `job`, whose buffers hold what an earlier block left there; `false` at the end.
    fn next(&mut self, job: &mut Self::Job) -> Result<bool, Error>;
}

/// The work on a block, by many threads at a time.
pub(crate) trait Worker<J>: 'static {
    fn work(&mut self, job: &mut J) -> Result<(), Error>;
}

/// Where blocks go; called by one thread at a time, in the order of the data.
pub(crate) trait Sink<J>: Send + 'static {
    /// `Break` when no more is wanted.
    fn write_block(&mut self, job: &mut J) -> Result<ControlFlow<()>, Error>;
}

/// Runs blocks from `source` through workers into `sink`, which is given back once everything is in it.
///
/// # Errors
/// The first in the order of the data; [`Error::Interrupted`] when `watch` ends it.
pub(crate) fn run<S, W, K>(
    limits: Limits,
    source: S,
    worker: impl Fn() -> W + Send + Sync + 'static,
    sink: K,
    meter: &Meter,
    watch: Watch<'_>,
) -> Result<K, Error>
where
    S: Source,
    W: Worker<S::Job>,
    K: Sink<S::Job>,
{
    let shared = Arc::new(Shared {
        source: Mutex::new(source),
        sink: Mutex::new(Some(sink)),
        worker,
        state: Mutex::new(State::default()),
        room: Condvar::new(),
        over: Condvar::new(),
        limits: Limits { threads: limits.threads.max(1), jobs: limits.jobs.max(2), bytes: limits.bytes },
    });
    start(&shared)?;
    shared.wait(meter, watch)?;
    let sink = lock(&shared.sink).take();
    sink.ok_or(Error::Panicked)
}

struct Shared<S: Source, F, K> {
    source: Mutex<S>,
    sink: Mutex<Option<K>>,
    worker: F,
    state: Mutex<State<S::Job>>,
    /// There may be room for another block.
    room: Condvar,
    /// There may be an outcome, or one thread less.
    over: Condvar,
    limits: Limits,
}

struct State<J> {
    /// Blocks that are done and wait for earlier ones.
    done: BTreeMap<u64, Done<J>>,
    /// Number of the next block to be read.
    next_read: u64,
    /// Number of the next block to be written: the head.
    next_write: u64,
    /// Bytes that blocks in flight hold.
    bytes: u64,
    /// Blocks whose buffers can be used again, and the bytes of memory that these keep.
    spare: Vec<J>,
    spare_bytes: u64,
    /// A thread is writing.
    writing: bool,
    /// The source gave its last block.
    ended: bool,
    started: usize,
    alive: usize,
    outcome: Option<Result<(), Error>>,
}

struct Done<J> {
    bytes: u64,
    job: Result<J, Error>,
}

impl<J> Default for State<J> {
    fn default() -> State<J> {
        State {
            done: BTreeMap::new(),
            next_read: 0,
            next_write: 0,
            bytes: 0,
            spare: Vec::new(),
            spare_bytes: 0,
            writing: false,
            ended: false,
            started: 0,
            alive: 0,
            outcome: None,
        }
    }
}

impl<J: Job> State<J> {
    /// A block to be filled, with buffers if there are any.
    fn take_spare(&mut self) -> J {
        let job = self.spare.pop().unwrap_or_default();
        self.spare_bytes -= job.capacity();
        job
    }

    /// Keeps buffers for later, but no more than blocks in flight may hold.
    fn keep(&mut self, job: J, limits: &Limits) {
        let bytes = job.capacity();
        if self.spare_bytes.saturating_add(bytes) <= limits.bytes {
            self.spare_bytes += bytes;
            self.spare.push(job);
        }
    }

    fn has_room(&self, limits: &Limits) -> bool {
        let jobs = self.next_read - self.next_write + u64::from(self.writing);
        jobs == 0 || (jobs < limits.jobs as u64 && self.bytes < limits.bytes)
    }

    fn all_written(&self) -> bool {
        self.ended && !self.writing && self.next_read == self.next_write
    }

    /// The first outcome stays.
    fn end(&mut self, outcome: Result<(), Error>) {
        self.outcome.get_or_insert(outcome);
    }
}

/// A lock whose holder panicked is still good: the outcome records it, and nothing more is done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts one more thread.
fn start<S, F, K, W>(shared: &Arc<Shared<S, F, K>>) -> Result<(), Error>
where
    S: Source,
    W: Worker<S::Job>,
    F: Fn() -> W + Send + Sync + 'static,
    K: Sink<S::Job>,
{
    let theirs = Arc::clone(shared);
    {
        let mut state = lock(&shared.state);
        state.started += 1;
        state.alive += 1;
    }
    let begun = thread::Builder::new().name("tamp".to_owned()).spawn(move || {
        // Last of what the thread drops, so that a panic anywhere is seen by all.
        let _leaves = Leaves(&theirs);
        let mut worker = (theirs.worker)();
        while let Some((number, bytes, job)) = theirs.read() {
            if theirs.wants_another(number) {
                // A thread less is slower, not wrong.
                let _ = start(&theirs);
            }
            let job = job.and_then(|mut job| worker.work(&mut job).map(|()| job));
            theirs.deliver(number, Done { bytes, job });
        }
    });
    match begun {
        Ok(_) => Ok(()),
        Err(error) => {
            let mut state = lock(&shared.state);
            state.started -= 1;
            state.alive -= 1;
            Err(Error::Thread(error))
        }
    }
}

/// Notifies the others that a thread is gone, and whether it panicked.
struct Leaves<'a, S: Source, F, K>(&'a Shared<S, F, K>);

impl<S: Source, F, K> Drop for Leaves<'_, S, F, K> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.alive -= 1;
        if thread::panicking() {
            state.end(Err(Error::Panicked));
        }
        self.0.room.notify_all();
        self.0.over.notify_all();
    }
}

impl<S: Source, F, K: Sink<S::Job>> Shared<S, F, K> {
    /// The next block and its number, or why there is none; `None` when there is nothing more to do.
    fn read(&self) -> Option<(u64, u64, Result<S::Job, Error>)> {
        let mut source = lock(&self.source);
        let mut state = lock(&self.state);
        // Waiting with the source's lock held: the thread that could make room does not need it.
        while state.outcome.is_none() && !state.ended && !state.has_room(&self.limits) {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.outcome.is_some() || state.ended {
            return None;
        }
        let mut job = state.take_spare();
        drop(state);
        let more = source.next(&mut job);
        let mut state = lock(&self.state);
        let job = match more {
            Ok(true) => Ok(job),
            Err(error) => {
                state.ended = true;
                Err(error)
            }
            Ok(false) => {
                state.ended = true;
                if state.all_written() {
                    state.end(Ok(()));
                }
                self.over.notify_all();
                return None;
            }
        };
        let number = state.next_read;
        let bytes = job.as_ref().map_or(0, Job::bytes);
        state.next_read += 1;
        state.bytes += bytes;
        Some((number, bytes, job))
    }

    /// Whether there is work for a thread more, once block `number` was read.
    fn wants_another(&self, number: u64) -> bool {
        let state = lock(&self.state);
        state.started < self.limits.threads && state.started as u64 <= number + 1
    }

    /// Gives a finished block back, and writes while the head is finished and no other thread does.
    fn deliver(&self, number: u64, done: Done<S::Job>) {
        let mut state = lock(&self.state);
        state.done.insert(number, done);
        if state.writing {
            return;
        }
        while state.outcome.is_none() {
            let head = state.next_write;
            let Some(Done { bytes, job }) = state.done.remove(&head) else { break };
            state.writing = true;
            state.next_write += 1;
            drop(state);
            let taken = job.and_then(|mut job| match lock(&self.sink).as_mut() {
                Some(sink) => sink.write_block(&mut job).map(|flow| (flow, job)),
                None => Err(Error::Panicked),
            });
            state = lock(&self.state);
            state.writing = false;
            state.bytes -= bytes;
            match taken {
                Ok((flow, job)) => {
                    state.keep(job, &self.limits);
                    if flow.is_break() {
                        state.end(Ok(()));
                    }
                }
                Err(error) => state.end(Err(error)),
            }
            self.room.notify_one();
        }
        if state.all_written() {
            state.end(Ok(()));
        }
        if state.outcome.is_some() {
            self.room.notify_all();
            self.over.notify_all();
        }
    }

    /// Waits for the outcome, looking in on `watch`.
    fn wait(&self, meter: &Meter, watch: Watch<'_>) -> Result<(), Error> {
        let mut state = lock(&self.state);
        loop {
            // After the last block no thread is caught in a read, and all end soon.
            let over = match &state.outcome {
                Some(Ok(())) => !state.ended || state.alive == 0,
                Some(Err(_)) => true,
                None => false,
            };
            if over {
                // Threads that are left find that it is over.
                return state.outcome.replace(Err(Error::Interrupted)).unwrap_or(Err(Error::Panicked));
            }
            let waited = self.over.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() && state.outcome.is_none() {
                drop(state);
                let flow = watch(meter.totals());
                state = lock(&self.state);
                if flow.is_break() {
                    state.end(Err(Error::Interrupted));
                    self.room.notify_all();
                }
            }
        }
    }
}
