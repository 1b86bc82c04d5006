//! Answers in the form that pages need: tables by row, series packed.

use std::collections::BTreeMap;

use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{Float64Type, TimestampMicrosecondType},
};
use arrow_schema::{DataType, TimeUnit};
use fenxi_model::{Micros, Unit};
use fenxi_query::{Answer, Binned, Question};
use serde_json::Value;

use crate::{
    pack::{pack, rounded},
    payload::{Run, Series, Stats, Table, TableColumn, Time},
};

/// Digits of a table's number: enough to see through to the raw value.
const DIGITS: i32 = 6;

/// The first `limit` rows of `answer`; runs carry the names that the page shows, and a run or host
/// that is the same everywhere is left out.
pub(crate) fn table(answer: Answer, runs: &[Run], limit: usize) -> Table {
    let answer =
        if runs.len() == 1 { answer.without_constant(&["run", "host"]) } else { answer.without_constant(&["host"]) };
    let total = answer.n_rows();
    let answer = answer.head(limit);
    let whole = |ty: &DataType, unit: Unit| ty.is_integer() && unit == Unit::None;
    let columns = answer.columns.iter().map(|c| TableColumn {
        name: c.name.clone(),
        unit: c.unit.symbol(),
        numeric: c.ty.is_numeric(),
        whole: whole(&c.ty, c.unit),
    });
    let columns: Vec<TableColumn> = columns.collect();
    let by_column: Vec<Vec<Value>> =
        answer.columns.iter().enumerate().map(|(i, c)| cells(&answer, i, c.name.as_str(), runs)).collect();
    let rows =
        (0..answer.n_rows()).map(|r| by_column.iter().map(|c| c.get(r).cloned().unwrap_or(Value::Null)).collect());
    Table { rows: rows.collect(), columns, total }
}

/// A whole column as JSON.
fn cells(answer: &Answer, place: usize, name: &str, runs: &[Run]) -> Vec<Value> {
    match &answer.columns[place].ty {
        ty if ty.is_numeric() => answer.f64s(name).into_iter().map(number).collect(),
        DataType::List(_) => parts(answer, place).iter().flat_map(lists).collect(),
        DataType::Timestamp(TimeUnit::Microsecond, _) => parts(answer, place).iter().flat_map(times).collect(),
        _ => {
            let shown = |v: String| match runs.iter().find(|r| name == "run" && r.id == v) {
                Some(run) => run.name.clone(),
                None => v,
            };
            answer.strings(name).into_iter().map(|v| v.map(shown).into()).collect()
        }
    }
}

fn parts(answer: &Answer, place: usize) -> Vec<ArrayRef> {
    answer.batches.iter().map(|b| b.column(place).clone()).collect()
}

fn number(value: Option<f64>) -> Value {
    match value {
        Some(v) if v.fract() == 0.0 && v.abs() < 9e15 => Value::from(v as i64),
        Some(v) => Value::from(rounded(v, DIGITS)),
        None => Value::Null,
    }
}

/// Lists of numbers (a little line); a list of anything else is missing.
fn lists(array: &ArrayRef) -> Vec<Value> {
    let list = array.as_list::<i32>();
    let one = |i: usize| match list.value(i).as_primitive_opt::<Float64Type>() {
        Some(values) if list.is_valid(i) => {
            Value::Array(values.iter().map(|v| number(v.map(|v| rounded(v, 4)))).collect())
        }
        _ => Value::Null,
    };
    (0..list.len()).map(one).collect()
}

fn times(array: &ArrayRef) -> Vec<Value> {
    let times = array.as_primitive::<TimestampMicrosecondType>();
    times.iter().map(|t| t.map(|t| Micros(t).to_the_second()).into()).collect()
}

/// Series packed; of each run the `limit` greatest ones, the same names in all runs.
pub(crate) fn time(binned: Binned, question: &Question, runs: &[Run], limit: usize) -> Time {
    let n = binned.t_rel_s.len();
    let t0 = binned.t_rel_s.first().copied().unwrap_or(1.0);
    let step = binned.step_s;
    let mut rank: BTreeMap<&str, f64> = BTreeMap::new();
    for s in &binned.series {
        let mean = s.mean.unwrap_or(f64::NEG_INFINITY);
        let most = rank.entry(&s.name).or_insert(mean);
        *most = most.max(mean);
    }
    let mut names: Vec<(&str, f64)> = rank.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    let kept: Vec<&str> = names.iter().take(limit).map(|(name, _)| *name).collect();
    let left_out = names.len() - kept.len();
    let mut series = Vec::new();
    for s in binned.series.iter().filter(|s| kept.contains(&s.name.as_str())) {
        // A column that a run never filled is no line.
        let (Some(stats), Some(run)) = (stats(s), runs.iter().position(|r| r.id == s.run)) else { continue };
        let spread = s.min != s.max;
        series.push(Series {
            run,
            host: s.host.clone(),
            name: s.name.clone(),
            unit: question.unit.symbol(),
            avg: pack(&s.avg),
            min: spread.then(|| pack(&s.min)),
            max: spread.then(|| pack(&s.max)),
            stats,
        });
    }
    if question.chart == fenxi_query::Chart::Heatmap {
        series.iter_mut().for_each(|s| (s.min, s.max) = (None, None));
    }
    series.sort_by_key(|s| s.run);
    let max = binned.series.iter().flat_map(|s| s.avg.iter().flatten()).copied().fold(0.0, f64::max);
    Time { t0, step, n, series, left_out, max }
}

fn mean(values: &[Option<f64>]) -> Option<f64> {
    let (n, sum) = values.iter().flatten().fold((0.0, 0.0), |(n, sum), v| (n + 1.0, sum + v));
    (n > 0.0).then(|| sum / n)
}

/// Figures of a whole series; None when it has no value at all.
fn stats(series: &fenxi_query::Series) -> Option<Stats> {
    // A bin at the end may be of little time: the mean of the series is none of its bins.
    let avg = series.mean.or_else(|| mean(&series.avg))?;
    let least = series.min.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let greatest = series.max.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Stats {
        avg: Some(rounded(avg, DIGITS)),
        min: Some(rounded(least, DIGITS)),
        max: Some(rounded(greatest, DIGITS)),
        trend_pct: trend(&series.avg, mean(&series.avg)?).map(|t| rounded(t, 3)),
    })
}

/// How much of the variation a line has to explain before it is called a trend (r squared).
const EXPLAINS: f64 = 0.3;

/// Change along the line of least squares over all bins, percent of where the line begins, or of a tenth of the mean where that is
/// more. Nothing falls by more than all of it. 0 where the line explains little: noise has no trend.
fn trend(values: &[Option<f64>], avg: f64) -> Option<f64> {
    let points: Vec<(f64, f64)> = values.iter().enumerate().filter_map(|(i, v)| v.map(|v| (i as f64, v))).collect();
    if points.len() < 3 || avg == 0.0 {
        return None;
    }
    let n = points.len() as f64;
    let x_mean = points.iter().map(|p| p.0).sum::<f64>() / n;
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in &points {
        xy += (x - x_mean) * (y - avg);
        xx += (x - x_mean).powi(2);
        yy += (y - avg).powi(2);
    }
    if yy == 0.0 || xy * xy < EXPLAINS * xx * yy {
        return Some(0.0);
    }
    let at = |x: f64| avg + xy / xx * (x - x_mean);
    let (first, last) = (at(points[0].0), at(points[points.len() - 1].0));
    let change = 100.0 * (last - first) / first.abs().max(avg.abs() / 10.0);
    let is_positive = points.iter().all(|p| p.1 >= 0.0);
    Some(if is_positive { change.max(-100.0) } else { change })
}

#[cfg(test)]
mod tests {
    use super::{mean, trend};

    #[test]
    fn the_trend_of_a_straight_line_is_its_rise_over_its_begin() {
        // From 10 to 30: twice its begin. The gap changes nothing.
        let line = [Some(10.0), Some(15.0), None, Some(25.0), Some(30.0)];
        assert_eq!(mean(&line), Some(20.0));
        assert!((trend(&line, 20.0).unwrap() - 200.0).abs() < 1e-9);
        let falls = [100.0, 50.0, 0.0, 0.0, 0.0, 0.0].map(Some);
        assert_eq!(trend(&falls, 25.0), Some(-100.0), "nothing falls by more than all of it");
        let noise = [Some(10.0), Some(30.0), Some(9.0), Some(31.0), Some(10.0), Some(30.0)];
        assert_eq!(trend(&noise, 20.0), Some(0.0));
        assert_eq!(trend(&[Some(5.0); 4], 5.0), Some(0.0));
        assert_eq!(trend(&[Some(1.0), Some(2.0)], 1.5), None);
        assert_eq!(mean(&[None]), None);
    }
}
