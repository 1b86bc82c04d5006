//! Time-series questions thinned to a number of time bins, with the least and greatest value kept.

use std::collections::BTreeMap;

use crate::{Answer, Engine, QueryError, Question, Scope, lex, question::question, views::identifier};

/// The answer of a time-series question in bins of time since each run's start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Binned {
    /// End of each bin in seconds since the start of the run, ascending, evenly spaced.
    pub t_rel_s: Vec<f64>,
    /// Length of a bin in seconds.
    pub step_s: f64,
    /// One per run, host, series and value column, by run, host, series (numbers as numbers) and the order of `y`.
    pub series: Vec<Series>,
}

/// One line of a chart. Its vectors are as long as [`Binned::t_rel_s`]; None where there was nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The run's id.
    pub run: String,
    /// What the line is: the value column, the series' value, or both when there are several of each;
    /// the host goes before it when a run has several.
    pub name: String,
    /// Least value in the bin.
    pub min: Vec<Option<f64>>,
    /// Mean over time in the bin.
    pub avg: Vec<Option<f64>>,
    /// Greatest value in the bin.
    pub max: Vec<Option<f64>>,
}

impl Engine {
    /// Answers a question whose `x` is `t`, thinned to at most `bins` bins (and one, in a part of a run that
    /// begins within a bin).
    ///
    /// The question's rows must have `run`, `host`, `t`, `dt`, the columns of `y`, and `series` when it
    /// names one. A bin is a whole number of sampling intervals long,
    /// so that each holds as many samples as the others.
    ///
    /// # Errors
    /// [`QueryError::Parameter`] when the question is not over time, and whatever [`Engine::ask`] fails with.
    pub fn ask_binned(
        &self,
        name: &str,
        params: &[(String, String)],
        scope: &Scope,
        bins: usize,
    ) -> Result<Binned, QueryError> {
        self.answer_binned(&question(self.store(), name)?, params, scope, bins)
    }

    /// Like [`Engine::ask_binned`] for a question at hand.
    ///
    /// # Errors
    /// As [`Engine::ask_binned`].
    pub fn answer_binned(
        &self,
        question: &Question,
        params: &[(String, String)],
        scope: &Scope,
        bins: usize,
    ) -> Result<Binned, QueryError> {
        if question.x.as_deref() != Some("t") || question.y.is_empty() {
            let message = "it is not over time: its header needs `x: t` and `y`".to_owned();
            return Err(QueryError::Parameter { question: question.name.clone(), message });
        }
        let from_s = scope.part.and_then(|p| p.from_us).map_or(0.0, |us| us.max(0) as f64 / 1e6);
        let answer = self.query_with(&binned_sql(question, bins.max(1), from_s), &question.bind(params)?, scope)?;
        Ok(gather(question, &answer, from_s))
    }
}

/// Wraps a question: time since the run's start, cut into bins, each with least, mean and greatest value.
///
/// Bins are counted from the run's begin, also where only a part of it is seen: so they are the same ones when
/// the part is moved a little.
fn binned_sql(question: &Question, bins: usize, from_s: f64) -> String {
    let series = question.series.as_ref().map_or("''".to_owned(), |s| format!("CAST({} AS VARCHAR)", identifier(s)));
    let mut values = String::new();
    for (i, y) in question.y.iter().enumerate() {
        let y = identifier(y);
        values += &format!(", min({y}) AS min{i}, wmean({y}, fenxi_dt) AS avg{i}, max({y}) AS max{i}");
    }
    // A sample belongs to the bin that holds its interval's middle: late or early samples stay in their own.
    format!(
        "WITH fenxi_question AS ({sql}
), fenxi_rows AS (
    SELECT q.*, {series} AS fenxi_series, q.fenxi_host_of AS fenxi_host,
           greatest(epoch_us(q.t) - epoch_us(r.start), 0) / 1e6 AS fenxi_rel, coalesce(q.fenxi_dt_of, 0) AS fenxi_dt_raw
    FROM (SELECT *, host AS fenxi_host_of, dt AS fenxi_dt_of FROM fenxi_question) q JOIN runs r USING (run)
), fenxi_step AS (
    SELECT coalesce(nullif(median(fenxi_dt_raw), 0), 1e-6) AS step, max(fenxi_rel) AS length FROM fenxi_rows
), fenxi_width AS (
    SELECT step * greatest(1, ceil((length - {from_s:?}) / step / {bins} - 1e-3)) AS width FROM fenxi_step
)
SELECT * FROM (SELECT run, fenxi_host, fenxi_series, width, CAST(greatest(floor((fenxi_rel - fenxi_dt_raw / 2) / width), 0) AS BIGINT) AS bin
    {values}
FROM (SELECT *, CASE WHEN fenxi_dt_raw > 0 THEN fenxi_dt_raw ELSE 1 END AS fenxi_dt FROM fenxi_rows), fenxi_width
GROUP BY ALL)
ORDER BY run, fenxi_host, TRY_CAST(fenxi_series AS BIGINT) NULLS LAST, fenxi_series, bin",
        sql = lex::without_end(&question.sql),
    )
}

/// Turns rows of bins into series.
fn gather(question: &Question, answer: &Answer, from_s: f64) -> Binned {
    let (runs, hosts) = (answer.strings("run"), answer.strings("fenxi_host"));
    let labels = answer.strings("fenxi_series");
    let places: Vec<usize> = answer.f64s("bin").into_iter().map(|b| b.unwrap_or(0.0) as usize).collect();
    let Some(last) = places.iter().max() else { return Binned::default() };
    let width = answer.f64s("width").first().copied().flatten().unwrap_or(1.0);
    let first = ((from_s / width) as usize).min(*last);
    let n_bins = last + 1 - first;
    let several_hosts = hosts.windows(2).any(|w| w[0] != w[1]);
    let mut by_key: BTreeMap<(usize, usize), Series> = BTreeMap::new();
    for (y_place, y) in question.y.iter().enumerate() {
        let column = |what: &str| answer.f64s(&format!("{what}{y_place}"));
        let (min, avg, max) = (column("min"), column("avg"), column("max"));
        let mut line = 0;
        for row in 0..places.len() {
            if row > 0 && (&runs[row], &hosts[row], &labels[row]) != (&runs[row - 1], &hosts[row - 1], &labels[row - 1])
            {
                line += 1;
            }
            let series = by_key.entry((line, y_place)).or_insert_with(|| {
                let label = labels[row].clone().unwrap_or_else(|| "all".to_owned());
                let name = match (&question.series, question.y.len()) {
                    (None, _) => y.clone(),
                    (Some(_), 1) => label,
                    (Some(_), _) => format!("{label} {y}"),
                };
                let host = hosts[row].clone().filter(|_| several_hosts).map(|h| format!("{h} ")).unwrap_or_default();
                Series {
                    run: runs[row].clone().unwrap_or_default(),
                    name: host + &name,
                    min: vec![None; n_bins],
                    avg: vec![None; n_bins],
                    max: vec![None; n_bins],
                }
            });
            let bin = places[row].saturating_sub(first);
            (series.min[bin], series.avg[bin], series.max[bin]) = (min[row], avg[row], max[row]);
        }
    }
    let t_rel_s = (1..=n_bins).map(|b| (first + b) as f64 * width).collect();
    Binned { t_rel_s, step_s: width, series: by_key.into_values().collect() }
}
