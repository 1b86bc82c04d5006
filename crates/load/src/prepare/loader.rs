//! Fills tables over several connections, a part at a time.

use std::{
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use super::{
    PrepareError, Progress,
    book::Book,
    rows::{Form, RowMaker},
    session,
};
use crate::workload::{Program, TablePlan};
use fenxi_wire::{
    Dialect,
    client::{Client, ClientError},
    target::Target,
};

/// Rows that are loaded in one transaction.
const PART_ROWS: u64 = 50_000;
/// Rows of one INSERT, where the server takes no data in bulk.
const INSERT_ROWS: u64 = 500;
/// Bytes that are made before they are sent.
const BUFFER: usize = 256 << 10;
/// How often progress is reported.
const TICK: Duration = Duration::from_millis(200);
/// How often a part is tried whose transaction the server gave up in favour of another one.
const ATTEMPTS: u32 = 10;
/// The pause before the second attempt; it grows with each.
const PAUSE: Duration = Duration::from_millis(50);

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

/// State that threads of loading share.
pub(super) struct Loader<'a> {
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

impl<'a> Loader<'a> {
    /// A loader with nothing to do yet.
    pub(super) fn new(target: &'a Target, program: &'a Program, seed: u64) -> Loader<'a> {
        Loader {
            target,
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
        }
    }

    /// Plans what is left to do for the next table, whose rows MySQL is to take in a character set; rows that are there.
    pub(super) fn plan(&mut self, book: &Book, table: &TablePlan, character_set: String) -> u64 {
        let place = self.character_sets.len();
        self.character_sets.push(character_set);
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
        self.rows.fetch_add(there, Ordering::Relaxed);
        there
    }

    /// Rows that are there.
    pub(super) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Whether rows were inserted by statements because the server takes no data in bulk.
    pub(super) fn by_statements(&self) -> bool {
        self.by_statements.load(Ordering::Relaxed)
    }

    /// Loads what was planned, then runs the statements that follow; reports progress.
    ///
    /// # Errors
    /// When the server refuses, or it is interrupted.
    pub(super) fn run(
        &mut self,
        connections: usize,
        of: u64,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), PrepareError> {
        // Connections that fill one table of MySQL's wait for each other: its numbers are drawn by one at a time. What does
        // not wait, INSERT by statements or in bulk, was slower with two connections than LOAD DATA with one (MariaDB 10.11).
        self.parts.sort_by_key(|part| (part.number, part.table));
        let after_of = self.after.len();
        let mut report = |after| watch(Progress { rows: self.rows(), of, after, after_of });
        self.in_threads(connections, self.parts.len(), &mut || report(0), &|client, n| self.load(client, n))?;
        self.next.store(0, Ordering::Relaxed);
        let mut report = || report(self.done.load(Ordering::Relaxed));
        self.in_threads(connections, after_of, &mut report, &|client, n| self.finish(client, n))
    }

    /// Does `count` things in threads, each with its own connection, and reports progress.
    fn in_threads(
        &self,
        connections: usize,
        count: usize,
        report: &mut dyn FnMut() -> ControlFlow<()>,
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
                if report().is_break() {
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
        });
        let _ = report();
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
                self.patiently(client, &mut |client| act(client, number))?;
            }
        }
        Ok(())
    }

    /// Does something again whose transaction the server rolled back for the sake of another one.
    fn patiently(
        &self,
        client: &mut Client,
        act: &mut dyn FnMut(&mut Client) -> Result<(), PrepareError>,
    ) -> Result<(), PrepareError> {
        let mut attempt = 1;
        loop {
            match act(client) {
                Err(PrepareError::Client(error))
                    if attempt < ATTEMPTS && is_transient(&error) && !self.stop.load(Ordering::Relaxed) =>
                {
                    // A lock that was waited for too long ends MySQL's statement, not its transaction.
                    client.run("ROLLBACK")?;
                    std::thread::sleep(PAUSE * attempt);
                    attempt += 1;
                }
                result => return result,
            }
        }
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

/// Whether the same transaction may succeed when it is run again: SQLSTATE class 40, transaction rollback (deadlocks and
/// serialization failures), and locks that were waited for too long (PostgreSQL's `55P03`, MySQL's 1205).
fn is_transient(error: &ClientError) -> bool {
    error.server().is_some_and(|e| e.state.starts_with(b"40") || e.state == *b"55P03" || e.number == 1205)
}
