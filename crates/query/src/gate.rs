//! The engine's database and the gate before it: which statements may run, by the engine's own word.
//!
//! The `duckdb` crate runs every statement of a text but the last while it prepares, and does not
//! tell a statement's type. Both matter here, so this module asks the C interface itself. All
//! `unsafe` of the crate is here: each call passes pointers that this module made and still owns.
#![allow(unsafe_code, reason = "the C interface is the only one that tells a statement's type")]

use std::{
    ffi::{CStr, CString, c_char},
    ptr,
};

use duckdb::{Connection, ffi};

use crate::{QueryError, lex};

/// An in-memory database with a connection of its own that only prepares.
#[derive(Debug)]
pub(crate) struct Gate {
    db: ffi::duckdb_database,
    con: ffi::duckdb_connection,
}

// The handles may be used from any thread, one at a time; `Gate` is not `Sync`.
unsafe impl Send for Gate {}

/// The text of a message that the engine owns.
fn message(text: *const c_char) -> String {
    if text.is_null() {
        return "the engine gave no reason".to_owned();
    }
    // SAFETY: not null, and the engine ends its messages with a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn c_text(text: &str) -> Result<CString, QueryError> {
    CString::new(text).map_err(|_| QueryError::Sql {
        message: "the SQL contains a zero character".to_owned(),
        place: None,
        hint: None,
    })
}

impl Gate {
    /// Opens an empty database in memory with `settings`.
    pub(crate) fn open(settings: &[(&str, String)]) -> Result<Gate, QueryError> {
        let mut gate = Gate { db: ptr::null_mut(), con: ptr::null_mut() };
        // SAFETY: the configuration is made, filled, used and destroyed here; the texts outlive the calls.
        unsafe {
            let mut config = ptr::null_mut();
            ffi::duckdb_create_config(&mut config);
            let mut refused = None;
            for (key, value) in settings {
                let (k, v) = (c_text(key)?, c_text(value)?);
                if ffi::duckdb_set_config(config, k.as_ptr(), v.as_ptr()) != ffi::DuckDBSuccess {
                    refused = Some(format!("setting {key} = {value} was refused"));
                }
            }
            let mut why = ptr::null_mut();
            let path = c":memory:";
            let state = ffi::duckdb_open_ext(path.as_ptr(), &mut gate.db, config, &mut why);
            ffi::duckdb_destroy_config(&mut config);
            if state != ffi::DuckDBSuccess {
                let text = message(why);
                ffi::duckdb_free(why.cast());
                return Err(QueryError::Engine(text));
            }
            if let Some(refused) = refused {
                return Err(QueryError::Engine(refused));
            }
            if ffi::duckdb_connect(gate.db, &mut gate.con) != ffi::DuckDBSuccess {
                return Err(QueryError::Engine("it gave no connection".to_owned()));
            }
        }
        Ok(gate)
    }

    /// A connection to the same database. It must be dropped before the gate.
    pub(crate) fn connect(&self) -> Result<Connection, QueryError> {
        // SAFETY: `db` is open for as long as `self` lives; `Engine` drops its connection first.
        unsafe { Connection::open_from_raw(self.db) }.map_err(|e| QueryError::from_engine(&e))
    }

    /// Lets only reading through: gives the SQL to run, or says why not.
    pub(crate) fn check(&self, sql: &str) -> Result<String, QueryError> {
        if lex::statements(sql) == 0 {
            return Err(QueryError::Empty);
        }
        match lex::explained(sql) {
            // EXPLAIN ANALYZE runs what it explains, so that itself must be a reading statement; the
            // text that runs is put together from what the engine has called a SELECT.
            Some((analyze, inner)) => {
                self.only_reads(inner)?;
                Ok(format!("EXPLAIN {}{inner}", if analyze { "ANALYZE " } else { "" }))
            }
            None => self.only_reads(sql).map(|()| sql.to_owned()),
        }
    }

    fn only_reads(&self, sql: &str) -> Result<(), QueryError> {
        // Preparing alone has effects for some statements (EXPORT DATABASE makes its folder), so
        // only those that begin as reading ones do get as far as telling their type.
        lex::begins_as_reading(sql).map_err(|what| QueryError::NotReadOnly { what })?;
        let text = c_text(sql)?;
        let mut extracted = Extracted(ptr::null_mut());
        // SAFETY: the connection is open, the text outlives the call, `extracted` frees itself.
        let n = unsafe { ffi::duckdb_extract_statements(self.con, text.as_ptr(), &mut extracted.0) };
        if n == 0 {
            // SAFETY: `extracted` was made by the call above and owns the message.
            let why = message(unsafe { ffi::duckdb_extract_statements_error(extracted.0) });
            return Err(QueryError::from_message(&why));
        }
        if n > 1 && lex::statements(sql) > 1 {
            return Err(QueryError::Sql {
                message: "there are several statements".to_owned(),
                place: None,
                hint: Some("run them one by one".to_owned()),
            });
        }
        // PIVOT is one statement in the text but first makes a type of the values it finds.
        for i in 0..n - 1 {
            let helper = self.prepare(&extracted, i)?;
            helper.expect_type(ffi::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_CREATE)?;
            helper.execute()?;
        }
        let last = self.prepare(&extracted, n - 1)?;
        last.expect_type(ffi::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SELECT)
    }

    fn prepare(&self, extracted: &Extracted, i: ffi::idx_t) -> Result<Prepared, QueryError> {
        let mut prepared = Prepared(ptr::null_mut());
        // SAFETY: `i` is below the number of extracted statements; `prepared` frees itself.
        let state = unsafe { ffi::duckdb_prepare_extracted_statement(self.con, extracted.0, i, &mut prepared.0) };
        if state == ffi::DuckDBSuccess {
            return Ok(prepared);
        }
        // SAFETY: the failed statement owns the message and lives until the end of this function.
        Err(QueryError::from_message(&message(unsafe { ffi::duckdb_prepare_error(prepared.0) })))
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // SAFETY: both handles are null or open, and are used no more.
        unsafe {
            if !self.con.is_null() {
                ffi::duckdb_disconnect(&mut self.con);
            }
            if !self.db.is_null() {
                ffi::duckdb_close(&mut self.db);
            }
        }
    }
}

struct Extracted(ffi::duckdb_extracted_statements);

impl Drop for Extracted {
    fn drop(&mut self) {
        // SAFETY: null or made by `duckdb_extract_statements`, which asks for this in every case.
        unsafe { ffi::duckdb_destroy_extracted(&mut self.0) }
    }
}

struct Prepared(ffi::duckdb_prepared_statement);

impl Prepared {
    fn expect_type(&self, wanted: ffi::duckdb_statement_type) -> Result<(), QueryError> {
        // SAFETY: the statement was prepared without an error.
        let ty = unsafe { ffi::duckdb_prepared_statement_type(self.0) };
        if ty == wanted { Ok(()) } else { Err(QueryError::NotReadOnly { what: type_name(ty).to_owned() }) }
    }

    fn execute(&self) -> Result<(), QueryError> {
        // SAFETY: a zeroed result is what the call wants to fill; it is destroyed whatever happened.
        unsafe {
            let mut result = std::mem::zeroed();
            let state = ffi::duckdb_execute_prepared(self.0, &mut result);
            let error = (state != ffi::DuckDBSuccess)
                .then(|| QueryError::from_message(&message(ffi::duckdb_result_error(&mut result))));
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

/// The word a person would use for a statement of this type.
fn type_name(ty: ffi::duckdb_statement_type) -> &'static str {
    const NAMES: [&str; 31] = [
        "this statement",
        "SELECT",
        "INSERT",
        "UPDATE",
        "EXPLAIN",
        "DELETE",
        "PREPARE",
        "CREATE",
        "EXECUTE",
        "ALTER",
        "a transaction",
        "COPY",
        "ANALYZE",
        "SET",
        "CREATE FUNCTION",
        "DROP",
        "EXPORT",
        "PRAGMA",
        "VACUUM",
        "CALL",
        "SET",
        "LOAD",
        "a relation",
        "an extension statement",
        "a plan",
        "ATTACH",
        "DETACH",
        "several statements",
        "COPY DATABASE",
        "UPDATE EXTENSIONS",
        "MERGE",
    ];
    NAMES.get(ty as usize).copied().unwrap_or("this statement")
}
