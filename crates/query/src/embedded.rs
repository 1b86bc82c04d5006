//! The embedded engine: which views a statement needs, and the worker that answers it.
//!
//! Fenxi's own statements share one worker; each user statement gets its own, which can read the runs that
//! are asked and is then thrown away ([`fenxi_worker`]).

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use fenxi_model::RunId;
use fenxi_store::Store;
use fenxi_worker::{Cell, Request, Session, Setup, Statement, Workers, message::Explain};

use crate::{
    Interrupt, Options, QueryError, Scope,
    answers::{Answers, Asked, Author, FILES},
    costs, lex, runs, time_parts,
    views::{self, Mentions},
};

/// Tables with at most so many rows are held in memory while many statements read them: nearly all of their time is planning, and most
/// of that is opening files and planning the same views again. Of all tables so many rows are held.
const HELD_ROWS: (u64, u64) = (50_000, 400_000);

/// The engine of this machine.
pub(crate) struct Embedded {
    workers: Workers,
    store: Store,
    options: Options,
    /// The worker of our own statements.
    ours: RefCell<Option<Worker>>,
    interrupt: Interrupt,
}

/// A session, and the runs of its views, by table.
struct Worker {
    session: Session,
    made: BTreeMap<String, Scope>,
    /// Tables that are held in memory, and for which runs.
    held: Vec<String>,
    held_for: Scope,
    /// How many threads work in it.
    threads: usize,
    /// Where tables were when it was started; it may read no file that came since.
    layout: u64,
}

impl Worker {
    /// SQL that drops the tables that are held, unless they are of the runs of `scope`.
    fn let_go(&mut self, scope: Option<&Scope>) -> String {
        if scope == Some(&self.held_for) {
            return String::new();
        }
        let mut ddl = String::new();
        for name in self.held.drain(..) {
            self.made.remove(&name);
            ddl += &format!("DROP TABLE IF EXISTS {};", views::identifier(&name));
        }
        ddl
    }
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
        // One thread is for what is held; a process cannot get more later.
        let threads = slot.as_ref().filter(|worker| worker.held_for == *scope).map_or(self.threads(), |w| w.threads);
        let worker = self.worker(asked.author, slot, (scope, asked.files), layout, threads)?;
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
        let worker = self.worker(Author::Ours, &mut ours, (&Scope::all(), &[]), layout, self.threads())?;
        Ok(worker.session.confined().to_vec())
    }

    fn reads_files(&self) -> bool {
        true
    }

    fn program(&self) -> Result<Option<String>, QueryError> {
        Ok(None)
    }

    fn hold(&self, sql: &str, scope: &Scope) -> Result<(), QueryError> {
        let Some(runs) = scope.runs.as_deref() else { return Ok(()) };
        let mut kept = self.ours.borrow_mut();
        let layout = self.store.layout()?;
        let mentions = Mentions::of(sql);
        let mut rows = Vec::new();
        for name in &mentions.tables {
            rows.push(self.store.files(name, Some(runs))?.iter().map(|file| file.rows).sum::<u64>());
        }
        // Of so few rows nearly all work is planning: more threads only wake each other.
        let is_small = rows.iter().all(|n| *n <= HELD_ROWS.0) && rows.iter().sum::<u64>() <= HELD_ROWS.1;
        let threads = if is_small { 1 } else { self.threads() };
        let worker = self.worker(Author::Ours, &mut kept, (scope, &[]), layout, threads)?;
        let outcome = self.hold_in(worker, &mentions, scope, runs);
        if outcome.is_err() {
            // It is unknown which tables it holds.
            *kept = None;
        }
        outcome
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

    /// The worker for a statement, fresh where there is none that works with so many threads on the tables where they are now.
    fn worker<'a>(
        &self,
        author: Author,
        slot: &'a mut Option<Worker>,
        (scope, files): (&Scope, &[PathBuf]),
        layout: u64,
        threads: usize,
    ) -> Result<&'a mut Worker, QueryError> {
        let worker = match slot.take().filter(|worker| worker.layout == layout && worker.threads == threads) {
            Some(worker) => worker,
            None => {
                let session = self.workers.session(&Setup { threads, ..self.setup(author, scope, files)? })?;
                Worker { session, made: BTreeMap::new(), held: Vec::new(), held_for: Scope::all(), threads, layout }
            }
        };
        self.interrupt.set(worker.session.stop());
        Ok(slot.insert(worker))
    }

    /// Threads of a process: one for each CPU that this process may use, unless there is a bound.
    fn threads(&self) -> usize {
        let cpus = || std::thread::available_parallelism().map_or(2, usize::from);
        self.options.threads.unwrap_or_else(cpus).max(1)
    }

    /// Permissions and limits of the worker of a statement.
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
            threads: self.threads(),
        })
    }

    /// Makes tables in memory of what is small enough, in place of views.
    fn hold_in(
        &self,
        worker: &mut Worker,
        mentions: &Mentions,
        scope: &Scope,
        runs: &[RunId],
    ) -> Result<(), QueryError> {
        let mut ddl = worker.let_go(None);
        let Worker { session, made, held, held_for, .. } = worker;
        let mut make = |name: &str, statement: &str| {
            ddl += &format!("DROP VIEW IF EXISTS {};{statement}", views::identifier(name));
            made.insert(name.to_owned(), scope.clone());
            held.push(name.to_owned());
        };
        let (mut all, mut left) = (BTreeSet::new(), HELD_ROWS.1);
        // Labels may change at any moment.
        for name in mentions.tables.iter().filter(|name| !views::has_labels(name)) {
            let rows: u64 = self.store.files(name, Some(runs))?.iter().map(|file| file.rows).sum();
            if rows <= HELD_ROWS.0.min(left) {
                let select = views::rows(&self.store, name, scope)?;
                make(name, &format!("CREATE TABLE {} AS {select};", views::identifier(name)));
                all.insert(*name);
                left -= rows;
            }
        }
        for view in &mentions.derived {
            let reads = Mentions::of(view.sql);
            if !reads.reads_more() && reads.tables.iter().all(|table| all.contains(table)) {
                make(view.name, &view.table());
            }
        }
        *held_for = scope.clone();
        Ok(session.request(&Request::Run(ddl)).map(|_| ())?)
    }

    /// Makes the views that `sql` needs, unless they exist already.
    fn make_views(&self, worker: &mut Worker, sql: &str, scope: &Scope) -> Result<(), QueryError> {
        let mentions = Mentions::of(sql);
        let gone = worker.let_go(Some(scope));
        let Worker { session, made, held, .. } = worker;
        // Sealed runs do not change, but all runs may become more: only named runs are remembered. Marks are labels, which
        // change at any moment.
        let stands = |made: &BTreeMap<String, Scope>, name: &str| {
            scope.runs.is_some() && made.get(name) == Some(scope) && !views::has_labels(name)
        };
        let mut ddl = gone;
        let plain = mentions.tables.iter().map(|name| (*name).to_owned());
        let apart =
            mentions.apart.iter().flat_map(|schema| mentions.tables.iter().map(move |t| format!("{schema}.{t}")));
        for name in plain.chain(apart).chain(mentions.stats.then(|| "stats".to_owned())) {
            if stands(made, &name) {
                // The view exists, but its files may have changed since.
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
        // Labels, which the table of runs holds besides, may have changed since.
        if mentions.runs {
            requests.extend(runs::fill(&self.store, scope)?);
        }
        if mentions.costs && !stands(made, "cost") {
            requests.extend(costs::fill(&self.store, scope)?);
            made.insert("cost".to_owned(), scope.clone());
        }
        for request in &requests {
            if let Err(e) = session.request(request) {
                made.retain(|name, _| held.contains(name));
                return Err(e.into());
            }
        }
        Ok(())
    }
}
