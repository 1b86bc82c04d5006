//! SQL over runs: one view per table of the catalogue, questions, findings, and answers in many formats.
//!
//! Statements are answered by workers, processes of the crate `engine` (DuckDB), to which this crate sends
//! views over the files of runs. A statement is executed only when the engine's own parser finds that it is
//! a SELECT or an EXPLAIN of one, in a process that can read the runs asked for and write nothing.
//!
//! A cluster can answer instead ([`ClusterOptions`]): then a worker only parses, the statement is written again in the
//! cluster's SQL (`spark/`), and goes there with the files that it reads (`cluster.rs`).

mod ad_hoc;
mod answer;
mod binned;
mod board;
mod cluster;
mod costs;
mod culprit;
mod derived;
mod embedded;
mod engine;
mod error;
mod finding;
mod lex;
mod live;
mod own;
mod playbook;
mod program;
mod prune;
mod question;
pub mod render;
mod runs;
mod shipped;
mod spark;
mod time_parts;
mod views;

pub use ad_hoc::AdHoc;
pub use answer::{Answer, AnswerColumn, Value};
pub use binned::{Binned, Series};
pub use board::{Asks, Block, Board, What, board, boards};
pub use cluster::ClusterOptions;
pub use culprit::{CULPRITS, Culprits};
pub use engine::{Engine, Interrupt, Options, Part, Scope, Take};
pub use error::{Place, QueryError};
pub use fenxi_connect::Target;
pub use fenxi_model::Section;
pub use fenxi_worker::Workers;
pub use finding::{
    CanAsk, Case, ChangeRow, DB_TIME, Finding, Found, Impact, ImpactColumn, Kind, LATENCY, MEANS, Meaning, Missing,
    Occurrence, QUEUE, SERVICE, Severity, Splits, Validity, findings, rank,
};
pub use lex::has_parameters;
pub use live::{Live, LiveColumn, LiveSeries};
pub use own::{forget_question, keep_question};
pub use playbook::{Next, Playbook, Step, playbook, playbooks};
pub use program::start as start_workers;
pub use question::{Axis, Chart, Param, Question, question, questions};
pub use shipped::{SHIPPED, SHIPPED_FINDINGS, SHIPPED_PLAYBOOKS};
pub use time_parts::{TimePart, TimeParts};
