//! Trend of a metric over runs, with change points.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_analyze::{Metric, Outcome, RunSummary, Verdict, change_points, mean};
use fenxi_model::{Better, Micros, RunId, table};
use fenxi_store::{Store, StoreError, Summary};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Chosen, CompareError, Room, average,
    summaries::{results_of, series_of},
    windows,
    wording::{BetterWord, VerdictWord, verdict, words_of},
};

/// Minimum number of runs in which changes are looked for.
pub const LEAST: usize = 10;

/// Which metric is followed over which runs.
#[derive(Clone, Copy, Debug)]
pub struct TrendRequest<'a> {
    /// A result by its name, `TABLE.COLUMN`, or of a series with keys `TABLE.COLUMN[KEY=VALUE]`.
    pub metric: &'a str,
    /// Selectors, all of which a run must answer to; none for every run.
    pub only: &'a [String],
    /// Only the latest so many of them.
    pub last: Option<usize>,
    /// The window of each run, see [`windows::choose`].
    pub window: &'a str,
    /// The tag or parameter that names the batch of a run: each batch is one point, the mean of its runs. None for a point a run.
    pub batch: Option<&'a str>,
}

/// One run's value.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "TrendPoint")]
pub struct Point {
    /// The run.
    #[schemars(with = "String")]
    pub run: RunId,
    /// How it is called.
    pub name: String,
    /// When it began, in milliseconds since the epoch, UTC.
    #[serde(rename = "start_ms", serialize_with = "milliseconds")]
    #[schemars(with = "i64")]
    pub start: Micros,
    /// The value.
    pub value: f64,
    /// The program that was observed; None where no command was.
    #[serde(skip)]
    pub program: Option<String>,
    /// Runs of which the value is the mean.
    #[serde(skip)]
    pub runs: usize,
}

/// Milliseconds since the epoch, as scripts of pages count them.
pub(crate) fn milliseconds<S: serde::Serializer>(time: &Micros, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_i64(time.0.div_euclid(1000))
}

/// A place from which on the metric was another one.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "TrendLevel")]
pub struct Level {
    /// The place of the first point of the new level.
    pub at: usize,
    /// The mean of the points before, as far as the change before this one.
    pub before: f64,
    /// The mean from here on, as far as the next change.
    pub after: f64,
    /// Better, worse or different.
    #[serde(serialize_with = "verdict")]
    #[schemars(with = "VerdictWord")]
    pub verdict: Verdict,
}

impl Level {
    fn new(at: usize, (before, after): (f64, f64), better: Better) -> Level {
        let verdict = match (better, after > before) {
            (Better::Neither, _) => Verdict::Different,
            (Better::Higher, true) | (Better::Lower, false) => Verdict::Better,
            _ => Verdict::Worse,
        };
        Level { at, before, after, verdict }
    }
}

/// A metric over runs, the oldest first.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Trend {
    /// Name of the metric, as it was asked for.
    pub metric: String,
    /// The unit, in words; empty for a plain number.
    pub unit: String,
    /// Which direction is good.
    #[serde(serialize_with = "words_of")]
    #[schemars(with = "BetterWord")]
    pub better: Better,
    /// A point for each run that has the metric, at least one.
    pub points: Vec<Point>,
    /// Where it changed; empty with fewer than [`LEAST`] points.
    pub changes: Vec<Level>,
}

impl Trend {
    /// Follows a metric; each run has `room` for itself.
    ///
    /// # Errors
    /// When there is no such metric, no run has it, or a run cannot be read or has no such window.
    pub fn read(store: &Store, request: TrendRequest<'_>, room: &Room) -> Result<Trend, CompareError> {
        let wanted = Wanted::parse(request.metric)?;
        let (mut unit, mut better) = wanted.of_catalogue();
        let (mut points, mut names) = (Vec::new(), BTreeSet::new());
        for run in runs(store, request)? {
            let value = match &wanted {
                Wanted::Result(name) => {
                    let mut results = results_of(store.results(&run.id)?);
                    let found = results.remove(name);
                    names.extend(results.into_keys());
                    found.map(|outcome| {
                        (unit, better) = (outcome.unit, outcome.better);
                        outcome.value
                    })
                }
                Wanted::Series(metric) => value(store, &run.id, metric, request.window, room)?,
            };
            points.extend(value.map(|value| point(&run, value, request.batch)));
        }
        let points = by_batch(points);
        if points.is_empty() {
            let known = names.into_iter().collect();
            return Err(CompareError::NoMetric { wanted: request.metric.to_owned(), known });
        }
        Ok(Trend::new(request.metric.to_owned(), (unit, better), points))
    }

    fn new(metric: String, (unit, better): (String, Better), points: Vec<Point>) -> Trend {
        let changes = changes(&points, better);
        Trend { metric, unit, better, points, changes }
    }

    /// Follows every result of the runs, the one that most of them have first.
    ///
    /// # Errors
    /// When a run cannot be read, or none has a result.
    pub fn all(store: &Store, request: TrendRequest<'_>) -> Result<Vec<Trend>, CompareError> {
        let mut series: BTreeMap<String, (Outcome, Vec<Batched>)> = BTreeMap::new();
        for run in runs(store, request)? {
            for (name, outcome) in results_of(store.results(&run.id)?) {
                let at = point(&run, outcome.value, request.batch);
                let (latest, points) = series.entry(name).or_insert_with(|| (outcome.clone(), Vec::new()));
                *latest = outcome;
                points.push(at);
            }
        }
        if series.is_empty() {
            return Err(CompareError::NoResults);
        }
        let trend = |(metric, (outcome, points)): (String, (Outcome, Vec<Batched>))| {
            Trend::new(metric, (outcome.unit, outcome.better), by_batch(points))
        };
        let mut all: Vec<Trend> = series.into_iter().map(trend).collect();
        all.sort_by_key(|trend| std::cmp::Reverse(trend.points.len()));
        Ok(all)
    }

    /// The runs of each program by themselves, the one with most runs first: a change from one program to another is none of either.
    #[must_use]
    pub fn by_program(self) -> Vec<(Option<String>, Trend)> {
        let mut groups: Vec<(Option<String>, Vec<Point>)> = Vec::new();
        for point in self.points {
            match groups.iter_mut().find(|(program, _)| *program == point.program) {
                Some((_, points)) => points.push(point),
                None => groups.push((point.program.clone(), vec![point])),
            }
        }
        groups.sort_by_key(|(_, points)| std::cmp::Reverse(points.len()));
        let of = |points| Trend::new(self.metric.clone(), (self.unit.clone(), self.better), points);
        groups.into_iter().map(|(program, points)| (program, of(points))).collect()
    }
}

/// A point, and the batch of its run where there are batches.
type Batched = (Option<String>, Point);

/// The point of a run.
fn point(run: &Summary, value: f64, batch: Option<&str>) -> Batched {
    let is_observed = run.kind != fenxi_store::IMPORT;
    let program = run.command.first().filter(|_| is_observed).map(|word| base_name(word).to_owned());
    let name = run.labels.name.clone().filter(|n| !n.is_empty()).unwrap_or_else(|| run.id.to_string());
    let of_batch = batch.map(|tag| {
        let value = run.labels.tags.get(tag).or_else(|| run.params.get(tag));
        value.cloned().unwrap_or_else(|| run.id.to_string())
    });
    (of_batch, Point { run: run.id.clone(), name, start: run.start, value, program, runs: 1 })
}

/// The mean of each batch, at the place of its first run; a run of no batch is a point by itself.
fn by_batch(points: Vec<Batched>) -> Vec<Point> {
    let (mut merged, mut places) = (Vec::<Point>::new(), BTreeMap::<(String, Option<String>), usize>::new());
    for (batch, point) in points {
        // Runs of several programs stay apart.
        let key = batch.map(|batch| (batch, point.program.clone()));
        match key.as_ref().and_then(|key| places.get(key)).and_then(|place| merged.get_mut(*place)) {
            Some(known) => {
                known.runs += 1;
                known.value += (point.value - known.value) / known.runs as f64;
            }
            None => {
                let name = key.as_ref().map_or(point.name, |(batch, _)| batch.clone());
                places.extend(key.map(|key| (key, merged.len())));
                merged.push(Point { name, ..point });
            }
        }
    }
    merged
}

/// The last part of a path.
fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The runs to follow, the oldest first.
fn runs(store: &Store, request: TrendRequest<'_>) -> Result<Vec<Summary>, StoreError> {
    // An average is no further run of what it averages.
    let mut runs: Vec<Summary> = store.summaries()?.into_iter().filter(|s| s.kind != average::KIND).collect();
    for selector in request.only {
        let ids: BTreeSet<RunId> = store.select(selector)?.into_iter().collect();
        runs.retain(|s| ids.contains(&s.id));
    }
    runs.sort_by(|a, b| (a.start, &a.id).cmp(&(b.start, &b.id)));
    let surplus = request.last.map_or(0, |n| runs.len().saturating_sub(n));
    Ok(runs.split_off(surplus))
}

/// The mean of a series of a run.
fn value(store: &Store, run: &RunId, metric: &Metric, window: &str, room: &Room) -> Result<Option<f64>, CompareError> {
    let by: Vec<String> = metric.key.split(',').filter_map(|pair| Some(pair.split_once('=')?.0.to_owned())).collect();
    let entry = store.run(run)?;
    let window_of_run = windows::choose(store, &entry, window)?;
    let chosen = Chosen { by: &by, window };
    let metrics = series_of(store, &entry, chosen, window_of_run.as_ref(), &mut room.clone())?;
    if metric.key.is_empty() {
        return Ok(RunSummary { metrics, ..RunSummary::default() }.value(&metric.table, &metric.column));
    }
    Ok(metrics.get(metric).copied())
}

fn changes(points: &[Point], better: Better) -> Vec<Level> {
    if points.len() < LEAST {
        return Vec::new();
    }
    let values: Vec<f64> = points.iter().map(|p| p.value).collect();
    let places = change_points(&values);
    let level = |(i, at): (usize, &usize)| {
        let from = if i == 0 { 0 } else { places[i - 1] };
        let to = places.get(i + 1).copied().unwrap_or(values.len());
        Level::new(*at, (mean(&values[from..*at]), mean(&values[*at..to])), better)
    };
    places.iter().enumerate().map(level).collect()
}

/// The result or metric whose trend is drawn.
enum Wanted {
    Result(String),
    Series(Metric),
}

impl Wanted {
    fn parse(text: &str) -> Result<Wanted, CompareError> {
        let result = || Ok(Wanted::Result(text.strip_prefix("result.").unwrap_or(text).to_owned()));
        let Some((name, rest)) = text.split_once('.') else { return result() };
        let (column, key) = match rest.split_once('[') {
            Some((column, key)) => (column, key.trim_end_matches(']')),
            None => (rest, ""),
        };
        let Some(found) = table(name).filter(|_| name != "result") else { return result() };
        if found.index_of(column).is_none_or(|place| !found.columns[place].is_value()) {
            let known = found.columns.iter().filter(|c| c.is_value()).map(|c| c.name.to_owned()).collect();
            return Err(CompareError::NoColumn { table: found.name, wanted: column.to_owned(), known });
        }
        Ok(Wanted::Series(Metric { table: name.to_owned(), key: key.to_owned(), column: column.to_owned() }))
    }

    /// The unit and the good direction, as far as the catalogue knows them.
    fn of_catalogue(&self) -> (String, Better) {
        let Wanted::Series(metric) = self else { return (String::new(), Better::Neither) };
        let column = table(&metric.table).and_then(|t| Some(t.columns[t.index_of(&metric.column)?]));
        column.map_or((String::new(), Better::Neither), |c| (c.unit.symbol().to_owned(), c.better))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_batch_are_one_point_and_others_stay() {
        let at = |n: i64, batch: Option<&str>, value: f64| {
            let run = RunId::parse(&format!("20261128T0744{n:02}-sh-e738")).unwrap();
            let name = n.to_string();
            (batch.map(str::to_owned), Point { run, name, start: Micros(n), value, program: None, runs: 1 })
        };
        let merged = by_batch(vec![at(1, Some("x"), 1.0), at(2, Some("y"), 5.0), at(3, Some("x"), 3.0)]);
        let seen: Vec<_> = merged.iter().map(|p| (p.name.as_str(), p.value, p.runs)).collect();
        assert_eq!(seen, [("x", 2.0, 2), ("y", 5.0, 1)]);
        assert_eq!(by_batch(vec![at(1, None, 1.0), at(2, None, 1.0)]).len(), 2);
    }

    #[test]
    fn programs_are_followed_each_by_itself() {
        let point = |n: i64, program: Option<&str>, value: f64| Point {
            run: RunId::parse(&format!("20261128T0744{n:02}-sh-e738")).unwrap(),
            name: "x".to_owned(),
            start: Micros(n),
            value,
            program: program.map(str::to_owned),
            runs: 1,
        };
        let points: Vec<Point> =
            (0..24)
                .map(|n| {
                    if n % 2 == 0 {
                        point(n, Some("slow"), 100.0)
                    } else {
                        point(n, Some("fast"), 1.0 + n as f64 / 99.0)
                    }
                })
                .chain([point(30, None, 7.0)])
                .collect();
        let all = Trend {
            metric: "elapsed".to_owned(),
            unit: "s".to_owned(),
            better: Better::Lower,
            points,
            changes: vec![],
        };
        let groups = all.by_program();
        let counted: Vec<_> = groups.iter().map(|(program, trend)| (program.as_deref(), trend.points.len())).collect();
        assert_eq!(counted, [(Some("slow"), 12), (Some("fast"), 12), (None, 1)]);
        // It never changed; from one program to the other it would have, at each run.
        assert_eq!(groups[0].1.changes, []);
    }
}
