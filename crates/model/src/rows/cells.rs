//! The values of one column while rows are gathered, and what they become in Arrow.

use std::{borrow::Cow, sync::Arc};

use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray,
    types::Int32Type,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use rustc_hash::FxHashMap;

use crate::Type;

/// A dictionary longer than this is begun anew, so that it cannot grow for ever.
pub(super) const MAX_DICTIONARY: usize = 1 << 16;

/// Represents NULL in a column of integers or times while rows are gathered.
pub(super) const NULL_I64: i64 = i64::MIN;
/// Represents NULL in a label column while rows are gathered.
pub(super) const NULL_CODE: i32 = -1;

/// Values of one column; shorter than the rows where the last ones are NULL.
#[derive(Debug)]
pub(super) enum Cells {
    Unset,
    F64(Vec<f64>),
    I64(Vec<i64>),
    Time(Vec<i64>),
    Label { codes: Vec<i32>, dictionary: Dictionary },
    Text(Vec<Option<Box<str>>>),
}

/// The distinct values of a label column, kept from batch to batch so that codes stay the same.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    codes: FxHashMap<Box<str>, i32>,
    pub(super) values: Vec<Box<str>>,
    array: Option<Arc<StringArray>>,
    /// The code that was given last.
    last: usize,
    /// Of each code the one that followed it last.
    followers: Vec<u32>,
}

impl Dictionary {
    pub(super) fn code(&mut self, value: &str) -> i32 {
        // Neighbouring rows often share a label (host, user), and samples repeat others in the same order (CPU, device):
        // what followed last time spares them the hash.
        let likely = self.followers.get(self.last).copied().unwrap_or(0) as usize;
        if self.values.get(likely).is_some_and(|known| **known == *value) {
            self.last = likely;
            return likely as i32;
        }
        let code = match self.codes.get(value) {
            Some(code) => *code,
            None => self.add(value),
        };
        if let Some(follower) = self.followers.get_mut(self.last) {
            *follower = code as u32;
        }
        self.last = code as usize;
        code
    }

    fn add(&mut self, value: &str) -> i32 {
        let code = self.values.len() as i32;
        self.codes.insert(value.into(), code);
        self.values.push(value.into());
        self.followers.push(code as u32);
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
    /// An empty column of type `ty` that takes `room` values before it grows.
    pub(super) fn new(ty: Type, room: usize) -> Cells {
        match ty {
            Type::F64 => Cells::F64(Vec::with_capacity(room)),
            Type::I64 => Cells::I64(Vec::with_capacity(room)),
            Type::Time => Cells::Time(Vec::with_capacity(room)),
            Type::Label => Cells::Label { codes: Vec::with_capacity(room), dictionary: Dictionary::default() },
            Type::Text => Cells::Text(Vec::with_capacity(room)),
        }
    }

    /// The same values with every label and text as `change` gives it.
    pub(super) fn map_text(&self, change: &impl Fn(&str) -> Cow<'_, str>) -> Cells {
        match self {
            Cells::Unset => Cells::Unset,
            Cells::F64(values) => Cells::F64(values.clone()),
            Cells::I64(values) => Cells::I64(values.clone()),
            Cells::Time(values) => Cells::Time(values.clone()),
            Cells::Label { codes, dictionary } => {
                // Codes stay; two labels may look the same now, and are found by the last one's.
                let values: Vec<Box<str>> = dictionary.values.iter().map(|v| change(v).into()).collect();
                let found = values.iter().zip(0..).map(|(value, code)| (value.clone(), code)).collect();
                let followers = (0..values.len() as u32).collect();
                let dictionary = Dictionary { codes: found, values, followers, ..Dictionary::default() };
                Cells::Label { codes: codes.clone(), dictionary }
            }
            Cells::Text(values) => Cells::Text(values.iter().map(|v| v.as_ref().map(|v| change(v).into())).collect()),
        }
    }

    /// Forgets the values and keeps their memory.
    pub(super) fn clear(&mut self) {
        match self {
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

    /// Takes the values out as an Arrow array of `n` rows and leaves the column empty.
    pub(super) fn take(&mut self, n: usize) -> Option<ArrayRef> {
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

/// Puts `value` at the end of `values`, after NULLs for the rows that did not set this column;
/// a second value for the same row replaces the first.
#[inline]
pub(super) fn put<V: Clone>(values: &mut Vec<V>, n_rows: usize, value: V, null: V) {
    if values.len() + 1 != n_rows {
        values.resize(n_rows - 1, null);
    }
    values.push(value);
}
