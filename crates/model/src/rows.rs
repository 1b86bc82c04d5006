//! Rows: the only way into a run.
//!
//! Every source, whatever it reads, fills [`Rows`]. A column that is not set is NULL; a column that
//! no row ever set costs nothing, neither memory nor disk.

use std::{borrow::Cow, sync::Arc};

use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, types::Int32Type,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{Schema, SchemaRef};
use rustc_hash::FxHashMap;

use crate::{
    Micros, TABLES, Table, Type,
    catalog::{DT, HOST, T, event, note},
    schema_of,
};

/// A dictionary longer than this is begun anew, so that it cannot grow for ever.
const MAX_DICTIONARY: usize = 1 << 16;

/// Stands for NULL in a column of integers or times while rows are gathered.
const NULL_I64: i64 = i64::MIN;
/// Stands for NULL in a label column while rows are gathered.
const NULL_CODE: i32 = -1;

/// Rows of any number of tables, gathered until they are handed to the store.
#[derive(Debug)]
pub struct Rows {
    host: String,
    source: &'static str,
    tables: Vec<Option<TableRows>>,
}

impl Rows {
    /// An empty gathering for `host`.
    pub fn new(host: &str) -> Rows {
        Rows { host: host.to_owned(), source: "", tables: TABLES.iter().map(|_| None).collect() }
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

    /// Says which source yields the rows to come; its notes carry the name.
    pub fn set_source(&mut self, source: &'static str) {
        self.source = source;
    }

    /// Begins a row of `table` for the interval of `dt` seconds that ended at `t`.
    ///
    /// `t` and `dt` may be None for facts that have no time.
    pub fn row(&mut self, table: &'static Table, t: impl Into<Option<Micros>>, dt: impl Into<Option<f64>>) -> Row<'_> {
        let place = table.id as usize;
        let rows = self.tables[place].get_or_insert_with(|| TableRows::new(table));
        rows.begin();
        let mut row = Row { rows };
        row.time(T, t.into());
        row.f64(DT, dt.into());
        row.str(HOST, self.host.as_str());
        row
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

    /// Records that something happened to `subject` at `t`.
    pub fn event(&mut self, t: Micros, kind: &str, subject: &str, message: &str) {
        self.row(&event::TABLE, t, None)
            .str(event::kind, kind)
            .str(event::subject, subject)
            .text(event::message, message);
    }

    /// Tables that have rows, in the catalogue's order.
    pub fn tables(&self) -> impl Iterator<Item = &TableRows> {
        self.tables.iter().flatten().filter(|t| t.n_rows > 0)
    }

    /// The rows of one table; None when it has none.
    pub fn of(&self, table: &Table) -> Option<&TableRows> {
        self.tables[table.id as usize].as_ref().filter(|rows| rows.n_rows > 0)
    }

    /// Tables that have rows, to take their rows from, in the catalogue's order.
    pub fn tables_mut(&mut self) -> impl Iterator<Item = &mut TableRows> {
        self.tables.iter_mut().flatten().filter(|t| t.n_rows > 0)
    }

    /// Takes everything gathered out, to be handed to another thread; what comes next begins anew.
    pub fn take(&mut self) -> Rows {
        let mut fresh = Rows::new(&self.host);
        fresh.source = self.source;
        std::mem::replace(self, fresh)
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
        Rows { host: change(&self.host).into_owned(), source: self.source, tables }
    }

    /// How many rows are gathered over all tables.
    pub fn len(&self) -> usize {
        self.tables.iter().flatten().map(|t| t.n_rows).sum()
    }

    /// Whether no row is gathered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Rows of one table, column by column.
#[derive(Debug)]
pub struct TableRows {
    table: &'static Table,
    n_rows: usize,
    columns: Vec<Cells>,
    schema: Option<SchemaRef>,
}

/// Values of one column; shorter than the rows where the last ones are NULL.
#[derive(Debug)]
enum Cells {
    Unset,
    F64(Vec<f64>),
    I64(Vec<i64>),
    Time(Vec<i64>),
    Label { codes: Vec<i32>, dictionary: Dictionary },
    Text(Vec<Option<Box<str>>>),
}

/// The distinct values of a label column, kept from batch to batch so that codes stay the same.
#[derive(Debug, Default)]
struct Dictionary {
    codes: FxHashMap<Box<str>, i32>,
    values: Vec<Box<str>>,
    array: Option<Arc<StringArray>>,
    last: Option<(Box<str>, i32)>,
}

impl Dictionary {
    fn code(&mut self, value: &str) -> i32 {
        // Neighbouring rows often share a label (host, user): spare them the hash.
        if let Some((last, code)) = &self.last
            && **last == *value
        {
            return *code;
        }
        let code = match self.codes.get(value) {
            Some(code) => *code,
            None => self.add(value),
        };
        if self.last.is_none() {
            self.last = Some((value.into(), code));
        }
        code
    }

    fn add(&mut self, value: &str) -> i32 {
        let code = self.values.len() as i32;
        self.codes.insert(value.into(), code);
        self.values.push(value.into());
        self.array = None;
        code
    }

    /// Begins anew when it has grown large; no code may be in use then.
    fn bound(&mut self) {
        if self.values.len() > MAX_DICTIONARY {
            *self = Dictionary::default();
        }
    }

    fn array(&mut self) -> Arc<StringArray> {
        let values = &self.values;
        let make = || Arc::new(StringArray::from_iter_values(values.iter().map(|v| &**v)));
        Arc::clone(self.array.get_or_insert_with(make))
    }
}

impl Cells {
    fn new(ty: Type) -> Cells {
        match ty {
            Type::F64 => Cells::F64(Vec::new()),
            Type::I64 => Cells::I64(Vec::new()),
            Type::Time => Cells::Time(Vec::new()),
            Type::Label => Cells::Label { codes: Vec::new(), dictionary: Dictionary::default() },
            Type::Text => Cells::Text(Vec::new()),
        }
    }

    /// Takes the values out as an Arrow array of `n` rows and leaves the column empty.
    fn take(&mut self, n: usize) -> Option<ArrayRef> {
        Some(match self {
            Cells::Unset => return None,
            Cells::F64(values) => {
                let mut values = replace(values, n, f64::NAN);
                let nulls = null_buffer(&values, |v| !v.is_finite());
                if nulls.is_some() {
                    // An infinity under a NULL must not be seen by careless readers of raw buffers.
                    values.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = 0.0);
                }
                Arc::new(Float64Array::new(ScalarBuffer::from(values), nulls))
            }
            Cells::I64(values) => {
                let values = replace(values, n, NULL_I64);
                let nulls = null_buffer(&values, |v| *v == NULL_I64);
                Arc::new(Int64Array::new(ScalarBuffer::from(values), nulls))
            }
            Cells::Time(values) => {
                let values = replace(values, n, NULL_I64);
                let nulls = null_buffer(&values, |v| *v == NULL_I64);
                Arc::new(TimestampMicrosecondArray::new(ScalarBuffer::from(values), nulls).with_timezone("UTC"))
            }
            Cells::Label { codes, dictionary } => {
                let codes = replace(codes, n, NULL_CODE);
                let nulls = null_buffer(&codes, |c| *c == NULL_CODE);
                let values = dictionary.array();
                dictionary.bound();
                let keys = Int32Array::new(ScalarBuffer::from(codes), nulls);
                Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).ok()?)
            }
            Cells::Text(values) => {
                values.resize(n, None);
                Arc::new(StringArray::from_iter(values.drain(..)))
            }
        })
    }
}

/// Takes a column's values, padded to `n`, and leaves room for as many in its place.
fn replace<V: Copy>(values: &mut Vec<V>, n: usize, null: V) -> Vec<V> {
    values.resize(n, null);
    std::mem::replace(values, Vec::with_capacity(n))
}

fn null_buffer<V>(values: &[V], is_null: impl Fn(&V) -> bool) -> Option<NullBuffer> {
    values
        .iter()
        .any(&is_null)
        .then(|| NullBuffer::new(BooleanBuffer::collect_bool(values.len(), |i| !is_null(&values[i]))))
}

impl TableRows {
    fn new(table: &'static Table) -> TableRows {
        TableRows { table, n_rows: 0, columns: table.columns.iter().map(|_| Cells::Unset).collect(), schema: None }
    }

    /// The table these rows belong to.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// How many rows are gathered.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn begin(&mut self) {
        self.n_rows += 1;
    }

    fn map_text(&self, change: &impl Fn(&str) -> Cow<'_, str>) -> TableRows {
        let columns = self.columns.iter().map(|cells| match cells {
            Cells::Unset => Cells::Unset,
            Cells::F64(values) => Cells::F64(values.clone()),
            Cells::I64(values) => Cells::I64(values.clone()),
            Cells::Time(values) => Cells::Time(values.clone()),
            Cells::Label { codes, dictionary } => {
                // Codes stay; two labels may look the same now, and are found by the last one's.
                let values: Vec<Box<str>> = dictionary.values.iter().map(|v| change(v).into()).collect();
                let found = values.iter().zip(0..).map(|(value, code)| (value.clone(), code)).collect();
                let dictionary = Dictionary { codes: found, values, ..Dictionary::default() };
                Cells::Label { codes: codes.clone(), dictionary }
            }
            Cells::Text(values) => Cells::Text(values.iter().map(|v| v.as_ref().map(|v| change(v).into())).collect()),
        });
        TableRows { table: self.table, n_rows: self.n_rows, columns: columns.collect(), schema: self.schema.clone() }
    }

    fn clear(&mut self) {
        self.n_rows = 0;
        for column in &mut self.columns {
            match column {
                Cells::Unset => {}
                Cells::F64(values) => values.clear(),
                Cells::I64(values) | Cells::Time(values) => values.clear(),
                Cells::Label { codes, dictionary } => {
                    codes.clear();
                    dictionary.bound();
                }
                Cells::Text(values) => values.clear(),
            }
        }
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

    #[cold]
    fn begin_column(&mut self, place: usize) {
        self.columns[place] = Cells::new(self.table.columns[place].ty);
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

/// One row being filled. A column that is not set stays NULL.
#[derive(Debug)]
pub struct Row<'a> {
    rows: &'a mut TableRows,
}

/// Puts `value` at the end of `values`, after NULLs for the rows that did not set this column;
/// a second value for the same row replaces the first.
#[inline]
fn put<V: Clone>(values: &mut Vec<V>, n_rows: usize, value: V, null: V) {
    if values.len() + 1 != n_rows {
        values.resize(n_rows - 1, null);
    }
    values.push(value);
}

impl Row<'_> {
    /// Sets a number; None, NaN and infinities are NULL.
    #[inline]
    pub fn f64(&mut self, place: usize, value: impl Into<Option<f64>>) -> &mut Self {
        if let Some(value) = value.into() {
            let n = self.rows.n_rows;
            match self.rows.cells(place) {
                Cells::F64(values) => put(values, n, value, f64::NAN),
                _ => self.wrong_type(place),
            }
        }
        self
    }

    /// Sets an integer.
    pub fn i64(&mut self, place: usize, value: impl Into<Option<i64>>) -> &mut Self {
        if let Some(value) = value.into() {
            let n = self.rows.n_rows;
            match self.rows.cells(place) {
                Cells::I64(values) => put(values, n, value, NULL_I64),
                _ => self.wrong_type(place),
            }
        }
        self
    }

    /// Sets a moment.
    pub fn time(&mut self, place: usize, value: impl Into<Option<Micros>>) -> &mut Self {
        if let Some(value) = value.into() {
            let n = self.rows.n_rows;
            match self.rows.cells(place) {
                Cells::Time(values) => put(values, n, value.0, NULL_I64),
                _ => self.wrong_type(place),
            }
        }
        self
    }

    /// Sets a label.
    pub fn str<'v>(&mut self, place: usize, value: impl Into<Option<&'v str>>) -> &mut Self {
        if let Some(value) = value.into() {
            let n = self.rows.n_rows;
            match self.rows.cells(place) {
                Cells::Label { codes, dictionary } => put(codes, n, dictionary.code(value), NULL_CODE),
                Cells::Text(values) => put(values, n, Some(value.into()), None),
                _ => self.wrong_type(place),
            }
        }
        self
    }

    /// Sets a text; the same as [`Row::str`], named for what the column is.
    pub fn text<'v>(&mut self, place: usize, value: impl Into<Option<&'v str>>) -> &mut Self {
        self.str(place, value)
    }

    /// A value of another type than the column's is a bug of the source, found by its first test.
    fn wrong_type(&self, place: usize) {
        let column = &self.rows.table.columns[place];
        debug_assert!(false, "{}.{} is a {}", self.rows.table.name, column.name, column.ty);
    }
}

#[cfg(test)]
mod tests;
