//! A section of reports of `sar` and `sadf`: its columns, its keys, and their names in JSON and XML, as `formats/sar/` has them.

use std::sync::LazyLock;

use fenxi_model::Table;

use crate::{
    any::lasting,
    own::{Goal, Keys, Source, Wrong},
};

/// Sections of sysstat's reports but the interrupts, which have their CPUs in columns.
pub(super) static SYSSTAT: LazyLock<Vec<Section>> =
    LazyLock::new(|| read(include_str!("../../../../formats/sar/sysstat.toml")).unwrap_or_default());
/// Sections of System V's.
pub(super) static SYSV: LazyLock<Vec<Section>> =
    LazyLock::new(|| read(include_str!("../../../../formats/sar/sysv.toml")).unwrap_or_default());

/// One section of the reports.
#[derive(Debug)]
pub(super) struct Section {
    /// The elements of JSON and XML that carry its figures.
    names: Vec<String>,
    /// Key columns of the rows of one moment.
    pub(super) keys: Vec<Key>,
    /// A label that all its rows carry.
    pub(super) fixed: Option<(&'static Table, usize, &'static str)>,
    /// Columns with a place; at least one of them identifies the section.
    pub(super) columns: Vec<Column>,
    /// Prefix of the names of its metrics, where other sections use the same ones.
    pub(super) prefix: String,
    /// Suffix that JSON and XML leave off column names that are not listed.
    suffix: String,
}

/// A key column.
#[derive(Debug)]
pub(super) struct Key {
    /// How the reports head it.
    pub(super) headers: Vec<String>,
    /// How a metric's label calls it.
    pub(super) label: String,
    /// The columns of tables it goes to.
    pub(super) places: Vec<(&'static Table, usize)>,
}

/// A column with a place.
#[derive(Debug)]
pub(super) struct Column {
    header: String,
    /// Its name in JSON and XML where it does not follow from the header.
    alias: String,
    pub(super) to: To,
}

/// Where the values of a column go.
#[derive(Clone, Copy, Debug)]
pub(super) enum To {
    /// Nowhere: they follow from others.
    Skip,
    /// To a metric named after the header.
    Metric,
    /// To a column of a table, times a factor; also added to the second column.
    Set(&'static Table, usize, f64, Option<usize>),
    /// Added, times a factor, to a column that is a sum of several.
    Add(&'static Table, usize, f64),
}

/// A section whose columns are all metrics.
pub(super) static OTHER: Section = Section {
    names: Vec::new(),
    keys: Vec::new(),
    fixed: None,
    columns: Vec::new(),
    prefix: String::new(),
    suffix: String::new(),
};

const OF_SECTION: &[&str] = &["names", "keys", "fixed", "prefix", "suffix", "columns", "parts", "alias"];

/// The sections that a file describes.
fn read(text: &str) -> Result<Vec<Section>, Wrong> {
    let source = Source { file: "formats/sar", text };
    let document = source.parse()?;
    let top = Keys::new(source, document.get_ref(), 0, "a file of sections", &["section"])?;
    top.tables("section", "[[section]]", OF_SECTION)?.into_iter().map(Section::read).collect()
}

/// A column of a table that a text names.
fn place(keys: &Keys<'_, '_>, text: &str) -> Result<(&'static Table, usize), Wrong> {
    match Goal::read(text) {
        Ok(Goal::Key { table, place, .. }) => Ok((table, place)),
        _ => Err(keys.source.wrong(keys.at, format!("`{text}` is no column of texts"))),
    }
}

fn texts(keys: &Keys<'_, '_>, key: &str) -> Result<Vec<String>, Wrong> {
    Ok(keys.texts(key)?.into_iter().map(|said| said.text.to_owned()).collect())
}

fn text(keys: &Keys<'_, '_>, key: &str) -> Result<String, Wrong> {
    Ok(keys.text(key)?.map_or(String::new(), |said| said.text.to_owned()))
}

impl Key {
    fn read(keys: Keys<'_, '_>) -> Result<Key, Wrong> {
        let places: Result<_, _> = keys.texts("to")?.iter().map(|said| place(&keys, said.text)).collect();
        Ok(Key { headers: texts(&keys, "headers")?, label: text(&keys, "label")?, places: places? })
    }
}

impl Section {
    fn read(keys: Keys<'_, '_>) -> Result<Section, Wrong> {
        let fixed = match keys.table("fixed", "fixed", &["to", "is"])? {
            None => None,
            Some(fixed) => {
                let (table, at) = place(&fixed, &text(&fixed, "to")?)?;
                Some((table, at, lasting(&text(&fixed, "is")?)))
            }
        };
        let of = keys.tables("keys", "keys", &["headers", "label", "to"])?;
        let mut section = Section {
            names: texts(&keys, "names")?,
            keys: of.into_iter().map(Key::read).collect::<Result<_, _>>()?,
            fixed,
            columns: Vec::new(),
            prefix: text(&keys, "prefix")?,
            suffix: text(&keys, "suffix")?,
        };
        let aliases = keys.table("alias", "[section.alias]", &[])?;
        for (table, is_part) in [("columns", false), ("parts", true)] {
            let Some(columns) = keys.table(table, "[section.columns]", &[])? else { continue };
            for (header, _) in columns.all() {
                let to = text(&columns, header.text)?;
                let goal = Goal::read(&to).map_err(|why| keys.source.wrong(header.at, why))?;
                let alias = aliases.map(|aliases| text(&aliases, header.text)).transpose()?.unwrap_or_default();
                section.add(header.text, alias, &goal, is_part);
            }
        }
        Ok(section)
    }

    fn add(&mut self, header: &str, alias: String, goal: &Goal, is_part: bool) {
        let to = match *goal {
            Goal::Column { table, place, scale, .. } if is_part => {
                let known = self.columns.iter_mut().find(|known| known.header == header);
                if let Some(Column { to: To::Set(.., whole), .. }) = known {
                    *whole = Some(place);
                    return;
                }
                To::Add(table, place, scale)
            }
            Goal::Column { table, place, scale, .. } => To::Set(table, place, scale, None),
            Goal::Metric { .. } => To::Metric,
            _ => To::Skip,
        };
        self.columns.push(Column { header: header.to_owned(), alias, to });
    }

    /// The section under a header line with these column names.
    pub(super) fn of_header<'h>(
        sections: &'static [Section],
        names: impl Iterator<Item = &'h str> + Clone,
    ) -> Option<&'static Section> {
        let keyed = names.clone().any(|n| sections.iter().any(|s| s.key_index(n) == Some(0) && is_heading(n)));
        let known = |section: &Section| names.clone().filter(|n| section.column(n).is_some()).count();
        let fits = |section: &&Section| match section.keys.is_empty() {
            true => !keyed,
            false => names.clone().any(|n| section.key_index(n).is_some()),
        };
        // Of equals the first: sections that share a column differ in how many they know.
        let best = sections.iter().filter(fits).rev().max_by_key(|section| known(section))?;
        (known(best) > 0).then_some(best)
    }

    /// The section that JSON or XML calls `name`.
    pub(super) fn of_element(name: &str) -> Option<&'static Section> {
        SYSSTAT.iter().find(|s| s.names.iter().any(|known| known == name))
    }

    /// Which of its keys is headed `name`.
    pub(super) fn key_index(&self, name: &str) -> Option<usize> {
        self.keys.iter().position(|k| k.headers.iter().any(|header| header == name))
    }

    /// The column that text heads, and JSON or XML calls, `name`.
    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.header == name)
    }

    /// The text header of what JSON or XML calls `name`.
    pub(super) fn header(&self, name: &str) -> String {
        let by = |test: &dyn Fn(&Column) -> bool| self.columns.iter().find(|c| test(c)).map(|c| c.header.clone());
        let percent = name.strip_suffix("-percent").or_else(|| name.strip_prefix("percent-"));
        by(&|c| c.header == name || c.alias == name)
            .or_else(|| percent.map(|p| format!("%{p}")))
            .or_else(|| by(&|c| c.header.strip_prefix("kb").is_some_and(|h| h == name)))
            .or_else(|| by(&|c| c.header.strip_suffix("/s").is_some_and(|h| h == name)))
            .or_else(|| by(&|c| c.header.strip_prefix('%').is_some_and(|h| h == name)))
            .unwrap_or_else(|| format!("{name}{}", self.suffix))
    }
}

/// Whether text heads a key so; JSON's names for keys are too general for that.
fn is_heading(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_uppercase()) || matches!(name, "cpu" | "device")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_sections_are_right() {
        for (text, sections) in [
            (include_str!("../../../../formats/sar/sysstat.toml"), 42),
            (include_str!("../../../../formats/sar/sysv.toml"), 7),
        ] {
            match read(text) {
                Ok(all) => assert_eq!(all.len(), sections),
                Err(wrong) => panic!("{wrong}"),
            }
        }
    }
}
