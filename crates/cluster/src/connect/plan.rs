//! Plans: a statement with all that it reads by name, in one message.
//!
//! Nothing is kept at the server between two statements: tables go with each statement. So a server that was
//! restarted answers the next one as before, and no command is ever sent.

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;

use crate::connect::{ConnectError, proto::Message, response::bad};

/// Named table that a statement reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Where its rows are.
    pub source: Source,
}

/// Where rows are.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// In Parquet files.
    Files {
        /// Columns with their types, as in CREATE TABLE, of which one that a file lacks is NULL there; None for those
        /// of the files.
        schema: Option<String>,
        /// The files, as the server finds them.
        paths: Vec<String>,
        /// The folder below which a folder `name=value` is a column.
        base: Option<String>,
    },
    /// Here.
    Rows(RecordBatch),
    /// Rows that a statement selects from tables that precede this one.
    Sql(String),
}

/// A statement that only reads, and what it reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The statement, in the server's SQL.
    pub sql: String,
    /// Tables that it may name, each after those that it reads itself.
    pub tables: Vec<Table>,
}

impl Plan {
    /// The message that carries it.
    pub(crate) fn message(&self) -> Result<Message, ConnectError> {
        let mut numbers = 0..;
        let mut relation = |field: u32, inner: Message| {
            let common = Message::default().number(2, numbers.next().unwrap_or(0));
            Message::default().message(1, common).message(field, inner)
        };
        let statement = |sql: &str| Message::default().text(1, sql);
        let root = relation(SQL, statement(&self.sql));
        if self.tables.is_empty() {
            return Ok(Message::default().message(1, root));
        }
        let mut all = Message::default().message(1, root);
        for table in &self.tables {
            let rows = match &table.source {
                Source::Files { schema, paths, base } => {
                    let mut files = Message::default().text(1, "parquet");
                    if let Some(schema) = schema {
                        files = files.text(2, schema);
                    }
                    if let Some(base) = base {
                        files = files.entry(3, "basePath", base);
                    }
                    let files = paths.iter().fold(files, |files, path| files.text(4, path));
                    relation(READ, Message::default().message(2, files))
                }
                Source::Rows(rows) => {
                    let stream = stream(rows).map_err(|e| bad(&e.to_string()))?;
                    relation(LOCAL, Message::default().bytes(1, &stream))
                }
                Source::Sql(sql) => relation(SQL, statement(sql)),
            };
            all = all.message(2, relation(ALIAS, Message::default().message(1, rows).text(2, &table.name)));
        }
        Ok(Message::default().message(1, relation(WITH, all)))
    }
}

/// Rows as they are sent.
fn stream(rows: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
    writer.write(rows)?;
    writer.into_inner()
}

/// Kinds of relations, as their fields are numbered.
const READ: u32 = 2;
const SQL: u32 = 10;
const LOCAL: u32 = 11;
const ALIAS: u32 = 16;
const WITH: u32 = 41;
