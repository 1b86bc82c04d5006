//! Observers in the kernel: what counters cannot say, asked of BPF programs.
//!
//! An observer is a C file below `bpf/`, which adds up in the kernel, and a Rust file of the same name, which
//! reads the sums at each tick and makes rows of them: to the rest of Fenxi it is a [`Source`] like any other. The C is
//! compiled by `scripts/bpf` and committed compiled, so that building and using Fenxi needs no compiler of BPF.
//!
//! ```text
//! Loader::open ──set, track──▶ Loader::load ──▶ Loaded: attach, map ──▶ Sums: what was added since the last tick
//! ```
//!
//! Programs are attached by descriptors that this process holds: however it ends, the kernel detaches them.

mod bpf;
pub mod buckets;
mod bytes;
mod check;
mod cost;
mod drain;
mod elf;
mod error;
mod iopattern;
mod kernel;
mod observing;
mod perf;
mod pin;
mod plockstat;
mod procsystime;
mod profile;
mod querystat;
mod sums;
pub mod symbols;
mod syscalls;
mod tracked;
mod util;

use fenxi_source::Source;

pub use bpf::{Loaded, Loader};
pub use check::{Ability, Finding, abilities, observers};
pub use error::EbpfError;
pub use iopattern::Iopattern;
pub use pin::{Detail, Pin};
pub use plockstat::Plockstat;
pub use procsystime::Procsystime;
pub use profile::Profile;
pub use querystat::{Querystat, Servers};
pub use tracked::Tracked;
pub use util::Util;

/// Every observer, each observing all processes.
pub static SOURCES: &[&dyn Source] =
    &[&Procsystime::ALL, &Profile::ALL, &Util, &Pin::ALL, &Iopattern::ALL, &Plockstat::ALL, &Querystat::ALL];
