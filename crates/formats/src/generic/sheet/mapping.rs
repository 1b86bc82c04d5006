//! The mapping file: a few lines of TOML that say which column is what. `docs/import-mapping.md`
//! describes it.

mod goals;

use std::{collections::BTreeMap, sync::Arc};

use fenxi_model::{TABLES, near};
use jiff::tz::TimeZone;
use serde::Deserialize;

use self::goals::Columns;
use super::{Decimal, Place, Role, Target};
use crate::{
    Out,
    generic::{labels::unit_of, when::When},
};

/// The longest name that is looked for in a mapping.
const LONGEST: usize = 300;

/// A mapping file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    separator: Option<String>,
    decimal: Option<String>,
    skip: usize,
    columns: Columns,
    time: Option<Time>,
    host: Option<String>,
    name: Option<String>,
    labels: LabelColumns,
    ignore: Vec<String>,
    others: Others,
    /// Labels that every row has.
    set: BTreeMap<String, String>,
    value: Vec<Value>,
    shipped: Option<Header>,
}

/// A shipped mapping's description.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// Whose columns they are.
    pub(super) title: String,
    /// Columns that only such a file has.
    pub(super) known: Vec<String>,
    /// How many of these must be there.
    pub(super) enough: usize,
    /// What monitors write before the names.
    #[serde(default)]
    pub(super) prefixes: Vec<String>,
    /// Whether the names are the same in small letters.
    #[serde(default)]
    pub(super) any_case: bool,
}

impl Header {
    /// `name` without what a monitor writes before it and, where case does not matter, in small letters.
    fn plain(&self, name: &str) -> String {
        let bare = self.prefixes.iter().find_map(|prefix| {
            let start = name.get(..prefix.len())?;
            start.eq_ignore_ascii_case(prefix).then(|| &name[prefix.len()..])
        });
        let bare = bare.unwrap_or(name);
        if self.any_case { bare.to_ascii_lowercase() } else { bare.to_owned() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Time {
    column: Option<OneOrMore>,
    #[serde(default)]
    format: Option<String>,
    #[serde(default)]
    zone: Option<String>,
    #[serde(default)]
    interval_s: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum LabelColumns {
    List(Vec<String>),
    Renamed(BTreeMap<String, String>),
}

impl Default for LabelColumns {
    fn default() -> LabelColumns {
        LabelColumns::List(Vec::new())
    }
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Others {
    #[default]
    Metric,
    Ignore,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    column: String,
    table: Option<String>,
    to: Option<String>,
    metric: Option<String>,
    unit: Option<String>,
    #[serde(default = "one")]
    scale: f64,
    #[serde(default)]
    offset: f64,
    #[serde(default, alias = "cumulative")]
    counter: Counter,
    /// Whether a value is the amount of its interval.
    #[serde(default)]
    amount: bool,
    #[serde(default)]
    set: BTreeMap<String, String>,
}

/// Whether a column's values only grow.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "Told")]
pub(super) enum Counter {
    #[default]
    No,
    Yes,
    /// As its first values show.
    Auto,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Told {
    Is(bool),
    Auto(#[allow(dead_code, reason = "any word means that the values decide")] String),
}

impl From<Told> for Counter {
    fn from(told: Told) -> Counter {
        match told {
            Told::Is(false) => Counter::No,
            Told::Is(true) => Counter::Yes,
            Told::Auto(_) => Counter::Auto,
        }
    }
}

fn one() -> f64 {
    1.0
}

/// The mapping, as far as it makes sense.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Mapping {
    file: Arc<File>,
    zone: Option<TimeZone>,
    values: Vec<(String, Target)>,
    /// What columns are that are said in the words of descriptions.
    roles: Vec<(String, Role)>,
    /// Shipped mappings of columns that this one leaves open.
    further: Vec<Mapping>,
}

impl Mapping {
    /// Reads the mapping of the hints; what is wrong in it becomes a note each.
    pub(in super::super) fn of(out: &mut Out<'_>) -> Mapping {
        let Some(text) = out.hints().mapping.clone() else { return Mapping::default() };
        let (mapping, wrong) = Mapping::read(&text);
        wrong.iter().for_each(|why| out.note(None, why));
        mapping
    }

    /// Reads the text of a mapping file, and reports what is wrong in it.
    pub(super) fn read(text: &str) -> (Mapping, Vec<String>) {
        let mut wrong = Vec::new();
        let file: File = match toml::from_str(text) {
            Ok(file) => file,
            Err(error) => {
                let why = format!("the mapping file cannot be read and is left out: {}", error.message());
                return (Mapping::default(), vec![why]);
            }
        };
        let zone = file.time.as_ref().and_then(|t| t.zone.as_ref()).and_then(|name| {
            let zone = if name == "UTC" { Some(TimeZone::UTC) } else { TimeZone::get(name).ok() };
            if zone.is_none() {
                wrong.push(format!("the mapping file names an unknown time zone `{name}`"));
            }
            zone
        });
        let mut values = Vec::new();
        for value in &file.value {
            match target(value, &file.set) {
                Ok(target) => values.push((value.column.clone(), target)),
                Err(why) => wrong.push(format!("the mapping of column `{}`: {why}", value.column)),
            }
        }
        let (roles, not_read) = file.columns.roles(&file.set);
        wrong.extend(not_read);
        (Mapping { file: Arc::new(file), zone, values, roles, further: Vec::new() }, wrong)
    }

    /// A shipped mapping's description.
    pub(super) fn header(&self) -> Option<&Header> {
        self.file.shipped.as_ref()
    }

    /// The values of the placeholders of `pattern` in `name`, as [`captured`] gives them, or in it as a shipped mapping knows it.
    pub(super) fn fits(&self, pattern: &str, name: &str) -> Option<Vec<(String, String)>> {
        let owned = |found: Vec<(&str, &str)>| found.into_iter().map(|(l, v)| (l.to_owned(), v.to_owned())).collect();
        if let Some(found) = captured(pattern, name) {
            return Some(owned(found));
        }
        let header = self.header().filter(|header| header.any_case || !header.prefixes.is_empty())?;
        let pattern = if header.any_case { pattern.to_ascii_lowercase() } else { pattern.to_owned() };
        let plain = header.plain(name);
        // Labels of a monitor, as `{instance="db1"}`, are no part of the name.
        let bare = plain.split_once('{').map_or(plain.as_str(), |(bare, _)| bare);
        captured(&pattern, &plain).or_else(|| captured(&pattern, bare)).map(owned)
    }

    /// The targets of the column called `name`, with what placeholders of the mapping found in it as labels.
    fn targets(&self, name: &str) -> Vec<Target> {
        let found = self.values.iter().filter_map(|(pattern, target)| {
            let captured = if name.len() <= LONGEST { self.fits(pattern, name)? } else { return None };
            let mut target = target.clone();
            for (label, value) in captured.into_iter().filter(|(label, _)| label != "*") {
                target.set.retain(|(known, _)| *known != label);
                target.set.push((label, value));
            }
            Some(target)
        });
        found.collect()
    }

    /// What the column called `name` is; None when the mapping leaves it open.
    pub(in super::super) fn role(&self, name: &str) -> Option<Role> {
        if let Some((_, role)) = self.roles.iter().find(|(column, _)| column == name) {
            return Some(role.clone());
        }
        let file = &self.file;
        let is = |other: &Option<String>| other.as_deref() == Some(name);
        let timed = match file.time.as_ref().and_then(|t| t.column.as_ref()) {
            Some(OneOrMore::One(column)) => column == name,
            Some(OneOrMore::More(columns)) => columns.iter().any(|c| c == name),
            None => false,
        };
        let label = match &file.labels {
            LabelColumns::List(names) => names.iter().find(|n| *n == name),
            LabelColumns::Renamed(names) => names.get(name),
        };
        let targets = self.targets(name);
        if timed {
            Some(Role::Time)
        } else if is(&file.host) {
            Some(Role::Host)
        } else if is(&file.name) {
            Some(Role::Name)
        } else if let Some(label) = label {
            Some(Role::Label(label.clone()))
        } else if !targets.is_empty() {
            Some(Role::Values(targets))
        } else if file.ignore.iter().any(|i| i == name) || file.others == Others::Ignore {
            Some(Role::Ignored)
        } else {
            self.further.iter().find_map(|mapping| mapping.role(name))
        }
    }

    /// Adds a mapping of columns that this one leaves open.
    pub(super) fn add(&mut self, further: Mapping) {
        self.further.push(further);
    }

    /// Whether the mapping names the columns of time.
    pub(in super::super) fn names_time(&self) -> bool {
        self.file.time.as_ref().is_some_and(|t| t.column.is_some())
            || self.roles.iter().any(|(_, role)| matches!(role, Role::Time))
    }

    /// How the time is written, when the mapping defines it.
    pub(in super::super) fn when(&self) -> Option<When> {
        let format = self.file.time.as_ref()?.format.as_deref()?;
        Some(When::named(format))
    }

    /// The zone of times that name none.
    pub(in super::super) fn zone(&self) -> Option<TimeZone> {
        self.zone.clone()
    }

    /// Seconds between two rows without a time.
    pub(in super::super) fn interval_s(&self) -> Option<f64> {
        self.file.time.as_ref()?.interval_s.filter(|s| s.is_finite() && *s > 0.0)
    }

    /// What separates decimals.
    pub(in super::super) fn decimal(&self) -> Option<Decimal> {
        match self.file.decimal.as_deref()? {
            "," => Some(Decimal::Comma),
            "." => Some(Decimal::Point),
            _ => None,
        }
    }

    /// What separates cells.
    pub(in super::super) fn separator(&self) -> Option<u8> {
        match self.file.separator.as_deref()? {
            "tab" => Some(b'\t'),
            one => one.bytes().next(),
        }
    }

    /// Lines before the header that are no rows.
    pub(in super::super) fn skip(&self) -> usize {
        self.file.skip
    }

    /// The names of the columns of a file without a header.
    pub(in super::super) fn columns(&self) -> &[String] {
        match &self.file.columns {
            Columns::Named(names) => names,
            Columns::Goals(_) => &[],
        }
    }
}

/// The values of the placeholders of `pattern` in `name`: `<device> read` finds `sda` in `sda read`. A named one matches something,
/// `<*>` anything. None where it is another name.
fn captured<'a>(pattern: &'a str, name: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let Some((before, label, rest)) = placeholder(pattern) else {
        return (pattern == name).then(Vec::new);
    };
    let name = name.strip_prefix(before)?;
    let least = usize::from(label != "*");
    let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]).filter(|at| *at >= least);
    // The shortest that lets the rest fit.
    for end in ends {
        if let Some(mut found) = captured(rest, &name[end..]) {
            found.insert(0, (label, &name[..end]));
            return Some(found);
        }
    }
    None
}

/// The first placeholder of a pattern: what is before it, its label, what follows.
fn placeholder(pattern: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = pattern.split_once('<')?;
    let (label, rest) = rest.split_once('>')?;
    let is_name = label == "*" || !label.is_empty() && label.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    is_name.then_some((before, label, rest))
}

fn target(value: &Value, set: &BTreeMap<String, String>) -> Result<Target, String> {
    let place = match (&value.table, &value.to) {
        (None, None) => {
            let name = value.metric.as_ref().unwrap_or(&value.column);
            let unit = value.unit.clone().unwrap_or_else(|| unit_of(&value.column).to_owned());
            Place::Metric { name: name.clone(), unit }
        }
        (Some(table), Some(to)) => {
            let Some(found) = TABLES.iter().copied().find(|t| t.name == table) else {
                let near = near(table, TABLES.iter().map(|t| t.name));
                return Err(format!("there is no table `{table}`{}", perhaps(&near)));
            };
            let Some(place) = found.columns.iter().position(|c| c.name == to) else {
                let near = near(to, found.columns.iter().map(|c| c.name));
                return Err(format!("table `{table}` has no column `{to}`{}", perhaps(&near)));
            };
            if !matches!(found.columns[place].ty, fenxi_model::Type::F64 | fenxi_model::Type::I64) {
                return Err(format!("`{table}.{to}` is no number; name it under `labels`"));
            }
            Place::Column(found, place)
        }
        _ => return Err("`table` and `to` belong together".to_owned()),
    };
    let mut set = set.clone();
    set.extend(value.set.clone());
    let Value { scale, offset, counter, amount, .. } = *value;
    Ok(Target { place, scale, offset, counter, amount, set: set.into_iter().collect() })
}

fn perhaps(near: &[String]) -> String {
    match near.first() {
        Some(first) => format!("; did you mean `{first}`?"),
        None => String::new(),
    }
}
