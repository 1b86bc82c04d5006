//! Parts common to values of several types: elements, entries, a chosen member, bytes.

use std::ops::Range;

use arrow_array::{Array, cast::AsArray};
use arrow_schema::DataType;

/// The elements of any kind of list: the array that holds them, and their places in it.
pub(super) fn elements(array: &dyn Array, row: usize) -> Option<(&dyn Array, Range<usize>)> {
    let range = |start: i64, end: i64| start.max(0) as usize..end.max(0) as usize;
    Some(match array.data_type() {
        DataType::List(_) => {
            let (lists, offsets) = (array.as_list::<i32>(), array.as_list::<i32>().value_offsets());
            (lists.values().as_ref(), range(offsets[row].into(), offsets[row + 1].into()))
        }
        DataType::LargeList(_) => {
            let (lists, offsets) = (array.as_list::<i64>(), array.as_list::<i64>().value_offsets());
            (lists.values().as_ref(), range(offsets[row], offsets[row + 1]))
        }
        DataType::ListView(_) => {
            let lists = array.as_list_view::<i32>();
            let (start, size) = (i64::from(lists.value_offsets()[row]), i64::from(lists.value_sizes()[row]));
            (lists.values().as_ref(), range(start, start + size))
        }
        DataType::LargeListView(_) => {
            let lists = array.as_list_view::<i64>();
            let (start, size) = (lists.value_offsets()[row], lists.value_sizes()[row]);
            (lists.values().as_ref(), range(start, start.saturating_add(size)))
        }
        DataType::FixedSizeList(..) => {
            let lists = array.as_fixed_size_list();
            let start = i64::from(lists.value_offset(row));
            (lists.values().as_ref(), range(start, start + i64::from(lists.value_length())))
        }
        _ => return None,
    })
}

/// The entries of a map: keys, values, and their places in both.
pub(super) fn entries(array: &dyn Array, row: usize) -> Option<(&dyn Array, &dyn Array, Range<usize>)> {
    let map = array.as_map_opt()?;
    let offsets = map.value_offsets();
    Some((map.keys().as_ref(), map.values().as_ref(), offsets[row] as usize..offsets[row + 1] as usize))
}

/// The member that a union holds in a row.
pub(super) struct Member<'a> {
    pub(super) name: &'a str,
    pub(super) values: &'a dyn Array,
    pub(super) place: usize,
}

/// The member that a union has in a row.
pub(super) fn member(array: &dyn Array, row: usize) -> Option<Member<'_>> {
    let unions = array.as_union_opt()?;
    let DataType::Union(fields, _) = array.data_type() else { return None };
    let id = unions.type_id(row);
    let (_, field) = fields.iter().find(|(of, _)| *of == id)?;
    Some(Member { name: field.name(), values: unions.child(id).as_ref(), place: unions.value_offset(row) })
}

/// Bytes that are no text.
pub(super) fn bytes_at(array: &dyn Array, row: usize) -> Option<&[u8]> {
    match array.data_type() {
        DataType::Binary => Some(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Some(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => Some(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => Some(array.as_fixed_size_binary().value(row)),
        _ => None,
    }
}
