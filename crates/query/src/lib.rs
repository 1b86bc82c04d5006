//! SQL over runs: one view per table of the catalogue, questions, findings, and answers in many formats.
//!
//! This is the only crate that knows the engine (DuckDB). What it runs is read-only by the engine's
//! own word: a statement is executed only when the prepared statement says that it is a SELECT or an
//! EXPLAIN of one, and the engine can open nothing outside the store.

mod ad_hoc;
mod answer;
mod binned;
mod costs;
mod engine;
mod error;
mod finding;
mod gate;
mod lex;
mod own;
mod prune;
mod question;
pub mod render;
mod runs;
mod shipped;
mod views;

pub use ad_hoc::AdHoc;
pub use answer::{Answer, AnswerColumn, Value};
pub use binned::{Binned, Series};
pub use engine::{Engine, Interrupt, Options, Part, Scope, Take};
pub use error::{Place, QueryError};
pub use finding::{Case, Finding, Found, Occurrence, Severity, findings};
pub use own::{forget_question, keep_question};
pub use question::{Chart, Param, Question, Section, question, questions};
pub use shipped::{SHIPPED, SHIPPED_FINDINGS};
