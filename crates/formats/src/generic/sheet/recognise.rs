//! By which names of columns a shipped mapping is recognised, and how a column's name is compared with that of a mapping.

use crate::own::{Keys, Wrong};

/// The longest name that is looked for in a mapping.
const LONGEST: usize = 300;

/// Keys of `[recognise]`.
pub(super) const KEYS: &[&str] = &["columns", "enough", "prefixes", "any-case"];

/// Whose columns they are, which only a shipped mapping has.
#[derive(Debug, Default)]
pub(super) struct Recognise {
    /// Columns that only such a file has.
    pub(super) known: Vec<String>,
    /// How many of these must be there.
    pub(super) enough: usize,
    /// What monitors write before the names.
    prefixes: Vec<String>,
    /// Whether the names are the same in small letters.
    any_case: bool,
}

impl Recognise {
    pub(super) fn read(keys: &Keys<'_, '_>) -> Result<Recognise, Wrong> {
        let texts = |key: &str| -> Result<Vec<String>, Wrong> {
            Ok(keys.texts(key)?.into_iter().map(|said| said.text.to_owned()).collect())
        };
        Ok(Recognise {
            known: texts("columns")?,
            enough: keys.number("enough")?.map_or(0, |enough| enough as usize),
            prefixes: texts("prefixes")?,
            any_case: keys.flag("any-case")?,
        })
    }

    /// The values of the placeholders of `pattern` in `name`, as [`captured`] gives them, or in it as a monitor writes it.
    pub(super) fn fits(&self, pattern: &str, name: &str) -> Option<Vec<(String, String)>> {
        if name.len() > LONGEST {
            return None;
        }
        let owned = |found: Vec<(&str, &str)>| found.into_iter().map(|(l, v)| (l.to_owned(), v.to_owned())).collect();
        if let Some(found) = captured(pattern, name) {
            return Some(owned(found));
        }
        if !self.any_case && self.prefixes.is_empty() {
            return None;
        }
        let in_case = |text: &str| if self.any_case { text.to_ascii_lowercase() } else { text.to_owned() };
        let (pattern, plain) = (in_case(pattern), in_case(self.without_prefix(name)));
        // Labels of a monitor, as `{instance="db1"}`, are no part of the name.
        let bare = plain.split_once('{').map_or(plain.as_str(), |(bare, _)| bare);
        captured(&pattern, &plain).or_else(|| captured(&pattern, bare)).map(owned)
    }

    /// `name` without what a monitor writes before it.
    fn without_prefix<'a>(&self, name: &'a str) -> &'a str {
        let bare = self.prefixes.iter().find_map(|prefix| {
            let start = name.get(..prefix.len())?;
            start.eq_ignore_ascii_case(prefix).then(|| &name[prefix.len()..])
        });
        bare.unwrap_or(name)
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
