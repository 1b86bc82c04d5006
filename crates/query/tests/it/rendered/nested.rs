//! Values that hold others: each type of list, structure, map and union, over values of every type.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Int8Array, Int32Array, LargeListArray, LargeListViewArray,
    ListArray, ListViewArray, MapArray, NullArray, RunArray, StringArray, StructArray, UInt8Array, UnionArray,
    types::{Int8Type, Int32Type},
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields, UnionFields};

use super::{Case, scalars};

fn item(array: &ArrayRef) -> Arc<Field> {
    Arc::new(Field::new("item", array.data_type().clone(), true))
}

/// All values in one list, then an empty list, then NULL.
fn list(values: ArrayRef) -> ArrayRef {
    let lengths = [values.len(), 0, 0];
    let nulls = NullBuffer::from(vec![true, true, false]);
    Arc::new(ListArray::new(item(&values), OffsetBuffer::from_lengths(lengths), values, Some(nulls)))
}

/// A structure of each value beside a number; the row before the last is NULL.
fn structure(values: ArrayRef) -> ArrayRef {
    let n = values.len();
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..n as i32));
    let fields = Fields::from(vec![
        Field::new("it", values.data_type().clone(), true),
        Field::new("n \"q\": é", DataType::Int32, true),
    ]);
    let nulls = NullBuffer::from_iter((0..n).map(|i| i + 2 != n));
    Arc::new(StructArray::new(fields, vec![values, numbers], Some(nulls)))
}

/// `keys` to `values`: all in one map, then an empty one, then NULL.
fn map(keys: ArrayRef, values: ArrayRef) -> ArrayRef {
    let n = values.len();
    let fields = Fields::from(vec![
        Field::new("key", keys.data_type().clone(), false),
        Field::new("value", values.data_type().clone(), true),
    ]);
    let entries = StructArray::new(fields.clone(), vec![keys, values], None);
    let field = Arc::new(Field::new("entries", DataType::Struct(fields), false));
    let nulls = NullBuffer::from(vec![true, true, false]);
    Arc::new(MapArray::new(field, OffsetBuffer::from_lengths([n, 0, 0]), entries, Some(nulls), false))
}

fn map_of(values: ArrayRef) -> ArrayRef {
    let keys = (0..values.len()).map(|i| format!("k{i} \"x\""));
    map(Arc::new(StringArray::from_iter_values(keys)), values)
}

/// A union of a text, each value and nothing.
fn union(values: ArrayRef, is_dense: bool) -> ArrayRef {
    let n = values.len();
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter((0..n).map(|i| (i % 2 == 0).then(|| format!("t{i}, \"q\"")))));
    let fields = UnionFields::try_new(
        [0, 1],
        [Field::new("text", DataType::Utf8, true), Field::new("it", values.data_type().clone(), true)],
    );
    let ids: ScalarBuffer<i8> = (0..n).map(|i| i8::from(i % 3 != 0)).collect();
    let offsets = is_dense.then(|| (0..n as i32).collect::<ScalarBuffer<i32>>());
    Arc::new(UnionArray::try_new(fields.unwrap(), ids, offsets, vec![texts, values]).unwrap())
}

/// A dictionary of all values, of which rows mention each twice, and NULL.
fn dictionary(values: ArrayRef) -> ArrayRef {
    let n = values.len() as i8;
    let keys = Int8Array::from_iter((0..n).rev().chain(0..n).map(Some).chain([None]));
    Arc::new(DictionaryArray::<Int8Type>::new(keys, values))
}

fn runs(values: ArrayRef) -> ArrayRef {
    let ends = Int32Array::from_iter_values((1..=values.len() as i32).map(|i| i * 2));
    Arc::new(RunArray::<Int32Type>::try_new(&ends, &values).unwrap())
}

fn numbers() -> ArrayRef {
    Arc::new(Int32Array::from(vec![Some(1), None, Some(-3), Some(4), Some(5), Some(6)]))
}

fn texts() -> ArrayRef {
    Arc::new(StringArray::from_iter(scalars::TEXTS.into_iter().map(Some).chain([None])))
}

fn kinds_of_lists() -> Vec<Case> {
    let nulls = || Some(NullBuffer::from(vec![true, true, false, true]));
    let parts = || OffsetBuffer::from_lengths([2, 0, 1, 3]);
    let large = LargeListArray::new(item(&numbers()), OffsetBuffer::from_lengths([2, 0, 1, 3]), numbers(), nulls());
    let (starts, sizes) = (vec![4, 1, 0, 0], vec![2, 0, 1, 5]);
    let views = ListViewArray::new(item(&numbers()), starts.into(), sizes.into(), numbers(), nulls());
    let (starts, sizes) = (vec![4_i64, 1, 0, 0], vec![2_i64, 0, 1, 5]);
    let large_views = LargeListViewArray::new(item(&numbers()), starts.into(), sizes.into(), numbers(), nulls());
    let nulls_of_3 = Some(NullBuffer::from(vec![true, false, true]));
    vec![
        ("list", Arc::new(ListArray::new(item(&numbers()), parts(), numbers(), nulls()))),
        ("large list", Arc::new(large)),
        ("list view", Arc::new(views)),
        ("large list view", Arc::new(large_views)),
        ("list of 2", Arc::new(FixedSizeListArray::new(item(&numbers()), 2, numbers(), nulls_of_3))),
        ("list of 3", Arc::new(FixedSizeListArray::new(item(&numbers()), 3, numbers(), None))),
    ]
}

fn deep() -> Vec<Case> {
    let lists = (0..6).fold(numbers(), |within, _| list(within));
    let structures = (0..5).fold(numbers(), |within, _| structure(within));
    let everything = list(structure(map_of(list(structure(map_of(texts()))))));
    let n = numbers().len();
    let empty = StructArray::new_empty_fields(n, Some(NullBuffer::from_iter((0..n).map(|i| i != 1))));
    vec![
        ("lists of lists", lists),
        ("structures of structures", structures),
        ("everything", everything),
        ("nothing in it", Arc::new(empty)),
        ("list of nothing", list(Arc::new(NullArray::new(3)))),
        ("structure of nothing", structure(Arc::new(NullArray::new(3)))),
        ("map of numbers", map(Arc::new(Int32Array::from_iter_values(0..6)), numbers())),
        ("map of truths", map(Arc::new(UInt8Array::from_iter_values(0..6)), list_of_six())),
        ("dense union", union(numbers(), true)),
        ("list of unions", list(union(texts(), false))),
        ("structure of unions", structure(union(numbers(), true))),
        ("dictionary of lists", dictionary(list(numbers()))),
        ("list of dictionaries", list(dictionary(texts()))),
        ("dictionary without NULL", dictionary(Arc::new(StringArray::from(vec!["a", "b,c"])))),
        ("runs of numbers", runs(numbers())),
        ("runs of texts", runs(texts())),
        ("runs of lists", runs(list(numbers()))),
        ("list of runs", list(runs(texts()))),
    ]
}

fn list_of_six() -> ArrayRef {
    let numbers = numbers();
    Arc::new(ListArray::new(item(&numbers), OffsetBuffer::from_lengths([1; 6]), numbers, None))
}

/// All of them.
pub fn cases() -> Vec<Case> {
    let mut cases = kinds_of_lists();
    cases.extend(deep());
    for (name, values) in scalars::cases() {
        cases.push((name, list(Arc::clone(&values))));
        cases.push((name, structure(Arc::clone(&values))));
        cases.push((name, map_of(Arc::clone(&values))));
        cases.push((name, union(Arc::clone(&values), false)));
        if !matches!(values.data_type(), DataType::Null) {
            cases.push((name, dictionary(values)));
        }
    }
    cases
}
