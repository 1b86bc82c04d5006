//! CPython: where an interpreter has its threads, their frames and the names of functions, as `bpf/python.h` wants to know it.
//!
//! Only what is certain is recognised: versions whose fields are published by the interpreter itself (3.13 and 3.14) or known here.

use object::{
    Endianness, Object, ObjectSegment, ReadRef,
    elf::{FileHeader64, SHT_GNU_HASH, SectionHeader64},
    read::elf::{ElfFile64, GnuHashTable, SectionHeader, Sym, SymbolTable, VersionTable},
};

/// An interpreter in a file; its addresses are those of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Python {
    /// Of the variable with the first interpreter (`_PyRuntime.interpreters.head`).
    pub interpreters: u64,
    /// Of the type of code objects.
    code_type: u64,
    fields: Fields,
}

/// `struct python` of `bpf/python.h`, after the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fields {
    interpreter_next: u32,
    interpreter_threads: u32,
    thread_next: u32,
    thread_id: u32,
    thread_frame: u32,
    indirect_frame: u32,
    frame_previous: u32,
    frame_code: u32,
    frame_mark: u32,
    mark: Mark,
    code_file: u32,
    code_name: u32,
    object_size: u32,
    object_type: u32,
    text_size: u32,
}

/// `enum python_mark`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    None,
    Outermost,
    Between,
}

const NO_FIELD: u32 = u32::MAX;

/// Layout of versions that publish none: `_PyRuntime.interpreters.head`, and the fields. The same on all 64-bit CPUs.
fn known(minor: u64) -> Option<(u64, Fields)> {
    let before_3_11 = Fields {
        interpreter_next: 0,
        interpreter_threads: 8,
        thread_next: 8,
        thread_id: 176,
        thread_frame: 24,
        indirect_frame: NO_FIELD,
        frame_previous: 24,
        frame_code: 32,
        frame_mark: 0,
        mark: Mark::None,
        code_file: 104,
        code_name: 112,
        object_size: 16,
        object_type: 8,
        text_size: 48,
    };
    let of_3_11 = Fields {
        interpreter_threads: 16,
        thread_id: 152,
        thread_frame: 56,
        indirect_frame: 8,
        frame_previous: 48,
        frame_mark: 68,
        mark: Mark::Outermost,
        code_file: 112,
        code_name: 128,
        ..before_3_11
    };
    match minor {
        9 | 10 => Some((32, before_3_11)),
        11 => Some((40, of_3_11)),
        12 => {
            let fields = Fields {
                interpreter_threads: 72,
                thread_id: 136,
                indirect_frame: 0,
                frame_previous: 8,
                frame_code: 0,
                frame_mark: 70,
                mark: Mark::Between,
                text_size: 40,
                ..of_3_11
            };
            Some((40, fields))
        }
        _ => None,
    }
}

/// Words of the table that `_PyRuntime` begins with (`_Py_DebugOffsets`): cookie, version, then a group for each structure, which
/// begins with its size. Later versions have longer groups: they are found by what is in them.
fn published(words: &[u64]) -> Option<(u64, Fields)> {
    let word = |place: usize| words.get(place).copied();
    let field = |place: usize, size: u64| word(place).filter(|offset| *offset < size && size < 1 << 24);
    let small = |value: u64| u32::try_from(value).ok();
    let minor = minor_of(word(1)?)?;
    if word(0)? != u64::from_ne_bytes(*b"xdebugpy") || ![13, 14].contains(&minor) {
        return None;
    }
    let (runtime, interpreter) = (word(3)?, word(6)?);
    // A thread's state begins with these three.
    let thread = (10..32).find(|at| words.get(at + 1..at + 4) == Some(&[0, 8, 16]))?;
    let frame = thread + 9;
    let is_code = |at: &usize| {
        let (file, size) = (word(at + 1).unwrap_or(0), word(*at).unwrap_or(0));
        file > 0 && file < size && words.get(at + 2..at + 4) == Some(&[file + 8, file + 16])
    };
    let code = (frame + 6..frame + 14).find(is_code)?;
    let is_object = |at: &usize| matches!(words.get(*at..at + 2), Some([16, 8] | [32, 24]));
    let object = (code + 9..code + 16).find(is_object)?;
    let (thread_size, frame_size) = (word(thread)?, word(frame)?);
    let thread_id = field(thread + 5, thread_size).filter(|id| word(thread + 6) == Some(id + 8))?;
    let object_size = small(word(object)?)?;
    let fields = Fields {
        interpreter_next: small(field(8, interpreter)?)?,
        interpreter_threads: small(field(9, interpreter)?)?,
        thread_next: 8,
        thread_id: small(thread_id)?,
        thread_frame: small(field(thread + 4, thread_size)?)?,
        indirect_frame: NO_FIELD,
        frame_previous: small(field(frame + 1, frame_size)?)?,
        frame_code: small(field(frame + 2, frame_size)?)?,
        frame_mark: small(field(frame + 5, frame_size)?)?,
        mark: Mark::Between,
        code_file: small(word(code + 1)?)?,
        code_name: small(word(code + 3)?)?,
        object_size,
        object_type: object_size - 8,
        text_size: object_size + 24,
    };
    Some((field(5, runtime)?, fields))
}

/// `y` of version 3.y; neither of another one nor of one before its release.
fn minor_of(version: u64) -> Option<u64> {
    (version >> 24 == 3 && version & 0xf0 >= 0xc0).then_some(version >> 16 & 0xff)
}

impl Python {
    /// The interpreter of a file; None: it has none, or one that is not known here.
    pub(super) fn of<'data, R: ReadRef<'data>>(file: &object::File<'data, R>) -> Option<Python> {
        let object::File::Elf64(elf) = file else { return None };
        let symbols = Symbols::of(elf)?;
        let runtime = symbols.address(b"_PyRuntime")?;
        let code_type = symbols.address(b"PyCode_Type")?;
        let minor = match symbols.address(b"Py_Version") {
            Some(at) => minor_of(*words(file, at, 1)?.first()?)?,
            // Functions that begin with a version.
            None if symbols.address(b"Py_NewRef").is_some() => 10,
            None if symbols.address(b"PyFrame_GetBack").is_some() => 9,
            None => return None,
        };
        let (head, fields) = if minor < 13 { known(minor) } else { published(&words(file, runtime, 80)?) }?;
        Some(Python { interpreters: runtime.wrapping_add(head), code_type, fields })
    }

    /// The same where its file is mapped so many bytes after its addresses.
    pub(super) fn moved(self, by: u64) -> Python {
        let (interpreters, code_type) = (self.interpreters.wrapping_add(by), self.code_type.wrapping_add(by));
        Python { interpreters, code_type, ..self }
    }

    /// `struct python`.
    pub(super) fn value(&self) -> Vec<u8> {
        let f = &self.fields;
        let fields = [
            [f.interpreter_next, f.interpreter_threads, f.thread_next, f.thread_id],
            [f.thread_frame, f.indirect_frame, f.frame_previous, f.frame_code],
            [f.frame_mark, f.mark as u32, f.code_file, f.code_name],
            [f.object_size, f.object_type, f.text_size, 0],
        ];
        let addresses = [self.interpreters, self.code_type].map(u64::to_ne_bytes);
        addresses.into_iter().flatten().chain(fields.into_iter().flatten().flat_map(u32::to_ne_bytes)).collect()
    }
}

/// Words of a file at an address.
fn words<'data, R: ReadRef<'data>>(file: &object::File<'data, R>, address: u64, n: u64) -> Option<Vec<u64>> {
    let bytes = file.segments().find_map(|segment| segment.data_range(address, 8 * n).ok().flatten())?;
    let (words, _) = bytes.as_chunks::<8>();
    Some(words.iter().map(|word| u64::from_ne_bytes(*word)).collect())
}

/// Symbols that a file exports, by its hash table: not one by one, as a large library has many.
struct Symbols<'a, 'data, R: ReadRef<'data>> {
    endian: Endianness,
    table: &'a SymbolTable<'data, FileHeader64<Endianness>, R>,
    hashes: GnuHashTable<'data, FileHeader64<Endianness>>,
}

/// Bytes of a hash table that is read; a million symbols have half of it.
const MOST_HASHES: u64 = 16 << 20;

impl<'a, 'data, R: ReadRef<'data>> Symbols<'a, 'data, R> {
    fn of(elf: &'a ElfFile64<'data, Endianness, R>) -> Option<Symbols<'a, 'data, R>> {
        let (endian, data) = (elf.endian(), elf.data());
        let is_it = |section: &&SectionHeader64<Endianness>| section.sh_type(endian) == SHT_GNU_HASH;
        let section = elf.elf_section_table().iter().find(is_it)?;
        if section.sh_size(endian) > MOST_HASHES {
            return None;
        }
        // The crate takes for granted that a table has a place for each hash.
        let header = section.gnu_hash_header(endian, data).ok()??;
        let has_places = header.bucket_count.get(endian) > 0
            && header.bloom_count.get(endian).is_power_of_two()
            && header.bloom_shift.get(endian) < 32;
        let (hashes, _) = section.gnu_hash(endian, data).ok()?.filter(|_| has_places)?;
        Some(Symbols { endian, table: elf.elf_dynamic_symbol_table(), hashes })
    }

    fn address(&self, name: &[u8]) -> Option<u64> {
        let (hash, any) = (object::elf::gnu_hash(name), VersionTable::default());
        let (_, symbol) = self.hashes.find(self.endian, name, hash, None, self.table, &any)?;
        Some(symbol.st_value(self.endian)).filter(|address| *address > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As 3.13.0 publishes it.
    fn of_3_13() -> Vec<u64> {
        let cookie = u64::from_ne_bytes(*b"xdebugpy");
        let mut words = vec![cookie, 0x030d_00f0, 0, 440_000, 624, 632];
        words.extend([180_000, 7256, 7264, 7344, 7400, 7640, 7648, 7656, 7584, 100_000, 0, 100_008, 100_016]);
        words.extend([320, 0, 8, 16, 72, 152, 160, 216, 24]);
        words.extend([80, 8, 0, 56, 72, 70]);
        words.extend([208, 112, 120, 128, 136, 68, 52, 96, 104, 200]);
        words.extend([16, 8, 416, 24, 88, 168]);
        words
    }

    #[test]
    fn published_fields_are_found_also_in_longer_groups() {
        let words = of_3_13();
        let (head, fields) = published(&words).unwrap();
        assert_eq!((head, fields.thread_frame, fields.thread_id, fields.interpreter_threads), (632, 72, 152, 7344));
        assert_eq!((fields.frame_previous, fields.frame_code, fields.frame_mark), (8, 0, 70));
        assert_eq!((fields.code_file, fields.code_name, fields.object_type, fields.text_size), (112, 128, 8, 40));
        // As later versions have it: more of an interpreter, of a frame and of code.
        let mut longer = words.clone();
        longer[1] = 0x030e_00f0;
        for (place, more) in [(44, [216, 0]), (34, [64, 68]), (19, [9000, 9008]), (10, [7392, 7400])] {
            longer.splice(place..place, more);
        }
        assert_eq!(published(&longer), Some((head, fields)), "{longer:?}");
    }

    #[test]
    fn what_is_not_certain_is_not_recognised() {
        let with = |place: usize, value: u64| {
            let mut words = of_3_13();
            words[place] = value;
            published(&words)
        };
        assert!(with(2, 1).is_some());
        assert_eq!(with(0, 7), None, "another cookie");
        assert_eq!(
            (with(1, 0x030f_00f0), with(1, 0x030d_00a1)),
            (None, None),
            "a version to come, one before its release"
        );
        assert_eq!((with(8, 200_000), with(24, 1 << 40)), (None, None), "beyond its structure");
        assert_eq!(published(&of_3_13()[..40]), None);
        assert_eq!((known(8), known(13), minor_of(0x020e_00f0)), (None, None, None));
    }
}
