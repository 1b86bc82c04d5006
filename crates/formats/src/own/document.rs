//! The TOML of a format's file, read strictly: an unknown key and a value of another type are errors with their line.

use std::fmt::Display;

use fenxi_model::near;
use jiff::tz::TimeZone;
use regex::{Regex, RegexBuilder};
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

/// Memory that one compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;

/// Error in a format's file, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct Wrong {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Message: the problem, what was expected, and the way out.
    pub what: String,
}

/// A file and its text, to say where something is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    /// An error at a byte of the text.
    pub(crate) fn wrong(&self, at: usize, what: impl Display) -> Wrong {
        let before = self.text.as_bytes().get(..at).unwrap_or(self.text.as_bytes());
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        Wrong { file: self.file.to_owned(), line, what: what.to_string() }
    }

    /// The whole text as TOML.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'a>>, Wrong> {
        DeTable::parse(self.text)
            .map_err(|error| self.wrong(error.span().map_or(0, |span| span.start), error.message().replace('\n', "; ")))
    }
}

/// A text of the file and where it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
}

/// A table of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<'t, 's> {
    pub(crate) source: Source<'s>,
    table: &'t DeTable<'s>,
    /// Where it begins.
    pub(crate) at: usize,
    /// Name of the table in messages.
    name: &'static str,
}

impl<'t, 's> Keys<'t, 's> {
    /// The table called `name`, with no other keys than `known`.
    pub(crate) fn new(
        source: Source<'s>,
        table: &'t DeTable<'s>,
        at: usize,
        name: &'static str,
        known: &[&str],
    ) -> Result<Keys<'t, 's>, Wrong> {
        let keys = Keys { source, table, at, name };
        for (key, _) in table {
            let key_name: &str = key.get_ref();
            if !known.is_empty() && !known.contains(&key_name) {
                return Err(source.wrong(
                    key.span().start,
                    format!(
                        "{name} has no key `{key_name}`{}; it has {}",
                        perhaps(key_name, known.iter().copied()),
                        list(known)
                    ),
                ));
            }
        }
        Ok(keys)
    }

    /// All keys, where they stand, and their values.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Said<'t>, &'t Spanned<DeValue<'s>>)> {
        self.table.iter().map(|(key, value)| {
            let said: &'t Spanned<DeString<'s>> = key;
            (Said { text: said.get_ref(), at: said.span().start }, value)
        })
    }

    pub(crate) fn value(&self, key: &str) -> Option<&'t Spanned<DeValue<'s>>> {
        self.table.get(key)
    }

    /// An error about a value.
    pub(crate) fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> Wrong {
        let found = value.get_ref().type_str();
        self.source.wrong(value.span().start, format!("`{key}` is of type {found}; expected {expected}"))
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<Said<'t>>, Wrong> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let at = value.span().start;
        match value.get_ref().as_str() {
            Some(text) => Ok(Some(Said { text, at })),
            None => Err(self.wrong_type(key, value, "a text in quotes")),
        }
    }

    pub(crate) fn needed(&self, key: &str, example: &str) -> Result<Said<'t>, Wrong> {
        self.text(key)?
            .ok_or_else(|| self.source.wrong(self.at, format!("{} has no `{key}`; add `{key} = {example}`", self.name)))
    }

    /// A text or a list of texts.
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<Said<'t>>, Wrong> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let expected = "a text in quotes, or a list of them";
        let said = |value: &'t Spanned<DeValue<'s>>| match value.get_ref().as_str() {
            Some(text) => Ok(Said { text, at: value.span().start }),
            None => Err(self.wrong_type(key, value, expected)),
        };
        match value.get_ref() {
            DeValue::Array(values) => values.iter().map(said).collect(),
            _ => said(value).map(|one| vec![one]),
        }
    }

    pub(crate) fn flag(&self, key: &str) -> Result<bool, Wrong> {
        match self.value(key) {
            None => Ok(false),
            Some(value) => value.get_ref().as_bool().ok_or_else(|| self.wrong_type(key, value, "true or false")),
        }
    }

    /// A number.
    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>, Wrong> {
        let Some(value) = self.value(key) else { return Ok(None) };
        number_of(value.get_ref()).map(Some).ok_or_else(|| self.wrong_type(key, value, "a number"))
    }

    /// A number that is more than 0.
    pub(crate) fn positive(&self, key: &str) -> Result<Option<f64>, Wrong> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number = number_of(value.get_ref()).filter(|number| *number > 0.0);
        number.map(Some).ok_or_else(|| self.wrong_type(key, value, "a number, more than 0"))
    }

    /// The time zone at `zone`.
    pub(crate) fn zone(&self) -> Result<Option<TimeZone>, Wrong> {
        match self.text("zone")? {
            None => Ok(None),
            Some(Said { text: "UTC", .. }) => Ok(Some(TimeZone::UTC)),
            Some(Said { text, at }) => TimeZone::get(text).map(Some).map_err(|_| {
                self.source.wrong(at, format!("`{text}` is no time zone; expected a name such as Europe/Berlin or UTC"))
            }),
        }
    }

    /// A table within it, with no other keys than `known`; any keys where none are known.
    pub(crate) fn table(&self, key: &str, name: &'static str, known: &[&str]) -> Result<Option<Keys<'t, 's>>, Wrong> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.get_ref().as_table() {
            Some(table) => Keys::new(self.source, table, value.span().start, name, known).map(Some),
            None => Err(self.wrong_type(key, value, &format!("a table, as `{name}`"))),
        }
    }

    /// A list of tables within it.
    pub(crate) fn tables(&self, key: &str, name: &'static str, known: &[&str]) -> Result<Vec<Keys<'t, 's>>, Wrong> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let expected = format!("a list of tables: each begins with `{name}`");
        let Some(values) = value.get_ref().as_array() else { return Err(self.wrong_type(key, value, &expected)) };
        let one = |value: &'t Spanned<DeValue<'s>>| match value.get_ref().as_table() {
            Some(table) => Keys::new(self.source, table, value.span().start, name, known),
            None => Err(self.wrong_type(key, value, &expected)),
        };
        values.iter().map(one).collect()
    }
}

/// A number as TOML writes it.
pub(super) fn number_of(value: &DeValue<'_>) -> Option<f64> {
    let text = match value {
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().to_owned(),
        DeValue::Integer(integer) => {
            return i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|n| n as f64);
        }
        DeValue::Float(float) => float.as_str().to_owned(),
        _ => return None,
    };
    text.parse::<f64>().ok().filter(|n| n.is_finite())
}

/// `; did you mean …?` where a known name is near.
pub(super) fn perhaps<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let close = near(name, known);
    if close.is_empty() { String::new() } else { format!("; did you mean `{}`?", close.join("` or `")) }
}

/// Names as a list in a sentence.
pub(super) fn list(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// A pattern as it is used, from the file.
pub(super) fn pattern(source: Source<'_>, said: Said<'_>, whole: &str) -> Result<Regex, Wrong> {
    // By itself first: a message about what is put around it would not help.
    let build = |text: &str| RegexBuilder::new(text).size_limit(PATTERN_BYTES).build();
    build(said.text).and_then(|_| build(whole)).map_err(|error| {
        let why = match &error {
            regex::Error::CompiledTooBig(_) => {
                "it is too large; repeat less (`{1,9}`), or match words of ASCII (`(?-u:…)`)".to_owned()
            }
            error => {
                error.to_string().lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned()
            }
        };
        source.wrong(said.at, format!("the pattern `{}` cannot be read: {why}", said.text))
    })
}
