//! Snapshots: what a server answered to everything that is asked of it, kept as it is. Two of them are an interval.
//!
//! No figure is made when a snapshot is taken: that is done by the pollers, which are asked to read one snapshot and then the
//! other ([`Period`]). What is known better later is so of old snapshots, too.

mod file;
mod period;
mod played;
mod take;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

pub use self::{
    period::{Period, PeriodError, period},
    played::Played,
    take::{Taken, take},
};

use crate::own_amounts::Own;

/// The format of snapshots.
const FORMAT: u32 = 1;

/// A server's identity, and the moment of its answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The format.
    pub format: u32,
    /// The server's address without credentials.
    pub server: String,
    /// `postgres` or `mysql`.
    pub dialect: String,
    /// Its version as reported at a login.
    pub version: String,
    /// Who asked.
    pub user: String,
    /// The database that was connected to.
    pub database: String,
    /// When, by the clock of who asked, in microseconds.
    pub taken_us: i64,
    /// When, by the server's clock, in seconds.
    pub clock_s: Option<f64>,
    /// Its identity, and `started`, which shows a restart.
    pub identity: BTreeMap<String, String>,
    /// When its counters began, by view or database.
    pub resets: BTreeMap<String, String>,
    /// Amounts that the snapshot itself added to counters.
    pub own: Vec<OwnAmount>,
}

/// Amount that a snapshot itself added to a counter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnAmount {
    /// The row of the counter: a database, or empty.
    pub row: String,
    /// The counter.
    pub name: String,
    /// So much was in it when it was read.
    pub then: f64,
    /// So much it added in all.
    pub all: f64,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The database in which it was asked.
    pub database: String,
    /// The question.
    pub sql: String,
    /// Why the server refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Names of columns.
    pub columns: Vec<String>,
    /// Values as text.
    pub rows: Vec<Vec<Option<String>>>,
}

/// A snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Identity of the server.
    pub head: Head,
    /// Its answers, in the order of the questions.
    pub answers: Vec<Answer>,
}

/// Takes answers while a snapshot is made.
#[derive(Clone, Debug, Default)]
pub struct Keeping(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    answers: Vec<Answer>,
    /// Amounts of our own in the counters when they were read.
    own: Own,
}

impl Keeping {
    /// Keeps an answer.
    pub fn keep(&self, answer: Answer) {
        self.lock().answers.push(answer);
    }

    /// Keeps what is of our own in the counters that are read now.
    pub fn keep_own(&self, own: &Own) {
        self.lock().own.clone_from(own);
    }

    /// All that was kept; `all` is what we added until now.
    fn take(&self, mut all: Own) -> (Vec<Answer>, Vec<OwnAmount>) {
        let kept = std::mem::take(&mut *self.lock());
        let mut own = Vec::new();
        for (row, amounts) in kept.own {
            for (name, then) in amounts {
                let amounts = all.entry(row.clone()).or_default();
                let place = amounts.iter().position(|(of, _)| *of == name);
                let all = place.map_or(0.0, |place| amounts.swap_remove(place).1);
                own.push(OwnAmount { row: row.clone(), name, then, all });
            }
        }
        // Sessions in further databases began behind the reading.
        for (row, amounts) in all {
            own.extend(amounts.into_iter().map(|(name, all)| OwnAmount { row: row.clone(), name, then: 0.0, all }));
        }
        (kept.answers, own)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
