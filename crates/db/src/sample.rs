//! One look at the sessions of a server. Its memory is used again for the next one.

use std::sync::Arc;

use crate::statements::Text;

/// The most sessions of a look. Servers are asked for 2,000, or list all that they have.
const MOST: usize = 4_000;
/// How much of a name is kept: servers have shorter ones.
const NAME: usize = 512;

/// One session as it was seen. What is not known is empty or None.
#[derive(Debug, Default)]
pub struct Session {
    /// The server's number for it.
    pub number: i64,
    /// Process on the server's host.
    pub pid: Option<i64>,
    /// Thread on the server's host.
    pub tid: Option<i64>,
    /// Session that leads a parallel query.
    pub leader: Option<i64>,
    /// Session that it is known to wait for.
    pub blocked_by: Option<i64>,
    /// Database.
    pub database: String,
    /// User.
    pub user: String,
    /// Application.
    pub application: String,
    /// Address of the client.
    pub client: String,
    /// Backend type or command, in the server's words.
    pub kind: String,
    /// State, in the server's words.
    pub state: String,
    /// Class of its wait, in the server's words.
    pub wait_class: String,
    /// Its wait, in the server's words.
    pub wait_event: String,
    /// The server's identifier of the statement.
    pub query_id: String,
    /// The statement in normal form, with our digest of it.
    pub statement: Option<Arc<Text>>,
    /// Class of its activity.
    pub activity: &'static str,
    /// True if a client waits for it: not one of the server's own.
    pub is_client: bool,
    /// Ages in seconds.
    pub transaction_age_s: Option<f64>,
    /// As above.
    pub statement_age_s: Option<f64>,
    /// As above.
    pub state_age_s: Option<f64>,
    /// As above.
    pub session_age_s: Option<f64>,
    /// Age of its snapshot in transactions.
    pub xmin_age: Option<f64>,
    /// Rows that it has locked.
    pub rows_locked: Option<f64>,
    /// Rows that it has changed.
    pub rows_changed: Option<f64>,
    /// Memory in bytes.
    pub memory_bytes: Option<f64>,
}

impl Session {
    /// Forgets all, and keeps the memory of texts.
    fn clear(&mut self) {
        let mut texts = [
            &mut self.database,
            &mut self.user,
            &mut self.application,
            &mut self.client,
            &mut self.kind,
            &mut self.state,
            &mut self.wait_class,
            &mut self.wait_event,
            &mut self.query_id,
        ]
        .map(std::mem::take);
        texts.iter_mut().for_each(String::clear);
        let [database, user, application, client, kind, state, wait_class, wait_event, query_id] = texts;
        *self = Session {
            database,
            user,
            application,
            client,
            kind,
            state,
            wait_class,
            wait_event,
            query_id,
            ..Session::default()
        };
    }
}

/// The sessions of one look.
#[derive(Debug, Default)]
pub struct Sample {
    slots: Vec<Session>,
    used: usize,
    /// Sessions of others whose state may not be seen.
    pub hidden: usize,
}

impl Sample {
    /// Begins anew.
    pub fn clear(&mut self) {
        self.used = 0;
        self.hidden = 0;
    }

    /// The next session, with nothing in it; behind the last one that is kept, that one again.
    pub fn add(&mut self) -> &mut Session {
        if self.used == self.slots.len() && self.used < MOST {
            self.slots.push(Session::default());
        }
        self.used = (self.used + 1).min(self.slots.len());
        let slot = &mut self.slots[self.used - 1];
        slot.clear();
        slot
    }

    /// The sessions.
    pub fn sessions(&self) -> &[Session] {
        &self.slots[..self.used]
    }

    /// The sessions, to be completed.
    pub fn sessions_mut(&mut self) -> &mut [Session] {
        &mut self.slots[..self.used]
    }
}

/// Puts a value's text into a string that keeps its memory; NULL leaves it empty.
pub fn put(into: &mut String, value: Option<&str>) {
    into.clear();
    into.push_str(cut(value.unwrap_or_default(), NAME));
}

/// The beginning of a text, of so many bytes at most.
pub fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// An empty text is NULL.
pub fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
