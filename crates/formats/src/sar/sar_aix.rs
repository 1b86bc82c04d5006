//! `sar` of AIX: all sections, CPUs with `-P ALL`.
//!
//! The line of CPU `-` is all of them; that of `U` is the capacity that a partition left unused.

use super::sysv;
use crate::{Family, Format};

/// Importer for sar of AIX.
pub static FORMAT: Format = Format {
    name: "sar-aix",
    summary: "sar of AIX: all sections, -P ALL",
    family: Family::Unix,
    tables: sysv::TABLES,
    example: "\
AIX db1 1 7 00F6D94C4C00    11/21/16

System configuration: lcpu=8 ent=1.00 mode=Uncapped

10:00:00    %usr    %sys    %wio   %idle   physc   %entc
10:00:05       4       2       0      94    0.09    9.1
",
    sniff: |head| sysv::sniff(head, "AIX"),
    read: |input, out| sysv::read(input, out, "AIX"),
};
