//! Errors that prevent or stop a study.

use std::{io, path::PathBuf};

use fenxi_record::RecordError;
use fenxi_store::StoreError;

/// A plan that is wrong: where, and what is expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", path.display(), line.map_or(String::new(), |l| format!(":{l}")))]
pub struct PlanError {
    /// The plan's file.
    pub path: PathBuf,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// Message: the problem and the way out.
    pub message: String,
}

/// Why a study stopped. Runs that were finished before are kept.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The plan is wrong.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The plan is not the one that earlier runs of the study were made by.
    #[error(
        "{}: the plan has changed since the study `{name}` began:\n  {}\n{way_out}",
        path.display(),
        changes.join("\n  ")
    )]
    Changed {
        /// The plan's file.
        path: PathBuf,
        /// The study.
        name: String,
        /// The changes, a line each.
        changes: Vec<String>,
        /// The possible remedies.
        way_out: &'static str,
    },
    /// Another process makes the same study.
    #[error("the study `{name}` is being made by another process (its lock is {})", lock.display())]
    Busy {
        /// The study.
        name: String,
        /// The file that is locked.
        lock: PathBuf,
    },
    /// The store's record of a study cannot be read.
    #[error("{}: {what}; remove the file to begin the study anew (its runs stay)", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The defect.
        what: String,
    },
    /// No study of that name was made.
    #[error("the store has no study called `{name}`{}", crate::error::perhaps(near))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// Names that are near.
        near: Vec<String>,
    },
    /// A set-up or tear-down of the whole study failed.
    #[error("the study's {what} failed: {why}")]
    Step {
        /// `set-up` or `tear-down`.
        what: &'static str,
        /// Why, with the last lines that it printed.
        why: String,
    },
    /// A run failed, and the plan asks to stop then.
    #[error("block {block}, {cell}: {why}")]
    Run {
        /// Block of the run.
        block: u32,
        /// Cell of the run.
        cell: String,
        /// Why, with the last lines that it printed.
        why: String,
    },
    /// A plan asks questions, and no engine is there to answer.
    #[error("the plan asks questions about its runs, which takes the SQL engine")]
    NobodyAnswers,
    /// A run could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be read or written, or the kernel refused to wait.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// `; did you mean a or b?`, or nothing.
pub(crate) fn perhaps(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean `{}`?", near.join("` or `")) }
}
