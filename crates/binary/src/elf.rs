//! Parts common to all ELF files: header, program headers, the dynamic section, symbols.

use object::{
    Architecture, Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol, ReadRef,
    elf::{
        DF_1_NOW, DF_1_PIE, DF_BIND_NOW, DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME,
        DT_STRTAB, PT_GNU_RELRO,
    },
    read::elf::{Dyn, ElfFile, FileHeader, ProgramHeader},
};

use crate::{Binary, Depth, Error, allocator, code, compilers, dwarf, notes};

/// Entries that a dynamic section may have.
const MOST_ENTRIES: usize = 20_000;
/// The longest name that is kept.
const LONGEST: usize = 4096;

impl Binary {
    /// Reads a file.
    ///
    /// # Errors
    /// When it is no ELF file, or one whose headers make no sense. What else is damaged is in [`Binary::notes`], or missing.
    pub fn read<'d, R: ReadRef<'d>>(data: R, depth: Depth) -> Result<Binary, Error> {
        let head = data.read_bytes_at(0, data.len().unwrap_or(0).min(4)).unwrap_or_default();
        match head {
            b"\x7fELF" => {}
            [b'#', b'!', ..] => return Err(Error::Other("a script")),
            [] => return Err(Error::Other("empty")),
            [b'M', b'Z', ..] => return Err(Error::Other("a Windows program")),
            b"!<ar" => return Err(Error::Other("an archive of object files: unpack it with `ar x`")),
            _ => return Err(Error::Other("no ELF header")),
        }
        match object::File::parse(data)? {
            object::File::Elf32(file) => Ok(of(&file, 32, depth)),
            object::File::Elf64(file) => Ok(of(&file, 64, depth)),
            _ => Err(Error::Other("no ELF header")),
        }
    }
}

fn of<'d, Elf, R>(file: &ElfFile<'d, Elf, R>, class: u8, depth: Depth) -> Binary
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'d>,
{
    let mut binary = Binary { class, machine: machine(file.architecture(), class), ..Binary::default() };
    let dynamic = dynamic(file, &mut binary);
    binary.kind = match file.kind() {
        ObjectKind::Executable => "executable",
        // A library with an interpreter can be run as well (libc.so.6), so the flag decides where it is there.
        ObjectKind::Dynamic if dynamic.is_pie || (binary.soname.is_none() && binary.interpreter.is_some()) => {
            "position-independent executable"
        }
        ObjectKind::Dynamic => "shared object",
        ObjectKind::Relocatable => "object file",
        ObjectKind::Core => "core dump",
        _ => "unknown",
    };
    if binary.kind == "position-independent executable" {
        binary.hardening.push("pie");
    }
    let has_relro = file.elf_program_headers().iter().any(|header| header.p_type(file.endian()) == PT_GNU_RELRO);
    match (has_relro, dynamic.binds_now) {
        (true, true) => binary.hardening.push("full relro"),
        (true, false) => binary.hardening.push("partial relro"),
        _ => {}
    }
    notes::read(file, &mut binary);
    compilers::of_sections(file, &mut binary);
    symbols(file, &mut binary);
    let has_dwarf = [".debug_info", ".zdebug_info"].iter().any(|name| file.section_by_name(name).is_some());
    let has_symbols = file.symbols().next().is_some();
    binary.debug = match (has_dwarf, has_symbols) {
        (true, _) => "DWARF",
        (_, true) => "symbols",
        _ => "stripped",
    };
    if depth == Depth::Whole {
        dwarf::read(file, &mut binary);
        code::read(file, &mut binary);
    }
    compilers::conclude(&mut binary, depth);
    binary
}

fn machine(architecture: Architecture, class: u8) -> String {
    match architecture {
        Architecture::X86_64 if class == 32 => "x32".to_owned(),
        Architecture::X86_64 => "x86-64".to_owned(),
        Architecture::I386 => "i386".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// Other properties in the dynamic section.
#[derive(Default)]
struct Dynamic {
    binds_now: bool,
    is_pie: bool,
}

/// Reads the dynamic section by the program headers, as the loader does: sections may be gone.
fn dynamic<'d, Elf, R>(file: &ElfFile<'d, Elf, R>, binary: &mut Binary) -> Dynamic
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'d>,
{
    let (endian, data) = (file.endian(), file.data());
    let headers = file.elf_program_headers();
    let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]).into_owned();
    let interpreter = headers.iter().find_map(|header| header.interpreter(endian, data).ok().flatten());
    binary.interpreter = interpreter.map(text);
    let mut found = Dynamic::default();
    let Some(entries) = headers.iter().find_map(|header| header.dynamic(endian, data).ok().flatten()) else {
        return found;
    };
    let entries: Vec<(u32, u64)> = entries
        .iter()
        .take(MOST_ENTRIES)
        .filter_map(|entry| Some((entry.tag32(endian)?, entry.d_val(endian).into())))
        .take_while(|(tag, _)| *tag != 0)
        .collect();
    let value = |wanted: u32| entries.iter().find(|(tag, _)| *tag == wanted).map(|(_, value)| *value);
    let strings = value(DT_STRTAB).and_then(|address| {
        headers.iter().find_map(|header| {
            let into = address.checked_sub(header.p_vaddr(endian).into())?;
            let (offset, size) = header.file_range(endian);
            (header.p_type(endian) == object::elf::PT_LOAD && into < size).then(|| offset.saturating_add(into))
        })
    });
    let end = data.len().unwrap_or(0);
    let string = |at: u64| {
        let begin = strings?.checked_add(at).filter(|begin| *begin < end)?;
        data.read_bytes_at_until(begin..end, 0).ok().map(text)
    };
    binary.needed = entries.iter().filter(|(tag, _)| *tag == DT_NEEDED).filter_map(|(_, at)| string(*at)).collect();
    binary.soname = value(DT_SONAME).and_then(string);
    binary.rpath = value(DT_RPATH).and_then(string);
    binary.runpath = value(DT_RUNPATH).and_then(string);
    let has = |tag: u32, flag: u32| value(tag).is_some_and(|flags| flags & u64::from(flag) != 0);
    found.binds_now = value(DT_BIND_NOW).is_some() || has(DT_FLAGS, DF_BIND_NOW) || has(DT_FLAGS_1, DF_1_NOW);
    found.is_pie = has(DT_FLAGS_1, DF_1_PIE);
    found
}

/// Adds the properties that names of symbols show.
fn symbols<'d, Elf, R>(file: &ElfFile<'d, Elf, R>, binary: &mut Binary)
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'d>,
{
    let (mut guarded, mut fortified, mut has_lto) = (false, false, false);
    let dynamic = file.dynamic_symbols().map(|symbol| (symbol, true));
    for (symbol, is_dynamic) in dynamic.chain(file.symbols().map(|symbol| (symbol, false))) {
        let Ok(name) = symbol.name_bytes() else { continue };
        if name.starts_with(b"__stack_chk_fail") || name.starts_with(b"__stack_chk_guard") {
            guarded = true;
        } else if symbol.is_undefined() && name.starts_with(b"__") && base(name).ends_with(b"_chk") {
            fortified = true;
        }
        if symbol.is_undefined() || name.is_empty() {
            continue;
        }
        // A symbol local to one file that is used by the code of another, once they are compiled together.
        has_lto |= name.windows(10).any(|part| part == b".lto_priv.") || name.starts_with(b"__gnu_lto_");
        // Without a dynamic section nothing but its own code can be asked.
        if name == b"malloc" && (is_dynamic || binary.needed.is_empty()) {
            binary.defines_malloc = true;
        }
        allocator::of_symbol(name, &mut binary.allocators);
    }
    if guarded {
        binary.hardening.push("stack protector");
    }
    if fortified {
        binary.hardening.push("fortify");
    }
    let has_section = file
        .sections()
        .any(|section| section.name_bytes().is_ok_and(|name| name.starts_with(b".gnu.lto_") || name == b".llvm.lto"));
    if has_lto || has_section {
        binary.lto = Some(true);
    }
}

/// A name without its version (`@GLIBC_2.34`).
fn base(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == b'@').next().unwrap_or(name)
}
