//! Sort buffer: a bounded part of one table in memory, sorted by host, keys and time.
//!
//! The order is found by grouping, not by comparing rows: rows of one host and key already arrive
//! in order of time, so that sorting costs one hash a row.

use std::{cmp::Ordering, ops::Range, sync::Arc};

use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
    cast::AsArray,
    types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType},
};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use fenxi_model::{
    Table, Type,
    catalog::{DT, HOST, N_COMMON, T},
    schema_of,
};
use rustc_hash::FxHashMap;

/// NULL among integers and times; the value itself cannot be stored (see `Rows`).
const NULL: i64 = i64::MIN;
/// NULL among labels.
const NO_LABEL: u32 = u32::MAX;

/// Rows of one table.
#[derive(Debug)]
pub(crate) struct SortBuffer {
    pub(crate) table: &'static Table,
    columns: Vec<Cells>,
    n: usize,
    /// Bytes that the values take, roughly.
    pub(crate) bytes: usize,
}

#[derive(Debug)]
enum Cells {
    /// No value yet, only NULLs.
    Absent,
    /// NaN is NULL.
    F64(Vec<f64>),
    I64(Vec<i64>),
    Label(Vec<u32>, Labels),
    Text(Vec<Option<Box<str>>>),
}

/// The distinct values of a label column and the codes of the dictionary last seen.
#[derive(Debug, Default)]
struct Labels {
    codes: FxHashMap<Box<str>, u32>,
    values: Vec<Box<str>>,
    memo: Vec<u32>,
    dictionary: Option<ArrayRef>,
}

/// The rows in order: `order[i]` is the place of the i-th row, `groups` the rows of each host and key.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) order: Vec<u32>,
    pub(crate) groups: Vec<Range<usize>>,
}

impl SortBuffer {
    pub(crate) fn new(table: &'static Table) -> SortBuffer {
        SortBuffer { table, columns: table.columns.iter().map(|_| Cells::Absent).collect(), n: 0, bytes: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// Forgets the rows and keeps the memory and the labels for those to come. Columns that held a
    /// value count as in use from then on.
    pub(crate) fn clear(&mut self) {
        for cells in &mut self.columns {
            cells.clear();
        }
        (self.n, self.bytes) = (0, 0);
    }

    /// Adds a batch; false when it has a column that the catalogue does not know.
    #[must_use]
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> bool {
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let Some(place) = self.table.index_of(field.name()) else { return false };
            if array.null_count() < array.len() {
                self.bytes += self.columns[place].extend(self.n, array, self.table.columns[place].ty);
            }
        }
        self.n += batch.num_rows();
        true
    }

    /// Fills every column to the full length, which reading relies on.
    fn pad(&mut self) {
        let n = self.n;
        for cells in &mut self.columns {
            cells.pad(n);
        }
    }

    /// Which columns hold any value.
    pub(crate) fn in_use(&self) -> Vec<bool> {
        self.columns.iter().map(|c| !matches!(c, Cells::Absent)).collect()
    }

    /// The last moment of any row.
    pub(crate) fn last_t(&self) -> Option<i64> {
        match &self.columns[T] {
            Cells::I64(values) => values.iter().copied().filter(|v| *v != NULL).max(),
            _ => None,
        }
    }

    /// Sorts by host, keys and time.
    pub(crate) fn order(&mut self) -> Order {
        self.pad();
        let places: Vec<usize> = std::iter::once(HOST)
            .chain(N_COMMON..N_COMMON + self.table.n_keys)
            .filter(|p| !matches!(self.columns[*p], Cells::Absent))
            .collect();
        let (of_row, firsts) = self.group(&places);
        let mut ranks: Vec<u32> = (0..firsts.len() as u32).collect();
        ranks.sort_by(|a, b| self.compare(&places, firsts[*a as usize], firsts[*b as usize]));
        let mut ends = vec![0usize; firsts.len()];
        for g in &of_row {
            ends[*g as usize] += 1;
        }
        let mut groups = Vec::with_capacity(firsts.len());
        let mut next = vec![0usize; firsts.len()];
        let mut begin = 0;
        for g in ranks {
            let end = begin + ends[g as usize];
            next[g as usize] = begin;
            groups.push(begin..end);
            begin = end;
        }
        let mut order = vec![0u32; self.n];
        for (row, g) in of_row.iter().enumerate() {
            let place = &mut next[*g as usize];
            order[*place] = row as u32;
            *place += 1;
        }
        self.by_time(&mut order, &groups);
        Order { order, groups }
    }

    /// The group of each row, and the first row of each group.
    ///
    /// Samples repeat the same keys in the same order, so that the group that followed last time is
    /// tried first; only where it is another one is the key looked up.
    fn group(&self, places: &[usize]) -> (Vec<u32>, Vec<usize>) {
        let mut of_row = Vec::with_capacity(self.n);
        let mut firsts: Vec<usize> = Vec::new();
        let mut followers: Vec<u32> = Vec::new();
        let mut known: FxHashMap<Vec<u64>, u32> = FxHashMap::default();
        let mut key = vec![0u64; places.len()];
        let mut last = None;
        for row in 0..self.n {
            let likely = last.map_or(0, |last: u32| followers[last as usize]);
            let same =
                |first: &usize| places.iter().all(|p| self.columns[*p].bits(*first) == self.columns[*p].bits(row));
            let group = if firsts.get(likely as usize).is_some_and(same) {
                likely
            } else {
                for (part, place) in key.iter_mut().zip(places) {
                    *part = self.columns[*place].bits(row);
                }
                let next = firsts.len() as u32;
                let group = known.get(&key).copied().unwrap_or(next);
                if group == next {
                    known.insert(key.clone(), next);
                    firsts.push(row);
                    followers.push(next + 1);
                }
                group
            };
            if let Some(last) = last.replace(group) {
                followers[last as usize] = group;
            }
            of_row.push(group);
        }
        (of_row, firsts)
    }

    fn compare(&self, places: &[usize], a: usize, b: usize) -> Ordering {
        places.iter().map(|p| self.columns[*p].compare(a, b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Sorts each group by time where it is not so already.
    fn by_time(&self, order: &mut [u32], groups: &[Range<usize>]) {
        let Cells::I64(t) = &self.columns[T] else { return };
        for range in groups {
            let rows = &mut order[range.clone()];
            if !rows.is_sorted_by_key(|r| t[*r as usize]) {
                rows.sort_by_key(|r| t[*r as usize]);
            }
        }
    }

    /// The rows at `order`, with the columns at `places`.
    pub(crate) fn batch(&self, order: &[u32], places: &[usize]) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let schema = schema_of(self.table, places.iter().copied());
        let arrays = places.iter().map(|p| self.columns[*p].array(order, self.table.columns[*p].ty));
        RecordBatch::try_new(schema, arrays.collect::<Result<_, _>>()?)
    }

    /// The values of the number column at `place` in rows `order`, NaN where NULL; None when it has none.
    pub(crate) fn numbers(&self, place: usize, order: &[u32], into: &mut Vec<f64>) -> bool {
        into.clear();
        match &self.columns[place] {
            Cells::F64(values) => into.extend(order.iter().map(|r| values[*r as usize])),
            Cells::I64(values) => into.extend(order.iter().map(|r| {
                let value = values[*r as usize];
                if value == NULL { f64::NAN } else { value as f64 }
            })),
            _ => return false,
        }
        true
    }

    /// The integers or moments of the column at `place` in rows `order`.
    pub(crate) fn integers(&self, place: usize, order: &[u32], into: &mut Vec<Option<i64>>) {
        into.clear();
        into.extend(order.iter().map(|row| self.integer(*row, place)));
    }

    /// The integer or moment in a row; None where it is NULL.
    pub(crate) fn integer(&self, row: u32, place: usize) -> Option<i64> {
        match &self.columns[place] {
            Cells::I64(values) => values.get(row as usize).copied().filter(|value| *value != NULL),
            _ => None,
        }
    }

    /// The float in a row; None where it is NULL.
    pub(crate) fn number(&self, row: u32, place: usize) -> Option<f64> {
        match &self.columns[place] {
            Cells::F64(values) => values.get(row as usize).copied().filter(|value| !value.is_nan()),
            _ => None,
        }
    }

    /// The label or text in a row; None where it is NULL.
    pub(crate) fn text(&self, row: u32, place: usize) -> Option<String> {
        match &self.columns[place] {
            Cells::Label(..) => self.columns[place].show(row as usize),
            Cells::Text(values) => values.get(row as usize).and_then(|text| text.as_deref()).map(str::to_owned),
            _ => None,
        }
    }

    /// The label of the column of that name in a row.
    pub(crate) fn label(&self, row: u32, name: &str) -> Option<String> {
        self.text(row, self.table.index_of(name)?)
    }

    /// Whether a row has a value in a column.
    pub(crate) fn has(&self, row: u32, place: usize) -> bool {
        match &self.columns[place] {
            Cells::F64(_) => self.number(row, place).is_some(),
            Cells::I64(_) => self.integer(row, place).is_some(),
            _ => self.text(row, place).is_some(),
        }
    }

    /// Whether two rows say the same, whenever they do.
    pub(crate) fn differ_in_time_only(&self, a: u32, b: u32) -> bool {
        (0..self.columns.len()).filter(|place| ![T, DT].contains(place)).all(|place| match &self.columns[place] {
            Cells::Text(_) => self.text(a, place) == self.text(b, place),
            cells => cells.bits(a as usize) == cells.bits(b as usize),
        })
    }

    /// The host of `row` and its keys as `key=value,…`; keys that are NULL are left out.
    ///
    /// A comma, an equals sign or a backslash within a value has a backslash before it.
    pub(crate) fn key(&self, row: u32) -> (String, String) {
        let row = row as usize;
        let host = self.columns[HOST].show(row).unwrap_or_default();
        let mut key = String::new();
        for place in N_COMMON..N_COMMON + self.table.n_keys {
            if let Some(value) = self.columns[place].show(row) {
                let comma = if key.is_empty() { "" } else { "," };
                key.push_str(comma);
                key.push_str(self.table.columns[place].name);
                key.push('=');
                for c in value.chars() {
                    if matches!(c, ',' | '=' | '\\') {
                        key.push('\\');
                    }
                    key.push(c);
                }
            }
        }
        (host, key)
    }
}

impl Cells {
    fn pad(&mut self, n: usize) {
        match self {
            Cells::Absent => {}
            Cells::F64(values) => values.resize(n, f64::NAN),
            Cells::I64(values) => values.resize(n, NULL),
            Cells::Label(codes, _) => codes.resize(n, NO_LABEL),
            Cells::Text(values) => values.resize(n, None),
        }
    }

    fn clear(&mut self) {
        match self {
            Cells::Absent => {}
            Cells::F64(values) => values.clear(),
            Cells::I64(values) => values.clear(),
            Cells::Label(codes, _) => codes.clear(),
            Cells::Text(values) => values.clear(),
        }
    }

    /// Adds `array` after `n` rows; gives the bytes it takes.
    fn extend(&mut self, n: usize, array: &ArrayRef, ty: Type) -> usize {
        if matches!(self, Cells::Absent) {
            *self = match ty {
                Type::F64 => Cells::F64(Vec::new()),
                Type::I64 | Type::Time => Cells::I64(Vec::new()),
                Type::Label => Cells::Label(Vec::new(), Labels::default()),
                Type::Text => Cells::Text(Vec::new()),
            };
        }
        self.pad(n);
        match self {
            Cells::Absent => 0,
            Cells::F64(values) => {
                let array = array.as_primitive::<Float64Type>();
                match array.nulls() {
                    None => values.extend_from_slice(array.values()),
                    Some(_) => values.extend(array.iter().map(|v| v.unwrap_or(f64::NAN))),
                }
                array.len() * 8
            }
            Cells::I64(values) => {
                let (raw, nulls) = match ty {
                    Type::Time => {
                        let array = array.as_primitive::<TimestampMicrosecondType>();
                        (array.values(), array.nulls())
                    }
                    _ => {
                        let array = array.as_primitive::<Int64Type>();
                        (array.values(), array.nulls())
                    }
                };
                match nulls {
                    None => values.extend_from_slice(raw),
                    Some(nulls) => {
                        values.extend(raw.iter().zip(nulls).map(|(v, valid)| if valid { *v } else { NULL }));
                    }
                }
                array.len() * 8
            }
            Cells::Label(codes, labels) => {
                labels.extend(codes, array.as_dictionary::<Int32Type>());
                array.len() * 4
            }
            Cells::Text(values) => {
                let array = array.as_string::<i32>();
                values.extend(array.iter().map(|v| v.map(Box::from)));
                array.value_data().len() + array.len() * 16
            }
        }
    }

    /// The value as bits that are equal for equal values.
    fn bits(&self, row: usize) -> u64 {
        match self {
            Cells::F64(values) => values[row].to_bits(),
            Cells::I64(values) => values[row] as u64,
            Cells::Label(codes, _) => u64::from(codes[row]),
            Cells::Absent | Cells::Text(_) => 0,
        }
    }

    /// NULL comes first.
    fn compare(&self, a: usize, b: usize) -> Ordering {
        match self {
            Cells::F64(values) => {
                let (a, b) = (values[a], values[b]);
                b.is_nan().cmp(&a.is_nan()).then(a.total_cmp(&b))
            }
            Cells::I64(values) => values[a].cmp(&values[b]),
            Cells::Label(codes, labels) => labels.get(codes[a]).cmp(&labels.get(codes[b])),
            Cells::Absent | Cells::Text(_) => Ordering::Equal,
        }
    }

    fn show(&self, row: usize) -> Option<String> {
        match self {
            Cells::F64(values) => (!values[row].is_nan()).then(|| values[row].to_string()),
            Cells::I64(values) => (values[row] != NULL).then(|| values[row].to_string()),
            Cells::Label(codes, labels) => labels.get(codes[row]).map(str::to_owned),
            Cells::Absent | Cells::Text(_) => None,
        }
    }

    fn array(&self, order: &[u32], ty: Type) -> Result<ArrayRef, arrow_schema::ArrowError> {
        Ok(match self {
            Cells::Absent => arrow_array::new_null_array(schema_type(ty), order.len()),
            Cells::F64(values) => {
                let taken: Vec<f64> = order.iter().map(|r| values[*r as usize]).collect();
                let nulls = nulls(&taken, |v| !v.is_nan());
                Arc::new(Float64Array::new(ScalarBuffer::from(taken), nulls))
            }
            Cells::I64(values) => {
                let taken: Vec<i64> = order.iter().map(|r| values[*r as usize]).collect();
                let nulls = nulls(&taken, |v| *v != NULL);
                let taken = ScalarBuffer::from(taken);
                match ty {
                    Type::Time => Arc::new(TimestampMicrosecondArray::new(taken, nulls).with_timezone("UTC")),
                    _ => Arc::new(Int64Array::new(taken, nulls)),
                }
            }
            Cells::Label(codes, labels) => {
                let taken: Vec<i32> = order.iter().map(|r| codes[*r as usize] as i32).collect();
                let nulls = nulls(&taken, |c| *c != NO_LABEL as i32);
                let values = Arc::new(StringArray::from_iter_values(labels.values.iter().map(|v| &**v)));
                let keys = Int32Array::new(ScalarBuffer::from(taken), nulls);
                Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values)?)
            }
            Cells::Text(values) => {
                Arc::new(order.iter().map(|r| values[*r as usize].as_deref()).collect::<StringArray>())
            }
        })
    }
}

/// The Arrow type of a column that holds only NULLs here but values in other parts of the table.
fn schema_type(ty: Type) -> &'static arrow_schema::DataType {
    use arrow_schema::{DataType, TimeUnit};
    static TYPES: std::sync::OnceLock<[DataType; 5]> = std::sync::OnceLock::new();
    let types = TYPES.get_or_init(|| {
        [
            DataType::Float64,
            DataType::Int64,
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            DataType::Utf8,
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        ]
    });
    &types[match ty {
        Type::F64 => 0,
        Type::I64 => 1,
        Type::Label => 2,
        Type::Text => 3,
        Type::Time => 4,
    }]
}

fn nulls<V>(values: &[V], valid: impl Fn(&V) -> bool) -> Option<NullBuffer> {
    (!values.iter().all(&valid)).then(|| values.iter().map(valid).collect())
}

impl Labels {
    fn get(&self, code: u32) -> Option<&str> {
        self.values.get(code as usize).map(|v| &**v)
    }

    fn extend(&mut self, codes: &mut Vec<u32>, array: &DictionaryArray<Int32Type>) {
        let values = array.values();
        if !self.dictionary.as_ref().is_some_and(|d| Arc::ptr_eq(d, values)) {
            self.memo.clear();
            self.memo.resize(values.len(), NO_LABEL);
            self.dictionary = Some(Arc::clone(values));
        }
        let text = values.as_string::<i32>();
        for key in array.keys() {
            let Some(key) = key else {
                codes.push(NO_LABEL);
                continue;
            };
            let key = key as usize;
            if self.memo[key] == NO_LABEL {
                self.memo[key] = self.code(text.value(key));
            }
            codes.push(self.memo[key]);
        }
    }

    fn code(&mut self, value: &str) -> u32 {
        if let Some(code) = self.codes.get(value) {
            return *code;
        }
        let code = self.values.len() as u32;
        self.codes.insert(value.into(), code);
        self.values.push(value.into());
        code
    }
}
