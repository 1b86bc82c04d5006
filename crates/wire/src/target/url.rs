//! URLs of databases: `postgres://user:password@host:port/database?key=value`, every part of which can be left out.

use std::path::PathBuf;

use crate::{
    Dialect,
    login::{Binding, Tls},
    safety::mode_key,
    tls,
};

/// The parts of a URL, decoded.
#[derive(Debug)]
pub(super) struct Parts {
    pub dialect: Dialect,
    pub user: Option<String>,
    pub password: Option<String>,
    pub host: String,
    pub port: Option<u16>,
    pub database: Option<String>,
    pub socket: Option<PathBuf>,
    /// Its encryption parameter.
    pub tls: Option<Tls>,
    pub binding: Option<Binding>,
    pub files: tls::Files,
}

impl Parts {
    /// Reads a URL.
    ///
    /// # Errors
    /// In words: what is wrong, and what it can be.
    pub fn parse(url: &str) -> Result<Parts, String> {
        let unknown = "not a database URL; it begins with `postgres://` or `mysql://`";
        let (scheme, rest) = url.split_once("://").ok_or_else(|| unknown.to_owned())?;
        let dialect = match scheme {
            "postgres" | "postgresql" => Dialect::Postgres,
            "mysql" | "mariadb" => Dialect::Mysql,
            _ => return Err("unknown protocol; known are `postgres://` and `mysql://`".to_owned()),
        };
        let mut parts = Parts {
            dialect,
            user: None,
            password: None,
            host: String::new(),
            port: None,
            database: None,
            socket: None,
            tls: None,
            binding: None,
            files: tls::Files::default(),
        };
        let (mut certificate, mut private_key) = (None, None);
        for (key, value) in split(rest, &mut parts)? {
            match (dialect, key.as_str()) {
                (_, name) if name == mode_key(dialect) => parts.tls = Some(mode(&key, &value)?),
                (Dialect::Postgres, "channel_binding") => parts.binding = Some(binding(&value)?),
                (Dialect::Postgres, "sslrootcert") | (Dialect::Mysql, "ssl-ca") => {
                    parts.files.authority = Some(value.into());
                }
                (Dialect::Postgres, "sslcert") | (Dialect::Mysql, "ssl-cert") => certificate = Some(value.into()),
                (Dialect::Postgres, "sslkey") | (Dialect::Mysql, "ssl-key") => private_key = Some(value.into()),
                (Dialect::Postgres, "host") => parts.host = value,
                (Dialect::Mysql, "socket") => parts.socket = Some(value.into()),
                (_, "port") => parts.port = Some(value.parse().map_err(|_| format!("`{value}` is not a port"))?),
                (_, "user") => parts.user = Some(value),
                (_, "password") => parts.password = Some(value),
                (_, "dbname") => parts.database = Some(value),
                _ => {
                    let own = match dialect {
                        Dialect::Postgres => "sslmode, channel_binding, sslrootcert, sslcert, sslkey, host",
                        Dialect::Mysql => "ssl-mode, ssl-ca, ssl-cert, ssl-key, socket",
                    };
                    return Err(format!("unknown key `{key}`; known are {own}, port, user, password, dbname"));
                }
            }
        }
        parts.files.certificate = match (certificate, private_key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err("a client's certificate and its private key are given together".to_owned()),
        };
        Ok(parts)
    }
}

/// A URL's encryption parameter, in the words of both servers' own clients. `allow`, which in libpq tries without
/// encryption first, is taken as `prefer`.
pub(super) fn mode(key: &str, value: &str) -> Result<Tls, String> {
    match value.to_ascii_lowercase().replace('_', "-").as_str() {
        "disable" | "disabled" => Ok(Tls::Disable),
        "allow" | "prefer" | "preferred" => Ok(Tls::Prefer),
        "require" | "required" => Ok(Tls::Require),
        "verify-ca" => Ok(Tls::VerifyCa),
        "verify-full" | "verify-identity" => Ok(Tls::VerifyFull),
        _ => Err(format!("`{key}` is {value}; it can be disable, allow, prefer, require, verify-ca, verify-full")),
    }
}

/// A URL's channel binding parameter, in libpq's words.
pub(super) fn binding(value: &str) -> Result<Binding, String> {
    match value {
        "disable" => Ok(Binding::Disable),
        "prefer" => Ok(Binding::Prefer),
        "require" => Ok(Binding::Require),
        _ => Err(format!("`channel_binding` is {value}; it can be disable, prefer, require")),
    }
}

/// Parameters whose values messages may show. All others are hidden, misspelled ones too: `passwd`, `sslpassword`.
const SHOWN: &[&str] = &[
    "sslmode",
    "channel_binding",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "ssl-mode",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "socket",
    "port",
    "user",
    "dbname",
];

/// Whether the value of a parameter stays in messages, and a URL with it may be kept.
pub(super) fn is_shown(pair: &str) -> bool {
    pair.split_once('=').is_some_and(|(key, _)| SHOWN.contains(&key))
}

/// The parts after the scheme: authority, database, and the parameters.
fn split(rest: &str, parts: &mut Parts) -> Result<Vec<(String, String)>, String> {
    let mut parameters = Vec::new();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        // It is not shown: it may be part of a password with a `?` or `&` in it.
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            "what follows `?` is `key=value`, with `&` between; in a password, `?` and `&` are written as `%3F` and `%26`"
                .to_owned()
        })?;
        parameters.push((decoded(key)?, decoded(value)?));
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
        // This part may be the begin of a password.
        Some(port) if place == authority && database.contains('@') && port.parse::<u16>().is_err() => {
            return Err("a `/` in a password is written as `%2F`".to_owned());
        }
        Some(port) => Some(port.parse().map_err(|_| format!("`{port}` is not a port"))?),
        None => None,
    };
    Ok(parameters)
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

/// A URL for messages.
pub(super) fn without_password(url: &str) -> String {
    let parts = url.rsplit_once('@').and_then(|(who, place)| {
        let (scheme, who) = who.split_once("://")?;
        Some((scheme, who.split_once(':')?.0, place))
    });
    let shown = parts.map_or_else(|| url.to_owned(), |(scheme, user, place)| format!("{scheme}://{user}:***@{place}"));
    let Some((place, query)) = shown.split_once('?') else { return shown };
    let hide = |pair: &str| match pair.split_once('=') {
        Some((key, _)) if !is_shown(pair) => format!("{key}=***"),
        None => "***".to_owned(),
        _ => pair.to_owned(),
    };
    format!("{place}?{}", query.split('&').map(hide).collect::<Vec<_>>().join("&"))
}
