//! The server over real sockets.

#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a test prints what it measured")]

mod changes;
mod databases;
mod description;
mod flood;
mod limits;
mod live;
mod requests;
mod rights;
mod security;
mod support;
mod tls;

use fenxi_test_support::database;
