//! By which names of columns a shipped mapping is recognised, and how a column's name is compared with that of a mapping.

use crate::own::{Keys, Wrong};

/// The longest name that is looked for in a mapping.
const LONGEST: usize = 300;

/// Keys of `[recognise]`.
pub(super) const KEYS: &[&str] = &["columns", "enough", "prefixes", "any-case", "alike"];

/// Whose columns they are, which only a shipped mapping has.
#[derive(Debug, Default)]
pub(super) struct Recognise {
    /// Columns that only such a file has; none for all that the mapping names.
    pub(super) known: Vec<String>,
    /// How many of these must be there.
    pub(super) enough: usize,
    /// Prefixes that monitors write before the names.
    prefixes: Vec<String>,
    /// Whether the names are the same in small letters.
    any_case: bool,
    /// Characters of names that one tool writes for another's: `/.`.
    alike: Vec<u8>,
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
            alike: keys.text("alike")?.map_or_else(Vec::new, |said| said.text.bytes().filter(u8::is_ascii).collect()),
        })
    }

    /// The values of the placeholders of `pattern` in `name`, as [`Recognise::captured`] gives them, or in it as a monitor writes it.
    pub(super) fn fits<'a>(&self, pattern: &'a str, name: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
        if name.len() > LONGEST {
            return None;
        }
        self.captured(pattern, name).or_else(|| {
            if !self.any_case && self.prefixes.is_empty() {
                return None;
            }
            let plain = self.without_prefix(name);
            // Labels of a monitor, as `{instance="db1"}`, are no part of the name.
            let bare = plain.split_once('{').map_or(plain, |(bare, _)| bare);
            self.captured(pattern, plain).or_else(|| self.captured(pattern, bare))
        })
    }

    /// `name` without what a monitor writes before it.
    fn without_prefix<'a>(&self, name: &'a str) -> &'a str {
        let bare = self.prefixes.iter().find_map(|prefix| {
            let start = name.get(..prefix.len())?;
            start.eq_ignore_ascii_case(prefix).then(|| &name[prefix.len()..])
        });
        bare.unwrap_or(name)
    }

    /// Whether two texts are the same, as far as names differ between tools.
    fn same(&self, a: &str, b: &str) -> bool {
        let alike = |a: u8, b: u8| {
            a == b
                || self.any_case && a.eq_ignore_ascii_case(&b)
                || !self.alike.is_empty() && self.alike.contains(&a) && self.alike.contains(&b)
        };
        a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| alike(a, b))
    }

    /// The values of the placeholders of `pattern` in `name`: `<device> read` finds `sda` in `sda read`. A named one matches something,
    /// `<*>` anything. None where it is another name.
    fn captured<'a>(&self, pattern: &'a str, name: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
        let Some((before, label, rest)) = placeholder(pattern) else {
            return self.same(pattern, name).then(Vec::new);
        };
        // Nearly all names are others, which their ends show at once.
        let end = pattern.rsplit('>').next().unwrap_or_default();
        let tail = name.len().checked_sub(end.len()).and_then(|at| name.get(at..))?;
        let begin = name.get(..before.len())?;
        if !self.same(tail, end) || !self.same(begin, before) {
            return None;
        }
        let name = &name[before.len()..];
        let least = usize::from(label != "*");
        let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]).filter(|at| *at >= least);
        // The shortest that lets the rest fit.
        for end in ends {
            if let Some(mut found) = self.captured(rest, &name[end..]) {
                found.insert(0, (label, &name[..end]));
                return Some(found);
            }
        }
        None
    }
}

/// The first placeholder of a pattern: what is before it, its label, what follows.
fn placeholder(pattern: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = pattern.split_once('<')?;
    let (label, rest) = rest.split_once('>')?;
    let is_name = label == "*" || !label.is_empty() && label.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    is_name.then_some((before, label, rest))
}
