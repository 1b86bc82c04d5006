//! One row while it is filled: by places where its table is known, else by the numbers of columns.

use std::{fmt, marker::PhantomData};

use super::TableRows;
use crate::{
    AnySchema, Micros, Place, Table,
    place::{F64, I64, Label, Text, Time},
};

/// One row being filled. A column that is not set stays NULL.
///
/// A row of the table whose schema is `S` takes that table's places only, each with a value of its
/// column's type: see [`Place`]. `Row<'_>` is a row of any table and takes the numbers of columns; there a
/// value of another type than the column's is found by the first test.
pub struct Row<'a, S: ?Sized = dyn AnySchema> {
    rows: &'a mut TableRows,
    schema: PhantomData<S>,
}

impl<S: ?Sized> fmt::Debug for Row<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("rows", &self.rows).finish()
    }
}

impl Row<'_> {
    /// The same row, to be filled by the places of `table`; None if it is of another table.
    pub fn typed<S>(&mut self, table: &Table<S>) -> Option<Row<'_, S>> {
        (self.rows.table().id == table.id).then(|| Row::new(self.rows))
    }
}

impl<'a, S: ?Sized> Row<'a, S> {
    /// The last row of `rows`, whose table has the schema `S`.
    pub(super) fn new(rows: &'a mut TableRows) -> Row<'a, S> {
        Row { rows, schema: PhantomData }
    }

    /// The same row, to be filled by the numbers of columns.
    pub fn any(self) -> Row<'a> {
        Row::new(self.rows)
    }
}

impl<S> Row<'_, S> {
    /// Sets a number; None, NaN and infinities are NULL.
    #[inline]
    pub fn f64(&mut self, place: Place<S, F64>, value: impl Into<Option<f64>>) -> &mut Self {
        if let Some(value) = value.into() {
            self.rows.set_f64(place.index(), value);
        }
        self
    }

    /// Sets an integer.
    #[inline]
    pub fn i64(&mut self, place: Place<S, I64>, value: impl Into<Option<i64>>) -> &mut Self {
        if let Some(value) = value.into() {
            self.rows.set_i64(place.index(), value);
        }
        self
    }

    /// Sets a moment.
    #[inline]
    pub fn time(&mut self, place: Place<S, Time>, value: impl Into<Option<Micros>>) -> &mut Self {
        if let Some(value) = value.into() {
            self.rows.set_time(place.index(), value);
        }
        self
    }

    /// Sets a label.
    #[inline]
    pub fn str<'v>(&mut self, place: Place<S, Label>, value: impl Into<Option<&'v str>>) -> &mut Self {
        if let Some(value) = value.into() {
            self.rows.set_str(place.index(), value);
        }
        self
    }

    /// Sets a text.
    #[inline]
    pub fn text<'v>(&mut self, place: Place<S, Text>, value: impl Into<Option<&'v str>>) -> &mut Self {
        if let Some(value) = value.into() {
            self.rows.set_str(place.index(), value);
        }
        self
    }
}

impl Row<'_, dyn AnySchema> {
    /// Sets a number; None, NaN and infinities are NULL.
    #[inline]
    pub fn f64(&mut self, place: usize, value: impl Into<Option<f64>>) -> &mut Self {
        if let Some(value) = value.into() {
            self.rows.set_f64(place, value);
        }
        self
    }

    /// Sets an integer.
    #[inline]
    pub fn i64(&mut self, place: usize, value: impl Into<Option<i64>>) -> &mut Self {
        if let Some(value) = value.into() {
            self.rows.set_i64(place, value);
        }
        self
    }

    /// Sets a moment.
    #[inline]
    pub fn time(&mut self, place: usize, value: impl Into<Option<Micros>>) -> &mut Self {
        if let Some(value) = value.into() {
            self.rows.set_time(place, value);
        }
        self
    }

    /// Sets a label or a text.
    #[inline]
    pub fn str<'v>(&mut self, place: usize, value: impl Into<Option<&'v str>>) -> &mut Self {
        if let Some(value) = value.into() {
            self.rows.set_str(place, value);
        }
        self
    }

    /// Sets a text; the same as `str`, named for what the column is.
    #[inline]
    pub fn text<'v>(&mut self, place: usize, value: impl Into<Option<&'v str>>) -> &mut Self {
        self.str(place, value)
    }
}
