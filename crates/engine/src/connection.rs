//! The engine as safe types: a database, its connections, statements and appenders. Rows are in [`crate::rows`].
//!
//! Each type owns one handle of the C interface and borrows what it depends on, so that nothing is used after it has
//! ended. Every call passes handles and texts that live longer than the call.
#![allow(unsafe_code, reason = "the engine has a C interface")]

use std::{
    ffi::{CStr, CString, c_char},
    marker::PhantomData,
    ptr,
};

use fenxi_worker::{Cell, Failure};

use crate::{
    ffi::{self, Owned},
    rows::Rows,
};

/// The engine's error for a failed call.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EngineError(pub(crate) String);

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        Failure::Engine(error.0)
    }
}

impl EngineError {
    /// Takes over a message of the engine.
    ///
    /// # Safety
    /// `text` is null or ends with a zero, and lives until this returns.
    pub(crate) unsafe fn from_c(text: *const c_char) -> EngineError {
        if text.is_null() {
            return EngineError("the engine gave no reason".to_owned());
        }
        // SAFETY: not null, and the caller's promise.
        EngineError(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

/// An SQL text for the C interface.
fn c_text(sql: &str) -> Result<CString, EngineError> {
    CString::new(sql).map_err(|_| EngineError("Parser Error: the SQL contains a zero character".to_owned()))
}

/// A database in memory.
pub(crate) struct Engine(Owned<ffi::Database>);

impl Engine {
    /// Opens an empty one with these settings.
    pub(crate) fn open(settings: &[(&CStr, &CStr)]) -> Result<Engine, EngineError> {
        let mut engine = Engine(Owned::empty(ffi::duckdb_close));
        let mut config = Owned::empty(ffi::duckdb_destroy_config);
        // SAFETY: it fills the place in.
        if unsafe { ffi::duckdb_create_config(config.place()) } != ffi::SUCCESS {
            return Err(EngineError("the engine made no configuration".to_owned()));
        }
        for (name, value) in settings {
            // SAFETY: the configuration was made above.
            if unsafe { ffi::duckdb_set_config(config.get(), name.as_ptr(), value.as_ptr()) } != ffi::SUCCESS {
                return Err(EngineError(format!("setting {} was refused", name.to_string_lossy())));
            }
        }
        let mut why = ptr::null_mut();
        // SAFETY: it copies the configuration, and fills both places in.
        let state = unsafe { ffi::duckdb_open_ext(c":memory:".as_ptr(), engine.0.place(), config.get(), &raw mut why) };
        if state == ffi::SUCCESS {
            return Ok(engine);
        }
        // SAFETY: the message is null or a text that belongs to the caller, which frees it.
        unsafe {
            let error = EngineError::from_c(why);
            ffi::duckdb_free(why.cast());
            Err(error)
        }
    }

    /// A connection with its own state: its settings, transaction and random numbers.
    pub(crate) fn connect(&self) -> Result<Connection<'_>, EngineError> {
        let mut connection = Connection { handle: Owned::empty(ffi::duckdb_disconnect), engine: PhantomData };
        // SAFETY: the database is open for as long as it is borrowed.
        let state = unsafe { ffi::duckdb_connect(self.0.get(), connection.handle.place()) };
        if state == ffi::SUCCESS { Ok(connection) } else { Err(EngineError("it gave no connection".to_owned())) }
    }
}

/// A connection to a database.
pub(crate) struct Connection<'a> {
    handle: Owned<ffi::Connection>,
    engine: PhantomData<&'a Engine>,
}

impl Connection<'_> {
    /// Runs all statements of a text, and gives no rows.
    pub(crate) fn run(&self, sql: &str) -> Result<(), EngineError> {
        let sql = c_text(sql)?;
        // SAFETY: the connection is open, and the text outlives the call.
        Executed::by(|result| unsafe { ffi::duckdb_query(self.handle.get(), sql.as_ptr(), result) }).map(drop)
    }

    /// The statements of a text; a text of blanks and comments has none.
    pub(crate) fn statements(&self, sql: &str) -> Result<Statements<'_>, EngineError> {
        let sql = c_text(sql)?;
        let mut statements =
            Statements { connection: self, handle: Owned::empty(ffi::duckdb_destroy_extracted), len: 0 };
        // SAFETY: the connection is open, and the text outlives the call, which fills the place in.
        statements.len =
            unsafe { ffi::duckdb_extract_statements(self.handle.get(), sql.as_ptr(), statements.handle.place()) };
        if statements.len > 0 || statements.handle.get().is_null() {
            return Ok(statements);
        }
        // SAFETY: the handle is not null, and owns the message.
        let why = unsafe { ffi::duckdb_extract_statements_error(statements.handle.get()) };
        if why.is_null() {
            return Ok(statements);
        }
        // SAFETY: `statements` lives until the end of this function.
        Err(unsafe { EngineError::from_c(why) })
    }

    /// Prepares a text of one statement. Those before the last are run: the parser makes some of a PIVOT.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Prepared<'_>, EngineError> {
        let statements = self.statements(sql)?;
        let last = statements.len.checked_sub(1).ok_or_else(|| EngineError("there is no statement".to_owned()))?;
        for i in 0..last {
            statements.prepare(i)?.run()?;
        }
        statements.prepare(last)
    }

    /// Appends rows to a table.
    pub(crate) fn appender(&self, table: &str) -> Result<Appender<'_>, EngineError> {
        let table = c_text(table)?;
        let mut appender = Appender { handle: Owned::empty(ffi::end_appender), connection: PhantomData };
        // SAFETY: the connection is open, and the texts outlive the call, which fills the place in.
        let state = unsafe {
            ffi::duckdb_appender_create(self.handle.get(), c"main".as_ptr(), table.as_ptr(), appender.handle.place())
        };
        appender.checked(state)?;
        Ok(appender)
    }
}

/// Statements of a text, as the engine has cut it.
pub(crate) struct Statements<'a> {
    connection: &'a Connection<'a>,
    handle: Owned<ffi::Extracted>,
    len: u64,
}

impl<'a> Statements<'a> {
    /// Length.
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// Prepares one, the first being 0.
    pub(crate) fn prepare(&self, i: u64) -> Result<Prepared<'a>, EngineError> {
        let mut prepared = Prepared { handle: Owned::empty(ffi::duckdb_destroy_prepare), connection: PhantomData };
        // SAFETY: connection and statements are open; the engine refuses a number that is too great.
        let state = unsafe {
            ffi::duckdb_prepare_extracted_statement(
                self.connection.handle.get(),
                self.handle.get(),
                i,
                prepared.handle.place(),
            )
        };
        prepared.checked(state)?;
        Ok(prepared)
    }
}

/// A statement that is ready to run.
pub(crate) struct Prepared<'a> {
    handle: Owned<ffi::Prepared>,
    connection: PhantomData<&'a Connection<'a>>,
}

impl Prepared<'_> {
    /// The kind of statement.
    pub(crate) fn kind(&self) -> ffi::StatementKind {
        // SAFETY: the handle is the engine's.
        unsafe { ffi::duckdb_prepared_statement_type(self.handle.get()) }
    }

    /// Gives each parameter its value: every name of the statement, and no other.
    pub(crate) fn bind(&mut self, params: &[(&str, &Cell)]) -> Result<(), EngineError> {
        let invalid = |what: &str| Err(EngineError(format!("Invalid parameter name: {what}")));
        for (i, (name, _)) in params.iter().enumerate() {
            if params[..i].iter().any(|(other, _)| other == name) {
                return invalid(&format!("duplicate parameter name: {name}"));
            }
        }
        let names = self.parameters();
        for (name, i) in names.iter().zip(1..) {
            if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
                return invalid(&format!("positional parameter {name} cannot be used with named parameters"));
            }
            match params.iter().find(|(given, _)| given == name) {
                Some((_, cell)) => self.bind_one(i, cell)?,
                None => return invalid(name),
            }
        }
        match params.iter().find(|(given, _)| !names.iter().any(|name| name == given)) {
            Some((unused, _)) => invalid(unused),
            None => Ok(()),
        }
    }

    /// Names of the parameters, in their order.
    fn parameters(&self) -> Vec<String> {
        // SAFETY: the handle is the engine's.
        let n = unsafe { ffi::duckdb_nparams(self.handle.get()) };
        let name = |i| {
            // SAFETY: `i` is the number of a parameter; the name is null or a text that belongs to the caller, which
            // frees it after copying.
            unsafe {
                let text = ffi::duckdb_parameter_name(self.handle.get(), i);
                if text.is_null() {
                    return String::new();
                }
                let name = CStr::from_ptr(text).to_string_lossy().into_owned();
                ffi::duckdb_free(text.cast_mut().cast());
                name
            }
        };
        (1..=n).map(name).collect()
    }

    fn bind_one(&mut self, i: u64, cell: &Cell) -> Result<(), EngineError> {
        let statement = self.handle.get();
        // SAFETY: the handle is the engine's, which refuses a wrong number; a text is copied.
        let state = unsafe {
            match cell {
                Cell::Null => ffi::duckdb_bind_null(statement, i),
                Cell::Bool(value) => ffi::duckdb_bind_boolean(statement, i, *value),
                Cell::Int(value) => ffi::duckdb_bind_int64(statement, i, *value),
                Cell::Float(value) => ffi::duckdb_bind_double(statement, i, *value),
                Cell::Text(text) => {
                    ffi::duckdb_bind_varchar_length(statement, i, text.as_ptr().cast(), text.len() as u64)
                }
            }
        };
        self.checked(state)
    }

    /// Runs it, and gives no rows.
    pub(crate) fn run(&mut self) -> Result<(), EngineError> {
        self.executed(ffi::duckdb_execute_prepared).map(drop)
    }

    /// Runs it to its end, and gives its rows.
    pub(crate) fn rows(&mut self) -> Result<Rows<'_>, EngineError> {
        Rows::new(self.executed(ffi::duckdb_execute_prepared)?)
    }

    /// Begins to run it, and goes on as its rows are taken.
    pub(crate) fn stream(&mut self) -> Result<Rows<'_>, EngineError> {
        Rows::new(self.executed(ffi::duckdb_execute_prepared_streaming)?)
    }

    fn executed(
        &mut self,
        how: unsafe extern "C" fn(*mut ffi::Prepared, *mut ffi::QueryResult) -> ffi::State,
    ) -> Result<Executed<'_>, EngineError> {
        let statement = self.handle.get();
        // SAFETY: the handle is the engine's, and `how` one of its two calls that execute.
        Executed::by(|result| unsafe { how(statement, result) })
    }

    fn checked(&self, state: ffi::State) -> Result<(), EngineError> {
        if state == ffi::SUCCESS {
            return Ok(());
        }
        // SAFETY: null is taken too; the message lives as long as the statement.
        Err(unsafe { EngineError::from_c(ffi::duckdb_prepare_error(self.handle.get())) })
    }
}

/// The result of a statement; it borrows what it came from.
pub(crate) struct Executed<'a> {
    result: ffi::QueryResult,
    statement: PhantomData<&'a mut ()>,
}

impl Executed<'_> {
    /// The result that `call` fills in, or its error.
    fn by(call: impl FnOnce(*mut ffi::QueryResult) -> ffi::State) -> Result<Self, EngineError> {
        let mut executed = Executed { result: ffi::QueryResult::EMPTY, statement: PhantomData };
        if call(executed.raw()) == ffi::SUCCESS {
            return Ok(executed);
        }
        // SAFETY: the call filled it in; the message lives as long as the result.
        Err(unsafe { EngineError::from_c(ffi::duckdb_result_error(executed.raw())) })
    }

    /// For the calls that read of it.
    pub(crate) const fn raw(&mut self) -> *mut ffi::QueryResult {
        &raw mut self.result
    }

    /// For the one call that takes it by value. The engine keeps what changes behind a pointer in it.
    pub(crate) const fn value(&self) -> ffi::QueryResult {
        self.result
    }
}

impl Drop for Executed<'_> {
    fn drop(&mut self) {
        // SAFETY: filled in, or empty, which the engine takes too; it is not used after this.
        unsafe { ffi::duckdb_destroy_result(&raw mut self.result) }
    }
}

/// Rows on their way into a table. They are there after [`Appender::flush`].
pub(crate) struct Appender<'a> {
    handle: Owned<ffi::Appender>,
    connection: PhantomData<&'a Connection<'a>>,
}

impl Appender<'_> {
    /// Appends one row, a cell for each column. After an error the row is not complete, and no more can be appended.
    pub(crate) fn row(&mut self, cells: &[Cell]) -> Result<(), EngineError> {
        for cell in cells {
            self.cell(cell)?;
        }
        // SAFETY: the handle is the engine's.
        let state = unsafe { ffi::duckdb_appender_end_row(self.handle.get()) };
        self.checked(state)
    }

    fn cell(&mut self, cell: &Cell) -> Result<(), EngineError> {
        let appender = self.handle.get();
        // SAFETY: the handle is the engine's, which refuses cells that are too many; a text is copied.
        let state = unsafe {
            match cell {
                Cell::Null => ffi::duckdb_append_null(appender),
                Cell::Bool(value) => ffi::duckdb_append_bool(appender, *value),
                Cell::Int(value) => ffi::duckdb_append_int64(appender, *value),
                Cell::Float(value) => ffi::duckdb_append_double(appender, *value),
                Cell::Text(text) => {
                    ffi::duckdb_append_varchar_length(appender, text.as_ptr().cast(), text.len() as u64)
                }
            }
        };
        self.checked(state)
    }

    /// Writes what was appended into the table.
    pub(crate) fn flush(&mut self) -> Result<(), EngineError> {
        // SAFETY: the handle is the engine's.
        let state = unsafe { ffi::duckdb_appender_flush(self.handle.get()) };
        self.checked(state)
    }

    fn checked(&self, state: ffi::State) -> Result<(), EngineError> {
        if state == ffi::SUCCESS {
            return Ok(());
        }
        // SAFETY: null is taken too; the message lives as long as the appender.
        Err(unsafe { EngineError::from_c(ffi::duckdb_appender_error(self.handle.get())) })
    }
}

#[cfg(test)]
mod tests;
