//! Who waits for whose metadata lock: what `ALTER TABLE` and open transactions do to each other.
//!
//! The server lists locks, not blockers: these follow from which kinds of locks exclude each other. It lists them
//! only with an instrument that MariaDB has off.

use fenxi_wire::client::ClientError;

use super::MARK;
use crate::client::Client;
use crate::locks::Edge;

/// The view.
pub const VIEW: &str = "performance_schema.metadata_locks";

/// Without this instrument the view is empty.
const INSTRUMENT: &str = "wait/lock/metadata/sql/mdl";

/// Returns true if the server lists such locks.
///
/// # Errors
/// When the connection is lost.
pub fn is_on(client: &mut Client) -> Result<bool, ClientError> {
    let mut on = false;
    let sql =
        format!("{MARK} SELECT ENABLED FROM performance_schema.setup_instruments WHERE NAME = '{INSTRUMENT}' LIMIT 1");
    match client.each(&sql, &mut |row| on = row.text(0) == Some("YES")) {
        Err(error) if !error.is_refusal() => Err(error),
        _ => Ok(on),
    }
}

/// Locks of tables and the like: which granted ones a request has to wait for.
const CONFLICTS: &[(&str, &[&str])] = &[
    ("SHARED", &["INTENTION_EXCLUSIVE", "EXCLUSIVE"]),
    ("INTENTION_EXCLUSIVE", &["SHARED", "EXCLUSIVE"]),
    ("SHARED_HIGH_PRIO", &["EXCLUSIVE"]),
    ("SHARED_READ", &["SHARED_NO_READ_WRITE", "EXCLUSIVE"]),
    ("SHARED_WRITE", &["SHARED_READ_ONLY", "SHARED_NO_WRITE", "SHARED_NO_READ_WRITE", "EXCLUSIVE"]),
    ("SHARED_UPGRADABLE", &["SHARED_UPGRADABLE", "SHARED_NO_WRITE", "SHARED_NO_READ_WRITE", "EXCLUSIVE"]),
    ("SHARED_READ_ONLY", &["SHARED_WRITE", "SHARED_NO_READ_WRITE", "EXCLUSIVE"]),
    ("SHARED_NO_WRITE", &["SHARED_WRITE", "SHARED_UPGRADABLE", "SHARED_NO_WRITE", "SHARED_NO_READ_WRITE", "EXCLUSIVE"]),
    (
        "SHARED_NO_READ_WRITE",
        &[
            "SHARED_READ",
            "SHARED_WRITE",
            "SHARED_UPGRADABLE",
            "SHARED_READ_ONLY",
            "SHARED_NO_WRITE",
            "SHARED_NO_READ_WRITE",
            "EXCLUSIVE",
        ],
    ),
];

/// MariaDB's locks of ordinary work against backups, which do not exclude each other.
const ORDINARY: &[&str] =
    &["BACKUP_DML", "BACKUP_TRANS_DML", "BACKUP_SYS_DML", "BACKUP_DDL", "BACKUP_ALTER_COPY", "BACKUP_COMMIT"];

/// Whether a request has to wait for a granted lock. Whatever is in no list excludes all, as EXCLUSIVE does.
fn excludes(requested: &str, granted: &str) -> bool {
    if ORDINARY.contains(&requested) {
        return !ORDINARY.contains(&granted);
    }
    let of = CONFLICTS.iter().find(|(kind, _)| *kind == requested);
    of.is_none_or(|(_, granted_ones)| granted_ones.contains(&granted))
}

/// A lock, or a request for one.
struct Lock {
    session: i64,
    /// Kind, database and name of what is locked.
    object: [Option<String>; 3],
    mode: String,
    is_granted: bool,
}

/// Reads locks on whatever somebody waits for, and gives an edge for each pair of which one waits for the other.
///
/// # Errors
/// When the server refuses, or the connection is lost.
pub fn edges(client: &mut Client) -> Result<Vec<Edge>, ClientError> {
    let sql = format!(
        "{MARK} SELECT t.PROCESSLIST_ID, l.OBJECT_TYPE, l.OBJECT_SCHEMA, l.OBJECT_NAME, l.LOCK_TYPE, l.LOCK_STATUS \
         FROM {VIEW} l JOIN performance_schema.threads t ON t.THREAD_ID = l.OWNER_THREAD_ID \
         WHERE t.PROCESSLIST_ID <> CONNECTION_ID() LIMIT 10000"
    );
    let mut locks = Vec::new();
    client.each(&sql, &mut |row| {
        let Some(session) = row.i64(0) else { return };
        let text = |place: usize| row.text(place).map(str::to_owned);
        let is_granted = row.text(5) == Some("GRANTED");
        let object = [text(1), text(2), text(3)];
        locks.push(Lock { session, object, mode: text(4).unwrap_or_default(), is_granted });
    })?;
    Ok(edges_of(&locks))
}

fn edges_of(locks: &[Lock]) -> Vec<Edge> {
    let mut edges = Vec::new();
    for waiter in locks.iter().filter(|lock| !lock.is_granted) {
        let is_obstacle = |other: &&Lock| {
            other.is_granted
                && other.session != waiter.session
                && other.object == waiter.object
                && excludes(&waiter.mode, &other.mode)
        };
        for blocker in locks.iter().filter(is_obstacle).chain(behind_exclusive(waiter, locks)) {
            let [kind, database, name] = &waiter.object;
            let relation = match (database, name) {
                (Some(database), Some(name)) => Some(format!("{database}.{name}")),
                _ => name.clone(),
            };
            edges.push(Edge {
                waiter: waiter.session,
                blocker: blocker.session,
                lock: Some(match kind.as_deref() {
                    Some("TABLE") | None => "metadata".to_owned(),
                    Some(kind) => format!("metadata of {}", kind.to_lowercase()),
                }),
                mode: Some(waiter.mode.clone()),
                blocker_mode: Some(blocker.mode.clone()),
                direct: Some(blocker.is_granted),
                database: database.clone(),
                relation,
                ..Edge::default()
            });
        }
    }
    edges
}

/// Requests for EXCLUSIVE, for which later requests wait, though it does not hold the lock yet.
fn behind_exclusive<'a>(waiter: &'a Lock, locks: &'a [Lock]) -> impl Iterator<Item = &'a Lock> {
    locks.iter().filter(move |other| {
        other.session != waiter.session
            && other.object == waiter.object
            && !other.is_granted
            && other.mode == "EXCLUSIVE"
            && waiter.mode != "SHARED_HIGH_PRIO"
            && CONFLICTS.iter().any(|(kind, _)| *kind == waiter.mode)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(session: i64, mode: &str, is_granted: bool) -> Lock {
        let object = ["TABLE", "test", "a"].map(|text| Some(text.to_owned()));
        Lock { session, object, mode: mode.to_owned(), is_granted }
    }

    #[test]
    fn an_alter_waits_for_readers_and_readers_wait_behind_it() {
        // 1 has read and is in a transaction, 2 alters, 3 wants to read, 4 read before and is no obstacle for 3.
        let locks = [
            lock(1, "SHARED_READ", true),
            lock(2, "SHARED_UPGRADABLE", true),
            lock(2, "EXCLUSIVE", false),
            lock(3, "SHARED_READ", false),
            lock(4, "SHARED_WRITE", true),
        ];
        let mut found: Vec<_> = edges_of(&locks).iter().map(|edge| (edge.waiter, edge.blocker, edge.direct)).collect();
        found.sort();
        assert_eq!(found, [(2, 1, Some(true)), (2, 4, Some(true)), (3, 2, Some(false))]);
        assert_eq!(edges_of(&locks)[0].relation.as_deref(), Some("test.a"));
    }

    #[test]
    fn what_excludes_what_is_symmetric_among_locks_of_tables() {
        for (one, _) in CONFLICTS {
            for (other, _) in CONFLICTS {
                assert_eq!(excludes(one, other), excludes(other, one), "{one}, {other}");
            }
        }
    }
}
