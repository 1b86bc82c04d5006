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
    /// Columns that have no room.
    left_out: Vec<String>,
}

/// One column of the table.
struct Place {
    /// Its place among the columns of the answer.
    column: usize,
    shape: Shape,
    width: usize,
}

/// Whether rows are still to come.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    AllAtHand,
    MoreToCome,
}

impl Table {
    pub(super) fn new(style: Style, markdown: bool) -> Table {
        Table { style, markdown, waiting: Vec::new(), n_waiting: 0, layout: None, left_out: Vec::new() }
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
        if self.n_waiting >= LOOK_AHEAD { self.settle(out, columns, Rows::MoreToCome) } else { Ok(()) }
    }

    pub(super) fn finish(&mut self, out: &mut Out<'_>, columns: &[AnswerColumn]) -> Result<(), QueryError> {
        if self.layout.is_none() {
            self.settle(out, columns, Rows::AllAtHand)?;
        }
        if self.left_out.is_empty() {
            return Ok(());
        }
        let names = self.left_out.join(", ");
        out.put(|sink| ["(no room for: ", &names, ")\n"].into_iter().try_for_each(|part| sink.put(part)))
    }

    /// Settles shapes and widths, and writes the header and the rows at hand.
    fn settle(&mut self, out: &mut Out<'_>, columns: &[AnswerColumn], still: Rows) -> Result<(), QueryError> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut layout: Vec<Place> = Vec::new();
        let mut measured = out.sink.beside();
        for (i, column) in columns.iter().enumerate() {
            let arrays: Vec<ArrayRef> = waiting.iter().map(|b| b.column(i).clone()).collect();
            let shape = Shape::from_column(column, &arrays);
            let mut place = Place { column: i, width: width(&visible(&column.name)).max(width(shape.unit())), shape };
            if !self.markdown {
                for array in &arrays {
                    place.widen(&mut measured, array).map_err(|Full| measured.error())?;
                }
            }
            layout.push(place);
        }
        let room = self.style.width.filter(|room| !self.markdown && total(&layout) > *room);
        if let Some(room) = room {
            if self.n_waiting == 1 && still == Rows::AllAtHand {
                self.layout = Some(Vec::new());
                return waiting.iter().try_for_each(|batch| turned(out, columns, &layout, batch));
            }
            if still == Rows::AllAtHand {
                let alike = take_alike(&mut layout, &waiting, room);
                above(out, columns, &alike, &waiting)?;
            }
            self.left_out = fit(&mut layout, columns, room);
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

/// A row by itself: a line for each column.
fn turned(
    out: &mut Out<'_>,
    columns: &[AnswerColumn],
    layout: &[Place],
    batch: &RecordBatch,
) -> Result<(), QueryError> {
    let names = layout.iter().map(|place| width(&visible(&columns[place.column].name))).max().unwrap_or(0);
    for row in 0..batch.num_rows() {
        for place in layout {
            let name = visible(&columns[place.column].name);
            out.put(|sink| {
                let begin = sink.len();
                sink.put(&name)?;
                sink.blanks(names - width(&name) + GAP)?;
                place.cell(sink, batch.column(place.column), row)?;
                if !place.shape.unit().is_empty() {
                    sink.put(" ")?;
                    sink.put(place.shape.unit())?;
                }
                sink.trim_from(begin);
                sink.put("\n")
            })?;
        }
    }
    Ok(())
}

/// Takes columns out of `layout` that say the same in all rows, from the first on, until the others fit or one is left.
fn take_alike(layout: &mut Vec<Place>, batches: &[RecordBatch], room: usize) -> Vec<Place> {
    let mut alike = Vec::new();
    let mut at = 0;
    while total(layout) > room && layout.len() > 1 && at < layout.len() {
        if is_alike(&layout[at], batches) { alike.push(layout.remove(at)) } else { at += 1 }
    }
    alike
}

fn is_alike(place: &Place, batches: &[RecordBatch]) -> bool {
    let mut known: Option<String> = None;
    let mut sink = Sink::default();
    batches.iter().all(|batch| {
        let array = batch.column(place.column);
        (0..array.len()).all(|row| {
            sink.forget();
            let is_written = place.shape.cell(&mut sink, array.as_ref(), row).is_ok();
            let is_same = known.as_ref().is_none_or(|known| known == sink.text());
            known.get_or_insert_with(|| sink.text().to_owned());
            is_written && is_same
        })
    })
}

/// Prints the values that are equal in all rows above the table.
fn above(
    out: &mut Out<'_>,
    columns: &[AnswerColumn],
    alike: &[Place],
    batches: &[RecordBatch],
) -> Result<(), QueryError> {
    let Some(first) = batches.iter().find(|batch| batch.num_rows() > 0).filter(|_| !alike.is_empty()) else {
        return Ok(());
    };
    out.put(|sink| {
        for (i, place) in alike.iter().enumerate() {
            sink.put(if i > 0 { ", " } else { "" })?;
            sink.put(&visible(&columns[place.column].name))?;
            sink.put(" ")?;
            place.cell(sink, first.column(place.column), 0)?;
            if !place.shape.unit().is_empty() {
                sink.put(" ")?;
                sink.put(place.shape.unit())?;
            }
        }
        sink.put("\n")
    })
}

fn header(sink: &mut Sink, columns: &[AnswerColumn], layout: &[Place]) -> Written {
    line(sink, layout, |sink, i| sink.put(&visible(&columns[layout[i].column].name)))?;
    if layout.iter().any(|p| !p.shape.unit().is_empty()) {
        line(sink, layout, |sink, i| sink.put(layout[i].shape.unit()))?;
    }
    line(sink, layout, |sink, i| (0..layout[i].width).try_for_each(|_| sink.put("-")))
}

fn markdown_header(sink: &mut Sink, columns: &[AnswerColumn], layout: &[Place]) -> Written {
    markdown_line(sink, layout.len(), |sink, i| {
        sink.put(&escaped(&visible(&columns[layout[i].column].name)))?;
        match layout[i].shape.unit() {
            "" => Ok(()),
            unit => [" (", unit, ")"].into_iter().try_for_each(|part| sink.put(part)),
        }
    })?;
    markdown_line(sink, layout.len(), |sink, i| sink.put(if layout[i].shape.is_number() { "---:" } else { "---" }))
}

fn rows(out: &mut Out<'_>, layout: &[Place], batch: &RecordBatch, markdown: bool) -> Result<(), QueryError> {
    for row in 0..batch.num_rows() {
        let cell = |sink: &mut Sink, i: usize| layout[i].cell(sink, batch.column(layout[i].column), row);
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

/// Columns of the terminal that a line takes.
fn total(layout: &[Place]) -> usize {
    layout.iter().map(|place| place.width).sum::<usize>() + GAP * layout.len().saturating_sub(1)
}

/// Takes from the widest text columns what the lines are too long by; where that is not enough, leaves out columns from the last
/// one on, and gives their names.
fn fit(layout: &mut Vec<Place>, columns: &[AnswerColumn], room: usize) -> Vec<String> {
    // Ids are what is typed next: the end of one that is cut would be missed.
    let smallest = |place: &Place| match &columns[place.column].name {
        name if matches!(place.shape, Shape::Text) && name != "run" => {
            place.width.min(NARROWEST.max(visible(name).width()))
        }
        _ => place.width,
    };
    let narrowest =
        |layout: &[Place]| layout.iter().map(smallest).sum::<usize>() + GAP * layout.len().saturating_sub(1);
    let mut left_out = Vec::new();
    while narrowest(layout) > room && layout.len() > 1 {
        left_out.extend(layout.pop().map(|place| visible(&columns[place.column].name).into_owned()));
    }
    left_out.reverse();
    while total(layout) > room {
        match layout.iter_mut().filter(|place| place.width > smallest(place)).max_by_key(|place| place.width) {
            Some(place) => place.width -= 1,
            None => break,
        }
    }
    left_out
}
