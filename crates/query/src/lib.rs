//! SQL over runs: one view per table of the catalogue, questions, findings, and answers in many formats.
//!
//! Statements are answered by workers, processes of the crate `engine` (DuckDB), to which this crate sends
//! views over the files of runs. A statement is executed only when the engine's own parser finds that it is
//! a SELECT or an EXPLAIN of one, in a process that can read the runs asked for and write nothing.
//!
//! Another engine can answer instead, brought by a crate above this one as a [`backend::Backend`].

mod ad_hoc;
mod answer;
mod answers;
mod binned;
mod board;
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
mod scope;
mod shipped;
mod time_parts;
mod views;

pub use ad_hoc::AdHoc;
pub use answer::{Answer, AnswerColumn, Value};
pub use answers::Interrupt;
pub use binned::{Binned, Series};
pub use board::{Asks, Block, Board, What, board, boards};
pub use culprit::{CULPRITS, Culprits};
pub use engine::{Engine, Options, Take, TimeParts};
pub use error::{Place, QueryError};
pub use fenxi_model::Section;
pub use fenxi_worker::Workers;
pub use finding::{
    CanAsk, Case, ChangeRow, DB_TIME, Expected, Finding, Found, Impact, ImpactColumn, Kind, LATENCY, MEANS, Meaning,
    Missing, NamesCause, Occurrence, QUEUE, SERVICE, Severity, Splits, Validity, findings, rank,
};
pub use lex::has_parameters;
pub use live::{Live, LiveColumn, LiveSeries};
pub use own::{forget_question, keep_question};
pub use playbook::{Next, Playbook, Step, playbook, playbooks};
pub use program::start as start_workers;
pub use question::{Axis, Chart, Param, Question, question, questions};
pub use scope::{Part, Scope};
pub use shipped::{SHIPPED, SHIPPED_FINDINGS, SHIPPED_PLAYBOOKS};
pub use time_parts::TimePart;

/// Interface for engines of other crates: the trait, tables that statements mention, and rows of tables.
pub mod backend {
    pub use crate::{
        answers::{Answers, Asked, Author, Backend, Dialect, Kind, Stops},
        derived::Derived,
        lex::{Token, explained, tokens, without_end},
        views::{
            Mentions, STATS, condition, footer,
            marks::{Marked, marked},
        },
    };

    /// Tables whose rows are made of the store's lists and not read from files.
    pub mod made {
        pub use crate::{
            costs::{COLUMNS as COST_COLUMNS, rows as costs},
            runs::{COLUMNS as RUN_COLUMNS, rows as runs},
            time_parts::{COLUMNS as TIME_PART_COLUMNS, NAME as TIME_PART},
        };
    }
}
