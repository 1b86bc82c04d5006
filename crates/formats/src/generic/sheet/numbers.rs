//! Numbers in cells of sheets, whose decimal separator depends on who wrote them.

use crate::{
    number,
    own::{Keys, Wrong},
};

/// Decimal separator of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decimal {
    /// A point; commas separate thousands.
    Point,
    /// A comma; points separate thousands.
    Comma,
    /// A comma or a point, whichever comes last.
    Either,
}

impl Decimal {
    /// The value of `decimal` in a file.
    pub(crate) fn read(keys: &Keys<'_, '_>) -> Result<Option<Decimal>, Wrong> {
        match keys.text("decimal")? {
            None => Ok(None),
            Some(said) if said.text == "." => Ok(Some(Decimal::Point)),
            Some(said) if said.text == "," => Ok(Some(Decimal::Comma)),
            Some(said) => Err(keys.source.wrong(said.at, "`decimal` is \".\" or \",\"")),
        }
    }
}

/// Whether a cell marks a missing value.
pub(crate) fn missing(cell: &str) -> bool {
    let cell = cell.trim();
    matches!(cell, "" | "-" | "--" | "NULL" | "null" | "N/A" | "n/a" | "NA" | "NaN" | "nan" | "?" | "\\N" | "None")
}

/// The number in `cell`: with separators of thousands, with a percent sign behind, or `true`/`false`.
pub(crate) fn number_in(cell: &str, decimal: Decimal) -> Option<f64> {
    let cell = cell.trim();
    let cell = cell.strip_suffix('%').map_or(cell, str::trim_end);
    let comma = cell.contains(',');
    let (point, spaced) = (cell.contains('.'), cell.contains([' ', '\'', '\u{a0}', '\u{202f}']));
    if !comma && !spaced && (decimal != Decimal::Comma || !point) {
        return number(cell).or(match cell {
            "true" => Some(1.0),
            "false" => Some(0.0),
            _ => None,
        });
    }
    let last_comma = cell.rfind(',') > cell.rfind('.');
    let separator = match decimal {
        Decimal::Point => '.',
        Decimal::Comma => ',',
        Decimal::Either if comma && last_comma => ',',
        Decimal::Either => '.',
    };
    if decimal == Decimal::Comma && !comma && !grouped_by(cell, '.') {
        // Written by somebody who knows better than the mapping.
        return number(cell);
    }
    let (whole, fraction) = match cell.rsplit_once(separator) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (cell, None),
    };
    let groups = |c: char| matches!(c, ',' | '.' | ' ' | '\'' | '\u{a0}' | '\u{202f}');
    let group = whole.chars().find(|c| groups(*c));
    if group.is_some_and(|group| !grouped_by(whole, group)) {
        return None;
    }
    let mut plain: String = whole.chars().filter(|c| !groups(*c)).collect();
    if let Some(fraction) = fraction {
        plain.push('.');
        plain.push_str(fraction);
    }
    number(&plain)
}

/// Whether digits are in groups of three between `separator`s.
fn grouped_by(text: &str, separator: char) -> bool {
    let mut groups = text.trim_start_matches('-').split(separator);
    let first = groups.next().unwrap_or("");
    let digits = |g: &str| g.bytes().all(|b| b.is_ascii_digit());
    (1..=3).contains(&first.len()) && digits(first) && groups.all(|g| g.len() == 3 && digits(g))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_of_decimals_and_thousands_are_told_apart() {
        for (cell, decimal, value) in [
            ("1.5", Decimal::Point, Some(1.5)),
            ("1,234", Decimal::Point, Some(1234.0)),
            ("1,234.5", Decimal::Point, Some(1234.5)),
            ("1,5", Decimal::Point, None),
            ("1,5", Decimal::Comma, Some(1.5)),
            ("1.234,5", Decimal::Comma, Some(1234.5)),
            ("1.234", Decimal::Comma, Some(1234.0)),
            ("1.5", Decimal::Comma, Some(1.5)),
            ("1,5", Decimal::Either, Some(1.5)),
            ("1.5", Decimal::Either, Some(1.5)),
            ("1.234,5", Decimal::Either, Some(1234.5)),
            ("1,234.5", Decimal::Either, Some(1234.5)),
            ("-1 234,25", Decimal::Either, Some(-1234.25)),
            ("41 %", Decimal::Point, Some(41.0)),
            ("true", Decimal::Point, Some(1.0)),
            ("12 apples", Decimal::Point, None),
            ("10.0.0.1", Decimal::Point, None),
            ("", Decimal::Point, None),
        ] {
            assert_eq!(number_in(cell, decimal), value, "{cell} {decimal:?}");
        }
    }
}
