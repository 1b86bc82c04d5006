//! Scan of a program's code: instructions beyond the first level of x86-64, and functions that keep a frame pointer.
//!
//! Functions are found by the unwind tables, which stripped programs have too, or by symbols, whichever knows more. A library
//! that chooses at run time has few functions of a high level; one built for it has many.

use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, UnwindSection};
use iced_x86::{Code as Op, CpuidFeature, Decoder, DecoderOptions, Mnemonic, OpKind, Register};
use object::{
    Architecture, Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol, ReadRef, SectionKind, SymbolKind,
    read::elf::{ElfFile, FileHeader},
};
use serde::Serialize;

use crate::{Binary, compilers::section};

/// Code that is decoded, in bytes; of more, functions are taken evenly.
const MOST_CODE: u64 = 64 << 20;
/// Functions that are looked at.
const MOST_FUNCTIONS: usize = 1_000_000;
/// The largest section that is read.
const LONGEST: u64 = 1 << 30;
/// Instructions of a function in which its frame is set up.
const PROLOGUE: u32 = 12;

/// Properties of the code of an x86 program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Code {
    /// Functions that were decoded.
    pub functions: u64,
    /// Functions that use the stack in their first instructions.
    pub with_stack: u64,
    /// Those of them that set up a frame pointer.
    pub with_frame_pointer: u64,
    /// Functions with an instruction of x86-64-v2, v3 and v4 and none of a higher level.
    pub of_level: [u64; 3],
}

impl Code {
    /// The highest level of which an instruction was seen.
    pub fn level(&self) -> u8 {
        (0..3u8).rev().find(|i| self.of_level[usize::from(*i)] > 0).map_or(1, |i| i + 2)
    }

    /// Share of functions with frame pointers, of those that use the stack; None where none does.
    pub fn frame_pointers(&self) -> Option<f64> {
        (self.with_stack > 0).then(|| self.with_frame_pointer as f64 / self.with_stack as f64)
    }
}

/// Decodes the functions.
pub(crate) fn read<'d, Elf, R>(file: &ElfFile<'d, Elf, R>, binary: &mut Binary)
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'d>,
{
    let bits = match file.architecture() {
        Architecture::X86_64 => 64,
        Architecture::I386 => 32,
        _ => return,
    };
    let texts: Vec<Text<'d>> = file
        .sections()
        .filter(|section| section.kind() == SectionKind::Text && section.size() <= LONGEST)
        .filter(|section| !section.name_bytes().unwrap_or_default().starts_with(b".plt"))
        .filter_map(|section| {
            Some(Text { index: section.index().0, address: section.address(), bytes: section.data().ok()? })
        })
        .collect();
    let mut functions = of_symbols(file, &texts);
    if file.kind() != ObjectKind::Relocatable {
        let unwound = of_unwind_tables(file, &texts);
        if unwound.len() > functions.len() {
            functions = unwound;
        }
    }
    functions.sort_unstable();
    functions.dedup_by_key(|(text, begin, _)| (*text, *begin));
    let bytes: u64 = functions.iter().map(|(_, begin, end)| (end - begin) as u64).sum();
    let step = usize::try_from(bytes.div_ceil(MOST_CODE)).unwrap_or(usize::MAX).max(1);
    let mut code = Code::default();
    for (text, begin, end) in functions.into_iter().step_by(step) {
        function(&texts[text].bytes[begin..end], bits, &mut code);
    }
    binary.code = Some(code).filter(|code| code.functions > 0);
}

/// A section of code.
struct Text<'d> {
    index: usize,
    address: u64,
    bytes: &'d [u8],
}

/// Where a function is: the number of its section, and its begin and end in it.
type Function = (usize, usize, usize);

impl Text<'_> {
    fn range(&self, address: u64, size: u64) -> Option<(usize, usize)> {
        let begin = usize::try_from(address.checked_sub(self.address)?).ok()?;
        let end = begin.checked_add(usize::try_from(size).ok()?)?;
        (begin < end && end <= self.bytes.len()).then_some((begin, end))
    }
}

fn of_symbols<'d, Elf, R>(file: &ElfFile<'d, Elf, R>, texts: &[Text<'_>]) -> Vec<Function>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'d>,
{
    let place = |symbol: object::read::elf::ElfSymbol<'d, '_, Elf, R>| {
        let index = symbol.section_index()?.0;
        let at = texts.binary_search_by_key(&index, |text| text.index).ok()?;
        let (begin, end) = texts[at].range(symbol.address(), symbol.size())?;
        Some((at, begin, end))
    };
    let is_function = |symbol: &object::read::elf::ElfSymbol<'d, '_, Elf, R>| symbol.kind() == SymbolKind::Text;
    file.symbols().chain(file.dynamic_symbols()).filter(is_function).filter_map(place).take(MOST_FUNCTIONS).collect()
}

fn of_unwind_tables<'d, Elf, R>(file: &ElfFile<'d, Elf, R>, texts: &[Text<'_>]) -> Vec<Function>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'d>,
{
    let mut found = Vec::new();
    let Some(bytes) = section(file, ".eh_frame", LONGEST) else { return found };
    let address = file.section_by_name(".eh_frame").map_or(0, |section| section.address());
    let mut frames = EhFrame::from(EndianSlice::new(&bytes, LittleEndian));
    frames.set_address_size(if file.is_64() { 8 } else { 4 });
    let bases = BaseAddresses::default().set_eh_frame(address);
    let mut by_address: Vec<(u64, usize)> = texts.iter().enumerate().map(|(i, text)| (text.address, i)).collect();
    by_address.sort_unstable();
    let mut entries = frames.entries(&bases);
    while found.len() < MOST_FUNCTIONS {
        let Ok(Some(entry)) = entries.next() else { break };
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else { continue };
        let after = by_address.partition_point(|(begin, _)| *begin <= fde.initial_address());
        let Some((_, at)) = after.checked_sub(1).map(|i| by_address[i]) else { continue };
        if let Some((begin, end)) = texts[at].range(fde.initial_address(), fde.len()) {
            found.push((at, begin, end));
        }
    }
    found
}

/// Decodes one function.
fn function(bytes: &[u8], bits: u32, code: &mut Code) {
    let (frame, stack) = if bits == 64 { (Register::RBP, Register::RSP) } else { (Register::EBP, Register::ESP) };
    let mut decoder = Decoder::new(bits, bytes, DecoderOptions::NONE);
    let (mut level, mut at) = (1, 0);
    let (mut is_saved, mut is_stored, mut has_frame, mut uses_stack) = (false, false, false, false);
    let mut instruction = iced_x86::Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.code() == Op::INVALID {
            // Data among the code: what follows may be decoded from the wrong byte.
            break;
        }
        at += 1;
        if at <= PROLOGUE {
            let (first, second) = (instruction.op0_register(), instruction.op1_register());
            match instruction.mnemonic() {
                Mnemonic::Push => {
                    uses_stack = true;
                    is_saved = first == frame;
                }
                Mnemonic::Enter => (uses_stack, has_frame) = (true, true),
                // A pointer into the stack once there is room is a variable, not a frame.
                Mnemonic::Sub if first == stack => (uses_stack, is_saved) = (true, false),
                Mnemonic::Mov if is_saved && first == frame && second == stack => has_frame = true,
                // Go made room before it saved the register, and then pointed to where it is.
                Mnemonic::Mov if instruction.op0_kind() == OpKind::Memory && second == frame => {
                    is_stored = uses_stack && instruction.memory_base() == stack;
                }
                Mnemonic::Lea if is_stored && first == frame && instruction.memory_base() == stack => has_frame = true,
                _ => {}
            }
        }
        level = level.max(level_of(&instruction));
    }
    code.functions += 1;
    code.with_stack += u64::from(uses_stack);
    code.with_frame_pointer += u64::from(has_frame);
    if level > 1 {
        code.of_level[level - 2] += 1;
    }
}

/// The level of x86-64 that has an instruction.
fn level_of(instruction: &iced_x86::Instruction) -> usize {
    // Compilers write these also for processors that take them for `bsf` and `bsr`.
    if matches!(instruction.mnemonic(), Mnemonic::Tzcnt | Mnemonic::Lzcnt) {
        return 1;
    }
    let of = |feature: &CpuidFeature| match *feature {
        CpuidFeature::SSE3 | CpuidFeature::SSSE3 | CpuidFeature::SSE4_1 | CpuidFeature::SSE4_2 => 2,
        CpuidFeature::POPCNT | CpuidFeature::CMPXCHG16B => 2,
        CpuidFeature::AVX | CpuidFeature::AVX2 | CpuidFeature::BMI1 | CpuidFeature::BMI2 => 3,
        CpuidFeature::F16C | CpuidFeature::FMA | CpuidFeature::MOVBE => 3,
        CpuidFeature::AVX512F | CpuidFeature::AVX512BW | CpuidFeature::AVX512CD => 4,
        CpuidFeature::AVX512DQ | CpuidFeature::AVX512VL => 4,
        _ => 1,
    };
    instruction.cpuid_features().iter().map(of).max().unwrap_or(1)
}
