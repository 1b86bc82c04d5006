//! `tapestat` of sysstat: tape drives, which are devices of `disk`.
//!
//! Its figures are whole numbers, cut and not rounded. `%Rd`, `%Wr` and `%Oa` are the shares of time waiting for reads, for
//! writes, and for anything; `Rs/s` are transfers whose size was another than that of the request, `Ot/s` other requests.

use fenxi_model::catalog::{disk, metric};

use super::named::{self, Tool};
use crate::{Family, Field, Format, Head, Input, Out, Sure, col};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "tapestat",
    summary: "tapestat of sysstat: -k, -m, -t, -y, -z, --human",
    family: Family::Linux,
    tables: &[&disk::TABLE, &metric::TABLE],
    example: "\
Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)

Tape:     r/s     w/s   kB_read/s   kB_wrtn/s  %Rd  %Wr  %Oa    Rs/s    Ot/s
st0         8     120        1953       30720   10   40   60       1       2
",
    sniff,
    read,
};

const KB: f64 = 1024.0;
const MB: f64 = KB * KB;

pub(super) static TOOL: Tool = Tool {
    name: FORMAT.name,
    titles: &["Tape:"],
    columns: &[
        col("r/s", &disk::TABLE, disk::reads_per_s),
        col("w/s", &disk::TABLE, disk::writes_per_s),
        col("kB_read/s", &disk::TABLE, disk::read_bytes_per_s).times(KB),
        col("kB_wrtn/s", &disk::TABLE, disk::write_bytes_per_s).times(KB),
        col("MB_read/s", &disk::TABLE, disk::read_bytes_per_s).times(MB),
        col("MB_wrtn/s", &disk::TABLE, disk::write_bytes_per_s).times(MB),
        col("%Oa", &disk::TABLE, disk::util),
        Field::metric("%Rd", "%"),
        Field::metric("%Wr", "%"),
        Field::metric("Rs/s", "/s"),
        Field::metric("Ot/s", "/s"),
    ],
    label: "device",
    json: ("tape", "tape_device"),
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| TOOL.is_header(line, &["%Rd", "%Wr", "%Oa"])))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    named::read(&TOOL, input, out);
}

#[cfg(test)]
mod tests {
    use crate::fixtures::read;

    /// The drive was given 120 writes of 256 KiB a second, which take 0.4 s.
    #[test]
    fn a_drive_moves_what_its_counters_grew_by() {
        let path = "fixtures/tapestat/12.6-m-y.txt";
        let text = read(&super::FORMAT, &fs_err::read(path).unwrap()).text;
        let writes = "\tst0\t8\t120\t1048576\t31457280\t60";
        assert!(text.contains(writes), "{text}");
        assert!(text.contains("tapestat.%Wr\tdevice=st0\t40\t%"), "{text}");
    }
}
