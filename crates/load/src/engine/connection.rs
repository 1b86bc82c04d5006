//! State of one connection: a few hundred bytes while nothing is buffered.

use crate::random::Random;
use fenxi_wire::{Session, channel::Channel};

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not connected yet: it waits for its turn.
    Closed,
    /// The socket is being connected.
    Connecting,
    /// The login is under way.
    LoggingIn,
    /// Parked: the idle share of a workload.
    Parked,
    /// Idle.
    Idle,
    /// A statement is being prepared; the transaction goes on with it.
    Preparing,
    /// An answer is awaited.
    Running,
    /// The client thinks.
    Thinking,
    /// After an error.
    RollingBack(After),
}

/// Action after a rollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The same transaction.
    Again,
    /// Another one.
    Done,
}

impl Phase {
    /// Returns true if a transaction is under way.
    pub fn is_busy(self) -> bool {
        matches!(self, Phase::Preparing | Phase::Running | Phase::Thinking | Phase::RollingBack(_))
    }

    /// Returns true if there is no session yet.
    pub fn is_new(self) -> bool {
        matches!(self, Phase::Connecting | Phase::LoggingIn)
    }
}

/// A transaction under way.
#[derive(Debug)]
pub struct Transaction {
    /// Its number.
    pub turn: u64,
    /// Which of the program's transactions.
    pub transaction: usize,
    /// When it was meant to begin, and when it began; nanoseconds of the engine's clock.
    pub intended: u64,
    /// As `intended`.
    pub started: u64,
    /// Its own generator.
    pub random: Random,
    /// The next step.
    pub at: usize,
    /// Attempts that failed.
    pub attempts: u32,
    /// Statements that were sent and are not answered: reads, writes, others.
    pub pending: [u32; 3],
    /// True if a statement was sent after which a transaction may be open at the server.
    pub opened: bool,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    pub phase: Phase,
    pub channel: Option<Channel>,
    pub session: Option<Session>,
    /// A message that has come in part.
    pub rest: Vec<u8>,
    pub work: Transaction,
    /// Numbers that the transaction remembers.
    pub slots: Box<[i64]>,
    /// Since when it is free.
    pub idle_since: u64,
    /// Distinguishes the latest timer from earlier ones.
    pub timer: u32,
    /// Attempts to connect that failed, one after the other.
    pub failures: u32,
    /// True if an attempt to connect has ended, well or not.
    pub was_tried: bool,
    /// True if a session was there before.
    pub was_there: bool,
    /// True if its transaction begins again once it is back.
    pub resumes: bool,
    /// True if it takes no part.
    pub parked: bool,
    /// True if the kernel is asked when it can be written.
    pub awaits_room: bool,
}

impl Connection {
    /// One that is not there yet.
    pub fn new(slots: usize, parked: bool) -> Connection {
        Connection {
            phase: Phase::Closed,
            channel: None,
            session: None,
            rest: Vec::new(),
            work: Transaction {
                turn: 0,
                transaction: 0,
                intended: 0,
                started: 0,
                random: Random::new(0, 0),
                at: 0,
                attempts: 0,
                pending: [0; 3],
                opened: false,
            },
            slots: vec![0; slots].into(),
            idle_since: 0,
            timer: 0,
            failures: 0,
            was_tried: false,
            was_there: false,
            resumes: false,
            parked,
            awaits_room: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_connections_need_little_memory() {
        // The state of a running connection; the promise is 8 KiB.
        assert!(size_of::<Connection>() <= 512, "{}", size_of::<Connection>());
    }
}
