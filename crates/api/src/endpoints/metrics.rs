//! `/api/v1/metrics`: metrics that can be followed or compared, for completion.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_query::Scope;
use fenxi_store::Summary;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, Context, Endpoint, Query, Reply, schema};

/// The latest runs are looked at: others had the same things, or are not missed in a list to choose from.
const RUNS: usize = 50;
/// Keys that are offered of one column.
const KEYS: usize = 200;
/// Names of results that are offered.
const RESULTS: usize = 10_000;

pub(super) const METRICS: Endpoint = Endpoint {
    path: "/api/v1/metrics",
    about: "Names of the results and series of the latest runs.",
    params: &[],
    changes: true,
    answer,
    schema: schema::of::<Metrics>,
};

/// What can be followed or compared.
#[derive(JsonSchema, Serialize)]
struct Metrics {
    /// Names of results.
    results: Vec<String>,
    series: Vec<Series>,
}

/// A column of a table.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "MetricSeries")]
struct Series {
    table: String,
    column: String,
    /// `KEY=VALUE,…` of series that have keys.
    keys: BTreeSet<String>,
}

fn answer(context: &Context<'_>, _: &Query) -> Result<Reply, ApiError> {
    let (all, _) = context.store.listing()?;
    let latest = |table: &str| {
        let has = |s: &&Summary| s.tables.iter().any(|(name, _, _)| name == table);
        Scope::of(all.iter().filter(has).take(RUNS).map(|s| s.id.clone()))
    };
    let sql = format!("SELECT DISTINCT name FROM result ORDER BY name LIMIT {RESULTS}");
    let results = context.engine.ours(&sql, &[], &latest("result"))?;
    let sql = format!(
        "SELECT table_name, column_name, key FROM (
            SELECT *, row_number() OVER (PARTITION BY table_name, column_name ORDER BY key) AS place
            FROM (SELECT DISTINCT table_name, column_name, key FROM stats WHERE table_name != 'result')
        ) WHERE place <= {KEYS} + 1"
    );
    let found = context.engine.ours(&sql, &[], &latest("stats"))?;
    let mut series: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    let columns = found.strings("table_name").into_iter().zip(found.strings("column_name"));
    for ((table, column), key) in columns.zip(found.strings("key")) {
        let (Some(table), Some(column)) = (table, column) else { continue };
        let keys = series.entry((table, column)).or_default();
        if let Some(key) = key.filter(|key| !key.is_empty() && keys.len() < KEYS) {
            keys.insert(key);
        }
    }
    let series = series.into_iter().map(|((table, column), keys)| Series { table, column, keys }).collect();
    Reply::json(&Metrics { results: results.strings("name").into_iter().flatten().collect(), series })
}
