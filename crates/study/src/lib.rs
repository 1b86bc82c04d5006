//! Studies: a plan of factors and levels becomes runs of the store, each cell once in every block, in a random
//! order that is written down.
//!
//! ```text
//! plan.toml ─parse─▶ StudyPlan ─design─▶ blocks of cells ─conduct─▶ runs, with their factors as parameters
//!                                                            runs ─collect─▶ numbers ─report─▶ Report
//! ```
//!
//! The parameters of a run have its study, block and cell. What is finished is found there
//! and nowhere else, so that a study goes on where it was cut off.

mod ask;
mod collect;
mod conduct;
mod design;
mod error;
mod estimate;
mod facets;
mod fill;
mod output;
mod parse;
mod plan;
mod reader;
mod report;
pub mod reported;
mod roles;
mod run;
mod state;
#[cfg(test)]
mod tests;

pub use ask::{Answered, Asking, Asks, RunQuestion, check};
pub use conduct::{Event, Means, Outcome, Watch, conduct};
pub use design::{Cell, Design, Slot};
pub use error::{PlanError, StudyError};
pub use estimate::Estimate;
pub use output::keep_results;
pub use parse::parse;
pub use plan::{Factor, Kind, Level, Response, StudyPlan};
pub use report::report;
pub use reported::Report;
pub use state::{Beginning, FAILED, Record, StudyRun, finished, made, names};
