//! Target of a load: a URL, with credentials from the environment and PostgreSQL's password file.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    sync::Arc,
};

use rustls::{ClientConfig, pki_types::ServerName};
use thiserror::Error;

use crate::{
    login::{Login, Password, Tls},
    tls,
    wire::Dialect,
};

/// What a URL leaves open, read by the caller.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Name of the user who runs the program.
    pub user: Option<String>,
    /// What PGPASSWORD or MYSQL_PWD says.
    pub password: Option<Password>,
    /// Text of PostgreSQL's password file.
    pub password_file: Option<String>,
}

/// Why a target cannot be used.
#[derive(Debug, Error)]
pub enum TargetError {
    /// The URL is none of ours.
    #[error("`{url}`: {what}")]
    Url {
        /// As it was given, without a password.
        url: String,
        /// What is wrong, and what it can be.
        what: String,
    },
    /// A host without an address.
    #[error("{host} has no address: {source}")]
    Resolve {
        /// Its name and port.
        host: String,
        /// Why.
        source: std::io::Error,
    },
    /// Encryption that cannot be set up.
    #[error("{0}")]
    Tls(#[from] tls::TlsError),
}

/// A place that can be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// An address and port.
    Tcp(SocketAddr),
    /// A socket of this host.
    Unix(PathBuf),
}

/// A server, a user and a database.
#[derive(Clone, Debug)]
pub struct Target {
    /// Who logs in.
    pub login: Arc<Login>,
    /// Name or address of the host, or the path of its socket.
    pub host: String,
    /// Port, also part of the name of PostgreSQL's socket.
    pub port: u16,
    socket: Option<PathBuf>,
    /// How connections are encrypted, and for which name; None when they are not.
    pub(crate) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

/// The parts of a URL, decoded.
#[derive(Debug, Default)]
struct Parts {
    user: Option<String>,
    password: Option<String>,
    host: String,
    port: Option<u16>,
    database: Option<String>,
    parameters: Vec<(String, String)>,
}

impl Target {
    /// Reads a URL: `postgres://user:password@host:port/database?sslmode=require`, `mysql://…?ssl-mode=require`.
    ///
    /// Without a host it is the server's socket on this host. `host=/directory` (PostgreSQL) and `socket=/path` name it.
    ///
    /// # Errors
    /// When it is no such URL; the message says what it can be.
    pub fn parse(url: &str, around: &Surroundings) -> Result<Target, TargetError> {
        let wrong = |what: String| TargetError::Url { url: without_password(url), what };
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| wrong("not a database URL; it begins with `postgres://` or `mysql://`".to_owned()))?;
        let dialect = match scheme {
            "postgres" | "postgresql" => Dialect::Postgres,
            "mysql" | "mariadb" => Dialect::Mysql,
            _ => return Err(wrong("unknown protocol; known are `postgres://` and `mysql://`".to_owned())),
        };
        let mut parts = split(rest).map_err(&wrong)?;
        let mut socket = None;
        let mut mode = Tls::Disable;
        let mut authority = None;
        for (key, value) in std::mem::take(&mut parts.parameters) {
            match (dialect, key.as_str()) {
                (Dialect::Postgres, "sslmode") | (Dialect::Mysql, "ssl-mode") => {
                    mode = match value.to_ascii_lowercase().replace('_', "-").as_str() {
                        "disable" | "disabled" => Tls::Disable,
                        "require" | "required" => Tls::Require,
                        "verify-full" | "verify-identity" => Tls::VerifyFull,
                        _ => return Err(wrong(format!("`{key}` is {value}; it can be disable, require, verify-full"))),
                    }
                }
                (Dialect::Postgres, "sslrootcert") | (Dialect::Mysql, "ssl-ca") => {
                    authority = Some(PathBuf::from(value))
                }
                (Dialect::Postgres, "host") => parts.host = value,
                (Dialect::Mysql, "socket") => socket = Some(PathBuf::from(value)),
                (_, "port") => parts.port = Some(value.parse().map_err(|_| wrong(format!("`{value}` is not a port")))?),
                (_, "user") => parts.user = Some(value),
                (_, "password") => parts.password = Some(value),
                (_, "dbname") => parts.database = Some(value),
                _ => {
                    let known = match dialect {
                        Dialect::Postgres => "sslmode, sslrootcert, host, port, user, password, dbname",
                        Dialect::Mysql => "ssl-mode, ssl-ca, socket, port, user, password, dbname",
                    };
                    return Err(wrong(format!("unknown key `{key}`; known are {known}")));
                }
            }
        }
        let user = parts.user.clone().or_else(|| around.user.clone());
        let user = user.ok_or_else(|| wrong("no user is given".to_owned()))?;
        let port = parts.port.unwrap_or(match dialect {
            Dialect::Postgres => 5432,
            Dialect::Mysql => 3306,
        });
        let socket = socket.or_else(|| socket_path(dialect, &parts.host, port));
        let mut login = Login { tls: mode, local: socket.is_some(), ..Login::new(dialect, &user) };
        login.database =
            parts.database.unwrap_or_else(|| if dialect == Dialect::Postgres { user } else { String::new() });
        let host = if socket.is_some() && parts.host.is_empty() { "localhost".to_owned() } else { parts.host };
        login.password = parts.password.map(Password::new).or_else(|| around.password.clone()).or_else(|| {
            let file = around.password_file.as_deref().filter(|_| dialect == Dialect::Postgres)?;
            from_file(file, &host, port, &login.database, &login.user)
        });
        let tls = match mode {
            Tls::Disable => None,
            _ if login.local => None,
            _ => Some(tls::client(mode, authority.as_deref(), &host)?),
        };
        Ok(Target { login: Arc::new(login), host, port, socket, tls })
    }

    /// Addresses to try, in the order in which the resolver gives them.
    ///
    /// # Errors
    /// When the host has none.
    pub fn endpoints(&self) -> Result<Vec<Endpoint>, TargetError> {
        if let Some(path) = &self.socket {
            return Ok(vec![Endpoint::Unix(path.clone())]);
        }
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let found =
            found.map_err(|source| TargetError::Resolve { host: format!("{}:{}", self.host, self.port), source })?;
        Ok(found.map(Endpoint::Tcp).collect())
    }

    /// The same target with or without the permission to send data of a load.
    #[must_use]
    pub fn with_local_files(&self, local_files: bool) -> Target {
        let login = Login {
            password: self.login.password.clone(),
            database: self.login.database.clone(),
            tls: self.login.tls,
            local: self.login.local,
            local_files,
            ..Login::new(self.login.dialect, &self.login.user)
        };
        Target { login: Arc::new(login), ..self.clone() }
    }
}

/// The target for messages, without the password.
impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let login = &self.login;
        let place = match &self.socket {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", self.host, self.port),
        };
        write!(f, "{}://{}@{place}/{}", login.dialect, login.user, login.database)
    }
}

fn split(rest: &str) -> Result<Parts, String> {
    let mut parts = Parts::default();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or_else(|| format!("`{pair}` is no `key=value`"))?;
        parts.parameters.push((decoded(key)?, decoded(value)?));
    }
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    parts.database = Some(decoded(database)?).filter(|name| !name.is_empty());
    let (who, place) = authority.rsplit_once('@').map_or((None, authority), |(who, place)| (Some(who), place));
    if let Some(who) = who {
        let (user, password) = who.split_once(':').map_or((who, None), |(user, password)| (user, Some(password)));
        parts.user = Some(decoded(user)?).filter(|name| !name.is_empty());
        parts.password = password.map(decoded).transpose()?;
    }
    let (host, port) = match place.strip_prefix('[').and_then(|v6| v6.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    parts.host = decoded(host)?;
    parts.port = match port {
        Some(port) => Some(port.parse().map_err(|_| format!("`{port}` is not a port"))?),
        None => None,
    };
    Ok(parts)
}

/// Text with its `%xx` resolved.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = after.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        let byte = digits.and_then(|d| u8::from_str_radix(d, 16).ok());
        bytes
            .push(byte.ok_or_else(|| "a `%` is not followed by two hexadecimal digits; write it as `%25`".to_owned())?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// The path of the socket when the host is none over the network.
fn socket_path(dialect: Dialect, host: &str, port: u16) -> Option<PathBuf> {
    match dialect {
        Dialect::Postgres if host.is_empty() => Some(format!("/var/run/postgresql/.s.PGSQL.{port}").into()),
        Dialect::Postgres if host.starts_with('/') => Some(format!("{host}/.s.PGSQL.{port}").into()),
        Dialect::Mysql if host.is_empty() => Some("/run/mysqld/mysqld.sock".into()),
        Dialect::Mysql if host.starts_with('/') => Some(host.into()),
        _ => None,
    }
}

/// The password of the first line of a password file that fits: `host:port:database:user:password`, `*` for any.
fn from_file(text: &str, host: &str, port: u16, database: &str, user: &str) -> Option<Password> {
    let port = port.to_string();
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = unescaped(line);
        let [h, p, d, u, password] = fields.as_slice() else { return None };
        let fits = |field: &str, wanted: &str| field == "*" || field == wanted;
        (fits(h, host) && fits(p, &port) && fits(d, database) && fits(u, user)).then(|| Password::new(password.clone()))
    })
}

/// The five fields of a line, without the backslashes before `:` and `\`; the last one has all the rest.
fn unescaped(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let last = fields.len() - 1;
        match c {
            ':' if last < 4 => fields.push(String::new()),
            '\\' => fields[last].extend(chars.next()),
            c => fields[last].push(c),
        }
    }
    fields
}

fn without_password(url: &str) -> String {
    let Some((who, place)) = url.rsplit_once('@') else { return url.to_owned() };
    match who.split_once("://").and_then(|(scheme, who)| Some((scheme, who.split_once(':')?.0))) {
        Some((scheme, user)) => format!("{scheme}://{user}:***@{place}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Target {
        Target::parse(url, &Surroundings { user: Some("me".into()), ..Surroundings::default() }).unwrap()
    }

    fn refused(url: &str) -> String {
        Target::parse(url, &Surroundings::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_url_says_everything_or_leaves_it_to_the_surroundings() {
        let target = parsed("postgres://bob:p%40ss@db.example:6432/shop");
        assert_eq!(target.to_string(), "postgres://bob@db.example:6432/shop");
        assert_eq!(target.login.password.as_ref().unwrap().reveal(), "p@ss");
        assert_eq!(parsed("postgresql://[::1]").to_string(), "postgres://me@::1:5432/me");
        assert_eq!(parsed("mysql://127.0.0.1/x").to_string(), "mysql://me@127.0.0.1:3306/x");
        assert_eq!(parsed("postgres:///x").to_string(), "postgres://me@/var/run/postgresql/.s.PGSQL.5432/x");
        assert_eq!(parsed("postgres://%2Ftmp:1/x?user=u").to_string(), "postgres://u@/tmp/.s.PGSQL.1/x");
        assert_eq!(parsed("mariadb://root@/x?socket=/tmp/my.sock").to_string(), "mysql://root@/tmp/my.sock/x");
        assert_eq!(parsed("mysql://127.0.0.1:7").endpoints().unwrap(), [Endpoint::Tcp("127.0.0.1:7".parse().unwrap())]);
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said_and_never_its_password() {
        assert!(refused("http://x").contains("`postgres://` and `mysql://`"));
        assert!(refused("nothing").contains("begins with"));
        assert!(refused("postgres://u:secret@h:x/").starts_with("`postgres://u:***@h:x/`: `x` is not a port"));
        assert!(refused("postgres://u@h/?sslmode=prefer").contains("disable, require, verify-full"));
        assert!(refused("mysql://u@h/?sslmode=require").contains("ssl-mode, ssl-ca"));
        assert!(refused("postgres://u%4@h/").contains("%25"));
        assert!(refused("postgres://h/").contains("no user"));
    }

    #[test]
    fn the_first_line_of_the_password_file_that_fits_gives_the_password() {
        let file = "# comment\nother:*:*:*:no\n*:5432:shop:bob:a\\:b:c\n*:*:*:*:last\n";
        let around = Surroundings { password_file: Some(file.into()), ..Surroundings::default() };
        let password = |url| Target::parse(url, &around).unwrap().login.password.as_ref().unwrap().reveal().to_owned();
        assert_eq!(password("postgres://bob@h/shop"), "a:b:c");
        assert_eq!(password("postgres://ann@h/shop"), "last");
        assert!(Target::parse("mysql://ann@h/shop", &around).unwrap().login.password.is_none());
    }

    #[test]
    fn a_password_is_in_no_debug_output() {
        assert!(!format!("{:?}", parsed("postgres://u:hidden@h/").login).contains("hidden"));
    }
}
