//! The producers of a program's DWARF: the compiler of each unit, with its options.

use std::borrow::Cow;

use gimli::{
    AbbreviationsCacheStrategy, AttributeValue, DW_AT_producer, DW_AT_str_offsets_base, Dwarf, EndianSlice,
    RunTimeEndian,
};
use object::{
    Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol, ReadRef, RelocationTarget,
    read::elf::{ElfFile, FileHeader},
};

use crate::{
    Binary,
    compilers::{Compiler, add, section},
};

/// The largest section that is read.
const LONGEST: u64 = 512 << 20;
/// Units that are read.
const MOST_UNITS: usize = 200_000;

/// Sections that the producers may lie in.
const NEEDED: [gimli::SectionId; 5] = [
    gimli::SectionId::DebugInfo,
    gimli::SectionId::DebugAbbrev,
    gimli::SectionId::DebugStr,
    gimli::SectionId::DebugLineStr,
    gimli::SectionId::DebugStrOffsets,
];

/// Adds the compilers.
pub(crate) fn read<'d, Elf, R>(file: &ElfFile<'d, Elf, R>, binary: &mut Binary)
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'d>,
{
    if file.section_by_name(".debug_info").is_none() {
        return;
    }
    let mut load = |id: gimli::SectionId| -> Result<Cow<'d, [u8]>, gimli::Error> {
        if !NEEDED.contains(&id) {
            return Ok(Cow::Borrowed(&[]));
        }
        let mut bytes = section(file, id.name(), LONGEST).unwrap_or_default();
        if bytes.is_empty() && file.section_by_name(id.name()).is_some_and(|section| section.size() > 0) {
            binary.notes.push(format!("{} is damaged or longer than {} MiB", id.name(), LONGEST >> 20));
        }
        if file.kind() == ObjectKind::Relocatable {
            relocate(file, id.name(), &mut bytes);
        }
        Ok(bytes)
    };
    let Ok(sections) = gimli::DwarfSections::load(&mut load) else { return };
    let endian = match file.endian() {
        Endianness::Little => RunTimeEndian::Little,
        Endianness::Big => RunTimeEndian::Big,
    };
    let mut dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
    let mut units = dwarf.units();
    for _ in 0..MOST_UNITS {
        let header = match units.next() {
            Ok(Some(header)) => header,
            Ok(None) => return,
            Err(error) => {
                binary.notes.push(format!("DWARF is damaged: {error}"));
                return;
            }
        };
        // A unit that cannot be read does not affect the next.
        if let Ok(Some(compiler)) = producer(&dwarf, header) {
            add(&mut binary.compilers, compiler);
        }
    }
}

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Reads the root of a unit and no more: its line table, which a damaged file may lack, is not needed.
fn producer(dwarf: &Dwarf<Slice<'_>>, header: gimli::UnitHeader<Slice<'_>>) -> gimli::Result<Option<Compiler>> {
    let abbreviations = dwarf.abbreviations(&header)?;
    let mut entries = header.entries(&abbreviations);
    let Some(root) = entries.next_dfs()? else { return Ok(None) };
    let text = match root.attr_value(DW_AT_producer) {
        Some(AttributeValue::String(text)) => text,
        Some(AttributeValue::DebugStrRef(offset)) => dwarf.string(offset)?,
        Some(AttributeValue::DebugLineStrRef(offset)) => dwarf.line_string(offset)?,
        Some(AttributeValue::DebugStrOffsetsIndex(index)) => {
            let base = match root.attr_value(DW_AT_str_offsets_base) {
                Some(AttributeValue::DebugStrOffsetsBase(base)) => base,
                _ => return Ok(None),
            };
            dwarf.string(dwarf.debug_str_offsets.get_str_offset(header.encoding().format, base, index)?)?
        }
        // Of a file that was compressed by dwz, it lies in another one.
        _ => return Ok(None),
    };
    Ok(Compiler::of_producer(text.slice(), 1, "DWARF"))
}

/// In an object file, references to other sections are filled in by relocations.
fn relocate<'d, Elf, R>(file: &ElfFile<'d, Elf, R>, name: &str, bytes: &mut Cow<'d, [u8]>)
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'d>,
{
    let Some(section) = file.section_by_name(name) else { return };
    for (offset, relocation) in section.relocations() {
        let size = usize::from(relocation.size() / 8);
        if relocation.kind() != object::RelocationKind::Absolute || !matches!(size, 4 | 8) {
            continue;
        }
        let base = match relocation.target() {
            RelocationTarget::Symbol(index) => file.symbol_by_index(index).map_or(0, |symbol| symbol.address()),
            _ => 0,
        };
        let Ok(begin) = usize::try_from(offset) else { continue };
        let Some(end) = begin.checked_add(size).filter(|end| *end <= bytes.len()) else { continue };
        let place = &mut bytes.to_mut()[begin..end];
        let here = match file.endian() {
            Endianness::Little => place.iter().rev().fold(0, |value: u64, byte| value << 8 | u64::from(*byte)),
            Endianness::Big => place.iter().fold(0, |value: u64, byte| value << 8 | u64::from(*byte)),
        };
        let implicit = if relocation.has_implicit_addend() { here } else { 0 };
        let value = base.wrapping_add_signed(relocation.addend()).wrapping_add(implicit);
        match file.endian() {
            Endianness::Little => place.copy_from_slice(&value.to_le_bytes()[..size]),
            Endianness::Big => place.copy_from_slice(&value.to_be_bytes()[8 - size..]),
        }
    }
}
