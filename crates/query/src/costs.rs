//! The `cost` table: recording overhead of each source of a run, as measured by the recorder; joinable by `run`.

use fenxi_store::Store;
use fenxi_worker::{Cell, Request};

use crate::{QueryError, Scope, answers::Kind, runs::whole};

const TABLE: &str = "
CREATE OR REPLACE TABLE cost (
    run VARCHAR, source VARCHAR, samples BIGINT, cpu_s DOUBLE, elapsed_s DOUBLE, longest_s DOUBLE,
    failures BIGINT, n_rows BIGINT);";

/// Requests that make the `cost` table of the runs in `scope`.
pub(crate) fn fill(store: &Store, scope: &Scope) -> Result<[Request; 2], QueryError> {
    Ok([Request::Run(TABLE.to_owned()), Request::Fill { table: "cost".to_owned(), rows: rows(store, scope)? }])
}

/// Its columns.
pub const COLUMNS: [(&str, Kind); 8] = [
    ("run", Kind::Text),
    ("source", Kind::Text),
    ("samples", Kind::I64),
    ("cpu_s", Kind::F64),
    ("elapsed_s", Kind::F64),
    ("longest_s", Kind::F64),
    ("failures", Kind::I64),
    ("n_rows", Kind::I64),
];

/// Its rows. They stand in the manifests, so each is read.
pub fn rows(store: &Store, scope: &Scope) -> Result<Vec<Vec<Cell>>, QueryError> {
    let all = match &scope.runs {
        Some(runs) => runs.clone(),
        None => store.counted()?.into_iter().map(|s| s.id).collect(),
    };
    let mut rows = Vec::new();
    for id in &all {
        for c in store.run(id)?.manifest.costs {
            rows.push(vec![
                Cell::from(id.as_str()),
                c.source.into(),
                whole(c.samples),
                c.cpu_s.into(),
                c.wall_s.into(),
                c.max_s.into(),
                whole(c.failures),
                whole(c.rows),
            ]);
        }
    }
    Ok(rows)
}
