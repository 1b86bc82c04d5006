//! Client of Spark Connect: a statement over Parquet files in, Arrow batches out; the whole answer or an error.
//!
//! The protocol is gRPC. Its few messages are written by hand ([`proto`]) and carried by the HTTP/2 that the web server
//! has anyway, so that building this needs no compiler of protocol files. Any server of the protocol will do.
//!
//! An answer is complete when the server has declared it: each batch has the rows that it announces and follows the one before
//! it. A connection that breaks is taken up again where it broke (a *reattachable* execution). What the
//! server no longer knows begins anew as long as nothing was handed over, and is an error afterwards.
//!
//! Invariants: no command is sent, only queries; no secret of an address is in a message.

mod channel;
mod execution;
mod plan;
mod proto;
mod response;
mod session;
mod target;
#[cfg(test)]
mod tests;

pub(crate) use plan::{Plan, Source, Table};
pub(crate) use session::{Session, Stop};
pub use target::{BadTarget, Target};

/// Error between a session and its server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No connection can be had.
    #[error("the cluster {target} cannot be reached: {why}")]
    Unreachable {
        /// Its address.
        target: String,
        /// The attempts, and their outcome.
        why: String,
    },
    /// The server refused the statement, or failed with it; its own words.
    #[error("{0}")]
    Refused(String),
    /// The connection was lost in the middle of an answer and could not be taken up.
    #[error("the cluster's answer broke off after {rows} rows: {why}; ask again")]
    BrokenOff {
        /// Rows that had come.
        rows: u64,
        /// The known reason.
        why: String,
    },
    /// Somebody stopped the statement.
    #[error("the statement was stopped")]
    Stopped,
    /// The answer exceeds its limit, in bytes.
    #[error("the answer is larger than the limit of {} MiB; ask for fewer rows or columns, or shorter texts", .0 >> 20)]
    TooLarge(u64),
    /// The bytes that came are no answer.
    #[error("the cluster sent a malformed answer: {0}")]
    Malformed(String),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
