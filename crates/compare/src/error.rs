//! Errors that prevent a comparison, with the way out.

use fenxi_model::{RunId, near};
use fenxi_query::QueryError;
use fenxi_store::StoreError;

/// Something that keeps runs from being compared, followed or measured against each other.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Nothing was asked for.
    #[error("no run matches `{0}`")]
    NoRun(String),
    /// Fewer runs than an average takes.
    #[error("an average needs at least two runs, not {0}")]
    TooFew(usize),
    /// A group would be compared with itself.
    #[error("`{0}` and `{1}` select the same runs")]
    Same(String, String),
    /// A window that the run does not have.
    #[error("run {run} has no window `{wanted}`, only {}{}", .known.join(", "), hint(.wanted, .known))]
    NoWindow {
        /// The run.
        run: RunId,
        /// The window asked for.
        wanted: String,
        /// Windows that there are.
        known: Vec<String>,
    },
    /// A time that is none.
    #[error("`{0}` is not a time since the start of the run, such as 90s or 2m")]
    NoTime(String),
    /// A window outside the run.
    #[error("the window {range} is outside the run, which lasts {seconds:.1} s")]
    EmptyWindow {
        /// The window, as it was given.
        range: String,
        /// How long the run is.
        seconds: f64,
    },
    /// More series than the memory of an answer holds.
    #[error(
        "the series of the runs, up to run {run}, are more than the memory of an answer holds; ask for fewer runs, or give the \
         server more with `--memory`"
    )]
    TooManySeries {
        /// The run for which there is no room.
        run: RunId,
    },
    /// Costs of transactions are wanted, and a run has none.
    #[error("run {run} has no rate or number `{wanted}` above 0; it has {}", .known.join(", "))]
    NoRate {
        /// How the run is called.
        run: String,
        /// The rate or number asked for.
        wanted: String,
        /// Results that the run has.
        known: Vec<String>,
    },
    /// A result that counts and that the groups do not have.
    #[error("the groups have no result `{wanted}` in common{}", hint_or_all(.wanted, .known))]
    NoResult {
        /// The result asked for.
        wanted: String,
        /// Results that both have.
        known: Vec<String>,
    },
    /// Runs are to be judged by batches, and none names its batch.
    #[error("no run of `{group}` has the tag `{tag}`, which names its batch; `fenxi runs {group}` lists their tags")]
    NoBatch {
        /// The group.
        group: String,
        /// The tag.
        tag: String,
    },
    /// A metric that no run has.
    #[error("no run has the metric `{wanted}`{}", hint_or_all(.wanted.trim_start_matches("result."), .known))]
    NoMetric {
        /// The metric asked for.
        wanted: String,
        /// Results that the runs have.
        known: Vec<String>,
    },
    /// Every result is to be followed, and the runs have none.
    #[error(
        "none of these runs has a result; `fenxi trend cpu.sys` follows a metric, and `fenxi list tables` lists them"
    )]
    NoResults,
    /// A column that the catalogue does not know.
    #[error("table `{table}` has no numeric column `{wanted}`{}", hint_or_all(.wanted, .known))]
    NoColumn {
        /// The table.
        table: &'static str,
        /// The column asked for.
        wanted: String,
        /// Its columns of numbers.
        known: Vec<String>,
    },
    /// The store failed, or knows no such run.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Findings could not be evaluated.
    #[error(transparent)]
    Query(#[from] QueryError),
}

/// Names that are all listed where none is like the one that was asked for.
const FEW: usize = 40;

/// Suggestion of the name that may have been meant.
fn hint(wanted: &str, known: &[String]) -> String {
    let near = near(wanted, known.iter().map(String::as_str));
    near.first().map_or(String::new(), |n| format!("; did you mean `{n}`?"))
}

/// Suggestion of the name that may have been meant, or else all that there are.
fn hint_or_all(wanted: &str, known: &[String]) -> String {
    match hint(wanted, known) {
        hint if !hint.is_empty() || known.is_empty() || known.len() > FEW => hint,
        _ => format!("; there are {}", known.join(", ")),
    }
}
