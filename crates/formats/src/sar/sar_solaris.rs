//! `sar` of Solaris: `-A` and each section of it, from data files or live.
//!
//! `freemem` and the paging rates are in pages, whose size follows from the machine in the first line;
//! `freeswap` and `blks/s` are in blocks of 512 bytes. Lengths of queues are means over the time in which
//! the queue was not empty, so they stay metrics, beside the share of that time.

use super::sysv;
use crate::{Family, Format};

/// Importer for sar of Solaris.
pub static FORMAT: Format = Format {
    name: "sar-solaris",
    summary: "sar of Solaris: all sections of -A",
    family: Family::Unix,
    tables: sysv::TABLES,
    example: "\
SunOS db1 5.11 11.3 sun4v    05/26/2017

08:00:00    %usr    %sys    %wio   %idle
08:20:00       4       1       0      95
",
    sniff: |head| sysv::sniff(head, "SunOS"),
    read: |input, out| sysv::read(input, out, "SunOS"),
};
