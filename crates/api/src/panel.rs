//! A question's answer as a panel of a page.

use std::collections::BTreeMap;

use fenxi_model::{Column, TABLES};
use fenxi_query::{Chart, Engine, QueryError, Question, Scope};

use crate::{
    data,
    payload::{Header, Meaning, Panel, Quiet, Run, Table, Time},
};

/// Most rows of a heat map and run.
const STRIPES: usize = 1024;

/// Rows of a chart that draws a whole distribution, at least.
const OF_MANY: usize = 20_000;

/// How much of an answer is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// Values of the question's parameters, as typed.
    pub params: Vec<(String, String)>,
    /// Most points of a line: time is cut into so many bins, each with mean, minimum and maximum.
    pub bins: usize,
    /// Most rows of a table.
    pub rows: usize,
    /// Most lines of a chart and run; the largest are kept.
    pub lines: usize,
}

/// Asks `question` and makes its panel. A question that fails has the error in its place.
///
/// # Errors
/// Only [`QueryError::Interrupted`]: then there is no answer that could be kept.
pub(crate) fn panel(
    engine: &Engine,
    question: &Question,
    scope: &Scope,
    runs: &[Run],
    wish: &Wish,
) -> Result<Panel, QueryError> {
    let mut panel = Panel { header: Header::of(question), ..Panel::default() };
    let answered = if question.over_time() {
        time(engine, question, scope, runs, wish).map(|time| {
            panel.columns = meanings(question, question.y.iter().map(String::as_str));
            panel.quiet = quiet_time(&time);
            panel.time = Some(time).filter(|_| panel.quiet.is_none());
        })
    } else {
        engine.answer(question, &wish.params, scope).map(|answer| {
            panel.columns = meanings(question, answer.columns.iter().map(|c| c.name.as_str()));
            let rows = if question.chart.is_of_many() { wish.rows.max(OF_MANY) } else { wish.rows };
            let table = data::table(answer, runs, rows);
            panel.quiet = quiet_table(&table, question.chart);
            panel.table = Some(table).filter(|_| panel.quiet.is_none());
        })
    };
    match answered {
        Err(QueryError::Interrupted) => return Err(QueryError::Interrupted),
        Err(e) => panel.error = Some(e.to_string()),
        Ok(()) => {}
    }
    Ok(panel)
}

fn time(engine: &Engine, question: &Question, scope: &Scope, runs: &[Run], wish: &Wish) -> Result<Time, QueryError> {
    let binned = engine.answer_binned(question, &wish.params, scope, wish.bins)?;
    let limit = if question.chart == Chart::Heatmap { STRIPES } else { wish.lines };
    Ok(data::time(binned, question, runs, limit))
}

fn quiet_time(time: &Time) -> Option<Quiet> {
    if time.series.iter().all(|s| s.stats.avg.is_none()) {
        return Some(Quiet::Empty);
    }
    let zero = |v: Option<f64>| v.unwrap_or(0.0) == 0.0;
    time.series.iter().all(|s| zero(s.stats.min) && zero(s.stats.max)).then_some(Quiet::Zero)
}

fn quiet_table(table: &Table, chart: Chart) -> Option<Quiet> {
    if table.rows.is_empty() {
        return Some(Quiet::Empty);
    }
    // An exit status of 0 is a result, and words say something without any number.
    let numbers: Vec<usize> = (0..table.columns.len()).filter(|i| table.columns[*i].numeric).collect();
    if chart == Chart::Tiles || numbers.is_empty() {
        return None;
    }
    let values = || table.rows.iter().flat_map(|row| numbers.iter().map(|i| &row[*i])).filter(|v| !v.is_null());
    let words = numbers.len() < table.columns.len();
    if words && values().next().is_none() {
        return None;
    }
    values().all(|v| v.as_f64() == Some(0.0)).then_some(Quiet::Zero)
}

/// Meanings of the columns called `names`, as far as they are columns of tables that the question reads.
fn meanings<'a>(question: &Question, names: impl Iterator<Item = &'a str>) -> BTreeMap<String, Meaning> {
    let read: Vec<&str> = question.sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let columns: Vec<&Column> =
        TABLES.iter().filter(|t| read.contains(&t.name)).flat_map(|t| t.columns.iter()).collect();
    names
        .filter_map(|name| columns.iter().find(|c| c.name == name))
        .map(|c| {
            let meaning = Meaning { unit: c.unit.symbol(), doc: c.doc, better: c.better.to_string() };
            (c.name.to_owned(), meaning)
        })
        .collect()
}
