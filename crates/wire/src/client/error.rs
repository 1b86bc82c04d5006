//! Why a statement has no answer: the connection, the login, the server, or time.

use std::io;

use thiserror::Error;

use crate::{ServerError, WireError, target::TargetError};

/// Why something was not done.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No address answered.
    #[error("{target}: {source}")]
    Connect {
        /// Without its password.
        target: String,
        /// The error of the last address.
        source: io::Error,
    },
    /// The target is none.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The login was refused, or the stream is broken.
    #[error("{target}: {source}")]
    Session {
        /// Without its password.
        target: String,
        /// Why.
        source: WireError,
    },
    /// The connection was lost.
    #[error("{target}: the connection was lost: {source}")]
    Lost {
        /// Without its password.
        target: String,
        /// Why.
        source: io::Error,
    },
    /// A statement took longer than it may; it was cancelled, and the connection is of no more use.
    #[error("{target}: no answer in {seconds} s to: {sql}")]
    Late {
        /// Without its password.
        target: String,
        /// The limit.
        seconds: f64,
        /// The statement.
        sql: String,
    },
    /// The server refused a statement.
    #[error("{sql}: {error}")]
    Refused {
        /// The statement.
        sql: String,
        /// The server's error.
        error: Box<ServerError>,
    },
}

impl ClientError {
    /// Returns true if the connection can still be used.
    pub fn is_refusal(&self) -> bool {
        matches!(self, ClientError::Refused { .. })
    }

    /// The server's error, when the server refused.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            ClientError::Refused { error, .. } => Some(error),
            ClientError::Session { source: WireError::Server(error), .. } => Some(error),
            _ => None,
        }
    }
}

/// The beginning of a statement, for messages.
pub(super) fn shortened(sql: &str) -> String {
    let mut text: String = sql.chars().take(120).collect();
    if text.len() < sql.len() {
        text.push('…');
    }
    text
}
