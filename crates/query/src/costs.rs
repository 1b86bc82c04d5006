//! The `cost` table: what each source of a run cost, as the recorder measured it; joinable by `run`.

use duckdb::Connection;
use fenxi_store::Store;

use crate::{QueryError, Scope};

const TABLE: &str = "
CREATE OR REPLACE TABLE cost (
    run VARCHAR, source VARCHAR, samples BIGINT, cpu_s DOUBLE, elapsed_s DOUBLE, longest_s DOUBLE,
    failures BIGINT, n_rows BIGINT);";

/// Makes the `cost` table of the runs in `scope`. It stands in the manifests, so each is read.
pub(crate) fn fill(con: &Connection, store: &Store, scope: &Scope) -> Result<(), QueryError> {
    let engine = |e: duckdb::Error| QueryError::from_engine(&e);
    con.execute_batch(TABLE).map_err(engine)?;
    let mut rows = con.appender("cost").map_err(engine)?;
    let all = match &scope.runs {
        Some(runs) => runs.clone(),
        None => store.summaries()?.into_iter().map(|s| s.id).collect(),
    };
    let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    for id in &all {
        for c in store.run(id)?.manifest.costs {
            let (samples, failures, n_rows) = (whole(c.samples), whole(c.failures), whole(c.rows));
            rows.append_row(duckdb::params![
                id.as_str(),
                c.source,
                samples,
                c.cpu_s,
                c.wall_s,
                c.max_s,
                failures,
                n_rows
            ])
            .map_err(engine)?;
        }
    }
    rows.flush().map_err(engine)
}
