//! Places in programs' files.

use object::{Object, ObjectSegment};

/// Where in its file an address of a program stands; None when it is in no loaded part.
pub(crate) fn file_offset(file: &object::File<'_>, address: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let into = address.checked_sub(segment.address())?;
        let (begin, size) = segment.file_range();
        (into < size).then_some(begin + into)
    })
}
