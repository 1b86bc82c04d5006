//! Probes where locks are taken and released.
//!
//! A probe replaces an instruction. The kernel does some kinds of instructions itself (pushes, jumps, no-operations) in
//! half a microsecond; all others it has to let the processor do alone, which takes ten. So the first instruction of the former
//! kinds is looked for, as long as what comes before it leaves the lock's address and the stack alone.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use fenxi_procfs::{
    Processes, Root,
    reading::{self, PROGRAM_LIMIT},
};
use object::{Object, ObjectSection, ObjectSymbol};

use super::judge::Kind;
use crate::{EbpfError, Loaded, Tracked, bpf::Probe, elf};

/// Functions, the program at them, and what is held after.
const FUNCTIONS: &[(&str, &str, Kind)] = &[
    ("pthread_mutex_unlock", "unlock_entered", Kind::MutexHeld),
    ("pthread_rwlock_unlock", "unlock_entered", Kind::ReadHeld),
    ("pthread_mutex_lock", "lock_entered", Kind::MutexHeld),
    ("pthread_rwlock_rdlock", "lock_entered", Kind::ReadHeld),
    ("pthread_rwlock_wrlock", "lock_entered", Kind::WriteHeld),
];

/// Where the C library may be that programs begin with which do not run yet.
const LIBRARIES: &[&str] = &[
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib64/libc.so.6",
    "/usr/lib/libc.so.6",
    "/lib/x86_64-linux-gnu/libpthread.so.0",
    "/lib64/libpthread.so.0",
];

/// Attaches to the libraries of those processes, or of all; gives what is to be known of it.
pub(super) fn attach(loaded: &mut Loaded, tracked: &Tracked) -> Result<Vec<String>, EbpfError> {
    let mut notes = Vec::new();
    let mut found = 0;
    let libraries: Vec<(PathBuf, Option<u32>)> = match tracked {
        Tracked::Processes(pids) => pids.iter().flat_map(|pid| mapped(*pid)).collect(),
        _ => LIBRARIES.iter().map(|path| (PathBuf::from(path), None)).filter(|(path, _)| path.exists()).collect(),
    };
    for (library, pid) in &libraries {
        found += attach_to(loaded, library, *pid, &mut notes)?;
    }
    if found == 0 {
        return Err(EbpfError::Target(
            "no pthread_mutex_lock to put a probe into: holds can be observed of programs that use glibc's locks as a \
             shared library; without --holds, waits are seen of all"
                .to_owned(),
        ));
    }
    notes.push(
        "holds are those of pthread_mutex_lock and pthread_rwlock_*: locks that a language brings itself (Rust, Go) and \
         trylock are not seen; each acquisition takes about a microsecond longer"
            .to_owned(),
    );
    Ok(notes)
}

/// The libraries of a process that may have locks.
fn mapped(pid: u32) -> Vec<(PathBuf, Option<u32>)> {
    let mut paths = BTreeSet::new();
    Processes::of(&Root::live()).each_mapping(pid, &mut |mapping| {
        let path = mapping.path.trim_end();
        let name = path.rsplit('/').next().unwrap_or("");
        if ["libc.so", "libc-2", "libpthread"].iter().any(|library| name.starts_with(library)) {
            paths.insert(path.to_owned());
        }
    });
    paths.into_iter().map(|path| (PathBuf::from(format!("/proc/{pid}/root{path}")), Some(pid))).collect()
}

fn attach_to(
    loaded: &mut Loaded,
    library: &Path,
    pid: Option<u32>,
    notes: &mut Vec<String>,
) -> Result<usize, EbpfError> {
    let unreadable = |error: &dyn std::fmt::Display| EbpfError::Target(format!("{}: {error}", library.display()));
    let bytes = reading::read(library, PROGRAM_LIMIT).map_err(|error| unreadable(&error))?;
    let file = object::File::parse(&*bytes).map_err(|error| unreadable(&error))?;
    let mut attached = 0;
    for (function, program, kind) in FUNCTIONS {
        let Some(symbol) =
            file.dynamic_symbols().find(|symbol| symbol.name() == Ok(function) && symbol.is_definition())
        else {
            continue;
        };
        let code = code_at(&file, symbol.address());
        let into = cheap_place(code);
        if into.is_none() {
            notes.push(format!(
                "{function} of {} begins with instructions that the kernel cannot do itself: each call takes about 10 µs \
                 longer",
                library.display()
            ));
        }
        let at = symbol.address() + into.unwrap_or(0) as u64;
        let Some(offset) = elf::file_offset(&file, at).and_then(|offset| usize::try_from(offset).ok()) else {
            continue;
        };
        let probe = Probe { file: library, pid, function: None, offset, at_return: false, semaphore: None };
        loaded.attach_probe_with(program, &probe, *kind as u64)?;
        attached += 1;
    }
    Ok(attached)
}

/// The code from an address to its section's end.
fn code_at<'a>(file: &object::File<'a>, address: u64) -> &'a [u8] {
    let section = file.sections().find(|s| address >= s.address() && address < s.address() + s.size());
    let code = section.and_then(|s| Some((s.data().ok()?, usize::try_from(address - s.address()).ok()?)));
    code.and_then(|(data, from)| data.get(from..)).unwrap_or(&[])
}

/// Bytes from a function's begin to the first instruction that a probe can replace cheaply, where the first argument is
/// still in its register and the return address on top of the stack.
fn cheap_place(code: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < 64 {
        let rest = code.get(at..)?;
        // push, jcc, jmp, nop; with the prefix of the upper registers, too.
        if let [0x50..=0x57 | 0x90 | 0x70..=0x7f | 0xeb | 0xe9, ..]
        | [0x41, 0x50..=0x57, ..]
        | [0x0f, 0x80..=0x8f | 0x1f, ..]
        | [0x66, 0x90 | 0x0f, ..] = rest
        {
            return Some(at);
        }
        at += harmless(rest)?;
    }
    None
}

/// Length of an instruction that changes neither the first argument (rdi) nor the stack; None: it does, or is not known.
fn harmless(code: &[u8]) -> Option<usize> {
    if code.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) {
        return Some(4);
    }
    let mut at = 0;
    // The segment of a thread's own variables.
    if *code.first()? == 0x64 {
        at += 1;
    }
    let rex = code.get(at).copied().filter(|byte| byte & 0xf0 == 0x40);
    at += usize::from(rex.is_some());
    let extends = |bit: u8| rex.is_some_and(|rex| rex & bit != 0);
    let opcode = *code.get(at)?;
    at += 1;
    // mov register, imm32
    if let 0xb8..=0xbf = opcode {
        let register = opcode & 7;
        let wide = extends(8);
        return (keeps(register, extends(1)) && !wide).then_some(at + 4);
    }
    let modrm = *code.get(at)?;
    let (to_register, from) = ((modrm >> 3) & 7, modrm & 7);
    let is_register = modrm >> 6 == 3;
    let length = at + operand(code.get(at..)?)?;
    match opcode {
        // mov, lea, add, and, sub, xor with a register as their aim
        0x8b | 0x8d | 0x03 | 0x23 | 0x2b | 0x33 => keeps(to_register, extends(4)).then_some(length),
        // mov, xor, and with a register as their aim, too, if it is one
        0x89 | 0x31 | 0x21 if is_register => keeps(from, extends(1)).then_some(length),
        // cmp, test
        0x39 | 0x3b | 0x85 | 0x84 | 0x38 | 0x3a => Some(length),
        // with a number of 4 bytes or 1; the seventh of them is cmp and changes nothing
        0x81 if to_register == 7 || is_register && keeps(from, extends(1)) => Some(length + 4),
        0x83 if to_register == 7 || is_register && keeps(from, extends(1)) => Some(length + 1),
        _ => None,
    }
}

/// Whether a change of this register is harmless: not rsp, not rdi.
fn keeps(register: u8, upper: bool) -> bool {
    upper || (register != 4 && register != 7)
}

/// Bytes of modrm, sib and displacement.
fn operand(code: &[u8]) -> Option<usize> {
    let modrm = *code.first()?;
    let (mode, memory) = (modrm >> 6, modrm & 7);
    let sib = usize::from(mode != 3 && memory == 4);
    let no_base = sib == 1 && mode == 0 && code.get(1)? & 7 == 5;
    let displacement = match mode {
        0 if memory == 5 || no_base => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(1 + sib + displacement)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begins of functions of Debian 12's glibc 2.36.
    #[test]
    fn the_first_cheap_instruction_is_found() {
        let lock = [
            0x8b, 0x47, 0x10, 0x89, 0xc2, 0x81, 0xe2, 0x7f, 0x01, 0x00, 0x00, 0x83, 0xe0, 0x7c, 0x0f, 0x85, 0xac, 0, 0,
            0,
        ];
        assert_eq!(cheap_place(&lock), Some(0xe));
        assert_eq!(cheap_place(&[0xbe, 1, 0, 0, 0, 0xe9, 0xf6, 0xfe, 0xff, 0xff]), Some(5));
        let read_lock =
            [0x8b, 0x57, 0x18, 0x64, 0x8b, 0x04, 0x25, 0xd0, 0x02, 0, 0, 0x39, 0xc2, 0x0f, 0x84, 0x0d, 0x01, 0, 0];
        assert_eq!(cheap_place(&read_lock), Some(13));
        assert_eq!(cheap_place(&[0x55, 0x49, 0x89, 0xf8]), Some(0));
    }

    #[test]
    fn what_changes_the_argument_or_the_stack_is_not_passed_over() {
        // mov %rsi,%rdi; sub $8,%rsp; something unknown
        assert_eq!(cheap_place(&[0x48, 0x89, 0xf7, 0x55]), None);
        assert_eq!(cheap_place(&[0x48, 0x83, 0xec, 0x08, 0x55]), None);
        assert_eq!(cheap_place(&[0xc5, 0xf8, 0x77, 0x55]), None);
        // endbr64; push %rbp
        assert_eq!(cheap_place(&[0xf3, 0x0f, 0x1e, 0xfa, 0x55]), Some(4));
    }
}
