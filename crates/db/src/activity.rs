//! Classes of activity of a session, the same words for every server.
//!
//! Charts, findings and comparisons go by them; the server's own words stay in `wait_class` and `wait_event`.

/// On a CPU, as far as the server knows: active, and not waiting for anything that it names. Some of it is spent in the run queue.
pub const CPU: &str = "cpu";
/// Runnable, and waiting for a CPU.
pub const RUN_QUEUE: &str = "run queue";
/// Reading and writing data on behalf of a statement.
pub const USER_IO: &str = "user io";
/// The server's own files: control file, relation maps, logical replication.
pub const SYSTEM_IO: &str = "system io";
/// Making a commit durable: writing and flushing the log, waiting for replicas.
pub const COMMIT: &str = "commit";
/// Locks of the server's own (latches, LWLocks, mutexes).
pub const CONCURRENCY: &str = "concurrency";
/// Locks of transactions: rows, tables, metadata.
pub const LOCK: &str = "lock";
/// Other processes of the server.
pub const IPC: &str = "ipc";
/// The client, while a statement is being executed.
pub const CLIENT: &str = "client";
/// A transaction is open and nothing is done.
pub const IDLE_IN_TRANSACTION: &str = "idle in transaction";
/// A delay that was asked for.
pub const TIMEOUT: &str = "timeout";
/// An extension's own waits.
pub const EXTENSION: &str = "extension";
/// Replication at work.
pub const REPLICATION: &str = "replication";
/// Background work that is throttled on purpose.
pub const PACING: &str = "pacing";
/// Between two statements: the message is read, the answer sent, counters are published.
pub const PROTOCOL: &str = "protocol";
/// Nothing to do.
pub const IDLE: &str = "idle";
/// Anything else.
pub const OTHER: &str = "other";

/// All of them, in the order in which charts stack them: what is the machine's below, what is the program's above.
pub const ALL: &[&str] = &[
    CPU,
    RUN_QUEUE,
    USER_IO,
    SYSTEM_IO,
    COMMIT,
    CONCURRENCY,
    LOCK,
    IPC,
    CLIENT,
    TIMEOUT,
    EXTENSION,
    REPLICATION,
    OTHER,
    IDLE_IN_TRANSACTION,
    PROTOCOL,
    PACING,
    IDLE,
];

/// Returns true if time in this class is DB time: work that a client waits for.
pub fn is_work(activity: &str) -> bool {
    !matches!(activity, IDLE | IDLE_IN_TRANSACTION | PACING | PROTOCOL)
}

/// Returns true if a session of this kind, as it is recorded, works for a client: a client's own, or one that helps it.
pub fn is_of_client(kind: &str, has_leader: bool) -> bool {
    kind == "client" || crate::postgres::activity::is_client(kind, has_leader)
}
