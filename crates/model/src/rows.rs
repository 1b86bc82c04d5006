//! Rows: the only way into a run.
//!
//! Every source, whatever it reads, fills [`Rows`]. A column that is not set is NULL; a column that
//! no row ever set costs nothing, neither memory nor disk.

mod cells;
mod row;
mod table_rows;

use std::{borrow::Cow, collections::BTreeSet};

use cells::Cells;
pub use row::Row;
pub use table_rows::{Refused, RowsOf, TableRows};

use crate::{
    Micros, TABLES, Table, TableId,
    catalog::{DT, HOST, T, event, note},
};

/// Rows of any number of tables, gathered until they are handed to the store.
#[derive(Debug)]
pub struct Rows {
    host: String,
    source: &'static str,
    tables: Vec<Option<TableRows>>,
    /// Columns of which it was noted that values cannot be.
    noted: BTreeSet<(&'static str, &'static str)>,
}

impl Rows {
    /// An empty gathering for `host`.
    pub fn new(host: &str) -> Rows {
        Rows {
            host: host.to_owned(),
            source: "",
            tables: TABLES.iter().map(|_| None).collect(),
            noted: BTreeSet::new(),
        }
    }

    /// Nothing gathered yet, for the same host, with room for somewhat more rows of each table than there are here: what is
    /// gathered next is often as long, and a column that grows is copied and leaves holes in memory.
    pub fn like(&self) -> Rows {
        let like = |rows: &TableRows| TableRows::new(rows.table(), rows.n_rows() + rows.n_rows() / 8);
        let tables = self.tables.iter().map(|rows| rows.as_ref().map(like)).collect();
        Rows { tables, source: self.source, ..Rows::new(&self.host) }
    }

    /// The host that new rows belong to.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Lets new rows belong to `host`.
    pub fn set_host(&mut self, host: &str) {
        host.clone_into(&mut self.host);
    }

    /// Which source yields the rows to come.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Sets which source yields the rows to come; its notes carry the name.
    pub fn set_source(&mut self, source: &'static str) {
        self.source = source;
    }

    /// Begins a row of `table` for the interval of `dt` seconds that ended at `t`.
    ///
    /// `t` and `dt` may be None for facts that have no time. A `table` known only at run time gives a
    /// row that takes the numbers of columns instead of places.
    pub fn row<S: ?Sized>(
        &mut self,
        table: &'static Table<S>,
        t: impl Into<Option<Micros>>,
        dt: impl Into<Option<f64>>,
    ) -> Row<'_, S> {
        Row::new(self.begin(table.id, t.into(), dt.into()))
    }

    fn begin(&mut self, table: TableId, t: Option<Micros>, dt: Option<f64>) -> &mut TableRows {
        let place = table as usize;
        let rows = self.tables[place].get_or_insert_with(|| TableRows::new(TABLES[place], 0));
        rows.begin();
        if let Some(t) = t {
            rows.set_time(T, t);
        }
        if let Some(dt) = dt {
            rows.set_f64(DT, dt);
        }
        rows.set_str(HOST, &self.host);
        rows
    }

    /// Records that something in `file` (line from 1) could not be read, and why.
    pub fn note(&mut self, file: &str, line: impl Into<Option<u64>>, message: &str) {
        let source = self.source;
        self.row(&note::TABLE, None, None)
            .str(note::source, source)
            .str(note::file, file)
            .i64(note::line, line.into().map(|l| l as i64))
            .text(note::message, message);
    }

    /// Takes out what cannot be and was left out since the last time, by column.
    pub fn refused(&mut self) -> Vec<Refused> {
        self.tables.iter_mut().flatten().flat_map(TableRows::refused).collect()
    }

    /// Notes what cannot be and was left out, each column once.
    pub fn note_refused(&mut self) {
        for refused in self.refused() {
            if self.noted.insert((refused.table, refused.column.name)) {
                self.note("", None, &refused.to_string());
            }
        }
    }

    /// Records that something happened to `subject` at `t`.
    pub fn event(&mut self, t: Micros, kind: &str, subject: &str, message: &str) {
        self.row(&event::TABLE, t, None)
            .str(event::kind, kind)
            .str(event::subject, subject)
            .text(event::message, message);
    }

    /// Tables that have rows, in the catalogue's order.
    pub fn tables(&self) -> impl Iterator<Item = &TableRows> {
        self.tables.iter().flatten().filter(|t| t.n_rows() > 0)
    }

    /// The rows of one table; None when it has none.
    pub fn of<S: ?Sized>(&self, table: &Table<S>) -> Option<RowsOf<'_, S>> {
        self.tables[table.id as usize].as_ref().filter(|rows| rows.n_rows() > 0)?.typed(table)
    }

    /// Tables that have rows, to take their rows from, in the catalogue's order.
    pub fn tables_mut(&mut self) -> impl Iterator<Item = &mut TableRows> {
        self.tables.iter_mut().flatten().filter(|t| t.n_rows() > 0)
    }

    /// Takes everything gathered out, to be handed to another thread; what comes next begins anew.
    pub fn take(&mut self) -> Rows {
        let mut fresh = Rows::new(&self.host);
        fresh.source = self.source;
        std::mem::replace(self, fresh)
    }

    /// Adds the rows of another gathering as rows of this host, `shift` later than their stamps: threads that
    /// gather by themselves stamp their rows by their own clock.
    pub fn append(&mut self, other: &Rows, shift: Micros) {
        for from in other.tables() {
            let place = from.table().id as usize;
            let into = self.tables[place].get_or_insert_with(|| TableRows::new(from.table(), from.n_rows()));
            into.append(from, Some(&self.host), shift);
        }
    }

    /// Adds the rows of another gathering as they are: each keeps its host and its time.
    pub fn absorb(&mut self, other: &Rows) {
        for from in other.tables() {
            let place = from.table().id as usize;
            let into = self.tables[place].get_or_insert_with(|| TableRows::new(from.table(), from.n_rows()));
            into.append(from, None, Micros(0));
        }
    }

    /// Forgets everything gathered and keeps its memory for what comes next.
    pub fn clear(&mut self) {
        self.tables.iter_mut().flatten().for_each(TableRows::clear);
    }

    /// Whether `is` holds for any label or text that was given since the last dictionaries began.
    pub(crate) fn any_text(&self, is: impl Fn(&str) -> bool) -> bool {
        self.tables().flat_map(|table| &table.columns).any(|cells| match cells {
            Cells::Label { dictionary, .. } => dictionary.values.iter().any(|value| is(value)),
            Cells::Text(values) => values.iter().flatten().any(|value| is(value)),
            _ => false,
        })
    }

    /// The same rows with every label and text as `change` gives it.
    pub(crate) fn map_text(&self, change: impl Fn(&str) -> Cow<'_, str>) -> Rows {
        let tables = self.tables.iter().map(|table| table.as_ref().map(|table| table.map_text(&change))).collect();
        Rows { tables, source: self.source, ..Rows::new(&change(&self.host)) }
    }

    /// How many rows are gathered over all tables.
    pub fn len(&self) -> usize {
        self.tables.iter().flatten().map(|t| t.n_rows()).sum()
    }

    /// Returns true if no row is gathered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
