//! TOML table reader that knows the line of every key, so that every error names it and no unknown key passes.

use std::{cell::RefCell, path::Path};

use fenxi_model::{near, parse_seconds};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::error::{PlanError, perhaps};

/// A value and its line.
pub(crate) type Value<'t> = &'t Spanned<DeValue<'t>>;

/// The text being read: for lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'t> {
    pub(crate) path: &'t Path,
    pub(crate) text: &'t str,
}

impl Text<'_> {
    /// The line, from 1, of a byte.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.text.as_bytes().iter().take(at).filter(|b| **b == b'\n').count() + 1
    }

    /// An error at a byte of the text.
    pub(crate) fn error(&self, at: usize, message: impl Into<String>) -> PlanError {
        PlanError { path: self.path.to_owned(), line: Some(self.line(at)), message: message.into() }
    }
}

/// A table being read.
pub(crate) struct Reader<'t> {
    pub(crate) text: Text<'t>,
    table: &'t DeTable<'t>,
    /// Where the table begins.
    pub(crate) at: usize,
    /// Its name in messages: ``the plan``, `[run]`.
    what: String,
    known: RefCell<Vec<&'static str>>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: Text<'t>, table: &'t DeTable<'t>, at: usize, what: &str) -> Reader<'t> {
        Reader { text, table, at, what: what.to_owned(), known: RefCell::default() }
    }

    /// The table that `value` is.
    pub(crate) fn table(text: Text<'t>, value: Value<'t>, what: &str) -> Result<Reader<'t>, PlanError> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(Reader::new(text, table, value.span().start, what)),
            other => Err(text.error(value.span().start, format!("{what} is {}; a table is expected", kind(other)))),
        }
    }

    /// All entries in the order of the file.
    pub(crate) fn entries(&self) -> Vec<(&'t str, Value<'t>)> {
        let mut entries: Vec<_> = self.table.iter().map(|(k, v)| (k.span().start, k.get_ref().as_ref(), v)).collect();
        entries.sort_by_key(|(at, _, _)| *at);
        entries.into_iter().map(|(_, key, value)| (key, value)).collect()
    }

    /// The value of `key`, if it is there.
    pub(crate) fn get(&self, key: &'static str) -> Option<Value<'t>> {
        self.known.borrow_mut().push(key);
        self.table.get(key)
    }

    fn wrong(&self, key: &str, value: Value<'_>, expected: &str) -> PlanError {
        let is = match value.get_ref() {
            DeValue::String(text) => format!("`{}`", text.chars().take(60).collect::<String>()),
            other => kind(other).to_owned(),
        };
        self.text.error(value.span().start, format!("`{key}` is {is}; expected is {expected}"))
    }

    pub(crate) fn string(&self, key: &'static str) -> Result<Option<&'t str>, PlanError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(Some(text.as_ref())),
            _ => Err(self.wrong(key, value, "a text in quotes that is not empty")),
        }
    }

    /// A length of time in seconds: a text as `1.5s`, or a number.
    pub(crate) fn seconds(&self, key: &'static str) -> Result<Option<f64>, PlanError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let seconds = match value.get_ref() {
            DeValue::String(text) => parse_seconds(text),
            other => number(other).filter(|n| *n >= 0.0),
        };
        seconds.map(Some).ok_or_else(|| self.wrong(key, value, "a length of time as \"30s\", \"500ms\" or \"2m\""))
    }

    /// A whole number from `min` to `max`.
    pub(crate) fn whole(&self, key: &'static str, min: u64, max: u64) -> Result<Option<u64>, PlanError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let found = number(value.get_ref()).filter(|n| n.fract() == 0.0 && *n >= min as f64 && *n <= max as f64);
        let expected = || format!("a whole number from {min} to {max}");
        found.map(|n| Some(n as u64)).ok_or_else(|| self.wrong(key, value, &expected()))
    }

    /// One of a few words.
    pub(crate) fn word(&self, key: &'static str, words: &[&'static str]) -> Result<Option<&'static str>, PlanError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let found = value.get_ref().as_str().and_then(|text| words.iter().find(|w| **w == text));
        let expected = || format!("`{}`", words.join("`, `"));
        found.map(|w| Some(*w)).ok_or_else(|| self.wrong(key, value, &expected()))
    }

    /// Elements of an array.
    pub(crate) fn array(&self, key: &'static str, of: &str) -> Result<Option<&'t [Spanned<DeValue<'t>>]>, PlanError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Array(array) => Ok(Some(array.as_ref())),
            _ => Err(self.wrong(key, value, &format!("an array of {of}"))),
        }
    }

    /// Pairs of texts, as an environment is written.
    pub(crate) fn pairs(&self, key: &'static str) -> Result<Vec<(String, String)>, PlanError> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let reader = Reader::table(self.text, value, &format!("`{key}`"))?;
        let pair = |(name, value): (&str, Value<'_>)| match plain(value.get_ref()) {
            Some(text) => Ok((name.to_owned(), text)),
            None => Err(reader.wrong(name, value, "a text or a number")),
        };
        reader.entries().into_iter().map(pair).collect()
    }

    /// An error about this table as a whole.
    pub(crate) fn error(&self, message: impl Into<String>) -> PlanError {
        self.text.error(self.at, message)
    }

    /// An error at the value of `key`.
    pub(crate) fn error_at(&self, key: &str, message: impl Into<String>) -> PlanError {
        self.text.error(self.table.get(key).map_or(self.at, |v| v.span().start), message)
    }

    /// That every key that is there was asked for.
    pub(crate) fn finish(&self) -> Result<(), PlanError> {
        let known = self.known.borrow();
        let unknown = |key: &&str| !known.contains(key);
        let mut keys: Vec<_> = self.table.keys().map(|k| (k.span().start, k.get_ref().as_ref())).collect();
        keys.sort_unstable();
        match keys.iter().find(|(_, key)| unknown(key)) {
            None => Ok(()),
            Some((at, key)) => {
                let near = near(key, known.iter().copied());
                let hint = match near.is_empty() {
                    false => perhaps(&near),
                    true => format!("; there are `{}`", known.join("`, `")),
                };
                Err(self.text.error(*at, format!("unknown key `{key}` in {}{hint}", self.what)))
            }
        }
    }
}

/// The type of a value, in words.
pub(crate) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// The finite number that a value is.
pub(crate) fn number(value: &DeValue<'_>) -> Option<f64> {
    let number = match value {
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok()? as f64,
        DeValue::Float(n) => n.as_str().parse::<f64>().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// A text, a number, or true or false, as text.
pub(crate) fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.as_ref().to_owned()),
        DeValue::Boolean(yes) => Some(yes.to_string()),
        other => number(other).map(|n| n.to_string()),
    }
}
