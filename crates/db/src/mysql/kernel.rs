//! The kernel's view of a session whose state shows nothing: `Update` and `Sending data` stay while a thread reads a page or waits for
//! a latch. Without the performance schema nothing else shows them.

use fenxi_procfs::{
    Root,
    wait::{Wait, system_call},
};
use fenxi_wire::host::Listener;

use super::activity;
use crate::{
    activity as class,
    sample::{Session, put},
    server::Server,
};

/// The threads of a server that runs on this host.
pub struct Threads {
    listener: Listener,
    root: Root,
}

impl Threads {
    /// The threads behind a server's address; None when they are on another host, or may not be looked at.
    pub fn find(server: &Server) -> Option<Threads> {
        let endpoint = server.target().endpoints().ok()?.into_iter().next()?;
        let listener = Listener::find(&endpoint)?;
        let root = listener.processes().root().clone();
        Some(Threads { listener, root })
    }

    /// Gives a session without a wait the one that its thread is in. One that runs, or waits for its client, stays as it is.
    pub fn complete(&self, session: &mut Session) {
        let Some(tid) = session.tid.filter(|_| session.activity == class::CPU) else { return };
        let file = |name: &str| self.root.read_text(&format!("/proc/{}/task/{tid}/{name}", self.listener.pid()));
        let Some(function) = file("wchan") else { return };
        let wait = Wait::of_thread(function.trim(), || system_call(file("syscall")?.as_bytes()));
        let found = match activity_of(wait) {
            // MySQL 8 has no state for it: threads of the log write, and who commits waits for them.
            Some(class::CONCURRENCY) if commits(session) => class::COMMIT,
            Some(found) => found,
            None => return,
        };
        session.activity = found;
        put(&mut session.wait_class, Some(activity::wait_class(found)));
        put(&mut session.wait_event, Some(wait.word()));
    }
}

/// Whether a session executes what ends a transaction.
fn commits(session: &Session) -> bool {
    session.statement.as_ref().is_some_and(|text| text.form.starts_with("commit"))
}

/// The class of a kernel's wait within a statement; None where it is none of the server's.
fn activity_of(wait: Wait) -> Option<&'static str> {
    match wait {
        Wait::Disk | Wait::Memory => Some(class::USER_IO),
        // A statement flushes for nothing but its commit.
        Wait::Flush | Wait::Dirty => Some(class::COMMIT),
        Wait::Lock | Wait::KernelLock | Wait::FileLock => Some(class::CONCURRENCY),
        Wait::Send | Wait::Receive => Some(class::CLIENT),
        Wait::Sleep => Some(class::TIMEOUT),
        _ => None,
    }
}
