//! The report of a database server that its administrator keeps and mails: one period, two side by side, or two groups of runs.
//!
//! A [`DbReport`] is the one structure from which text, Markdown, HTML and JSON are made. Each of its figures is an answer of a
//! question, so that a page and `fenxi ask` say the same.

mod groups;
mod html;
mod lines;
mod sections;
mod text;

use std::collections::BTreeSet;

use fenxi_model::Unit;
use fenxi_query::{Engine, QueryError, Scope, question};
use serde::Serialize;

pub use self::groups::groups;
use self::{lines::Lines, sections::SECTIONS};

/// A report.
#[derive(Clone, Debug, Serialize)]
pub struct DbReport {
    /// The server.
    pub server: String,
    /// The periods, or groups of runs, in columns: one or two.
    pub periods: Vec<Period>,
    /// Remarks for the reader, above the sections.
    pub remarks: Vec<String>,
    /// Its sections.
    pub sections: Vec<Section>,
}

/// A period.
#[derive(Clone, Debug, Serialize)]
pub struct Period {
    /// `A`, `B`; empty when there is one.
    pub label: String,
    /// As it was asked for.
    pub selector: String,
    /// The runs.
    pub runs: Vec<String>,
    /// When it began.
    pub start: String,
    /// How long it is.
    pub seconds: f64,
}

/// A section.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The question that can be asked alone, with its parameters.
    pub question: String,
    /// Headings of what distinguishes lines.
    pub keys: Vec<String>,
    /// What is shown of each line.
    pub columns: Vec<Column>,
    /// The lines.
    pub lines: Vec<Line>,
    /// Lines that are left out, as they are smaller.
    pub more: usize,
}

/// A column.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Its name in the question's answer.
    pub name: String,
    /// The text above it.
    pub heading: String,
    /// Whether it has one value, and not one for each period.
    #[serde(skip)]
    pub is_of_all: bool,
}

/// A line.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// What distinguishes it from others.
    pub keys: Vec<String>,
    /// A statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The label of the only period that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_in: Option<String>,
    /// For each column a value of each period.
    pub cells: Vec<Vec<Cell>>,
}

/// A value, and how it is shown everywhere.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// A number, in the unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The unit of the number.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unit: &'static str,
    /// As it is shown; `-` for what is not known.
    pub shown: String,
}

impl Default for Cell {
    fn default() -> Cell {
        Cell::text(None)
    }
}

impl Cell {
    fn number(value: Option<f64>, unit: Unit) -> Cell {
        let shown = value.map_or_else(|| "-".to_owned(), |value| unit.human(value).to_string());
        Cell { value, unit: unit.symbol(), shown }
    }

    fn text(text: Option<String>) -> Cell {
        Cell { value: None, unit: "", shown: text.unwrap_or_else(|| "-".to_owned()) }
    }
}

/// A period that is asked about.
#[derive(Clone, Debug)]
pub struct PeriodScope {
    /// What is shown of it.
    pub period: Period,
    /// Its runs.
    pub scope: Scope,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum DbReportError {
    /// No answer.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A comparison that cannot be made.
    #[error(transparent)]
    Compare(#[from] fenxi_compare::CompareError),
    /// The runs have no database server.
    #[error("{0} has no database server: record with `--db URL`, or take two snapshots with `fenxi db snap`")]
    None(String),
    /// There are several.
    #[error("there are several servers: choose one by `--server` ({0})")]
    Several(String),
    /// There is no such server.
    #[error("no server `{0}` is in it, but {1}")]
    NotThere(String, String),
}

/// The server that a report is of.
fn server(engine: &Engine, asked: &[PeriodScope], named: Option<&str>) -> Result<String, DbReportError> {
    let mut all: Option<BTreeSet<String>> = None;
    for asked in asked {
        let answer = engine.query("SELECT DISTINCT server FROM db WHERE server IS NOT NULL", &asked.scope)?;
        let here: BTreeSet<String> = answer.strings("server").into_iter().flatten().collect();
        if here.is_empty() {
            return Err(DbReportError::None(asked.period.selector.clone()));
        }
        all = Some(match all {
            Some(all) if asked.scope.runs.is_some() => all.union(&here).cloned().collect(),
            _ => here,
        });
    }
    let all = all.unwrap_or_default();
    let names = || all.iter().cloned().collect::<Vec<_>>().join(", ");
    match named {
        Some(name) if all.contains(name) => Ok(name.to_owned()),
        Some(name) => Err(DbReportError::NotThere(name.to_owned(), names())),
        None if all.len() == 1 => Ok(names()),
        None => Err(DbReportError::Several(names())),
    }
}

/// The report of one period, or of two of one server.
///
/// # Errors
/// When a question has no answer, or the runs have no such server.
pub fn periods(engine: &Engine, asked: &[PeriodScope], named: Option<&str>) -> Result<DbReport, DbReportError> {
    let server = server(engine, asked, named)?;
    let mut sections = Vec::new();
    for spec in SECTIONS {
        let known = question(engine.store(), spec.question)?;
        let mut params: Vec<(String, String)> =
            spec.params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut alone = vec![spec.question.to_owned()];
        alone.extend(params.iter().map(|(name, value)| format!("--param {name}={value}")));
        // What is small in one period can be large in the other.
        if known.params.iter().any(|param| param.name == "n") {
            params.push(("n".to_owned(), lines::MOST.to_string()));
        }
        let answers: Vec<_> =
            asked.iter().map(|asked| engine.answer(&known, &params, &asked.scope)).collect::<Result<_, _>>()?;
        let labels: Vec<_> = asked.iter().map(|asked| asked.period.label.as_str()).collect();
        let made = Lines { spec, server: &server, labels: &labels }.of(&answers);
        sections.extend(made.map(|(columns, lines, more)| Section {
            id: spec.id.to_owned(),
            title: spec.title.to_owned(),
            question: alone.join(" "),
            keys: spec.keys.iter().map(|key| key.heading.to_owned()).collect(),
            columns,
            lines,
            more,
        }));
    }
    let periods = asked.iter().map(|asked| asked.period.clone()).collect();
    let mut remarks = Vec::new();
    if asked.len() > 1 {
        remarks.push(
            "One period each gives no estimate of chance: repeat both, and compare two groups of runs.".to_owned(),
        );
    }
    Ok(DbReport { server, periods, remarks, sections })
}
