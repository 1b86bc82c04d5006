//! ELF notes: build-id, properties of the code, the package, the linker, and what compilers note of their options
//! (`.gnu.build.attributes`).

use object::{
    Endianness, Object, ReadRef,
    elf::{
        GNU_PROPERTY_X86_ISA_1_NEEDED, GNU_PROPERTY_X86_ISA_1_USED, NT_GNU_BUILD_ID, NT_GNU_GOLD_VERSION,
        NT_GNU_PROPERTY_TYPE_0,
    },
    read::elf::{ElfFile, FileHeader, Note, ProgramHeader, SectionHeader},
};

use crate::{
    Binary,
    compilers::{Compiler, add},
};

/// Bits of `GNU_PROPERTY_X86_FEATURE_1_AND`.
const X86_FEATURES: u32 = 0xc000_0002;
const FEATURES: [(u32, &str); 2] = [(1, "ibt"), (2, "shstk")];
/// The note of a package: owner `FDO`.
const PACKAGE: u32 = 0xcafe_1a7e;
/// Build attributes of a compiler, for a range of addresses or for a function.
const BUILD_ATTRIBUTES: [u32; 2] = [0x100, 0x101];
/// Notes that are read: an address range has each attribute again.
const MOST: usize = 200_000;

/// Reads the notes of sections, or of segments where sections are gone.
pub(crate) fn read<'d, Elf, R>(file: &ElfFile<'d, Elf, R>, binary: &mut Binary)
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'d>,
{
    let (endian, data) = (file.endian(), file.data());
    let mut attributes = Attributes::default();
    let sections = file.elf_section_table().iter().filter_map(|section| section.notes(endian, data).ok().flatten());
    let segments = file.elf_program_headers().iter().filter_map(|header| header.notes(endian, data).ok().flatten());
    let has_sections = file.sections().next().is_some();
    let segments = segments.take(if has_sections { 0 } else { usize::MAX });
    for note in sections.chain(segments).flat_map(|notes| notes.map_while(Result::ok)).take(MOST) {
        match (note.name(), note.n_type(endian)) {
            (b"GNU", NT_GNU_BUILD_ID) => {
                let digits = note.desc().iter().take(64).map(|byte| format!("{byte:02x}"));
                binary.build_id = Some(digits.collect()).filter(|id: &String| !id.is_empty());
            }
            (b"GNU", NT_GNU_GOLD_VERSION) => binary.linker = Some(text(note.desc())),
            (b"GNU", NT_GNU_PROPERTY_TYPE_0) => properties(&note, endian, binary),
            // Go names its build by a text.
            (b"Go", 4) if binary.build_id.is_none() => binary.build_id = Some(text(note.desc())),
            (b"FDO", PACKAGE) => binary.package_note = Some(text(note.desc())),
            (name, kind) if BUILD_ATTRIBUTES.contains(&kind) => attributes.take(name),
            _ => {}
        }
    }
    attributes.conclude(binary);
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()).min(1024);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn properties<Elf: FileHeader<Endian = Endianness>>(note: &Note<'_, Elf>, endian: Endianness, binary: &mut Binary) {
    let Some(properties) = note.gnu_properties(endian) else { return };
    for property in properties.map_while(Result::ok) {
        let Ok(bits) = property.data_u32(endian) else { continue };
        let level = || u8::try_from(32 - (bits & 15).leading_zeros()).ok().filter(|level| *level > 0);
        match property.pr_type() {
            GNU_PROPERTY_X86_ISA_1_NEEDED => binary.needs_level = level(),
            GNU_PROPERTY_X86_ISA_1_USED => binary.uses_level = level(),
            X86_FEATURES => {
                for (bit, name) in FEATURES {
                    if bits & bit != 0 && !binary.hardening.contains(&name) {
                        binary.hardening.push(name);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Attributes that a compiler's plug-in notes: `GA`, a sign for the kind of value, a number or a name, the value.
#[derive(Default)]
struct Attributes {
    tools: Vec<String>,
    /// Optimisation and debug options, as numbers of bits.
    options: Vec<u64>,
}

impl Attributes {
    fn take(&mut self, name: &[u8]) {
        match name {
            [b'G', b'A', b'$', 5, tool @ ..] => {
                let tool = text(tool);
                if !tool.is_empty() && !self.tools.contains(&tool) && self.tools.len() < 64 {
                    self.tools.push(tool);
                }
            }
            [b'G', b'A', b'*', b'G', b'O', b'W', 0, value @ ..] => {
                let value = value.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
                if !self.options.contains(&value) && self.options.len() < 64 {
                    self.options.push(value);
                }
            }
            _ => {}
        }
    }

    fn conclude(self, binary: &mut Binary) {
        let level = |value: &u64| match value {
            value if value & 1 << 12 != 0 => "-Ofast".to_owned(),
            value if value & 1 << 11 != 0 => "-Os".to_owned(),
            value if value & 1 << 13 != 0 => "-Og".to_owned(),
            value => format!("-O{}", value >> 9 & 3),
        };
        if self.options.iter().any(|value| value & 1 << 16 != 0) {
            binary.lto = Some(true);
        }
        let mut options: Vec<String> = self.options.iter().map(level).collect();
        options.sort();
        options.dedup();
        for tool in self.tools {
            // `running on` is that which built the plug-in: the plug-in names what it ran in as well.
            if tool.starts_with("running gcc") || tool.starts_with("gcc") || tool.contains("clang") {
                let name = tool.strip_prefix("running ").unwrap_or(&tool).to_owned();
                add(&mut binary.compilers, Compiler { name, options: options.clone(), units: 0, from: "notes" });
            }
        }
    }
}
