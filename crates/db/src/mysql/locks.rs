//! Lock waits: rows of InnoDB here, metadata in [`super::metadata`].

use fenxi_model::{
    Rows,
    statement::{Quotes, digest, hidden_of},
};
use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::{MARK, metadata};
use crate::{
    client::Client,
    locks::{Edge, Graph, Party},
    reading::{About, Having},
};

/// MariaDB, and MySQL up to 5.7.
const OLD: &str = "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, l.lock_type, l.lock_mode, h.lock_mode, \
    NOT (b.trx_requested_lock_id <=> w.blocking_lock_id), NULL, REPLACE(l.lock_table, '`', ''), l.lock_index, \
    TIMESTAMPDIFF(MICROSECOND, r.trx_wait_started, NOW(6)) / 1e6, TIMESTAMPDIFF(MICROSECOND, b.trx_started, NOW(6)) / 1e6, \
    r.trx_query, b.trx_query \
    FROM information_schema.INNODB_LOCK_WAITS w \
    JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id \
    JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id \
    JOIN information_schema.INNODB_LOCKS l ON l.lock_id = w.requested_lock_id \
    JOIN information_schema.INNODB_LOCKS h ON h.lock_id = w.blocking_lock_id LIMIT 2000";

/// MySQL 8. Each table is read by itself first, which is what the limits are for: joined as they are, they lose rows (8.0.12).
const NEW: &str = "SELECT r.PROCESSLIST_ID, b.PROCESSLIST_ID, l.LOCK_TYPE, l.LOCK_MODE, h.LOCK_MODE, \
    NOT (h.LOCK_STATUS <=> 'WAITING'), l.OBJECT_SCHEMA, concat(l.OBJECT_SCHEMA, '.', l.OBJECT_NAME), l.INDEX_NAME, \
    TIMESTAMPDIFF(MICROSECOND, rt.trx_wait_started, NOW(6)) / 1e6, TIMESTAMPDIFF(MICROSECOND, bt.trx_started, NOW(6)) / 1e6, \
    r.INFO, b.INFO \
    FROM (SELECT * FROM performance_schema.data_lock_waits LIMIT 2000) w \
    JOIN (SELECT THREAD_ID, PROCESSLIST_ID, LEFT(PROCESSLIST_INFO, 1024) AS INFO FROM performance_schema.threads \
        WHERE PROCESSLIST_ID IS NOT NULL LIMIT 100000) r ON r.THREAD_ID = w.REQUESTING_THREAD_ID \
    JOIN (SELECT THREAD_ID, PROCESSLIST_ID, LEFT(PROCESSLIST_INFO, 1024) AS INFO FROM performance_schema.threads \
        WHERE PROCESSLIST_ID IS NOT NULL LIMIT 100000) b ON b.THREAD_ID = w.BLOCKING_THREAD_ID \
    JOIN (SELECT * FROM performance_schema.data_locks WHERE LOCK_STATUS = 'WAITING' LIMIT 10000) l \
        ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID \
    LEFT JOIN (SELECT ENGINE_LOCK_ID, LOCK_MODE, LOCK_STATUS FROM performance_schema.data_locks LIMIT 10000) h \
        ON h.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID \
    LEFT JOIN information_schema.INNODB_TRX rt ON rt.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID \
    LEFT JOIN information_schema.INNODB_TRX bt ON bt.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID";

/// Views by which the statement is chosen.
pub const VIEWS: &[&str] =
    &["information_schema.INNODB_LOCK_WAITS", "performance_schema.data_lock_waits", metadata::VIEW];

/// How much of a statement the server shows beside a lock.
const TEXT: usize = 1024;

/// Queries for locks that the server supports.
#[derive(Debug)]
pub struct Locks {
    /// The statement for rows of InnoDB.
    rows: Option<String>,
    has_metadata: bool,
}

impl Locks {
    /// For a server that has these views.
    pub fn new(having: &Having) -> Locks {
        let rows = [(VIEWS[0], OLD), (VIEWS[1], NEW)].into_iter().find(|(view, _)| having.views.contains_key(*view));
        Locks {
            rows: rows.map(|(_, sql)| format!("{MARK} {sql}")),
            has_metadata: having.views.contains_key(metadata::VIEW),
        }
    }

    /// Reads lock waits and adds a row for each pair. What the server refuses is noted and not asked again.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn read(&mut self, client: &mut Client, about: &About<'_>, rows: &mut Rows) -> Result<(), ClientError> {
        let (mut graph, mut parties) = (Graph::default(), Parties::default());
        let mut is_empty = true;
        if let Some(sql) = &self.rows {
            let read = rows_of_innodb(client, sql, &mut graph, &mut parties);
            if noted(read, "row locks", about, rows)?.map(|found| is_empty &= found == 0).is_none() {
                self.rows = None;
            }
        }
        if self.has_metadata {
            let read = metadata::edges(client);
            match noted(read, "metadata locks", about, rows)? {
                Some(edges) => {
                    is_empty &= edges.is_empty();
                    edges.into_iter().for_each(|edge| graph.add(edge));
                }
                None => self.has_metadata = false,
            }
        }
        if is_empty {
            return Ok(());
        }
        let states = states(client)?;
        let who = |session: i64| {
            let known = parties.get(&session);
            let (state, state_age_s) = states.get(&session).cloned().unwrap_or_default();
            Some(Party {
                state,
                state_age_s,
                transaction_age_s: known.and_then(|party| party.transaction_age_s),
                digest: known.and_then(|party| party.digest.clone()),
                application: String::new(),
            })
        };
        graph.tell(about, rows, &who);
        Ok(())
    }
}

type Parties = FxHashMap<i64, Party>;

/// An answer, or None for a refusal, which is noted.
fn noted<T>(
    answer: Result<T, ClientError>,
    what: &str,
    about: &About<'_>,
    rows: &mut Rows,
) -> Result<Option<T>, ClientError> {
    match answer {
        Err(error) if error.is_refusal() => {
            rows.note(about.server, None, &format!("{what} cannot be read: {error}"));
            Ok(None)
        }
        other => other.map(Some),
    }
}

fn rows_of_innodb(
    client: &mut Client,
    sql: &str,
    graph: &mut Graph,
    parties: &mut Parties,
) -> Result<u64, ClientError> {
    let reply = client.each(sql, &mut |row| {
        let (Some(waiter), Some(blocker)) = (row.i64(0), row.i64(1)) else { return };
        let mut knows = |session: i64, text: Option<&str>, age: Option<f64>| {
            let party = parties.entry(session).or_default();
            // A text that the server has cut is of no statement.
            let whole = text.filter(|text| text.len() < TEXT && !text.is_empty());
            party.digest = whole.map(|text| digest(&hidden_of(text, Quotes::Backslash, false)));
            party.transaction_age_s = age.or(party.transaction_age_s);
        };
        knows(waiter, row.text(11), None);
        knows(blocker, row.text(12), row.f64(10));
        graph.add(Edge {
            waiter,
            blocker,
            lock: row.text(2).map(str::to_lowercase),
            mode: row.text(3).map(str::to_owned),
            blocker_mode: row.text(4).map(str::to_owned),
            direct: row.is_yes(5),
            database: row
                .text(6)
                .or_else(|| row.text(7).and_then(|table| table.split_once('.')).map(|(database, _)| database))
                .map(str::to_owned),
            relation: row.text(7).map(str::to_owned),
            index_name: row.text(8).map(str::to_owned),
            waited_s: row.f64(9),
        });
    })?;
    Ok(reply.rows)
}

/// State of each session, and seconds in it.
fn states(client: &mut Client) -> Result<FxHashMap<i64, (String, Option<f64>)>, ClientError> {
    let mut states = FxHashMap::default();
    client.each(&format!("{MARK} SHOW PROCESSLIST"), &mut |row| {
        let Some(session) = row.i64(0) else { return };
        let state = match (row.text(4).unwrap_or_default(), row.text(6).unwrap_or_default()) {
            // A blocker has a transaction open.
            ("Sleep", _) => "idle in transaction",
            (command, "") => command,
            (_, state) => state,
        };
        states.insert(session, (state.to_owned(), row.f64(5)));
    })?;
    Ok(states)
}
