//! Workloads: TOML files that define tables, how they are populated, and transactions.
//!
//! A [`Workload`] is a parsed file, with its options as they were chosen; [`Workload::compile`] makes a
//! [`Program`] of it for one of the two dialects, in which nothing is looked up by name any more.

mod compile;
pub mod expr;
mod parse;
mod sql;

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

pub use self::compile::{Call, Kind, Op, Program, TablePlan, Transaction};
use crate::random::Distribution;
use fenxi_wire::Dialect;

/// The option that defines `draw`.
pub const DISTRIBUTION: &str = "distribution";

/// The workloads that come with the program: name and text.
pub const SHIPPED: &[(&str, &str)] = &[
    ("oltp_delete", include_str!("../../../../workloads/oltp_delete.toml")),
    ("oltp_insert", include_str!("../../../../workloads/oltp_insert.toml")),
    ("oltp_net", include_str!("../../../../workloads/oltp_net.toml")),
    ("oltp_point_select", include_str!("../../../../workloads/oltp_point_select.toml")),
    ("oltp_read_only", include_str!("../../../../workloads/oltp_read_only.toml")),
    ("oltp_read_write", include_str!("../../../../workloads/oltp_read_write.toml")),
    ("oltp_update_index", include_str!("../../../../workloads/oltp_update_index.toml")),
    ("oltp_update_non_index", include_str!("../../../../workloads/oltp_update_non_index.toml")),
    ("oltp_write_only", include_str!("../../../../workloads/oltp_write_only.toml")),
    ("select_only", include_str!("../../../../workloads/select_only.toml")),
    ("select_random_points", include_str!("../../../../workloads/select_random_points.toml")),
    ("select_random_ranges", include_str!("../../../../workloads/select_random_ranges.toml")),
    ("tpcb_like", include_str!("../../../../workloads/tpcb_like.toml")),
];

/// Why a workload cannot be used.
#[derive(Debug, Error)]
#[error("workload {workload}: {what}")]
pub struct WorkloadError {
    /// Its name or path.
    pub workload: String,
    /// Message: the problem, its place, and valid values.
    pub what: String,
}

/// A value for each of the two, or one for both.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum PerDialect<T> {
    Each { postgres: T, mysql: T },
    Both(T),
}

impl<T> PerDialect<T> {
    fn of(&self, dialect: Dialect) -> &T {
        match (self, dialect) {
            (PerDialect::Both(value), _) => value,
            (PerDialect::Each { postgres, .. }, Dialect::Postgres) => postgres,
            (PerDialect::Each { mysql, .. }, Dialect::Mysql) => mysql,
        }
    }
}

/// One or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore<T> {
    One(T),
    More(Vec<T>),
}

impl<T> OneOrMore<T> {
    fn as_slice(&self) -> &[T] {
        match self {
            OneOrMore::One(value) => std::slice::from_ref(value),
            OneOrMore::More(values) => values,
        }
    }
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// A whole number, which expressions can use.
    Number(i64),
    /// A word, which statements can use.
    Word(String),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Number(number) => number.fmt(f),
            Setting::Word(word) => word.fmt(f),
        }
    }
}

/// A knob of a workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadOption {
    /// Value.
    pub value: Setting,
    /// Description.
    pub about: String,
    /// True if it decides what is loaded, so that another value needs tables to be prepared again.
    #[serde(default)]
    pub shapes_tables: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    name: String,
    #[serde(default)]
    instances: Option<String>,
    rows: String,
    /// Pairs of a column and the expression that fills it; `row` counts from 1.
    columns: Vec<(String, String)>,
    create: PerDialect<OneOrMore<String>>,
    #[serde(default)]
    after: Option<PerDialect<Vec<String>>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    when: Option<String>,
    repeat: Option<String>,
    #[serde(default, rename = "let")]
    lets: Vec<String>,
    table: Option<String>,
    #[serde(default)]
    sql: Option<PerDialect<OneOrMore<String>>>,
    think_us: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactionSpec {
    name: String,
    #[serde(default)]
    weight: Option<String>,
    /// Percent of these transactions that end their connection and make a new one for the next.
    #[serde(default)]
    reconnect_pct: Option<String>,
    step: Vec<Step>,
}

/// The content of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Its name, or the path of its file.
    #[serde(skip)]
    pub name: String,
    /// Description in a sentence.
    pub about: String,
    /// A shipped workload of which it has everything that it does not say itself.
    #[serde(default)]
    extends: Option<String>,
    /// Other values for options of that one.
    #[serde(default)]
    set: BTreeMap<String, Setting>,
    /// Its knobs.
    #[serde(default)]
    pub options: BTreeMap<String, WorkloadOption>,
    /// Percent of connections that stay idle.
    #[serde(default)]
    idle_pct: Option<String>,
    #[serde(default)]
    table: Vec<Table>,
    #[serde(default)]
    transaction: Vec<TransactionSpec>,
}

impl Workload {
    /// Reads the text of a workload.
    ///
    /// # Errors
    /// When it is none; the message has the line.
    pub fn parse(name: &str, text: &str) -> Result<Workload, WorkloadError> {
        let wrong = |what: String| WorkloadError { workload: name.to_owned(), what };
        let mut workload: Workload = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        workload.name = name.to_owned();
        if let Some(base) = workload.extends.take() {
            if base == name {
                return Err(wrong("it extends itself".to_owned()));
            }
            workload.inherit(Workload::shipped(&base)?);
        }
        for (key, value) in std::mem::take(&mut workload.set) {
            workload.set(&key, &value.to_string())?;
        }
        if workload.transaction.is_empty() {
            return Err(wrong("it has no transaction".to_owned()));
        }
        Ok(workload)
    }

    fn inherit(&mut self, base: Workload) {
        for (key, option) in base.options {
            self.options.entry(key).or_insert(option);
        }
        self.idle_pct = self.idle_pct.take().or(base.idle_pct);
        if self.table.is_empty() {
            self.table = base.table;
        }
        if self.transaction.is_empty() {
            self.transaction = base.transaction;
        }
    }

    /// A workload that comes with the program.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn shipped(name: &str) -> Result<Workload, WorkloadError> {
        Workload::parse(name, Workload::shipped_text(name)?)
    }

    /// The text of a workload that comes with the program.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn shipped_text(name: &str) -> Result<&'static str, WorkloadError> {
        match SHIPPED.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Ok(text),
            None => {
                let known: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
                let what = format!(
                    "no workload has that name; known are {}, and files (with a `/` or `.toml`)",
                    known.join(", ")
                );
                Err(WorkloadError { workload: name.to_owned(), what })
            }
        }
    }

    /// Gives an option another value.
    ///
    /// # Errors
    /// When there is no such option, or the value is none for it.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), WorkloadError> {
        let wrong = |what: String| WorkloadError { workload: self.name.clone(), what };
        let Some(option) = self.options.get(key) else {
            let known: Vec<_> = self.options.keys().map(String::as_str).collect();
            return Err(wrong(format!("unknown option `{key}`; known are {}", known.join(", "))));
        };
        let setting = match option.value {
            Setting::Number(_) => Setting::Number(
                value
                    .replace('_', "")
                    .parse()
                    .map_err(|_| wrong(format!("`{key}` is {value}; it wants a whole number")))?,
            ),
            Setting::Word(_) if key == DISTRIBUTION && Distribution::parse(value).is_none() => {
                return Err(wrong(format!("`{key}` is {value}; it can be {}", Distribution::NAMES)));
            }
            Setting::Word(_) => Setting::Word(value.to_owned()),
        };
        if let Some(option) = self.options.get_mut(key) {
            option.value = setting;
        }
        Ok(())
    }

    /// How long the first step that thinks does so within a transaction, as an expression in microseconds; an option's value where
    /// that is all. None where no step does.
    pub fn think_time_us(&self) -> Option<String> {
        let expression =
            self.transaction.iter().flat_map(|t| &t.step).find_map(|step| step.think_us.as_deref())?.trim();
        let option = self.options.get(expression).map(|option| option.value.to_string());
        Some(option.unwrap_or_else(|| expression.to_owned()))
    }

    /// Makes it ready to run.
    ///
    /// # Errors
    /// When an expression or a statement is wrong.
    pub fn compile(&self, dialect: Dialect) -> Result<Program, WorkloadError> {
        compile::compile(self, dialect).map_err(|what| WorkloadError { workload: self.name.clone(), what })
    }
}
