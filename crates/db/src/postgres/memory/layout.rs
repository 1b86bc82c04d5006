//! Where fields stand in the structures of a server, by major version. Read off servers of each version, 64 bit.

/// Where `PgBackendStatus` has its fields: the same in all versions.
pub mod status {
    /// Changes so far; odd while there is one.
    pub const CHANGES: usize = 0;
    /// The process.
    pub const PID: usize = 4;
    /// Offset of the backend type.
    pub const KIND: usize = 8;
    /// When the session, its transaction and its statement began, and when its state changed last.
    pub const BEGUN: usize = 16;
    /// As above.
    pub const TRANSACTION: usize = 24;
    /// As above.
    pub const STATEMENT: usize = 32;
    /// As above.
    pub const CHANGED: usize = 40;
    /// Database.
    pub const DATABASE: usize = 48;
    /// User.
    pub const USER: usize = 52;
    /// The client's address, as sockets have it.
    pub const CLIENT: usize = 56;
    /// State.
    pub const STATE: usize = 232;
    /// Where the application's name is.
    pub const APPLICATION: usize = 240;
    /// Where the statement's text is.
    pub const TEXT: usize = 248;
    /// The statement's number.
    pub const QUERY_ID: usize = 424;
    /// Bytes up to here are read.
    pub const LENGTH: usize = 432;
}

/// Where `PGPROC` has its fields that are at the same place in all versions.
pub mod proc {
    /// The oldest transaction that it sees.
    pub const XMIN: usize = 56;
    /// Offset of the wait event.
    pub const WAIT: usize = 712;
    /// From the end: the process that leads a parallel query.
    pub const LEADER_FROM_END: usize = 40;
}

/// Where `PROC_HDR` has them.
pub mod header {
    /// Where the processes are.
    pub const PROCS: usize = 0;
    /// Maximum number.
    pub const COUNT: usize = 32;
    /// Bytes up to here are read.
    pub const LENGTH: usize = 40;
}

/// Where the next transaction's number is in what `next_xid` of a [`Layout`] names.
pub const NEXT_XID: u64 = 8;

/// Bytes of an application's name.
pub const APPLICATION_LENGTH: usize = 64;

/// Offsets that differ between versions.
#[derive(Debug)]
pub struct Layout {
    /// Major version.
    pub major: u32,
    /// Bytes of `PGPROC`.
    pub proc_length: usize,
    /// Where its process's number is in it.
    pub proc_pid: usize,
    /// Kinds of processes by number, as `pg_stat_activity` has them.
    pub kinds: &'static [&'static str],
    /// States by number; empty is none.
    pub states: &'static [&'static str],
    /// The variable that leads to the next transaction's number.
    pub next_xid: &'static str,
}

/// The kind of process that executes what extensions or parallel queries want; `pg_stat_activity` has other words for most.
pub const WORKER: &str = "background worker";

const STATES: &[&str] = &[
    "",
    "idle",
    "active",
    "idle in transaction",
    "fastpath function call",
    "idle in transaction (aborted)",
    "disabled",
];
const STATES_18: &[&str] = &[
    "",
    "starting",
    "idle",
    "active",
    "idle in transaction",
    "fastpath function call",
    "idle in transaction (aborted)",
    "disabled",
];

const KINDS_14: &[&str] = &[
    "",
    "autovacuum launcher",
    "autovacuum worker",
    "client backend",
    WORKER,
    "background writer",
    "checkpointer",
    "startup",
    "walreceiver",
    "walsender",
    "walwriter",
    "archiver",
    "stats collector",
    "logger",
];
const KINDS_15: &[&str] = &[
    "",
    "autovacuum launcher",
    "autovacuum worker",
    "client backend",
    WORKER,
    "background writer",
    "checkpointer",
    "startup",
    "walreceiver",
    "walsender",
    "walwriter",
    "archiver",
    "logger",
];
const KINDS_16: &[&str] = &[
    "",
    "archiver",
    "autovacuum launcher",
    "autovacuum worker",
    "client backend",
    WORKER,
    "background writer",
    "checkpointer",
    "logger",
    "standalone backend",
    "startup",
    "walreceiver",
    "walsender",
    "walwriter",
];
const KINDS_17: &[&str] = &[
    "",
    "client backend",
    "autovacuum launcher",
    "autovacuum worker",
    WORKER,
    "walsender",
    "slotsync worker",
    "standalone backend",
    "archiver",
    "background writer",
    "checkpointer",
    "startup",
    "walreceiver",
    "walsummarizer",
    "walwriter",
    "logger",
];
const KINDS_18: &[&str] = &[
    "",
    "client backend",
    "dead-end client backend",
    "autovacuum launcher",
    "autovacuum worker",
    WORKER,
    "walsender",
    "slotsync worker",
    "standalone backend",
    "archiver",
    "background writer",
    "checkpointer",
    "io worker",
    "startup",
    "walreceiver",
    "walsummarizer",
    "walwriter",
    "logger",
];

const fn layout(
    major: u32,
    (proc_length, proc_pid): (usize, usize),
    kinds: &'static [&'static str],
    states: &'static [&'static str],
    next_xid: &'static str,
) -> Layout {
    Layout { major, proc_length, proc_pid, kinds, states, next_xid }
}

static LAYOUTS: &[Layout] = &[
    layout(14, (880, 64), KINDS_14, STATES, "ShmemVariableCache"),
    layout(15, (880, 64), KINDS_15, STATES, "ShmemVariableCache"),
    layout(16, (880, 64), KINDS_16, STATES, "ShmemVariableCache"),
    layout(17, (888, 60), KINDS_17, STATES, "TransamVariables"),
    layout(18, (832, 60), KINDS_18, STATES_18, "TransamVariables"),
];

/// That of a major version; None where it is not known.
pub fn of(major: u32) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.major == major)
}

impl Layout {
    /// The kind of a process by its number; empty where there is none.
    pub fn kind(&self, number: u32) -> &'static str {
        named(self.kinds, number)
    }

    /// A state by its number; empty where there is none.
    pub fn state(&self, number: u32) -> &'static str {
        named(self.states, number)
    }
}

fn named(names: &[&'static str], number: u32) -> &'static str {
    usize::try_from(number).ok().and_then(|place| names.get(place)).copied().unwrap_or_default()
}
