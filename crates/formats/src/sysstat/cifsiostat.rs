//! `cifsiostat` of sysstat: reads and writes of CIFS and SMB mounts.
//!
//! A mount is a device of `disk`, called as what is mounted. A name with a blank is cut there by the tool.

use fenxi_model::catalog::{disk, metric};

use super::named::{self, Tool};
use crate::{Family, Field, Format, Head, Input, Out, Sure, col};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "cifsiostat",
    summary: "cifsiostat of sysstat: -k, -m, -h, -t, --pretty, --human",
    family: Family::Linux,
    tables: &[&disk::TABLE, &metric::TABLE],
    example: "\
Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)

Filesystem                    rkB/s        wkB/s    rops/s    wops/s         fo/s         fc/s         fd/s
\\\\nas1\\data                  1024.00       512.00     16.00      8.00         2.00         4.00         0.00
",
    sniff,
    read,
};

const KB: f64 = 1024.0;
const MB: f64 = KB * KB;

pub(super) static TOOL: Tool = Tool {
    name: FORMAT.name,
    titles: &["Filesystem", "Filesystem:"],
    columns: &[
        col("rB/s", &disk::TABLE, disk::read_bytes_per_s),
        col("wB/s", &disk::TABLE, disk::write_bytes_per_s),
        col("rkB/s", &disk::TABLE, disk::read_bytes_per_s).times(KB),
        col("wkB/s", &disk::TABLE, disk::write_bytes_per_s).times(KB),
        col("rMB/s", &disk::TABLE, disk::read_bytes_per_s).times(MB),
        col("wMB/s", &disk::TABLE, disk::write_bytes_per_s).times(MB),
        col("rops/s", &disk::TABLE, disk::reads_per_s),
        col("wops/s", &disk::TABLE, disk::writes_per_s),
        // Up to version 11.
        col("rop/s", &disk::TABLE, disk::reads_per_s),
        col("wop/s", &disk::TABLE, disk::writes_per_s),
        // Files opened, closed and deleted.
        Field::metric("fo/s", "/s"),
        Field::metric("fc/s", "/s"),
        Field::metric("fd/s", "/s"),
    ],
    label: "filesystem",
    json: ("filesystem", "fs_name"),
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| TOOL.is_header(line, &["fo/s", "fc/s", "fd/s"])))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    named::read(&TOOL, input, out);
}
