//! The query crate against real stores of known rows.

mod databases;
mod engine;
mod findings;
mod formats;
mod history;
mod kept;
mod meanings;
mod pools;
mod questions;
mod rendered;

use fenxi_test_support::store;
