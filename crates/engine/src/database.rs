//! The engine's database: made once in the template, and narrowed down by each session before it works.

use std::ffi::CStr;

use fenxi_worker::Setup;

use crate::connection::{Connection, Engine, EngineError};

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
pub(crate) struct Template(Engine);

/// The database as a session has it: with a connection that works, and one that only prepares.
///
/// Connections are a session's own: each draws its random numbers from a seed that it takes when it is made.
pub(crate) struct Database<'a> {
    con: Connection<'a>,
    gate: Connection<'a>,
}

impl Template {
    /// Opens an empty database in memory and makes what all sessions share.
    pub(crate) fn open() -> Result<Template, EngineError> {
        let template = Template(Engine::open(&SETTINGS)?);
        // Sealed runs never change: their footers are read once. What is used once is loaded.
        let shared = format!(
            "SET GLOBAL TimeZone = 'UTC'; SET GLOBAL parquet_metadata_cache = true; {MACROS}
             CREATE SCHEMA boot; CREATE SCHEMA spread; CREATE SCHEMA fenxi; SELECT json_serialize_sql('SELECT 1');"
        );
        template.session()?.con.run(&shared)?;
        Ok(template)
    }

    /// Connections for a session.
    pub(crate) fn session(&self) -> Result<Database<'_>, EngineError> {
        Ok(Database { con: self.0.connect()?, gate: self.0.connect()? })
    }
}

impl Database<'_> {
    /// The connection that works.
    pub(crate) fn con(&self) -> &Connection<'_> {
        &self.con
    }

    /// The connection that only prepares.
    pub(crate) fn gate(&self) -> &Connection<'_> {
        &self.gate
    }

    /// Narrows the database down to what `setup` allows. The lock comes last: after it no setting can be changed, not
    /// by ourselves either.
    pub(crate) fn narrow(&self, setup: &Setup) -> Result<(), EngineError> {
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
        self.con.run(&settings)
    }
}

/// `text` as an SQL string.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
