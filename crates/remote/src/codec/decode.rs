//! Bytes become rows again. They come from another host: what is wrong with them is an error, whatever it is.

use std::io::{self, Write};

use fenxi_model::{
    Micros, Rows, TABLES, Table, Type,
    catalog::{DT, HOST, N_COMMON, T},
};
use zstd::stream::write::Decoder as Decompressor;

use super::{
    Column, Last, MAX_LABELS,
    cell::{In, Of, get, number, take},
    encode::Before,
    op,
};

/// The most bytes of one tick, its most rows and cells: those of a hundred thousand threads.
const MOST: usize = 64 << 20;
const MOST_ROWS: u64 = 4 << 20;
const MOST_CELLS: usize = 4 << 20;
/// The most bytes of all labels that are known.
const MOST_LABELS: usize = 64 << 20;
/// Bytes that a cell takes.
const CELL: usize = 16;

/// Reads a stream.
pub struct Decoder {
    tables: Vec<Got>,
    decompressor: Decompressor<'static, Bounded>,
    size: usize,
}

/// The part of a table that was received.
#[derive(Default)]
struct Got {
    last: Last,
    /// Labels by code, for each column.
    labels: Vec<Vec<Box<str>>>,
    /// Bytes of these.
    label_bytes: usize,
}

/// Takes so much and no more.
#[derive(Default)]
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MOST {
            return Err(wrong());
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    /// Of a stream that begins.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new() -> io::Result<Decoder> {
        let decompressor = Decompressor::new(Bounded::default())?;
        Ok(Decoder { tables: TABLES.iter().map(|_| Got::default()).collect(), decompressor, size: 0 })
    }

    /// Adds the rows of one tick to `rows`, as those of its host.
    ///
    /// # Errors
    /// When the bytes are none that an encoder made, or not the next ones of its stream.
    pub fn decode(&mut self, bytes: &[u8], rows: &mut Rows) -> io::Result<()> {
        self.decompressor.write_all(bytes)?;
        self.decompressor.flush()?;
        let plain = std::mem::take(&mut self.decompressor.get_mut().0);
        self.tick(&plain, rows).ok_or_else(wrong)
    }

    /// About how many bytes the rows of the last tick take.
    pub fn size(&self) -> usize {
        self.size
    }

    fn tick(&mut self, plain: &[u8], rows: &mut Rows) -> Option<()> {
        let mut rest = plain;
        let head = usize::try_from(number(&mut rest)?).ok()?;
        let body = usize::try_from(number(&mut rest)?).ok()?;
        let mut from = In { head: take(&mut rest, head)?, body: take(&mut rest, body)? };
        let (mut before, mut cells) = (Before::default(), 0);
        self.size = plain.len();
        for _ in 0..number(&mut from.head)? {
            let id = usize::try_from(number(&mut from.head)?).ok()?;
            let n_rows = number(&mut from.head).filter(|n| *n <= MOST_ROWS)? as usize;
            let table: &'static Table = TABLES.get(id)?;
            // A row that is like one of before takes no byte, but memory.
            cells += n_rows * table.columns.len();
            self.size = plain.len() + cells * CELL;
            if cells > MOST_CELLS {
                return None;
            }
            self.tables[id].decode(table, n_rows, &mut before, &mut from)?;
            self.tables[id].fill(table, rows)?;
        }
        (self.tables.iter().map(|table| table.label_bytes).sum::<usize>() <= MOST_LABELS).then_some(())
    }
}

fn wrong() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "rows that cannot be read")
}

impl Got {
    fn decode(&mut self, table: &'static Table, n_rows: usize, before: &mut Before, from: &mut In<'_>) -> Option<()> {
        let columns = table.columns;
        self.labels.resize_with(columns.len(), Vec::new);
        if self.labels.iter().any(|labels| labels.len() > MAX_LABELS) {
            self.labels.iter_mut().for_each(Vec::clear);
            self.label_bytes = 0;
            self.last = Last::default();
        }
        let mut now = Last { n_rows, columns: vec![Column::default(); columns.len()] };
        let keys = N_COMMON..N_COMMON + table.n_keys;
        let same = self.keys(table, &mut now, from)?;
        for place in (0..columns.len()).filter(|place| *place != HOST && !keys.contains(place)) {
            if take(&mut from.head, 1)?[0] == 0 {
                continue;
            }
            let mut column = Column::default();
            for (row, same) in same.iter().enumerate() {
                if columns[place].ty == Type::Text {
                    column.texts.push(text(from)?);
                    continue;
                }
                let cell = match place {
                    T => {
                        let t = get(Of::Integer, before.t, None, from)?;
                        before.t = t.or(before.t);
                        t
                    }
                    DT => {
                        let dt = get(Of::Float, before.dt, None, from)?;
                        before.dt = dt.or(before.dt);
                        dt
                    }
                    _ => {
                        let dt = now.cell(Some(row), DT).map(f64::from_bits);
                        self.cell(place, columns[place].ty, self.last.cell(*same, place), dt, from)?
                    }
                };
                column.cells.push(cell);
            }
            now.columns[place] = column;
        }
        self.last = now;
        Some(())
    }

    /// Reads the keys of all rows; gives for each the row of the tick before that has the same.
    fn keys(&mut self, table: &'static Table, now: &mut Last, from: &mut In<'_>) -> Option<Vec<Option<usize>>> {
        let keys = N_COMMON..N_COMMON + table.n_keys;
        let mut same = Vec::new();
        let mut next = 0_usize;
        while same.len() < now.n_rows {
            match number(&mut from.head)? {
                op::COPY => {
                    let n = number(&mut from.head)?;
                    if n > (now.n_rows - same.len()) as u64 || n > self.last.n_rows.saturating_sub(next) as u64 {
                        return None;
                    }
                    for row in next..next + n as usize {
                        for place in keys.clone() {
                            now.columns[place].cells.push(self.last.cell(Some(row), place));
                        }
                        same.push(Some(row));
                    }
                    next += n as usize;
                }
                op::SKIP => next = next.checked_add(usize::try_from(number(&mut from.head)?).ok()?)?,
                op::NEW => {
                    for place in keys.clone() {
                        let cell = self.cell(place, table.columns[place].ty, None, None, from)?;
                        now.columns[place].cells.push(cell);
                    }
                    same.push(None);
                }
                _ => return None,
            }
        }
        Some(same)
    }

    fn cell(
        &mut self,
        place: usize,
        ty: Type,
        before: Option<u64>,
        dt: Option<f64>,
        from: &mut In<'_>,
    ) -> Option<Option<u64>> {
        let of = if ty == Type::F64 { Of::Float } else { Of::Integer };
        let cell = get(of, before, dt, from)?;
        if let (Type::Label, Some(code)) = (ty, cell) {
            let labels = &mut self.labels[place];
            // Codes are given in the order in which labels come.
            if code == labels.len() as u64 {
                let length = usize::try_from(number(&mut from.body)?).ok()?;
                labels.push(std::str::from_utf8(take(&mut from.body, length)?).ok()?.into());
                self.label_bytes += length;
            } else if code > labels.len() as u64 {
                return None;
            }
        }
        Some(cell)
    }

    /// Adds the rows to `rows`.
    fn fill(&self, table: &'static Table, rows: &mut Rows) -> Option<()> {
        let cells = |place: usize, row: usize| self.last.cell(Some(row), place);
        for n in 0..self.last.n_rows {
            let t = cells(T, n).map(|t| Micros(t as i64));
            let mut row = rows.row(table, t, cells(DT, n).map(f64::from_bits));
            for (place, column) in table.columns.iter().enumerate().skip(N_COMMON) {
                match column.ty {
                    Type::F64 => row.f64(place, cells(place, n).map(f64::from_bits)),
                    Type::I64 => row.i64(place, cells(place, n).map(|n| n as i64)),
                    Type::Time => row.time(place, cells(place, n).map(|t| Micros(t as i64))),
                    Type::Text => {
                        let texts = &self.last.columns[place].texts;
                        row.text(place, texts.get(n).and_then(Option::as_deref))
                    }
                    Type::Label => match cells(place, n) {
                        Some(code) => row.str(place, &**self.labels[place].get(usize::try_from(code).ok()?)?),
                        None => &mut row,
                    },
                };
            }
        }
        Some(())
    }
}

fn text(from: &mut In<'_>) -> Option<Option<Box<str>>> {
    let Some(length) = number(&mut from.head)?.checked_sub(1) else { return Some(None) };
    Some(Some(std::str::from_utf8(take(&mut from.body, usize::try_from(length).ok()?)?).ok()?.into()))
}
