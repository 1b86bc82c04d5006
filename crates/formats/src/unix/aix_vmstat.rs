//! `vmstat` of AIX, also with `-I`, `-t` and `-w`.
//!
//! Memory is counted in pages of 4 KiB whatever the pages' own size; `pi` and `po` are pages of paging
//! space, `fi` and `fo` of files. Since AIX 5.3 (which prints the system's configuration on top) only
//! a report without an interval is since boot; before, the first row always was. `pc` is the number
//! of processors consumed and `ec` that as a share of the entitlement.

use fenxi_model::catalog::{cpu, mem, sched, vm};

use super::{
    times::{Tool, tells_configuration},
    vmstat::{self, Dialect, To, column},
};
use crate::{Family, Format, Head, Input, Out, Sure};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "aix-vmstat",
    summary: "vmstat of AIX: also -I, -t, -w",
    family: Family::Unix,
    tables: &[&cpu::TABLE, &sched::TABLE, &mem::TABLE, &vm::TABLE],
    example: "\
kthr    memory              page              faults        cpu
----- ----------- ------------------------ ------------ -----------
 r  b   avm   fre  re  pi  po  fr   sr  cy  in   sy  cs us sy id wa
 1  0 66386 50115   0   0   0   0    0   0  10  200 100 30 20 45  5
",
    sniff,
    read,
};

const PAGE: f64 = 4096.0;

static DIALECT: Dialect = Dialect {
    format: "aix-vmstat",
    tool: Tool { name: "vmstat", takes: "pPS@", every: None, counters: false, default_s: 1.0, first_since_boot: true },
    words: &[
        ("r", column(&sched::TABLE, sched::runnable, 1.0)),
        ("b", column(&sched::TABLE, sched::blocked, 1.0)),
        ("avm", To::Other(PAGE)),
        ("fre", column(&mem::TABLE, mem::free_bytes, PAGE)),
        ("fi", column(&vm::TABLE, vm::page_in_bytes_per_s, PAGE)),
        ("fo", column(&vm::TABLE, vm::page_out_bytes_per_s, PAGE)),
        ("pi", column(&vm::TABLE, vm::swap_in_pages_per_s, 1.0)),
        ("po", column(&vm::TABLE, vm::swap_out_pages_per_s, 1.0)),
        ("fr", column(&vm::TABLE, vm::freed_pages_per_s, 1.0)),
        ("sr", column(&vm::TABLE, vm::scan_kswapd_pages_per_s, 1.0)),
        ("in", column(&sched::TABLE, sched::intr_per_s, 1.0)),
        ("sy", column(&sched::TABLE, sched::syscalls_per_s, 1.0)),
        ("cs", column(&sched::TABLE, sched::context_switches_per_s, 1.0)),
        ("us", column(&cpu::TABLE, cpu::usr, 1.0)),
        ("sy", column(&cpu::TABLE, cpu::sys, 1.0)),
        ("id", column(&cpu::TABLE, cpu::idle, 1.0)),
        ("wa", column(&cpu::TABLE, cpu::iowait, 1.0)),
    ],
    header: &["avm", "fre", "wa"],
    groups: &["kthr", "memory", "page", "faults", "cpu", "time", "hypv-page", "disk", "disks", "xfer"],
    disks: None,
    header_every: 0,
};

fn sniff(head: &Head<'_>) -> Sure {
    let own = ["avm fre re pi po fr sr cy in sy cs us sy id wa", "avm fre fi fo pi po fr sr in sy cs us sy id wa"];
    Sure::Certain.when(own.iter().any(|words| head.has_words(words)))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let since_boot = !tells_configuration(input) || vmstat::rows_in_head(input) < 2;
    vmstat::read(&DIALECT, since_boot, input, out);
}
