//! SQL over the runs of a store. Nothing is executed here: what answers is an [`Answers`].

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use fenxi_store::Store;
use fenxi_worker::{Cell, Workers};

use crate::{
    Answer, AnswerColumn, Interrupt, QueryError, Scope, Value,
    answer::columns_of,
    answers::{Answers, Asked, Author, Backend, Dialect},
    embedded::Embedded,
    lex, program, prune,
    render::Limits,
    time_parts::{self, TimePart},
    views::Mentions,
};

/// From so many rows on, binning them takes longer than people like to wait.
const COARSE_FROM: u64 = 2_000_000;
/// Bytes of an answer that is held in memory whole, unless another bound is set.
const LARGEST_ANSWER: u64 = 1 << 30;
/// Minimum bytes of a cell once it is more than Arrow's bits.
const CELL_BYTES: u64 = 32;

/// Gives the parts of the time of the runs of a scope.
pub type TimeParts = fn(&Engine, &Scope) -> Result<Vec<TimePart>, QueryError>;

/// Bounds of what a query may use.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory before the engine spills to disk, as `2GB`; None for four fifths of the machine's.
    pub memory_limit: Option<String>,
    /// Bytes of private memory of the process that answers, whatever the engine believes to use; None: no bound.
    pub process_bytes: Option<u64>,
    /// Bytes of an answer; one that is larger is an error. None: 1 GiB where it is held in memory, no bound where
    /// it is handed over in pieces.
    pub answer_bytes: Option<u64>,
    /// Time from the begin of a request to the end of its answer's text; None: no bound.
    pub time: Option<Duration>,
    /// Threads; None for one per CPU.
    pub threads: Option<usize>,
    /// Rows of a table from which on coarse bins of it are kept in the store's cache, made of so many rows at a
    /// time; None for two million.
    pub coarse_from: Option<u64>,
    /// The folder below which it spills; None for the system's temporary one.
    pub temp_dir: Option<PathBuf>,
    /// Limit of spilled data, such as `4GB`; None for nearly all free space.
    pub spill_limit: Option<String>,
    /// True if questions that runs bring with them are asked.
    pub carried: bool,
    /// Backend that answers instead of this machine: a cluster.
    pub backend: Option<Arc<dyn Backend>>,
    /// Gives the parts of the time of runs; None where there are none.
    pub time_parts: Option<TimeParts>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_limit: None,
            process_bytes: None,
            answer_bytes: None,
            time: None,
            threads: None,
            coarse_from: None,
            temp_dir: None,
            spill_limit: None,
            carried: true,
            backend: None,
            time_parts: None,
        }
    }
}

/// SQL over the runs of one store. One engine serves one request at a time.
pub struct Engine {
    answers: Box<dyn Answers + Send>,
    store: Store,
    pub(crate) options: Options,
    /// Rows of a table from which on coarse bins of it are kept.
    pub(crate) coarse_from: u64,
    interrupt: Interrupt,
}

/// Callback of [`Engine::each`], called with columns and each batch.
pub type Take<'a> = dyn FnMut(&[AnswerColumn], RecordBatch) -> Result<(), QueryError> + 'a;

impl Engine {
    /// Starts an engine on `store`.
    ///
    /// # Errors
    /// When the program of the workers is not there or does not start.
    pub fn open(store: &Store, options: &Options) -> Result<Engine, QueryError> {
        Ok(Engine::with(program::start(options.temp_dir.clone())?, store, options))
    }

    /// An engine on `store` whose processes start with the first statement: for who may find in the cache what is asked.
    ///
    /// # Errors
    /// When the program of the workers is not there.
    pub fn on_demand(store: &Store, options: &Options) -> Result<Engine, QueryError> {
        Ok(Engine::with(program::on_demand(options.temp_dir.clone())?, store, options))
    }

    /// An engine on `store` that shares `workers` with others. Where a cluster answers they only parse.
    pub fn with(workers: Workers, store: &Store, options: &Options) -> Engine {
        let interrupt = Interrupt::default();
        let answers: Box<dyn Answers + Send> = match &options.backend {
            None => Box::new(Embedded::new(workers, store, options, interrupt.clone())),
            Some(backend) => backend.open(workers, store, options.answer_bytes, interrupt.clone()),
        };
        Engine {
            answers,
            store: store.clone(),
            options: options.clone(),
            coarse_from: options.coarse_from.unwrap_or(COARSE_FROM),
            interrupt,
        }
    }

    /// Prepares for many shipped statements over the runs of `scope`, of which `sql` is the text. Without it they are answered all the
    /// same.
    pub(crate) fn hold(&self, sql: &str, scope: &Scope) {
        let _ = self.answers.hold(sql, scope);
    }

    /// Limits of writing the answer to a request that began at `begin`.
    pub fn limits(&self, begin: Instant) -> Limits {
        Limits { bytes: self.options.answer_bytes, until: self.options.time.map(|time| begin + time) }
    }

    /// Bytes that an answer may have; None: no bound.
    pub fn answer_bytes(&self) -> Option<u64> {
        self.options.answer_bytes
    }

    /// The store that is asked.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A handle to stop a query from another thread.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Confinement of the processes that answer, in words.
    ///
    /// # Errors
    /// When none can be had.
    pub fn confined(&self) -> Result<Vec<String>, QueryError> {
        self.answers.confined()
    }

    /// Distinguishes answers of this engine from those of others; None for the engine of this program.
    pub(crate) fn program(&self) -> Result<Option<String>, QueryError> {
        self.answers.program()
    }

    /// Whether what is made of rows can be kept in files and asked again.
    pub(crate) fn keeps_files(&self) -> bool {
        self.answers.reads_files()
    }

    /// Answers `sql`, which anybody may have written, over the runs of `scope`, with the whole answer in memory.
    ///
    /// # Errors
    /// [`QueryError`]: wrong SQL with its place and near names, a statement that does not only read.
    pub fn query(&self, sql: &str, scope: &Scope) -> Result<Answer, QueryError> {
        self.query_with(sql, &[], scope)
    }

    /// Like [`Engine::query`], with a value for each `$name` in `sql`.
    ///
    /// # Errors
    /// As [`Engine::query`]; also for a `$name` without a value.
    pub fn query_with(&self, sql: &str, params: &[(&str, Value)], scope: &Scope) -> Result<Answer, QueryError> {
        self.whole(&Asked { author: Author::Other, dialect: Dialect::Questions, sql, params, scope, files: &[] })
    }

    /// Answers a statement of Fenxi's own: no part of its text may come from anybody else, but values of `params`.
    ///
    /// # Errors
    /// As [`Engine::query`].
    pub fn ours(&self, sql: &str, params: &[(&str, Value)], scope: &Scope) -> Result<Answer, QueryError> {
        self.whole(&Asked { author: Author::Ours, dialect: Dialect::Questions, sql, params, scope, files: &[] })
    }

    /// Hands the answer to what anybody may have written over batch by batch, so that it may be larger than memory.
    ///
    /// `take` is called with the columns and each batch; the columns are also given back, for an
    /// answer without rows.
    ///
    /// # Errors
    /// As [`Engine::query`], and whatever `take` fails with.
    pub fn each(
        &self,
        sql: &str,
        params: &[(&str, Value)],
        scope: &Scope,
        take: &mut Take<'_>,
    ) -> Result<(Vec<AnswerColumn>, SchemaRef), QueryError> {
        self.pieces(&Asked { author: Author::Other, dialect: Dialect::Questions, sql, params, scope, files: &[] }, take)
    }

    /// Like [`Engine::each`] for a statement in the engine's own SQL: a cluster's is not that of questions.
    ///
    /// # Errors
    /// As [`Engine::query`], and whatever `take` fails with.
    pub fn each_own(
        &self,
        sql: &str,
        scope: &Scope,
        take: &mut Take<'_>,
    ) -> Result<(Vec<AnswerColumn>, SchemaRef), QueryError> {
        let dialect = Dialect::Own;
        self.pieces(&Asked { author: Author::Other, dialect, sql, params: &[], scope, files: &[] }, take)
    }

    /// Asks with the whole answer in memory, which is bounded.
    pub(crate) fn whole(&self, asked: &Asked<'_>) -> Result<Answer, QueryError> {
        let mut is_first = true;
        loop {
            let mut batches = Vec::new();
            let mut bytes = 0;
            let outcome = self.pieces(asked, &mut |columns, batch| {
                bytes += weight(columns, &batch);
                batches.push(batch);
                if bytes > LARGEST_ANSWER { Err(QueryError::TooLarge(LARGEST_ANSWER)) } else { Ok(()) }
            });
            match outcome {
                // A cluster was lost in the middle of its answer, of which nothing was passed on yet.
                Err(QueryError::Cluster(_)) if is_first && !batches.is_empty() => is_first = false,
                outcome => {
                    let (columns, schema) = outcome?;
                    return Ok(Answer { columns, schema, batches });
                }
            }
        }
    }

    /// Asks, and hands the answer over batch by batch.
    pub(crate) fn pieces(
        &self,
        asked: &Asked<'_>,
        take: &mut Take<'_>,
    ) -> Result<(Vec<AnswerColumn>, SchemaRef), QueryError> {
        if lex::is_empty(asked.sql) {
            return Err(QueryError::Empty);
        }
        let known = self.known(asked.scope)?;
        let scope = known.as_ref().unwrap_or(asked.scope);
        let pruned = self.prune(asked.sql, scope);
        let scope = pruned.as_ref().unwrap_or(scope);
        let most = self.options.answer_bytes;
        let parts = self.time_parts(asked.sql, scope)?;
        loop {
            let layout = self.store.layout()?;
            let (mut columns, mut bytes) = (None, 0);
            let outcome = self.answers.answer(asked, scope, parts.as_deref(), &mut |batch| {
                let columns = columns.get_or_insert_with(|| columns_of(&batch.schema()));
                bytes += weight(columns, &batch);
                match most.filter(|most| bytes > *most) {
                    Some(most) => Err(QueryError::TooLarge(most)),
                    None => take(columns, batch),
                }
            });
            // Tables moved into files of many runs, or out of them, while this looked for their files.
            let again = columns.is_none() && !matches!(outcome, Ok(_) | Err(QueryError::Interrupted));
            if !again || self.store.layout()? == layout {
                let schema = outcome?;
                return Ok((columns.unwrap_or_else(|| columns_of(&schema)), schema));
            }
        }
    }

    /// Where the time of the runs of `scope` went, for a statement that mentions it.
    fn time_parts(&self, sql: &str, scope: &Scope) -> Result<Option<Vec<Vec<Cell>>>, QueryError> {
        if !Mentions::of(sql).time_parts {
            return Ok(None);
        }
        let told = self.options.time_parts.map(|tell| tell(self, scope)).transpose()?;
        Ok(Some(time_parts::rows(told.unwrap_or_default())))
    }

    /// The part of a scope that the store's handle knows, where that is not all: no run is read that is not named here.
    fn known(&self, scope: &Scope) -> Result<Option<Scope>, QueryError> {
        if !self.store.knows_only_some() {
            return Ok(None);
        }
        let runs = match &scope.runs {
            Some(runs) => runs.iter().filter(|run| self.store.knows(run)).cloned().collect(),
            None => self.store.counted()?.into_iter().map(|run| run.id).collect(),
        };
        Ok(Some(Scope { runs: Some(runs), part: scope.part }))
    }

    /// A narrower scope than all runs, when `sql` itself names a single run.
    fn prune(&self, sql: &str, scope: &Scope) -> Option<Scope> {
        let run = if scope.runs.is_none() { prune::only_run(sql)? } else { return None };
        self.store.run_dir(&run).is_dir().then(|| Scope { runs: Some(vec![run]), part: scope.part })
    }
}

/// Bytes of a batch in memory, also once its cells are values of another kind.
fn weight(columns: &[AnswerColumn], batch: &RecordBatch) -> u64 {
    let cells = (columns.len() * batch.num_rows()) as u64;
    (batch.get_array_memory_size() as u64).max(cells * CELL_BYTES)
}
