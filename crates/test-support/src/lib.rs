//! Helpers of tests of several crates: stores of made-up runs, servers of databases, a server of pages and its client.
//!
//! Nothing of the program depends on this crate; a failure here ends the test that asked.

#![allow(missing_docs, reason = "helpers of tests: where a name does not say it, a comment does")]

pub mod database;
pub mod http;
pub mod liar;
pub mod made_up;
pub mod runs;
pub mod served;
pub mod store;
pub mod stub;
pub mod watch;
