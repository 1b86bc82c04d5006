//! Requests of pages to a store: one list of endpoints, which the server offers over HTTP and a report
//! file carries answered.
//!
//! An endpoint only reads. It knows no HTTP: a request is its path and its [`Query`], an answer is
//! bytes, nearly always of JSON.

mod about;
pub(crate) mod board;
mod catalogue;
pub(crate) mod chosen;
mod compare;
mod db_report;
mod explain;
mod facts;
mod findings;
mod metrics;
mod notes;
mod panel;
mod query;
mod questions;
mod range;
mod reply;
mod representative;
pub(crate) mod run;
mod runs;
pub mod schema;
mod select;
mod sort;
mod sparkline;
mod sql;
mod stacks;
mod studies;
mod trend;

use fenxi_compare::CompareError;
use fenxi_query::{Engine, QueryError};
use fenxi_store::{Store, StoreError};

pub use query::Query;
pub use reply::Reply;

/// Every endpoint, in the order of the documentation.
pub const ENDPOINTS: &[&Endpoint] = &[
    &about::ABOUT,
    &runs::RUNS,
    &select::SELECT,
    &run::RUN,
    &panel::PANEL,
    &findings::FINDINGS,
    &facts::FACTS,
    &notes::NOTES,
    &stacks::STACKS_ENDPOINT,
    &compare::COMPARE,
    &db_report::DB_REPORT,
    &explain::EXPLAIN,
    &range::RANGE,
    &representative::REPRESENTATIVE,
    &trend::TREND,
    &trend::TRENDS,
    &metrics::METRICS,
    &studies::STUDIES,
    &studies::STUDY,
    &questions::QUESTIONS,
    &board::BOARDS,
    &board::BOARD,
    &catalogue::CATALOGUE,
    &sql::SQL,
];

/// Context of a request: store, engine and limits.
pub struct Context<'a> {
    /// The store that is asked.
    pub store: &'a Store,
    /// SQL over it.
    pub engine: &'a Engine,
    /// True if who asks may change the store; pages hide what would be refused.
    pub read_only: bool,
}

/// One thing that can be asked.
pub struct Endpoint {
    /// Path of the request, as `/api/v1/about`.
    pub path: &'static str,
    /// Description of the answer for the documentation: one or two sentences.
    pub about: &'static str,
    /// Parameters.
    pub params: &'static [Param],
    /// True if the answer may become another one while a page is open; those of sealed runs do not.
    pub changes: bool,
    /// Gives the answer.
    pub answer: fn(&Context<'_>, &Query) -> Result<Reply, ApiError>,
    /// The schema of the answer as JSON.
    pub schema: schema::OfAnswer,
}

/// A parameter of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name in the query.
    pub name: &'static str,
    /// Its text.
    pub about: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// True if it may stand there several times.
    pub many: bool,
    /// True if there is no answer without it.
    pub required: bool,
}

impl Param {
    /// One without which there is no answer.
    const fn required(name: &'static str, about: &'static str, kind: Kind) -> Param {
        Param { name, about, kind, many: false, required: true }
    }

    /// One that can be left out.
    const fn optional(name: &'static str, about: &'static str, kind: Kind) -> Param {
        Param { name, about, kind, many: false, required: false }
    }

    /// The same one, which may stand there several times.
    const fn many(self) -> Param {
        Param { many: true, ..self }
    }
}

/// Values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A number.
    Number,
    /// A whole number, 0 or more.
    Count,
    /// `true` or `false`; alone it is true.
    Flag,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request is wrong; asked again it stays wrong.
    #[error("{0}")]
    Wrong(String),
    /// There is no such run, question, study …
    #[error("{0}")]
    Unknown(String),
    /// No run is called so.
    #[error("{text}")]
    NoRun {
        /// The text.
        text: String,
        /// Names like it.
        near: Vec<String>,
    },
    /// It was stopped, because who asked has gone or because it took too long.
    #[error("stopped before it was answered")]
    Interrupted,
    /// The statement ended the process that worked on it.
    #[error("{0}")]
    Crashed(String),
    /// The store or the engine failed.
    #[error("{0}")]
    Failed(String),
}

impl From<QueryError> for ApiError {
    fn from(error: QueryError) -> ApiError {
        match error {
            QueryError::Interrupted => ApiError::Interrupted,
            QueryError::Crashed(_) => ApiError::Crashed(error.to_string()),
            QueryError::UnknownQuestion { .. } | QueryError::UnknownBoard { .. } => {
                ApiError::Unknown(error.to_string())
            }
            QueryError::Store(error) => error.into(),
            QueryError::Io(_)
            | QueryError::File { .. }
            | QueryError::Engine(_)
            | QueryError::Cluster(_)
            | QueryError::NotInstalled(_) => ApiError::Failed(error.to_string()),
            _ => ApiError::Wrong(error.to_string()),
        }
    }
}

impl From<CompareError> for ApiError {
    fn from(error: CompareError) -> ApiError {
        match error {
            CompareError::Store(error) => error.into(),
            CompareError::Query(error) => error.into(),
            CompareError::NoRun(_) | CompareError::NoMetric { .. } => ApiError::Unknown(error.to_string()),
            _ => ApiError::Wrong(error.to_string()),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> ApiError {
        match error {
            StoreError::Unknown { ref near, .. } => ApiError::NoRun { text: error.to_string(), near: near.clone() },
            StoreError::Ambiguous { .. } | StoreError::Selector(_) => ApiError::Wrong(error.to_string()),
            _ => ApiError::Failed(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> ApiError {
        ApiError::Failed(error.to_string())
    }
}

/// Answers the request `path` with `query`; a parameter that the endpoint does not have is an error.
///
/// # Errors
/// [`ApiError`].
pub fn answer(context: &Context<'_>, path: &str, query: &Query) -> Result<Reply, ApiError> {
    let endpoint = ENDPOINTS.iter().find(|e| e.path == path);
    let endpoint = endpoint.ok_or_else(|| ApiError::Unknown(format!("there is no {path}")))?;
    query.check(endpoint.params)?;
    (endpoint.answer)(context, query)
}
