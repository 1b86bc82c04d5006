//! Activity of a session of PostgreSQL, by its state and the event that it waits for.
//!
//! Names of events changed letters in 17 (`WALSync`, `WalSync`) and underscores in 13: they are compared without either.

use crate::activity as class;

/// Properties of a session that decide its class.
#[derive(Clone, Copy, Debug)]
pub struct Doing<'a> {
    /// Kind of process.
    pub kind: &'a str,
    /// State; empty for processes of the server's own.
    pub state: &'a str,
    /// Type of the event; empty when it waits for nothing that it names.
    pub wait_type: &'a str,
    /// The event.
    pub event: &'a str,
}

/// Events of a type whose names begin with one of these words are of another class than the type's own.
struct Exception {
    wait_type: &'static str,
    begins: &'static [&'static str],
    class: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception { wait_type: "IO", begins: &["wal"], class: class::COMMIT },
    Exception {
        wait_type: "IO",
        begins: &["slru", "controlfile", "relationmap", "timeline", "replication", "snapbuild", "logical", "reorder"],
        class: class::SYSTEM_IO,
    },
    Exception { wait_type: "LWLock", begins: &["walwrite"], class: class::COMMIT },
    // Name in 12 and 13 of the wait for another session's read of the same page.
    Exception { wait_type: "LWLock", begins: &["bufferio"], class: class::USER_IO },
    Exception { wait_type: "IPC", begins: &["syncrep"], class: class::COMMIT },
    Exception { wait_type: "IPC", begins: &["bufferio"], class: class::USER_IO },
    Exception { wait_type: "IPC", begins: &["checkpoint"], class: class::SYSTEM_IO },
    Exception {
        wait_type: "IPC",
        begins: &["procarraygroupupdate", "xactgroupupdate", "cloggroupupdate"],
        class: class::CONCURRENCY,
    },
    Exception { wait_type: "IPC", begins: &["safesnapshot", "recoveryconflict"], class: class::LOCK },
    Exception { wait_type: "Timeout", begins: &["spindelay"], class: class::CONCURRENCY },
    Exception {
        wait_type: "Timeout",
        begins: &[
            "checkpointwritedelay",
            "vacuumdelay",
            "basebackupthrottle",
            "recoveryapplydelay",
            "recoveryretrieve",
        ],
        class: class::PACING,
    },
];

/// The class of each type of event.
const TYPES: &[(&str, &str)] = &[
    ("Activity", class::IDLE),
    ("BufferPin", class::CONCURRENCY),
    ("Buffer", class::CONCURRENCY),
    ("Client", class::CLIENT),
    ("Extension", class::EXTENSION),
    ("InjectionPoint", class::OTHER),
    ("IO", class::USER_IO),
    ("IPC", class::IPC),
    ("Lock", class::LOCK),
    ("LWLock", class::CONCURRENCY),
    ("Timeout", class::TIMEOUT),
];

/// The class of an event by itself.
pub fn of_event(wait_type: &str, event: &str) -> &'static str {
    let fits = |exception: &&Exception| {
        exception.wait_type == wait_type && exception.begins.iter().any(|begin| begins(event, begin))
    };
    if let Some(exception) = EXCEPTIONS.iter().find(fits) {
        return exception.class;
    }
    TYPES.iter().find(|(name, _)| *name == wait_type).map_or(class::OTHER, |(_, class)| class)
}

/// Whether a name begins with a word, whatever its letters' case and underscores are.
fn begins(name: &str, word: &str) -> bool {
    let mut letters = name.bytes().filter(|b| *b != b'_').map(|b| b.to_ascii_lowercase());
    word.bytes().all(|expected| letters.next() == Some(expected))
}

/// Activity of a session.
pub fn of(doing: Doing<'_>) -> &'static str {
    if doing.state.starts_with("idle in transaction") {
        return class::IDLE_IN_TRANSACTION;
    }
    if doing.state == "idle" {
        // Without an event it is about to read a message, or has just answered one.
        return if doing.event.is_empty() { class::PROTOCOL } else { class::IDLE };
    }
    let is_replication = matches!(doing.kind, "walsender" | "walreceiver" | "startup");
    match doing.wait_type {
        "Activity" => class::IDLE,
        "" | "Client" if is_replication => class::REPLICATION,
        "" => class::CPU,
        wait_type => of_event(wait_type, doing.event),
    }
}

/// Returns true if a client waits for it.
pub fn is_client(kind: &str, has_leader: bool) -> bool {
    kind == "client backend" || (kind == "parallel worker" && has_leader)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_class_of_what_is_waited_for() {
        for (wait_type, event, expected) in [
            ("IO", "DataFileRead", class::USER_IO),
            ("IO", "BufFileWrite", class::USER_IO),
            ("IO", "AioIoCompletion", class::USER_IO),
            ("IO", "WALSync", class::COMMIT),
            ("IO", "WalSync", class::COMMIT),
            ("IO", "SLRURead", class::SYSTEM_IO),
            ("IO", "ControlFileSync", class::SYSTEM_IO),
            ("LWLock", "WALWriteLock", class::COMMIT),
            ("LWLock", "WALWrite", class::COMMIT),
            ("LWLock", "WALInsert", class::CONCURRENCY),
            ("LWLock", "buffer_io", class::USER_IO),
            ("LWLock", "BufferIO", class::USER_IO),
            ("LWLock", "BufferContent", class::CONCURRENCY),
            ("BufferPin", "BufferPin", class::CONCURRENCY),
            ("Lock", "transactionid", class::LOCK),
            ("IPC", "SyncRep", class::COMMIT),
            ("IPC", "BufferIo", class::USER_IO),
            ("IPC", "ExecuteGather", class::IPC),
            ("IPC", "RecoveryConflictSnapshot", class::LOCK),
            ("Timeout", "PgSleep", class::TIMEOUT),
            ("Timeout", "VacuumDelay", class::PACING),
            ("Timeout", "SpinDelay", class::CONCURRENCY),
            ("Extension", "PgStatStatements", class::EXTENSION),
            ("Client", "ClientWrite", class::CLIENT),
            ("Later", "Something", class::OTHER),
        ] {
            assert_eq!(of_event(wait_type, event), expected, "{wait_type}:{event}");
        }
    }

    #[test]
    fn a_state_says_more_than_an_event() {
        let of = |kind, state, wait_type, event| of(Doing { kind, state, wait_type, event });
        assert_eq!(of("client backend", "active", "", ""), class::CPU);
        assert_eq!(of("client backend", "active", "Client", "ClientRead"), class::CLIENT);
        assert_eq!(of("client backend", "idle", "Client", "ClientRead"), class::IDLE);
        assert_eq!(of("client backend", "idle", "", ""), class::PROTOCOL);
        assert_eq!(of("client backend", "idle in transaction", "Client", "ClientRead"), class::IDLE_IN_TRANSACTION);
        assert_eq!(of("client backend", "idle in transaction (aborted)", "", ""), class::IDLE_IN_TRANSACTION);
        assert_eq!(of("checkpointer", "", "Timeout", "CheckpointWriteDelay"), class::PACING);
        assert_eq!(of("checkpointer", "", "Activity", "CheckpointerMain"), class::IDLE);
        assert_eq!(of("checkpointer", "", "", ""), class::CPU);
        assert_eq!(of("walsender", "active", "Activity", "WalSenderMain"), class::IDLE);
        assert_eq!(of("walsender", "active", "", ""), class::REPLICATION);
        assert!(is_client("parallel worker", true) && !is_client("parallel worker", false));
        assert!(!is_client("autovacuum worker", false));
    }
}
