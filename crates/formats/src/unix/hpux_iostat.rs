//! `iostat` of HP-UX: one line for each disk, and with `-t` terminals and CPU above.
//!
//! `bps` is kilobytes and `sps` seeks per second; `msps` is 1.0 whatever the disk does. The first
//! report is since boot.

use fenxi_model::catalog::{cpu, disk};

use super::{
    iostat::{self, Cell, Dialect},
    times::Tool,
};
use crate::{Family, Format, Head, Input, Out, Sure};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "hpux-iostat",
    summary: "iostat of HP-UX, also -t",
    family: Family::Unix,
    tables: &[&disk::TABLE, &cpu::TABLE],
    example: "\
  device    bps     sps    msps

  c1t2d0     35     2.4     1.0
  c2t2d0      0     0.0     1.0
",
    sniff,
    read,
};

static DIALECT: Dialect = Dialect {
    format: "hpux-iostat",
    tool: Tool { name: "iostat", takes: "", every: None, counters: false, default_s: 1.0, first_since_boot: true },
    words: &[
        ("device", Cell::Device),
        ("bps", Cell::Disk(disk::transfer_bytes_per_s, 1024.0)),
        ("sps", Cell::Disk(disk::transfers_per_s, 1.0)),
        ("msps", Cell::Skip),
        ("tin", Cell::Whole),
        ("tout", Cell::Whole),
        ("us", Cell::Cpu(cpu::usr)),
        ("ni", Cell::Cpu(cpu::nice)),
        ("sy", Cell::Cpu(cpu::sys)),
        ("id", Cell::Cpu(cpu::idle)),
    ],
    header_every: 0,
    class: |name| {
        let rest = name.strip_prefix('c').map(|n| n.trim_start_matches(|c: char| c.is_ascii_digit()));
        let legacy = rest.is_some_and(|n| n.starts_with('t') && n.contains('d'));
        (legacy || name.starts_with("disk")).then_some("disk")
    },
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.has_words("device bps sps msps"))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    iostat::read(&DIALECT, input, out);
}
