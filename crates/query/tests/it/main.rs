//! The query crate against real stores of known rows.

mod engine;
mod formats;
mod questions;
mod store;
