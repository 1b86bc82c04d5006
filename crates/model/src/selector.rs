//! Names of runs, and how people point at them on the command line.

use std::{fmt, str::FromStr};

use crate::{Micros, TimeRange};

/// A run's id: `20261121T142233-oltp-rw-k3f9`, sortable, readable, unique without coordination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// Makes an id from the start time, the run's name and a random number.
    ///
    /// Characters of `name` that do not belong in a file name become `-`; 40 of them are kept.
    pub fn new(start: Micros, name: &str, random: u64) -> RunId {
        const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let mut slug = String::new();
        for c in name.chars().flat_map(char::to_lowercase) {
            if c.is_ascii_alphanumeric() || c == '.' || c == '_' {
                slug.push(c);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
            if slug.len() >= 40 {
                break;
            }
        }
        let slug = slug.trim_matches(['-', '.']);
        let suffix: String = (0..4).map(|i| ALPHABET[(random >> (5 * i)) as usize & 31] as char).collect();
        let gap = if slug.is_empty() { "" } else { "-" };
        RunId(format!("{}{gap}{slug}-{suffix}", start.compact()))
    }

    /// The id in `text`, when it is one: only letters, digits, `-`, `.`, `_`, and begins with a date.
    pub fn parse(text: &str) -> Option<RunId> {
        let date_ok = text.len() > 15
            && text.as_bytes()[8] == b'T'
            && text.bytes().take(15).enumerate().all(|(i, b)| i == 8 || b.is_ascii_digit());
        let rest_ok = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'));
        (date_ok && rest_ok).then(|| RunId(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of what a recording has between two moments, distinguished from others of these by a number. No run that is recorded
    /// or imported has such an id.
    pub fn of_range(from: Micros, to: Micros, name: &str, number: u64) -> RunId {
        let plain = RunId::new(from, name, number);
        let rest = plain.0.get(15..).unwrap_or_default();
        let (from, to) = (from.compact(), to.compact());
        // Of an end on the same day, the time is enough.
        let to = if from.get(..9) == to.get(..9) { to.get(9..).unwrap_or_default() } else { &to };
        RunId(format!("{from}..{to}{rest}"))
    }

    /// Returns true if it is one of [`RunId::of_range`].
    pub fn is_range(&self) -> bool {
        self.0.get(15..17) == Some("..")
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Selector of one or more runs: `@1`, `tag=value`, a name or unique prefix of an id, or a range of time.
#[derive(Clone, Debug, PartialEq)]
pub enum Selector {
    /// `@1` is the latest run, `@2` the one before; `@` alone is `@1`.
    Latest(usize),
    /// `key=value`: all runs with that tag or parameter.
    Tag {
        /// The tag's key.
        key: String,
        /// The tag's value.
        value: String,
    },
    /// A whole id, a unique prefix of one, or a run's name.
    Name(String),
    /// `FROM..TO` or a day: what was recorded then, as one run; with `SELECTOR/` before it, of these runs only.
    Range {
        /// The runs.
        of: Option<String>,
        /// The time.
        range: TimeRange,
    },
}

/// A text that cannot name a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// No number after `@`, or 0.
    #[error("`{0}` does not name a run: after `@` comes a number from 1 (the latest run)")]
    Number(String),
    /// Nothing, or nothing before `=`.
    #[error("`{0}` does not name a run: give an id, a unique beginning of one, a name, `@1` or `tag=value`")]
    Empty(String),
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Selector, SelectorError> {
        if let Some(range) = TimeRange::parse(text) {
            return Ok(Selector::Range { of: None, range });
        }
        if let Some((of, range)) = text.rsplit_once('/')
            && let Some(range) = TimeRange::parse(range)
        {
            return match of {
                "" => Err(SelectorError::Empty(text.to_owned())),
                of => Ok(Selector::Range { of: Some(of.to_owned()), range }),
            };
        }
        if let Some(number) = text.strip_prefix('@') {
            return match if number.is_empty() { Ok(1) } else { number.parse() } {
                Ok(n) if n > 0 => Ok(Selector::Latest(n)),
                _ => Err(SelectorError::Number(text.to_owned())),
            };
        }
        match text.split_once('=') {
            Some(("", _)) => Err(SelectorError::Empty(text.to_owned())),
            Some((key, value)) => Ok(Selector::Tag { key: key.to_owned(), value: value.to_owned() }),
            None if text.is_empty() => Err(SelectorError::Empty(text.to_owned())),
            None => Ok(Selector::Name(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RunId, Selector};
    use crate::{Micros, TimeRange};

    #[test]
    fn an_id_is_sortable_readable_and_a_safe_file_name() {
        let id = RunId::new(Micros(1_795_271_753_123_456), "OLTP rw / 64 ../x", 0x1234_5678);
        assert_eq!(id.as_str(), "20261121T143553-oltp-rw-64-..-x-rkn8");
        assert_eq!(RunId::parse(id.as_str()), Some(id.clone()));
        let range = RunId::of_range(Micros(1_795_271_753_123_456), Micros(1_795_271_853_000_000), "web", 1);
        assert_eq!(range.as_str(), "20261121T143553..143733-web-1000");
        assert_eq!((RunId::parse(range.as_str()), range.is_range(), id.is_range()), (Some(range.clone()), true, false));
        assert_eq!(RunId::new(Micros(0), "", 0).as_str(), "19700101T000000-0000");
        for bad in ["", "..", "../etc", "20261121T133553", "20261121T133553-a/b", "notadateTxxxxxx-abc"] {
            assert_eq!(RunId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn selectors_are_read() {
        assert_eq!("@2".parse(), Ok(Selector::Latest(2)));
        assert_eq!("@".parse(), Ok(Selector::Latest(1)));
        assert_eq!("a=b=c".parse(), Ok(Selector::Tag { key: "a".into(), value: "b=c".into() }));
        assert_eq!("2026".parse(), Ok(Selector::Name("2026".into())));
        let range = |text| TimeRange::parse(text).unwrap();
        assert_eq!("03:10..".parse(), Ok(Selector::Range { of: None, range: range("03:10..") }));
        let of = Some("host=db1".to_owned());
        assert_eq!("host=db1/yesterday".parse(), Ok(Selector::Range { of, range: range("yesterday") }));
        assert_eq!("a/b".parse(), Ok(Selector::Name("a/b".into())));
        for bad in ["@0", "@x", "", "=v", "/today"] {
            assert!(bad.parse::<Selector>().is_err(), "{bad}");
        }
    }
}
