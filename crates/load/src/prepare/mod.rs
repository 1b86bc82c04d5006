//! Creates, populates and drops the tables of a workload.
//!
//! Tables are filled in parts, each in a transaction that also writes down, in the table [`BOOK`], that the part is there:
//! loading that was cut off goes on where it was, and never has a row twice. Keys and indexes come after the data where the
//! workload says so; at the end the rows are counted.

mod book;
mod rows;
mod session;

use std::{
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use thiserror::Error;

pub use self::book::BOOK;
use self::{
    book::Book,
    rows::{Form, RowMaker, fingerprint},
};
use crate::{
    client::{Client, ClientError},
    target::Target,
    wire::Dialect,
    workload::{Program, TablePlan},
};

/// Rows that are loaded in one transaction.
const PART_ROWS: u64 = 50_000;
/// Rows of one INSERT, where the server takes no data in bulk.
const INSERT_ROWS: u64 = 500;
/// Bytes that are made before they are sent.
const BUFFER: usize = 256 << 10;
/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often progress is told.
const TICK: Duration = Duration::from_millis(200);

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
        /// What it has.
        found: String,
        /// What was wanted.
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

/// How far loading has come.
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

/// What was done.
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
    /// Whether rows were inserted by statements because the server takes no data in bulk.
    pub by_statements: bool,
}

/// A part of a table.
#[derive(Clone, Copy, Debug)]
struct Part {
    table: usize,
    /// Its number among the parts of the table.
    number: u64,
    /// From the first row to the last one.
    first: u64,
    last: u64,
}

/// What threads of loading share.
struct Loader<'a> {
    target: &'a Target,
    program: &'a Program,
    seed: u64,
    parts: Vec<Part>,
    after: Vec<(usize, usize)>,
    /// For each table, the character set in which MySQL is to take its rows.
    character_sets: Vec<String>,
    next: AtomicUsize,
    rows: AtomicU64,
    done: AtomicUsize,
    stop: AtomicBool,
    by_statements: AtomicBool,
    failed: Mutex<Option<PrepareError>>,
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
    let mut loader = Loader {
        target: &target,
        program,
        seed,
        parts: Vec::new(),
        after: Vec::new(),
        character_sets: Vec::new(),
        next: AtomicUsize::new(0),
        rows: AtomicU64::new(0),
        done: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        by_statements: AtomicBool::new(false),
        failed: Mutex::new(None),
    };
    let (mut there, mut of) = (0, 0);
    for (place, table) in program.tables.iter().enumerate() {
        create(&mut client, &book, table, seed)?;
        of += table.rows;
        there += loader.plan(&book, place, table);
        loader.character_sets.push(session::character_set(&mut client, program.dialect, table)?);
    }
    // Connections that fill one table of MySQL's wait for each other: its numbers are drawn by one at a time. What does not
    // wait, INSERT by statements or in bulk, was slower with two connections than LOAD DATA with one (MariaDB 10.11).
    loader.parts.sort_by_key(|part| (part.number, part.table));
    loader.rows.store(there, Ordering::Relaxed);
    let after_of = loader.after.len();
    let mut tell = |after| watch(Progress { rows: loader.rows.load(Ordering::Relaxed), of, after, after_of });
    loader.in_threads(connections, loader.parts.len(), &mut || tell(0), &|client, n| loader.load(client, n))?;
    loader.next.store(0, Ordering::Relaxed);
    let mut tell = || tell(loader.done.load(Ordering::Relaxed));
    loader.in_threads(connections, after_of, &mut tell, &|client, n| loader.finish(client, n))?;
    for table in &program.tables {
        count(&mut client, table)?;
        Book::settle(&mut client, &table.name)?;
    }
    let rows = loader.rows.load(Ordering::Relaxed);
    Ok(Prepared {
        tables: program.tables.len(),
        rows,
        loaded: rows - there,
        seconds: began.elapsed().as_secs_f64(),
        by_statements: loader.by_statements.load(Ordering::Relaxed),
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
            // A table that was there before is nobody's to drop the next time.
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

impl Loader<'_> {
    /// Plans what is left to do for a table; rows that are there.
    fn plan(&mut self, book: &Book, place: usize, table: &TablePlan) -> u64 {
        let mut there = 0;
        for number in 0..table.rows.div_ceil(PART_ROWS) {
            let first = number * PART_ROWS + 1;
            let last = (first + PART_ROWS - 1).min(table.rows);
            if book.has_part(&table.name, number) {
                there += last + 1 - first;
            } else {
                self.parts.push(Part { table: place, number, first, last });
            }
        }
        let left = (0..table.after.len()).filter(|n| !book.has_after(&table.name, *n));
        self.after.extend(left.map(|n| (place, n)));
        there
    }

    /// Does `count` things in threads, each with a connection of its own, and tells meanwhile how far it is.
    fn in_threads(
        &self,
        connections: usize,
        count: usize,
        tell: &mut dyn FnMut() -> ControlFlow<()>,
        act: &(dyn Fn(&mut Client, usize) -> Result<(), PrepareError> + Sync),
    ) -> Result<(), PrepareError> {
        let (sender, ended) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            for _ in 0..connections.clamp(1, count.max(1)) {
                let sender = sender.clone();
                scope.spawn(move || {
                    if let Err(error) = self.go_through(count, act) {
                        self.stop.store(true, Ordering::Relaxed);
                        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                    drop(sender);
                });
            }
            drop(sender);
            // The channel closes when the last thread ends.
            while ended.recv_timeout(TICK) == Err(mpsc::RecvTimeoutError::Timeout) {
                if tell().is_break() {
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
        });
        let _ = tell();
        match self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None if self.stop.load(Ordering::Relaxed) => Err(PrepareError::Interrupted),
            None => Ok(()),
        }
    }

    fn go_through(
        &self,
        count: usize,
        act: &(dyn Fn(&mut Client, usize) -> Result<(), PrepareError> + Sync),
    ) -> Result<(), PrepareError> {
        let mut client = None;
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            if client.is_none() {
                client = Some(session::open(self.target)?);
            }
            if let Some(client) = &mut client {
                act(client, number)?;
            }
        }
        Ok(())
    }

    /// Loads a part, and notes it in the same transaction.
    fn load(&self, client: &mut Client, number: usize) -> Result<(), PrepareError> {
        let part = self.parts[number];
        let table = &self.program.tables[part.table];
        client.run("BEGIN")?;
        let bulk = !self.by_statements.load(Ordering::Relaxed);
        let affected = match if bulk { self.copy(client, table, part) } else { self.insert(client, table, part) } {
            // The server takes no local data: ER_NOT_ALLOWED_COMMAND, ER_CLIENT_LOCAL_FILES_DISABLED.
            Err(error) if bulk && error.server().is_some_and(|e| matches!(e.number, 1148 | 3948 | 4166)) => {
                self.by_statements.store(true, Ordering::Relaxed);
                self.insert(client, table, part)?
            }
            result => result?,
        };
        let wanted = part.last + 1 - part.first;
        if affected != wanted {
            return Err(PrepareError::Count { table: table.name.clone(), found: affected, wanted });
        }
        Book::note_part(client, &table.name, part.number, affected)?;
        client.run("COMMIT")?;
        self.rows.fetch_add(affected, Ordering::Relaxed);
        Ok(())
    }

    fn copy(&self, client: &mut Client, table: &TablePlan, part: Part) -> Result<u64, ClientError> {
        let (name, columns) = (&table.name, table.columns.join(", "));
        let sql = match self.program.dialect {
            Dialect::Postgres => format!("COPY {name} ({columns}) FROM STDIN"),
            Dialect::Mysql => {
                let set = &self.character_sets[part.table];
                format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {name} CHARACTER SET {set} ({columns})")
            }
        };
        let mut maker = RowMaker::new(table, self.seed);
        let mut row = part.first;
        let reply = client.copy(&sql, &mut |out| {
            while row <= part.last && out.len() < BUFFER {
                maker.write(row, Form::Lines, out);
                row += 1;
            }
        })?;
        Ok(reply.affected)
    }

    fn insert(&self, client: &mut Client, table: &TablePlan, part: Part) -> Result<u64, ClientError> {
        let mut maker = RowMaker::new(table, self.seed);
        let (mut row, mut affected) = (part.first, 0);
        while row <= part.last {
            let mut sql = format!("INSERT INTO {} ({}) VALUES ", table.name, table.columns.join(", ")).into_bytes();
            let end = (row + INSERT_ROWS - 1).min(part.last);
            for number in row..=end {
                if number > row {
                    sql.push(b',');
                }
                maker.write(number, Form::Values, &mut sql);
            }
            affected += client.run(&String::from_utf8_lossy(&sql))?.affected;
            row = end + 1;
        }
        Ok(affected)
    }

    /// Runs a statement for a filled table, and notes it.
    fn finish(&self, client: &mut Client, number: usize) -> Result<(), PrepareError> {
        let (place, statement) = self.after[number];
        let table = &self.program.tables[place];
        client.run(&table.after[statement])?;
        Book::note_after(client, &table.name, statement)?;
        self.done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
