//! Values of columns as a format's file writes them: `"{group} KiB/s"`, `"part of {group}"`, `4`.

use fenxi_model::{Column, Type};
use regex::CaptureLocations;
use toml::{Spanned, de::DeValue};

use super::{
    document::{Keys, Said, Source, Wrong, list, number_of, perhaps},
    unit::{Conversion, Per, conversion, free_conversion},
};

/// Where a piece of a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// A group of the pattern that matched.
    Line(usize),
    /// One that an earlier line kept.
    Kept(usize),
    /// One of the part at hand, where a line is cut into parts.
    Part(usize),
}

/// The groups that a value may name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Groups<'a> {
    /// Those of the line's own pattern, by number.
    pub(super) line: &'a [Option<String>],
    /// Those that any line keeps.
    pub(super) kept: &'a [String],
    /// Those of the patterns of `each`, by number.
    pub(super) parts: &'a [Option<String>],
}

impl Groups<'_> {
    pub(super) fn find(&self, name: &str) -> Result<From, String> {
        if let Some(at) = self.line.iter().position(|own| own.as_deref() == Some(name)) {
            return Ok(From::Line(at));
        }
        if let Some(at) = self.parts.iter().position(|own| own.as_deref() == Some(name)) {
            return Ok(From::Part(at));
        }
        if let Some(at) = self.kept.iter().position(|kept| kept == name) {
            return Ok(From::Kept(at));
        }
        let mut known: Vec<&str> = self.line.iter().chain(self.parts).flatten().map(String::as_str).collect();
        known.extend(self.kept.iter().map(String::as_str));
        let here = if known.is_empty() {
            "the pattern has no named groups: write `(?<name>…)`".to_owned()
        } else {
            format!("there are {}", list(&known))
        };
        Err(format!(
            "no group is called `{name}`{}; {here} (a line whose `keep` names a group lends it to those that follow)",
            perhaps(name, known)
        ))
    }
}

/// A text with groups in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Group(From),
    /// `{group:lower}`: in small letters.
    Lower(From),
}

impl Template {
    /// The same text in each row.
    pub(super) fn of(text: &str) -> Template {
        Template(vec![Piece::Text(text.to_owned())])
    }

    pub(super) fn read(text: &str, groups: Groups<'_>) -> Result<Template, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (brace, after) = rest[at..].split_at(1);
            if let Some(after) = after.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let Some((name, after)) = after.split_once('}').filter(|_| brace == "{") else {
                return Err(format!(
                    "`{text}` has a single `{brace}`; write `{{group}}`, or `{brace}{brace}` for one of the text"
                ));
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(match name.strip_suffix(":lower") {
                Some(name) => Piece::Lower(groups.find(name)?),
                None => Piece::Group(groups.find(name)?),
            });
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Template(pieces))
    }

    /// The text, into `into`; false when a group has no value, or all is empty.
    pub(super) fn fill<'v>(&self, values: impl Fn(From) -> Option<&'v str>, into: &mut String) -> bool {
        into.clear();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => into.push_str(text),
                Piece::Group(from) | Piece::Lower(from) => {
                    let Some(value) = values(*from).map(str::trim) else { return false };
                    match piece {
                        Piece::Lower(_) => into.push_str(&value.to_lowercase()),
                        _ => into.push_str(value),
                    }
                }
            }
        }
        !into.is_empty()
    }

    /// Whether it is not the same for each line.
    pub(super) fn has_group(&self) -> bool {
        self.0.iter().any(|piece| !matches!(piece, Piece::Text(_)))
    }

    /// The kept groups that it needs.
    pub(super) fn kept(&self) -> impl Iterator<Item = usize> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Group(From::Kept(at)) | Piece::Lower(From::Kept(at)) => Some(*at),
            _ => None,
        })
    }
}

/// The labels of a row, in the order of the file.
pub(super) fn read_labels(keys: Keys<'_, '_>, groups: Groups<'_>) -> Result<Vec<(String, Template)>, Wrong> {
    let mut labels = Vec::new();
    let mut all: Vec<_> = keys.all().collect();
    all.sort_by_key(|(key, _)| key.at);
    for (key, value) in all {
        let Some(text) = value.get_ref().as_str() else {
            return Err(keys.wrong_type(key.text, value, "a text in quotes"));
        };
        let template = Template::read(text, groups)
            .map_err(|why| keys.source.wrong(value.span().start, format!("label `{}`: {why}", key.text)))?;
        labels.push((key.text.to_owned(), template));
    }
    Ok(labels)
}

/// Source of a column's values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    /// A number of the line.
    Number(Amount),
    /// The same number in each row.
    Constant(f64),
    /// A text.
    Text(Template),
}

/// A number of a line, and its unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Amount {
    pub(super) from: From,
    /// The group's name, for notes.
    pub(super) group: String,
    pub(super) conversion: Conversion,
}

impl Amount {
    /// Reads `{group}`, `{group} KiB/s` or `{group} * 512`, for a column in `unit`; None for one that takes any.
    pub(super) fn read(text: &str, unit: Option<fenxi_model::Unit>, groups: Groups<'_>) -> Result<Amount, String> {
        let wrong = || {
            format!(
                "`{text}` is no number: expected `{{group}}`, with a unit behind it or `* factor`, or a number without quotes"
            )
        };
        let (group, rest) = text.trim().strip_prefix('{').and_then(|rest| rest.split_once('}')).ok_or_else(wrong)?;
        let from = groups.find(group)?;
        let rest = rest.trim();
        let conversion = match rest.strip_prefix('*') {
            Some(factor) => {
                let factor = factor.trim().parse::<f64>().ok().filter(|f| f.is_finite() && *f != 0.0);
                Conversion { factor: factor.ok_or_else(wrong)?, per: Per::Value, prefixed: None }
            }
            None => unit.map_or_else(|| free_conversion(rest), |unit| conversion(rest, unit))?,
        };
        Ok(Amount { from, group: group.to_owned(), conversion })
    }
}

impl Cell {
    /// The column's value in the file.
    pub(super) fn read(
        source: Source<'_>,
        column: &Column,
        value: &Spanned<DeValue<'_>>,
        groups: Groups<'_>,
    ) -> Result<Cell, Wrong> {
        let at = value.span().start;
        let wrong = |why: String| source.wrong(at, format!("`{}`: {why}", column.name));
        // That of a metric or a result, whose unit is another column.
        let unit = (column.name != "value").then_some(column.unit);
        let text = value.get_ref().as_str().map(|text| Said { text, at });
        match (column.ty, text, number_of(value.get_ref())) {
            (Type::Label | Type::Text, Some(said), _) => {
                Template::read(said.text, groups).map(Cell::Text).map_err(wrong)
            }
            (Type::F64 | Type::I64, Some(said), _) => {
                Amount::read(said.text, unit, groups).map(Cell::Number).map_err(wrong)
            }
            (Type::F64, _, Some(number)) => Ok(Cell::Constant(number)),
            (Type::I64, _, Some(number)) if number.fract() == 0.0 => Ok(Cell::Constant(number)),
            (Type::F64 | Type::I64, ..) => Err(wrong("expected a number, or a text such as `\"{group}\"`".to_owned())),
            (Type::Label | Type::Text, ..) => Err(wrong("expected a text in quotes".to_owned())),
            (Type::Time, ..) => Err(wrong("separate times cannot be filled".to_owned())),
        }
    }
}

/// Values of the groups of the line at hand and of earlier ones.
pub(super) struct Values<'v> {
    pub(super) line: &'v str,
    pub(super) places: &'v CaptureLocations,
    pub(super) kept: &'v [Option<String>],
    pub(super) parts: &'v [Option<String>],
}

impl<'v> Values<'v> {
    pub(super) fn get(&self, from: From) -> Option<&'v str> {
        match from {
            From::Line(group) => self.places.get(group).and_then(|(begin, end)| self.line.get(begin..end)),
            From::Kept(slot) => self.kept.get(slot)?.as_deref(),
            From::Part(group) => self.parts.get(group)?.as_deref(),
        }
    }
}
