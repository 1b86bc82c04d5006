//! The part of a description on reports: `[report]`, how their times are known, and `[[table]]`, the rows below a header.

use fenxi_model::{Table, catalog::cpu};
use regex::Regex;
use toml::{Spanned, de::DeValue};

use super::{
    document::{Keys, Said, Wrong, pattern},
    goal::Goal,
    unit::Per,
};
use crate::{Field, Fields, any::lasting, unix::times::Tool};

/// Keys of `[report]` and `[[table]]`.
const OF_REPORT: &[&str] =
    &["command", "takes", "every", "usual", "since_boot", "alone_with", "banner", "moments", "header_every"];
const OF_TABLE: &[&str] = &["header", "above", "columns", "devices", "cpus"];
const OF_DEVICES: &[&str] = &["after", "before", "to"];
/// Tables of one description.
const MOST_TABLES: usize = 100;

/// A description's reports.
#[derive(Debug)]
pub(super) struct Report {
    /// Prefix of metrics without their own name.
    pub(super) name: &'static str,
    pub(super) pace: Pace,
    pub(super) tables: Vec<TableRule>,
    pub(super) ignore: Vec<Regex>,
}

/// How the times of reports are known.
#[derive(Debug)]
pub(super) struct Pace {
    pub(super) kind: Kind,
    pub(super) tool: Tool,
    /// Whether a first block is since boot only where no other follows.
    pub(super) alone: bool,
    /// Beginning of a line that shows it; without such a line the first block always is since boot.
    pub(super) alone_with: Option<String>,
    /// Fewer rows than this between two headers, and the tool was begun anew.
    pub(super) header_every: u32,
}

/// How the times of reports are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Each is an interval: stamps, else the interval of the command above, else one that is assumed.
    Intervals,
    /// As before, below a banner of sysstat, with the host and the date; the first report below it is since boot.
    Banner,
    /// Each is a moment.
    Moments,
}

/// The rows below one kind of header.
#[derive(Debug)]
pub(super) struct TableRule {
    /// Words that its header has: all of one of these lists.
    pub(super) header: Vec<Vec<String>>,
    /// Words of the lines above its header.
    pub(super) above: Vec<String>,
    /// Columns of numbers.
    pub(super) fields: Vec<Field>,
    /// Columns of other things, by the words above them.
    pub(super) others: Vec<(String, Goal)>,
    /// Headers of several words above one column.
    pub(super) joined: Vec<Vec<String>>,
    pub(super) devices: Option<Devices>,
    /// Columns of each CPU, where a header has them more than once: word, table, place and factor.
    pub(super) cpus: Vec<(String, usize, f64)>,
}

/// Columns between two words, each of a device.
#[derive(Debug)]
pub(super) struct Devices {
    pub(super) after: String,
    pub(super) before: String,
    pub(super) table: &'static Table,
    pub(super) place: usize,
    pub(super) key: usize,
    pub(super) scale: f64,
}

impl TableRule {
    /// Whether a line is its header.
    pub(super) fn is_header(&self, fields: &Fields<'_>) -> bool {
        self.header.iter().any(|words| words.iter().all(|word| fields.iter().any(|field| field == word)))
    }

    /// Whether rows have a key, so that a header begins what is of one time; else each row does.
    pub(super) fn has_key(&self) -> bool {
        self.others.iter().any(|(_, goal)| matches!(goal, Goal::Key { .. } | Goal::Label(_)))
    }
}

impl Report {
    /// The reports that a description has; None where it has no tables.
    pub(super) fn read(name: &'static str, top: &Keys<'_, '_>) -> Result<Option<Report>, Wrong> {
        let source = top.source;
        let tables = top.tables("table", "[[table]]", OF_TABLE)?;
        if tables.len() > MOST_TABLES {
            return Err(source.wrong(tables[MOST_TABLES].at, format!("more than {MOST_TABLES} tables")));
        }
        let report = top.table("report", "[report]", OF_REPORT)?;
        if tables.is_empty() {
            return match report {
                Some(report) if top.value("reader").is_none() => {
                    Err(source.wrong(report.at, "[report] is of a [[table]]: add one"))
                }
                _ => Ok(None),
            };
        }
        let tables: Result<Vec<_>, _> = tables.into_iter().map(table).collect();
        let ignore: Result<Vec<_>, _> =
            top.texts("ignore")?.iter().map(|said| pattern(source, *said, &format!("^(?:{})$", said.text))).collect();
        let pace = Pace::read(report, name)?;
        Ok(Some(Report { name, pace, tables: tables?, ignore: ignore? }))
    }
}

impl Pace {
    /// Settings of `[report]`.
    pub(super) fn of(top: &Keys<'_, '_>, name: &'static str) -> Result<Pace, Wrong> {
        Pace::read(top.table("report", "[report]", OF_REPORT)?, name)
    }

    /// Settings in a table of the file.
    pub(super) fn read(keys: Option<Keys<'_, '_>>, name: &'static str) -> Result<Pace, Wrong> {
        let tool = Tool { name, takes: "", every: None, counters: false, default_s: 1.0, first_since_boot: false };
        let mut pace = Pace { kind: Kind::Intervals, tool, alone: false, alone_with: None, header_every: 0 };
        let Some(keys) = keys else { return Ok(pace) };
        let text = |key: &str| keys.text(key);
        pace.tool.name = text("command")?.map_or(name, |said| lasting(said.text));
        pace.tool.takes = text("takes")?.map_or("", |said| lasting(said.text));
        pace.tool.every = text("every")?.and_then(|said| said.text.chars().next());
        pace.alone_with = text("alone_with")?.map(|said| said.text.to_ascii_lowercase());
        pace.tool.default_s = keys.positive("usual")?.unwrap_or(1.0);
        pace.header_every = keys.positive("header_every")?.map_or(0, |rows| rows as u32);
        pace.kind = match (keys.flag("banner")?, keys.flag("moments")?) {
            (false, false) => Kind::Intervals,
            (true, false) => Kind::Banner,
            (false, true) => Kind::Moments,
            (true, true) => {
                return Err(keys.source.wrong(keys.at, "reports below a banner are no moments: leave one away"));
            }
        };
        match text("since_boot")? {
            None => {}
            Some(Said { text: "first", .. }) => pace.tool.first_since_boot = true,
            Some(Said { text: "alone", .. }) => (pace.tool.first_since_boot, pace.alone) = (true, true),
            Some(said) => {
                let why = "`since_boot` is \"first\" (the first block always is), or \"alone\" (it is where no other follows)";
                return Err(keys.source.wrong(said.at, why));
            }
        }
        Ok(pace)
    }
}

fn table(keys: Keys<'_, '_>) -> Result<TableRule, Wrong> {
    let source = keys.source;
    let words = |said: &Said<'_>| said.text.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let header: Vec<_> = keys.texts("header")?.iter().map(words).collect();
    if header.iter().all(Vec::is_empty) {
        return Err(source.wrong(keys.at, "[[table]] has no `header`: words that only the line above the values has"));
    }
    let above = keys.texts("above")?.iter().flat_map(words).collect();
    let Some(columns) = keys.table("columns", "[table.columns]", &[])? else {
        return Err(source.wrong(keys.at, "[[table]] has no [table.columns]: nothing would be read"));
    };
    let mut rule = TableRule {
        header,
        above,
        fields: Vec::new(),
        others: Vec::new(),
        joined: Vec::new(),
        devices: None,
        cpus: Vec::new(),
    };
    for (word, value) in columns.all() {
        let parts: Vec<String> = word.text.split_ascii_whitespace().map(str::to_owned).collect();
        for said in said(&columns, word, value)? {
            let goal = Goal::read(said.text).map_err(|why| source.wrong(said.at, format!("`{}`: {why}", word.text)))?;
            rule.column(word.text, goal).map_err(|why| source.wrong(said.at, format!("`{}`: {why}", word.text)))?;
        }
        if parts.len() > 1 {
            rule.joined.push(parts);
        }
    }
    if let Some(keys) = keys.table("devices", "devices", OF_DEVICES)? {
        rule.devices = Some(Devices::read(keys)?);
    }
    if let Some(said) = keys.text("cpus")? {
        for word in words(&said) {
            let in_cpu = |field: &Field| field.place_in(&cpu::TABLE).map(|place| (place, field.scale()));
            let found = rule.fields.iter().filter(|field| field.header() == word).find_map(in_cpu);
            let wrong = || source.wrong(said.at, format!("`cpus`: no column `{word}` is one of the table `cpu`"));
            let (place, scale) = found.ok_or_else(wrong)?;
            rule.cpus.push((word, place, scale));
        }
    }
    Ok(rule)
}

/// A text, or one for each time that the word comes in a header.
pub(super) fn said<'t>(
    keys: &Keys<'t, '_>,
    key: Said<'_>,
    value: &'t Spanned<DeValue<'_>>,
) -> Result<Vec<Said<'t>>, Wrong> {
    let expected = "a text such as \"mem.free_bytes KiB\", or a list of them for a word that comes again";
    let one = |value: &'t Spanned<DeValue<'_>>| match value.get_ref().as_str() {
        Some(text) => Ok(Said { text, at: value.span().start }),
        None => Err(keys.wrong_type(key.text, value, expected)),
    };
    match value.get_ref() {
        DeValue::Array(values) => values.iter().map(one).collect(),
        _ => one(value).map(|one| vec![one]),
    }
}

impl TableRule {
    fn column(&mut self, word: &str, goal: Goal) -> Result<(), String> {
        let header = lasting(word);
        self.fields.push(match goal {
            Goal::Column { table, place, scale, offset, per } => {
                Field::column(header, table, place).times(scale).plus(offset).counted(per == Per::Interval)
            }
            Goal::Metric { name, unit, scale, .. } => Field::metric(header, unit).called(name).times(scale),
            Goal::Skip => Field::skip(header),
            Goal::Result(_) => return Err("a table has samples; results are of [pairs] or a `[[line]]`".to_owned()),
            other => {
                self.others.push((word.to_owned(), other));
                return Ok(());
            }
        });
        Ok(())
    }
}

impl Devices {
    fn read(keys: Keys<'_, '_>) -> Result<Devices, Wrong> {
        let to = keys.needed("to", "\"disk.transfers_per_s\"")?;
        let wrong = |why: String| keys.source.wrong(to.at, why);
        let Goal::Column { table, place, scale, per: Per::Value, .. } = Goal::read(to.text).map_err(wrong)? else {
            return Err(wrong("`to` is no column of numbers".to_owned()));
        };
        let Some(key) = table.index_of("device") else {
            return Err(wrong(format!("rows of `{}` have no device", table.name)));
        };
        let word = |key: &str, example: &str| keys.needed(key, example).map(|said| said.text.to_owned());
        Ok(Devices { after: word("after", "\"sr\"")?, before: word("before", "\"in\"")?, table, place, key, scale })
    }
}
