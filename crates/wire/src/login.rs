//! Credentials of connections: resolved once from the URL, the password file and the environment.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

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

/// TLS mode: encryption, and verification of the server's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// No encryption. It is the default because encryption changes what is measured.
    #[default]
    Disable,
    /// Encrypted if the server offers it, without verifying the server.
    Prefer,
    /// Encrypted, without verifying the server.
    Require,
    /// Encrypted, and the certificate is signed by an authority that is trusted, for whatever host.
    VerifyCa,
    /// Encrypted, and the certificate is for the host and signed by an authority that is trusted.
    VerifyFull,
}

impl Tls {
    /// Returns true if the server shows who it is.
    pub fn is_verified(self) -> bool {
        matches!(self, Tls::VerifyCa | Tls::VerifyFull)
    }
}

/// Channel binding of a login to its TLS connection (SCRAM-SHA-256-PLUS), so that it is of no use in another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// It is not.
    Disable,
    /// Where the server offers it.
    #[default]
    Prefer,
    /// No other login.
    Require,
}

/// Who could listen to a connection that is not encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A Unix socket: no network, and the owner of its folder identifies the listener.
    Socket,
    /// A loopback address: it does not leave this machine, but any user of it may listen at a free port.
    Loopback,
    /// Another address: a network that may be intercepted.
    Network,
}

/// The parameters of a connection's login.
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
    /// True if the user chose the encryption, and no default.
    pub agreed: bool,
    /// Where the connection leads; [`crate::target::Target::at`] finds it for an address.
    pub reach: Reach,
    /// Channel binding (PostgreSQL).
    pub binding: Binding,
    /// Name of the application, as the server lists it beside the session.
    pub application: String,
    /// True if the server may ask for data of a load (LOAD DATA LOCAL). It is asked for only while loading.
    pub local_files: bool,
    /// The last password that was salted: the server gives the same salt each time, and salting takes
    /// thousands of hashes, which ten thousand connections would pay each.
    pub(crate) salted: Arc<Mutex<Option<Salted>>>,
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
            agreed: false,
            reach: Reach::Network,
            binding: Binding::Prefer,
            application: "fenxi".to_owned(),
            local_files: false,
            salted: Arc::default(),
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
