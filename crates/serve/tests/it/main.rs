//! The server over real sockets.

#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a test prints what it measured")]

mod changes;
#[allow(clippy::print_stderr, reason = "a test prints why a server did not start")]
#[allow(dead_code, reason = "the load's tests use all of it")]
#[path = "../../../load/tests/it/server.rs"]
mod database;
mod databases;
mod description;
mod flood;
mod limits;
mod live;
mod requests;
mod security;
mod support;
mod tls;
