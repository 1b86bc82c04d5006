//! Why a process cannot be fenced, or a fence not undone.

use std::{io, path::PathBuf};

use fenxi_source::SourceError;

/// Why something about a fence failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the system or of the saved state cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Interrupts cannot be counted.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The machine does not list its CPUs.
    #[error("/sys/devices/system/cpu/online does not list the online CPUs")]
    NoOnline,
    /// No process has this number.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// The process ended while it was read.
    #[error("process {0} has ended")]
    Ended(u32),
    /// There is no CPU for interrupts.
    #[error("there is only one CPU: interrupts need it too")]
    OneCpu,
    /// The fence would take every CPU.
    #[error("CPUs {0} are all CPUs: interrupts need at least one other")]
    AllCpus(String),
    /// The CPUs do not exist, are offline, or are none.
    #[error("a fence needs online CPUs ({online}), not `{wanted}`")]
    NotOnline {
        /// List of CPUs that are online.
        online: String,
        /// List of CPUs that were asked for.
        wanted: String,
    },
    /// No network interface has this name.
    #[error("there is no network interface `{name}`; there are {known}")]
    NoInterface {
        /// The name.
        name: String,
        /// Those that are there.
        known: String,
    },
    /// No network interface was changed.
    #[error("there is nothing to undo: nothing is changed by a state in {}", folder.display())]
    NoNicToUndo {
        /// Where states are saved.
        folder: PathBuf,
    },
    /// The item to be picked does not exist.
    #[error("there is no {what} {number}; there are {known}")]
    NoSuch {
        /// Core, socket or NUMA node.
        what: &'static str,
        /// Its number.
        number: usize,
        /// List of those that are there.
        known: String,
    },
    /// There is a fence around the process.
    #[error("process {pid} is fenced already ({}); undo it first: fenxi fence --undo -p {pid}", path.display())]
    FencedAlready {
        /// The process.
        pid: u32,
        /// The fence's saved state.
        path: PathBuf,
    },
    /// The kernel let a thread run on other CPUs.
    #[error("thread {tid} of process {pid} may still run on CPUs {cpus}")]
    Escapes {
        /// The process.
        pid: u32,
        /// Its thread.
        tid: u32,
        /// List of CPUs where it may run.
        cpus: String,
    },
    /// The affinity of a thread cannot be set.
    #[error("binding thread {tid} to CPUs {cpus}")]
    Bind {
        /// The thread.
        tid: u32,
        /// List of CPUs where it should run.
        cpus: String,
        /// Why.
        source: rustix::io::Errno,
    },
    /// New threads come faster than their affinity is set.
    #[error("process {0} starts threads faster than they can be bound")]
    TooManyThreads(u32),
    /// The fence failed, and was undone.
    #[error("process {pid} could not be fenced; nothing is left changed")]
    NotFenced {
        /// The process.
        pid: u32,
        /// Why.
        source: Box<Error>,
    },
    /// No fence is saved in the folder.
    #[error("nothing to undo: {} has no saved state of a fence around {}", folder.display(), around(*pid))]
    NothingToUndo {
        /// Where states are saved.
        folder: PathBuf,
        /// The process whose fence should be undone; None for any.
        pid: Option<u32>,
    },
    /// The file of a fence is not JSON.
    #[error("{}", path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// Where it is not.
        source: serde_json::Error,
    },
    /// The file of a fence is in a format of another version.
    #[error("{}: a fence of format {format:?}, written by another version of fenxi", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The number of its format, if it has one.
        format: Option<u64>,
    },
    /// The file has not what the state of a fence has.
    #[error("{} is not the saved state of a fence", path.display())]
    NotAState {
        /// The file.
        path: PathBuf,
        /// The parser's error: a missing or wrong field.
        source: serde_json::Error,
    },
}

fn around(pid: Option<u32>) -> String {
    pid.map_or_else(|| "any process".to_owned(), |pid| format!("process {pid}"))
}
