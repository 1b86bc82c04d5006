//! Aligned tables for terminals, and Markdown tables.

use std::borrow::Cow;

use arrow_array::{ArrayRef, RecordBatch};
use fenxi_model::visible;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{
    LOOK_AHEAD, Out, Style,
    cells::Shape,
    sink::{Full, Sink, Written},
};
use crate::{AnswerColumn, QueryError};

/// Between two columns.
const GAP: usize = 2;
/// Text columns are not cut below this width.
const NARROWEST: usize = 8;

/// Writes a table: gathers rows until the widths can be settled, then goes on row by row.
pub(super) struct Table {
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

impl Table {
    pub(super) fn new(style: Style, markdown: bool) -> Table {
        Table { style, markdown, waiting: Vec::new(), n_waiting: 0, layout: None }
    }

    pub(super) fn batch(
        &mut self,
        out: &mut Out<'_>,
        columns: &[AnswerColumn],
        batch: &RecordBatch,
    ) -> Result<(), QueryError> {
        if let Some(layout) = &self.layout {
            return rows(out, layout, batch, self.markdown);
        }
        self.n_waiting += batch.num_rows();
        self.waiting.push(batch.clone());
        if self.n_waiting >= LOOK_AHEAD { self.settle(out, columns) } else { Ok(()) }
    }

    pub(super) fn finish(&mut self, out: &mut Out<'_>, columns: &[AnswerColumn]) -> Result<(), QueryError> {
        if self.layout.is_none() { self.settle(out, columns) } else { Ok(()) }
    }

    /// Settles shapes and widths, and writes the header and the rows at hand.
    fn settle(&mut self, out: &mut Out<'_>, columns: &[AnswerColumn]) -> Result<(), QueryError> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut layout: Vec<Place> = Vec::new();
        let mut measured = out.sink.beside();
        for (i, column) in columns.iter().enumerate() {
            let arrays: Vec<ArrayRef> = waiting.iter().map(|b| b.column(i).clone()).collect();
            let shape = Shape::of(column, &arrays);
            let mut place = Place { width: width(&visible(&column.name)).max(width(shape.unit())), shape };
            if !self.markdown {
                for array in &arrays {
                    place.widen(&mut measured, array).map_err(|Full| measured.error())?;
                }
            }
            layout.push(place);
        }
        if !self.markdown
            && let Some(width) = self.style.width
        {
            fit(&mut layout, columns, width);
        }
        out.put(
            |sink| if self.markdown { markdown_header(sink, columns, &layout) } else { header(sink, columns, &layout) },
        )?;
        for batch in &waiting {
            rows(out, &layout, batch, self.markdown)?;
        }
        self.layout = Some(layout);
        Ok(())
    }
}

impl Place {
    /// Makes place for the cells of an array.
    fn widen(&mut self, sink: &mut Sink, array: &ArrayRef) -> Written {
        for row in 0..array.len() {
            self.cell(sink, array, row)?;
            self.width = self.width.max(width(sink.text()));
            sink.forget();
        }
        Ok(())
    }

    /// Writes the cell of a row.
    fn cell(&self, sink: &mut Sink, array: &ArrayRef, row: usize) -> Written {
        let start = sink.len();
        self.shape.cell(sink, array.as_ref(), row)?;
        if matches!(self.shape, Shape::Text) { change(sink, start, visible) } else { Ok(()) }
    }
}

fn header(sink: &mut Sink, columns: &[AnswerColumn], layout: &[Place]) -> Written {
    line(sink, layout, |sink, i| sink.put(&visible(&columns[i].name)))?;
    if layout.iter().any(|p| !p.shape.unit().is_empty()) {
        line(sink, layout, |sink, i| sink.put(layout[i].shape.unit()))?;
    }
    line(sink, layout, |sink, i| (0..layout[i].width).try_for_each(|_| sink.put("-")))
}

fn markdown_header(sink: &mut Sink, columns: &[AnswerColumn], layout: &[Place]) -> Written {
    markdown_line(sink, layout.len(), |sink, i| {
        sink.put(&escaped(&visible(&columns[i].name)))?;
        match layout[i].shape.unit() {
            "" => Ok(()),
            unit => [" (", unit, ")"].into_iter().try_for_each(|part| sink.put(part)),
        }
    })?;
    markdown_line(sink, layout.len(), |sink, i| sink.put(if layout[i].shape.is_number() { "---:" } else { "---" }))
}

fn rows(out: &mut Out<'_>, layout: &[Place], batch: &RecordBatch, markdown: bool) -> Result<(), QueryError> {
    for row in 0..batch.num_rows() {
        let cell = |sink: &mut Sink, i: usize| layout[i].cell(sink, batch.column(i), row);
        if markdown {
            out.put(|sink| {
                markdown_line(sink, layout.len(), |sink, i| {
                    let start = sink.len();
                    cell(sink, i)?;
                    change(sink, start, escaped)
                })
            })?;
        } else {
            out.put(|sink| line(sink, layout, cell))?;
        }
    }
    Ok(())
}

/// Changes what is in `sink` from `start` on.
fn change(sink: &mut Sink, start: usize, to: impl Fn(&str) -> Cow<'_, str>) -> Written {
    let Cow::Owned(changed) = to(&sink.text()[start..]) else { return Ok(()) };
    sink.cut(start);
    sink.put(&changed)
}

/// Text that cannot end a Markdown cell.
fn escaped(text: &str) -> Cow<'_, str> {
    if text.contains(['\\', '|']) { text.replace('\\', "\\\\").replace('|', "\\|").into() } else { text.into() }
}

fn markdown_line(sink: &mut Sink, n: usize, cell: impl Fn(&mut Sink, usize) -> Written) -> Written {
    sink.put("| ")?;
    for i in 0..n {
        sink.put(if i > 0 { " | " } else { "" })?;
        cell(sink, i)?;
    }
    sink.put(" |\n")
}

/// One line: numbers to the right, text to the left and cut to its column; no blanks at the end.
fn line(sink: &mut Sink, layout: &[Place], cell: impl Fn(&mut Sink, usize) -> Written) -> Written {
    let begin = sink.len();
    for (i, place) in layout.iter().enumerate() {
        sink.blanks(if i > 0 { GAP } else { 0 })?;
        let start = sink.len();
        cell(sink, i)?;
        let blanks = |sink: &Sink| place.width.saturating_sub(width(&sink.text()[start..]));
        if place.shape.is_number() {
            sink.blanks_at(start, blanks(sink))?;
        } else {
            change(sink, start, |text| cut(text, place.width))?;
            if i + 1 < layout.len() {
                sink.blanks(blanks(sink))?;
            }
        }
    }
    sink.trim_from(begin);
    sink.put("\n")
}

/// Columns of the terminal that a text takes.
fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// `text` in at most so many columns of the terminal; what was cut is marked by `…`.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if width(text) <= most {
        return text.into();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > most {
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
