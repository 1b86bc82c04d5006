//! The query crate against real stores of known rows.

#[allow(clippy::print_stderr, reason = "a test tells what it compared, and what it could not")]
mod cluster;
mod databases;
mod engine;
mod findings;
mod formats;
mod kept;
mod meanings;
mod pools;
mod questions;
mod rendered;
mod store;
