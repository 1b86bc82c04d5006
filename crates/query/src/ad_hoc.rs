//! Ad hoc questions: a statement and a chart type, asked once.

use arrow_schema::DataType;
use fenxi_model::Unit;

use crate::{AnswerColumn, Chart, Engine, Param, QueryError, Question, Scope, Section, lex, views::literal};

/// Columns that say where and when, and are no values.
const FRAME: [&str; 4] = ["run", "host", "t", "dt"];

/// A statement with the chart that is wished for; missing properties are derived from the columns of its answer.
#[derive(Clone, Debug, Default)]
pub struct AdHoc {
    /// The statement.
    pub sql: String,
    /// How to draw the answer; None for a table.
    pub chart: Option<Chart>,
    /// Column of the horizontal axis.
    pub x: Option<String>,
    /// Columns of values.
    pub y: Vec<String>,
    /// Column that identifies a line.
    pub series: Option<String>,
    /// Unit of the values.
    pub unit: Option<Unit>,
    /// Values of the parameters in the statement (`$name`), as typed: numbers are numbers.
    pub params: Vec<(String, String)>,
}

impl AdHoc {
    /// The question that this is.
    ///
    /// Over time it needs `run`, `host`, `t` and `dt`; of these only `t` has to be in the answer, as long as it
    /// is about one run.
    ///
    /// # Errors
    /// Wrong SQL, with its place; a chart over time of an answer that has no times.
    pub fn question(self, engine: &Engine, scope: &Scope) -> Result<Question, QueryError> {
        let chart = self.chart.unwrap_or(Chart::Table);
        let mut question = Question {
            name: String::new(),
            title: String::new(),
            about: String::new(),
            section: Section::Facts,
            chart,
            x: self.x,
            y: self.y,
            lines: Vec::new(),
            top: None,
            scale: None,
            over: None,
            series: self.series,
            unit: self.unit.unwrap_or(Unit::None),
            params: self.params.iter().map(|(name, value)| Param::of(name, value)).collect(),
            order: 0,
            live: None,
            sql: self.sql,
            own: true,
            carried: Vec::new(),
        };
        if !question.over_time() {
            return Ok(question);
        }
        let sql = format!("SELECT * FROM ({}\n) LIMIT 0", lex::without_end(&question.sql));
        let columns = engine.query_with(&sql, &question.bind(&[])?, scope)?.columns;
        question.complete(&columns, scope)?;
        if self.unit.is_none() {
            let of = |y: &String| columns.iter().find(|c| c.name == *y).map(|c| c.unit);
            let units: Vec<Option<Unit>> = question.y.iter().map(of).collect();
            if let [Some(first), rest @ ..] = units.as_slice()
                && rest.iter().all(|u| *u == Some(*first))
            {
                question.unit = *first;
            }
        }
        Ok(question)
    }
}

impl Question {
    /// Returns true if its chart runs over time, so that its answer can be thinned to bins; a summary may bring its own
    /// sparklines instead.
    pub fn over_time(&self) -> bool {
        match self.chart {
            Chart::Line | Chart::Stacked | Chart::Heatmap => self.x.as_deref().is_none_or(|x| x == "t"),
            Chart::Summary => self.x.as_deref() == Some("t"),
            _ => false,
        }
    }

    /// Takes from the columns of the answer the missing properties of a chart over time.
    fn complete(&mut self, columns: &[AnswerColumn], scope: &Scope) -> Result<(), QueryError> {
        let has = |name: &str| columns.iter().any(|c| c.name == name);
        let bad = |message: &str| QueryError::Sql { message: message.to_owned(), place: None, hint: None };
        if !has("t") {
            return Err(bad("a chart over time needs the column `t`, the end of each interval"));
        }
        self.x = Some("t".to_owned());
        let text = |c: &&AnswerColumn| matches!(c.ty, DataType::Utf8) && !["run", "host"].contains(&c.name.as_str());
        if self.series.is_none() {
            self.series = columns.iter().find(text).map(|c| c.name.clone());
        }
        if self.y.is_empty() {
            let value = |c: &&AnswerColumn| {
                c.ty.is_numeric() && !FRAME.contains(&c.name.as_str()) && self.series.as_ref() != Some(&c.name)
            };
            self.y = columns.iter().filter(value).map(|c| c.name.clone()).collect();
        }
        if self.y.is_empty() {
            return Err(bad("a chart over time needs a column of numbers"));
        }
        let mut missing = String::new();
        if !has("run") {
            let Some([run]) = scope.runs.as_deref() else {
                return Err(bad("over several runs the answer needs the column `run`"));
            };
            missing += &format!(", {} AS run", literal(run.as_str()));
        }
        for (name, value) in [("host", "''"), ("dt", "CAST(NULL AS DOUBLE)")] {
            if !has(name) {
                missing += &format!(", {value} AS {name}");
            }
        }
        if !missing.is_empty() {
            // The end of the line ends a comment that the statement may end with.
            self.sql = format!("SELECT *{missing} FROM ({}\n)", lex::without_end(&self.sql));
        }
        Ok(())
    }
}
