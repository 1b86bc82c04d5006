//! Credentials of connections: resolved once from the URL, the password file and the environment.

use std::{fmt, sync::Mutex};

use crate::Dialect;

/// A password, which is shown by no message.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Password {
        Password(text.into())
    }

    /// The password itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "***" })
    }
}

/// Whether the connection is encrypted, and how much of the server's certificate is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// No encryption. It is the default because encryption changes what is measured.
    #[default]
    Disable,
    /// Encrypted if the server offers it, whoever answers.
    Prefer,
    /// Encrypted, whoever answers.
    Require,
    /// Encrypted, and the certificate is for the host and signed by an authority that is trusted.
    VerifyFull,
}

/// What a connection says when it begins.
#[derive(Debug)]
pub struct Login {
    /// Which protocol.
    pub dialect: Dialect,
    /// The user.
    pub user: String,
    /// The user's password, if one is known.
    pub password: Option<Password>,
    /// The database.
    pub database: String,
    /// Encryption.
    pub tls: Tls,
    /// Whether nobody else can listen: a Unix socket.
    pub local: bool,
    /// Name of the application, as the server lists it beside the session.
    pub application: String,
    /// Whether the server may ask for data of a load (LOAD DATA LOCAL). It is asked for only while loading.
    pub local_files: bool,
    /// The last password that was salted: the server gives the same salt each time, and salting takes
    /// thousands of hashes, which ten thousand connections would pay each.
    pub(crate) salted: Mutex<Option<Salted>>,
}

impl Login {
    /// A login without a password, encryption or a database.
    pub fn new(dialect: Dialect, user: &str) -> Login {
        Login {
            dialect,
            user: user.to_owned(),
            password: None,
            database: String::new(),
            tls: Tls::Disable,
            local: false,
            application: "fenxi".to_owned(),
            local_files: false,
            salted: Mutex::new(None),
        }
    }
}

/// A salted password and what it was salted with.
#[derive(Clone)]
pub(crate) struct Salted {
    pub salt: Vec<u8>,
    pub rounds: u32,
    pub key: [u8; 32],
}

impl fmt::Debug for Salted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "salted {} times", self.rounds)
    }
}
