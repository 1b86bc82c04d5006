//! Session settings for loading: faster inserts, identical data.

use super::{PATIENCE, book::literal};
use crate::workload::{TablePlan, expr::Item};
use fenxi_wire::{
    Dialect,
    client::{Client, ClientError},
    target::Target,
};

/// Memory in which PostgreSQL sorts for an index: its default of 64 MB sends a few million rows through files.
const SORT_MEMORY: &str = "256MB";
/// The MySQL setting for rows whose columns are not all of one set.
const ANY_TEXT: &str = "utf8mb4";
/// Sets in which ASCII is itself, and which a server does not have to convert to itself.
const PLAIN_SETS: [&str; 4] = ["ascii", "latin1", "utf8mb3", "utf8mb4"];

/// A connection that loads.
///
/// A commit of PostgreSQL's does not wait for the disk: a part and its note go into the same transaction, so that after a crash
/// both are there or neither is, and the end of loading waits for all of them.
pub fn open(target: &Target) -> Result<Client, ClientError> {
    let mut client = Client::connect(target, PATIENCE)?;
    if target.login.dialect == Dialect::Postgres {
        let memory = format!(
            "SELECT set_config('maintenance_work_mem', '{SORT_MEMORY}', false) \
             WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('{SORT_MEMORY}')"
        );
        for sql in ["SET synchronous_commit = off", &memory] {
            match client.run(sql) {
                // A server that speaks PostgreSQL's protocol need not have its settings.
                Err(error) if error.server().is_none() => return Err(error),
                _ => {}
            }
        }
    }
    Ok(client)
}

/// The character set in which MySQL is to take a table's rows. Rows in ASCII are taken in the set of the columns, which
/// saves a conversion of each value: a quarter of the server's time for the rows of sysbench's tables (MariaDB 10.11).
pub fn character_set(client: &mut Client, dialect: Dialect, table: &TablePlan) -> Result<String, ClientError> {
    let is_ascii = |item: &Item| match item {
        Item::Number(_) => true,
        Item::Text(text) => text.is_ascii(),
    };
    if dialect == Dialect::Postgres || !table.items.iter().all(is_ascii) {
        return Ok(ANY_TEXT.to_owned());
    }
    let found = client.rows(&format!(
        "SELECT DISTINCT character_set_name FROM information_schema.columns \
         WHERE table_schema = DATABASE() AND table_name = {} AND character_set_name IS NOT NULL",
        literal(&table.name)
    ))?;
    let only = match found.as_slice() {
        [row] => row.first().cloned().flatten(),
        _ => None,
    };
    Ok(only.filter(|set| PLAIN_SETS.contains(&set.as_str())).unwrap_or_else(|| ANY_TEXT.to_owned()))
}
