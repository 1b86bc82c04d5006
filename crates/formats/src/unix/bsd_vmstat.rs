//! `vmstat` of FreeBSD, OpenBSD, NetBSD and DragonFly.
//!
//! The first row is since boot. Paging is in pages, memory in kilobytes unless a letter says
//! otherwise (`800M`). FreeBSD's `-P` has three columns for each CPU.

use fenxi_model::catalog::{cpu, disk, mem, sched, vm};

use super::{
    times::Tool,
    vmstat::{self, Dialect, To, column},
};
use crate::{Family, Format, Head, Input, Out, Sure};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "bsd-vmstat",
    summary: "vmstat of FreeBSD (also -H, -h, -P), OpenBSD, NetBSD and DragonFly",
    family: Family::Unix,
    tables: &[&cpu::TABLE, &sched::TABLE, &mem::TABLE, &vm::TABLE, &disk::TABLE],
    example: "\
 procs      memory      page                    disks     faults         cpu
 r b w     avm    fre   flt  re  pi  po    fr  sr ad0 da0   in   sy   cs us sy id
 1 0 0   63720  339504  1158   0   0   0  1022   0   0   0  246 1201  336 22 15 63
",
    sniff,
    read,
};

const KIB: f64 = 1024.0;

static DIALECT: Dialect = Dialect {
    format: "bsd-vmstat",
    tool: Tool {
        name: "vmstat",
        takes: "cwnMN",
        every: Some('w'),
        counters: false,
        default_s: 1.0,
        first_since_boot: true,
    },
    words: &[
        ("r", column(&sched::TABLE, sched::runnable, 1.0)),
        ("b", column(&sched::TABLE, sched::blocked, 1.0)),
        ("w", column(&sched::TABLE, sched::swapped, 1.0)),
        ("avm", To::Other(KIB)),
        ("fre", column(&mem::TABLE, mem::free_bytes, KIB)),
        ("flt", column(&vm::TABLE, vm::faults_per_s, 1.0)),
        ("fr", column(&vm::TABLE, vm::freed_pages_per_s, 1.0)),
        ("sr", column(&vm::TABLE, vm::scan_kswapd_pages_per_s, 1.0)),
        ("in", column(&sched::TABLE, sched::intr_per_s, 1.0)),
        ("int", column(&sched::TABLE, sched::intr_per_s, 1.0)),
        ("sy", column(&sched::TABLE, sched::syscalls_per_s, 1.0)),
        ("sys", column(&sched::TABLE, sched::syscalls_per_s, 1.0)),
        ("cs", column(&sched::TABLE, sched::context_switches_per_s, 1.0)),
        ("us", column(&cpu::TABLE, cpu::usr, 1.0)),
        ("sy", column(&cpu::TABLE, cpu::sys, 1.0)),
        ("id", column(&cpu::TABLE, cpu::idle, 1.0)),
    ],
    header: &["avm", "fre", "flt"],
    groups: &["procs", "memory", "page", "disk", "disks", "faults", "traps", "cpu"],
    disks: Some(("sr", "in")),
    header_every: 18,
};

/// OpenBSD heads the interrupts with `int`, and system calls with `sys`, so `sy` comes only once.
static OPENBSD: Dialect = Dialect {
    words: &[
        ("r", column(&sched::TABLE, sched::runnable, 1.0)),
        ("b", column(&sched::TABLE, sched::blocked, 1.0)),
        ("w", column(&sched::TABLE, sched::swapped, 1.0)),
        ("avm", To::Other(KIB)),
        ("fre", column(&mem::TABLE, mem::free_bytes, KIB)),
        ("flt", column(&vm::TABLE, vm::faults_per_s, 1.0)),
        ("fr", column(&vm::TABLE, vm::freed_pages_per_s, 1.0)),
        ("sr", column(&vm::TABLE, vm::scan_kswapd_pages_per_s, 1.0)),
        ("int", column(&sched::TABLE, sched::intr_per_s, 1.0)),
        ("sys", column(&sched::TABLE, sched::syscalls_per_s, 1.0)),
        ("cs", column(&sched::TABLE, sched::context_switches_per_s, 1.0)),
        ("us", column(&cpu::TABLE, cpu::usr, 1.0)),
        ("sy", column(&cpu::TABLE, cpu::sys, 1.0)),
        ("id", column(&cpu::TABLE, cpu::idle, 1.0)),
    ],
    disks: Some(("sr", "int")),
    ..DIALECT
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.has_words("avm fre flt re pi po fr sr"))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let openbsd =
        Head { text: &input.head() }.any(|l| l.split_ascii_whitespace().any(|w| w == "int") && l.contains("avm"));
    vmstat::read(if openbsd { &OPENBSD } else { &DIALECT }, true, input, out);
}
