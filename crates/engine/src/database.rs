//! The engine's database: made once in the template, and narrowed down by each session before it works.
//!
//! The `duckdb` crate runs every statement of a text but the last while it prepares, and does not tell a
//! statement's type. Both matter here, so this module opens the database by the C interface, and [`crate::gate`]
//! asks it. Each call passes pointers that this module made and still owns.
#![allow(unsafe_code, reason = "the C interface is the only one that tells a statement's type")]

use std::{
    ffi::{CStr, CString, c_char},
    ptr,
};

use duckdb::{Connection, ffi};
use fenxi_worker::Setup;

/// Engine-specific SQL under names of our own, in one place.
///
/// `wmean(x, dt)` is the mean of `x` over time: NULL values take no time with them. `is_ping(x)` is whether a normalised
/// statement only asks if the server lives, or sets up its session: no table is in it. `steady(x)` is `x` in steps
/// of 2^-36: sums of it are exact, and do not depend on the order in which rows come out of a join.
const MACROS: &str = "
CREATE MACRO wmean(x, dt) AS sum(x * dt) / nullif(sum(dt) FILTER (x IS NOT NULL), 0);
CREATE MACRO approx_percentile(x, q) AS approx_quantile(x, q);
CREATE MACRO steady(x) AS round(x * 68719476736) / 68719476736;
CREATE MACRO is_ping(x) AS regexp_matches(trim(x), '^(select\\s+(\\?|1|''x''|version\\s*\\(\\s*\\)|current_timestamp|now\\s*\\(\\s*\\)|@@[a-z_.@]+|current_schema(\\s*\\(\\s*\\))?|database\\s*\\(\\s*\\)|connection_id\\s*\\(\\s*\\)|last_insert_id\\s*\\(\\s*\\))(\\s+(as\\s+\\w+|from\\s+dual))?|/\\*\\s*ping\\s*\\*/.*|ping|set\\s.*|show\\s.*|do\\s+(\\?|1)|values\\s*\\((\\?|1)\\)|discard\\s.*|reset\\s.*)\\s*;?$', 'i');";

/// Settings that hold from the first moment on. One thread: a process with more cannot be forked.
const SETTINGS: [(&CStr, &CStr); 5] = [
    (c"threads", c"1"),
    (c"temp_directory", c""),
    (c"autoinstall_known_extensions", c"false"),
    (c"autoload_known_extensions", c"false"),
    (c"allow_community_extensions", c"false"),
];

/// An in-memory database with what all sessions share, as the template has it.
pub(crate) struct Template(Handles);

/// The database as a session has it: with a connection that works, and one that only prepares.
///
/// Connections are a session's own: each draws its random numbers from a seed that it takes when it is made.
pub(crate) struct Database<'a> {
    con: Connection,
    gate: Handles,
    template: std::marker::PhantomData<&'a Template>,
}

/// What the C interface gave.
struct Handles {
    db: ffi::duckdb_database,
    con: ffi::duckdb_connection,
}

/// The text of a message that the engine owns.
pub(crate) fn message(text: *const c_char) -> String {
    if text.is_null() {
        return "the engine gave no reason".to_owned();
    }
    // SAFETY: not null, and the engine ends its messages with a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// What the engine says of an error.
pub(crate) fn said(error: &duckdb::Error) -> String {
    match error {
        duckdb::Error::DuckDBFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}

impl Template {
    /// Opens an empty database in memory and makes what all sessions share.
    pub(crate) fn open() -> Result<Template, String> {
        let template = Template(Handles::open()?);
        // Sealed runs never change: what stands at the end of their files is read once. What is used once is loaded.
        let shared = format!(
            "SET GLOBAL TimeZone = 'UTC'; SET GLOBAL parquet_metadata_cache = true; {MACROS}
             CREATE SCHEMA boot; CREATE SCHEMA spread; CREATE SCHEMA fenxi; SELECT json_serialize_sql('SELECT 1');"
        );
        template.session()?.con.execute_batch(&shared).map_err(|e| said(&e))?;
        Ok(template)
    }

    /// Connections for a session.
    pub(crate) fn session(&self) -> Result<Database<'_>, String> {
        // SAFETY: `db` is open for as long as the template lives, and so for longer than the session.
        let con = unsafe { Connection::open_from_raw(self.0.db) }.map_err(|e| said(&e))?;
        let mut gate = Handles { db: ptr::null_mut(), con: ptr::null_mut() };
        // SAFETY: as above; `gate` ends the connection, and has no database to close.
        if unsafe { ffi::duckdb_connect(self.0.db, &mut gate.con) } != ffi::DuckDBSuccess {
            return Err("it gave no connection".to_owned());
        }
        Ok(Database { con, gate, template: std::marker::PhantomData })
    }
}

impl Database<'_> {
    /// The connection that works.
    pub(crate) fn con(&self) -> &Connection {
        &self.con
    }

    /// The connection that only prepares.
    pub(crate) fn gate(&self) -> ffi::duckdb_connection {
        self.gate.con
    }

    /// Narrows the database down to what `setup` allows. The lock comes last: after it no setting can be changed, not
    /// by ourselves either.
    pub(crate) fn narrow(&self, setup: &Setup) -> Result<(), String> {
        let mut settings = format!("SET threads = {};", setup.threads.max(1));
        if let Some(spill) = &setup.spill {
            settings += &format!("SET temp_directory = {};", literal(&spill.to_string_lossy()));
        }
        if let Some(limit) = &setup.spill_limit {
            settings += &format!("SET max_temp_directory_size = {};", literal(limit));
        }
        if let Some(limit) = &setup.memory_limit {
            settings += &format!("SET memory_limit = {};", literal(limit));
        }
        let paths = |paths: &[std::path::PathBuf]| {
            paths.iter().map(|path| literal(&path.to_string_lossy())).collect::<Vec<_>>().join(", ")
        };
        settings += &format!(
            "SET allowed_directories = [{}]; SET allowed_paths = [{}];
             SET enable_external_access = false; SET lock_configuration = true;",
            paths(&setup.read_dirs),
            paths(&setup.read_files)
        );
        self.con.execute_batch(&settings).map_err(|e| said(&e))
    }
}

impl Handles {
    fn open() -> Result<Handles, String> {
        let mut handles = Handles { db: ptr::null_mut(), con: ptr::null_mut() };
        // SAFETY: the configuration is made, filled, used and destroyed here; the texts are constants.
        unsafe {
            let mut config = ptr::null_mut();
            ffi::duckdb_create_config(&mut config);
            let refused = SETTINGS.iter().find(|(key, value)| {
                ffi::duckdb_set_config(config, key.as_ptr(), value.as_ptr()) != ffi::DuckDBSuccess
            });
            let mut why = ptr::null_mut();
            let state = ffi::duckdb_open_ext(c":memory:".as_ptr(), &mut handles.db, config, &mut why);
            ffi::duckdb_destroy_config(&mut config);
            if state != ffi::DuckDBSuccess {
                let text = message(why);
                ffi::duckdb_free(why.cast());
                return Err(text);
            }
            if let Some((key, _)) = refused {
                return Err(format!("setting {} was refused", key.to_string_lossy()));
            }
        }
        Ok(handles)
    }
}

impl Drop for Handles {
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

/// `text` as an SQL string.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// `text` for the C interface.
pub(crate) fn c_text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| "Parser Error: the SQL contains a zero character".to_owned())
}
