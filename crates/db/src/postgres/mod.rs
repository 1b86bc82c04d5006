//! PostgreSQL 12 and later, primaries and standbys.

pub mod activity;
mod locks;
pub mod memory;
pub mod own;
mod plans;
mod poller;
mod readings;
mod relations;
pub mod resets;
mod roster;
mod sessions;
mod settings;
mod statements;

use fenxi_wire::{Dialect, client::ClientError, target::Target};
use rustc_hash::FxHashMap;

use crate::{
    client::Client,
    observer::{Poller, Sampler},
    product::Product,
    reading::Having,
    server::{ANSWER, Server, ServerError},
};

/// The server.
#[derive(Debug)]
pub struct Postgres;

impl Product for Postgres {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn home<'a>(&self, target: &'a Target) -> &'a str {
        &target.login.database
    }

    fn grant(&self, user: &str) -> String {
        format!("GRANT pg_monitor TO {user}")
    }

    fn settle(
        &self,
        client: &mut Client,
        connect: &dyn Fn() -> Result<Client, ClientError>,
    ) -> Result<Option<&'static str>, ClientError> {
        // Before anything is set: it would be set for the one that has the session next.
        if shares_sessions(client, connect)? {
            return Ok(Some(SHARES));
        }
        settle(client)?;
        Ok(None)
    }

    fn sampler(&self, server: &Server) -> Result<Box<dyn Sampler>, ServerError> {
        sessions::sampler(server)
    }

    fn poller(&self, server: &Server) -> Result<Box<dyn Poller>, ServerError> {
        poller::poller(server)
    }
}

/// Why one behind a pooler in transaction mode is not observed.
const SHARES: &str = "a pooler answers that gives sessions of the server to others between two statements; name the server itself, \
                      and the pooler's own database `pgbouncer` to see who waits in it";

/// Mark of our statements in the server's own statistics, behind the first word of each: PostgreSQL 18 drops comments
/// before a statement there.
const MARK: &str = crate::mark::MARK;

/// The name of the statement that is prepared to be explained.
const PREPARED: &str = "fenxi_db";

/// Settings of the poller's own sessions, where the server has them: nothing waits for long, nothing is changed, and no
/// answer depends on how the server or the user is set up.
const SETTINGS: &[(&str, &str)] = &[
    ("statement_timeout", "2000"),
    ("lock_timeout", "100"),
    ("idle_in_transaction_session_timeout", "10000"),
    ("idle_session_timeout", "0"),
    ("default_transaction_read_only", "on"),
    ("jit", "off"),
    ("search_path", "pg_catalog"),
    ("extra_float_digits", "1"),
    ("datestyle", "ISO"),
    ("timezone", "UTC"),
    ("client_encoding", "UTF8"),
    ("client_min_messages", "error"),
    ("stats_fetch_consistency", "none"),
    ("max_parallel_workers_per_gather", "0"),
    ("log_min_duration_statement", "-1"),
];

/// Sets up a session.
///
/// # Errors
/// When the server refuses, or the connection is lost.
fn settle(client: &mut Client) -> Result<(), ClientError> {
    let mut allowed = Vec::new();
    let names: Vec<_> = SETTINGS.iter().map(|(name, _)| format!("'{name}'")).collect();
    // Settings that only a superuser may set are left as they are.
    let sql = format!(
        "SELECT {MARK} pg_catalog.lower(name) FROM pg_catalog.pg_settings WHERE pg_catalog.lower(name) IN ({}) AND (context = 'user' OR \
         (context = 'superuser' AND pg_catalog.current_setting('is_superuser') = 'on'))",
        names.join(", ")
    );
    client.each(&sql, &mut |row| allowed.extend(row.text(0).map(str::to_owned)))?;
    let set: Vec<_> = SETTINGS
        .iter()
        .filter(|(name, _)| allowed.iter().any(|a| a == name))
        .map(|(name, value)| format!("pg_catalog.set_config('{name}', '{value}', false)"))
        .collect();
    client.run(&format!("SELECT {MARK} {}", set.join(", ")))?;
    Ok(())
}

/// How often two connections are compared.
const COMPARISONS: u32 = 3;

/// Whether a pooler in transaction mode is between: one session of the server answers on two connections. A pooler gives
/// sessions its own numbers, so that a direct connection is recognised without a second one.
///
/// # Errors
/// When the server refuses, or a connection is lost.
fn shares_sessions(
    client: &mut Client,
    connect: &dyn Fn() -> Result<Client, ClientError>,
) -> Result<bool, ClientError> {
    let number = |client: &mut Client| client.number(&format!("SELECT {MARK} pg_catalog.pg_backend_pid()"));
    let first = number(client)?;
    if first == Some(i64::from(client.about().number)) {
        return Ok(false);
    }
    // A pool that has no session left holds the second one up: then the first one is ours alone.
    let Ok(mut other) = connect() else { return Ok(false) };
    other.limit_time(ANSWER);
    for _ in 0..COMPARISONS {
        let Ok(of_other) = number(&mut other) else { return Ok(false) };
        if of_other == first || number(client)? != first {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Which of the views in `wanted` the server has, with their columns; and settings that are on.
///
/// # Errors
/// When the server refuses, or the connection is lost.
pub fn having(client: &mut Client, wanted: &[&str]) -> Result<Having, ClientError> {
    let mut having = Having::default();
    let list: Vec<_> = wanted.iter().map(|view| format!("'{view}'")).collect();
    let sql = format!(
        "SELECT {MARK} w.view, a.attname FROM unnest(ARRAY[{}]) AS w(view) JOIN pg_attribute a ON a.attrelid = to_regclass(w.view) \
         AND a.attnum > 0 AND NOT a.attisdropped",
        list.join(", ")
    );
    let mut views: FxHashMap<String, Vec<String>> = FxHashMap::default();
    client.each(&sql, &mut |row| {
        if let (Some(view), Some(column)) = (row.text(0), row.text(1)) {
            views.entry(view.to_owned()).or_default().push(column.to_owned());
        }
    })?;
    having.views = views;
    let sql = format!("SELECT {MARK} name FROM pg_settings WHERE setting = 'on'");
    client.each(&sql, &mut |row| having.on.extend(row.text(0).map(str::to_owned)))?;
    Ok(having)
}

/// Where the view of an extension is: `schema.name`; None when it is not installed in this database.
///
/// # Errors
/// When the server refuses, or the connection is lost.
pub fn extension(client: &mut Client, name: &str) -> Result<Option<String>, ClientError> {
    let sql = format!(
        "SELECT {MARK} quote_ident(n.nspname) || '.{name}' FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace \
         WHERE e.extname = '{name}'"
    );
    let mut found = None;
    client.each(&sql, &mut |row| found = row.text(0).map(str::to_owned))?;
    Ok(found)
}
