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

use fenxi_model::{Micros, RunId, Unit};
use fenxi_query::{Engine, QueryError, Scope, question};
use fenxi_store::{RunEntry, SNAPSHOT, Store, StoreError};
use schemars::JsonSchema;
use serde::Serialize;

use self::{groups::groups, lines::Lines, sections::SECTIONS};

/// The section of a comparison of groups.
const COMPARISON: &str = "comparison";

/// A report.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct DbReport {
    /// The server.
    pub server: String,
    /// The periods, or groups of runs, in columns: one or two.
    pub periods: Vec<Period>,
    /// Remarks for the reader, above the sections.
    pub remarks: Vec<String>,
    /// Names and titles of all sections that it could have; those without a line are left out of `sections`.
    pub known: Vec<Known>,
    /// Its sections.
    pub sections: Vec<Section>,
}

/// The name of a section.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ReportSectionName")]
pub struct Known {
    /// Its name.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
}

/// A period.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ReportPeriod")]
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
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ReportSection")]
pub struct Section {
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The question that can be asked alone, with its parameters.
    pub question: String,
    /// Headings of what distinguishes lines.
    pub keys: Vec<String>,
    /// Columns of each line.
    pub columns: Vec<Column>,
    /// The lines.
    pub lines: Vec<Line>,
    /// Lines that are left out, as they are smaller.
    pub more: usize,
}

/// A column.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ReportColumn")]
pub struct Column {
    /// Its name in the question's answer.
    pub name: String,
    /// The text above it.
    pub heading: String,
    /// True if it has one value, and not one for each period.
    pub is_of_all: bool,
}

/// A line.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ReportLine")]
pub struct Line {
    /// Key of the line.
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
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ReportCell")]
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
    /// Period that is shown.
    pub period: Period,
    /// Its runs.
    pub scope: Scope,
}

impl PeriodScope {
    /// Runs as a period: of one run a range of time, in seconds since its start, where `between` has one.
    ///
    /// # Errors
    /// When a run cannot be read, or is a snapshot, which is one moment.
    pub fn of(
        store: &Store,
        label: &str,
        selector: &str,
        runs: Vec<RunId>,
        [from, to]: [Option<f64>; 2],
    ) -> Result<PeriodScope, DbReportError> {
        let entries: Vec<_> = runs.iter().map(|run| store.run(run)).collect::<Result<_, _>>()?;
        if let Some(one) = entries.iter().find(|entry| entry.manifest.kind == SNAPSHOT) {
            return Err(DbReportError::Snapshot(one.manifest.id.to_string()));
        }
        let seconds = |entry: &RunEntry| {
            let whole = entry.manifest.seconds();
            (to.unwrap_or(whole).min(whole) - from.unwrap_or(0.0).max(0.0)).max(0.0)
        };
        let start = entries.iter().map(|entry| entry.manifest.start.after(from.unwrap_or(0.0).max(0.0))).min();
        let period = Period {
            label: label.to_owned(),
            selector: selector.to_owned(),
            runs: runs.iter().map(ToString::to_string).collect(),
            start: start.map_or_else(String::new, Micros::iso),
            seconds: entries.iter().map(seconds).sum(),
        };
        Ok(PeriodScope { period, scope: Scope::of(runs).between(from, to) })
    }
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
    /// A run that cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// One moment.
    #[error("{0} is a snapshot and no period: name two of one server, or make runs of them by `fenxi db diff`")]
    Snapshot(String),
    /// There is no such section.
    #[error("there is no section `{0}`, but {1}")]
    NoSection(String, String),
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

/// Request for a report.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// One period, or two of one server; several runs in one are a group.
    pub periods: &'a [PeriodScope],
    /// The server, where there are several.
    pub server: Option<&'a str>,
    /// Names of the sections; all of them when there is none.
    pub sections: &'a [String],
}

impl Asked<'_> {
    fn has(&self, section: &str) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|name| name == section)
    }
}

/// The report of one period, of two, or of two groups of runs.
///
/// # Errors
/// When a question has no answer, the runs have no such server, or there is no such section.
pub fn report(engine: &Engine, asked: Asked<'_>) -> Result<DbReport, DbReportError> {
    let is_known = |name: &&String| *name == COMPARISON || SECTIONS.iter().any(|spec| spec.id == name.as_str());
    if let Some(name) = asked.sections.iter().find(|name| !is_known(name)) {
        let all: Vec<&str> = SECTIONS.iter().map(|spec| spec.id).collect();
        return Err(DbReportError::NoSection(name.clone(), all.join(", ")));
    }
    match asked.periods {
        [a, b] if a.period.runs.len() > 1 || b.period.runs.len() > 1 => groups(engine, [a, b], asked),
        _ => periods(engine, asked),
    }
}

/// The report of one period, or of two side by side.
fn periods(engine: &Engine, whole: Asked<'_>) -> Result<DbReport, DbReportError> {
    let Asked { periods: asked, server: named, .. } = whole;
    let server = server(engine, asked, named)?;
    let mut sections = Vec::new();
    for spec in SECTIONS.iter().filter(|spec| whole.has(spec.id)) {
        let known = question(engine.store(), spec.question)?;
        let mut params: Vec<(String, String)> =
            spec.params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut alone = vec![spec.question.to_owned()];
        alone.extend(params.iter().map(|(name, value)| format!("--param {name}={value}")));
        // A line that is small in one period can be large in the other.
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
    let known = SECTIONS.iter().map(|spec| Known { id: spec.id, title: spec.title }).collect();
    Ok(DbReport { server, periods, remarks, known, sections })
}
