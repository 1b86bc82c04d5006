//! Payload of panels: what `web/src/payload.ts` unpacks.

use std::collections::BTreeMap;

use fenxi_compare::BetterWord;
use fenxi_query::{Axis, Kind, LiveSeries, Question, Severity, Value};
use fenxi_store::{LabelChange, Mark, RunEntry};
use schemars::JsonSchema;
use serde::Serialize;

use crate::pack::Packed;

/// What stands out.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Findings {
    /// How many rules looked.
    pub looked: usize,
    /// The bottleneck in a sentence, or that none is seen.
    pub answer: fenxi_compare::Answer,
    /// Causes before symptoms, what explains most first.
    pub found: Vec<Finding>,
}

/// How much a finding accounts for.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Impact {
    /// Its share of the whole, from 0 to 1.
    pub share: f64,
    /// The whole, in words.
    pub of: String,
}

/// One rule that found something, or could not look.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Finding {
    pub id: String,
    pub title: String,
    #[schemars(extend("enum" = Severity::WORDS))]
    pub severity: &'static str,
    /// Its role in the search for a cause.
    #[schemars(extend("enum" = Kind::WORDS))]
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impact: Option<Impact>,
    /// Titles of findings in the same runs that explain it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub follows_from: Vec<String>,
    pub advice: String,
    /// The question that shows the evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    pub own: bool,
    pub occurrences: Vec<Occurrence>,
    /// Occurrences that are not among `occurrences`.
    pub more: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An occurrence of a finding.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Occurrence {
    /// Place among the runs.
    pub run: usize,
    pub host: Option<String>,
    pub message: String,
}

/// Who wrote something about a run, and when.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Author {
    pub by: String,
    /// Milliseconds since the epoch, UTC.
    pub at_ms: f64,
}

impl Author {
    fn of(change: &LabelChange) -> Author {
        Author { by: change.by.clone(), at_ms: (change.at.0 / 1000) as f64 }
    }
}

/// A mark, and who set it.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "MarkedMoment")]
pub(crate) struct Marked {
    /// Seconds since the start of the run.
    pub at_s: f64,
    pub text: String,
    /// Null where no log shows it.
    pub author: Option<Author>,
}

/// What pages say of a run.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Run {
    pub id: String,
    /// The name to show, different for each run of a report.
    pub name: String,
    pub kind: String,
    pub hosts: Vec<String>,
    /// Milliseconds since the epoch, UTC.
    pub start_ms: f64,
    pub duration_s: f64,
    pub interval_s: Option<f64>,
    pub command: String,
    pub exit_status: Option<i32>,
    pub signal: Option<i32>,
    pub recovered: bool,
    pub baseline: bool,
    pub params: BTreeMap<String, String>,
    pub tags: BTreeMap<String, String>,
    pub remarks: Vec<String>,
    /// Who made each remark, and when; null where no log shows it.
    pub remarked: Vec<Option<Author>>,
    /// Marks with who set them, and when.
    pub marked: Vec<Marked>,
    pub ticks: Option<u64>,
    /// Ticks for which no sample was taken.
    pub missed_ticks: Option<u64>,
    /// CPU seconds that recording itself took; null where it was not counted.
    pub cost_s: Option<f64>,
}

impl Run {
    /// The runs of a report; names that two runs share are told apart by the ends of their ids.
    pub(crate) fn all(entries: &[RunEntry]) -> Vec<Run> {
        let mut runs: Vec<Run> = entries.iter().map(Run::of).collect();
        let names: Vec<String> = runs.iter().map(|r| r.name.clone()).collect();
        for (run, name) in runs.iter_mut().zip(&names) {
            if names.iter().filter(|n| *n == name).count() > 1 {
                let tail = run.id.rsplit('-').next().unwrap_or(&run.id);
                run.name = format!("{name} ({tail})");
            }
        }
        runs
    }

    fn of(entry: &RunEntry) -> Run {
        let (m, labels) = (&entry.manifest, &entry.labels);
        let name = labels.name.clone().filter(|n| !n.is_empty()).unwrap_or_else(|| m.id.to_string());
        let marked = |mark: &Mark| {
            let author = labels.marked(mark).map(Author::of);
            Marked { at_s: mark.t.seconds_since(m.start), text: mark.text.clone(), author }
        };
        Run {
            id: m.id.to_string(),
            name,
            kind: m.kind.clone(),
            hosts: m.hosts.clone(),
            start_ms: (m.start.0 / 1000) as f64,
            duration_s: m.seconds(),
            interval_s: m.interval_s,
            command: m.command.join(" "),
            exit_status: m.exit_status,
            signal: m.signal,
            recovered: m.recovered,
            baseline: labels.baseline,
            params: m.params.clone(),
            tags: labels.tags.clone(),
            remarks: labels.remarks.clone(),
            remarked: labels.remarks.iter().map(|remark| labels.remarked(remark).map(Author::of)).collect(),
            marked: labels.marks.iter().map(marked).collect(),
            ticks: m.ticks,
            missed_ticks: m.missed_ticks,
            cost_s: m.recorder_cpu_s(),
        }
    }
}

/// A question as it is.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub(crate) struct Header {
    pub id: String,
    pub title: String,
    pub about: String,
    pub section: &'static str,
    pub chart: &'static str,
    pub unit: &'static str,
    /// Column that distinguishes series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// The column of values, where there is a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    pub y: Vec<String>,
    /// Those of `y` that are lines over stacked areas, such as a limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// Value at the upper end of the scale of a heat map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<f64>,
    /// How values lie on the axis; absent where the values decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = Axis::WORDS))]
    pub scale: Option<&'static str>,
    /// The question that is drawn over this one, with a second axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    pub params: Vec<Param>,
    pub sql: String,
    /// Form of the question on the live page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
    /// Written by the user, not shipped.
    pub own: bool,
    /// True if the runs brought it with them: the author of their files wrote it.
    pub carried: bool,
}

/// What the live page shows of a question.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "LiveSeries")]
pub(crate) struct Live {
    /// The table of its values.
    pub table: &'static str,
    /// Which of its series: all, the one without keys, or those with keys.
    #[schemars(extend("enum" = LiveSeries::WORDS))]
    pub series: &'static str,
    pub columns: Vec<LiveColumn>,
}

/// A column that the live page shows.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct LiveColumn {
    pub name: &'static str,
    /// True if what is missing to 100 percent is shown instead.
    pub complement: bool,
}

impl Live {
    fn of(live: &fenxi_query::Live) -> Live {
        let column = |c: &fenxi_query::LiveColumn| LiveColumn { name: c.name, complement: c.complement };
        Live { table: live.table, series: live.series.word(), columns: live.columns.iter().map(column).collect() }
    }
}

/// A parameter of a question.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "QuestionParam")]
pub(crate) struct Param {
    pub name: String,
    #[schemars(with = "Cell")]
    pub default: serde_json::Value,
    pub about: String,
}

impl Header {
    pub(crate) fn of(question: &Question) -> Header {
        let param = |p: &fenxi_query::Param| Param {
            name: p.name.clone(),
            default: match &p.default {
                Value::Int(v) => (*v).into(),
                Value::Float(v) => (*v).into(),
                Value::Text(v) => v.clone().into(),
            },
            about: p.about.clone(),
        };
        let values = match question.y.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        };
        Header {
            id: question.name.clone(),
            title: question.title.clone(),
            about: question.about.clone(),
            section: question.section.word(),
            chart: question.chart.word(),
            unit: question.unit.symbol(),
            series: question.series.clone(),
            values,
            x: question.x.clone(),
            y: question.y.clone(),
            lines: question.lines.clone(),
            top: question.top,
            scale: question.scale.map(Axis::word),
            over: question.over.clone(),
            params: question.params.iter().map(param).collect(),
            sql: question.sql.trim().to_owned(),
            live: question.live.as_ref().map(Live::of),
            own: question.own,
            carried: !question.carried.is_empty(),
        }
    }
}

/// The answer to one question.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub(crate) struct Panel {
    #[serde(flatten)]
    pub header: Header,
    /// Meaning of each column, by name.
    pub columns: BTreeMap<String, Meaning>,
    /// Why there is nothing to draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Quiet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<Table>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
}

/// Why a panel is folded away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Quiet {
    /// The answer has no rows, or only missing values.
    Empty,
    /// The answer has nothing but zeros.
    Zero,
}

/// What a column means, from the catalogue.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Meaning {
    pub unit: &'static str,
    pub doc: &'static str,
    #[schemars(with = "BetterWord")]
    pub better: String,
}

/// Rows of an answer.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "TableData")]
pub(crate) struct Table {
    pub columns: Vec<TableColumn>,
    #[schemars(with = "Vec<Vec<Cell>>")]
    pub rows: Vec<Vec<serde_json::Value>>,
    /// Rows of the whole answer; more than are here when it was cut.
    pub total: usize,
}

/// A column of a table.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct TableColumn {
    pub name: String,
    pub unit: &'static str,
    pub numeric: bool,
    /// Whole numbers without a unit (a process id, a line) are shown digit by digit, not scaled.
    pub whole: bool,
}

/// A value of a table or a parameter; a list of numbers is a sparkline.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
enum Cell {
    Missing(()),
    Number(f64),
    Text(String),
    Sparkline(Vec<Option<f64>>),
}

/// Series over time, all on the same bins of time since each run's start.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "TimeData")]
pub(crate) struct Time {
    /// End of the first bin, seconds.
    pub t0: f64,
    /// Length of a bin, seconds.
    pub step: f64,
    pub n: usize,
    pub series: Vec<Series>,
    /// Series of the answer that are not here.
    pub left_out: usize,
    /// Maximum mean of any bin and series.
    pub max: f64,
}

/// One series of a chart.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "SeriesData")]
pub(crate) struct Series {
    /// Place among the runs.
    pub run: usize,
    /// The host, when a run has several; it comes before the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub name: String,
    pub unit: &'static str,
    pub avg: Packed,
    /// Absent, as is `max`, when every bin holds one value only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Packed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Packed>,
    pub stats: Stats,
}

/// Figures of a whole series: minimum and maximum are of single samples.
#[derive(Debug, PartialEq, JsonSchema, Serialize)]
pub(crate) struct Stats {
    /// Mean of all values, each weighted as the catalogue has it for its column.
    pub avg: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Change along the straight line of least squares from the first to the last bin, percent of where it begins; 0 where the line
    /// explains little of the variation.
    pub trend_pct: Option<f64>,
}
