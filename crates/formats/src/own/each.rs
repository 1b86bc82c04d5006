//! Lines with several values side by side, as below the names of nodes or sizes: each part becomes rows and results.

use regex::Regex;

use super::{
    document::{Keys, Said, Wrong, pattern},
    value::{From, Groups},
};

/// Parts of one line; a damaged text may have more.
const MOST_PARTS: usize = 4096;

/// The groups of a line that are cut into parts: `each = { nodes = '(?<node>\d+)|Total', values = '(?<value>\S+)' }`.
#[derive(Debug, Default)]
pub(super) struct Each {
    /// The groups that are cut, each with the pattern of a part of it.
    cuts: Vec<(From, Regex)>,
    /// Names of the groups of these patterns, one after another.
    pub(super) names: Vec<Option<String>>,
}

impl Each {
    /// Reads `each` of a `[[line]]` whose pattern has these groups; nothing is cut without it.
    pub(super) fn read(line: Keys<'_, '_>, groups: Groups<'_>) -> Result<Each, Wrong> {
        let mut each = Each::default();
        let Some(keys) = line.table("each", "each", &[])? else { return Ok(each) };
        for (key, value) in keys.all() {
            let wrong = |why: String| keys.source.wrong(key.at, format!("`each`: {why}"));
            let from = groups.find(key.text).map_err(wrong)?;
            let Some(text) = value.get_ref().as_str() else {
                return Err(keys.wrong_type(key.text, value, "a pattern in quotes"));
            };
            let part = pattern(keys.source, Said { text, at: value.span().start }, text)?;
            each.names.extend(part.capture_names().map(|name| name.map(str::to_owned)));
            each.cuts.push((from, part));
        }
        Ok(each)
    }
}

/// The parts of the line at hand, and the one that is read.
#[derive(Debug, Default)]
pub(super) struct Parts {
    all: Vec<Vec<Option<String>>>,
    pub(super) at: usize,
}

impl Parts {
    /// Cuts a line; gives how often its rows are made, and None where one group has more parts than another.
    pub(super) fn cut<'v>(&mut self, each: &Each, get: impl Fn(From) -> Option<&'v str>) -> Option<usize> {
        self.all.clear();
        for (nth, (from, part)) in each.cuts.iter().enumerate() {
            let mut count = 0;
            for found in part.captures_iter(get(*from).unwrap_or_default()).take(MOST_PARTS) {
                if nth == 0 {
                    self.all.push(Vec::new());
                }
                let groups = found.iter().map(|group| group.map(|group| group.as_str().to_owned()));
                self.all.get_mut(count)?.extend(groups);
                count += 1;
            }
            if count != self.all.len() {
                return None;
            }
        }
        Some(if each.cuts.is_empty() { 1 } else { self.all.len() })
    }

    /// The groups of the part that is read.
    pub(super) fn now(&self) -> &[Option<String>] {
        self.all.get(self.at).map_or(&[], Vec::as_slice)
    }
}
