//! A grid of characters, of which a terminal gets the rows that changed.

use std::io::{self, Write};

use crossterm::{
    QueueableCommand,
    cursor::MoveTo,
    style::{ContentStyle, PrintStyledContent},
    terminal::{Clear, ClearType},
};
use fenxi_model::visible;
use unicode_width::UnicodeWidthChar;

/// Placeholder in the second column of a wide character.
const COVERED: char = '\0';

/// A grid of characters with their styles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Canvas {
    width: u16,
    cells: Vec<(char, ContentStyle)>,
}

impl Canvas {
    /// A blank one.
    pub fn new(width: u16, height: u16) -> Canvas {
        let blank = (' ', ContentStyle::new());
        Canvas { width, cells: vec![blank; usize::from(width) * usize::from(height)] }
    }

    /// Its columns.
    pub fn width(&self) -> u16 {
        self.width
    }

    /// Its rows.
    pub fn height(&self) -> u16 {
        self.rows().len() as u16
    }

    fn rows(&self) -> impl ExactSizeIterator<Item = &[(char, ContentStyle)]> {
        self.cells.chunks(usize::from(self.width.max(1)))
    }

    /// Writes `text`, in which nothing controls the terminal; what is outside of the grid is left out.
    pub fn text(&mut self, x: u16, y: u16, text: &str, style: ContentStyle) {
        if x >= self.width || y >= self.height() {
            return;
        }
        let row = usize::from(y) * usize::from(self.width);
        let (mut at, end) = (row + usize::from(x), row + usize::from(self.width));
        for c in visible(text).chars() {
            let width = c.width().unwrap_or(0);
            if width == 0 {
                continue;
            }
            if at + width > end {
                break;
            }
            self.cells[at] = (c, style);
            self.cells[at + 1..at + width].fill((COVERED, style));
            at += width;
        }
    }

    /// A row as text.
    pub fn line(&self, y: u16) -> String {
        self.rows().nth(usize::from(y)).map_or_else(String::new, text_of)
    }

    /// Writes the rows that differ from `before`, which is what the terminal shows, to `out`.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&self, before: &Canvas, out: &mut impl Write) -> io::Result<()> {
        let is_other_size = (before.width, before.cells.len()) != (self.width, self.cells.len());
        if is_other_size {
            out.queue(Clear(ClearType::All))?;
        }
        for (y, row) in self.rows().enumerate() {
            if !is_other_size && before.rows().nth(y) == Some(row) {
                continue;
            }
            out.queue(MoveTo(0, y as u16))?;
            for run in row.chunk_by(|a, b| a.1 == b.1) {
                out.queue(PrintStyledContent(run[0].1.apply(text_of(run))))?;
            }
        }
        out.flush()
    }
}

fn text_of(cells: &[(char, ContentStyle)]) -> String {
    cells.iter().map(|cell| cell.0).filter(|c| *c != COVERED).collect()
}

#[cfg(test)]
mod tests {
    use super::Canvas;
    use crossterm::style::{ContentStyle, Stylize};

    #[test]
    fn text_is_cut_at_the_edge_and_wide_characters_take_two_columns() {
        let mut canvas = Canvas::new(5, 2);
        canvas.text(3, 0, "abc", ContentStyle::new());
        canvas.text(0, 1, "漢字漢", ContentStyle::new());
        canvas.text(9, 9, "outside", ContentStyle::new());
        assert_eq!([canvas.line(0), canvas.line(1)], ["   ab", "漢字 "]);
    }

    #[test]
    fn only_rows_that_changed_are_written() {
        let before = Canvas::new(4, 3);
        let mut after = before.clone();
        after.text(0, 1, "ab", ContentStyle::new().bold());
        let mut bytes = Vec::new();
        after.write(&before, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("\u{1b}[2;1H") && text.contains("ab") && !text.contains("\u{1b}[1;1H"), "{text:?}");
        let mut none = Vec::new();
        after.write(&after, &mut none).unwrap();
        assert!(none.is_empty());
        let mut all = Vec::new();
        after.write(&Canvas::default(), &mut all).unwrap();
        assert!(String::from_utf8(all).unwrap().contains("\u{1b}[3;1H"));
    }
}
