//! What is done beside sampling, by a thread of low priority: runs that have ended are sealed, old ones merged and removed.

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

use crate::{observed::Observed, roll::Keep, tend};

/// Nice value of the thread: whatever else the machine does goes first.
const NICE: i32 = 19;

/// Something to do.
enum Work {
    Seal(Box<Observed>),
    Tend { store: Store, series: String, keep: Keep, now: Micros },
}

/// The thread, which lives as long as the value.
#[derive(Debug)]
pub(crate) struct Keeper {
    work: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// What went wrong, for the run that is open.
    said: Mutex<Vec<String>>,
    /// Whether only what must be done is done.
    hurry: AtomicBool,
}

impl Shared {
    fn said(&self) -> MutexGuard<'_, Vec<String>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper {
    /// Starts it; not `beside` sampling, all is done at once between two ticks.
    pub(crate) fn start(beside: bool) -> Keeper {
        let shared: Arc<Shared> = Arc::default();
        if !beside {
            return Keeper { work: None, thread: None, shared };
        }
        let theirs = Arc::clone(&shared);
        let (work, to_do) = channel();
        let thread = std::thread::Builder::new().name("fenxi-keep".to_owned()).spawn(move || keep(&to_do, &theirs));
        // Without a thread it is done between two ticks.
        Keeper { work: thread.is_ok().then_some(work), thread: thread.ok(), shared }
    }

    /// Makes a run of what has ended.
    pub(crate) fn seal(&self, ended: Observed) {
        self.give(Work::Seal(Box::new(ended)));
    }

    /// Merges and removes runs of a series, as `keep` says.
    pub(crate) fn tend(&self, store: &Store, series: &str, keep: &Keep, now: Micros) {
        self.give(Work::Tend { store: store.clone(), series: series.to_owned(), keep: keep.clone(), now });
    }

    fn give(&self, work: Work) {
        let left = match &self.work {
            Some(sender) => sender.send(work).err().map(|error| error.0),
            None => Some(work),
        };
        if let Some(work) = left {
            work.do_it(&self.shared);
        }
    }

    /// What went wrong since this was last asked.
    pub(crate) fn take_said(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.said())
    }

    /// Asks for an end: what is being sealed is sealed, what is being merged is left as it was.
    pub(crate) fn hurry(&self) {
        self.shared.hurry.store(true, Ordering::Relaxed);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.hurry();
        self.work = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep(to_do: &Receiver<Work>, shared: &Shared) {
    // Of this thread alone, and of those that it starts.
    let _ = rustix::process::setpriority_process(None, NICE);
    while let Ok(work) = to_do.recv() {
        work.do_it(shared);
    }
}

impl Work {
    fn do_it(self, shared: &Shared) {
        let said = match self {
            Work::Seal(ended) => ended.seal().err().map(|error| format!("a run was not sealed: {error}")),
            Work::Tend { .. } if shared.hurry.load(Ordering::Relaxed) => None,
            Work::Tend { store, series, keep, now } => {
                let tended = tend::tend(&store, &series, &keep, now, &shared.hurry);
                tended.err().map(|error| format!("older runs could not be tended: {error}"))
            }
        };
        shared.said().extend(said);
    }
}
