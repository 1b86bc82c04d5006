//! Numbers in Oracle's reports, and names in front of them.

use crate::{grouped, number};

/// Reads a number as the reports print it: `1,234`, `.5`, and since 12c `35.7K`.
pub(super) fn amount(cell: &str) -> Option<f64> {
    let (digits, factor) = match cell.as_bytes().last()? {
        b'K' => (&cell[..cell.len() - 1], 1e3),
        b'M' => (&cell[..cell.len() - 1], 1e6),
        b'G' => (&cell[..cell.len() - 1], 1e9),
        b'T' => (&cell[..cell.len() - 1], 1e12),
        _ => (cell, 1.0),
    };
    if !digits.contains(',') {
        return Some(number(digits)? * factor);
    }
    Some(grouped(digits)? * factor)
}

/// Reads a time in milliseconds: in units of `scale` of them, or with a unit behind (`4.35ms`, `12us`).
pub(super) fn milliseconds(cell: &str, scale: f64) -> Option<f64> {
    let unit = |suffix: &str| cell.strip_suffix(suffix).and_then(amount);
    if let Some(value) = unit("us") {
        return Some(value / 1000.0);
    }
    if let Some(value) = unit("ns") {
        return Some(value / 1e6);
    }
    unit("ms").or_else(|| Some(unit("s")? * 1000.0)).or_else(|| Some(amount(cell)? * scale))
}

/// The names that end in a colon and the numbers behind each, in one line: `Buffer Hit %: 93.5
/// Parses: 1.0 2.0`.
pub(super) fn pairs(line: &str) -> Vec<(String, Vec<f64>)> {
    let mut pairs: Vec<(String, Vec<f64>)> = Vec::new();
    let mut name = String::new();
    let mut open = false;
    for word in line.split_ascii_whitespace() {
        if open && let Some(value) = amount(word) {
            if let Some((_, values)) = pairs.last_mut() {
                values.push(value);
            }
            continue;
        }
        open = false;
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(word.trim_end_matches(':'));
        if word.ends_with(':') {
            pairs.push((std::mem::take(&mut name), Vec::new()));
            open = true;
        }
    }
    pairs
}

/// A name as metrics have it: lower-case words with underscores; without what is in brackets.
pub(super) fn plain(name: &str) -> String {
    let name = name.split('(').next().unwrap_or(name);
    let mut plain = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            plain.push(c);
        } else if !plain.is_empty() && !plain.ends_with('_') {
            plain.push('_');
        }
    }
    plain.truncate(plain.trim_end_matches('_').len());
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_names_are_read() {
        assert_eq!(amount("1,234.5"), Some(1234.5));
        assert_eq!(amount("35.7K"), Some(35_700.0));
        assert_eq!(amount(".6"), Some(0.6));
        assert_eq!(amount("#####"), None);
        assert_eq!(milliseconds("4.35ms", 1.0), Some(4.35));
        assert_eq!(milliseconds("250us", 1.0), Some(0.25));
        assert_eq!(milliseconds("2s", 1.0), Some(2000.0));
        assert_eq!(milliseconds("3", 10.0), Some(30.0));
        let read = pairs("  Buffer  Hit   %:   93.53    In-memory Sort %:  100.00");
        assert_eq!(read, [("Buffer Hit %".to_owned(), vec![93.53]), ("In-memory Sort %".to_owned(), vec![100.0])]);
        assert_eq!(pairs("DB Time(s):  23.5  0.9"), [("DB Time(s)".to_owned(), vec![23.5, 0.9])]);
        assert_eq!(plain("Redo size (bytes)"), "redo_size");
        assert_eq!(plain("% Non-Parse CPU"), "non_parse_cpu");
    }
}
