//! `.eh_frame` of a file as a table: from which address on which rule finds the caller (`bpf/unwind.h` follows them).

use std::io::BufReader;

use fs_err::File;
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, FrameDescriptionEntry, NativeEndian, Operation, Register,
    RegisterRule, UnwindContext, UnwindExpression, UnwindSection, UnwindTableRow, X86_64,
};
use object::{Architecture, Object, ObjectSection, ObjectSegment, ReadCache, SegmentFlags};

use super::python::Python;
use crate::elf::symbol_bytes;

type Slice<'a> = EndianSlice<'a, NativeEndian>;

/// Nothing is known from here on: frame pointers.
pub(super) const NONE: u32 = 0;
const SP: u32 = 1;
const FP: u32 = 2;
const AT_FP: u32 = 3;
const PLT: u32 = 4;
const SIGNAL: u32 = 5;
const END: u32 = 6;
/// Rules that tables cannot have.
pub(super) const OTHER: u32 = 7;

/// Gaps between functions are not longer than this where nothing is in them.
const PADDING: u64 = 16;

/// Bytes of `.eh_frame` that are read, and rows that become of them: any user may map a file with more of them than there is memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    pub bytes: u64,
    pub rows: usize,
    /// Bytes of symbols, which are read with it.
    pub symbols: u64,
}

impl Most {
    /// Browsers and compilers have a third of it.
    pub const ALL: Most = Most { bytes: 64 << 20, rows: 8 << 20, symbols: u64::MAX };
    /// Servers and interpreters have half of it.
    pub const FEW: Most = Most { bytes: 4 << 20, rows: 1 << 19, symbols: 8 << 20 };
}

/// A row: an address of the file, and the rule from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub address: u64,
    pub rule: u32,
}

/// A file that code is mapped from.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// Loaded parts that can be executed: offset in the file, size, address.
    pub segments: Vec<(u64, u64, u64)>,
    /// Ascending; empty where the file has no `.eh_frame`.
    pub rows: Vec<Row>,
    /// Rows of rules that tables cannot have.
    pub others: usize,
    /// The interpreter that is in it.
    pub python: Option<Python>,
}

impl Code {
    /// Reads a file; None: it is no program of this kind of processor.
    pub(super) fn read(file: File, most: Most) -> Option<Code> {
        let cache = ReadCache::new(BufReader::new(file));
        if most.symbols < u64::MAX && symbol_bytes(&cache) > most.symbols {
            return None;
        }
        Code::of(&object::File::parse(&cache).ok()?, most)
    }

    /// As [`Code::read`], of an image in memory.
    pub(super) fn of_image(bytes: &[u8]) -> Option<Code> {
        Code::of(&object::File::parse(bytes).ok()?, Most::ALL)
    }

    fn of<'data, R: object::ReadRef<'data>>(file: &object::File<'data, R>, most: Most) -> Option<Code> {
        if file.architecture() != Architecture::X86_64 {
            return None;
        }
        let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags } if p_flags & object::elf::PF_X != 0);
        let segments = file.segments().filter(|segment| is_code(segment.flags()));
        let segments = segments.map(|segment| {
            let (offset, size) = segment.file_range();
            (offset, size, segment.address())
        });
        let mut code = Code { segments: segments.collect(), python: Python::of(file), ..Code::default() };
        if let Some(section) = file.section_by_name(".eh_frame").filter(|section| section.size() <= most.bytes) {
            let address = |name| file.section_by_name(name).map_or(0, |section| section.address());
            let bases = BaseAddresses::default().set_eh_frame(section.address()).set_text(address(".text"));
            // Sections that are mapped are never compressed.
            code.add(section.data().ok()?, &bases.set_got(address(".got")), most.rows);
        }
        Some(code)
    }

    /// The address in the file of the byte at `offset`, where a mapping begins: at a whole page, which a part need not.
    pub(super) fn address(&self, offset: u64) -> Option<u64> {
        let part = self.segments.iter().find(|(begin, size, _)| {
            (begin & !0xfff) <= offset && begin.checked_add(*size).is_some_and(|end| offset < end)
        });
        part.map(|(begin, _, address)| address.wrapping_sub(*begin).wrapping_add(offset))
    }

    fn add(&mut self, data: &[u8], bases: &BaseAddresses, most: usize) {
        let section = EhFrame::new(data, NativeEndian);
        let mut context = UnwindContext::new();
        let mut entries = section.entries(bases);
        // After an entry that cannot be read there may be others, but where they begin is not known.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let Ok(function) = partial.parse(EhFrame::cie_from_offset) else { continue };
            self.add_function(&section, (bases, most), &mut context, &function);
            if self.rows.len() > most {
                self.rows.clear();
                return;
            }
        }
        // The end of a function comes before the begin of the next one at the same address, and gives way to it.
        self.rows.sort_by_key(|row| (row.address, row.rule != NONE));
        self.rows.dedup_by(|later, kept| {
            let is_same = later.address == kept.address;
            if is_same {
                *kept = *later;
            }
            is_same
        });
        let mut next = self.rows.iter().skip(1).map(|row| row.address).collect::<Vec<_>>().into_iter();
        self.rows.retain(|row| {
            let next = next.next().unwrap_or(u64::MAX);
            row.rule != NONE || next - row.address >= PADDING
        });
        self.rows.dedup_by_key(|row| row.rule);
        self.rows.shrink_to_fit();
    }

    fn add_function<'a>(
        &mut self,
        section: &EhFrame<Slice<'a>>,
        (bases, most): (&BaseAddresses, usize),
        context: &mut UnwindContext<usize>,
        function: &FrameDescriptionEntry<Slice<'a>>,
    ) {
        let (begin, end) = (function.initial_address(), function.end_address());
        // Functions that the linker left out have the address 0.
        if begin == 0 || begin >= end {
            return;
        }
        if function.is_signal_trampoline() {
            // It begins a byte early, for those who look up the byte before an address.
            self.rows.push(Row { address: begin, rule: SIGNAL });
        } else {
            let Ok(mut rows) = function.rows(section, bases, context) else { return };
            while self.rows.len() <= most
                && let Ok(Some(row)) = rows.next_row()
            {
                let rule = rule(section, row);
                self.others += usize::from(rule == OTHER);
                self.rows.push(Row { address: row.start_address(), rule });
            }
        }
        self.rows.push(Row { address: end, rule: NONE });
    }
}

/// The rule of a row, as `bpf/unwind.h` has it.
fn rule(section: &EhFrame<Slice<'_>>, row: &UnwindTableRow<usize>) -> u32 {
    match row.register(X86_64::RA) {
        Some(RegisterRule::Offset(-8)) => {}
        Some(RegisterRule::Undefined) => return END,
        _ => return OTHER,
    }
    of_cfa(section, row).unwrap_or(OTHER)
}

/// None: tables cannot express it.
fn of_cfa(section: &EhFrame<Slice<'_>>, row: &UnwindTableRow<usize>) -> Option<u32> {
    let frame = row.register(X86_64::RBP);
    // Where the caller's frame pointer is, in words from the CFA; 0: it has not changed.
    let saved = match frame {
        None | Some(RegisterRule::SameValue | RegisterRule::Undefined) => Some(0),
        Some(RegisterRule::Offset(offset)) if offset != 0 => words(offset),
        _ => None,
    };
    match row.cfa() {
        CfaRule::RegisterAndOffset { register: X86_64::RSP, offset } => packed(SP, words(*offset)?, saved?),
        CfaRule::RegisterAndOffset { register: X86_64::RBP, offset } => packed(FP, words(*offset)?, saved?),
        CfaRule::RegisterAndOffset { .. } => None,
        CfaRule::Expression(expression) => match *operations(section, expression).as_slice() {
            // Where a function aligned its stack: (rbp + offset), and the caller's rbp is found from rbp as well.
            [Operation::RegisterOffset { register: X86_64::RBP, offset, .. }, Operation::Deref { .. }] => {
                let Some(RegisterRule::Expression(saved)) = frame else { return None };
                match *operations(section, &saved).as_slice() {
                    [Operation::RegisterOffset { register: X86_64::RBP, offset: saved, .. }] => {
                        packed(AT_FP, words(offset)?, words(saved)?)
                    }
                    _ => None,
                }
            }
            // Stubs of the linker: rsp + 8 + ((rip & 15) >= n) << 3.
            [
                Operation::RegisterOffset { register: X86_64::RSP, offset: 8, .. },
                Operation::RegisterOffset { register: Register(16), offset: 0, .. },
                Operation::UnsignedConstant { value: 15 },
                Operation::And,
                Operation::UnsignedConstant { value: pushed },
                Operation::Ge,
                Operation::UnsignedConstant { value: 3 },
                Operation::Shl,
                Operation::Plus,
            ] if pushed < 16 => packed(PLT, i64::try_from(pushed).ok()?, 0),
            _ => None,
        },
    }
}

/// The operations of an expression; those of one that cannot be read, up to there.
fn operations<'a>(section: &EhFrame<Slice<'a>>, expression: &UnwindExpression<usize>) -> Vec<Operation<Slice<'a>>> {
    /// Longer ones are none of those that we know.
    const MOST: usize = 10;
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let Ok(expression) = expression.get(section) else { return Vec::new() };
    let mut rest = expression.operations(encoding);
    std::iter::from_fn(|| rest.next().ok().flatten()).take(MOST).collect()
}

/// Whole words of 8 bytes.
fn words(offset: i64) -> Option<i64> {
    (offset % 8 == 0).then_some(offset / 8)
}

/// A rule's number; None where its parts have no room: 16 bits and 12.
fn packed(kind: u32, offset: i64, frame: i64) -> Option<u32> {
    let offset = i16::try_from(offset).ok()?.cast_unsigned();
    let frame = i16::try_from(frame).ok().filter(|frame| (-2048..2048).contains(frame))?;
    Some(kind | u32::from(offset) << 4 | u32::from(frame.cast_unsigned()) << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_room_for_their_parts_or_are_none() {
        assert_eq!(packed(SP, 2, 0), Some(0x21));
        assert_eq!(packed(FP, 2, -2), Some(0xffe0_0022));
        assert_eq!(packed(AT_FP, -1, 0), Some(0x000f_fff3));
        assert_eq!((packed(SP, 40_000, 0), packed(SP, 2, -3000)), (None, None));
        assert_eq!((words(-24), words(12)), (Some(-3), None));
    }

    /// The test program itself: its functions are in order, its beginning is the outermost function.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_table_of_this_program_is_in_order_and_covers_its_code() {
        let path = std::env::current_exe().unwrap();
        let code = Code::read(File::open(&path).unwrap(), Most::ALL).unwrap();
        assert!(code.rows.len() > 1000);
        assert!(code.rows.windows(2).all(|pair| pair[0].address < pair[1].address && pair[0].rule != pair[1].rule));
        assert!(code.rows.iter().any(|row| row.rule == END), "where it begins");
        assert!(
            code.rows.iter().any(|row| row.rule == packed(SP, 1, 0).unwrap()),
            "at each function's first instruction"
        );
        assert!(code.others * 100 < code.rows.len(), "{} of {}", code.others, code.rows.len());
    }

    #[test]
    fn what_is_no_program_has_no_table() {
        assert!(Code::of_image(b"#!/bin/sh\necho").is_none() && Code::of_image(&[]).is_none());
    }

    #[test]
    fn addresses_are_those_of_the_part_that_is_mapped() {
        let code = Code { segments: vec![(0x1234, 0x1000, 0x40_1234), (0x3000, 0x100, 0x50_3000)], ..Code::default() };
        assert_eq!(code.address(0x1000), Some(0x40_1000), "at the page in which the part begins");
        assert_eq!((code.address(0x3000), code.address(0x9000)), (Some(0x50_3000), None));
    }

    /// An ELF file of one section `.eh_frame`, of so many bytes, of which the first are given.
    #[cfg(target_arch = "x86_64")]
    fn file_of(bytes: &[u8], size: u64) -> (tempfile::NamedTempFile, File) {
        use std::io::{Seek, SeekFrom, Write};
        const NAMES: &[u8] = b"\0.eh_frame\0.shstrtab\0";
        let section = |name: u32, kind: u32, offset: u64, size: u64| {
            let mut header = [name, kind].map(u32::to_ne_bytes).concat();
            header.extend([2, 0x1000, offset, size].map(u64::to_ne_bytes).concat());
            header.resize(48, 0);
            header.extend([8, 0].map(u64::to_ne_bytes).concat());
            header
        };
        let sections = 64 + NAMES.len() as u64;
        let at = sections + 3 * 64;
        let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        elf.extend([3u16, 62].map(u16::to_ne_bytes).concat());
        elf.extend(1u32.to_ne_bytes());
        elf.extend([0, 0, sections].map(u64::to_ne_bytes).concat());
        elf.extend(0u32.to_ne_bytes());
        elf.extend([64u16, 56, 0, 64, 3, 2].map(u16::to_ne_bytes).concat());
        elf.extend(NAMES);
        elf.extend([section(0, 0, 0, 0), section(1, 1, at, size), section(11, 3, 64, NAMES.len() as u64)].concat());
        let temporary = tempfile::NamedTempFile::new().unwrap();
        let mut file = File::from_parts(temporary.reopen().unwrap(), temporary.path());
        file.write_all(&elf).unwrap();
        file.write_all(bytes).unwrap();
        file.set_len(at + size).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        (temporary, file)
    }

    /// `.eh_frame` of one function of `n` bytes, with a row for each of them: an advance by one and another offset of the CFA.
    #[cfg(target_arch = "x86_64")]
    fn function_of(n: usize) -> Vec<u8> {
        // Version 1, `zR`, alignments 1 and -8, the return address in register 16, addresses of 4 bytes; CFA at rsp + 8.
        let cie = [&[1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x03, 0x0c, 7, 8, 0x90, 1][..], &[0; 2]].concat();
        let entry = |pointer: u32, body: &[u8]| {
            let length = u32::try_from(4 + body.len()).unwrap();
            [&length.to_ne_bytes(), &pointer.to_ne_bytes(), body].concat()
        };
        let mut section = entry(0, &cie);
        let begin = [0x40_0000u32, u32::try_from(n).unwrap() + 8].map(u32::to_ne_bytes).concat();
        let mut body = [&begin[..], &[0]].concat();
        body.extend((0..n).flat_map(|row| [0x41, 0x0e, if row % 2 == 0 { 16 } else { 24 }]));
        let pointer = u32::try_from(section.len() + 4).unwrap();
        section.extend(entry(pointer, &body));
        section.extend([0; 4]);
        section
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_function_with_many_rows_has_them_all_up_to_the_bound() {
        let rows = |n: usize, most: Most| {
            let section = function_of(n);
            let (_temporary, file) = file_of(&section, section.len() as u64);
            Code::read(file, most).unwrap().rows.len()
        };
        // One for each, one before, and one where the function ends.
        assert_eq!(rows(1000, Most::ALL), 1002);
        let few = Most { rows: 500, ..Most::ALL };
        assert_eq!((rows(498, few), rows(1000, few)), (500, 0));
    }

    /// Files of others, as large as they like: 64 MiB of rules are not read, nor are more than eight million rows kept.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn files_beyond_the_bounds_have_no_table_and_take_no_memory() {
        let (_temporary, file) = file_of(&function_of(10), Most::ALL.bytes + 1);
        assert_eq!(Code::read(file, Most::ALL).unwrap().rows.len(), 0);
        let section = function_of(Most::ALL.rows + 100);
        assert!((section.len() as u64) < Most::ALL.bytes, "{}", section.len());
        let (_temporary, file) = file_of(&section, section.len() as u64);
        let code = Code::read(file, Most::ALL).unwrap();
        assert_eq!((code.rows.len(), code.others), (0, 0));
        // A file whose headers claim more symbols than a bounded table reads is not read.
        let (_temporary, file) = file_of(&function_of(10), 100);
        let symbols = Most { symbols: 1, ..Most::ALL };
        assert!(Code::read(file, symbols).is_none(), "names of sections are more than one byte");
    }
}
