//! Downsampling of time-series questions to a number of time bins, keeping minimum and maximum.

mod pyramid;
mod timewise;

use fenxi_model::{Micros, RunId};
use fenxi_store::{Holds, TableFile};

use crate::{
    Answer, Engine, Part, QueryError, Question, Scope, Value,
    answers::{Asked, Dialect, FILES},
    lex,
    question::question,
    views::{identifier, last_us, literal},
};
use pyramid::{Source, rounded};
use timewise::{Timewise, timewise};

/// Runs up to which each is looked at by itself.
const FEW: usize = 32;
/// Rows from which the sampling interval of a run is derived.
const SAMPLE: usize = 10_000;

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
    /// The host, when a run has several.
    pub host: Option<String>,
    /// Name of the line: the value column, the series' value, or both when there are several of each;
    /// the host goes before it when a run has several.
    pub name: String,
    /// Smallest value in the bin.
    pub min: Vec<Option<f64>>,
    /// Mean in the bin, weighted as [`Series::mean`].
    pub avg: Vec<Option<f64>>,
    /// Largest value in the bin.
    pub max: Vec<Option<f64>>,
    /// Mean of all values, each weighted as in the catalogue's column: by its time, or by the events that it is a mean of.
    pub mean: Option<f64>,
}

impl Engine {
    /// Answers a question whose `x` is `t`, thinned to at most `bins` bins (and one, in a part of a run that
    /// begins within a bin).
    ///
    /// The question's rows must have `run`, `host`, `t`, `dt`, the columns of `y`, and `series` when it
    /// names one. A bin is a whole number of sampling intervals long, so that each holds as many samples as the
    /// others; bins are counted from the begin of the run, and a part of it is widened to whole bins where the
    /// question looks at every moment by itself.
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
        let params = question.bind(params)?;
        let scope = &question.scope(scope);
        if let Some(timewise) = timewise(question)
            && let Some(grid) = self.grid(&timewise, scope, bins.max(1))?
        {
            return self.moments(question, &timewise, &params, &grid);
        }
        let from_s = scope.part.and_then(|p| p.from_us).map_or(0.0, |us| us.max(0) as f64 / 1e6);
        let sql = lists(question, &of_any_question(question, bins.max(1), from_s));
        let asked = Asked {
            author: question.author(),
            dialect: Dialect::Questions,
            sql: &sql,
            params: &params,
            scope,
            files: &[],
        };
        Ok(gather(question, &self.whole(&asked)?, |width| (from_s / width) as usize))
    }

    /// The bins for a question that looks at every moment by itself; None where they cannot be known beforehand.
    fn grid(&self, timewise: &Timewise<'_>, scope: &Scope, bins: usize) -> Result<Option<Grid>, QueryError> {
        let Some(ids) = scope.runs.as_deref().filter(|ids| (1..=FEW).contains(&ids.len())) else { return Ok(None) };
        let (mut runs, mut end_us) = (Vec::with_capacity(ids.len()), 0);
        for id in ids {
            runs.push((id.clone(), self.store().run(id)?.manifest.start));
        }
        let files = self.store().files(timewise.table.name, Some(ids))?;
        for file in &files {
            for id in file.runs() {
                let start = runs.iter().find(|(known, _)| known == id).map_or(0, |(_, start)| start.0);
                let Some(last) = self.last_us(timewise, file, id)? else { return Ok(None) };
                end_us = end_us.max(last.saturating_sub(start));
            }
        }
        let Some(step_s) = self.step(timewise, ids, scope)? else { return Ok(None) };
        let part = scope.part.unwrap_or_default();
        let from_s = part.from_us.unwrap_or(0).max(0) as f64 / 1e6;
        let to_s = part.to_us.unwrap_or(i64::MAX).min(end_us) as f64 / 1e6;
        let intervals = ((to_s - from_s) / step_s / bins as f64 - 1e-3).ceil().max(1.0) as u64;
        let is_large = self.keeps_files() && files.iter().map(|f| f.rows).sum::<u64>() >= self.coarse_from;
        let intervals = if is_large { rounded(intervals) } else { intervals };
        let width_s = step_s * intervals as f64;
        let first = (from_s / width_s).floor() as u64;
        let last =
            scope.part.and_then(|p| p.to_us).map(|us| (((us as f64 / 1e6) / width_s).ceil() as u64).max(first + 1) - 1);
        Ok(Some(Grid { runs, step_s, intervals, width_s, first, last, is_large }))
    }

    /// The latest moment of a run in a file, in microseconds since 1970; None when it is unknown.
    fn last_us(&self, timewise: &Timewise<'_>, file: &TableFile, run: &RunId) -> Result<Option<i64>, QueryError> {
        if let Holds::Run(_) = file.holds {
            return last_us(&file.path);
        }
        let sql = format!("SELECT max(epoch_us(t)) AS last FROM {}", identifier(timewise.table.name));
        let answer = self.ours(&sql, &[], &Scope::of([run.clone()]))?;
        Ok(answer.f64s("last").first().copied().flatten().map(|last| last as i64))
    }

    /// The sampling interval of the table: the longest of the runs' own.
    fn step(&self, timewise: &Timewise<'_>, ids: &[RunId], scope: &Scope) -> Result<Option<f64>, QueryError> {
        let of_run = |id: &RunId| {
            let (table, run) = (identifier(timewise.table.name), literal(id.as_str()));
            format!(
                "SELECT median(dt) AS step FROM (SELECT dt FROM {table} WHERE run = {run} AND dt > 0 LIMIT {SAMPLE})"
            )
        };
        let each: Vec<String> = ids.iter().map(of_run).collect();
        let sql = format!("SELECT max(step) AS step FROM ({})", each.join(" UNION ALL "));
        Ok(self.ours(&sql, &[], scope)?.f64s("step").first().copied().flatten().filter(|s| *s > 0.0))
    }

    /// Answers a question that looks at every moment by itself, from rows or from coarser bins that are kept.
    fn moments(
        &self,
        question: &Question,
        timewise: &Timewise<'_>,
        params: &[(&str, Value)],
        grid: &Grid,
    ) -> Result<Binned, QueryError> {
        let ids: Vec<RunId> = grid.runs.iter().map(|(id, _)| id.clone()).collect();
        let sql = BinSql { question, timewise };
        let level = if grid.is_large {
            Source { engine: self, question, timewise, step_s: grid.step_s }.level(&ids, grid.intervals)?
        } else {
            None
        };
        let (sums, files) = match level {
            Some((files, of)) => (sql.merged(grid.intervals / of, Some(grid)), files),
            None => (sql.sums(&grid.runs, grid.width_s), Vec::new()),
        };
        let sql = lists(question, &sql.means(&sums, grid));
        let scope = Scope { runs: Some(ids), part: grid.part() };
        let answer = self.whole(&Asked {
            author: question.author(),
            dialect: Dialect::Questions,
            sql: &sql,
            params,
            scope: &scope,
            files: &files,
        })?;
        Ok(gather(question, &answer, |_| grid.first as usize))
    }
}

/// Bins of time, the same for all runs.
struct Grid {
    /// The runs, and when each began.
    runs: Vec<(RunId, Micros)>,
    /// Length of a sampling interval, seconds.
    step_s: f64,
    /// Sampling intervals in a bin.
    intervals: u64,
    /// Length of a bin, seconds.
    width_s: f64,
    /// The first bin that is wanted.
    first: u64,
    /// The last one; None for all that there are.
    last: Option<u64>,
    /// Whether there are so many rows that coarse bins are worth keeping.
    is_large: bool,
}

impl Grid {
    /// All time of the bins that are wanted.
    fn part(&self) -> Option<Part> {
        let micros = |bin: u64| bin as f64 * self.width_s * 1e6;
        let from_us = Some(micros(self.first).floor() as i64).filter(|us| *us > 0);
        let to_us = self.last.map(|last| micros(last + 1).ceil() as i64);
        Some(Part { from_us, to_us }).filter(|part| *part != Part::default())
    }
}

/// SQL of bins for a question that looks at every moment by itself.
struct BinSql<'a> {
    question: &'a Question,
    timewise: &'a Timewise<'a>,
}

impl BinSql<'_> {
    /// Bins from rows: minimum and maximum, the weighted sum, and the weight of what has a value.
    ///
    /// A sample belongs to the bin that holds its interval's middle: late or early samples stay in their own.
    fn sums(&self, runs: &[(RunId, Micros)], width_s: f64) -> String {
        let start = match runs {
            [(_, start)] => start.0.to_string(),
            _ => {
                let when = |(id, start): &(RunId, Micros)| format!(" WHEN {} THEN {}", literal(id.as_str()), start.0);
                format!("CASE run{} END", runs.iter().map(when).collect::<String>())
            }
        };
        let series = series(self.question);
        let mut values = String::new();
        for (i, y) in self.question.y.iter().enumerate() {
            let weight = match self.timewise.weight(y) {
                // Where events are not counted, all time is weighted alike.
                Some(events) => format!("(fenxi_dt * coalesce({}, 1))", identifier(events)),
                None => "fenxi_dt".to_owned(),
            };
            let y = identifier(y);
            values += &format!(
                ", min({y}) AS min{i}, sum({y} * {weight}) AS sum{i}, sum({weight}) FILTER ({y} IS NOT NULL) AS time{i}, \
                 max({y}) AS max{i}"
            );
        }
        format!(
            "SELECT run, host AS fenxi_host, {series} AS fenxi_series, CAST(greatest(floor((epoch_us(t) - {start} \
             - coalesce(dt, 0) * 5e5) / {width_us:?}), 0) AS BIGINT) AS fenxi_bin{values}
             FROM (SELECT *, CASE WHEN dt > 0 THEN dt ELSE 1 END AS fenxi_dt FROM ({sql}\n)) GROUP BY ALL",
            width_us = width_s * 1e6,
            sql = self.timewise.sql,
        )
    }

    /// Bins from finer ones, those of the files that go with the statement, `by` into one.
    fn merged(&self, by: u64, grid: Option<&Grid>) -> String {
        let mut values = String::new();
        for i in 0..self.question.y.len() {
            values += &format!(
                ", min(min{i}) AS min{i}, sum(sum{i}) AS sum{i}, sum(time{i}) AS time{i}, max(max{i}) AS max{i}"
            );
        }
        let mut within = String::new();
        if let Some(grid) = grid {
            within = format!(" WHERE fenxi_bin >= {}", grid.first * by);
            within += &grid.last.map(|last| format!(" AND fenxi_bin < {}", (last + 1) * by)).unwrap_or_default();
        }
        format!(
            "SELECT run, fenxi_host, fenxi_series, fenxi_bin // {by} AS fenxi_bin{values}
             FROM {FILES}{within} GROUP BY ALL",
        )
    }

    /// Bins with their means, those that are wanted.
    fn means(&self, sums: &str, grid: &Grid) -> String {
        let mut values = String::new();
        for i in 0..self.question.y.len() {
            values += &format!(", min{i}, sum{i} / nullif(time{i}, 0) AS avg{i}, max{i}, sum{i}, time{i}");
        }
        let last = grid.last.map(|last| format!(" AND fenxi_bin <= {last}")).unwrap_or_default();
        format!(
            "SELECT run, fenxi_host, fenxi_series, {:?} AS width, fenxi_bin{values} FROM ({sums})
             WHERE fenxi_bin >= {}{last}",
            grid.width_s, grid.first
        )
    }
}

/// SQL of the text that identifies a line.
fn series(question: &Question) -> String {
    question.series.as_ref().map_or("''".to_owned(), |s| format!("CAST({} AS VARCHAR)", identifier(s)))
}

/// Wraps any question: time since the run's start, cut into bins, each with minimum, mean and maximum.
///
/// Bins are counted from the run's begin, also where only a part of it is seen: so they are the same ones when
/// the part is moved a little.
fn of_any_question(question: &Question, bins: usize, from_s: f64) -> String {
    let series = series(question);
    let mut values = String::new();
    for (i, y) in question.y.iter().enumerate() {
        let y = identifier(y);
        values += &format!(
            ", min({y}) AS min{i}, wmean({y}, fenxi_dt) AS avg{i}, max({y}) AS max{i}, sum({y} * fenxi_dt) AS sum{i}, \
             sum(fenxi_dt) FILTER ({y} IS NOT NULL) AS time{i}"
        );
    }
    format!(
        "WITH fenxi_question AS ({sql}
), fenxi_rows AS (
    SELECT q.*, {series} AS fenxi_series, q.fenxi_host_of AS fenxi_host,
           greatest(epoch_us(q.t) - epoch_us(r.start), 0) / 1e6 AS fenxi_rel, coalesce(q.fenxi_dt_of, 0) AS fenxi_dt_raw
    FROM (SELECT *, host AS fenxi_host_of, dt AS fenxi_dt_of FROM fenxi_question) q JOIN runs r ON r.run = q.run
), fenxi_step AS (
    SELECT coalesce(nullif(median(fenxi_dt_raw), 0), 1e-6) AS step, max(fenxi_rel) AS length FROM fenxi_rows
), fenxi_width AS (
    SELECT step * greatest(1, ceil((length - {from_s:?}) / step / {bins} - 1e-3)) AS width FROM fenxi_step
)
SELECT run, fenxi_host, fenxi_series, width,
    CAST(greatest(floor((fenxi_rel - fenxi_dt_raw / 2) / width), 0) AS BIGINT) AS fenxi_bin{values}
FROM (SELECT *, CASE WHEN fenxi_dt_raw > 0 THEN fenxi_dt_raw ELSE 1 END AS fenxi_dt FROM fenxi_rows), fenxi_width
GROUP BY ALL",
        sql = lex::without_end(&question.sql),
    )
}

/// One row a line, with its bins as lists: there may be hundreds of thousands of bins, of some hundred lines.
fn lists(question: &Question, bins: &str) -> String {
    let mut values = String::new();
    for i in 0..question.y.len() {
        values += &format!(
            ", list(min{i}) AS min{i}, list(avg{i}) AS avg{i}, list(max{i}) AS max{i}, \
             sum(sum{i}) / nullif(sum(time{i}), 0) AS mean{i}"
        );
    }
    format!(
        "SELECT run, fenxi_host, fenxi_series, any_value(width) AS width, list(fenxi_bin) AS bins{values}
FROM ({bins}) GROUP BY run, fenxi_host, fenxi_series
ORDER BY run, fenxi_host, TRY_CAST(fenxi_series AS BIGINT) NULLS LAST, fenxi_series"
    )
}

/// Turns rows of lists into series; `first` gives the first wanted bin for a bin length.
fn gather(question: &Question, answer: &Answer, first: impl Fn(f64) -> usize) -> Binned {
    let (runs, hosts) = (answer.strings("run"), answer.strings("fenxi_host"));
    let labels = answer.strings("fenxi_series");
    let place = |bin: &Option<f64>| bin.unwrap_or(0.0) as usize;
    let places: Vec<Vec<usize>> = answer.lists("bins").iter().map(|bins| bins.iter().map(place).collect()).collect();
    let Some(last) = places.iter().flatten().max() else { return Binned::default() };
    let width = answer.f64s("width").first().copied().flatten().unwrap_or(1.0);
    let first = first(width).min(*last);
    let n_bins = last + 1 - first;
    let several_hosts = hosts.windows(2).any(|w| w[0] != w[1]);
    let columns: Vec<[Vec<Vec<Option<f64>>>; 3]> =
        (0..question.y.len()).map(|i| ["min", "avg", "max"].map(|what| answer.lists(&format!("{what}{i}")))).collect();
    let means: Vec<Vec<Option<f64>>> = (0..question.y.len()).map(|i| answer.f64s(&format!("mean{i}"))).collect();
    let mut series = Vec::with_capacity(runs.len() * question.y.len());
    for (row, places) in places.iter().enumerate() {
        for ((y, values), means) in question.y.iter().zip(&columns).zip(&means) {
            let label = labels[row].clone().unwrap_or_else(|| "all".to_owned());
            let name = match (&question.series, question.y.len()) {
                (None, _) => y.clone(),
                (Some(_), 1) => label,
                (Some(_), _) => format!("{label} {y}"),
            };
            let host = hosts[row].clone().filter(|_| several_hosts);
            let name = host.as_ref().map_or_else(|| name.clone(), |host| format!("{host} {name}"));
            let [min, avg, max] = values.each_ref().map(|lists| {
                let mut line = vec![None; n_bins];
                for (bin, value) in places.iter().zip(&lists[row]) {
                    line[bin.saturating_sub(first)] = *value;
                }
                line
            });
            let (run, mean) = (runs[row].clone().unwrap_or_default(), means[row]);
            series.push(Series { run, host, name, min, avg, max, mean });
        }
    }
    let t_rel_s = (1..=n_bins).map(|b| (first + b) as f64 * width).collect();
    Binned { t_rel_s, step_s: width, series }
}
