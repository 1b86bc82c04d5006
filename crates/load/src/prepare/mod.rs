//! Creates, populates and drops the tables of a workload.
//!
//! Tables are filled in parts, each in a transaction that also writes down, in the table [`BOOK`], that the part is there:
//! loading that was cut off goes on where it was, and never has a row twice. Keys and indexes come after the data where asked
//! by the workload; at the end the rows are counted.

mod book;
mod loader;
mod rows;
mod session;

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use thiserror::Error;

pub use self::book::BOOK;
use self::{book::Book, loader::Loader, rows::fingerprint};
use crate::workload::{Program, TablePlan};
use fenxi_wire::{
    client::{Client, ClientError},
    target::Target,
};

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why tables could not be prepared.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// The server refused, or is not there.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A table of other options is there.
    #[error(
        "{table} was created with other options ({found} instead of {wanted}); drop it with `fenxi load cleanup` or use another database"
    )]
    Other {
        /// Its name.
        table: String,
        /// Options that it has.
        found: String,
        /// Options that were wanted.
        wanted: String,
    },
    /// A table has not the rows that were loaded.
    #[error("{table} has {found} rows instead of the {wanted} loaded")]
    Count {
        /// Its name.
        table: String,
        /// Rows there are.
        found: u64,
        /// Rows there should be.
        wanted: u64,
    },
    /// It was interrupted.
    #[error("loading was interrupted; run the same command to resume it")]
    Interrupted,
}

/// Progress of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Rows that are there, with those of an earlier attempt.
    pub rows: u64,
    /// Rows that there will be.
    pub of: u64,
    /// Statements for keys and indexes that are done, when the rows are there.
    pub after: usize,
    /// Of how many.
    pub after_of: usize,
}

/// Result of a preparation.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Tables that are there.
    pub tables: usize,
    /// Rows that are there.
    pub rows: u64,
    /// Rows that were loaded now.
    pub loaded: u64,
    /// Seconds it took.
    pub seconds: f64,
    /// True if rows were inserted by statements because the server takes no data in bulk.
    pub by_statements: bool,
}

/// Makes and fills the tables of a program over several connections.
///
/// # Errors
/// When the server refuses, tables of other options are there, or rows are missing in the end.
pub fn prepare(
    target: &Target,
    program: &Program,
    seed: u64,
    connections: usize,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Prepared, PrepareError> {
    let began = Instant::now();
    let target = target.with_local_files(true);
    let mut client = Client::connect(&target, PATIENCE)?;
    let book = Book::open(&mut client)?;
    let mut loader = Loader::new(&target, program, seed);
    let (mut there, mut of) = (0, 0);
    for table in &program.tables {
        create(&mut client, &book, table, seed)?;
        of += table.rows;
        let set = session::character_set(&mut client, program.dialect, table)?;
        there += loader.plan(&book, table, set);
    }
    loader.run(connections, of, watch)?;
    for table in &program.tables {
        count(&mut client, table)?;
        Book::settle(&mut client, &table.name)?;
    }
    let rows = loader.rows();
    Ok(Prepared {
        tables: program.tables.len(),
        rows,
        loaded: rows - there,
        seconds: began.elapsed().as_secs_f64(),
        by_statements: loader.by_statements(),
    })
}

/// Removes the tables of a program; how many there were.
///
/// # Errors
/// When the server refuses.
pub fn cleanup(target: &Target, program: &Program) -> Result<usize, PrepareError> {
    let mut client = Client::connect(target, PATIENCE)?;
    let mut removed = 0;
    for table in &program.tables {
        removed += usize::from(exists(&mut client, &table.name)?);
        client.run(&format!("DROP TABLE IF EXISTS {}", table.name))?;
    }
    if exists(&mut client, BOOK)? {
        Book::forget(&mut client, program.tables.iter().map(|table| table.name.as_str()))?;
    }
    Ok(removed)
}

/// The first table of a program that is not in the database.
///
/// # Errors
/// When the server cannot be asked.
pub fn missing<'a>(client: &mut Client, program: &'a Program) -> Result<Option<&'a str>, ClientError> {
    for table in &program.tables {
        if !exists(client, &table.name)? {
            return Ok(Some(&table.name));
        }
    }
    Ok(None)
}

fn exists(client: &mut Client, table: &str) -> Result<bool, ClientError> {
    match client.run(&format!("SELECT 1 FROM {table} WHERE 1 = 0")) {
        Ok(_) => Ok(true),
        // undefined_table, and MySQL's ER_NO_SUCH_TABLE.
        Err(error) if error.server().is_some_and(|e| e.sqlstate() == "42P01" || e.number == 1146) => Ok(false),
        Err(error) => Err(error),
    }
}

fn create(client: &mut Client, book: &Book, table: &TablePlan, seed: u64) -> Result<(), PrepareError> {
    let wanted = fingerprint(table, seed);
    match book.table(&table.name) {
        Some(found) if found == wanted => return Ok(()),
        // The last attempt ended while it made the table.
        Some("making") => drop(client.run(&format!("DROP TABLE IF EXISTS {}", table.name))?),
        Some(found) => {
            return Err(PrepareError::Other { table: table.name.clone(), found: found.to_owned(), wanted });
        }
        None => Book::note_table(client, &table.name, "making")?,
    }
    for sql in &table.create {
        if let Err(error) = client.run(sql) {
            // A table that was there before must not be dropped the next time.
            Book::forget(client, std::iter::once(table.name.as_str()))?;
            return Err(error.into());
        }
    }
    Ok(Book::note_table(client, &table.name, &wanted)?)
}

fn count(client: &mut Client, table: &TablePlan) -> Result<(), PrepareError> {
    let found = client.number(&format!("SELECT count(*) FROM {}", table.name))?;
    let found = found.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    if found == table.rows {
        return Ok(());
    }
    Err(PrepareError::Count { table: table.name.clone(), found, wanted: table.rows })
}
