//! Tables of comma-separated values in which any cell may have commas, as benchmarks export them.

use crate::{Input, Out, number};

/// A row, by the names of its columns.
pub struct Row<'a> {
    header: &'a [String],
    cells: &'a [String],
}

impl Row<'_> {
    /// The cell below `name`; empty without one.
    pub fn text(&self, name: &str) -> &str {
        self.pairs().find(|(column, _)| *column == name).map_or("", |(_, cell)| cell)
    }

    /// The number below `name`.
    pub fn figure(&self, name: &str) -> Option<f64> {
        number(self.text(name))
    }

    /// Every column's name and the cell below it, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.header.iter().zip(self.cells).map(|(column, cell)| (column.as_str(), cell.as_str()))
    }
}

/// Gives every row with its number, its line and the header above it, one of those that begin with `headers`. A row that has
/// not the header's number of cells is noted.
pub fn each_row(
    input: &mut Input<'_>,
    out: &mut Out<'_>,
    headers: &[&'static str],
    mut on: impl FnMut((u64, &str), &'static str, &Row<'_>, &mut Out<'_>),
) {
    let (mut names, mut kind) = (Vec::new(), "");
    input.each_line(|number, line| {
        if line.trim().is_empty() {
            return;
        }
        let row = cells(line);
        if let Some(header) = headers.iter().find(|header| line.starts_with(**header)) {
            (names, kind) = (row, header);
        } else if row.len() == names.len() {
            on((number, line), kind, &Row { header: &names, cells: &row }, out);
        } else {
            out.wrong_count(number, line, row.len(), names.len());
        }
    });
}

/// The cells of a line of CSV, quoted where they have commas or quotes.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            _ => cell.push(c),
        }
    }
    cells.push(cell);
    cells
}

#[cfg(test)]
mod tests {
    use super::cells;

    #[test]
    fn quoted_cells_have_commas_and_quotes() {
        assert_eq!(cells("a,\"b, \"\"c\"\"\",,d"), ["a", "b, \"c\"", "", "d"]);
        assert_eq!((cells(""), cells("\"a,b").len()), (vec![String::new()], 1));
    }
}
