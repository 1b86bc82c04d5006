//! Clients of database servers: the protocols of PostgreSQL and of MySQL and MariaDB, logins, encryption, targets.
//!
//! [`Session`] is a protocol as a state machine over bytes; [`client::Client`] waits for its answers, each with a deadline;
//! the load generator drives thousands of sessions by itself over [`channel::Channel`]. [`host`] finds the processes of
//! the server behind an address of this host.

pub mod channel;
pub mod client;
pub mod host;
pub mod login;
mod protocol;
mod row;
mod safety;
pub mod target;
pub mod tls;

pub use protocol::{
    About, Dialect, Event, LONGEST_MESSAGE, Mode, Reply, ServerError, Session, Statement, Value, WireError, decimal,
};
pub use row::Row;
pub use tls::TlsError;
