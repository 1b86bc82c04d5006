//! The gate before the engine: one statement that only reads, and calls only functions of a list.
//!
//! The engine's own parser is asked, never one of ours. `json_serialize_sql` gives the tree of every statement of
//! a text as long as all of them are SELECT (DESCRIBE, SHOW, SUMMARIZE and PIVOT are forms of it); their number
//! and every function's name are read from it. A PIVOT that finds its columns itself is the one statement that
//! the parser makes several of (it first makes a type of the values that it finds): such a text is known by being one
//! statement when it stands between parentheses as well.
#![allow(unsafe_code, reason = "the C interface is the only one that tells a statement's type")]

use std::ptr;

use duckdb::ffi;
use fenxi_worker::Failure;

use crate::{
    database::{Database, c_text, message, said},
    functions,
};

/// What the parser says of statements that it does not give the tree of.
const NOT_SELECT: &str = "Only SELECT statements";

/// Lets one reading statement through, or says why not.
pub(crate) fn check(database: &Database<'_>, sql: &str) -> Result<(), Failure> {
    let tree = tree(database, sql)?;
    let tree = tree.as_str();
    if tree.contains(r#""error":true"#) && !tree.starts_with(r#"{"error":false"#) {
        return if tree.contains(NOT_SELECT) { pivot(database, sql) } else { prepared(database, sql, 1) };
    }
    let parts = functions::read(tree);
    match parts.statements {
        0 => return Err(Failure::Empty),
        1 => {}
        _ => return Err(Failure::Several),
    }
    if let Some(name) = parts.functions.iter().find(|name| !functions::is_allowed(name)) {
        return Err(Failure::Function(name.clone()));
    }
    prepared(database, sql, 1)
}

/// The tree of one reading statement, as JSON; what does not read has none.
pub(crate) fn statement(database: &Database<'_>, sql: &str) -> Result<String, Failure> {
    let tree = tree(database, sql)?;
    if tree.starts_with(r#"{"error":false"#) {
        return Ok(tree);
    }
    if tree.contains(NOT_SELECT) {
        return Err(Failure::NotReadOnly);
    }
    // The parser says where the mistake is.
    prepared(database, sql, 1)?;
    Err(Failure::Engine("the statement has no tree".to_owned()))
}

/// The parser's tree of a text, as JSON.
fn tree(database: &Database<'_>, sql: &str) -> Result<String, Failure> {
    let asked = database.con().query_row("SELECT json_serialize_sql($1::VARCHAR)::VARCHAR", [sql], |row| row.get(0));
    asked.map_err(|e| Failure::Engine(said(&e)))
}

/// A PIVOT of which the parser makes several statements: CREATE TYPE for what it finds, then SELECT.
fn pivot(database: &Database<'_>, sql: &str) -> Result<(), Failure> {
    let n = Extracted::of(database, sql)?.n;
    // Between parentheses nothing but one query can stand, whatever comments and quotes make of the text.
    let within = Extracted::of(database, &format!("SELECT * FROM (\n{sql}\n)"));
    if n < 2 {
        return Err(Failure::NotReadOnly);
    }
    if !within.is_ok_and(|within| within.n == n) {
        return Err(Failure::Several);
    }
    // There is no tree to read, so whatever might be the name of a function is one.
    if let Some(name) = functions::refused_in(sql) {
        return Err(Failure::Function(name));
    }
    prepared(database, sql, n)
}

/// Prepares the last of `n` statements and asks the engine what it is; those before it are run.
fn prepared(database: &Database<'_>, sql: &str, n: u64) -> Result<(), Failure> {
    let extracted = Extracted::of(database, sql)?;
    if extracted.n != n {
        return Err(Failure::Several);
    }
    for i in 0..n - 1 {
        let helper = extracted.prepare(database, i)?;
        helper.expect(ffi::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_CREATE)?;
        helper.execute()?;
    }
    extracted.prepare(database, n - 1)?.expect(ffi::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SELECT)
}

/// Statements of a text, as the engine has cut it.
struct Extracted {
    statements: ffi::duckdb_extracted_statements,
    n: u64,
}

impl Extracted {
    fn of(database: &Database<'_>, sql: &str) -> Result<Extracted, Failure> {
        let text = c_text(sql).map_err(Failure::Engine)?;
        let mut extracted = Extracted { statements: ptr::null_mut(), n: 0 };
        // SAFETY: the connection is open, the text outlives the call, `extracted` frees itself.
        extracted.n =
            unsafe { ffi::duckdb_extract_statements(database.gate(), text.as_ptr(), &mut extracted.statements) };
        if extracted.n > 0 {
            return Ok(extracted);
        }
        // SAFETY: `extracted` was made by the call above and owns the message.
        let why = unsafe { ffi::duckdb_extract_statements_error(extracted.statements) };
        Err(if why.is_null() { Failure::Empty } else { Failure::Engine(message(why)) })
    }

    fn prepare(&self, database: &Database<'_>, i: u64) -> Result<Prepared, Failure> {
        let mut prepared = Prepared(ptr::null_mut());
        // SAFETY: `i` is below the number of extracted statements; `prepared` frees itself.
        let state =
            unsafe { ffi::duckdb_prepare_extracted_statement(database.gate(), self.statements, i, &mut prepared.0) };
        if state == ffi::DuckDBSuccess {
            return Ok(prepared);
        }
        // SAFETY: the failed statement owns the message and lives until the end of this function.
        Err(Failure::Engine(message(unsafe { ffi::duckdb_prepare_error(prepared.0) })))
    }
}

impl Drop for Extracted {
    fn drop(&mut self) {
        // SAFETY: null or made by `duckdb_extract_statements`, which asks for this in every case.
        unsafe { ffi::duckdb_destroy_extracted(&mut self.statements) }
    }
}

struct Prepared(ffi::duckdb_prepared_statement);

impl Prepared {
    fn expect(&self, wanted: ffi::duckdb_statement_type) -> Result<(), Failure> {
        // SAFETY: the statement was prepared without an error.
        let kind = unsafe { ffi::duckdb_prepared_statement_type(self.0) };
        if kind == wanted { Ok(()) } else { Err(Failure::NotReadOnly) }
    }

    fn execute(&self) -> Result<(), Failure> {
        // SAFETY: a zeroed result is what the call wants to fill; it is destroyed whatever happened.
        unsafe {
            let mut result = std::mem::zeroed();
            let state = ffi::duckdb_execute_prepared(self.0, &mut result);
            let error =
                (state != ffi::DuckDBSuccess).then(|| Failure::Engine(message(ffi::duckdb_result_error(&mut result))));
            ffi::duckdb_destroy_result(&mut result);
            error.map_or(Ok(()), Err)
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: null or made by `duckdb_prepare_extracted_statement`.
        unsafe { ffi::duckdb_destroy_prepare(&mut self.0) }
    }
}
