//! With which lines samples begin, where the times of a text are counted.

use super::{
    document::{Keys, Wrong, perhaps},
    value::From,
};

/// Texts of a sample that are remembered to know where the next one begins.
const MOST_SEEN: usize = 1024;

/// Where a line begins a sample.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begins {
    /// Each time: `sample = true`.
    Always,
    /// Where the text of this group is in the present sample already: `sample_per = "device"`.
    Again(From),
}

impl Begins {
    /// Reads both keys of a `[[line]]` whose pattern has these groups; None where it begins no sample.
    pub(super) fn read(keys: Keys<'_, '_>, groups: &[Option<String>]) -> Result<Option<Begins>, Wrong> {
        let Some(said) = keys.text("sample_per")? else {
            return Ok(keys.flag("sample")?.then_some(Begins::Always));
        };
        match groups.iter().position(|group| group.as_deref() == Some(said.text)) {
            Some(group) => Ok(Some(Begins::Again(From::Line(group)))),
            None => {
                let near = perhaps(said.text, groups.iter().flatten().map(String::as_str));
                let why = format!("`sample_per`: the pattern has no group `{}`{near}", said.text);
                Err(keys.source.wrong(said.at, why))
            }
        }
    }
}

/// The texts by which the next sample is known.
#[derive(Debug, Default)]
pub(super) struct Seen(Vec<String>);

impl Seen {
    /// Whether a sample begins with a line that has this text; with `is_other` it does anyway.
    pub(super) fn begins(&mut self, text: &str, is_other: bool) -> bool {
        let begins = is_other || self.0.is_empty() || self.0.iter().any(|seen| seen == text);
        if begins {
            self.0.clear();
        }
        if self.0.len() < MOST_SEEN {
            self.0.push(text.to_owned());
        }
        begins
    }
}
