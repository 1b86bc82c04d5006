//! The rows of a result, as Arrow: a chunk of the engine's at a time, without a copy where Arrow allows that.
#![allow(unsafe_code, reason = "the engine has a C interface")]

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    Array, RecordBatch, StringArray, StructArray,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi},
};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use fenxi_worker::message;

use crate::{
    connection::{EngineError, Executed},
    ffi::{self, Owned},
};

/// Rows that are left of a result.
pub(crate) struct Rows<'a> {
    options: Owned<ffi::ArrowOptions>,
    executed: Executed<'a>,
    c_schema: FFI_ArrowSchema,
    schema: SchemaRef,
    is_over: bool,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(mut executed: Executed<'a>) -> Result<Rows<'a>, EngineError> {
        // SAFETY: the result was filled in; the options are this value's, and end before the result does.
        let options = unsafe {
            let options = ffi::duckdb_result_get_arrow_options(executed.raw());
            Owned::new(options, ffi::duckdb_destroy_arrow_options)
        };
        if options.get().is_null() {
            return Err(EngineError("the engine does not say how it gives rows".to_owned()));
        }
        let c_schema = c_schema(&mut executed, &options)?;
        let schema = Arc::new(Schema::try_from(&c_schema).map_err(|e| foreign(&e))?);
        Ok(Rows { options, executed, c_schema, schema, is_over: false })
    }

    /// The columns.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The next rows; None after the last.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        if self.is_over {
            return Ok(None);
        }
        // SAFETY: the result is open; the chunk is this function's, null included.
        let chunk =
            unsafe { Owned::new(ffi::duckdb_fetch_chunk(self.executed.value()), ffi::duckdb_destroy_data_chunk) };
        // SAFETY: a chunk that is there is asked for its size.
        if chunk.get().is_null() || unsafe { ffi::duckdb_data_chunk_get_size(chunk.get()) } == 0 {
            // SAFETY: the message is null or lives as long as the result.
            let why = unsafe { ffi::duckdb_result_error(self.executed.raw()) };
            if !why.is_null() {
                // SAFETY: as above.
                return Err(unsafe { EngineError::from_c(why) });
            }
            self.is_over = true;
            return Ok(None);
        }
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: options and chunk are open; the array is filled in and belongs to the caller, and does not need the
        // chunk any more.
        checked(unsafe { ffi::duckdb_data_chunk_to_arrow(self.options.get(), chunk.get(), &raw mut array) })?;
        // SAFETY: the engine made the array of the types that it made the schema of.
        let data = unsafe { from_ffi(array, &self.c_schema) }.map_err(|e| foreign(&e))?;
        let (_, columns, _) = StructArray::from(data).into_parts();
        RecordBatch::try_new(self.schema.clone(), columns).map(Some).map_err(|e| foreign(&e))
    }

    /// The text in the first column of the first row.
    pub(crate) fn text(&mut self) -> Result<String, EngineError> {
        let rows = self.next()?;
        let column = rows.as_ref().map(|rows| rows.column(0).as_any().downcast_ref::<StringArray>());
        match column.flatten() {
            Some(texts) if texts.is_valid(0) => Ok(texts.value(0).to_owned()),
            _ => Err(EngineError("the engine gave no text".to_owned())),
        }
    }
}

/// The columns of a result, as the engine describes them to Arrow.
fn c_schema(executed: &mut Executed<'_>, options: &Owned<ffi::ArrowOptions>) -> Result<FFI_ArrowSchema, EngineError> {
    // SAFETY: the result was filled in; columns are asked for by their numbers. Types are this function's; names are the
    // result's.
    let (types, mut names) = unsafe {
        let columns = 0..ffi::duckdb_column_count(executed.raw());
        let kind = |i| Owned::new(ffi::duckdb_column_logical_type(executed.raw(), i), ffi::duckdb_destroy_logical_type);
        let types: Vec<Owned<ffi::Type>> = columns.clone().map(kind).collect();
        let names: Vec<_> = columns.map(|i| ffi::duckdb_column_name(executed.raw(), i)).collect();
        (types, names)
    };
    if types.iter().any(|kind| kind.get().is_null()) || names.iter().any(|name| name.is_null()) {
        return Err(EngineError("the engine does not describe its columns".to_owned()));
    }
    let mut handles: Vec<*mut ffi::Type> = types.iter().map(Owned::get).collect();
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: as many types as names, none null; the schema is filled in and belongs to the caller.
    checked(unsafe {
        ffi::duckdb_to_arrow_schema(
            options.get(),
            handles.as_mut_ptr(),
            names.as_mut_ptr(),
            names.len() as u64,
            &raw mut schema,
        )
    })?;
    Ok(schema)
}

/// The error of a call that may have failed.
fn checked(error: *mut ffi::ErrorData) -> Result<(), EngineError> {
    // SAFETY: it is null or was made for the caller.
    let error = unsafe { Owned::new(error, ffi::duckdb_destroy_error_data) };
    // SAFETY: an error that is there is asked whether it is one, then for its message, which lives as long as it does.
    unsafe {
        if error.get().is_null() || !ffi::duckdb_error_data_has_error(error.get()) {
            return Ok(());
        }
        Err(plain(EngineError::from_c(ffi::duckdb_error_data_message(error.get()))))
    }
}

/// These calls give errors as JSON; others say "Kind Error: message".
fn plain(error: EngineError) -> EngineError {
    let parts: BTreeMap<String, String> = message::json(error.0.as_bytes()).unwrap_or_default();
    match (parts.get("exception_type"), parts.get("exception_message")) {
        (Some(kind), Some(message)) => EngineError(format!("{kind} Error: {message}")),
        _ => error,
    }
}

/// Arrow does not understand what the engine gave.
fn foreign(error: &ArrowError) -> EngineError {
    EngineError(format!("the engine gave rows that are not Arrow: {error}"))
}

#[cfg(test)]
mod tests;
