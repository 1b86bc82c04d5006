//! `lparstat` of AIX: how a logical partition used its share of the machine.
//!
//! `physc` is the number of physical processors consumed, `%entc` that as a share of the entitlement:
//! of a shared partition the plain shares of time say little without them. A report without an
//! interval is since boot.

use fenxi_model::catalog::cpu;

use super::{
    times::Tool,
    vmstat::{self, Dialect, column},
};
use crate::{Family, Format, Head, Input, Out, Sure};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "aix-lparstat",
    summary: "lparstat of AIX, with an interval or without, also -h",
    family: Family::Unix,
    tables: &[&cpu::TABLE],
    example: "\
System configuration: type=Shared mode=Uncapped smt=On lcpu=4 mem=4096 psize=63 ent=0.50

%user  %sys  %wait  %idle physc %entc  lbusy  vcsw phint
----- ----- ------ ------ ----- ----- ------ ----- -----
  0.2   0.8    0.0   98.9  0.01   1.8    2.3   152     0
",
    sniff,
    read,
};

static DIALECT: Dialect = Dialect {
    format: "aix-lparstat",
    tool: Tool { name: "lparstat", takes: "o", every: None, counters: false, default_s: 1.0, first_since_boot: true },
    words: &[
        ("%user", column(&cpu::TABLE, cpu::usr, 1.0)),
        ("%sys", column(&cpu::TABLE, cpu::sys, 1.0)),
        ("%wait", column(&cpu::TABLE, cpu::iowait, 1.0)),
        ("%idle", column(&cpu::TABLE, cpu::idle, 1.0)),
    ],
    header: &["%user", "%sys", "%wait", "%idle"],
    groups: &[],
    disks: None,
    header_every: 0,
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.has_words("%user %sys %wait %idle"))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let since_boot = vmstat::rows_in_head(input) < 2;
    vmstat::read(&DIALECT, since_boot, input, out);
}
