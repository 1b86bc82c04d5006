//! One row from several places of a text: tools print the columns of one thing in several sections.

use std::marker::PhantomData;

use fenxi_model::{
    AnySchema, Micros, Place, Table,
    place::{F64, Label},
};
use rustc_hash::FxHashMap;

use super::Out;

/// Values that are gathered before they are written, however incomplete.
const MAX_VALUES: usize = 4 << 20;

/// Keys that are remembered from flush to flush.
const MAX_KEYS: usize = 1 << 16;

/// Gathers rows of one table whose columns come from several sections of an input.
///
/// Without it each section would give separate rows, and a mean over `dt` would count every
/// interval once for each section. As a [`Row`](fenxi_model::Row), it takes the places of the table whose
/// schema is `S`, or the numbers of columns where the table is known only at run time.
#[derive(Debug)]
pub struct Join<S: ?Sized = dyn AnySchema> {
    table: &'static Table,
    /// The key column, for tables with a key.
    key: Option<usize>,
    places: Vec<usize>,
    keys: FxHashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
    rows: FxHashMap<(i64, u32), usize>,
    order: Vec<(Micros, Option<f64>, u32)>,
    /// The row that was set last, as the next value is mostly of the same.
    last: Option<(Micros, u32, usize)>,
    /// `places.len()` values a row, NaN for NULL.
    values: Vec<f64>,
    /// A label that all rows share.
    shared: Option<(usize, Box<str>)>,
    schema: PhantomData<S>,
}

impl<S: AnySchema> Join<S> {
    /// Gathers rows of `table`, distinguished by time and by the column at place `key`, if any. Only
    /// the columns at `places` can be set.
    pub fn new(table: &'static Table<S>, key: Option<Place<S, Label>>, places: &[Place<S, F64>]) -> Join<S> {
        Join::empty(table, key.map(Place::index), places.iter().map(|place| place.index()).collect())
    }

    /// Gives every row the label `text` in the column at `place`.
    pub fn with(mut self, place: Place<S, Label>, text: &str) -> Join<S> {
        self.shared = Some((place.index(), text.into()));
        self
    }

    /// Sets a column of the row of `t` and `key` (an empty one is NULL). Writes everything first
    /// when too much is gathered.
    pub fn set(
        &mut self,
        out: &mut Out<'_>,
        t: Micros,
        dt: Option<f64>,
        key: &str,
        place: Place<S, F64>,
        value: Option<f64>,
    ) {
        self.set_column(out, (t, dt), key, place.index(), value);
    }

    /// Sets several columns of one row, as [`Join::set`] does with one.
    pub fn set_all(
        &mut self,
        out: &mut Out<'_>,
        t: Micros,
        dt: Option<f64>,
        key: &str,
        values: &[(Place<S, F64>, f64)],
    ) {
        self.set_columns(out, (t, dt), key, values.iter().map(|(place, value)| (place.index(), *value)));
    }
}

impl Join {
    /// Gathers rows of a table known only at run time, as [`Join::new`] does.
    pub fn any(table: &'static Table, key: Option<usize>, places: Vec<usize>) -> Join {
        Join::empty(table, key, places)
    }
}

impl<S: ?Sized> Join<S> {
    fn empty(table: &'static Table, key: Option<usize>, places: Vec<usize>) -> Join<S> {
        Join {
            table,
            key,
            places,
            keys: FxHashMap::default(),
            names: Vec::new(),
            rows: FxHashMap::default(),
            order: Vec::new(),
            last: None,
            values: Vec::new(),
            shared: None,
            schema: PhantomData,
        }
    }

    /// Key of a row as metrics have it: `device=vda`; empty for an empty key.
    pub fn label(&self, key: &str) -> String {
        let column = self.key.and_then(|place| self.table.columns.get(place)).filter(|_| !key.is_empty());
        column.map_or(String::new(), |column| format!("{}={}", column.name, key.replace(',', "_")))
    }

    /// As [`Join::set`], by the number of the column.
    pub fn set_column(
        &mut self,
        out: &mut Out<'_>,
        (t, dt): (Micros, Option<f64>),
        key: &str,
        place: usize,
        value: Option<f64>,
    ) {
        let Some(column) = self.places.iter().position(|p| *p == place) else { return };
        if let Some((last, code, row)) = self.last
            && last == t
            && *self.names[code as usize] == *key
        {
            self.put(row, column, value);
            return;
        }
        let row = self.enter(out, t, dt, key);
        self.put(row, column, value);
    }

    fn put(&mut self, row: usize, column: usize, value: Option<f64>) {
        if let Some(value) = value {
            self.values[row * self.places.len() + column] = value;
        }
    }

    /// As [`Join::set_all`], by the numbers of the columns.
    pub fn set_columns(
        &mut self,
        out: &mut Out<'_>,
        (t, dt): (Micros, Option<f64>),
        key: &str,
        values: impl Iterator<Item = (usize, f64)>,
    ) {
        let begin = self.enter(out, t, dt, key) * self.places.len();
        let row = &mut self.values[begin..begin + self.places.len()];
        for (place, value) in values {
            if let Some(column) = self.places.iter().position(|p| *p == place) {
                row[column] = value;
            }
        }
    }

    /// The row of `t` and `key`, begun if it is new. Writes everything before that when too much is
    /// gathered.
    fn enter(&mut self, out: &mut Out<'_>, t: Micros, dt: Option<f64>, key: &str) -> usize {
        let mut code = self.code(key);
        if self.values.len() > MAX_VALUES && !self.rows.contains_key(&(t.0, code)) {
            self.flush(out);
            // That may have forgotten the keys.
            code = self.code(key);
        }
        let row = self.row(t, dt, code);
        self.last = Some((t, code, row));
        row
    }

    fn code(&mut self, key: &str) -> u32 {
        if let Some(code) = self.keys.get(key) {
            return *code;
        }
        let code = self.names.len() as u32;
        self.keys.insert(key.into(), code);
        self.names.push(key.into());
        code
    }

    fn row(&mut self, t: Micros, dt: Option<f64>, code: u32) -> usize {
        let next = self.order.len();
        let row = *self.rows.entry((t.0, code)).or_insert(next);
        if row == next {
            self.order.push((t, dt, code));
            self.values.resize(self.values.len() + self.places.len(), f64::NAN);
        }
        row
    }

    /// Writes all rows that are gathered, in the order in which they began.
    pub fn flush(&mut self, out: &mut Out<'_>) {
        for (row, (t, dt, code)) in self.order.iter().enumerate() {
            let values = &self.values[row * self.places.len()..][..self.places.len()];
            let mut cells = out.row(self.table, *t, *dt);
            if let Some(key) = self.key {
                cells.str(key, Some(&*self.names[*code as usize]).filter(|k| !k.is_empty()));
            }
            if let Some((place, text)) = &self.shared {
                cells.str(*place, &**text);
            }
            for (place, value) in self.places.iter().zip(values) {
                if !value.is_nan() {
                    cells.f64(*place, *value);
                }
            }
        }
        if self.names.len() > MAX_KEYS {
            self.names.clear();
            self.keys.clear();
        }
        self.rows.clear();
        self.last = None;
        self.order.clear();
        self.values.clear();
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::{Rows, catalog::disk};

    use super::*;
    use crate::Hints;

    #[test]
    fn more_keys_than_are_remembered_keep_their_rows() {
        // So many columns a row that the values are written at the very key that is one too many.
        let places = [disk::util; MAX_VALUES / MAX_KEYS];
        let disks = MAX_KEYS + 3;
        let mut named = Vec::new();
        let sink = |rows: &mut Rows, _| {
            if let Some(table) = rows.of(&disk::TABLE) {
                named.extend((0..table.n_rows()).map(move |row| table.str(row, disk::device).map(str::to_owned)));
            }
            rows.take();
        };
        let mut out = Out::new("test", Hints::none("file"), sink);
        let mut join = Join::new(&disk::TABLE, Some(disk::device), &places);
        for i in 0..disks {
            let name = format!("sd{i}");
            join.set(&mut out, Micros(1), Some(1.0), &name, disk::util, Some(1.0));
            join.set_all(&mut out, Micros(1), Some(1.0), &name, &[(disk::util, 2.0)]);
        }
        join.flush(&mut out);
        out.finish();
        assert!((0..disks).all(|i| named[i].as_deref() == Some(&*format!("sd{i}"))) && named.len() == disks);
    }
}
