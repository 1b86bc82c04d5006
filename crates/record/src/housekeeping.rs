//! Work beside sampling, by a thread of low priority: runs that have ended are sealed, old ones merged and removed.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};

use fenxi_model::Micros;
use fenxi_store::Store;

use crate::{observed::Observed, retention, roll::Keep};

/// Nice value of the thread: whatever else the machine does goes first.
const NICE: i32 = 19;

/// Something to do.
enum Task {
    Seal(Box<Observed>),
    Retain { store: Store, series: String, keep: Keep, now: Micros },
}

/// The thread, which lives as long as the value.
#[derive(Debug)]
pub(crate) struct Housekeeping {
    task: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Errors, for the run that is open.
    errors: Mutex<Vec<String>>,
    /// Whether only what must be done is done.
    hurry: AtomicBool,
}

impl Shared {
    fn errors(&self) -> MutexGuard<'_, Vec<String>> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Housekeeping {
    /// Starts it; not `beside` sampling, all is done at once between two ticks.
    pub(crate) fn start(beside: bool) -> Housekeeping {
        let shared: Arc<Shared> = Arc::default();
        if !beside {
            return Housekeeping { task: None, thread: None, shared };
        }
        let theirs = Arc::clone(&shared);
        let (task, to_do) = channel();
        let thread = std::thread::Builder::new().name("fenxi-keep".to_owned()).spawn(move || keep(&to_do, &theirs));
        // Without a thread it is done between two ticks.
        Housekeeping { task: thread.is_ok().then_some(task), thread: thread.ok(), shared }
    }

    /// Makes a run of what has ended.
    pub(crate) fn seal(&self, ended: Observed) {
        self.give(Task::Seal(Box::new(ended)));
    }

    /// Merges and removes runs of a series, by the rules of `keep`.
    pub(crate) fn apply_retention(&self, store: &Store, series: &str, keep: &Keep, now: Micros) {
        self.give(Task::Retain { store: store.clone(), series: series.to_owned(), keep: keep.clone(), now });
    }

    fn give(&self, task: Task) {
        let left = match &self.task {
            Some(sender) => sender.send(task).err().map(|error| error.0),
            None => Some(task),
        };
        if let Some(task) = left {
            task.do_it(&self.shared);
        }
    }

    /// Errors since the last call.
    pub(crate) fn take_errors(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.errors())
    }

    /// Asks for an end: what is being sealed is sealed, what is being merged is left as it was.
    pub(crate) fn hurry(&self) {
        self.shared.hurry.store(true, Ordering::Relaxed);
    }
}

impl Drop for Housekeeping {
    fn drop(&mut self) {
        self.hurry();
        self.task = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep(to_do: &Receiver<Task>, shared: &Shared) {
    // Of this thread alone, and of those that it starts.
    let _ = rustix::process::setpriority_process(None, NICE);
    while let Ok(task) = to_do.recv() {
        task.do_it(shared);
    }
}

impl Task {
    fn do_it(self, shared: &Shared) {
        let errors = match self {
            Task::Seal(ended) => ended.seal().err().map(|error| format!("a run was not sealed: {error}")),
            Task::Retain { .. } if shared.hurry.load(Ordering::Relaxed) => None,
            Task::Retain { store, series, keep, now } => {
                let tended = retention::apply_retention(&store, &series, &keep, now, &shared.hurry);
                tended.err().map(|error| format!("older runs could not be merged or removed: {error}"))
            }
        };
        shared.errors().extend(errors);
    }
}
