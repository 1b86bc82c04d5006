//! Observers in the kernel: what counters cannot say, asked of BPF programs.
//!
//! An observer is a C file below `bpf/`, which adds up in the kernel, and a Rust file of the same name, which
//! reads the sums at each tick and makes rows of them: to the rest of Fenxi it is a [`Source`] like any other. The C is
//! compiled by `scripts/bpf` and committed compiled, so that building and using Fenxi needs no compiler of BPF.
//!
//! ```text
//! Loader::open ──set, track──▶ Loader::load ──▶ Loaded: attach, map ──▶ Drain, Sums: what was added since the last tick
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
mod kernel;
mod observing;
mod perf;
mod sums;
pub mod symbols;
mod syscalls;
mod tracked;

use fenxi_source::Source;

pub use bpf::{Loaded, Loader};
pub use check::{Ability, Finding, abilities, observers};
pub use error::EbpfError;
pub use tracked::Tracked;

/// Declares the observers: a module each, whose [`Source`] for all processes is in [`SOURCES`].
macro_rules! observers {
    ($($name:ident::$source:ident),* $(,)?) => {
        $(pub mod $name;)*

        /// Every observer, each observing all processes.
        pub static SOURCES: &[&dyn Source] = &[$(&$name::$source::ALL),*];
    };
}

observers! {
    procsystime::Procsystime,
    profile::Profile,
    util::Util,
    pin::Pin,
    iopattern::Iopattern,
    plockstat::Plockstat,
    querystat::Querystat,
}
