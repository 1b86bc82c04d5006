//! A cluster's engine: any server of the protocol Spark Connect, over the same files.
//!
//! A statement in the SQL of questions is parsed by a worker of this machine and written again (`spark/`); one in the
//! cluster's own SQL goes as it is, between parentheses, where nothing but a query can stand. With it go the tables that it
//! mentions (`tables.rs`), so that the cluster keeps nothing between two statements and no command is sent.

use std::{cell::RefCell, sync::Arc};

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fenxi_model::text_at;
use fenxi_query::{
    Interrupt, QueryError, Scope, Value,
    backend::{Answers, Asked, Backend, Dialect, explained as explained_statement, without_end},
};
use fenxi_store::Store;
use fenxi_worker::{Cell, Request, Setup, Workers};

use crate::{
    connect::{self, ConnectError, Plan, Session, Source, Table},
    gate,
    options::ClusterOptions,
    server_message::{ServerMessage, is_no_file},
    spark::{self, Unportable},
    tables,
};

/// The engine of a cluster.
pub(crate) struct Cluster {
    options: ClusterOptions,
    store: Store,
    workers: Workers,
    answer_bytes: Option<u64>,
    /// Who parses.
    parser: RefCell<Option<fenxi_worker::Session>>,
    session: RefCell<Option<Session>>,
    interrupt: Interrupt,
}

impl Backend for ClusterOptions {
    fn open(
        &self,
        workers: Workers,
        store: &Store,
        answer_bytes: Option<u64>,
        interrupt: Interrupt,
    ) -> Box<dyn Answers + Send> {
        Box::new(Cluster {
            options: self.clone(),
            store: store.clone(),
            workers,
            answer_bytes,
            parser: RefCell::default(),
            session: RefCell::default(),
            interrupt,
        })
    }
}

impl fenxi_query::backend::Stops for connect::Stop {
    fn stop(&self) {
        connect::Stop::stop(self);
    }
}

impl Answers for Cluster {
    fn answer(
        &self,
        asked: &Asked<'_>,
        scope: &Scope,
        parts: Option<&[Vec<Cell>]>,
        take: &mut dyn FnMut(RecordBatch) -> Result<(), QueryError>,
    ) -> Result<SchemaRef, QueryError> {
        if !asked.files.is_empty() {
            return Err(QueryError::Engine("files beside the runs are not read by a cluster".to_owned()));
        }
        let (explains, sql) = match explained_statement(asked.sql) {
            Some((true, _)) => {
                return Err(QueryError::NotReadOnly { what: "EXPLAIN ANALYZE in a cluster".to_owned() });
            }
            Some((false, inner)) => (true, inner),
            None => (false, asked.sql),
        };
        let sql = without_end(sql);
        let written = match asked.dialect {
            Dialect::Questions => self.written(sql, asked.params)?,
            Dialect::Own => gate::wrapped(sql)?,
        };
        let mentions = tables::mentions(sql, asked.dialect);
        let mut derived = Vec::with_capacity(mentions.derived.len());
        for view in &mentions.derived {
            derived.push(Table { name: view.name.to_owned(), source: Source::Sql(self.written(view.sql, &[])?) });
        }
        let mut slot = self.session.borrow_mut();
        let session = self.session(&mut slot)?;
        let is_spark = session.is_spark();
        let tables = tables::Tables { store: &self.store, cluster: &self.options, is_spark };
        let mut tables = tables.of(&mentions, scope)?;
        tables.extend(derived);
        tables.extend(parts.map(tables::time_parts).transpose()?);
        let plan = Plan { sql: written, tables };
        let outcome = asked_of(session, &plan, asked.dialect, explains, self.answer_bytes, take);
        if !session.is_fit() || matches!(outcome, Err(QueryError::Cluster(_))) {
            *slot = None;
        }
        outcome.map_err(|e| self.hinted(e, asked.dialect, sql, is_spark))
    }

    fn confined(&self) -> Result<Vec<String>, QueryError> {
        let mut slot = self.session.borrow_mut();
        let session = self.session(&mut slot)?;
        Ok(vec![format!("statements are queries in the cluster {} ({})", self.options.target, session.version())])
    }

    fn reads_files(&self) -> bool {
        false
    }

    fn program(&self) -> Result<Option<String>, QueryError> {
        let mut slot = self.session.borrow_mut();
        let session = self.session(&mut slot)?;
        Ok(Some(format!("{} {}", if session.is_spark() { "spark" } else { "other" }, session.version())))
    }
}

impl Cluster {
    fn session<'a>(&self, slot: &'a mut Option<Session>) -> Result<&'a mut Session, QueryError> {
        // One that was stopped between two statements answers no other.
        if let Some(session) = slot.take().filter(Session::is_fit) {
            self.interrupt.set(session.stop());
            return Ok(slot.insert(session));
        }
        let stop = connect::Stop::default();
        self.interrupt.set(stop.clone());
        Ok(slot.insert(Session::open(&self.options.target, stop)?))
    }

    /// A statement in the SQL of questions, in the cluster's.
    fn written(&self, sql: &str, params: &[(&str, Value)]) -> Result<String, QueryError> {
        let mut slot = self.parser.borrow_mut();
        let mut parser = match slot.take() {
            Some(parser) => parser,
            // It reads nothing at all.
            None => self.workers.session(&Setup { threads: 1, ..Setup::default() })?,
        };
        let tree = parser.request(&Request::Tree(sql.to_owned()));
        if parser.is_fit() {
            *slot = Some(parser);
        }
        let tree = tree.map_err(|e| QueryError::from(e).about(sql))?.tree;
        Ok(spark::write(&tree, params)?)
    }

    /// An error with the way out, where it is known.
    fn hinted(&self, error: QueryError, dialect: Dialect, sql: &str, is_spark: bool) -> QueryError {
        let QueryError::Sql { message: raw, place: None, hint: None } = error else { return error };
        let understood = ServerMessage::of(&raw, (dialect == Dialect::Own).then_some(sql));
        let hint = if is_no_file(&raw, is_spark) {
            let store = tables::store_there(&self.store, &self.options);
            Some(format!(
                "the cluster looks for the store at {store}; `--engine-store PATH` is where it finds it, and every \
                 machine of it must"
            ))
        } else if understood.hint.is_none() && dialect == Dialect::Own {
            Some("a statement for a cluster is written in the cluster's own SQL".to_owned())
        } else {
            understood.hint
        };
        QueryError::Sql { message: understood.message, place: understood.place, hint }
    }
}

impl From<Unportable> for QueryError {
    fn from(Unportable(what): Unportable) -> QueryError {
        QueryError::Sql {
            message: format!("a cluster cannot be asked this: {what}"),
            place: None,
            hint: Some("without `--engine` this machine answers it".to_owned()),
        }
    }
}

impl From<ConnectError> for QueryError {
    fn from(error: ConnectError) -> QueryError {
        match error {
            ConnectError::Refused(message) => QueryError::Sql { message, place: None, hint: None },
            ConnectError::Stopped => QueryError::Interrupted,
            ConnectError::TooLarge(bytes) => QueryError::TooLarge(bytes),
            ConnectError::Io(error) => QueryError::Io(error),
            ConnectError::Unreachable { .. } | ConnectError::BrokenOff { .. } | ConnectError::Malformed(_) => {
                QueryError::Cluster(error.to_string())
            }
        }
    }
}

/// Asks a statement, or how it would be answered.
fn asked_of(
    session: &mut Session,
    plan: &Plan,
    dialect: Dialect,
    explains: bool,
    most: Option<u64>,
    take: &mut dyn FnMut(RecordBatch) -> Result<(), QueryError>,
) -> Result<SchemaRef, QueryError> {
    // The server's own parser knows best what a person's statement calls.
    let looks = dialect == Dialect::Own && session.is_spark();
    let text = if explains || looks { Some(session.explain(plan)?) } else { None };
    if let Some(text) = text.as_deref().filter(|_| looks) {
        gate::looked_through(text)?;
    }
    match text.filter(|_| explains) {
        Some(text) => explained(&text, take),
        None => answered(session, plan, most, take),
    }
}

fn answered(
    session: &mut Session,
    plan: &Plan,
    most: Option<u64>,
    take: &mut dyn FnMut(RecordBatch) -> Result<(), QueryError>,
) -> Result<SchemaRef, QueryError> {
    let schema = session.ask(plan, most, &mut |batch| take(plain(&batch)?))?;
    Ok(plain(&RecordBatch::new_empty(schema))?.schema())
}

/// The plan of a statement as an answer of one column.
fn explained(text: &str, take: &mut dyn FnMut(RecordBatch) -> Result<(), QueryError>) -> Result<SchemaRef, QueryError> {
    let schema = Arc::new(Schema::new(vec![Field::new("plan", DataType::Utf8, false)]));
    let lines: StringArray = text.lines().map(Some).collect();
    take(RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(lines)])?)?;
    Ok(schema)
}

/// A batch whose texts have the one form that everything here knows.
fn plain(batch: &RecordBatch) -> Result<RecordBatch, QueryError> {
    let is_text = |ty: &DataType| matches!(ty, DataType::LargeUtf8 | DataType::Utf8View | DataType::Null);
    let schema = batch.schema();
    if !schema.fields().iter().any(|field| is_text(field.data_type())) {
        return Ok(batch.clone());
    }
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        let column = if is_text(field.data_type()) { texts(column.as_ref())? } else { Arc::clone(column) };
        fields.push(Field::new(field.name(), column.data_type().clone(), true));
        columns.push(column);
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

fn texts(column: &dyn Array) -> Result<ArrayRef, QueryError> {
    let texts = || (0..column.len()).map(|row| text_at(column, row));
    // More than an array of texts can hold.
    let bytes: usize = texts().flatten().map(str::len).sum();
    if i32::try_from(bytes).is_err() {
        return Err(QueryError::TooLarge(i32::MAX as u64));
    }
    Ok(Arc::new(StringArray::from_iter(texts())))
}
