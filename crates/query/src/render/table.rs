//! Aligned tables for terminals, and Markdown tables.

use std::io::Write;

use arrow_array::{ArrayRef, RecordBatch};
use fenxi_model::visible;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{LOOK_AHEAD, Style, cells::Shape};
use crate::{AnswerColumn, QueryError};

/// Between two columns.
const GAP: usize = 2;
/// Text columns are not cut below this width.
const NARROWEST: usize = 8;

/// Writes a table: gathers rows until the widths can be settled, then goes on row by row.
pub(super) struct Table<W> {
    out: W,
    style: Style,
    markdown: bool,
    waiting: Vec<RecordBatch>,
    n_waiting: usize,
    layout: Option<Vec<Place>>,
}

/// One column of the table.
struct Place {
    shape: Shape,
    width: usize,
}

impl<W: Write> Table<W> {
    pub(super) fn new(out: W, style: Style, markdown: bool) -> Table<W> {
        Table { out, style, markdown, waiting: Vec::new(), n_waiting: 0, layout: None }
    }

    pub(super) fn batch(&mut self, columns: &[AnswerColumn], batch: &RecordBatch) -> Result<(), QueryError> {
        if let Some(layout) = &self.layout {
            return rows(&mut self.out, layout, &cells(layout, batch)?, self.markdown);
        }
        self.n_waiting += batch.num_rows();
        self.waiting.push(batch.clone());
        if self.n_waiting >= LOOK_AHEAD { self.settle(columns) } else { Ok(()) }
    }

    pub(super) fn finish(mut self, columns: &[AnswerColumn]) -> Result<(), QueryError> {
        if self.layout.is_none() {
            self.settle(columns)?;
        }
        Ok(self.out.flush()?)
    }

    /// Settles shapes and widths, and writes the header and the rows at hand.
    fn settle(&mut self, columns: &[AnswerColumn]) -> Result<(), QueryError> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut layout: Vec<Place> = Vec::new();
        for (i, column) in columns.iter().enumerate() {
            let arrays: Vec<ArrayRef> = waiting.iter().map(|b| b.column(i).clone()).collect();
            let shape = Shape::of(column, &arrays);
            let width = visible(&column.name).width().max(shape.unit().width());
            layout.push(Place { shape, width });
        }
        let blocks = waiting.iter().map(|b| cells(&layout, b)).collect::<Result<Vec<_>, _>>()?;
        for block in &blocks {
            for (place, column) in layout.iter_mut().zip(block) {
                let widest = column.iter().map(|c| c.width()).max().unwrap_or(0);
                place.width = place.width.max(widest);
            }
        }
        if !self.markdown
            && let Some(width) = self.style.width
        {
            fit(&mut layout, columns, width);
        }
        self.header(columns, &layout)?;
        for block in &blocks {
            rows(&mut self.out, &layout, block, self.markdown)?;
        }
        self.layout = Some(layout);
        Ok(())
    }

    fn header(&mut self, columns: &[AnswerColumn], layout: &[Place]) -> Result<(), QueryError> {
        if self.markdown {
            let name = |(c, p): (&AnswerColumn, &Place)| match p.shape.unit() {
                "" => escaped(&visible(&c.name)),
                unit => format!("{} ({unit})", escaped(&visible(&c.name))),
            };
            let names: Vec<String> = columns.iter().zip(layout).map(name).collect();
            let rules: Vec<&str> = layout.iter().map(|p| if p.shape.is_number() { "---:" } else { "---" }).collect();
            writeln!(self.out, "| {} |\n| {} |", names.join(" | "), rules.join(" | "))?;
            return Ok(());
        }
        let names: Vec<_> = columns.iter().map(|c| visible(&c.name)).collect();
        line(&mut self.out, layout, names.iter().map(|name| &**name))?;
        if layout.iter().any(|p| !p.shape.unit().is_empty()) {
            line(&mut self.out, layout, layout.iter().map(|p| p.shape.unit()))?;
        }
        let rules: Vec<String> = layout.iter().map(|p| "-".repeat(p.width)).collect();
        line(&mut self.out, layout, rules.iter().map(String::as_str))
    }
}

/// The cells of a batch, column by column.
fn cells(layout: &[Place], batch: &RecordBatch) -> Result<Vec<Vec<String>>, QueryError> {
    layout.iter().zip(batch.columns()).map(|(place, array)| place.shape.cells(array)).collect()
}

fn rows(out: &mut impl Write, layout: &[Place], block: &[Vec<String>], markdown: bool) -> Result<(), QueryError> {
    for row in 0..block.first().map_or(0, Vec::len) {
        let cells = block.iter().map(|column| column[row].as_str());
        if markdown {
            let cells: Vec<String> = cells.map(escaped).collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
        } else {
            line(out, layout, cells)?;
        }
    }
    Ok(())
}

/// Text that cannot end a Markdown cell.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|")
}

/// One line: numbers to the right, text to the left and cut to its column; no blanks at the end.
fn line<'a>(out: &mut impl Write, layout: &[Place], cells: impl Iterator<Item = &'a str>) -> Result<(), QueryError> {
    let mut text = String::new();
    for (i, (place, cell)) in layout.iter().zip(cells).enumerate() {
        if i > 0 {
            text.push_str(&" ".repeat(GAP));
        }
        let cell = if place.shape.is_number() { std::borrow::Cow::Borrowed(cell) } else { cut(cell, place.width) };
        let blanks = " ".repeat(place.width.saturating_sub(cell.width()));
        if place.shape.is_number() {
            text.push_str(&blanks);
            text.push_str(&cell);
        } else {
            text.push_str(&cell);
            text.push_str(&blanks);
        }
    }
    writeln!(out, "{}", text.trim_end())?;
    Ok(())
}

/// `text` in at most `width` columns of the terminal; what was cut is marked by `…`.
fn cut(text: &str, width: usize) -> std::borrow::Cow<'_, str> {
    if text.width() <= width {
        return text.into();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out.into()
}

/// Takes from the widest text columns what the lines are too long by.
fn fit(layout: &mut [Place], columns: &[AnswerColumn], width: usize) {
    let total = |layout: &[Place]| layout.iter().map(|p| p.width).sum::<usize>() + GAP * layout.len().saturating_sub(1);
    while total(layout) > width {
        let widest = layout
            .iter_mut()
            .zip(columns)
            .filter(|(p, c)| matches!(p.shape, Shape::Text) && p.width > NARROWEST.max(visible(&c.name).width()))
            .max_by_key(|(p, _)| p.width);
        match widest {
            Some((place, _)) => place.width -= 1,
            None => return,
        }
    }
}
