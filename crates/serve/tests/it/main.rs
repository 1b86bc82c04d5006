//! The server over real sockets.

#![allow(clippy::unwrap_used, reason = "tests")]

mod requests;
mod security;
mod support;
