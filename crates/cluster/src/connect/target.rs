//! Addresses of servers: `sc://HOST:PORT/;use_ssl=true;token=…;user_id=…`, as the protocol's own clients write them.

use std::{fmt, path::PathBuf, str::FromStr};

/// The port of a server that names none.
const PORT: u16 = 15002;

/// Where a server is, and who asks it.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// True if the connection is encrypted, and the server's certificate verified.
    pub tls: bool,
    /// Certificates of the authorities that are trusted; None for the system's.
    pub authority: Option<PathBuf>,
    /// Bearer token.
    pub token: Option<String>,
    /// Who asks.
    pub user: String,
    /// Further parameters, which go with each request as headers.
    pub headers: Vec<(String, String)>,
}

/// An address that is none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{address}` is no address of a cluster: {what}; expected sc://HOST:PORT or sc://HOST:PORT/;use_ssl=true;token=…"
)]
pub struct BadTarget {
    /// The given address, without its parameters: these may be secret.
    address: String,
    /// Description of the error.
    what: String,
}

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Target, BadTarget> {
        let shown = text.split_once(';').map_or(text, |(address, _)| address);
        let bad = |what: &str| BadTarget { address: shown.to_owned(), what: what.to_owned() };
        let rest = text.strip_prefix("sc://").ok_or_else(|| bad("it does not begin with sc://"))?;
        let (address, params) = rest.split_once('/').unwrap_or((rest, ""));
        if address.contains(['@', ';', '?']) {
            return Err(bad("parameters come after a `/`"));
        }
        let params = params.strip_prefix(';').unwrap_or(params);
        let (host, port) = match address.rsplit_once(':').filter(|(host, _)| !host.ends_with(':')) {
            Some((host, port)) if !address.ends_with(']') => {
                (host, port.parse().map_err(|_| bad("its port is no number up to 65535"))?)
            }
            _ => (address, PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(bad("it names no host"));
        }
        let mut target = Target {
            host: host.to_owned(),
            port,
            tls: false,
            authority: None,
            token: None,
            user: String::new(),
            headers: Vec::new(),
        };
        for param in params.split(';').filter(|param| !param.is_empty()) {
            let (key, value) = param.split_once('=').ok_or_else(|| bad("a parameter is not key=value"))?;
            let value = decoded(value).ok_or_else(|| bad("a parameter's %-escape is wrong"))?;
            target.set(key, value).map_err(bad)?;
        }
        if target.token.is_some() && !target.tls && !target.is_local() {
            return Err(bad("a token is only sent encrypted: add use_ssl=true"));
        }
        Ok(target)
    }
}

impl Target {
    fn set(&mut self, key: &str, value: String) -> Result<(), &'static str> {
        match key {
            "use_ssl" => match value.as_str() {
                "true" => self.tls = true,
                "false" => self.tls = false,
                _ => return Err("use_ssl is true or false"),
            },
            "token" => self.token = Some(value),
            "user_id" => self.user = value,
            "sslrootcert" => self.authority = Some(value.into()),
            // Each process has its own session.
            "session_id" => return Err("session_id cannot be chosen"),
            "user_agent" => {}
            _ => {
                let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
                if key.is_empty() || !key.chars().all(fits) {
                    return Err("a parameter's name has only a-z, 0-9, `-`, `_` and `.`");
                }
                self.headers.push((key.to_owned(), value));
            }
        }
        Ok(())
    }

    fn is_local(&self) -> bool {
        matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "::1")
    }
}

impl fmt::Display for Target {
    /// Without what may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "sc://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "sc://{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// `text` without its %-escapes; None when one is wrong.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push((high * 16 + low) as u8);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn host_port_and_parameters_are_read() {
        let target: Target =
            "sc://cluster.example:443/;use_ssl=true;token=a%3Db;user_id=me;x-team=perf".parse().unwrap();
        assert_eq!((target.host.as_str(), target.port, target.tls), ("cluster.example", 443, true));
        assert_eq!((target.token.as_deref(), target.user.as_str()), (Some("a=b"), "me"));
        assert_eq!(target.headers, [("x-team".to_owned(), "perf".to_owned())]);
        // Neither of the two shows a secret.
        assert_eq!(format!("{target} {target:?}"), "sc://cluster.example:443 sc://cluster.example:443");
        let target: Target = "sc://localhost".parse().unwrap();
        assert_eq!((target.host.as_str(), target.port), ("localhost", 15002));
        let target: Target = "sc://[::1]:7/".parse().unwrap();
        assert_eq!((target.host.as_str(), target.port, target.to_string().as_str()), ("::1", 7, "sc://[::1]:7"));
    }

    #[test]
    fn what_is_no_address_is_said_without_its_parameters() {
        for (text, what) in [
            ("localhost:1", "does not begin"),
            ("sc://", "names no host"),
            ("sc://h:99999", "no number"),
            ("sc://h;token=secret", "after a `/`"),
            ("sc://h/;secret", "not key=value"),
            ("sc://h/;token=secret", "only sent encrypted"),
            ("sc://h/;use_ssl=secret", "true or false"),
            ("sc://h/;session_id=secret", "cannot be chosen"),
            ("sc://h/;a%20b=secret", "only a-z"),
            ("sc://h/;token=%zz", "escape"),
        ] {
            let error = text.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains(what) && !error.contains("secret"), "{error}");
        }
        assert!("sc://localhost/;token=x".parse::<Target>().is_ok());
    }
}
