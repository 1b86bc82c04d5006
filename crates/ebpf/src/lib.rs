//! eBPF observers: what kernel counters cannot show.
//!
//! An observer is a folder: a C program, which adds up in the kernel; a [`Source`], which reads the sums at each tick and
//! makes rows of them; a view, which shows rows; and an [`Observer`], which declares its options and from which
//! commands and lists derive. The C is compiled by `scripts/bpf` and committed compiled, so that building and using Fenxi
//! needs no compiler of BPF. What the programs share is in `bpf/`.
//!
//! [`Source`]: fenxi_source::Source
//!
//! ```text
//! Loader::open ──set, track──▶ Loader::load ──▶ Loaded: attach, map ──▶ Drain, Sums: what was added since the last tick
//! ```
//!
//! Programs are attached by descriptors that this process holds: however it ends, the kernel detaches them.

mod bpf;
pub mod buckets;
mod budget;
mod bytes;
mod check;
mod cost;
mod drain;
mod elf;
mod error;
mod kernel;
mod observer;
mod observing;
mod perf;
mod privileges;
mod sums;
pub mod symbols;
mod syscalls;
mod tracked;
mod unwind;

pub use bpf::{Loaded, Loader};
pub use check::{Ability, Finding, abilities, observers};
pub use error::EbpfError;
pub use observer::{Meanwhile, Observer, Setting, Way, observer};
pub use tracked::Tracked;

/// Declares the observers: a folder each, with an [`Observer`].
macro_rules! observers {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*

        /// Every observer.
        pub static OBSERVERS: &[&Observer] = &[$(&$name::OBSERVER),*];
    };
}

observers! {
    procsystime,
    profile,
    util,
    runqlat,
    irqsteal,
    iopattern,
    biolatency,
    plockstat,
    contention,
    cachestat,
    microstates,
    querystat,
    dbwait,
}
