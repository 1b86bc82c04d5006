//! Targets of connections to databases: what the environment and the user's files set where a URL does not.

use std::{os::unix::fs::MetadataExt, path::PathBuf, sync::Arc};

use anyhow::{Context, bail};
use clap::Args;
use fenxi_db::{Databases, Rate, Server, auto};
use fenxi_source::{Root, Source};
use fenxi_wire::{
    login::{Password, Tls},
    target::{Surroundings, Target, Usual},
};
use rustix::process::geteuid;

use crate::print;

/// Database servers to observe.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Database servers")]
pub struct DbArgs {
    /// Database server to observe, such as `postgres:///shop` or `mysql://mon@db1/`;
    /// `auto`: those that run here; can be repeated
    #[arg(long = "db", value_name = "URL")]
    pub servers: Vec<String>,
    /// Samples of the sessions of each database server per second, 1 to 100
    #[arg(long = "db-rate", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub samples_per_s: u32,
}

impl DbArgs {
    /// These servers, looked at as often as usual.
    pub fn of(servers: Vec<String>) -> DbArgs {
        DbArgs { servers, samples_per_s: Rate::default().samples_per_s }
    }

    /// The named servers and `further` ones as a source; None when there are none. `interval` is that of the recording.
    pub fn source(&self, further: Vec<Server>, interval: f64) -> anyhow::Result<Option<Arc<dyn Source>>> {
        let mut servers = Vec::new();
        for url in self.servers.iter().filter(|url| *url != AUTO) {
            let server = server(url)?;
            if servers.iter().any(|known: &Server| known.is_same(&server)) {
                let name = server.name();
                print::message(&format!(
                    "{name} is observed once: several URLs name it, and the first shows all of its databases"
                ));
            } else {
                servers.push(server);
            }
        }
        let found = if self.servers.iter().any(|url| url == AUTO) { servers_here()? } else { Vec::new() };
        for server in found.into_iter().chain(further) {
            if !servers.iter().any(|known| known.is_same(&server)) {
                servers.push(server);
            }
        }
        let rate = Rate { samples_per_s: self.samples_per_s, poll_s: interval };
        Ok((!servers.is_empty()).then(|| Databases::source(servers, rate)))
    }
}

/// Stands for the servers that run on this host.
pub const AUTO: &str = "auto";

/// The servers that run on this host; where one listens nowhere that could be found, a message says so.
fn servers_here() -> anyhow::Result<Vec<Server>> {
    let found = auto::running(&Root::live());
    for closed in found.iter().filter(|found| found.url.is_none()) {
        print::message(&format!(
            "{} is not observed: it listens nowhere that this user could see; name it by a URL",
            closed.name
        ));
    }
    let servers: Vec<_> = found.into_iter().filter_map(|found| Some(server_here(&found.url?))).collect();
    if servers.is_empty() {
        bail!("no database server was found on this host; name one by a URL, such as `postgres://mon@db1/shop`");
    }
    servers.into_iter().collect()
}

/// The server that a URL names, or the only one that runs on this host.
pub fn server_or_only(url: Option<&str>) -> anyhow::Result<Server> {
    if let Some(url) = url.filter(|url| *url != AUTO) {
        return server(url);
    }
    let mut servers = servers_here()?;
    match (servers.pop(), servers.len()) {
        (Some(server), 0) => Ok(server),
        (last, _) => {
            let names: Vec<_> = servers.iter().chain(&last).map(|server| server.target().to_string()).collect();
            bail!("several database servers run here; name one by a URL: {}", names.join(", "))
        }
    }
}

/// A server of this host, as who runs this program: servers compare the name with that of the process.
fn server_here(url: &str) -> anyhow::Result<Server> {
    let mut around = surroundings_of_observer(url)?;
    let named = variable(if is_mysql(url) { "MYSQL_USER" } else { "PGUSER" });
    let own = fenxi_sys::user::name(geteuid().as_raw());
    around.user = named.or(own).or(around.user);
    Ok(Server::new(&Target::parse(url, &around)?))
}

/// The server that a URL names.
pub fn server(url: &str) -> anyhow::Result<Server> {
    Ok(Server::new(&Target::parse(url, &surroundings_of_observer(url)?)?))
}

/// Reports what the user should know of how a server was logged in to.
pub fn caution(cautions: impl IntoIterator<Item = impl AsRef<str>>) {
    for caution in cautions {
        print::message(&format!("warning: {}", caution.as_ref()));
    }
}

/// Settings of the environment that a URL may leave open.
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

/// As [`surroundings`], for observing a server: PGHOST and its like, MySQL's option file, and encryption, on this machine where
/// the server offers it. A load measures exactly what its URL describes.
pub fn surroundings_of_observer(url: &str) -> anyhow::Result<Surroundings> {
    let mut postgres = Usual {
        host: variable("PGHOST"),
        port: variable("PGPORT").and_then(|port| port.parse().ok()),
        database: variable("PGDATABASE"),
        ..Usual::default()
    };
    if !is_mysql(url) {
        postgres.encrypt(variable("PGSSLMODE").as_deref(), variable("PGCHANNELBINDING").as_deref())?;
    }
    let option_file = if is_mysql(url) { option_file()? } else { None };
    Ok(Surroundings { postgres, option_file, tls: Tls::Prefer, ..surroundings(url)? })
}

/// `~/.my.cnf`, which holds a password: it is read only if no other user could.
fn option_file() -> anyhow::Result<Option<String>> {
    let Some(path) = variable("HOME").map(|home| PathBuf::from(home).join(".my.cnf")) else { return Ok(None) };
    let Ok(about) = fs_err::metadata(&path) else { return Ok(None) };
    let is_private = about.uid() == geteuid().as_raw() && about.mode() & 0o077 == 0;
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
