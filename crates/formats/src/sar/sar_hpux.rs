//! `sar` of HP-UX: all sections, CPUs with `-M`.

use super::sysv;
use crate::{Family, Format};

/// Importer for sar of HP-UX.
pub static FORMAT: Format = Format {
    name: "sar-hpux",
    summary: "sar of HP-UX: all sections, -M",
    family: Family::Unix,
    tables: sysv::TABLES,
    example: "\
HP-UX db1 B.11.31 U ia64    11/21/16

10:00:00    %usr    %sys    %wio   %idle
10:00:05       4       2       0      94
",
    sniff: |head| sysv::sniff(head, "HP-UX"),
    read: |input, out| sysv::read(input, out, "HP-UX"),
};
