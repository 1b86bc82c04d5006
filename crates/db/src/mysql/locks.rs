//! Who waits for whose row in InnoDB.

use fenxi_model::Rows;
use fenxi_wire::client::{Client, ClientError};

use super::MARK;
use crate::{
    locks::{Edge, Graph, Party},
    reading::{About, Having},
};

/// MariaDB, and MySQL up to 5.7.
const OLD: &str = "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, l.lock_type, l.lock_mode, h.lock_mode, \
    NOT (b.trx_requested_lock_id <=> w.blocking_lock_id), NULL, REPLACE(l.lock_table, '`', ''), l.lock_index, \
    TIMESTAMPDIFF(MICROSECOND, r.trx_wait_started, NOW(6)) / 1e6, TIMESTAMPDIFF(MICROSECOND, b.trx_started, NOW(6)) / 1e6, \
    (SELECT p.COMMAND FROM information_schema.PROCESSLIST p WHERE p.ID = b.trx_mysql_thread_id) \
    FROM information_schema.INNODB_LOCK_WAITS w \
    JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id \
    JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id \
    JOIN information_schema.INNODB_LOCKS l ON l.lock_id = w.requested_lock_id \
    JOIN information_schema.INNODB_LOCKS h ON h.lock_id = w.blocking_lock_id LIMIT 2000";

/// MySQL 8; not tried.
const NEW: &str = "SELECT r.PROCESSLIST_ID, b.PROCESSLIST_ID, l.LOCK_TYPE, l.LOCK_MODE, h.LOCK_MODE, h.LOCK_STATUS = 'GRANTED', \
    l.OBJECT_SCHEMA, concat(l.OBJECT_SCHEMA, '.', l.OBJECT_NAME), l.INDEX_NAME, NULL, NULL, b.PROCESSLIST_COMMAND \
    FROM performance_schema.data_lock_waits w \
    JOIN performance_schema.threads r ON r.THREAD_ID = w.REQUESTING_THREAD_ID \
    JOIN performance_schema.threads b ON b.THREAD_ID = w.BLOCKING_THREAD_ID \
    JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID \
    JOIN performance_schema.data_locks h ON h.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID LIMIT 2000";

/// Views by which the statement is chosen.
pub const VIEWS: &[&str] = &["information_schema.INNODB_LOCK_WAITS", "performance_schema.data_lock_waits"];

/// The statement for a server that has these views; None when it has neither.
pub fn statement(having: &Having) -> Option<String> {
    let sql = if having.views.contains_key(VIEWS[0]) {
        OLD
    } else if having.views.contains_key(VIEWS[1]) {
        NEW
    } else {
        return None;
    };
    Some(format!("{MARK} {sql}"))
}

/// Reads the edges and adds a row for each.
///
/// # Errors
/// When the server refuses, or the connection is lost.
pub fn read(client: &mut Client, sql: &str, about: &About<'_>, rows: &mut Rows) -> Result<(), ClientError> {
    let mut graph = Graph::default();
    let mut blockers: Vec<(i64, Party)> = Vec::new();
    client.each(sql, &mut |row| {
        let (Some(waiter), Some(blocker)) = (row.i64(0), row.i64(1)) else { return };
        let state =
            if row.text(11) == Some("Sleep") { "idle in transaction" } else { row.text(11).unwrap_or_default() };
        blockers.push((blocker, Party { state: state.to_owned(), transaction_age_s: row.f64(10), ..Party::default() }));
        graph.add(Edge {
            waiter,
            blocker,
            lock: row.text(2).map(str::to_lowercase),
            mode: row.text(3).map(str::to_owned),
            blocker_mode: row.text(4).map(str::to_owned),
            direct: row.is_yes(5),
            database: row.text(6).map(str::to_owned),
            relation: row.text(7).map(str::to_owned),
            index_name: row.text(8).map(str::to_owned),
            waited_s: row.f64(9),
        });
    })?;
    graph.tell(about, rows, &|session| blockers.iter().find(|(of, _)| *of == session).map(|(_, party)| party.clone()));
    Ok(())
}
