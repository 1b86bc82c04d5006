//! The embedded engine: which views a statement needs, and the worker that answers it.
//!
//! Statements of Fenxi's own share one worker; each statement of anybody else has one of its own, which can read the runs that
//! are asked and is then thrown away ([`fenxi_worker`]).

use std::{cell::RefCell, collections::BTreeMap, path::PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use fenxi_store::Store;
use fenxi_worker::{Cell, Request, Session, Setup, Statement, Workers, message::Explain};

use crate::{
    Interrupt, Options, QueryError, Scope, costs,
    engine::{Answers, Asked, Author, FILES, Stop},
    lex, runs, time_parts,
    views::{self, Mentions},
};

/// What an engine beside another one may use before it spills, unless a limit was set: it is asked for findings, which are small.
const BESIDE: &str = "1GiB";

/// The engine of this machine.
pub(crate) struct Embedded {
    workers: Workers,
    store: Store,
    options: Options,
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

impl Answers for Embedded {
    fn answer(
        &self,
        asked: &Asked<'_>,
        scope: &Scope,
        parts: Option<&[Vec<Cell>]>,
        take: &mut dyn FnMut(RecordBatch) -> Result<(), QueryError>,
    ) -> Result<SchemaRef, QueryError> {
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
        let layout = self.store.layout()?;
        if slot.as_ref().is_some_and(|worker| worker.layout != layout) {
            *slot = None;
        }
        let worker = self.worker(asked.author, slot, scope, asked.files, layout)?;
        let outcome = self.asked_of(worker, asked, (scope, parts), take);
        if !worker.session.is_fit() {
            *slot = None;
        }
        outcome
    }

    fn confined(&self) -> Result<Vec<String>, QueryError> {
        if let Some(known) = self.workers.confined() {
            return Ok(known.to_vec());
        }
        let mut ours = self.ours.borrow_mut();
        let layout = self.store.layout()?;
        Ok(self.worker(Author::Ours, &mut ours, &Scope::all(), &[], layout)?.session.confined().to_vec())
    }

    fn reads_files(&self) -> bool {
        true
    }

    fn program(&self) -> Result<Option<String>, QueryError> {
        Ok(None)
    }

    fn beside(&self, engines: usize, interrupt: Interrupt) -> Option<Box<dyn Answers + Send>> {
        // Where processes have a bound, it is of all that work for an engine at the same time.
        if self.options.process_bytes.is_some() {
            return None;
        }
        let memory_limit = self.options.memory_limit.clone().or_else(|| Some(BESIDE.to_owned()));
        let threads = Some((self.options.threads.unwrap_or_else(threads) / engines).max(1));
        let options = Options { memory_limit, threads, ..self.options.clone() };
        Some(Box::new(Embedded::new(self.workers.clone(), &self.store, &options, interrupt)))
    }
}

impl Embedded {
    pub(crate) fn new(workers: Workers, store: &Store, options: &Options, interrupt: Interrupt) -> Embedded {
        Embedded { workers, store: store.clone(), options: options.clone(), ours: RefCell::default(), interrupt }
    }

    fn asked_of(
        &self,
        worker: &mut Worker,
        asked: &Asked<'_>,
        (scope, parts): (&Scope, Option<&[Vec<Cell>]>),
        take: &mut dyn FnMut(RecordBatch) -> Result<(), QueryError>,
    ) -> Result<SchemaRef, QueryError> {
        self.make_views(worker, asked.sql, scope)?;
        for request in parts.into_iter().flat_map(time_parts::fill) {
            worker.session.request(&request)?;
        }
        if !asked.files.is_empty() {
            worker.session.request(&Request::Run(views::of_files(FILES, asked.files)))?;
        }
        let (explain, sql) = match lex::explained(asked.sql) {
            Some((true, inner)) => (Explain::Analyze, inner),
            Some((false, inner)) => (Explain::Plan, inner),
            None => (Explain::No, asked.sql),
        };
        let params = asked.params.iter().map(|(name, value)| ((*name).to_owned(), Cell::from(value))).collect();
        let is_ours = asked.author == Author::Ours;
        let statement = Statement { sql: lex::without_end(sql).to_owned(), explain, params, is_ours };
        let asking = worker.session.ask(statement, self.options.answer_bytes, take);
        asking.map_err(|e: QueryError| e.about(sql))
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
        self.interrupt.set(Stop::Worker(worker.session.stop()));
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

    /// Makes the views that `sql` needs, unless they stand already.
    fn make_views(&self, worker: &mut Worker, sql: &str, scope: &Scope) -> Result<(), QueryError> {
        let mentions = Mentions::of(sql);
        let Worker { session, made, .. } = worker;
        // Sealed runs do not change, but all runs may become more: only named runs are remembered. Marks are labels, which
        // change at any moment.
        let stands = |made: &BTreeMap<String, Scope>, name: &str| {
            scope.runs.is_some() && made.get(name) == Some(scope) && !views::has_labels(name)
        };
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
