//! Engines that answer statements: workers of this machine (`embedded.rs`), or a [`Backend`] of another crate.

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use fenxi_store::Store;
use fenxi_worker::{Cell, Workers};

use crate::{QueryError, Scope, Value};

/// The table of the files that go with a statement.
pub(crate) const FILES: &str = "fenxi.files";
/// Makes what answers instead of the workers of this machine, which then only parse.
pub trait Backend: fmt::Debug + Send + Sync {
    /// Opens an engine over `store`, at most `answer_bytes` for a statement; it gives `interrupt` what stops each one.
    fn open(
        &self,
        workers: Workers,
        store: &Store,
        answer_bytes: Option<u64>,
        interrupt: Interrupt,
    ) -> Box<dyn Answers + Send>;
}

/// Type of a column of rows that are computed here and not read from files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Texts.
    Text,
    /// Whole numbers.
    I64,
    /// Numbers.
    F64,
    /// Truth values.
    Bool,
}

/// Who wrote a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// We did: its worker is kept for the next one.
    Ours,
    /// Anybody else: it has its own worker, which sees the runs asked for and is thrown away.
    Other,
}

/// In which SQL a statement is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// In that of questions, which every engine answers.
    Questions,
    /// In the engine's own.
    Own,
}

/// A statement and what it may see.
#[derive(Debug)]
pub struct Asked<'a> {
    /// Who wrote it.
    pub author: Author,
    /// In which SQL.
    pub dialect: Dialect,
    /// Its text.
    pub sql: &'a str,
    /// A value for each `$name` in it.
    pub params: &'a [(&'a str, Value)],
    /// The runs that it asks about.
    pub scope: &'a Scope,
    /// Parquet files that it may read besides, as the table [`FILES`].
    pub files: &'a [PathBuf],
}

/// An engine: it answers one statement at a time.
pub trait Answers {
    /// Hands the answer to `asked` over the runs of `scope` to `take`, batch by batch; gives the columns. `parts` are the rows of
    /// the table of the parts of time, where that is mentioned.
    ///
    /// # Errors
    /// Whatever is wrong with the statement or the engine, and what `take` fails with.
    fn answer(
        &self,
        asked: &Asked<'_>,
        scope: &Scope,
        parts: Option<&[Vec<Cell>]>,
        take: &mut dyn FnMut(RecordBatch) -> Result<(), QueryError>,
    ) -> Result<SchemaRef, QueryError>;

    /// Confinement of the processes that answer, in words.
    ///
    /// # Errors
    /// When none can be had.
    fn confined(&self) -> Result<Vec<String>, QueryError>;

    /// Whether statements may read files besides the runs.
    fn reads_files(&self) -> bool;

    /// The program that answers and its version; None for the engine of this program.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn program(&self) -> Result<Option<String>, QueryError>;

    /// Prepares for many statements of our own over the same runs, of which `sql` is the text: what they read is held in memory where
    /// that is worth it.
    ///
    /// # Errors
    /// When it cannot; the statements are answered all the same.
    fn hold(&self, _sql: &str, _scope: &Scope) -> Result<(), QueryError> {
        Ok(())
    }
}

/// Stops the query that an engine runs, from another thread.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// Handle that stops its statement.
    stop: Arc<Mutex<Option<Box<dyn Stops>>>>,
    /// Whether it was used since the request began.
    is_set: Arc<AtomicBool>,
}

/// Stops a statement where it is answered.
pub trait Stops: Send + Sync + fmt::Debug {
    /// Stops it; it ends with [`QueryError::Interrupted`].
    fn stop(&self);
}

impl Stops for fenxi_worker::Stop {
    fn stop(&self) {
        fenxi_worker::Stop::stop(self);
    }
}

impl Interrupt {
    /// Stops the query in flight, whatever it does; it ends with [`QueryError::Interrupted`].
    pub fn interrupt(&self) {
        self.is_set.store(true, Ordering::Release);
        if let Some(stop) = &*self.stop.lock().unwrap_or_else(PoisonError::into_inner) {
            stop.stop();
        }
    }

    /// Returns true if the request was stopped: what is done for it without a statement ends as well.
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Begins with the next request.
    pub fn renew(&self) {
        self.is_set.store(false, Ordering::Release);
    }

    /// Sets how the statement that the engine starts now is cancelled.
    pub fn set(&self, stop: impl Stops + 'static) {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
    }
}
