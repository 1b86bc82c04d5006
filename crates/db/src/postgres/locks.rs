//! Lock waits in PostgreSQL: the waits-for graph while somebody waits for a lock.
//!
//! `pg_blocking_pids` also names those that are only ahead in the queue; whether a blocker holds the lock is in the
//! lock table. It takes the lock manager's own locks, so it is asked at most once a second, and only when a sample saw a wait.

use fenxi_model::Rows;
use fenxi_wire::client::ClientError;

use super::{MARK, roster::Roster, statements::Statements};
use crate::{
    client::Client,
    locks::{Edge, Graph, Party},
    reading::{About, Having},
};

/// The statement for a server that has these columns.
pub fn statement(having: &Having) -> String {
    let waited = if having.has("pg_locks", "waitstart") {
        "extract(epoch FROM clock_timestamp() - w.waitstart)"
    } else {
        "NULL"
    };
    format!(
        "SELECT {MARK} w.pid, b.pid, w.locktype, w.mode, h.mode, h.granted, d.datname, \
         CASE WHEN d.datname = current_database() THEN coalesce(w.relation, t.relation)::regclass::text END, {waited}, \
         p.gid, extract(epoch FROM clock_timestamp() - p.prepared) \
         FROM pg_lock_status() w JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS b(pid) ON true \
         LEFT JOIN pg_lock_status() h ON coalesce(h.pid, 0) = b.pid \
           AND (h.locktype, h.database, h.relation, h.page, h.tuple, h.virtualxid, h.transactionid, h.classid, h.objid, h.objsubid) \
           IS NOT DISTINCT FROM (w.locktype, w.database, w.relation, w.page, w.tuple, w.virtualxid, w.transactionid, w.classid, w.objid, w.objsubid) \
         LEFT JOIN LATERAL (SELECT l.relation, l.database FROM pg_lock_status() l WHERE l.pid = w.pid AND l.locktype = 'tuple' AND l.granted LIMIT 1) t ON true \
         LEFT JOIN LATERAL (SELECT l.transactionid AS id FROM pg_lock_status() l WHERE b.pid = 0 AND l.pid IS NULL AND l.locktype = 'transactionid' AND l.virtualtransaction = h.virtualtransaction LIMIT 1) x ON true \
         LEFT JOIN pg_prepared_xact() p ON p.transaction = x.id \
         LEFT JOIN pg_database d ON d.oid = coalesce(w.database, t.database) \
         WHERE NOT w.granted LIMIT 2000"
    )
}

/// Reads the edges and adds a row for each.
///
/// # Errors
/// When the server refuses, or the connection is lost.
pub fn read(
    client: &mut Client,
    sql: &str,
    about: &About<'_>,
    roster: &Roster,
    statements: Option<&Statements>,
    rows: &mut Rows,
) -> Result<(), ClientError> {
    let mut graph = Graph::default();
    let mut prepared: Option<Party> = None;
    client.each_again(sql, &mut |row| {
        let (Some(waiter), Some(blocker)) = (row.i64(0), row.i64(1)) else { return };
        if let Some(name) = row.text(9) {
            let state = format!("prepared as {name}");
            prepared = Some(Party { state, transaction_age_s: row.f64(10), ..Party::default() });
        }
        graph.add(Edge {
            waiter,
            blocker,
            lock: row.text(2).map(str::to_owned),
            mode: row.text(3).map(str::to_owned),
            blocker_mode: row.text(4).map(str::to_owned),
            direct: row.is_yes(5),
            database: row.text(6).map(str::to_owned),
            relation: row.text(7).map(str::to_owned),
            index_name: None,
            waited_s: row.f64(8),
        });
    })?;
    graph.tell(about, rows, &|session| {
        let Some(member) = roster.members.get(&session) else { return prepared.clone().filter(|_| session == 0) };
        let digest = statements.and_then(|statements| statements.digest(&member.query_id));
        Some(Party {
            state: member.state.clone(),
            application: member.application.clone(),
            state_age_s: member.state_age_s,
            transaction_age_s: member.transaction_age_s,
            digest: digest.map(str::to_owned),
        })
    });
    Ok(())
}
