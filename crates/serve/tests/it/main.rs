//! The server over real sockets.

#![allow(clippy::unwrap_used, reason = "tests")]

mod changes;
mod description;
mod limits;
mod live;
mod requests;
mod security;
mod support;
mod tls;
