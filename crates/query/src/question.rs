//! Questions: `.sql` files with a short header, asked by name.
//!
//! ```sql
//! -- title: Which disks were busy?
//! -- about: One sentence on what the answer shows and what to look for.
//! -- section: disk
//! -- chart: table
//! -- order: 10
//! -- param: n = 10, how many to show
//! SELECT ... LIMIT $n
//! ```
//! Further keys: `x`, `y` (comma list), `lines` (columns drawn as lines over stacked areas, such as a limit), `series`, `unit`,
//! `scale` and `over` (see [`Question`]), `live` (see [`Live`]). A parameter's type is that of its default.

use std::collections::BTreeMap;

use fenxi_model::{RunId, Section, Unit, near, words};
use fenxi_store::Store;

use crate::{
    Answer, Engine, Live, QueryError, SHIPPED, Scope, Value,
    answers::{Asked, Author, Dialect},
    views::Mentions,
};

words! {
    /// How an answer is best drawn.
    Chart {
        /// Rows and columns.
        Table = "table",
        /// Lines over time.
        Line = "line",
        /// Areas over time, one on the other.
        Stacked = "stacked",
        /// Colour by series and time.
        Heatmap = "heatmap",
        /// One big number each.
        Tiles = "tiles",
        /// One bar a row.
        Bar = "bar",
        /// One row per resource with a sparkline.
        Summary = "summary",
        /// Folded stacks (`x`) by their samples (`y`), below what `series` names.
        Flame = "flame",
        /// A point a row, `y` against `x`.
        Scatter = "scatter",
        /// Buckets from `x` to the column `hi` with their counts (`y`); with a column `at_s`, seconds since the
        /// run's start, buckets over time.
        Histogram = "histogram",
        /// A value and the ends of its interval (`y`, three columns) against a name or number (`x`).
        Interval = "interval",
    }
}

words! {
    /// How values lie on the axis of a chart over time.
    Axis {
        /// Equal steps for equal differences.
        Linear = "linear",
        /// Equal steps for equal ratios.
        Log = "log",
    }
}

impl Chart {
    /// Returns true if it draws a whole distribution, which needs more rows than a person reads.
    pub const fn is_of_many(self) -> bool {
        matches!(self, Chart::Flame | Chart::Scatter | Chart::Histogram)
    }
}

/// A parameter of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name, `$name` in the SQL.
    pub name: String,
    /// Its value unless another is given; its type is the parameter's.
    pub default: Value,
    /// Description.
    pub about: String,
}

impl Param {
    /// A parameter whose type is that of `default`: a number where it looks like one.
    pub(crate) fn of(name: &str, default: &str) -> Param {
        let value = match (default.parse(), default.parse::<f64>()) {
            (Ok(i), _) => Value::Int(i),
            (_, Ok(f)) if f.is_finite() => Value::Float(f),
            _ => Value::Text(default.to_owned()),
        };
        Param { name: name.to_owned(), default: value, about: String::new() }
    }
}

/// A question that can be asked by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its name: the file's without `.sql`.
    pub name: String,
    /// A short heading.
    pub title: String,
    /// One sentence on what the answer shows.
    pub about: String,
    /// Where it belongs.
    pub section: Section,
    /// How it is drawn.
    pub chart: Chart,
    /// Column of the horizontal axis.
    pub x: Option<String>,
    /// Columns of values.
    pub y: Vec<String>,
    /// Those of them that are lines over stacked areas, such as a limit.
    pub lines: Vec<String>,
    /// Value at the upper end of the scale of a heat map; None for the maximum that there is.
    pub top: Option<f64>,
    /// How values lie on its axis; None where the values decide.
    pub scale: Option<Axis>,
    /// Another question over time, which is drawn over this one with its own axis.
    pub over: Option<String>,
    /// Column that identifies a line.
    pub series: Option<String>,
    /// Unit of the values in `y`.
    pub unit: Unit,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its place within the section.
    pub order: i64,
    /// Form of the question on the live page.
    pub live: Option<Live>,
    /// The SQL without the header.
    pub sql: String,
    /// True if it is none of the shipped ones.
    pub own: bool,
    /// The runs that brought it with them, and that alone it is about; empty for questions of Fenxi and of the store.
    pub carried: Vec<RunId>,
}

impl Question {
    /// Returns true if it can have an answer where only the tables that `holds` names have rows; marks are rows of `event`. One that cannot
    /// need not be asked.
    pub fn may_answer(&self, holds: &dyn Fn(&str) -> bool) -> bool {
        Mentions::of(&self.sql).may_answer(&self.sql, holds)
    }
}

/// Names between commas.
fn list(value: &str) -> Vec<String> {
    value.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

impl Question {
    /// Reads a question from the text of a file called `name`.sql.
    ///
    /// # Errors
    /// [`QueryError::Question`] with the line: an unknown key or word, a missing title, no SQL.
    pub fn parse(name: &str, text: &str) -> Result<Question, QueryError> {
        let bad = |line: usize, message: String| QueryError::Question { file: format!("{name}.sql"), line, message };
        let mut q = Question {
            name: name.to_owned(),
            title: String::new(),
            about: String::new(),
            section: Section::Facts,
            chart: Chart::Table,
            x: None,
            y: Vec::new(),
            lines: Vec::new(),
            top: None,
            scale: None,
            over: None,
            series: None,
            unit: Unit::None,
            params: Vec::new(),
            order: 1000,
            live: None,
            sql: String::new(),
            own: false,
            carried: Vec::new(),
        };
        let mut header = 0;
        for line in text.lines() {
            let Some(comment) = line.strip_prefix("--") else { break };
            header += 1;
            if let Some((key, value)) = comment.split_once(':') {
                q.set(key.trim(), value.trim()).map_err(|m| bad(header, m))?;
            }
        }
        q.y.extend_from_slice(&q.lines);
        // Lines of the header stay as empty ones, so that the engine's line numbers are the file's.
        q.sql = "\n".repeat(header) + &text.lines().skip(header).collect::<Vec<_>>().join("\n");
        if q.title.is_empty() {
            return Err(bad(1, "there is no `-- title: …` in the header".to_owned()));
        }
        if q.sql.trim().is_empty() {
            return Err(bad(header + 1, "there is no SQL after the header".to_owned()));
        }
        Ok(q)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let text = || (!value.is_empty()).then(|| value.to_owned());
        let words = |all: &[&str]| format!("`{value}` is not a {key}: one of {}", all.join(", "));
        match key {
            "title" => value.clone_into(&mut self.title),
            "about" => value.clone_into(&mut self.about),
            "section" => {
                self.section = Section::parse(value).ok_or_else(|| words(Section::WORDS))?;
            }
            "chart" => {
                self.chart = Chart::parse(value).ok_or_else(|| words(Chart::WORDS))?;
            }
            "x" => self.x = text(),
            "y" => self.y = list(value),
            "lines" => self.lines = list(value),
            "top" => self.top = Some(value.parse().map_err(|_| format!("top: `{value}` is not a number"))?),
            "scale" => {
                self.scale = Some(Axis::parse(value).ok_or_else(|| words(Axis::WORDS))?);
            }
            "over" => self.over = text(),
            "series" => self.series = text(),
            "unit" => self.unit = Unit::from_symbol(value),
            "order" => self.order = value.parse().map_err(|_| format!("order: `{value}` is not a whole number"))?,
            "live" => self.live = Some(Live::parse(value)?),
            "param" => self.params.push(param(value)?),
            _ => {
                return Err(format!(
                    "unknown key `{key}`: one of title, about, section, chart, x, y, lines, top, scale, over, series, unit, \
                     order, live, param"
                ));
            }
        }
        Ok(())
    }

    /// Who wrote it.
    pub(crate) fn author(&self) -> Author {
        if self.own { Author::Other } else { Author::Ours }
    }

    /// The runs of `scope` that it sees.
    pub(crate) fn scope(&self, scope: &Scope) -> Scope {
        if self.carried.is_empty() { scope.clone() } else { scope.within(&self.carried) }
    }

    /// Values for the parameters: the defaults, replaced by what `given` has as text.
    ///
    /// # Errors
    /// [`QueryError::Parameter`] for a name that the question does not have or a wrong type.
    pub fn bind(&self, given: &[(String, String)]) -> Result<Vec<(&str, Value)>, QueryError> {
        let bad = |message| QueryError::Parameter { question: self.name.clone(), message };
        for (key, _) in given {
            if !self.params.iter().any(|p| p.name == *key) {
                let names: Vec<&str> = self.params.iter().map(|p| p.name.as_str()).collect();
                let known =
                    if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
                return Err(bad(format!("there is no parameter `{key}`; {known}")));
            }
        }
        let mut out = Vec::new();
        for p in &self.params {
            let value = match given.iter().rev().find(|(k, _)| *k == p.name) {
                None => p.default.clone(),
                Some((key, text)) => match p.default {
                    Value::Text(_) => Value::Text(text.clone()),
                    Value::Int(_) => {
                        Value::Int(text.parse().map_err(|_| bad(format!("{key} is a whole number, not `{text}`")))?)
                    }
                    Value::Float(_) => {
                        Value::Float(text.parse().map_err(|_| bad(format!("{key} is a number, not `{text}`")))?)
                    }
                },
            };
            out.push((p.name.as_str(), value));
        }
        Ok(out)
    }
}

/// `name = default, what it does`.
fn param(text: &str) -> Result<Param, String> {
    let (name, rest) = text.split_once('=').ok_or_else(|| format!("param: `{text}` is not `name = default, about`"))?;
    let (default, about) = rest.split_once(',').unwrap_or((rest, ""));
    let default = default.trim().trim_matches('\'');
    Ok(Param { about: about.trim().to_owned(), ..Param::of(name.trim(), default) })
}

/// All questions: those that are shipped, and those in the store's `questions` folder, which
/// replace shipped ones of the same name; by section, order and name.
///
/// # Errors
/// When a question of the store cannot be read; those shipped are tested to be right.
pub fn questions(store: &Store) -> Result<Vec<Question>, QueryError> {
    let mut by_name = BTreeMap::new();
    for (name, text) in SHIPPED {
        by_name.insert((*name).to_owned(), Question::parse(name, text)?);
    }
    let folder = store.path().join("questions");
    if folder.is_dir() {
        for entry in fs_err::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            if path.extension().is_some_and(|e| e == "sql") {
                let question = Question::parse(&name, &store.question_text(&name)?)?;
                by_name.insert(name, Question { own: true, ..question });
            }
        }
    }
    let mut all: Vec<Question> = by_name.into_values().collect();
    all.sort_by(|a, b| (a.section, a.order, &a.name).cmp(&(b.section, b.order, &b.name)));
    Ok(all)
}

/// The question called `name`, shipped or the store's own.
///
/// # Errors
/// [`QueryError::UnknownQuestion`] with near names.
pub fn question(store: &Store, name: &str) -> Result<Question, QueryError> {
    let mut all = questions(store)?;
    match all.iter().position(|q| q.name == name) {
        Some(place) => Ok(all.swap_remove(place)),
        None => {
            let near = near(name, all.iter().map(|q| q.name.as_str()));
            Err(QueryError::UnknownQuestion { name: name.to_owned(), near })
        }
    }
}

impl Engine {
    /// Questions that the runs of `scope` bring with them: an import keeps the charts that its files
    /// ask for (a `Display` of .xan) as facts of the topic `question`. They come from the author of the file, so they
    /// are about these runs only, and run as user statements do. What is none is left out; it
    /// is among the run's facts all the same.
    ///
    /// # Errors
    /// When the runs cannot be read.
    pub fn carried_questions(&self, scope: &Scope) -> Result<Vec<Question>, QueryError> {
        if !self.options.carried {
            return Ok(Vec::new());
        }
        let carried = "SELECT DISTINCT name, value, run FROM text WHERE topic = 'question' ORDER BY name, value, run";
        let answer = self.ours(carried, &[], scope)?;
        let (names, texts, runs) = (answer.strings("name"), answer.strings("value"), answer.strings("run"));
        let mut all: Vec<Question> = Vec::new();
        let mut last = None;
        for ((name, text), run) in names.into_iter().zip(texts).zip(runs) {
            let (Some(name), Some(text), Some(run)) = (name, text, run.and_then(|run| RunId::parse(&run))) else {
                continue;
            };
            let same = Some((name, text));
            match all.last_mut() {
                Some(question) if last == same => question.carried.push(run),
                _ => {
                    let Some((name, text)) = &same else { continue };
                    let Ok(question) = Question::parse(name, text) else { continue };
                    all.push(Question { own: true, carried: vec![run], ..question });
                    last = same;
                }
            }
        }
        all.sort_by_key(|q| (q.section, q.order));
        Ok(all)
    }

    /// Answers the question called `name` over the runs of `scope`; `params` are `name`, `value` as typed.
    ///
    /// # Errors
    /// An unknown question or parameter, and whatever [`Engine::query`] fails with.
    pub fn ask(&self, name: &str, params: &[(String, String)], scope: &Scope) -> Result<Answer, QueryError> {
        self.answer(&question(self.store(), name)?, params, scope)
    }

    /// Answers `question` over the runs of `scope`.
    ///
    /// # Errors
    /// A wrong parameter, and whatever [`Engine::query`] fails with.
    pub fn answer(
        &self,
        question: &Question,
        params: &[(String, String)],
        scope: &Scope,
    ) -> Result<Answer, QueryError> {
        let params = question.bind(params)?;
        let scope = &question.scope(scope);
        let mut answer = self.whole(&Asked {
            author: question.author(),
            dialect: Dialect::Questions,
            sql: &question.sql,
            params: &params,
            scope,
            files: &[],
        })?;
        for column in answer.columns.iter_mut().filter(|c| question.y.contains(&c.name)) {
            column.unit = question.unit;
        }
        Ok(answer)
    }
}
