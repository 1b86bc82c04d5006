//! `vmstat` of HP-UX, also with `-S`.
//!
//! Memory and paging are counted in pages of 4 KiB; the first row is since boot.

use fenxi_model::catalog::{cpu, mem, sched, vm};

use super::{
    times::Tool,
    vmstat::{self, Dialect, To, column},
};
use crate::{Family, Format, Head, Input, Out, Sure};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "hpux-vmstat",
    summary: "vmstat of HP-UX: also -S and -n",
    family: Family::Unix,
    tables: &[&cpu::TABLE, &sched::TABLE, &mem::TABLE, &vm::TABLE],
    example: "\
         procs           memory                   page                              faults       cpu
    r     b     w      avm    free   re   at    pi   po    fr   de    sr     in     sy    cs  us sy id
    1     0     0   205618   12345    5    2     0    0     0    0     0    110    500   120   1  1 98
",
    sniff,
    read,
};

const PAGE: f64 = 4096.0;

static DIALECT: Dialect = Dialect {
    format: "hpux-vmstat",
    tool: Tool { name: "vmstat", takes: "", every: None, counters: false, default_s: 1.0, first_since_boot: true },
    words: &[
        ("r", column(&sched::TABLE, sched::runnable, 1.0)),
        ("b", column(&sched::TABLE, sched::blocked, 1.0)),
        ("w", column(&sched::TABLE, sched::swapped, 1.0)),
        ("avm", To::Other(PAGE)),
        ("free", column(&mem::TABLE, mem::free_bytes, PAGE)),
        ("pi", column(&vm::TABLE, vm::page_in_bytes_per_s, PAGE)),
        ("po", column(&vm::TABLE, vm::page_out_bytes_per_s, PAGE)),
        ("fr", column(&vm::TABLE, vm::freed_pages_per_s, 1.0)),
        ("sr", column(&vm::TABLE, vm::scan_kswapd_pages_per_s, 1.0)),
        ("in", column(&sched::TABLE, sched::intr_per_s, 1.0)),
        ("sy", column(&sched::TABLE, sched::syscalls_per_s, 1.0)),
        ("cs", column(&sched::TABLE, sched::context_switches_per_s, 1.0)),
        ("us", column(&cpu::TABLE, cpu::usr, 1.0)),
        ("sy", column(&cpu::TABLE, cpu::sys, 1.0)),
        ("id", column(&cpu::TABLE, cpu::idle, 1.0)),
    ],
    header: &["avm", "free", "sr"],
    groups: &["procs", "memory", "page", "faults", "cpu"],
    disks: None,
    header_every: 0,
};

fn sniff(head: &Head<'_>) -> Sure {
    let own = ["avm free re at pi po fr de sr", "avm free si so pi po fr de sr"];
    Sure::Certain.when(own.iter().any(|words| head.has_words(words)))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    vmstat::read(&DIALECT, true, input, out);
}
