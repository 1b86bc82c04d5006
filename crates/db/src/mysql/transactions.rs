//! Open InnoDB transactions, which say who waits for a row's lock and who is idle in a transaction.
//!
//! The server fills this table at most every 0.1 s since the last read: faster readers never see changes.

use std::time::{Duration, Instant};

use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::MARK;
use crate::client::Client;

/// The shortest time between two readings.
const PAUSE: Duration = Duration::from_millis(190);
/// The time between two readings while no session does anything and no transaction is open.
const QUIET: Duration = Duration::from_millis(990);

/// A transaction.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    /// True if it waits for a lock.
    pub waits: bool,
    /// Seconds since it began.
    pub age_s: Option<f64>,
    /// Rows that it has locked.
    pub rows_locked: Option<f64>,
    /// Rows that it has changed.
    pub rows_changed: Option<f64>,
}

/// Transactions by the number of their session.
#[derive(Debug, Default)]
pub struct Transactions {
    open: FxHashMap<i64, Transaction>,
    read: Option<Instant>,
    /// The server does not let us see them.
    pub is_refused: bool,
}

impl Transactions {
    /// Reads them, if the server can have news; `quiet`: no session did anything at the last look.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn read(&mut self, client: &mut Client, quiet: bool) -> Result<(), ClientError> {
        let pause = if quiet && self.open.is_empty() { QUIET } else { PAUSE };
        if self.is_refused || self.read.is_some_and(|read| read.elapsed() < pause) {
            return Ok(());
        }
        let sql = format!(
            "{MARK} SELECT trx_mysql_thread_id, trx_state = 'LOCK WAIT', TIMESTAMPDIFF(MICROSECOND, trx_started, NOW(6)) / 1e6, \
             trx_rows_locked, trx_rows_modified FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id <> 0"
        );
        self.open.clear();
        let open = &mut self.open;
        let read = client.each(&sql, &mut |row| {
            let Some(session) = row.i64(0) else { return };
            let transaction = Transaction {
                waits: row.is_yes(1) == Some(true),
                age_s: row.f64(2),
                rows_locked: row.f64(3),
                rows_changed: row.f64(4),
            };
            open.insert(session, transaction);
        });
        self.read = Some(Instant::now());
        match read {
            Err(error) if error.is_refusal() => {
                self.is_refused = true;
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }

    /// The transaction of a session.
    pub fn of(&self, session: i64) -> Option<&Transaction> {
        self.open.get(&session)
    }

    /// Sessions that have one, as a list in SQL; `0` when there is none.
    pub fn list(&self) -> String {
        let mut list = String::from("0");
        for session in self.open.keys() {
            list.push(',');
            list.push_str(&session.to_string());
        }
        list
    }
}
