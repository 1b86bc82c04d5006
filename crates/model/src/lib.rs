//! The parts of a run: tables and columns with their units and meaning ([`catalog`]), the rows
//! that sources yield ([`Rows`]), time ([`Micros`]) and the names of runs ([`RunId`], [`Selector`]).
//!
//! Nothing here reads a file, a clock or the network.

mod arrays;
pub mod catalog;
mod cpus;
mod fnv;
mod near;
pub mod place;
pub mod plan;
mod random;
mod range;
mod rows;
mod schema;
mod secrets;
mod selector;
pub mod statement;
mod time;
mod unit;
mod visible;
mod words;

/// The notices that the licences of what Fenxi is made of ask for; they go wherever it goes (`cargo xtask gen` makes them).
pub static NOTICES: &str = include_str!("../../../third-party/NOTICES.txt");

pub use arrays::{micros_at, number_at, text_at, value_of, whole_at};
pub use catalog::{Better, Column, Keys, Kind, Section, Shape, Statistic, TABLES, Table, TableId, Type, table};
pub use cpus::{cpu_ranges, format_cpus, parse_cpus};
pub use near::near;
pub use place::{AnySchema, Place};
pub use random::Random;
pub use range::TimeRange;
pub use rows::{Refused, Row, Rows, RowsOf, TableRows};
pub use schema::{fingerprint, schema_of};
pub use secrets::{SECRET, command_without_secrets, is_secret_name, is_secret_parameter, text_without_secrets};
pub use selector::{RunId, Selector, SelectorError};
pub use time::{Micros, parse_seconds};
pub use unit::{Human, Unit};
pub use visible::{HIDDEN, is_hidden, visible, visible_lines};
