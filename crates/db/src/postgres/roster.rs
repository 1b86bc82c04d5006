//! All sessions of PostgreSQL once per poll, idle ones too: how many there are, which processes serve clients, and what a
//! session that blocks others is doing.

use std::collections::BTreeSet;

use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::{MARK, activity::is_client};
use crate::{
    client::Client,
    server::APPLICATION,
    task::{Task, Whose},
};

/// Session at the last poll.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// State.
    pub state: String,
    /// Application.
    pub application: String,
    /// Age of its transaction in seconds.
    pub transaction_age_s: Option<f64>,
    /// Time in its state in seconds.
    pub state_age_s: Option<f64>,
    /// The server's number for its last statement.
    pub query_id: String,
}

/// All sessions, and what the server is at the moment.
#[derive(Debug, Default)]
pub struct Roster {
    /// By number.
    pub members: FxHashMap<i64, Member>,
    /// Processes and the sessions that they work for.
    pub tasks: Vec<Task>,
    /// Sessions of clients, ours not counted.
    pub sessions: u32,
    /// Those that execute a statement.
    pub active: u32,
    /// Those that are idle in a transaction.
    pub idle_in_transaction: u32,
    /// Those that wait for a lock.
    pub waiting: u32,
    /// The oldest snapshot of any, in transactions.
    pub oldest_xmin: Option<f64>,
    /// Kinds of sessions that there are.
    pub kinds: BTreeSet<String>,
    sql: String,
}

impl Roster {
    /// For a server whose sessions have a number of their statement, or not.
    pub fn new(has_query_ids: bool) -> Roster {
        let id = if has_query_ids { "query_id" } else { "NULL" };
        let sql = format!(
            "SELECT {MARK} pid, backend_type, state, wait_event_type, application_name, \
             extract(epoch FROM clock_timestamp() - xact_start), extract(epoch FROM clock_timestamp() - state_change), {id}, \
             age(backend_xmin), pid = pg_backend_pid() FROM pg_stat_get_activity(NULL) ORDER BY pid LIMIT 10000"
        );
        Roster { sql, ..Roster::default() }
    }

    /// Looks at all sessions.
    ///
    /// # Errors
    /// When the server refuses, or the connection is lost.
    pub fn read(&mut self, client: &mut Client) -> Result<(), ClientError> {
        let sql = std::mem::take(&mut self.sql);
        *self = Roster { members: std::mem::take(&mut self.members), ..Roster::default() };
        self.members.clear();
        let read = client.each_again(&sql, &mut |row| {
            let Some(pid) = row.i64(0) else { return };
            let kind = row.text(1).unwrap_or_default();
            let application = row.text(4).unwrap_or_default();
            let own = application == APPLICATION || row.is_yes(9) == Some(true);
            let whose = match kind {
                _ if own => Whose::Own,
                kind if is_client(kind, true) => Whose::Client,
                _ => Whose::Background,
            };
            self.tasks.extend(u32::try_from(pid).ok().map(|id| Task { id, whose }));
            if own {
                return;
            }
            if !self.kinds.contains(kind) {
                self.kinds.insert(kind.to_owned());
            }
            let state = row.text(2).unwrap_or_default();
            if kind == "client backend" {
                self.sessions += 1;
                self.active += u32::from(state == "active");
                self.idle_in_transaction += u32::from(state.starts_with("idle in transaction"));
                self.waiting += u32::from(row.text(3) == Some("Lock"));
            }
            if let Some(age) = row.f64(8) {
                self.oldest_xmin = Some(self.oldest_xmin.map_or(age, |oldest| oldest.max(age)));
            }
            let member = Member {
                state: state.to_owned(),
                application: application.to_owned(),
                transaction_age_s: row.f64(5),
                state_age_s: row.f64(6),
                query_id: row.text(7).unwrap_or_default().to_owned(),
            };
            self.members.insert(pid, member);
        });
        self.sql = sql;
        read.map(|_| ())
    }
}
