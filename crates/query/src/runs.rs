//! The `runs` table: one row per run, joinable by `run`. Its `duration_s` is the time that a query sees.

use std::collections::BTreeSet;

use duckdb::Connection;
use fenxi_store::{Store, Summary};

use crate::{Part, QueryError, Scope};

const TABLE: &str = "
CREATE OR REPLACE TABLE fenxi_runs (
    run VARCHAR, name VARCHAR, kind VARCHAR, host VARCHAR, start_us BIGINT, end_us BIGINT, seen_us BIGINT, command VARCHAR,
    exit_status INTEGER, recovered BOOLEAN, baseline BOOLEAN, n_rows BIGINT, bytes BIGINT, tags VARCHAR, params VARCHAR);";

const VIEW: &str = "
CREATE OR REPLACE VIEW runs AS SELECT run, name, kind, host,
    make_timestamptz(start_us) AS start, make_timestamptz(end_us) AS \"end\",
    seen_us / 1e6 AS duration_s, command, exit_status, recovered, baseline, n_rows, bytes,
    CAST(CAST(tags AS JSON) AS MAP(VARCHAR, VARCHAR)) AS tags,
    CAST(CAST(params AS JSON) AS MAP(VARCHAR, VARCHAR)) AS params
FROM fenxi_runs;";

/// Makes the `runs` table of the runs in `scope`.
pub(crate) fn fill(con: &Connection, store: &Store, scope: &Scope) -> Result<(), QueryError> {
    let wanted: Option<BTreeSet<&str>> = scope.runs.as_ref().map(|r| r.iter().map(|r| r.as_str()).collect());
    let engine = |e: duckdb::Error| QueryError::from_engine(&e);
    con.execute_batch(&format!("{TABLE}{VIEW}")).map_err(engine)?;
    let mut rows = con.appender("fenxi_runs").map_err(engine)?;
    for s in store.summaries()? {
        if wanted.as_ref().is_some_and(|w| !w.contains(s.id.as_str())) {
            continue;
        }
        let json = |map| serde_json::to_string(map).unwrap_or_else(|_| "{}".to_owned());
        let seen_us = seen_us(&s, scope.part);
        let command = (!s.command.is_empty()).then(|| s.command.join(" "));
        rows.append_row(duckdb::params![
            s.id.as_str(),
            s.labels.name,
            s.kind,
            s.hosts.join(","),
            s.start.0,
            s.end.0,
            seen_us,
            command,
            s.exit_status,
            s.recovered,
            s.labels.baseline,
            i64::try_from(s.rows).unwrap_or(i64::MAX),
            i64::try_from(s.bytes).unwrap_or(i64::MAX),
            json(&s.labels.tags),
            json(&s.params),
        ])
        .map_err(engine)?;
    }
    rows.flush().map_err(engine)
}

/// How much of a run lies within `part`, in microseconds: what a rate over the rows is to be divided by.
fn seen_us(run: &Summary, part: Option<Part>) -> i64 {
    let length = run.end.0.saturating_sub(run.start.0);
    let Some(part) = part else { return length };
    let (from, to) = (part.from_us.unwrap_or(0).max(0), part.to_us.unwrap_or(length).min(length));
    to.saturating_sub(from).max(0)
}
