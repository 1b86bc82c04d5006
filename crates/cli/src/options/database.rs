//! Targets of connections to databases: what the environment and the user's files say where a URL says nothing.

use std::{os::unix::fs::MetadataExt, path::PathBuf};

use anyhow::Context;
use fenxi_wire::{
    login::{Password, Tls},
    target::{Surroundings, Usual},
};

/// What the environment says that a URL may leave open.
pub fn surroundings(url: &str) -> anyhow::Result<Surroundings> {
    let mysql = is_mysql(url);
    let (user, password) = if mysql { ("MYSQL_USER", "MYSQL_PWD") } else { ("PGUSER", "PGPASSWORD") };
    let named = variable("PGPASSFILE").map(PathBuf::from);
    let home = variable("HOME").map(|home| PathBuf::from(home).join(".pgpass")).filter(|path| path.exists());
    let password_file = match named.or(home) {
        Some(path) if !mysql => Some(fs_err::read_to_string(path).context("cannot read the password file")?),
        _ => None,
    };
    let user = variable(user).or_else(|| variable("USER"));
    let password = variable(password).map(Password::new);
    Ok(Surroundings { user, password, password_file, ..Surroundings::default() })
}

/// As [`surroundings`], for observing a server: PGHOST and its like, MySQL's option file, and encryption where the server
/// offers it. A load measures what its URL says and nothing else.
pub fn surroundings_of_observer(url: &str) -> anyhow::Result<Surroundings> {
    let postgres = Usual {
        host: variable("PGHOST"),
        port: variable("PGPORT").and_then(|port| port.parse().ok()),
        database: variable("PGDATABASE"),
        ..Usual::default()
    };
    let option_file = if is_mysql(url) { option_file()? } else { None };
    Ok(Surroundings { postgres, option_file, tls: Tls::Prefer, ..surroundings(url)? })
}

/// `~/.my.cnf`, which holds a password: it is read only if nobody else could.
fn option_file() -> anyhow::Result<Option<String>> {
    let Some(path) = variable("HOME").map(|home| PathBuf::from(home).join(".my.cnf")) else { return Ok(None) };
    let Ok(about) = fs_err::metadata(&path) else { return Ok(None) };
    let is_private = about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o077 == 0;
    if !is_private {
        return Ok(None);
    }
    Ok(Some(fs_err::read_to_string(path).context("cannot read MySQL's option file")?))
}

fn is_mysql(url: &str) -> bool {
    url.starts_with("mysql") || url.starts_with("mariadb")
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
