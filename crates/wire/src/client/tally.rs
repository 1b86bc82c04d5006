//! Work of a connection, counted where it is done: who watches a server leaves out by it the work he causes there.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::ClientError;

/// Work of a session as a server counts it: each statement is a transaction, as nothing here begins one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Statements that were answered, and the login, which PostgreSQL counts as a transaction.
    pub answered: u64,
    /// Statements that the server refused.
    pub refused: u64,
    /// Sessions that began: 1, once the server has reported it.
    pub sessions: u64,
    /// Seconds that the session lasted.
    pub lasted_s: f64,
}

/// The counts of a connection, and which of them the server has published: PostgreSQL does so once a second at most.
#[derive(Debug)]
pub struct Tally(Mutex<State>);

#[derive(Debug)]
struct State {
    begun: Instant,
    now: Counts,
    published: Counts,
    is_over: bool,
    is_unknown: bool,
}

impl Tally {
    /// Of a connection that begins.
    pub fn begin() -> Tally {
        let now = Counts { answered: 1, sessions: 1, ..Counts::default() };
        let published = Counts::default();
        Tally(Mutex::new(State { begun: Instant::now(), now, published, is_over: false, is_unknown: false }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what became of a statement.
    pub(super) fn count<T>(&self, reported: &Result<T, ClientError>) {
        match reported {
            Ok(_) => self.state().now.answered += 1,
            Err(error) if error.is_refusal() => self.state().now.refused += 1,
            Err(_) => {}
        }
    }

    /// The connection is closed: the server publishes what it has of it.
    pub(super) fn end(&self) {
        self.publish();
        self.state().is_over = true;
    }

    /// Counts until now.
    pub fn done(&self) -> Counts {
        self.state().now
    }

    /// The server has published all that was done until now.
    pub fn publish(&self) {
        let mut state = self.state();
        if state.is_unknown {
            return;
        }
        state.now.lasted_s = state.begun.elapsed().as_secs_f64();
        state.published = state.now;
    }

    /// Marks what the server publishes from now on as unknown.
    pub fn give_up(&self) {
        self.state().is_unknown = true;
    }

    /// Returns true if it is not known what the server publishes.
    pub fn is_unknown(&self) -> bool {
        self.state().is_unknown
    }

    /// Counts that the server has published.
    pub fn published(&self) -> Counts {
        self.state().published
    }

    /// Returns true if the connection is closed.
    pub fn is_over(&self) -> bool {
        self.state().is_over
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientError, Counts, Tally};
    use crate::ServerError;

    #[test]
    fn what_is_published_is_what_was_done_until_then() {
        let tally = Tally::begin();
        assert_eq!(tally.published(), Counts::default());
        tally.count(&Ok(()));
        let error = ServerError { state: *b"42601", number: 0, message: "syntax error".to_owned() };
        let refused = ClientError::Refused { sql: "SELECT".to_owned(), error: Box::new(error) };
        tally.count::<()>(&Err(refused));
        tally.publish();
        tally.count(&Ok(()));
        let published = tally.published();
        assert_eq!((published.answered, published.refused, published.sessions), (2, 1, 1));
        assert!(!tally.is_over());
        tally.end();
        assert_eq!((tally.published().answered, tally.is_over()), (3, true));
    }

    #[test]
    fn nothing_more_is_known_of_a_session_whose_server_does_not_publish() {
        let tally = Tally::begin();
        tally.give_up();
        tally.publish();
        tally.end();
        assert_eq!((tally.published(), tally.is_over(), tally.is_unknown()), (Counts::default(), true, true));
    }
}
