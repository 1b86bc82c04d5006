//! State of a MySQL that outlives connections.

use std::time::Instant;

use rustc_hash::FxHashMap;

/// State of a server that outlives connections.
#[derive(Debug, Default)]
pub struct Memory {
    /// Its process as it was last seen.
    pub(super) up: Option<Up>,
    /// Whether it refused changes then.
    pub(super) read_only: Option<bool>,
    /// Growth of counters by each of our sessions: per second for the sampler, per interval for the others.
    pub(super) spent: FxHashMap<Who, FxHashMap<String, f64>>,
    /// Amounts that each of our sessions has added to counters in all.
    pub(super) totals: FxHashMap<Who, FxHashMap<String, f64>>,
    /// Threads of sessions, where only the poller learns them.
    pub(super) tids: FxHashMap<i64, i64>,
    /// Prepared statements that we executed.
    pub(super) executed: u32,
    /// A text of the processlist was longer than an answer may be.
    pub(super) has_long_texts: bool,
}

/// Which of our sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// It looks many times a second: what it adds is known by second.
    Sampler,
    /// It asks once an interval, however short that is: what it adds is known by interval.
    Poller,
    /// It asks what a snapshot needs besides.
    Beside,
}

/// A server's process at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Up {
    /// For how many seconds it was up, as it reports: the difference of two times of its clock.
    pub(super) up_s: f64,
    /// When it began, by its clock.
    pub(super) started_s: f64,
    /// When its answer had come.
    pub(super) answered: Instant,
}
