//! MySQL and MariaDB. MariaDB 10.11 and 11.4 and MySQL 8.0.12 are what was tried; of others, columns and views are known from documentation.

mod activity;
mod kernel;
mod locks;
pub mod memory;
mod metadata;
pub mod own;
mod plans;
mod poller;
mod readings;
mod replication;
pub mod resets;
mod rights;
mod sessions;
mod statements;
mod status;
mod transactions;
mod vitals;

use fenxi_wire::{Dialect, client::ClientError, target::Target};
use rustc_hash::FxHashMap;

use self::poller::hide_setting;
use crate::{
    client::Client,
    observer::{Poller, Sampler},
    product::Product,
    reading::Having,
    server::{Server, ServerError},
};

/// The server, MariaDB too.
#[derive(Debug)]
pub struct Mysql;

impl Product for Mysql {
    fn dialect(&self) -> Dialect {
        Dialect::Mysql
    }

    fn home<'a>(&self, _: &'a Target) -> &'a str {
        HOME
    }

    fn grant(&self, user: &str) -> String {
        format!("GRANT PROCESS ON *.* TO {user}")
    }

    fn settle(
        &self,
        client: &mut Client,
        _: &dyn Fn() -> Result<Client, ClientError>,
    ) -> Result<Option<&'static str>, ClientError> {
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

/// A setting and a schema.
const PERFORMANCE_SCHEMA: &str = "performance_schema";

/// The prefix of each statement, which marks our sessions.
const MARK: &str = crate::mark::MARK;

/// The database that our sessions are in: no other session uses it, so that the server's statistics by database keep
/// our statements apart, where comments are dropped.
pub const HOME: &str = "information_schema";

/// Settings of the poller's own sessions; what a server does not know, or forbids, is left as it is.
const SETTINGS: &[&str] = &[
    "lock_wait_timeout = 1",
    "innodb_lock_wait_timeout = 1",
    // MariaDB, in seconds; MySQL, in milliseconds.
    "max_statement_time = 2",
    "max_execution_time = 2000",
    "long_query_time = 1000",
    "sql_mode = ''",
    "autocommit = 1",
];

/// Sets up a session.
///
/// # Errors
/// When the connection is lost.
fn settle(client: &mut Client) -> Result<(), ClientError> {
    for setting in SETTINGS {
        match client.run(&format!("SET SESSION {setting}")) {
            Err(error) if !error.is_refusal() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Which of the views in `wanted` (`schema.name`) the server has, with their columns; and settings that are on.
///
/// # Errors
/// When the server refuses, or the connection is lost.
fn having(client: &mut Client, wanted: &[&str]) -> Result<Having, ClientError> {
    let pairs: Vec<_> = wanted
        .iter()
        .filter_map(|view| view.split_once('.'))
        .map(|(schema, name)| format!("(TABLE_SCHEMA = '{schema}' AND TABLE_NAME = '{name}')"))
        .collect();
    let sql = format!(
        "{MARK} SELECT lower(TABLE_SCHEMA), TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE {}",
        pairs.join(" OR ")
    );
    let mut views: FxHashMap<String, Vec<String>> = FxHashMap::default();
    client.each(&sql, &mut |row| {
        if let (Some(schema), Some(name), Some(column)) = (row.text(0), row.text(1), row.text(2)) {
            let is = |view: &&&str| view.eq_ignore_ascii_case(&format!("{schema}.{name}"));
            if let Some(view) = wanted.iter().find(is) {
                views.entry((*view).to_owned()).or_default().push(column.to_owned());
            }
        }
    })?;
    let mut on = Vec::new();
    client.each_hidden(&format!("{MARK} SHOW GLOBAL VARIABLES"), &hide_setting, &mut |row| {
        if let (Some(name), Some("ON" | "1")) = (row.text(0), row.text(1)) {
            on.push(name.to_owned());
        }
    })?;
    // Its views are there, and empty, while it is off.
    if !on.iter().any(|name| name == PERFORMANCE_SCHEMA) {
        views.retain(|view, _| !view.starts_with(PERFORMANCE_SCHEMA));
    }
    Ok(Having { views, on })
}
