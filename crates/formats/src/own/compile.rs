//! From a format's file to the rules by which its lines are read.

use fenxi_model::{
    Shape, TABLES, Table, Type,
    catalog::{DT, HOST, N_COMMON, T},
};
use regex::Regex;

use super::{
    document::{Keys, Said, Source, Wrong, list, pattern, perhaps},
    each::Each,
    results::{Bucket, Pairs, ResultRule},
    samples::Begins,
    timing::{self, DATE, TIME, Timing},
    value::{Amount, Cell, From, Groups, Template, Values, read_labels},
};
use crate::generic::sheet::Decimal;

/// Patterns of one format, and rows that one line may become.
const MOST_LINES: usize = 200;
const MOST_ROWS: usize = 100;

/// The group that names the host of all that follows.
pub(super) const OF_HOST: &str = "host";

/// How a format's lines are read.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) lines: Vec<Line>,
    pub(super) pairs: Option<Pairs>,
    pub(super) ignore: Vec<Regex>,
    pub(super) timing: Option<Timing>,
    pub(super) host: Option<String>,
    pub(super) decimal: Decimal,
    /// Whether lines are drawn over, so that only the last text in one counts.
    pub(super) overwritten: bool,
    /// Names of the groups that are kept.
    pub(super) kept: Vec<String>,
}

/// One pattern and what its lines become.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) pattern: Regex,
    pub(super) time: Option<usize>,
    pub(super) date: Option<usize>,
    pub(super) host: Option<usize>,
    /// Groups of it that are kept, and where.
    pub(super) keep: Vec<(usize, usize)>,
    pub(super) forget: Vec<usize>,
    /// Where it begins a sample; None: never.
    pub(super) sample: Option<Begins>,
    /// How long the interval is that ends with it, by its own field.
    pub(super) interval: Option<Amount>,
    pub(super) rows: Vec<RowRule>,
    pub(super) results: Vec<ResultRule>,
    /// Subject of the report that begins here; empty for any.
    pub(super) begins: Option<Template>,
    /// Figures that are added up until the report ends.
    pub(super) sums: Vec<ResultRule>,
    pub(super) bucket: Option<Bucket>,
    /// The section that begins with it: 0 for none.
    pub(super) section: Option<usize>,
    /// The sections that it is of; none for any.
    pub(super) within: Vec<usize>,
    /// Its effect on the report.
    pub(super) note: Option<String>,
    /// Whether it becomes events only: its time is its own.
    pub(super) is_event: bool,
    /// Groups of it that have several values.
    pub(super) each: Each,
}

impl Line {
    /// Its date and its time.
    pub(super) fn times<'v>(&self, values: &Values<'v>) -> (Option<&'v str>, Option<&'v str>) {
        let get = |group: Option<usize>| group.and_then(|group| values.get(From::Line(group))).map(str::trim);
        (get(self.date), get(self.time))
    }
}

impl RowRule {
    /// The first column that is no key.
    pub(super) fn first_value(&self) -> usize {
        N_COMMON + self.table.n_keys
    }
}

/// One row of a table.
#[derive(Debug)]
pub(super) struct RowRule {
    pub(super) table: &'static Table,
    pub(super) cells: Vec<(usize, Cell)>,
    /// Labels of a metric or a histogram, besides columns.
    pub(super) labels: Vec<(String, Template)>,
    /// Kept groups without which it would be a row of something else.
    pub(super) needs: Vec<usize>,
    /// Whether it has a time.
    pub(super) is_timed: bool,
}

const TOP: &[&str] = &[
    "summary",
    "example",
    "host",
    "decimal",
    "overwritten",
    "ignore",
    "labels",
    "recognise",
    "time",
    "line",
    "report",
    "table",
    "pairs",
    "json",
    "reader",
    "words",
    "classes",
];
const OF_LINE: &[&str] = &[
    "pattern",
    "keep",
    "forget",
    "sample",
    "sample_per",
    "interval",
    "begins",
    "results",
    "sums",
    "bucket",
    "each",
    "section",
    "in",
    "note",
    "row",
];

/// The keys of the whole file.
pub(super) fn top<'t, 's>(source: Source<'s>, table: &'t toml::de::DeTable<'s>) -> Result<Keys<'t, 's>, Wrong> {
    Keys::new(source, table, 0, "a format", TOP)
}

impl Rules {
    pub(super) fn read(name: &'static str, top: &Keys<'_, '_>) -> Result<Rules, Wrong> {
        let source = top.source;
        let ignore: Result<Vec<_>, _> =
            top.texts("ignore")?.iter().map(|said| pattern(source, *said, &format!("^(?:{})$", said.text))).collect();
        let decimal = Decimal::read(top)?.unwrap_or(Decimal::Point);
        let lines = top.tables("line", "[[line]]", OF_LINE)?;
        let pairs = Pairs::read(top)?;
        if lines.is_empty() && pairs.is_none() {
            return Err(source.wrong(0, "there is no [[line]], [[table]], [pairs] or [json]: nothing would be read"));
        }
        if lines.len() > MOST_LINES {
            return Err(
                source.wrong(lines[MOST_LINES].at, format!("more than {MOST_LINES} patterns; write a program instead"))
            );
        }
        let patterns: Result<Vec<_>, _> = lines.iter().map(|line| Pattern::read(*line)).collect();
        let patterns = patterns?;
        let mut kept: Vec<String> = patterns.iter().flat_map(|pattern| pattern.keep.iter().cloned()).collect();
        kept.sort();
        kept.dedup();
        let timing = match top.table("time", "[time]", timing::KEYS)? {
            Some(keys) => {
                let has = |name: &str| patterns.iter().any(|pattern| pattern.group(name).is_some());
                let samples = patterns.iter().any(|pattern| pattern.sample.is_some());
                Some(Timing::read(name, keys, has, samples)?)
            }
            None => None,
        };
        let labels = top.table("labels", "labels", &[])?;
        let mut sections = vec![""];
        for line in &lines {
            sections.extend(line.text("section")?.map(|said| said.text));
        }
        let context = Context { name, source, kept: &kept, timing: timing.as_ref(), labels, sections };
        let lines: Result<Vec<_>, _> = lines.iter().zip(patterns).map(|(keys, of)| context.line(*keys, of)).collect();
        let lines = lines?;
        if pairs.is_none()
            && lines.iter().all(|line| line.rows.is_empty() && line.results.is_empty() && line.sums.is_empty())
        {
            return Err(source.wrong(0, "no [[line]] has a [[line.row]] or `results`: nothing would be read"));
        }
        let host = top.text("host")?.map(|said| said.text.to_owned());
        let overwritten = top.flag("overwritten")?;
        Ok(Rules { lines, pairs, ignore: ignore?, timing, host, decimal, overwritten, kept })
    }
}

/// A pattern before what its lines become is known.
struct Pattern {
    regex: Regex,
    groups: Vec<Option<String>>,
    keep: Vec<String>,
    sample: Option<Begins>,
}

impl Pattern {
    fn read(keys: Keys<'_, '_>) -> Result<Pattern, Wrong> {
        let said = keys.needed("pattern", "'^(?<time>\\S+) (?<value>\\d+)$'")?;
        let regex = pattern(keys.source, said, &format!("^(?:{})$", said.text))?;
        let groups: Vec<Option<String>> = regex.capture_names().map(|name| name.map(str::to_owned)).collect();
        let mut keep = Vec::new();
        for kept in keys.texts("keep")? {
            let named: Vec<&str> = groups.iter().flatten().map(String::as_str).collect();
            if !named.contains(&kept.text) {
                let near = perhaps(kept.text, named);
                return Err(keys
                    .source
                    .wrong(kept.at, format!("`keep`: the pattern has no group `{}`{near}", kept.text)));
            }
            if [TIME, DATE, OF_HOST].contains(&kept.text) {
                let why = format!("`keep`: `{}` holds for what follows anyway; leave it away", kept.text);
                return Err(keys.source.wrong(kept.at, why));
            }
            keep.push(kept.text.to_owned());
        }
        let sample = Begins::read(keys, &groups)?;
        Ok(Pattern { regex, groups, keep, sample })
    }

    fn group(&self, name: &str) -> Option<usize> {
        self.groups.iter().position(|group| group.as_deref() == Some(name))
    }
}

/// Context that all lines of a file share.
struct Context<'t, 's> {
    /// The format's name.
    name: &'t str,
    source: Source<'s>,
    kept: &'t [String],
    timing: Option<&'t Timing>,
    labels: Option<Keys<'t, 's>>,
    /// Names of sections, the first of which is none.
    sections: Vec<&'t str>,
}

impl<'s> Context<'_, 's> {
    fn line(&self, keys: Keys<'_, 's>, pattern: Pattern) -> Result<Line, Wrong> {
        let whole = Groups { line: &pattern.groups, kept: self.kept, parts: &[] };
        let each = Each::read(keys, whole)?;
        let groups = Groups { parts: &each.names, ..whole };
        let slot = |name: &str| self.kept.iter().position(|kept| kept == name);
        let mut forget = Vec::new();
        for said in keys.texts("forget")? {
            let near = perhaps(said.text, self.kept.iter().map(String::as_str));
            let why = || self.source.wrong(said.at, format!("`forget`: no line keeps a group `{}`{near}", said.text));
            forget.push(slot(said.text).ok_or_else(why)?);
        }
        let (time, date) = (pattern.group(TIME), pattern.group(DATE));
        if (time.or(date).is_some() || pattern.sample.is_some()) && self.timing.is_none() {
            let why = "the line has a time, but there is no [time]: add it, with `format = \"iso\"` or another form";
            return Err(self.source.wrong(keys.at, why));
        }
        let interval = match keys.text("interval")? {
            None => None,
            Some(said) => Some(
                Amount::read(said.text, Some(fenxi_model::Unit::Seconds), groups)
                    .map_err(|why| self.source.wrong(said.at, format!("`interval`: {why}")))?,
            ),
        };
        let rows = keys.tables("row", "[[line.row]]", &[])?;
        if rows.len() > MOST_ROWS {
            return Err(self
                .source
                .wrong(keys.at, format!("one line becomes more than {MOST_ROWS} rows; write a program instead")));
        }
        let rows: Result<Vec<_>, _> = rows.iter().map(|row| self.row(*row, groups)).collect();
        let rows = rows?;
        let figures = |key| match keys.table(key, "results", &[])? {
            Some(results) => ResultRule::read_all(results, groups),
            None => Ok(Vec::new()),
        };
        let (results, sums) = (figures("results")?, figures("sums")?);
        let number = |name: &String| pattern.group(name).zip(slot(name));
        Ok(Line {
            time,
            date,
            host: pattern.group(OF_HOST),
            keep: pattern.keep.iter().filter_map(number).collect(),
            forget,
            sample: pattern.sample,
            interval,
            results,
            sums,
            bucket: Bucket::read(keys, groups)?,
            begins: self.begins(keys, groups)?,
            section: keys.text("section")?.and_then(|said| self.sections.iter().position(|name| *name == said.text)),
            within: self.within(keys)?,
            note: keys.text("note")?.map(|said| said.text.to_owned()),
            is_event: !rows.is_empty() && rows.iter().all(|row| row.table.shape == Shape::Events),
            rows,
            pattern: pattern.regex,
            each,
        })
    }

    /// Whether a report begins with a line, and of what.
    fn begins(&self, keys: Keys<'_, 's>, groups: Groups<'_>) -> Result<Option<Template>, Wrong> {
        let Some(value) = keys.value("begins") else { return Ok(None) };
        match (value.get_ref().as_str(), value.get_ref().as_bool()) {
            (Some(text), _) => {
                let wrong = |why| self.source.wrong(value.span().start, format!("`begins`: {why}"));
                Template::read(text, groups).map(Some).map_err(wrong)
            }
            (None, Some(begins)) => Ok(begins.then(Template::default)),
            _ => Err(keys.wrong_type("begins", value, "true, or a text such as \"{name}\": a name that comes again")),
        }
    }

    /// The sections that a line is of.
    fn within(&self, keys: Keys<'_, 's>) -> Result<Vec<usize>, Wrong> {
        let mut within = Vec::new();
        for said in keys.texts("in")? {
            let near = || perhaps(said.text, self.sections.iter().copied());
            let why =
                || self.source.wrong(said.at, format!("`in`: no line begins a section `{}`{}", said.text, near()));
            within.push(self.sections.iter().position(|name| *name == said.text).ok_or_else(why)?);
        }
        Ok(within)
    }

    fn row(&self, keys: Keys<'_, 's>, groups: Groups<'_>) -> Result<RowRule, Wrong> {
        let source = self.source;
        let said = keys.needed("table", "\"metric\"")?;
        let Some(table) = TABLES.iter().copied().find(|table| table.name == said.text) else {
            let near = perhaps(said.text, TABLES.iter().map(|table| table.name));
            return Err(source
                .wrong(said.at, format!("there is no table `{}`{near} (`fenxi list tables` lists them)", said.text)));
        };
        if matches!(table.name, "note" | "cost") {
            return Err(source.wrong(said.at, format!("the table `{}` is Fenxi's own", said.text)));
        }
        let is_timed = matches!(table.shape, Shape::Series | Shape::Events);
        if is_timed && self.timing.is_none() {
            let why =
                format!("rows of `{}` have a time: add [time], with `format = \"iso\"` or another form", table.name);
            return Err(source.wrong(said.at, why));
        }
        let mut rule = RowRule { table, cells: Vec::new(), labels: Vec::new(), needs: Vec::new(), is_timed };
        for (key, value) in keys.all().filter(|(key, _)| key.text != "table") {
            let place = column(source, table, key)?;
            if let (true, Some(labels)) = (key.text == "labels", value.get_ref().as_table()) {
                let labels = Keys::new(source, labels, value.span().start, "labels", &[])?;
                rule.labels = read_labels(labels, groups)?;
                continue;
            }
            rule.cells.push((place, Cell::read(source, &table.columns[place], value, groups)?));
        }
        if let Some(labels) = self.labels.filter(|_| table.index_of("labels").is_some()) {
            rule.labels.extend(read_labels(labels, Groups::default())?);
        }
        if rule.cells.iter().all(|(place, _)| *place < N_COMMON + table.n_keys) && table.shape != Shape::Events {
            let columns = &table.columns[N_COMMON + table.n_keys..];
            let names: Vec<&str> = columns.iter().map(|column| column.name).take(8).collect();
            let why = format!("the row of `{}` has no value: set one of {} …", table.name, list(&names));
            return Err(source.wrong(said.at, why));
        }
        // As a shipped format names the origin of a result.
        if let Some(place) = table.index_of("source").filter(|_| table.name == "result")
            && rule.cells.iter().all(|(set, _)| *set != place)
        {
            rule.cells.push((place, Cell::Text(Template::of(self.name))));
        }
        let keys = N_COMMON..N_COMMON + table.n_keys;
        for (_, cell) in rule.cells.iter().filter(|(place, _)| keys.contains(place)) {
            if let Cell::Text(template) = cell {
                rule.needs.extend(template.kept());
            }
        }
        rule.needs.extend(rule.labels.iter().flat_map(|(_, template)| template.kept()));
        Ok(rule)
    }
}

/// The number of the column that a key of a row names.
fn column(source: Source<'_>, table: &Table, key: Said<'_>) -> Result<usize, Wrong> {
    let wrong = |why: String| Err(source.wrong(key.at, why));
    match table.index_of(key.text) {
        Some(T) => wrong("`t` comes from the group `(?<time>…)` and [time]; leave it away".to_owned()),
        Some(DT) => {
            wrong("`dt` comes from `interval` of [time] or of [[line]], or from the times; leave it away".to_owned())
        }
        Some(HOST) => {
            wrong("`host` comes from a group `(?<host>…)`, or `host = \"…\"` at the top; leave it away".to_owned())
        }
        Some(place) if table.columns[place].ty == Type::Time => {
            wrong(format!("`{}` is a time, which cannot be filled", key.text))
        }
        Some(place) => Ok(place),
        None => {
            let near = perhaps(key.text, table.columns[N_COMMON..].iter().map(|column| column.name));
            wrong(format!(
                "the table `{}` has no column `{}`{near} (`fenxi list tables {0}` lists them)",
                table.name, key.text
            ))
        }
    }
}
