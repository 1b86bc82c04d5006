//! The parts that a transaction's latency has, in the order in which they are shown, as data.

/// Kind of a part of a latency: CPU time, run queue, waits by class.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name, which also identifies it.
    pub name: &'static str,
    /// Classes of activity and of wait events that are it, in lower case: the first is the catalogue's, the others are
    /// imports'.
    pub words: &'static [&'static str],
    /// The kind that it is a share of.
    pub whole: Option<&'static str>,
    /// True if sessions of the server wait in it, so that a source that sees all waits shows that there was none.
    pub is_wait: bool,
    /// Description of the kind.
    pub about: &'static str,
}

/// Name of the residual: the time that no part accounts for.
pub const RESIDUAL: &str = "other (residual)";

/// The names by which other code refers to kinds.
pub mod name {
    /// See [`super::KINDS`].
    pub const LAG: &str = "driver lag";
    /// See [`super::KINDS`].
    pub const CONNECTION: &str = "waiting for a connection";
    /// See [`super::KINDS`].
    pub const THINK: &str = "think time";
    /// See [`super::KINDS`].
    pub const DRIVER_CPU: &str = "driver on CPU";
    /// See [`super::KINDS`].
    pub const DRIVER_WAIT: &str = "waiting for the driver";
    /// See [`super::KINDS`].
    pub const NETWORK: &str = "round trips";
    /// See [`super::KINDS`].
    pub const CPU: &str = "on CPU";
    /// See [`super::KINDS`].
    pub const USER: &str = "on CPU, user";
    /// See [`super::KINDS`].
    pub const SYSTEM: &str = "on CPU, system";
    /// See [`super::KINDS`].
    pub const RUN_QUEUE: &str = "run queue";
    /// See [`super::KINDS`].
    pub const THROTTLED: &str = "throttled";
    /// See [`super::KINDS`].
    pub const BLOCK_IO: &str = "block I/O";
    /// See [`super::KINDS`].
    pub const LOCKS: &str = "locks and latches";
    /// See [`super::KINDS`].
    pub const CLIENT: &str = "client, network";
    /// See [`super::KINDS`].
    pub const IPC: &str = "ipc";
    /// See [`super::KINDS`].
    pub const TIMEOUT: &str = "timeout";
    /// See [`super::KINDS`].
    pub const EXTENSION: &str = "extension";
    /// See [`super::KINDS`].
    pub const PROTOCOL: &str = "protocol";
    /// See [`super::KINDS`].
    pub const OTHER: &str = "other waits";
    /// See [`super::KINDS`].
    pub const IDLE: &str = "idle in transaction";
}

const fn kind(name: &'static str, words: &'static [&'static str], about: &'static str) -> Kind {
    Kind { name, words, whole: None, is_wait: false, about }
}

const fn wait(name: &'static str, words: &'static [&'static str], about: &'static str) -> Kind {
    Kind { is_wait: true, ..kind(name, words, about) }
}

const fn share_of(whole: &'static str, of: Kind) -> Kind {
    Kind { whole: Some(whole), ..of }
}

/// Every kind but the residual, a whole before its shares.
pub static KINDS: &[Kind] = &[
    kind(name::LAG, &[], "From the intended start to the actual one although a connection was free"),
    kind(name::CONNECTION, &[], "From the intended start until a connection was free"),
    kind("waiting in a pool", &["pool"], "Until a connection pooler had a connection to the server"),
    kind(name::THINK, &[], "Pauses of the client within a transaction, as the workload has them"),
    kind(name::DRIVER_CPU, &[], "The driver's threads on a CPU, at most what no part of the server accounts for"),
    kind(
        name::DRIVER_WAIT,
        &[],
        "Answers that were there and not read yet: the driver waited for a CPU, or read others; at most what is left",
    ),
    kind(
        name::NETWORK,
        &[],
        "Between driver and server: the requests of a transaction times the shortest round trip, at most what is left",
    ),
    kind(name::CPU, &["cpu", "on cpu", "db cpu"], "The server's sessions on a CPU"),
    share_of(name::CPU, kind(name::USER, &[], "The server's sessions on a CPU, in user code")),
    share_of(name::CPU, kind(name::SYSTEM, &[], "The server's sessions on a CPU, in the kernel")),
    kind(name::RUN_QUEUE, &["run queue", "scheduler"], "The server's sessions runnable without a CPU"),
    kind(
        name::THROTTLED,
        &["throttled"],
        "The server's sessions runnable, but held up by the CPU quota of their cgroup",
    ),
    kind(name::BLOCK_IO, &["block io"], "Waits for block I/O, whatever they are for"),
    share_of(name::BLOCK_IO, wait("user I/O", &["user io", "user i/o"], "Reading and writing of data files")),
    share_of(name::BLOCK_IO, wait("system I/O", &["system io", "system i/o"], "The server's own files")),
    share_of(
        name::BLOCK_IO,
        wait("commit", &["commit"], "Write-ahead or redo log, and replicas that commits wait for"),
    ),
    kind(name::LOCKS, &["locks"], "Waits for locks and latches"),
    share_of(
        name::LOCKS,
        wait("concurrency", &["concurrency", "latch", "buffer busy"], "Latches and mutexes inside the server (LWLock)"),
    ),
    share_of(
        name::LOCKS,
        wait("lock", &["lock", "application"], "Locks of rows and tables, which other transactions hold"),
    ),
    wait(name::IPC, &["ipc", "cluster"], "Other processes of the server: parallel workers, replication"),
    wait(name::CLIENT, &["client", "network"], "The client or the network, while a statement is executed"),
    wait(name::TIMEOUT, &["timeout"], "Sleeps that a statement asks for"),
    wait(name::EXTENSION, &["extension"], "Extensions of the server"),
    kind(name::PROTOCOL, &["protocol"], "Messages between statements, as samples see them"),
    wait(name::OTHER, &["other", "configuration", "administrative", "queueing"], "Waits of no class"),
    wait(name::IDLE, &["idle in transaction"], "Between the statements of a transaction: the driver and the network"),
];

/// Kinds that are a part only of what no other accounts for, in that order: what they are measured by is also in others' time.
pub const OF_THE_REST: &[&str] = &[name::DRIVER_CPU, name::DRIVER_WAIT, name::NETWORK];

/// Classes that are no part of any transaction.
const NO_PART: &[&str] = &["idle", "pacing", "replication"];

/// The kind called `name`, which is one of [`name`].
pub fn called(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// The kind of a class of activity or of wait events; None for what is no part of a transaction.
pub fn of_class(word: &str) -> Option<&'static Kind> {
    let word = word.to_lowercase();
    if NO_PART.contains(&word.as_str()) {
        return None;
    }
    KINDS.iter().find(|kind| kind.words.contains(&word.as_str())).or_else(|| called(name::OTHER))
}

impl Kind {
    /// The kinds that are shares of it.
    pub fn shares(&self) -> impl Iterator<Item = &'static Kind> {
        KINDS.iter().filter(|kind| kind.whole == Some(self.name))
    }

    /// Returns true if a time of one is also a time of the other.
    pub fn overlaps(&self, other: &Kind) -> bool {
        self.name == other.name || self.whole == Some(other.name) || other.whole == Some(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_the_catalogue_has_one_kind() {
        let classes = [
            ("cpu", name::CPU),
            ("run queue", name::RUN_QUEUE),
            ("user io", "user I/O"),
            ("system io", "system I/O"),
            ("commit", "commit"),
            ("concurrency", "concurrency"),
            ("lock", "lock"),
            ("ipc", name::IPC),
            ("client", name::CLIENT),
            ("idle in transaction", name::IDLE),
            ("timeout", name::TIMEOUT),
            ("extension", name::EXTENSION),
            ("protocol", name::PROTOCOL),
            // Oracle's, as imports have them; an unknown one is a wait all the same.
            ("User I/O", "user I/O"),
            ("Application", "lock"),
            ("zebra", name::OTHER),
        ];
        for (word, name) in classes {
            assert_eq!(of_class(word).map(|kind| kind.name), Some(name), "{word}");
        }
        assert!(["idle", "pacing", "Idle"].iter().all(|word| of_class(word).is_none()));
        for (i, kind) in KINDS.iter().enumerate() {
            assert!(KINDS[..i].iter().all(|k| k.name != kind.name && kind.words.iter().all(|w| !k.words.contains(w))));
            assert!(kind.whole.is_none_or(|whole| KINDS[..i].iter().any(|k| k.name == whole && k.whole.is_none())));
        }
    }
}
