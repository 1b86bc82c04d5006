//! How programs were built, and what serves them: compilers and their options, target level, link-time optimisation, frame
//! pointers, build-id, package, libraries as the loader finds them, and the allocator.
//!
//! [`Binary::read`] takes bytes of an ELF file, which may be damaged or hostile: it neither panics nor takes more memory than
//! the file is long, but for sections that are compressed. [`look`] finds the file's libraries and package on a machine,
//! [`process`] those that a process really has.

mod allocator;
mod code;
mod compilers;
mod dwarf;
mod elf;
mod look;
mod notes;
mod package;
mod process;
mod resolve;
mod short;

use serde::Serialize;

pub use allocator::Allocator;
pub use code::Code;
pub use compilers::Compiler;
pub use look::{Looked, look};
pub use package::{DPKG_STATUS, DpkgEntry, Owner, dpkg_entries, files_of, owners};
pub use process::{Preload, process};
pub use resolve::{Library, Loader};
pub use short::{FACTS, FIELDS, Field, facts};

/// Depth of reading a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Headers, notes and the dynamic section: milliseconds for any file.
    Quick,
    /// The producers in its DWARF and its code as well.
    Whole,
}

/// Metadata of an ELF file. What it does not record is None, or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Binary {
    /// 32 or 64.
    pub class: u8,
    /// The instruction set: `x86-64`, `aarch64`.
    pub machine: String,
    /// `executable`, `position-independent executable`, `shared object`, `object file`, `core dump`.
    pub kind: &'static str,
    /// The build-id in hexadecimal digits.
    pub build_id: Option<String>,
    /// The package that the file itself names.
    pub package_note: Option<String>,
    /// Compilers, those of the most units first.
    pub compilers: Vec<Compiler>,
    /// The linker, where it leaves its name.
    pub linker: Option<String>,
    /// The level that its notes demand: 1 to 4 of x86-64-v1 … v4.
    pub needs_level: Option<u8>,
    /// The level that its notes say is used.
    pub uses_level: Option<u8>,
    /// Link-time optimisation; None where it is unknown.
    pub lto: Option<bool>,
    /// Properties of its code.
    pub code: Option<Code>,
    /// The loader.
    pub interpreter: Option<String>,
    /// Its name as a library.
    pub soname: Option<String>,
    /// Libraries that it asks for, in its order.
    pub needed: Vec<String>,
    /// `DT_RPATH`.
    pub rpath: Option<String>,
    /// `DT_RUNPATH`.
    pub runpath: Option<String>,
    /// Hardening: `pie`, `full relro`, `stack protector`, `fortify`, `ibt`, `shstk`.
    pub hardening: Vec<&'static str>,
    /// `DWARF`, `symbols` or `stripped`.
    pub debug: &'static str,
    /// True if it defines `malloc` for others.
    pub defines_malloc: bool,
    /// Allocators whose functions it defines.
    pub allocators: Vec<&'static str>,
    /// Notes on parts that could not be read.
    pub notes: Vec<String>,
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is something else.
    #[error("not an ELF file ({0})")]
    Other(&'static str),
    /// It is damaged.
    #[error("damaged ELF file: {0}")]
    Damaged(#[from] object::Error),
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
