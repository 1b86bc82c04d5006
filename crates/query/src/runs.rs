//! The `runs` table: one row per run, joinable by `run`. Its `duration_s` is the time that a query sees.

use std::collections::BTreeSet;

use fenxi_store::{Store, Summary};
use fenxi_worker::{Cell, Request};

use crate::{Part, QueryError, Scope, answers::Kind};

const TABLE: &str = "
CREATE OR REPLACE TABLE fenxi_runs (
    run VARCHAR, name VARCHAR, kind VARCHAR, host VARCHAR, start_us BIGINT, end_us BIGINT, seen_us BIGINT, command VARCHAR,
    exit_status INTEGER, recovered BOOLEAN, baseline BOOLEAN, samples BIGINT, missed_samples BIGINT,
    n_rows BIGINT, bytes BIGINT, tags VARCHAR, params VARCHAR);";

const VIEW: &str = "
CREATE OR REPLACE VIEW runs AS SELECT run, name, kind, host,
    make_timestamptz(start_us) AS start, make_timestamptz(end_us) AS \"end\",
    seen_us / 1e6 AS duration_s, command, exit_status, recovered, baseline, samples, missed_samples, n_rows, bytes,
    CAST(CAST(tags AS JSON) AS MAP(VARCHAR, VARCHAR)) AS tags,
    CAST(CAST(params AS JSON) AS MAP(VARCHAR, VARCHAR)) AS params
FROM fenxi_runs;";

/// Requests that make the `runs` table of the runs in `scope`.
pub(crate) fn fill(store: &Store, scope: &Scope) -> Result<[Request; 2], QueryError> {
    let rows = rows(store, scope)?;
    Ok([Request::Run(format!("{TABLE}{VIEW}")), Request::Fill { table: "fenxi_runs".to_owned(), rows }])
}

/// The columns of what the table is made of.
pub const COLUMNS: [(&str, Kind); 17] = [
    ("run", Kind::Text),
    ("name", Kind::Text),
    ("kind", Kind::Text),
    ("host", Kind::Text),
    ("start_us", Kind::I64),
    ("end_us", Kind::I64),
    ("seen_us", Kind::I64),
    ("command", Kind::Text),
    ("exit_status", Kind::I64),
    ("recovered", Kind::Bool),
    ("baseline", Kind::Bool),
    ("samples", Kind::I64),
    ("missed_samples", Kind::I64),
    ("n_rows", Kind::I64),
    ("bytes", Kind::I64),
    ("tags", Kind::Text),
    ("params", Kind::Text),
];

/// Its rows.
pub fn rows(store: &Store, scope: &Scope) -> Result<Vec<Vec<Cell>>, QueryError> {
    let wanted: Option<BTreeSet<&str>> = scope.runs.as_ref().map(|r| r.iter().map(|r| r.as_str()).collect());
    let mut rows = Vec::new();
    // A range of time is no run of the store's: it is in no list.
    let mut summaries = if scope.runs.is_some() { store.summaries()? } else { store.counted()? };
    for id in scope.runs.iter().flatten().filter(|id| id.is_range()) {
        if !summaries.iter().any(|s| s.id == *id) {
            summaries.push(store.summary(id)?);
        }
    }
    for s in summaries {
        if wanted.as_ref().is_some_and(|w| !w.contains(s.id.as_str())) {
            continue;
        }
        let json = |map| serde_json::to_string(map).unwrap_or_else(|_| "{}".to_owned());
        let command = (!s.command.is_empty()).then(|| s.command.join(" "));
        rows.push(vec![
            Cell::from(s.id.as_str()),
            s.labels.name.clone().into(),
            s.kind.clone().into(),
            s.hosts.join(",").into(),
            s.start.0.into(),
            s.end.0.into(),
            seen_us(&s, scope.part).into(),
            command.into(),
            s.exit_status.map(i64::from).into(),
            s.recovered.into(),
            s.labels.baseline.into(),
            s.ticks.map(whole).into(),
            s.missed_ticks.map(whole).into(),
            whole(s.rows),
            whole(s.bytes),
            json(&s.labels.tags).into(),
            json(&s.params).into(),
        ]);
    }
    Ok(rows)
}

/// A count as the engine has whole numbers.
pub(crate) fn whole(n: u64) -> Cell {
    i64::try_from(n).unwrap_or(i64::MAX).into()
}

/// How much of a run lies within `part`, in microseconds: what a rate over the rows is to be divided by.
fn seen_us(run: &Summary, part: Option<Part>) -> i64 {
    let length = run.end.0.saturating_sub(run.start.0);
    let Some(part) = part else { return length };
    let (from, to) = (part.from_us.unwrap_or(0).max(0), part.to_us.unwrap_or(length).min(length));
    to.saturating_sub(from).max(0)
}
