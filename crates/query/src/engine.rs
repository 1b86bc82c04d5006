//! The engine: DuckDB in memory, locked to the store's files, read-only.

use std::{cell::RefCell, collections::BTreeMap, path::PathBuf, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use duckdb::{Connection, ToSql};
use fenxi_model::RunId;
use fenxi_store::{APART, Store};

use crate::{
    Answer, AnswerColumn, QueryError, Value,
    answer::columns_of,
    costs,
    gate::Gate,
    prune, runs,
    views::{self, Mentions, literal},
};

/// Engine-specific SQL under names of our own, in one place.
///
/// `wmean(x, dt)` is the mean of `x` over time: NULL values take no time with them.
const MACROS: &str = "
CREATE MACRO wmean(x, dt) AS sum(x * dt) / nullif(sum(dt) FILTER (x IS NOT NULL), 0);
CREATE MACRO approx_percentile(x, q) AS approx_quantile(x, q);";

/// From so many rows on, binning them takes longer than people like to wait.
const COARSE_FROM: u64 = 2_000_000;

/// Bounds of what a query may use.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Memory before the engine spills to disk, as `2GB`; None for four fifths of the machine's.
    pub memory_limit: Option<String>,
    /// Threads; None for one per CPU.
    pub threads: Option<usize>,
    /// Rows of a table from which on coarse bins of it are kept in the store's cache, made of so many rows at a
    /// time; None for two million.
    pub coarse_from: Option<u64>,
    /// Where it spills; None for a folder of this process under the system's temporary one.
    pub temp_dir: Option<PathBuf>,
    /// What it may spill, as `4GB`; None for nearly all that is free there.
    pub spill_limit: Option<String>,
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
}

/// Stops the query that an engine runs, from another thread.
#[derive(Clone)]
pub struct Interrupt(Arc<duckdb::InterruptHandle>);

impl Interrupt {
    /// Stops the query in flight; it ends with [`QueryError::Interrupted`].
    pub fn interrupt(&self) {
        self.0.interrupt();
    }
}

/// SQL over the runs of one store. One engine serves one request at a time.
pub struct Engine {
    // The connection first: fields are dropped in this order, and the gate holds the database.
    con: Connection,
    gate: Gate,
    store: Store,
    /// Rows of a table from which on coarse bins of it are kept.
    pub(crate) coarse_from: u64,
    /// For which runs the views stand, by table.
    made: RefCell<BTreeMap<String, Scope>>,
}

/// What [`Engine::each`] hands batches to, with the columns they have.
pub type Take<'a> = dyn FnMut(&[AnswerColumn], RecordBatch) -> Result<(), QueryError> + 'a;

impl Engine {
    /// Starts an engine on `store`.
    ///
    /// # Errors
    /// When the engine refuses its settings or the store's path is not there.
    pub fn open(store: &Store, options: &Options) -> Result<Engine, QueryError> {
        let temp_dir = options
            .temp_dir
            .clone()
            .unwrap_or_else(|| std::env::temp_dir().join(format!("fenxi-sql-{}", std::process::id())));
        let mut settings = vec![
            ("temp_directory", temp_dir.to_string_lossy().into_owned()),
            ("autoinstall_known_extensions", "false".to_owned()),
            ("autoload_known_extensions", "false".to_owned()),
            ("allow_community_extensions", "false".to_owned()),
        ];
        settings.extend(options.memory_limit.clone().map(|m| ("memory_limit", m)));
        settings.extend(options.spill_limit.clone().map(|m| ("max_temp_directory_size", m)));
        settings.extend(options.threads.map(|n| ("threads", n.max(1).to_string())));
        let gate = Gate::open(&settings)?;
        let con = gate.connect()?;
        // Sealed runs never change: what stands at the end of their files is read once. The lock comes last: after
        // it no setting can be changed, not by ourselves either.
        let schemas: String = APART.iter().map(|schema| format!("CREATE SCHEMA {schema}; ")).collect();
        let store_path = fs_err::canonicalize(store.path())?;
        con.execute_batch(&format!(
            "SET GLOBAL TimeZone = 'UTC'; SET parquet_metadata_cache = true; {MACROS} {schemas}
             SET allowed_directories = [{}, {}]; SET enable_external_access = false; SET lock_configuration = true;",
            literal(&store_path.to_string_lossy()),
            literal(&store.path().to_string_lossy()),
        ))
        .map_err(|e| QueryError::from_engine(&e))?;
        let coarse_from = options.coarse_from.unwrap_or(COARSE_FROM);
        Ok(Engine { con, gate, store: store.clone(), coarse_from, made: RefCell::default() })
    }

    /// The store that is asked.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A handle to stop a query from another thread.
    pub fn interrupt(&self) -> Interrupt {
        Interrupt(self.con.interrupt_handle())
    }

    /// Answers `sql` over the runs of `scope`, with the whole answer in memory.
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
        let mut batches = Vec::new();
        let (columns, schema) = self.each(sql, params, scope, &mut |_, batch| {
            batches.push(batch);
            Ok(())
        })?;
        Ok(Answer { columns, schema, batches })
    }

    /// Hands the answer over batch by batch, so that it may be larger than memory.
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
        self.make_views(sql, scope)?;
        let sql = self.gate.check(sql)?;
        let engine = |e: duckdb::Error| QueryError::from_engine(&e);
        let mut statement = self.con.prepare(&sql).map_err(engine)?;
        let bound: Vec<(&str, &dyn ToSql)> = params.iter().map(|(k, v)| (*k, v as &dyn ToSql)).collect();
        // The iterator that this gives panics when the engine fails half-way: go by steps instead.
        drop(statement.stream_arrow(bound.as_slice()).map_err(engine)?);
        let schema = statement.schema();
        let columns = columns_of(&schema);
        while let Some(rows) = statement.step().map_err(engine)? {
            take(&columns, RecordBatch::try_new(schema.clone(), rows.columns().to_vec())?)?;
        }
        Ok((columns, schema))
    }

    /// A narrower scope than all runs, when `sql` itself says that it concerns one run only.
    fn prune(&self, sql: &str, scope: &Scope) -> Option<Scope> {
        let run = if scope.runs.is_none() { prune::only_run(sql)? } else { return None };
        self.store.run_dir(&run).is_dir().then(|| Scope { runs: Some(vec![run]), part: scope.part })
    }

    /// Lets only reading through: gives the SQL to run, or says why not.
    pub(crate) fn check(&self, sql: &str) -> Result<String, QueryError> {
        self.gate.check(sql)
    }

    /// Runs a statement of our own.
    pub(crate) fn run(&self, sql: &str) -> Result<(), QueryError> {
        self.con.execute_batch(sql).map_err(|e| QueryError::from_engine(&e))
    }

    /// Makes the views that `sql` needs, unless they stand already.
    pub(crate) fn make_views(&self, sql: &str, scope: &Scope) -> Result<(), QueryError> {
        let mentions = Mentions::of(sql);
        let pruned = self.prune(sql, scope);
        let scope = pruned.as_ref().unwrap_or(scope);
        let mut made = self.made.borrow_mut();
        // Sealed runs do not change, but all runs may become more: only named runs are remembered.
        let stands = |made: &BTreeMap<String, Scope>, name: &str| scope.runs.is_some() && made.get(name) == Some(scope);
        let mut ddl = String::new();
        let plain = mentions.tables.iter().map(|name| (*name).to_owned());
        let apart =
            mentions.apart.iter().flat_map(|schema| mentions.tables.iter().map(move |t| format!("{schema}.{t}")));
        for name in plain.chain(apart).chain(mentions.stats.then(|| "stats".to_owned())) {
            if !stands(&made, &name) {
                ddl += &views::view(&self.store, &name, scope)?;
                made.insert(name, scope.clone());
            }
        }
        if !ddl.is_empty()
            && let Err(e) = self.con.execute_batch(&ddl)
        {
            made.clear();
            return Err(QueryError::from_engine(&e));
        }
        if mentions.runs && !stands(&made, "runs") {
            runs::fill(&self.con, &self.store, scope)?;
            made.insert("runs".to_owned(), scope.clone());
        }
        if mentions.costs && !stands(&made, "cost") {
            costs::fill(&self.con, &self.store, scope)?;
            made.insert("cost".to_owned(), scope.clone());
        }
        Ok(())
    }
}
