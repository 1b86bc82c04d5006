//! The query crate against real stores of known rows.

mod cluster;
mod databases;
mod engine;
mod findings;
mod formats;
mod kept;
mod pools;
mod questions;
mod store;
