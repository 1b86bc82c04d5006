//! Sparklines in the list of runs.

use std::{collections::BTreeMap, str::FromStr};

use fenxi_model::{Type, table};
use fenxi_query::{Engine, Scope};
use fenxi_store::Summary;

use super::ApiError;
use crate::pack::rounded;

/// Points of a little line.
const POINTS: usize = 40;

/// A column of a table: `cpu.usr`.
pub(super) struct Sparkline {
    table: &'static fenxi_model::Table,
    column: &'static str,
}

impl FromStr for Sparkline {
    type Err = ApiError;

    fn from_str(text: &str) -> Result<Sparkline, ApiError> {
        let wrong = || ApiError::Wrong(format!("`sparkline` is TABLE.COLUMN with a column of numbers, not `{text}`"));
        let (name, column) = text.split_once('.').ok_or_else(wrong)?;
        let table = table(name).ok_or_else(wrong)?;
        let column = table.index_of(column).map(|place| &table.columns[place]).filter(|c| c.is_value());
        Ok(Sparkline { table, column: column.ok_or_else(wrong)?.name })
    }
}

/// The line of each run that has the column: the mean over all series without a key of their own where there are
/// such (as all CPUs together), else over all.
pub(super) fn of(
    engine: &Engine,
    runs: &[Summary],
    wanted: &Sparkline,
) -> Result<BTreeMap<String, Vec<Option<f64>>>, ApiError> {
    let Sparkline { table, column } = wanted;
    let holding = runs.iter().filter(|s| s.tables.iter().any(|(name, _, _)| name == table.name));
    let scope = Scope::of(holding.map(|s| s.id.clone()));
    let keys = table.columns.iter().skip(fenxi_model::catalog::N_COMMON).take(table.n_keys);
    let whole: Vec<String> = keys.filter(|c| c.ty == Type::Label).map(|c| format!("{} IS NULL", c.name)).collect();
    let whole = if whole.is_empty() { "true".to_owned() } else { whole.join(" AND ") };
    // The names come from the catalogue: they are plain words.
    let sql = format!(
        "WITH placed AS (
            SELECT x.run, {whole} AS whole, x.{column} AS value, x.dt,
                least({POINTS} - 1, greatest(0, CAST(floor((epoch_us(x.t) - coalesce(x.dt, 0) * 5e5 - epoch_us(r.start))
                    / nullif(r.duration_s * 1e6, 0) * {POINTS}) AS BIGINT))) AS bin
            FROM {name} x JOIN runs r ON r.run = x.run
        ), chosen AS (
            SELECT *, bool_or(whole) OVER (PARTITION BY run) AS has_whole FROM placed
        )
        SELECT run, bin, avg(value) AS value FROM chosen WHERE whole OR NOT has_whole GROUP BY run, bin",
        name = table.name,
    );
    let answer = engine.ours(&sql, &[], &scope)?;
    let mut lines: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let values = answer.f64s("bin").into_iter().zip(answer.f64s("value"));
    for (run, (bin, value)) in answer.strings("run").into_iter().zip(values) {
        let (Some(run), Some(bin)) = (run, bin) else { continue };
        let line = lines.entry(run).or_insert_with(|| vec![None; POINTS]);
        if let Some(place) = line.get_mut(bin as usize) {
            *place = value.map(|v| rounded(v, 4));
        }
    }
    Ok(lines)
}
