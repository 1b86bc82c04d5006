//! SQL over the runs of a store: which views a statement needs, and the worker that answers it.
//!
//! Nothing is executed here. Statements of Fenxi's own share one worker; each statement of anybody else has one of its own,
//! which can read the runs that are asked and is then thrown away ([`fenxi_worker`]).

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use fenxi_model::RunId;
use fenxi_store::Store;
use fenxi_worker::{Cell, Request, Session, Setup, Statement, Stop, Workers, message::Explain};

use crate::{
    Answer, AnswerColumn, QueryError, Value,
    answer::columns_of,
    costs, lex, program, prune, runs,
    views::{self, Mentions},
};

/// From so many rows on, binning them takes longer than people like to wait.
const COARSE_FROM: u64 = 2_000_000;
/// Bytes of an answer that is held in memory whole, unless another bound is set.
const LARGEST_ANSWER: u64 = 1 << 30;
/// The table of the files that go with a statement.
pub(crate) const FILES: &str = "fenxi.files";
/// What a cell takes at least once it is more than Arrow's bits.
const CELL_BYTES: u64 = 32;

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
    /// Threads; None for one per CPU.
    pub threads: Option<usize>,
    /// Rows of a table from which on coarse bins of it are kept in the store's cache, made of so many rows at a
    /// time; None for two million.
    pub coarse_from: Option<u64>,
    /// The folder below which it spills; None for the system's temporary one.
    pub temp_dir: Option<PathBuf>,
    /// What it may spill, as `4GB`; None for nearly all that is free there.
    pub spill_limit: Option<String>,
    /// Whether questions that runs bring with them are asked.
    pub carried: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_limit: None,
            process_bytes: None,
            answer_bytes: None,
            threads: None,
            coarse_from: None,
            temp_dir: None,
            spill_limit: None,
            carried: true,
        }
    }
}

/// Which runs a query sees, and which part of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// These runs only; None for all.
    pub runs: Option<Vec<RunId>>,
    /// The same stretch of each of them; None for the whole.
    pub part: Option<Part>,
}

/// A stretch of a run, in microseconds since its begin; an end that is open is the run's own.
///
/// A row belongs to it when the middle of its interval lies within.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its begin.
    pub from_us: Option<i64>,
    /// Its end.
    pub to_us: Option<i64>,
}

impl Scope {
    /// All runs of the store.
    pub fn all() -> Scope {
        Scope::default()
    }

    /// Only `runs`.
    pub fn of(runs: impl IntoIterator<Item = RunId>) -> Scope {
        Scope { runs: Some(runs.into_iter().collect()), part: None }
    }

    /// Of these runs only the time from `from` to `to`, in seconds since each run's begin.
    #[must_use]
    pub fn between(self, from: Option<f64>, to: Option<f64>) -> Scope {
        let micros = |s: f64| (s * 1e6).round() as i64;
        let part = Part { from_us: from.map(micros), to_us: to.map(micros) };
        Scope { part: Some(part).filter(|p| *p != Part::default()), ..self }
    }

    /// Only those of its runs that are among `runs`.
    #[must_use]
    pub(crate) fn within(&self, runs: &[RunId]) -> Scope {
        let kept = match &self.runs {
            None => runs.to_vec(),
            Some(own) => own.iter().filter(|id| runs.contains(id)).cloned().collect(),
        };
        Scope { runs: Some(kept), part: self.part }
    }
}

/// Who wrote a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// We did: its worker is kept for the next one.
    Ours,
    /// Anybody else: it has a worker of its own, which sees the runs asked for and is thrown away.
    Other,
}

/// A statement and what it may see.
pub(crate) struct Asked<'a> {
    pub author: Author,
    pub sql: &'a str,
    pub params: &'a [(&'a str, Value)],
    pub scope: &'a Scope,
    /// Parquet files that it may read besides, as the table [`FILES`].
    pub files: &'a [PathBuf],
}

/// Stops the query that an engine runs, from another thread.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Mutex<Option<Stop>>>);

impl Interrupt {
    /// Stops the query in flight, whatever it does; it ends with [`QueryError::Interrupted`].
    pub fn interrupt(&self) {
        if let Some(stop) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            stop.stop();
        }
    }

    fn set(&self, stop: Stop) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
    }
}

/// SQL over the runs of one store. One engine serves one request at a time.
pub struct Engine {
    workers: Workers,
    store: Store,
    pub(crate) options: Options,
    /// Rows of a table from which on coarse bins of it are kept.
    pub(crate) coarse_from: u64,
    /// The worker of our own statements.
    ours: RefCell<Option<Worker>>,
    interrupt: Interrupt,
}

/// A session, and for which runs its views stand, by table.
struct Worker {
    session: Session,
    made: BTreeMap<String, Scope>,
    /// Where tables were when it was started; it may read no file that came since.
    layout: u64,
}

/// What [`Engine::each`] hands batches to, with the columns they have.
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

    /// An engine on `store` that shares `workers` with others.
    pub fn with(workers: Workers, store: &Store, options: &Options) -> Engine {
        Engine {
            workers,
            store: store.clone(),
            options: options.clone(),
            coarse_from: options.coarse_from.unwrap_or(COARSE_FROM),
            ours: RefCell::default(),
            interrupt: Interrupt::default(),
        }
    }

    /// The store that is asked.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A handle to stop a query from another thread.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// What confines the processes that answer, in words.
    ///
    /// # Errors
    /// When none can be had.
    pub fn confined(&self) -> Result<Vec<String>, QueryError> {
        if let Some(known) = self.workers.confined() {
            return Ok(known.to_vec());
        }
        let mut ours = self.ours.borrow_mut();
        let layout = self.store.layout()?;
        Ok(self.worker(Author::Ours, &mut ours, &Scope::all(), &[], layout)?.session.confined().to_vec())
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
        self.whole(&Asked { author: Author::Other, sql, params, scope, files: &[] })
    }

    /// Answers a statement of Fenxi's own: no part of its text may come from anybody else, but values of `params`.
    ///
    /// # Errors
    /// As [`Engine::query`].
    pub fn ours(&self, sql: &str, params: &[(&str, Value)], scope: &Scope) -> Result<Answer, QueryError> {
        self.whole(&Asked { author: Author::Ours, sql, params, scope, files: &[] })
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
        self.pieces(&Asked { author: Author::Other, sql, params, scope, files: &[] }, take)
    }

    /// Asks with the whole answer in memory, which is bounded.
    pub(crate) fn whole(&self, asked: &Asked<'_>) -> Result<Answer, QueryError> {
        let mut batches = Vec::new();
        let mut bytes = 0;
        let (columns, schema) = self.pieces(asked, &mut |columns, batch| {
            bytes += weight(columns, &batch);
            batches.push(batch);
            if bytes > LARGEST_ANSWER { Err(QueryError::TooLarge(LARGEST_ANSWER)) } else { Ok(()) }
        })?;
        Ok(Answer { columns, schema, batches })
    }

    /// Asks, and hands the answer over batch by batch.
    pub(crate) fn pieces(
        &self,
        asked: &Asked<'_>,
        take: &mut Take<'_>,
    ) -> Result<(Vec<AnswerColumn>, SchemaRef), QueryError> {
        let mut kept = self.ours.borrow_mut();
        let mut own = None;
        let slot = match asked.author {
            Author::Ours => &mut *kept,
            Author::Other => {
                // Of one engine only one process uses memory.
                *kept = None;
                &mut own
            }
        };
        let pruned = self.prune(asked.sql, asked.scope);
        let scope = pruned.as_ref().unwrap_or(asked.scope);
        loop {
            let layout = self.store.layout()?;
            if slot.as_ref().is_some_and(|worker| worker.layout != layout) {
                *slot = None;
            }
            let mut taken = false;
            let worker = self.worker(asked.author, slot, scope, asked.files, layout)?;
            let outcome = self.asked_of(worker, asked, scope, &mut |columns, batch| {
                taken = true;
                take(columns, batch)
            });
            if !worker.session.is_fit() {
                *slot = None;
            }
            // Tables moved into files of many runs, or out of them, while this looked for their files.
            let again = !taken && !matches!(outcome, Ok(_) | Err(QueryError::Interrupted));
            if !again || self.store.layout()? == layout {
                return outcome;
            }
            *slot = None;
        }
    }

    fn asked_of(
        &self,
        worker: &mut Worker,
        asked: &Asked<'_>,
        scope: &Scope,
        take: &mut Take<'_>,
    ) -> Result<(Vec<AnswerColumn>, SchemaRef), QueryError> {
        if lex::is_empty(asked.sql) {
            return Err(QueryError::Empty);
        }
        self.make_views(worker, asked.sql, scope)?;
        if !asked.files.is_empty() {
            worker.session.request(&Request::Run(views::of_files(FILES, asked.files)))?;
        }
        let (explain, sql) = match lex::explained(asked.sql) {
            Some((true, inner)) => (Explain::Analyze, inner),
            Some((false, inner)) => (Explain::Plan, inner),
            None => (Explain::No, asked.sql),
        };
        let params = asked.params.iter().map(|(name, value)| ((*name).to_owned(), Cell::from(value))).collect();
        let statement = Statement { sql: lex::without_end(sql).to_owned(), explain, params };
        let most = self.options.answer_bytes;
        let (mut columns, mut bytes) = (None, 0);
        let schema = worker
            .session
            .ask(statement, most, &mut |batch| {
                let columns = columns.get_or_insert_with(|| columns_of(&batch.schema()));
                bytes += weight(columns, &batch);
                match most.filter(|most| bytes > *most) {
                    Some(most) => Err(QueryError::TooLarge(most)),
                    None => take(columns, batch),
                }
            })
            .map_err(|e: QueryError| e.about(sql))?;
        Ok((columns.unwrap_or_else(|| columns_of(&schema)), schema))
    }

    /// The worker for a statement, fresh where there is none.
    fn worker<'a>(
        &self,
        author: Author,
        slot: &'a mut Option<Worker>,
        scope: &Scope,
        files: &[PathBuf],
        layout: u64,
    ) -> Result<&'a mut Worker, QueryError> {
        let worker = match slot.take() {
            Some(worker) => worker,
            None => {
                let session = self.workers.session(&self.setup(author, scope, files)?)?;
                Worker { session, made: BTreeMap::new(), layout }
            }
        };
        self.interrupt.set(worker.session.stop());
        Ok(slot.insert(worker))
    }

    /// What the worker of a statement may use.
    fn setup(&self, author: Author, scope: &Scope, files: &[PathBuf]) -> Result<Setup, QueryError> {
        let whole = author == Author::Ours || scope.runs.is_none();
        let (mut read_dirs, mut read_files) = (Vec::new(), files.to_vec());
        if whole {
            read_dirs.extend([self.store.path().join("runs"), self.store.compacted_dir()]);
        } else {
            let runs = scope.runs.as_deref().unwrap_or_default();
            read_dirs.extend(runs.iter().map(|id| self.store.run_dir(id)));
            for file in self.store.shared_files(runs)? {
                let canonical = fs_err::canonicalize(&file).ok().filter(|real| *real != file);
                read_files.extend(canonical.into_iter().chain([file]));
            }
        }
        if author == Author::Ours {
            // Coarse bins that are made on the way are read by statements after.
            read_dirs.push(self.store.path().join("cache"));
        }
        read_dirs.retain(|dir| dir.is_dir());
        let mut real = Vec::with_capacity(2 * read_dirs.len());
        for dir in read_dirs {
            // Under both names: views have the store's own, the engine compares what that leads to.
            let canonical = fs_err::canonicalize(&dir)?;
            if canonical != dir {
                real.push(canonical);
            }
            real.push(dir);
        }
        Ok(Setup {
            read_dirs: real,
            read_files,
            spill: None,
            spill_limit: self.options.spill_limit.clone(),
            memory_limit: self.options.memory_limit.clone(),
            data_bytes: self.options.process_bytes,
            threads: self.options.threads.unwrap_or_else(threads),
        })
    }

    /// A narrower scope than all runs, when `sql` itself says that it concerns one run only.
    fn prune(&self, sql: &str, scope: &Scope) -> Option<Scope> {
        let run = if scope.runs.is_none() { prune::only_run(sql)? } else { return None };
        self.store.run_dir(&run).is_dir().then(|| Scope { runs: Some(vec![run]), part: scope.part })
    }

    /// Makes the views that `sql` needs, unless they stand already.
    fn make_views(&self, worker: &mut Worker, sql: &str, scope: &Scope) -> Result<(), QueryError> {
        let mentions = Mentions::of(sql);
        let Worker { session, made, .. } = worker;
        // Sealed runs do not change, but all runs may become more: only named runs are remembered.
        let stands = |made: &BTreeMap<String, Scope>, name: &str| scope.runs.is_some() && made.get(name) == Some(scope);
        let mut ddl = String::new();
        let plain = mentions.tables.iter().map(|name| (*name).to_owned());
        let apart =
            mentions.apart.iter().flat_map(|schema| mentions.tables.iter().map(move |t| format!("{schema}.{t}")));
        for name in plain.chain(apart).chain(mentions.stats.then(|| "stats".to_owned())) {
            if stands(made, &name) {
                // The view stands, but its files may have changed since.
                self.store.check(&self.store.files(&name, scope.runs.as_deref())?)?;
            } else {
                ddl += &views::view(&self.store, &name, scope)?;
                made.insert(name, scope.clone());
            }
        }
        for view in mentions.derived.iter().filter(|view| !stands(made, view.name)) {
            ddl += &view.view();
        }
        made.extend(mentions.derived.iter().map(|view| (view.name.to_owned(), scope.clone())));
        let mut requests = Vec::new();
        if !ddl.is_empty() {
            requests.push(Request::Run(ddl));
        }
        // What the table holds besides, labels, may have changed since.
        if mentions.runs {
            requests.extend(runs::fill(&self.store, scope)?);
        }
        if mentions.costs && !stands(made, "cost") {
            requests.extend(costs::fill(&self.store, scope)?);
            made.insert("cost".to_owned(), scope.clone());
        }
        for request in &requests {
            if let Err(e) = session.request(request) {
                made.clear();
                return Err(e.into());
            }
        }
        Ok(())
    }
}

/// One for each CPU that this process may use.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// What a batch takes in memory, also once its cells are values of another kind.
fn weight(columns: &[AnswerColumn], batch: &RecordBatch) -> u64 {
    let cells = (columns.len() * batch.num_rows()) as u64;
    (batch.get_array_memory_size() as u64).max(cells * CELL_BYTES)
}
