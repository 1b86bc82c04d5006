//! Tables as `psql` prints them: cells between bars under a line of dashes.

/// Kind of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// The line that was read before was a header.
    Rule,
    /// `(5 rows)`: the end of a table.
    Count,
    /// Cells, or a title when no table is open.
    Text(&'a str),
    Blank,
}

/// Classifies `line`.
pub(super) fn line(line: &str) -> Line<'_> {
    let text = line.trim();
    if text.is_empty() {
        Line::Blank
    } else if text.len() >= 3 && text.bytes().all(|b| matches!(b, b'-' | b'+')) {
        Line::Rule
    } else if text.starts_with('(') && (text.ends_with(" rows)") || text.ends_with(" row)")) {
        Line::Count
    } else {
        Line::Text(line)
    }
}

/// The cells of a line.
pub(super) fn cells(line: &str) -> impl Iterator<Item = &str> + Clone {
    line.split('|').map(str::trim)
}

/// Appends what a cell holds to `into`; a plus at its end means that it goes on in the next line.
pub(super) fn go_on(into: &mut String, cell: &str) {
    let cell = cell.strip_suffix('+').unwrap_or(cell).trim();
    if !into.is_empty() && !cell.is_empty() {
        into.push(' ');
    }
    into.push_str(cell);
}
