//! Rows become bytes.

use std::io::{self, Write};

use fenxi_model::{
    Rows, TABLES, Table, TableRows, Type,
    catalog::{DT, HOST, N_COMMON, T},
};
use rustc_hash::FxHashMap;
use zstd::stream::write::Encoder as Compressor;

use super::{
    Column, LEVEL, Last, MAX_LABELS, WINDOW_LOG,
    cell::{Of, Out, put, put_number},
    op,
};

/// Makes one stream of many ticks.
pub struct Encoder {
    tables: Vec<Sent>,
    compressor: Compressor<'static, Vec<u8>>,
}

/// The part of a table that was sent.
#[derive(Default)]
struct Sent {
    last: Last,
    /// Codes of labels, for each column.
    labels: Vec<Labels>,
}

#[derive(Default)]
struct Labels {
    codes: FxHashMap<Box<str>, u64>,
    /// Labels by code, and how many of them the other side knows.
    names: Vec<Box<str>>,
    sent: u64,
}

impl Encoder {
    /// A new stream.
    ///
    /// # Errors
    /// When there is no memory for a compressor.
    pub fn new() -> io::Result<Encoder> {
        let mut compressor = Compressor::new(Vec::new(), LEVEL)?;
        compressor.window_log(WINDOW_LOG)?;
        Ok(Encoder { tables: TABLES.iter().map(|_| Sent::default()).collect(), compressor })
    }

    /// Everything in `rows`, whose hosts are left out.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn encode(&mut self, rows: &Rows) -> io::Result<Vec<u8>> {
        let mut out = Out::default();
        put_number(&mut out.head, rows.tables().count() as u64);
        let mut before = Before::default();
        for table in rows.tables() {
            put_number(&mut out.head, table.table().id as u64);
            put_number(&mut out.head, table.n_rows() as u64);
            self.tables[table.table().id as usize].encode(table, &mut before, &mut out);
        }
        let mut length = Vec::new();
        put_number(&mut length, out.head.len() as u64);
        put_number(&mut length, out.body.len() as u64);
        for part in [&length, &out.head, &out.body] {
            self.compressor.write_all(part)?;
        }
        self.compressor.flush()?;
        Ok(std::mem::take(self.compressor.get_mut()))
    }
}

/// The last moment and the last interval of any row: most rows of a tick share them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    pub t: Option<u64>,
    pub dt: Option<u64>,
}

impl Sent {
    fn encode(&mut self, table: &TableRows, before: &mut Before, out: &mut Out) {
        let columns = table.table().columns;
        self.labels.resize_with(columns.len(), Labels::default);
        if self.labels.iter().any(|labels| labels.names.len() > MAX_LABELS) {
            self.labels.iter_mut().for_each(|labels| *labels = Labels::default());
            self.last = Last::default();
        }
        let now = Last {
            n_rows: table.n_rows(),
            columns: (0..columns.len()).map(|place| self.column(table, place)).collect(),
        };
        let keys = N_COMMON..N_COMMON + table.table().n_keys;
        let same = self.keys(table.table(), &now, out);
        let dts = &now.columns[DT].cells;
        for place in (0..columns.len()).filter(|place| *place != HOST && !keys.contains(place)) {
            let column = &now.columns[place];
            let is_used = column.cells.iter().any(Option::is_some) || column.texts.iter().any(Option::is_some);
            out.head.push(u8::from(is_used));
            if !is_used {
                continue;
            }
            for row in 0..now.n_rows {
                match place {
                    T => {
                        put(Of::Integer, column.cells[row], before.t, None, out);
                        before.t = column.cells[row].or(before.t);
                    }
                    DT => {
                        put(Of::Float, column.cells[row], before.dt, None, out);
                        before.dt = column.cells[row].or(before.dt);
                    }
                    _ => {
                        let dt = dts[row].map(f64::from_bits);
                        self.cell(&now, (row, place), self.last.cell(same[row], place), dt, columns[place].ty, out);
                    }
                }
            }
        }
        self.last = now;
    }

    /// The cells of a column, with codes for labels.
    fn column(&mut self, table: &TableRows, place: usize) -> Column {
        let rows = 0..table.n_rows();
        let mut column = Column::default();
        match table.table().columns[place].ty {
            _ if place == HOST => {}
            Type::F64 => column.cells = rows.map(|row| table.f64(row, place).map(f64::to_bits)).collect(),
            Type::I64 => column.cells = rows.map(|row| table.i64(row, place).map(|n| n as u64)).collect(),
            Type::Time => column.cells = rows.map(|row| table.micros(row, place).map(|t| t.0 as u64)).collect(),
            Type::Text => column.texts = rows.map(|row| table.str(row, place).map(Into::into)).collect(),
            Type::Label => {
                let labels = &mut self.labels[place];
                column.cells = rows.map(|row| table.str(row, place).map(|label| labels.code(label))).collect();
            }
        }
        column
    }

    /// Encodes the keys of all rows; gives for each the row of the tick before that has the same.
    fn keys(&mut self, table: &Table, now: &Last, out: &mut Out) -> Vec<Option<usize>> {
        let keys = N_COMMON..N_COMMON + table.n_keys;
        let of = |rows: &Last, row: usize| -> Vec<Option<u64>> {
            let columns = rows.columns.get(keys.clone()).unwrap_or_default();
            columns.iter().map(|column| column.cells.get(row).copied().flatten()).collect()
        };
        let mut known = FxHashMap::default();
        for row in 0..self.last.n_rows {
            known.entry(of(&self.last, row)).or_insert(row);
        }
        let (mut next, mut copied) = (0, 0_u64);
        let mut same = Vec::with_capacity(now.n_rows);
        let copy = |copied: &mut u64, out: &mut Out| {
            if *copied > 0 {
                put_number(&mut out.head, op::COPY);
                put_number(&mut out.head, std::mem::take(copied));
            }
        };
        for row in 0..now.n_rows {
            let key = of(now, row);
            let found = if next < self.last.n_rows && of(&self.last, next) == key {
                Some(next)
            } else {
                known.get(&key).copied().filter(|found| *found > next)
            };
            if let Some(found) = found {
                if found > next {
                    copy(&mut copied, out);
                    put_number(&mut out.head, op::SKIP);
                    put_number(&mut out.head, (found - next) as u64);
                }
                copied += 1;
                next = found + 1;
            } else {
                copy(&mut copied, out);
                put_number(&mut out.head, op::NEW);
                for place in keys.clone() {
                    self.cell(now, (row, place), None, None, table.columns[place].ty, out);
                }
            }
            same.push(found);
        }
        copy(&mut copied, out);
        same
    }

    /// Encodes one cell that is expected to be `before`.
    fn cell(&mut self, now: &Last, at: (usize, usize), before: Option<u64>, dt: Option<f64>, ty: Type, out: &mut Out) {
        let (row, place) = at;
        let column = &now.columns[place];
        if ty == Type::Text {
            let text = column.texts[row].as_deref();
            put_number(&mut out.head, text.map_or(0, |text| text.len() as u64 + 1));
            out.body.extend(text.unwrap_or_default().as_bytes());
            return;
        }
        let value = column.cells[row];
        put(if ty == Type::F64 { Of::Float } else { Of::Integer }, value, before, dt, out);
        let labels = &mut self.labels[place];
        // A label that the other side does not know yet: codes are given in the order in which they are sent.
        if let Some(code) = value.filter(|code| *code == labels.sent && labels.sent < labels.names.len() as u64) {
            let name = &labels.names[code as usize];
            put_number(&mut out.body, name.len() as u64);
            out.body.extend(name.as_bytes());
            labels.sent += 1;
        }
    }
}

impl Labels {
    fn code(&mut self, label: &str) -> u64 {
        if let Some(code) = self.codes.get(label) {
            return *code;
        }
        let code = self.names.len() as u64;
        self.codes.insert(label.into(), code);
        self.names.push(label.into());
        code
    }
}
