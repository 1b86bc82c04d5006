//! Since when counters of PostgreSQL count, and what the server is: whether two snapshots can be subtracted.

use std::collections::BTreeMap;

use fenxi_wire::client::ClientError;

use super::{MARK, extension, having};
use crate::client::Client;

/// The view with the reset time of statements.
pub const STATEMENTS: &str = "pg_stat_statements_info";

/// Views whose counters begin anew together, and the reading that they are in.
const VIEWS: &[(&str, &str)] = &[
    ("pg_stat_archiver", "write-ahead log"),
    ("pg_stat_bgwriter", "checkpoints"),
    ("pg_stat_checkpointer", "checkpoints"),
    ("pg_stat_io", "I/O"),
    ("pg_stat_wal", "write-ahead log"),
];

/// The number and the name of the database that is meant.
pub fn database(what: &str) -> Option<(&str, &str)> {
    what.strip_prefix("database/")?.split_once('/')
}

/// The reading whose counters a view has.
pub fn reading(view: &str) -> Option<&'static str> {
    VIEWS.iter().find(|(of, _)| *of == view).map(|(_, reading)| *reading)
}

/// When counters began, by view or database; what never began anew is not in it.
///
/// # Errors
/// When the connection is lost.
pub fn resets(client: &mut Client) -> Result<BTreeMap<String, String>, ClientError> {
    let views: Vec<_> = VIEWS.iter().map(|(view, _)| *view).collect();
    let having = having(client, &views)?;
    let mut statements =
        vec!["'database/' || datid || '/' || coalesce(datname, ''), stats_reset FROM pg_stat_database".to_owned()];
    let there = views.into_iter().filter(|view| having.has(view, "stats_reset"));
    statements.extend(there.map(|view| format!("'{view}', max(stats_reset) FROM {view}")));
    if let Some(view) = extension(client, STATEMENTS.trim_end_matches("_info"))? {
        let info = format!("{view}_info");
        if super::having(client, &[&info])?.has(&info, "stats_reset") {
            statements.push(format!("'{STATEMENTS}', stats_reset FROM {info}"));
        }
    }
    let mut all = BTreeMap::new();
    for sql in statements {
        let asked = client.each(&format!("SELECT {MARK} {sql}"), &mut |row| {
            if let (Some(what), Some(when)) = (row.text(0), row.text(1)) {
                all.insert(what.to_owned(), when.to_owned());
            }
        });
        match asked {
            Err(error) if !error.is_refusal() => return Err(error),
            _ => {}
        }
    }
    Ok(all)
}

/// The server's identity and start time; and its clock.
///
/// # Errors
/// When the connection is lost.
pub fn identity(client: &mut Client) -> Result<(BTreeMap<String, String>, Option<f64>), ClientError> {
    let mut known = BTreeMap::new();
    for sql in [
        "name, setting FROM pg_settings WHERE name IN ('port', 'data_directory')",
        "'started', pg_postmaster_start_time()::text",
        "'system_identifier', (pg_control_system()).system_identifier::text",
    ] {
        let asked = client.each(&format!("SELECT {MARK} {sql}"), &mut |row| {
            if let (Some(name), Some(value)) = (row.text(0), row.text(1)) {
                known.insert(name.to_owned(), value.to_owned());
            }
        });
        match asked {
            Err(error) if !error.is_refusal() => return Err(error),
            _ => {}
        }
    }
    let mut clock = None;
    client.each(&format!("SELECT {MARK} extract(epoch FROM clock_timestamp())"), &mut |row| clock = row.f64(0))?;
    Ok((known, clock))
}
