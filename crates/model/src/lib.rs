//! What a run is made of: tables and columns with their units and meaning ([`catalog`]), the rows
//! that sources yield ([`Rows`]), time ([`Micros`]) and the names of runs ([`RunId`], [`Selector`]).
//!
//! Nothing here reads a file, a clock or the network.

pub mod catalog;
mod cpus;
mod near;
mod random;
mod rows;
mod schema;
mod selector;
mod time;
mod unit;

pub use catalog::{Better, Column, Kind, TABLES, Table, TableId, Type, table};
pub use cpus::{cpu_ranges, format_cpus, parse_cpus};
pub use near::near;
pub use random::Random;
pub use rows::{Row, Rows, TableRows};
pub use schema::{fingerprint, schema_of};
pub use selector::{RunId, Selector, SelectorError};
pub use time::{Micros, parse_seconds};
pub use unit::{Human, Unit};
