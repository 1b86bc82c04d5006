//! The rows of one table: gathered by [`Row`](super::Row), read back, taken out as a batch.

use std::{borrow::Cow, fmt, marker::PhantomData, ops::Deref, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use super::cells::{Cells, NULL_CODE, NULL_I64, put};
use crate::{
    AnySchema, Micros, Place, Table, Type,
    catalog::{Column, HOST},
    place::{I64, Number, Time, Words},
    schema_of,
};

/// Rows of one table, column by column.
///
/// It is read by the numbers of columns; [`Rows::of`](super::Rows::of) and [`TableRows::typed`] give the
/// same rows to be read by places.
#[derive(Debug)]
pub struct TableRows {
    table: &'static Table,
    n_rows: usize,
    pub(super) columns: Vec<Cells>,
    schema: Option<SchemaRef>,
    /// Rows for which a column has room when it is begun.
    room: usize,
    /// Values that cannot be, by column.
    refused: Vec<Refused>,
}

/// Values of a column that cannot be: they are NULL.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The table.
    pub table: &'static str,
    /// The column.
    pub column: &'static Column,
    /// The first of them.
    pub first: f64,
    /// How many there were.
    pub times: u64,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { table, column, first, times } = self;
        let values = if *times == 1 {
            "a value cannot be, and is".to_owned()
        } else {
            format!("{times} values cannot be, and are")
        };
        write!(f, "{table}.{}: {values} left out: {first}", column.name)?;
        f.write_str(if *times == 1 { "" } else { " is the first" })
    }
}

impl TableRows {
    pub(super) fn new(table: &'static Table, room: usize) -> TableRows {
        let columns = table.columns.iter().map(|_| Cells::Unset).collect();
        TableRows { table, n_rows: 0, columns, schema: None, room, refused: Vec::new() }
    }

    /// The table these rows belong to.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// The same rows, to be read by the places of `table`; None if they are of another table.
    pub fn typed<S: ?Sized>(&self, table: &Table<S>) -> Option<RowsOf<'_, S>> {
        (self.table.id == table.id).then_some(RowsOf { rows: self, schema: PhantomData })
    }

    /// Number of gathered rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    pub(super) fn begin(&mut self) {
        self.n_rows += 1;
    }

    pub(super) fn map_text(&self, change: &impl Fn(&str) -> Cow<'_, str>) -> TableRows {
        let columns = self.columns.iter().map(|cells| cells.map_text(change)).collect();
        TableRows {
            table: self.table,
            n_rows: self.n_rows,
            columns,
            schema: self.schema.clone(),
            room: self.room,
            refused: self.refused.clone(),
        }
    }

    /// Adds the rows of `from`, which are of the same table, later by `shift`, and with another host if one is given.
    pub(super) fn append(&mut self, from: &TableRows, host: Option<&str>, shift: Micros) {
        for row in 0..from.n_rows {
            self.begin();
            for (place, column) in from.table.columns.iter().enumerate() {
                match (column.ty, host) {
                    (_, Some(host)) if place == HOST => self.set_str(HOST, host),
                    (Type::F64, _) => from.f64(row, place).into_iter().for_each(|value| self.set_f64(place, value)),
                    (Type::I64, _) => from.i64(row, place).into_iter().for_each(|value| self.set_i64(place, value)),
                    (Type::Time, _) => {
                        let moment = from.micros(row, place).map(|at| Micros(at.0.saturating_add(shift.0)));
                        moment.into_iter().for_each(|moment| self.set_time(place, moment));
                    }
                    (Type::Label | Type::Text, _) => {
                        from.str(row, place).into_iter().for_each(|value| self.set_str(place, value));
                    }
                }
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.n_rows = 0;
        self.columns.iter_mut().for_each(Cells::clear);
    }

    /// The number in column `place` of row `row`; None when NULL or no number.
    pub fn f64(&self, row: usize, place: usize) -> Option<f64> {
        match &self.columns[place] {
            Cells::F64(values) => values.get(row).copied().filter(|v| v.is_finite()),
            Cells::I64(values) => values.get(row).filter(|v| **v != NULL_I64).map(|v| *v as f64),
            _ => None,
        }
    }

    /// The integer in column `place` of row `row`; None when NULL or of another type.
    pub fn i64(&self, row: usize, place: usize) -> Option<i64> {
        match &self.columns[place] {
            Cells::I64(values) => values.get(row).copied().filter(|v| *v != NULL_I64),
            _ => None,
        }
    }

    /// The label or text in column `place` of row `row`; None when NULL or of another type.
    pub fn str(&self, row: usize, place: usize) -> Option<&str> {
        match &self.columns[place] {
            Cells::Label { codes, dictionary } => {
                let code = usize::try_from(*codes.get(row)?).ok()?;
                dictionary.values.get(code).map(|v| &**v)
            }
            Cells::Text(values) => values.get(row)?.as_deref(),
            _ => None,
        }
    }

    /// The moment in column `place` of row `row`; None when NULL or of another type.
    pub fn micros(&self, row: usize, place: usize) -> Option<Micros> {
        match &self.columns[place] {
            Cells::Time(values) => values.get(row).copied().filter(|v| *v != NULL_I64).map(Micros),
            _ => None,
        }
    }

    #[inline]
    fn cells(&mut self, place: usize) -> &mut Cells {
        if matches!(self.columns[place], Cells::Unset) {
            self.begin_column(place);
        }
        &mut self.columns[place]
    }

    /// Sets the column number `place` of the last row; NaN, infinities and what cannot be are NULL.
    #[inline]
    pub(super) fn set_f64(&mut self, place: usize, value: f64) {
        let (smallest, most) = self.table.columns[place].range;
        if value < smallest || value > most {
            return self.refuse(place, value);
        }
        let n = self.n_rows;
        match self.cells(place) {
            Cells::F64(values) => put(values, n, value, f64::NAN),
            _ => self.wrong_type(place),
        }
    }

    #[inline]
    pub(super) fn set_i64(&mut self, place: usize, value: i64) {
        let n = self.n_rows;
        match self.cells(place) {
            Cells::I64(values) => put(values, n, value, NULL_I64),
            _ => self.wrong_type(place),
        }
    }

    #[inline]
    pub(super) fn set_time(&mut self, place: usize, value: Micros) {
        let n = self.n_rows;
        match self.cells(place) {
            Cells::Time(values) => put(values, n, value.0, NULL_I64),
            _ => self.wrong_type(place),
        }
    }

    #[inline]
    pub(super) fn set_str(&mut self, place: usize, value: &str) {
        let n = self.n_rows;
        match self.cells(place) {
            Cells::Label { codes, dictionary } => put(codes, n, dictionary.code(value), NULL_CODE),
            Cells::Text(values) => put(values, n, Some(value.into()), None),
            _ => self.wrong_type(place),
        }
    }

    #[cold]
    fn refuse(&mut self, place: usize, value: f64) {
        let column = &self.table.columns[place];
        match self.refused.iter_mut().find(|refused| std::ptr::eq(refused.column, column)) {
            Some(refused) => refused.times += 1,
            // An infinity is a source's division by zero.
            None if value.is_infinite() => {}
            None => {
                let table = self.table.name;
                self.refused.push(Refused { table, column, first: value, times: 1 });
            }
        }
    }

    /// Takes out what was refused since the last time.
    pub(super) fn refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// Only who sets columns by number can come here: a bug of a source, found by its first test.
    #[cold]
    fn wrong_type(&self, place: usize) {
        let column = &self.table.columns[place];
        debug_assert!(false, "{}.{} is a {}", self.table.name, column.name, column.ty);
    }

    #[cold]
    fn begin_column(&mut self, place: usize) {
        self.columns[place] = Cells::new(self.table.columns[place].ty, self.room);
        self.schema = None;
    }

    /// The schema of the next batch: the columns that any row has ever set, in the catalogue's order.
    ///
    /// It changes (grows) only when a column is set for the first time, so a writer compares pointers.
    pub fn schema(&mut self) -> SchemaRef {
        let columns = &self.columns;
        let table = self.table;
        let make = || {
            let set = columns.iter().enumerate().filter(|(_, c)| !matches!(c, Cells::Unset));
            schema_of(table, set.map(|(i, _)| i))
        };
        Arc::clone(self.schema.get_or_insert_with(make))
    }

    /// Takes all rows out as one batch; None when there are none.
    pub fn take(&mut self) -> Option<RecordBatch> {
        if self.n_rows == 0 {
            return None;
        }
        let schema: Arc<Schema> = self.schema();
        let n = std::mem::take(&mut self.n_rows);
        let arrays = self.columns.iter_mut().filter_map(|c| c.take(n)).collect();
        // The columns have the schema's types and the same length by construction.
        RecordBatch::try_new(schema, arrays).ok()
    }
}

/// The rows of a table whose schema is `S`, read by its places.
///
/// Whatever is the same for all tables, it has from [`TableRows`].
pub struct RowsOf<'a, S: ?Sized = dyn AnySchema> {
    rows: &'a TableRows,
    schema: PhantomData<S>,
}

impl<S: ?Sized> Clone for RowsOf<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: ?Sized> Copy for RowsOf<'_, S> {}

impl<S: ?Sized> fmt::Debug for RowsOf<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(f)
    }
}

impl<S: ?Sized> Deref for RowsOf<'_, S> {
    type Target = TableRows;

    fn deref(&self) -> &TableRows {
        self.rows
    }
}

impl<'a, S: ?Sized> RowsOf<'a, S> {
    /// The same rows, to be read by the numbers of columns.
    pub fn any(self) -> &'a TableRows {
        self.rows
    }
}

impl<'a, S> RowsOf<'a, S> {
    /// The number at `place` of row `row`; None when NULL.
    #[inline]
    pub fn f64<V: Number>(self, row: usize, place: Place<S, V>) -> Option<f64> {
        self.rows.f64(row, place.index())
    }

    /// The integer at `place` of row `row`; None when NULL.
    #[inline]
    pub fn i64(self, row: usize, place: Place<S, I64>) -> Option<i64> {
        self.rows.i64(row, place.index())
    }

    /// The label or text at `place` of row `row`; None when NULL.
    #[inline]
    pub fn str<V: Words>(self, row: usize, place: Place<S, V>) -> Option<&'a str> {
        self.rows.str(row, place.index())
    }

    /// The moment at `place` of row `row`; None when NULL.
    #[inline]
    pub fn micros(self, row: usize, place: Place<S, Time>) -> Option<Micros> {
        self.rows.micros(row, place.index())
    }
}
