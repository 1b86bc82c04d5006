//! Aligned text columns.

use std::borrow::Cow;

use fenxi_model::visible;

/// A table of texts: columns two blanks apart, those in `right` aligned to the right. Each row is one line, whatever is
/// in its cells.
pub fn columns(header: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    let width = |i: usize| {
        rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count()).chain([header[i].chars().count()]).max()
    };
    let widths: Vec<usize> = (0..header.len()).map(|i| width(i).unwrap_or(0)).collect();
    let mut out = String::new();
    let header: Vec<String> = header.iter().map(|h| (*h).to_owned()).collect();
    for row in std::iter::once(&header).chain(rows) {
        let mut line = String::new();
        // One for one: widths stay.
        let cells: Vec<Cow<'_, str>> = row.iter().map(|cell| visible(cell)).collect();
        for (i, cell) in cells.iter().enumerate() {
            if i > 0 {
                line.push_str("  ");
            }
            let pad = " ".repeat(widths[i].saturating_sub(cell.chars().count()));
            if right.contains(&i) {
                line.push_str(&pad);
                line.push_str(cell);
            } else {
                line.push_str(cell);
                line.push_str(&pad);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_aligned() {
        let rows = vec![vec!["a".to_owned(), "1".to_owned()], vec!["böse".to_owned(), "10".to_owned()]];
        assert_eq!(columns(&["name", "n"], &[1], &rows), "name   n\na      1\nböse  10\n");
    }

    #[test]
    fn no_cell_breaks_a_row() {
        let rows = vec![vec!["a\n\u{1b}[2J".to_owned(), "1\t".to_owned()]];
        assert_eq!(columns(&["name", "n"], &[], &rows), "name    n\na??[2J  1?\n");
    }
}
