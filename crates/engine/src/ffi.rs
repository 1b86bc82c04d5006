//! DuckDB's C interface (`duckdb.h` of 1.5): what of it is used here, and no more.
//!
//! The engine is called directly rather than through a crate for it, which would bring an HTTP client, a second TLS
//! library and all of Arrow into the build. Only [`crate::connection`] and [`crate::rows`] call these functions.
#![allow(unsafe_code, reason = "the engine has a C interface")]

use std::ffi::{c_char, c_uint, c_void};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};

/// `duckdb_state`: 0 when a call did what it was asked for.
pub(crate) type State = c_uint;
pub(crate) const SUCCESS: State = 0;

/// `duckdb_statement_type`.
pub(crate) type StatementKind = c_uint;
pub(crate) const SELECT: StatementKind = 1;
pub(crate) const CREATE: StatementKind = 7;

/// Things of the engine that are known by their address only.
macro_rules! opaque {
    ($($name:ident)+) => {
        $(#[repr(C)]
        pub(crate) struct $name {
            _inside: [u8; 0],
        })+
    };
}

opaque! { Database Connection Config Extracted Prepared Appender Chunk Type ArrowOptions ErrorData }

/// `duckdb_result`. The call that executes fills it; all that is read of it goes through functions.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct QueryResult {
    counts: [u64; 3],
    columns: *mut c_void,
    error: *mut c_char,
    inside: *mut c_void,
}

impl QueryResult {
    /// One to be filled.
    pub(crate) const EMPTY: QueryResult = QueryResult {
        counts: [0; 3],
        columns: std::ptr::null_mut(),
        error: std::ptr::null_mut(),
        inside: std::ptr::null_mut(),
    };
}

/// A handle that the engine gave, with the function that ends it.
pub(crate) struct Owned<T> {
    handle: *mut T,
    end: unsafe extern "C" fn(*mut *mut T),
}

impl<T> Owned<T> {
    /// A place for a handle that a call is about to fill in.
    pub(crate) const fn empty(end: unsafe extern "C" fn(*mut *mut T)) -> Owned<T> {
        Owned { handle: std::ptr::null_mut(), end }
    }

    /// Takes what a call gave, which may be null.
    ///
    /// # Safety
    /// `handle` is null, or `end` may be called with it and nothing else does so.
    pub(crate) const unsafe fn new(handle: *mut T, end: unsafe extern "C" fn(*mut *mut T)) -> Owned<T> {
        Owned { handle, end }
    }

    pub(crate) const fn get(&self) -> *mut T {
        self.handle
    }

    /// Where a call fills the handle in.
    pub(crate) const fn place(&mut self) -> *mut *mut T {
        &raw mut self.handle
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle came from the engine, is this value's alone, and is not used after it.
            unsafe { (self.end)(&raw mut self.handle) }
        }
    }
}

// SAFETY: names, parameters and results are those of `duckdb.h` of the release that `scripts/engine` pins.
unsafe extern "C" {
    pub(crate) fn duckdb_create_config(config: *mut *mut Config) -> State;
    pub(crate) fn duckdb_set_config(config: *mut Config, name: *const c_char, value: *const c_char) -> State;
    pub(crate) fn duckdb_destroy_config(config: *mut *mut Config);
    pub(crate) fn duckdb_open_ext(
        path: *const c_char,
        database: *mut *mut Database,
        config: *mut Config,
        error: *mut *mut c_char,
    ) -> State;
    pub(crate) fn duckdb_close(database: *mut *mut Database);
    pub(crate) fn duckdb_connect(database: *mut Database, connection: *mut *mut Connection) -> State;
    pub(crate) fn duckdb_disconnect(connection: *mut *mut Connection);
    pub(crate) fn duckdb_free(memory: *mut c_void);

    pub(crate) fn duckdb_query(connection: *mut Connection, sql: *const c_char, result: *mut QueryResult) -> State;
    pub(crate) fn duckdb_extract_statements(
        connection: *mut Connection,
        sql: *const c_char,
        statements: *mut *mut Extracted,
    ) -> u64;
    pub(crate) fn duckdb_extract_statements_error(statements: *mut Extracted) -> *const c_char;
    pub(crate) fn duckdb_destroy_extracted(statements: *mut *mut Extracted);

    pub(crate) fn duckdb_prepare_extracted_statement(
        connection: *mut Connection,
        statements: *mut Extracted,
        index: u64,
        statement: *mut *mut Prepared,
    ) -> State;
    pub(crate) fn duckdb_prepare_error(statement: *mut Prepared) -> *const c_char;
    pub(crate) fn duckdb_prepared_statement_type(statement: *mut Prepared) -> StatementKind;
    pub(crate) fn duckdb_nparams(statement: *mut Prepared) -> u64;
    pub(crate) fn duckdb_parameter_name(statement: *mut Prepared, index: u64) -> *const c_char;
    pub(crate) fn duckdb_bind_null(statement: *mut Prepared, index: u64) -> State;
    pub(crate) fn duckdb_bind_boolean(statement: *mut Prepared, index: u64, value: bool) -> State;
    pub(crate) fn duckdb_bind_int64(statement: *mut Prepared, index: u64, value: i64) -> State;
    pub(crate) fn duckdb_bind_double(statement: *mut Prepared, index: u64, value: f64) -> State;
    pub(crate) fn duckdb_bind_varchar_length(
        statement: *mut Prepared,
        index: u64,
        text: *const c_char,
        length: u64,
    ) -> State;
    pub(crate) fn duckdb_execute_prepared(statement: *mut Prepared, result: *mut QueryResult) -> State;
    pub(crate) fn duckdb_execute_prepared_streaming(statement: *mut Prepared, result: *mut QueryResult) -> State;
    pub(crate) fn duckdb_destroy_prepare(statement: *mut *mut Prepared);

    pub(crate) fn duckdb_result_error(result: *mut QueryResult) -> *const c_char;
    pub(crate) fn duckdb_column_count(result: *mut QueryResult) -> u64;
    pub(crate) fn duckdb_column_name(result: *mut QueryResult, column: u64) -> *const c_char;
    pub(crate) fn duckdb_column_logical_type(result: *mut QueryResult, column: u64) -> *mut Type;
    pub(crate) fn duckdb_destroy_logical_type(kind: *mut *mut Type);
    pub(crate) fn duckdb_fetch_chunk(result: QueryResult) -> *mut Chunk;
    pub(crate) fn duckdb_data_chunk_get_size(chunk: *mut Chunk) -> u64;
    pub(crate) fn duckdb_destroy_data_chunk(chunk: *mut *mut Chunk);
    pub(crate) fn duckdb_destroy_result(result: *mut QueryResult);

    pub(crate) fn duckdb_result_get_arrow_options(result: *mut QueryResult) -> *mut ArrowOptions;
    pub(crate) fn duckdb_destroy_arrow_options(options: *mut *mut ArrowOptions);
    pub(crate) fn duckdb_to_arrow_schema(
        options: *mut ArrowOptions,
        types: *mut *mut Type,
        names: *mut *const c_char,
        columns: u64,
        schema: *mut FFI_ArrowSchema,
    ) -> *mut ErrorData;
    pub(crate) fn duckdb_data_chunk_to_arrow(
        options: *mut ArrowOptions,
        chunk: *mut Chunk,
        array: *mut FFI_ArrowArray,
    ) -> *mut ErrorData;
    pub(crate) fn duckdb_error_data_has_error(error: *mut ErrorData) -> bool;
    pub(crate) fn duckdb_error_data_message(error: *mut ErrorData) -> *const c_char;
    pub(crate) fn duckdb_destroy_error_data(error: *mut *mut ErrorData);

    pub(crate) fn duckdb_appender_create(
        connection: *mut Connection,
        schema: *const c_char,
        table: *const c_char,
        appender: *mut *mut Appender,
    ) -> State;
    pub(crate) fn duckdb_appender_error(appender: *mut Appender) -> *const c_char;
    pub(crate) fn duckdb_append_null(appender: *mut Appender) -> State;
    pub(crate) fn duckdb_append_bool(appender: *mut Appender, value: bool) -> State;
    pub(crate) fn duckdb_append_int64(appender: *mut Appender, value: i64) -> State;
    pub(crate) fn duckdb_append_double(appender: *mut Appender, value: f64) -> State;
    pub(crate) fn duckdb_append_varchar_length(appender: *mut Appender, text: *const c_char, length: u64) -> State;
    pub(crate) fn duckdb_appender_end_row(appender: *mut Appender) -> State;
    pub(crate) fn duckdb_appender_flush(appender: *mut Appender) -> State;
    fn duckdb_appender_destroy(appender: *mut *mut Appender) -> State;
}

/// Ends an appender as the other handles are ended. What it could not write is asked for with a flush before.
///
/// # Safety
/// As `duckdb_appender_destroy`: `appender` is the place of a handle that is used no more.
pub(crate) unsafe extern "C" fn end_appender(appender: *mut *mut Appender) {
    // SAFETY: the caller's promise.
    unsafe { duckdb_appender_destroy(appender) };
}
