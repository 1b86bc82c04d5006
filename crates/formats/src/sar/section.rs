//! A section of sysstat's reports: its columns, its keys, and how JSON and XML call them.

use fenxi_model::{
    AnySchema, Place, Table,
    place::{F64, Label},
};

use super::sections::SECTIONS;

/// One section of the reports.
#[derive(Debug)]
pub(super) struct Section {
    /// The elements of JSON and XML that carry its figures.
    pub(super) names: &'static [&'static str],
    /// Columns that tell the rows of one moment apart.
    pub(super) keys: &'static [Key],
    /// A label that all its rows carry.
    pub(super) fixed: Option<(&'static Table, usize, &'static str)>,
    /// Columns with a place; at least one of them identifies the section.
    pub(super) columns: &'static [Column],
    /// Stands before the names of its metrics where other sections use the same ones.
    pub(super) prefix: &'static str,
    /// What JSON and XML leave off the end of column names that are not listed.
    pub(super) suffix: &'static str,
}

/// A column that tells rows apart.
#[derive(Debug)]
pub(super) struct Key {
    /// How the reports head it.
    pub(super) headers: &'static [&'static str],
    /// How a metric's label calls it.
    pub(super) label: &'static str,
    /// The columns of tables it goes to.
    pub(super) places: &'static [(&'static Table, usize)],
}

/// A column with a place.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) header: &'static str,
    /// Its name in JSON and XML where it cannot be told from the header.
    pub(super) alias: &'static str,
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

pub(super) const fn set<S: AnySchema>(header: &'static str, table: &'static Table<S>, place: Place<S, F64>) -> Column {
    Column { header, alias: "", to: To::Set(table, place.index(), 1.0, None) }
}

/// Its values go to a column, and are parts of what is in column `whole`.
pub(super) const fn set_part<S: AnySchema>(
    header: &'static str,
    table: &'static Table<S>,
    place: Place<S, F64>,
    whole: Place<S, F64>,
) -> Column {
    Column { header, alias: "", to: To::Set(table, place.index(), 1.0, Some(whole.index())) }
}

/// Its values are parts of what is in column `whole`.
pub(super) const fn part<S: AnySchema>(
    header: &'static str,
    table: &'static Table<S>,
    whole: Place<S, F64>,
    factor: f64,
) -> Column {
    Column { header, alias: "", to: To::Add(table, whole.index(), factor) }
}

pub(super) const fn metric(header: &'static str) -> Column {
    Column { header, alias: "", to: To::Metric }
}

pub(super) const fn skip(header: &'static str) -> Column {
    Column { header, alias: "", to: To::Skip }
}

impl Column {
    pub(super) const fn times(mut self, factor: f64) -> Column {
        if let To::Set(table, place, _, sum) = self.to {
            self.to = To::Set(table, place, factor, sum);
        }
        self
    }

    pub(super) const fn alias(mut self, alias: &'static str) -> Column {
        self.alias = alias;
        self
    }
}

/// A section of which nothing is said.
pub(super) const PLAIN: Section = Section { names: &[], keys: &[], fixed: None, columns: &[], prefix: "", suffix: "" };

/// A section whose columns are all metrics.
pub(super) static OTHER: Section = PLAIN;

/// A column of a table that a key goes to.
pub(super) const fn place<S: AnySchema>(table: &'static Table<S>, place: Place<S, Label>) -> (&'static Table, usize) {
    (table, place.index())
}

/// A label that all rows of a section carry in a column of `table`.
pub(super) const fn labelled<S: AnySchema>(
    table: &'static Table<S>,
    place: Place<S, Label>,
    label: &'static str,
) -> (&'static Table, usize, &'static str) {
    (table, place.index(), label)
}

/// A key that only metrics have.
pub(super) const fn label(headers: &'static [&'static str], label: &'static str) -> Key {
    Key { headers, label, places: &[] }
}

impl Section {
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
        SECTIONS.iter().find(|s| s.names.contains(&name))
    }

    /// Which of its keys is headed `name`.
    pub(super) fn key_index(&self, name: &str) -> Option<usize> {
        self.keys.iter().position(|k| k.headers.contains(&name))
    }

    /// The column that text heads, and JSON or XML calls, `name`.
    pub(super) fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|c| c.header == name)
    }

    /// The text header of what JSON or XML calls `name`.
    pub(super) fn header(&self, name: &str) -> String {
        let by = |test: &dyn Fn(&Column) -> bool| self.columns.iter().find(|c| test(c)).map(|c| c.header.to_owned());
        let percent = name.strip_suffix("-percent").or_else(|| name.strip_prefix("percent-"));
        by(&|c| c.header == name || c.alias == name)
            .or_else(|| percent.map(|p| format!("%{p}")))
            .or_else(|| by(&|c| c.header.strip_prefix("kb").is_some_and(|h| h == name)))
            .or_else(|| by(&|c| c.header.strip_suffix("/s").is_some_and(|h| h == name)))
            .or_else(|| by(&|c| c.header.strip_prefix('%').is_some_and(|h| h == name)))
            .unwrap_or_else(|| format!("{name}{}", self.suffix))
    }
}

/// Whether text heads a key so; JSON's names for keys are too general to tell anything.
fn is_heading(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_uppercase()) || matches!(name, "cpu" | "device")
}
