//! ELF files of programs: addresses to attach probes to, and how much there is to read.

use object::{
    Endianness, Object, ObjectSection, ObjectSegment, ReadRef,
    elf::{FileHeader64, SHT_DYNSYM, SHT_STRTAB, SHT_SYMTAB},
    read::elf::{FileHeader, SectionHeader},
};

/// Bytes of symbols and their names, by the headers alone: reading them takes time. 0: it is no 64-bit ELF file.
pub(crate) fn symbol_bytes<'data>(data: impl ReadRef<'data>) -> u64 {
    let Ok(header) = FileHeader64::<Endianness>::parse(data) else { return 0 };
    let Ok(endian) = header.endian() else { return 0 };
    let Ok(sections) = header.section_headers(endian, data) else { return 0 };
    let is_meant = |kind: u32| [SHT_SYMTAB, SHT_DYNSYM, SHT_STRTAB].contains(&kind);
    let sizes = sections.iter().filter(|section| is_meant(section.sh_type(endian)));
    sizes.fold(0, |sum: u64, section| sum.saturating_add(section.sh_size(endian)))
}

/// The file offset of an address of a program; None when it is in no loaded part.
pub(crate) fn file_offset(file: &object::File<'_>, address: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let into = address.checked_sub(segment.address())?;
        let (begin, size) = segment.file_range();
        (into < size).then_some(begin + into)
    })
}

/// A probe that a program's authors put there (USDT).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usdt {
    /// Where in the file.
    pub offset: u64,
    /// The file offset of the counter that switches it on.
    pub semaphore: Option<u64>,
    /// Its arguments as the note has them: `8@%rsi -4@$3`.
    pub arguments: String,
}

/// The probes `provider:name` of a program; several where it was compiled into several places.
pub(crate) fn usdt(file: &object::File<'_>, provider: &str, name: &str) -> Vec<Usdt> {
    let Some(notes) = file.section_by_name(".note.stapsdt").and_then(|section| section.data().ok()) else {
        return Vec::new();
    };
    let base = file.section_by_name(".stapsdt.base").map(|section| section.address());
    Notes(notes).filter_map(|note| of_note(file, base, note, provider, name)).collect()
}

/// The descriptions of ELF notes: name size, description size, kind (4 bytes each), name, description, both filled up to 4.
struct Notes<'a>(&'a [u8]);

impl<'a> Iterator for Notes<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let size = |at: usize| -> Option<usize> {
            let bytes = self.0.get(at..at + 4)?;
            usize::try_from(u32::from_ne_bytes(bytes.try_into().ok()?)).ok()
        };
        let begin = 12 + size(0)?.next_multiple_of(4);
        let end = begin + size(4)?;
        let note = self.0.get(begin..end)?;
        self.0 = self.0.get(end.next_multiple_of(4)..).unwrap_or_default();
        Some(note)
    }
}

/// Location, base and semaphore (8 bytes each), then provider, name and arguments, each with a NUL.
fn of_note(file: &object::File<'_>, base: Option<u64>, note: &[u8], provider: &str, name: &str) -> Option<Usdt> {
    let (numbers, texts) = note.split_at_checked(24)?;
    let number = |at: usize| Some(u64::from_ne_bytes(numbers.get(at..at + 8)?.try_into().ok()?));
    let mut texts = texts.split(|byte| *byte == 0).map(|text| std::str::from_utf8(text).unwrap_or(""));
    if texts.next() != Some(provider) || texts.next() != Some(name) {
        return None;
    }
    // A program that was moved (prelink) still has the addresses from before in its notes.
    let moved = base.unwrap_or(number(8)?).wrapping_sub(number(8)?);
    let semaphore = Some(number(16)?).filter(|address| *address != 0);
    Some(Usdt {
        offset: file_offset(file, number(0)?.wrapping_add(moved))?,
        semaphore: semaphore.and_then(|address| file_offset(file, address.wrapping_add(moved))),
        arguments: texts.next().unwrap_or("").to_owned(),
    })
}

/// The offset in the kernel's `struct pt_regs` of an argument that is a whole register, such as `8@%rsi`.
pub(crate) fn place_of_register(argument: &str) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    const REGISTERS: [&str; 15] =
        ["r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi"];
    #[cfg(not(target_arch = "x86_64"))]
    const REGISTERS: [&str; 8] = ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"];
    let register = argument.strip_prefix("8@").or_else(|| argument.strip_prefix("-8@"))?.trim_start_matches('%');
    REGISTERS.iter().position(|name| *name == register).map(|place| 8 * place as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_taken_apart() {
        let mut bytes = Vec::new();
        for text in ["abcd", "abcdef"] {
            bytes.extend(8u32.to_ne_bytes());
            bytes.extend((text.len() as u32).to_ne_bytes());
            bytes.extend(3u32.to_ne_bytes());
            bytes.extend(b"stapsdt\0");
            bytes.extend(text.as_bytes());
        }
        let notes: Vec<_> = Notes(&bytes).collect();
        assert_eq!(notes, [&b"abcd"[..], b"abcdef"]);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn registers_stand_where_the_kernel_keeps_them() {
        assert_eq!(place_of_register("8@%rsi"), Some(13 * 8));
        assert_eq!(place_of_register("-8@%r15"), Some(0));
        assert_eq!(place_of_register("8@-8(%rbp)"), None);
        assert_eq!(place_of_register("4@%esi"), None);
    }
}
