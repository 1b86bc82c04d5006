//! Compilers and their options, from what they leave in sections: `.comment`, `.GCC.command.line`, Go's build
//! information. Those of DWARF are in [`crate::dwarf`].

use object::{
    Endianness, Object, ObjectSection, ReadRef,
    read::elf::{ElfFile, FileHeader},
};
use serde::Serialize;

use crate::{Binary, Depth};

/// A compiler with the options that it had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compiler {
    /// Its name and version as it writes them: `GNU C17 12.2.0`, `rustc version 1.95.0 (…)`.
    pub name: String,
    /// Options that change the code, in its order; empty where it does not leave them.
    pub options: Vec<String>,
    /// Compilation units, 0 where they are not counted.
    pub units: u64,
    /// `DWARF`, `command line`, `build info`, `notes` or `comment`, the most telling first.
    pub from: &'static str,
}

/// Where names come from, the most telling first.
const ORIGINS: [&str; 5] = ["DWARF", "command line", "build info", "notes", "comment"];
/// Different compilers with different options that are kept.
const MOST: usize = 200;
/// The longest text of one.
const LONGEST: usize = 16 << 10;
/// The longest section that is read.
pub(crate) const LONGEST_SECTION: u64 = 1 << 20;

/// Adds a compiler, or a unit of one that is known.
pub(crate) fn add(all: &mut Vec<Compiler>, new: Compiler) {
    let same = |one: &Compiler| one.from == new.from && one.name == new.name && one.options == new.options;
    match all.iter().position(same) {
        Some(i) => all[i].units += new.units,
        None if all.len() < MOST => all.push(new),
        None => {}
    }
}

impl Compiler {
    /// Of a text as GCC writes it: a name, then options.
    pub(crate) fn of_producer(producer: &[u8], units: u64, from: &'static str) -> Option<Compiler> {
        let text = String::from_utf8_lossy(&producer[..producer.len().min(LONGEST)]);
        let (name, options) = match text.split_once(" -") {
            Some((name, options)) => (name, format!("-{options}")),
            None => (text.trim_end(), String::new()),
        };
        let options = options.split_whitespace().map(str::to_owned).collect();
        (!name.is_empty()).then(|| Compiler { name: name.trim().to_owned(), options, units, from })
    }

    /// The last option that begins with `prefix`: it is the one that holds.
    pub fn option(&self, prefix: &str) -> Option<&str> {
        self.options.iter().rev().find(|option| option.starts_with(prefix)).map(String::as_str)
    }

    fn rank(&self) -> usize {
        ORIGINS.iter().position(|from| *from == self.from).unwrap_or(ORIGINS.len())
    }
}

/// A section's bytes, decompressed; None when it is not there, damaged, or longer than `limit`.
pub(crate) fn section<'d, Elf, R>(
    file: &ElfFile<'d, Elf, R>,
    name: &str,
    limit: u64,
) -> Option<std::borrow::Cow<'d, [u8]>>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'d>,
{
    let section = file.section_by_name(name)?;
    let range = section.compressed_file_range().ok()?;
    if range.compressed_size.max(range.uncompressed_size) > limit {
        return None;
    }
    // Debug information is packed ten to one; a section that claims far more would fill the memory.
    if range.format != object::CompressionFormat::None
        && range.uncompressed_size > range.compressed_size.saturating_mul(300)
    {
        return None;
    }
    section.uncompressed_data().ok()
}

/// Reads what sections say.
pub(crate) fn of_sections<'d, Elf, R>(file: &ElfFile<'d, Elf, R>, binary: &mut Binary)
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'d>,
{
    let comment = section(file, ".comment", LONGEST_SECTION).unwrap_or_default();
    for text in texts(&comment) {
        if let Some(linker) = text.strip_prefix("Linker: ").or(Some(text).filter(|text| text.starts_with("mold "))) {
            binary.linker = Some(linker.to_owned());
        } else {
            let (name, from) = (text.to_owned(), "comment");
            add(&mut binary.compilers, Compiler { name, from, ..Compiler::default() });
        }
    }
    for name in [".GCC.command.line", ".LLVM.command.line"] {
        let lines = section(file, name, LONGEST_SECTION).unwrap_or_default();
        for line in texts(&lines).take(MOST).filter(|line| line.contains(" -")) {
            let compiler = Compiler::of_producer(line.as_bytes(), 0, "command line");
            compiler.into_iter().for_each(|one| add(&mut binary.compilers, one));
        }
    }
    let go = section(file, ".go.buildinfo", LONGEST_SECTION).unwrap_or_default();
    go_build(&go).into_iter().for_each(|one| add(&mut binary.compilers, one));
}

/// Texts that end with a NUL.
fn texts(bytes: &[u8]) -> impl Iterator<Item = &str> {
    bytes.split(|byte| *byte == 0).filter_map(|text| std::str::from_utf8(text).ok()).filter(|text| !text.is_empty())
}

/// Go's build information since 1.18: a mark, 16 bytes more, the version and the settings, each with its length before it.
fn go_build(section: &[u8]) -> Option<Compiler> {
    let begin = section.windows(14).position(|part| part == b"\xff Go buildinf:")?;
    let inline = section.get(begin + 15)? & 2 != 0;
    let rest = section.get(begin + 32..).filter(|_| inline);
    let Some((version, rest)) = rest.and_then(counted) else {
        return Some(Compiler { name: "Go".to_owned(), from: "build info", ..Compiler::default() });
    };
    let settings = counted(rest).map_or(&b""[..], |(settings, _)| settings);
    let settings = String::from_utf8_lossy(settings);
    let options = settings.lines().filter_map(|line| line.strip_prefix("build\t"));
    // The revision of the sources is no option.
    let options = options.filter(|option| !option.starts_with("vcs")).take(64).map(str::to_owned).collect();
    Some(Compiler { name: String::from_utf8_lossy(version).into_owned(), options, units: 0, from: "build info" })
}

/// A text with its length before it, in groups of seven bits.
fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length = 0usize;
    for (i, byte) in bytes.iter().enumerate().take(4) {
        length |= usize::from(byte & 127) << (7 * i);
        if byte & 128 == 0 {
            return bytes.get(i + 1..)?.split_at_checked(length).filter(|(text, _)| text.len() < LONGEST);
        }
    }
    None
}

/// Orders compilers, and reports whether they optimised at link time.
pub(crate) fn conclude(binary: &mut Binary, depth: Depth) {
    binary.compilers.sort_by(|a, b| a.rank().cmp(&b.rank()).then(b.units.cmp(&a.units)).then(a.name.cmp(&b.name)));
    let mut known = binary.compilers.iter().filter(|one| one.from == "DWARF" || one.from == "command line").peekable();
    let has_options = known.peek().is_some() && known.clone().all(|one| !one.options.is_empty());
    let is_lto = |one: &Compiler| {
        one.name.starts_with("GNU GIMPLE")
            || one.option("-flto").or(one.option("-fno-lto")).is_some_and(|o| o != "-fno-lto")
    };
    if known.any(is_lto) {
        binary.lto = Some(true);
    } else if has_options && depth == Depth::Whole && binary.lto.is_none() {
        binary.lto = Some(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_producer_is_a_name_and_options_of_which_the_last_holds() {
        let gcc = Compiler::of_producer(b"GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O0 -O2", 1, "DWARF").unwrap();
        assert_eq!(
            (gcc.name.as_str(), gcc.option("-O"), gcc.option("-march=")),
            ("GNU C17 12.2.0", Some("-O2"), Some("-march=x86-64"))
        );
        let clang = Compiler::of_producer(b"Debian clang version 14.0.6", 1, "DWARF").unwrap();
        assert!(clang.options.is_empty() && clang.option("-O").is_none());
        assert_eq!(Compiler::of_producer(b"", 1, "DWARF"), None);
    }

    #[test]
    fn build_information_of_go_is_cut_safely_wherever_it_ends() {
        let mut whole = b"\xff Go buildinf:\x08\x02".to_vec();
        whole.extend([0; 16]);
        whole.extend(b"\x08go1.22.1\x26path\tx\nbuild\tGOAMD64=v3\nbuild\tvcs=git\n");
        let go = go_build(&whole).unwrap();
        assert_eq!((go.name.as_str(), go.options), ("go1.22.1", vec!["GOAMD64=v3".to_owned()]));
        for end in 0..whole.len() {
            let cut = go_build(&whole[..end]);
            assert!(cut.is_none_or(|go| go.name.starts_with("Go") || go.name == "go1.22.1"));
        }
    }
}
