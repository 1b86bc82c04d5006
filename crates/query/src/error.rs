//! Query errors, with the position in the SQL and the way out.

use std::{borrow::Cow, fmt, path::PathBuf};

use fenxi_model::near;
use fenxi_worker::{Failure, WorkerError};

use crate::lex;

/// A query or question that could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The engine refused the SQL.
    #[error("{}", explain(.message, .place.as_ref(), .hint.as_deref()))]
    Sql {
        /// Description of the error.
        message: String,
        /// Where, if the engine reports it.
        place: Option<Place>,
        /// Suggested correction.
        hint: Option<String>,
    },
    /// The statement does something else than read.
    #[error("{what} is not allowed: runs are only read; use SELECT, DESCRIBE, SHOW, SUMMARIZE, PIVOT or EXPLAIN")]
    NotReadOnly {
        /// Kind of the statement.
        what: String,
    },
    /// Nothing but blanks and comments.
    #[error("there is no SQL statement to run")]
    Empty,
    /// The query was interrupted.
    #[error("the query was interrupted")]
    Interrupted,
    /// The memory limit was reached and spilling did not help.
    #[error("the query needs more memory than it may have: {0}; raise the limit or read fewer runs")]
    Memory(String),
    /// No question has this name.
    #[error("there is no question `{name}`{}", hint_near(.near))]
    UnknownQuestion {
        /// The name asked for.
        name: String,
        /// Questions with a similar name.
        near: Vec<String>,
    },
    /// No playbook has this name.
    #[error("there is no playbook `{name}`{}", hint_near(.near))]
    UnknownPlaybook {
        /// The name asked for.
        name: String,
        /// Playbooks with a similar name.
        near: Vec<String>,
    },
    /// No board has this name.
    #[error("there is no board `{name}` in the store's folder `boards`{}", hint_near(.near))]
    UnknownBoard {
        /// The name asked for.
        name: String,
        /// Boards with a similar name.
        near: Vec<String>,
    },
    /// The question's header is wrong.
    #[error("{file}: line {line}: {message}")]
    Question {
        /// The question's file.
        file: String,
        /// Line from 1.
        line: usize,
        /// Description of the error.
        message: String,
    },
    /// A finding's SQL or sentence is wrong.
    #[error("{file}: {source}")]
    Finding {
        /// The finding's file.
        file: String,
        /// The error, with lines of that file.
        source: Box<QueryError>,
    },
    /// A parameter that the question does not have, or a value of the wrong type.
    #[error("question `{question}`: {message}")]
    Parameter {
        /// The question asked.
        question: String,
        /// Description of the error, and the known names or values.
        message: String,
    },
    /// A Parquet file of a run cannot be read.
    #[error("{}: {message}; `fenxi store verify` checks whether the file is damaged", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Description of the error.
        message: String,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] fenxi_store::StoreError),
    /// The answer could not be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The answer could not be converted.
    #[error(transparent)]
    Arrow(#[from] arrow_schema::ArrowError),
    /// Parquet could not be written.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A function that statements may not use.
    #[error(
        "`{0}` cannot be used here: statements read the tables of runs, and no files, settings or texts of other statements"
    )]
    Function(String),
    /// The answer has more bytes than are allowed.
    #[error("the answer is larger than {} MiB; ask for fewer rows or columns, or shorter texts", .0 >> 20)]
    TooLarge(u64),
    /// The process that worked on the statement ended; what is known of its end.
    #[error("the statement ended the process that worked on it: {0}")]
    Crashed(String),
    /// The program of the engine is not there.
    #[error("the SQL engine is not installed here: {0}")]
    NotInstalled(String),
    /// A cluster does not answer, or not whole.
    #[error("{0}")]
    Cluster(String),
    /// The engine itself failed.
    #[error("the SQL engine failed: {0}")]
    Engine(String),
}

/// A place in the SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line from 1.
    pub line: usize,
    /// Column from 1, in characters of `text`.
    pub column: usize,
    /// The line's text; the engine shortens long lines with `...`.
    pub text: String,
}

fn explain(message: &str, place: Option<&Place>, hint: Option<&str>) -> impl fmt::Display {
    let mut out = message.to_owned();
    if let Some(place) = place {
        let gutter = format!("line {}", place.line);
        out += &format!("\n  {gutter} | {}\n  ", place.text);
        out += &" ".repeat(gutter.len() + 3 + place.column.saturating_sub(1));
        out.push('^');
    }
    if let Some(hint) = hint {
        out += &format!("\n  hint: {hint}");
    }
    out
}

fn hint_near(near: &[String]) -> String {
    match near {
        [] => "; `fenxi ask` lists them".to_owned(),
        near => format!("; did you mean {}?", near.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    }
}

impl From<WorkerError> for QueryError {
    fn from(error: WorkerError) -> QueryError {
        match error {
            WorkerError::Failed(failure) => failure.into(),
            WorkerError::Stopped => QueryError::Interrupted,
            WorkerError::Ended(how) => QueryError::Crashed(how),
            WorkerError::TooLarge(bytes) => QueryError::TooLarge(bytes),
            WorkerError::Start(why) => QueryError::Engine(why),
            WorkerError::Malformed(_) => QueryError::Engine(error.to_string()),
            WorkerError::Io(error) => QueryError::Io(error),
        }
    }
}

impl From<Failure> for QueryError {
    fn from(failure: Failure) -> QueryError {
        match failure {
            Failure::Engine(message) => QueryError::from_message(&message),
            Failure::Empty => QueryError::Empty,
            Failure::Several => QueryError::Sql {
                message: "there are several statements".to_owned(),
                place: None,
                hint: Some("run them one by one".to_owned()),
            },
            Failure::NotReadOnly => QueryError::NotReadOnly { what: "this statement".to_owned() },
            Failure::Function(name) => QueryError::Function(name),
            Failure::Unconfined(why) => QueryError::Engine(format!("its process could not be confined: {why}")),
        }
    }
}

impl QueryError {
    /// The same error about `sql`: where the engine does not say what a statement is, its first word does.
    pub fn about(self, sql: &str) -> QueryError {
        match self {
            QueryError::NotReadOnly { .. } => QueryError::NotReadOnly { what: lex::first_word(sql) },
            other => other,
        }
    }

    /// Makes sense of the engine's message: kind, text, candidates, place.
    pub(crate) fn from_message(raw: &str) -> QueryError {
        let raw = &*in_words(raw);
        let (head, place) = split_place(raw);
        let (kind, text) = match head.split_once(" Error: ") {
            Some((kind, text)) if kind.len() < 40 && !kind.contains('\n') => (kind, text.trim()),
            _ => ("", head.trim()),
        };
        match kind {
            "INTERRUPT" => return QueryError::Interrupted,
            "Out of Memory" => return QueryError::Memory(first_line(text)),
            _ if text.starts_with("Interrupted") => return QueryError::Interrupted,
            _ => {}
        }
        let mut hint = candidates(text);
        let mut message = first_line(text);
        if let Some(name) = between(text, "Table with name ", " does not exist") {
            message = format!("there is no table `{name}`");
            let known = fenxi_model::TABLES.iter().map(|t| t.name).chain(["runs", "stats", "cost", "time_part"]);
            let close = near(name, known);
            hint = Some(match close.as_slice() {
                [] => "`SHOW TABLES` lists them".to_owned(),
                close => format!("did you mean {}?", ticked(close)),
            });
        } else if let Some(name) = between(text, "Referenced column \"", "\" not found") {
            message = format!("there is no column `{name}`");
        }
        QueryError::Sql { message, place, hint }
    }
}

/// The engine's message in words, where it is JSON, as of errors that come from within: `KIND Error: MESSAGE`.
fn in_words(raw: &str) -> Cow<'_, str> {
    /// Members of that JSON that are read.
    #[derive(serde::Deserialize)]
    struct Raw {
        exception_type: String,
        exception_message: String,
    }
    let Some(at) = raw.find("{\"exception_type\":") else { return raw.into() };
    let mut found = serde_json::Deserializer::from_str(&raw[at..]).into_iter::<Raw>();
    match found.next() {
        Some(Ok(Raw { exception_type, exception_message })) => {
            // It may be wrapped once more.
            let inner = in_words(&exception_message);
            let is_whole = inner.contains(" Error: ");
            Cow::Owned(if is_whole { inner.into_owned() } else { format!("{exception_type} Error: {inner}") })
        }
        // Cut off, as long messages are.
        _ => "Internal Error: the engine gave no reason that can be read".into(),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or(text).trim_end_matches(['!', '.']).to_owned()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    Some(rest[..rest.find(after)?].trim_matches('"'))
}

fn ticked(names: &[String]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// The engine's own suggestions, in our words.
fn candidates(text: &str) -> Option<String> {
    let line = text.lines().find(|l| {
        ["Candidate bindings: ", "Did you mean ", "Candidate functions:", "Candidate macros:"]
            .iter()
            .any(|p| l.trim_start().starts_with(p))
    })?;
    let mut names: Vec<String> =
        line.split('"').skip(1).step_by(2).map(|n| n.rsplit('.').next().unwrap_or(n).to_owned()).collect();
    names.dedup();
    names.truncate(5);
    (!names.is_empty()).then(|| format!("did you mean {}?", ticked(&names)))
}

/// Cuts `LINE n: text` and the caret line off the engine's message.
fn split_place(raw: &str) -> (&str, Option<Place>) {
    let Some(at) = raw.rfind("\nLINE ") else { return (raw, None) };
    let head = raw[..at].trim_end();
    let mut lines = raw[at + 1..].lines();
    let parse = || -> Option<Place> {
        let first = lines.next()?;
        let (number, text) = first.strip_prefix("LINE ")?.split_once(": ")?;
        let caret = lines.next()?.find('^')?;
        let gutter = first.len() - text.len();
        Some(Place { line: number.parse().ok()?, column: caret.checked_sub(gutter)? + 1, text: text.to_owned() })
    };
    let mut parse = parse;
    (head, parse())
}

#[cfg(test)]
mod tests {
    use super::QueryError;

    #[test]
    fn an_unknown_column_is_shown_with_its_place_and_near_names() {
        let raw = "Binder Error: Referenced column \"usrr\" not found in FROM clause!\nCandidate bindings: \"usr\", \"user\"\n\nLINE 1: select usrr from cpu\n               ^";
        let want = "there is no column `usrr`\n  line 1 | select usrr from cpu\n                  ^\n  hint: did you mean `usr`, `user`?";
        assert_eq!(QueryError::from_message(raw).to_string(), want);
    }

    #[test]
    fn what_the_engine_says_in_json_is_said_in_words() {
        let raw = r#"{"exception_type":"Out of Memory","exception_message":"failed to allocate data of size 2.0 GiB (1.0 MiB/400.0 MiB used)","errno":"12"}"#;
        let error = QueryError::from_message(raw);
        assert!(matches!(&error, QueryError::Memory(text) if text.starts_with("failed to allocate data")), "{error}");
        for (raw, reported) in [
            (r#"{"exception_type":"Conversion","exception_message":"no \"number\""}"#, "no \"number\""),
            (
                r#"Error: {"exception_type":"INTERNAL","exception_message":"Binder Error: x is not y"} and more"#,
                "x is not y",
            ),
            (r#"{"exception_type":"IO","exception_message":"cut of …"#, "the engine gave no reason that can be read"),
        ] {
            assert_eq!(QueryError::from_message(raw).to_string(), reported);
        }
        assert!(matches!(
            QueryError::from_message(r#"{"exception_type":"INTERRUPT","exception_message":"Interrupted!"}"#),
            QueryError::Interrupted
        ));
    }

    #[test]
    fn an_unknown_table_suggests_tables_of_the_catalogue() {
        let raw = "Catalog Error: Table with name proces does not exist!\nDid you mean \"pg_proc\"?\n\nLINE 1: select * from proces\n                      ^";
        let text = QueryError::from_message(raw).to_string();
        assert!(text.starts_with("there is no table `proces`"), "{text}");
        assert!(text.ends_with("hint: did you mean `process`, `gpu_process`?"), "{text}");
    }
}
