//! The mapping file: a few lines of TOML that say which column is what. `docs/import-mapping.md`
//! describes it.

use std::collections::BTreeMap;

use fenxi_model::{TABLES, near};
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::{Decimal, Place, Role, Target};
use crate::{
    Out,
    generic::{labels::unit_of, when::When},
};

/// A mapping file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    separator: Option<String>,
    decimal: Option<String>,
    skip: usize,
    columns: Vec<String>,
    time: Option<Time>,
    host: Option<String>,
    name: Option<String>,
    labels: LabelColumns,
    ignore: Vec<String>,
    others: Others,
    value: Vec<Value>,
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
    cumulative: bool,
}

fn one() -> f64 {
    1.0
}

/// What the mapping says, as far as it makes sense.
#[derive(Debug, Default)]
pub(in super::super) struct Mapping {
    file: File,
    zone: Option<TimeZone>,
    values: Vec<(String, Target)>,
}

impl Mapping {
    /// Reads the mapping of the hints; what is wrong in it becomes a note each.
    pub(in super::super) fn of(out: &mut Out<'_>) -> Mapping {
        let Some(text) = out.hints().mapping.clone() else { return Mapping::default() };
        let file: File = match toml::from_str(&text) {
            Ok(file) => file,
            Err(error) => {
                out.note(None, &format!("the mapping file cannot be read and is left out: {}", error.message()));
                return Mapping::default();
            }
        };
        let zone = file.time.as_ref().and_then(|t| t.zone.as_ref()).and_then(|name| {
            let zone = if name == "UTC" { Some(TimeZone::UTC) } else { TimeZone::get(name).ok() };
            if zone.is_none() {
                out.note(None, &format!("the mapping file names an unknown time zone `{name}`"));
            }
            zone
        });
        let mut values = Vec::new();
        for value in &file.value {
            match target(value) {
                Ok(target) => values.push((value.column.clone(), target)),
                Err(why) => out.note(None, &format!("the mapping of column `{}`: {why}", value.column)),
            }
        }
        Mapping { file, zone, values }
    }

    /// What the column called `name` is; None when the mapping leaves it open.
    pub(in super::super) fn role(&self, name: &str) -> Option<Role> {
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
        let targets: Vec<Target> =
            self.values.iter().filter(|(column, _)| column == name).map(|(_, t)| t.clone()).collect();
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
            None
        }
    }

    /// Whether the mapping names the columns of time.
    pub(in super::super) fn names_time(&self) -> bool {
        self.file.time.as_ref().is_some_and(|t| t.column.is_some())
    }

    /// How the time is written, when the mapping says so.
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
        &self.file.columns
    }
}

fn target(value: &Value) -> Result<Target, String> {
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
    Ok(Target { place, scale: value.scale, cumulative: value.cumulative })
}

fn perhaps(near: &[String]) -> String {
    match near.first() {
        Some(first) => format!("; did you mean `{first}`?"),
        None => String::new(),
    }
}
