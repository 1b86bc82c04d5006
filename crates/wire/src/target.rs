//! Target of connections: a URL, with credentials from the environment, PostgreSQL's password file and MySQL's option file.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    sync::Arc,
};

use rustls::{ClientConfig, pki_types::ServerName};
use thiserror::Error;

mod url;

use self::url::{Parts, without_password};
use crate::{
    Dialect,
    login::{Binding, Login, Password, Reach, Tls},
    tls,
};

/// Defaults for parts that a URL omits, read by the caller.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Name of the user who runs the program.
    pub user: Option<String>,
    /// The value of PGPASSWORD or MYSQL_PWD.
    pub password: Option<Password>,
    /// Text of PostgreSQL's password file.
    pub password_file: Option<String>,
    /// Text of MySQL's option file, whose group `[client]` is read.
    pub option_file: Option<String>,
    /// PGHOST, PGPORT, PGUSER, PGDATABASE, PGSSLMODE; they are the defaults of `postgres://`.
    pub postgres: Usual,
    /// The default encryption. [`Tls::Prefer`] holds on this machine only, and is [`Tls::Require`] for other
    /// hosts: nothing goes over a network unencrypted because a server happens to offer no encryption.
    pub tls: Tls,
}

/// Parts of a target that hold where its URL leaves them open.
#[derive(Clone, Debug, Default)]
pub struct Usual {
    /// Host, or folder of the socket.
    pub host: Option<String>,
    /// Port.
    pub port: Option<u16>,
    /// User.
    pub user: Option<String>,
    /// Database.
    pub database: Option<String>,
    /// The socket's path (MySQL).
    pub socket: Option<PathBuf>,
    /// Password (MySQL's option file).
    pub password: Option<Password>,
    /// Encryption.
    pub tls: Option<Tls>,
    /// Channel binding (PostgreSQL).
    pub binding: Option<Binding>,
}

impl Usual {
    /// Takes what PGSSLMODE and PGCHANNELBINDING say.
    ///
    /// # Errors
    /// When they are no words of libpq: rather no connection than another one than was meant.
    pub fn encrypt(&mut self, mode: Option<&str>, binding: Option<&str>) -> Result<(), TargetError> {
        let wrong = |variable: &str| {
            let variable = variable.to_owned();
            |what| TargetError::Variable { variable, what }
        };
        self.tls = mode.map(|text| url::mode("sslmode", text)).transpose().map_err(wrong("PGSSLMODE"))?;
        self.binding = binding.map(url::binding).transpose().map_err(wrong("PGCHANNELBINDING"))?;
        Ok(())
    }

    /// The group `[client]` of MySQL's option file: `key=value` lines, `#` and `;` begin comments.
    fn of_option_file(text: &str) -> Usual {
        let mut usual = Usual::default();
        let mut in_group = false;
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';', '!'])) {
            if line.starts_with('[') {
                in_group = line == "[client]";
                continue;
            }
            let Some((key, value)) = line.split_once('=').filter(|_| in_group) else { continue };
            let value = value.trim();
            let quoted = ['"', '\''].iter().find_map(|q| value.strip_prefix(*q)?.strip_suffix(*q));
            let value = quoted.unwrap_or(value).to_owned();
            match key.trim() {
                "host" => usual.host = Some(value),
                "port" => usual.port = value.parse().ok(),
                "user" => usual.user = Some(value),
                "socket" => usual.socket = Some(value.into()),
                "password" => usual.password = Some(Password::new(value)),
                "ssl-mode" | "ssl_mode" => usual.tls = url::mode("ssl-mode", &value).ok(),
                _ => {}
            }
        }
        usual
    }
}

/// Why a target cannot be used.
#[derive(Debug, Error)]
pub enum TargetError {
    /// The URL is none of ours.
    #[error("`{url}`: {what}")]
    Url {
        /// As it was given, without a password.
        url: String,
        /// The fault, and the accepted values.
        what: String,
    },
    /// A variable of the environment with an unknown value.
    #[error("{variable}: {what}")]
    Variable {
        /// Its name.
        variable: String,
        /// The fault, and the accepted values.
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

/// Returns true if a URL contains a password: then it is not to be kept.
pub fn has_password(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest.split(['/', '?']).next().unwrap_or(rest));
    let in_authority = authority.rsplit_once('@').is_some_and(|(who, _)| who.contains(':'));
    let query = url.split_once('?').map_or("", |(_, query)| query);
    in_authority || query.split('&').any(|pair| pair.contains('=') && !url::is_shown(pair))
}

/// A place that can be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// An address and port.
    Tcp(SocketAddr),
    /// A socket of this host.
    Unix(PathBuf),
}

impl Endpoint {
    /// Who could listen to a connection to it.
    pub fn reach(&self) -> Reach {
        match self {
            Endpoint::Unix(_) => Reach::Socket,
            Endpoint::Tcp(address) if address.ip().to_canonical().is_loopback() => Reach::Loopback,
            Endpoint::Tcp(_) => Reach::Network,
        }
    }
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

impl Target {
    /// Reads a URL: `postgres://user:password@host:port/database?sslmode=require`, `mysql://…?ssl-mode=require`.
    ///
    /// Without a host it is the server's socket on this host. `host=/directory` (PostgreSQL) and `socket=/path` name it.
    ///
    /// # Errors
    /// When it is no such URL; the message has the valid forms.
    pub fn parse(url: &str, around: &Surroundings) -> Result<Target, TargetError> {
        let wrong = |what: String| TargetError::Url { url: without_password(url), what };
        let mut parts = Parts::parse(url).map_err(wrong)?;
        let dialect = parts.dialect;
        let usual = match dialect {
            Dialect::Postgres => around.postgres.clone(),
            Dialect::Mysql => around.option_file.as_deref().map(Usual::of_option_file).unwrap_or_default(),
        };
        let mut socket = parts.socket;
        if parts.host.is_empty() && socket.is_none() {
            socket = usual.socket;
            parts.host = usual.host.filter(|_| socket.is_none()).unwrap_or_default();
        }
        let user = parts.user.or(usual.user).or_else(|| around.user.clone());
        let user = user.ok_or_else(|| wrong("no user is given".to_owned()))?;
        let port = parts.port.or(usual.port).unwrap_or(match dialect {
            Dialect::Postgres => 5432,
            Dialect::Mysql => 3306,
        });
        let socket = socket.or_else(|| socket_path(dialect, &parts.host, port));
        let message = parts.tls.or(usual.tls);
        let mode = message.unwrap_or(around.tls);
        let mut login = Login {
            tls: mode,
            agreed: message.is_some(),
            reach: if socket.is_some() { Reach::Socket } else { Reach::Network },
            binding: parts.binding.or(usual.binding).unwrap_or_default(),
            ..Login::new(dialect, &user)
        };
        let unnamed = if dialect == Dialect::Postgres { user } else { String::new() };
        login.database = parts.database.or(usual.database).unwrap_or(unnamed);
        let host = if socket.is_some() && parts.host.is_empty() { "localhost".to_owned() } else { parts.host };
        let given = parts.password.map(Password::new).or_else(|| around.password.clone()).or(usual.password);
        login.password = given.or_else(|| {
            let file = around.password_file.as_deref().filter(|_| dialect == Dialect::Postgres)?;
            from_file(file, &host, port, &login.database, &login.user)
        });
        let tls = match mode {
            Tls::Disable => None,
            _ if socket.is_some() => None,
            mode => Some(tls::client(mode, &parts.files, &host)?),
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

    /// The target as one of its addresses is connected to: how it is encrypted, and who could listen.
    #[must_use]
    pub fn at(&self, endpoint: &Endpoint) -> Target {
        self.with(|login| {
            login.reach = endpoint.reach();
            login.tls = match (login.reach, login.tls) {
                (Reach::Socket, _) => Tls::Disable,
                (Reach::Network, Tls::Prefer) if !login.agreed => Tls::Require,
                (_, mode) => mode,
            };
        })
    }

    /// The same target with or without the permission to send data of a load.
    #[must_use]
    pub fn with_local_files(&self, local_files: bool) -> Target {
        self.with(|login| login.local_files = local_files)
    }

    /// The same target for an application of this name.
    #[must_use]
    pub fn for_application(&self, name: &str) -> Target {
        self.with(|login| login.application = name.to_owned())
    }

    /// The same target without encryption.
    pub(crate) fn in_clear(&self) -> Target {
        Target { tls: None, ..self.with(|login| login.tls = Tls::Disable) }
    }

    /// Another database of the same server.
    #[must_use]
    pub fn to_database(&self, name: &str) -> Target {
        self.with(|login| login.database = name.to_owned())
    }

    fn with(&self, change: impl FnOnce(&mut Login)) -> Target {
        let mut login = Login {
            password: self.login.password.clone(),
            database: self.login.database.clone(),
            tls: self.login.tls,
            agreed: self.login.agreed,
            reach: self.login.reach,
            binding: self.login.binding,
            salted: Arc::clone(&self.login.salted),
            application: self.login.application.clone(),
            local_files: self.login.local_files,
            ..Login::new(self.login.dialect, &self.login.user)
        };
        change(&mut login);
        Target { login: Arc::new(login), ..self.clone() }
    }

    /// Where the server is, without user and database: `host:port`, or the path of its socket.
    pub fn server(&self) -> String {
        match &self.socket {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", self.host, self.port),
        }
    }
}

/// The target for messages, without the password.
impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let login = &self.login;
        write!(f, "{}://{}@{}/{}", login.dialect, login.user, self.server(), login.database)
    }
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
        assert!(refused("postgres://u:se/cret@h/x").ends_with("written as `%2F`"));
        for url in [
            "postgres://u:se/cret@h/x",
            "postgres://u@h/?password=secret&a=b",
            "mysql://u:secret@h/?x",
            "mysql://u:se?cret@h/",
            "postgres://u@h/?passwd=secret",
            "postgres://u@h/?sslpassword=secret&p%61sswd=secret",
            "postgres://u@h/?secret",
            "mysql://u@h/?password=a&secret",
            "mysql://u@h/?token=secret&pwd=secret",
        ] {
            assert!(!refused(url).contains("cret"), "{}", refused(url));
        }
        assert!(refused("postgres://u@h/?passwd=x").contains("unknown key `passwd`"));
        assert!(refused("postgres://u@h/?channel_binding=yes").contains("disable, prefer, require"));
        assert!(
            refused("postgres://u@h/?sslmode=maybe")
                .contains("disable, allow, prefer, require, verify-ca, verify-full")
        );
        assert!(refused("mysql://u@h/?sslmode=require").contains("ssl-mode, ssl-ca"));
        assert!(refused("mysql://u@h/?ssl-cert=/x").contains("given together"));
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
    fn what_the_url_leaves_open_the_environment_and_the_option_file_say() {
        let option_file =
            "[mysqld]\nuser=mysql\n[client]\n# mine\nuser = mon\npassword=\"p w\"\nsocket=/tmp/m.sock\n[x]\nuser=y\n";
        let postgres =
            Usual { host: Some("db1".into()), port: Some(7), database: Some("shop".into()), ..Usual::default() };
        let around = Surroundings {
            user: Some("me".into()),
            option_file: Some(option_file.into()),
            postgres,
            ..Surroundings::default()
        };
        let target = |url| Target::parse(url, &around).unwrap();
        assert_eq!(target("postgres://").to_string(), "postgres://me@db1:7/shop");
        assert_eq!(target("postgres://db2/x").to_string(), "postgres://me@db2:7/x");
        let mysql = target("mysql:///x");
        assert_eq!(mysql.to_string(), "mysql://mon@/tmp/m.sock/x");
        assert_eq!(mysql.login.password.as_ref().unwrap().reveal(), "p w");
        assert_eq!(target("mysql://bob@h/x").to_string(), "mysql://bob@h:3306/x");
        assert_eq!(mysql.to_database("y").server(), "/tmp/m.sock");
        assert_eq!(mysql.for_application("a").login.application, "a");
    }

    #[test]
    fn other_hosts_are_encrypted_unless_somebody_says_otherwise() {
        let endpoint = |address: &str| Endpoint::Tcp(address.parse().unwrap());
        let (near, far) = (endpoint("127.0.0.2:5432"), endpoint("192.0.2.2:5432"));
        let around = Surroundings { user: Some("me".into()), tls: Tls::Prefer, ..Surroundings::default() };
        let mode = |url: &str, endpoint: &Endpoint| Target::parse(url, &around).unwrap().at(endpoint).login.tls;
        for (plain, key) in [("postgres://db1/x", "sslmode"), ("mysql://db1/x", "ssl-mode")] {
            assert_eq!((mode(plain, &near), mode(plain, &far)), (Tls::Prefer, Tls::Require));
            let message = |word: &str| mode(&format!("{plain}?{key}={word}"), &far);
            assert_eq!(
                [message("disable"), message("prefer"), message("allow")],
                [Tls::Disable, Tls::Prefer, Tls::Prefer]
            );
            assert_eq!(message("require"), Tls::Require);
        }
        // These read files of the system.
        let words =
            ["verify-ca", "verify-full", "VERIFY_CA", "VERIFY_IDENTITY"].map(|word| url::mode("", word).unwrap());
        assert_eq!(words, [Tls::VerifyCa, Tls::VerifyFull, Tls::VerifyCa, Tls::VerifyFull]);
        let mapped = endpoint("[::ffff:127.0.0.1]:1");
        assert_eq!([near.reach(), mapped.reach(), far.reach()], [Reach::Loopback, Reach::Loopback, Reach::Network]);
        let socket = Target::parse("postgres:///x?sslmode=require", &around).unwrap();
        assert_eq!(socket.at(&socket.endpoints().unwrap()[0]).login.tls, Tls::Disable);
    }

    #[test]
    fn the_environment_says_how_to_encrypt_in_libpqs_words() {
        let mut usual = Usual::default();
        usual.encrypt(Some("require"), Some("require")).unwrap();
        let around = Surroundings { user: Some("me".into()), postgres: usual.clone(), ..Surroundings::default() };
        let login = |url| Target::parse(url, &around).unwrap().login;
        assert_eq!((login("postgres://h/x").tls, login("postgres://h/x").binding), (Tls::Require, Binding::Require));
        assert_eq!(login("postgres://h/x?sslmode=disable&channel_binding=disable").tls, Tls::Disable);
        let wrong = usual.encrypt(Some("yes"), None).unwrap_err().to_string();
        assert!(wrong.starts_with("PGSSLMODE: `sslmode` is yes"), "{wrong}");
        assert!(usual.encrypt(None, Some("x")).unwrap_err().to_string().contains("PGCHANNELBINDING"));
    }

    #[test]
    fn a_url_with_a_password_is_known() {
        assert!(has_password("postgres://u:p@h/x") && has_password("mysql://h/x?password=p"));
        assert!(has_password("mysql://h/x?passwd=p") && !has_password("mysql://h/x?ssl-mode=require&ssl-ca=/x"));
        assert!(!has_password("postgres://u@h:5432/x") && !has_password("postgres:///x?user=u") && !has_password("x"));
    }

    #[test]
    fn a_password_is_in_no_debug_output() {
        assert!(!format!("{:?}", parsed("postgres://u:hidden@h/").login).contains("hidden"));
    }
}
