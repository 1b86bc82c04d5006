//! `iostat` of Solaris and illumos: `-x` with `-n`, `-p`, `-z`, `-M`, `-I`, `-e`, `-m`, `-r`, the CPU
//! with `-c`, terminals with `-t`, and the default with its disks side by side.
//!
//! The first block is since boot. With `-n` the device stands in the last column, its service time
//! is split into waiting (`wsvc_t`) and active (`asvc_t`), and the CPU stands above the disks;
//! without it the CPU stands at the right of the first disk's line. Errors are counted since boot.

use fenxi_model::catalog::{cpu, disk};

use super::{
    iostat::{self, Cell, Dialect},
    times::Tool,
};
use crate::{Family, Format, Head, Input, Out, Sure};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "solaris-iostat",
    summary: "iostat of Solaris and illumos: -x, -n, -p, -z, -M, -I, -e, -c, -t, -r, -T, and the default",
    family: Family::Unix,
    tables: &[&disk::TABLE, &cpu::TABLE],
    example: "\
                    extended device statistics
    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device
   12.9    0.0   61.7    0.0  0.0  0.0    0.2    0.7   0   1 c0t0d0
",
    sniff,
    read,
};

const MIB: f64 = 1_048_576.0;

static DIALECT: Dialect = Dialect {
    format: "solaris-iostat",
    tool: Tool { name: "iostat", takes: "Tl", every: None, counters: false, default_s: 1.0, first_since_boot: true },
    words: &[
        ("device", Cell::Device),
        ("r/s", Cell::Disk(disk::reads_per_s, 1.0)),
        ("w/s", Cell::Disk(disk::writes_per_s, 1.0)),
        ("kr/s", Cell::Disk(disk::read_bytes_per_s, 1024.0)),
        ("kw/s", Cell::Disk(disk::write_bytes_per_s, 1024.0)),
        ("Mr/s", Cell::Disk(disk::read_bytes_per_s, MIB)),
        ("Mw/s", Cell::Disk(disk::write_bytes_per_s, MIB)),
        ("r/i", Cell::Count(disk::reads_per_s, 1.0)),
        ("w/i", Cell::Count(disk::writes_per_s, 1.0)),
        ("kr/i", Cell::Count(disk::read_bytes_per_s, 1024.0)),
        ("kw/i", Cell::Count(disk::write_bytes_per_s, 1024.0)),
        ("Mr/i", Cell::Count(disk::read_bytes_per_s, MIB)),
        ("Mw/i", Cell::Count(disk::write_bytes_per_s, MIB)),
        ("wait", Cell::Disk(disk::wait_queue, 1.0)),
        ("actv", Cell::Disk(disk::queue_depth, 1.0)),
        ("svc_t", Cell::Disk(disk::await_ms, 1.0)),
        ("wsvc_t", Cell::Waiting),
        ("asvc_t", Cell::Active),
        ("%w", Cell::Disk(disk::wait_util, 1.0)),
        ("%b", Cell::Disk(disk::util, 1.0)),
        ("s/w", Cell::Other),
        ("h/w", Cell::Other),
        ("trn", Cell::Other),
        ("tot", Cell::Errors),
        ("kps", Cell::Disk(disk::transfer_bytes_per_s, 1024.0)),
        ("Mps", Cell::Disk(disk::transfer_bytes_per_s, MIB)),
        ("tps", Cell::Disk(disk::transfers_per_s, 1.0)),
        ("serv", Cell::Disk(disk::await_ms, 1.0)),
        ("kpi", Cell::Count(disk::transfer_bytes_per_s, 1024.0)),
        ("Mpi", Cell::Count(disk::transfer_bytes_per_s, MIB)),
        ("tpi", Cell::Count(disk::transfers_per_s, 1.0)),
        ("rps", Cell::Disk(disk::reads_per_s, 1.0)),
        ("wps", Cell::Disk(disk::writes_per_s, 1.0)),
        ("rpi", Cell::Count(disk::reads_per_s, 1.0)),
        ("wpi", Cell::Count(disk::writes_per_s, 1.0)),
        ("util", Cell::Disk(disk::util, 1.0)),
        ("tin", Cell::Whole),
        ("tout", Cell::Whole),
        ("us", Cell::Cpu(cpu::usr)),
        ("sy", Cell::Cpu(cpu::sys)),
        ("wt", Cell::Cpu(cpu::iowait)),
        ("st", Cell::Cpu(cpu::steal)),
        ("id", Cell::Cpu(cpu::idle)),
    ],
    header_every: 18,
    class,
};

fn sniff(head: &Head<'_>) -> Sure {
    let words = [
        "wait actv wsvc_t asvc_t",
        "wait actv svc_t %w %b",
        "s/w h/w trn tot",
        "ps tps serv",
        "pi tpi serv",
        "rps wps util",
    ];
    let raw = ["wait,actv,wsvc_t,asvc_t", "wait,actv,svc_t,%w,%b", "s/w,h/w,trn,tot"];
    if words.iter().any(|w| head.has_words(w)) || raw.iter().any(|w| head.any(|line| line.contains(w))) {
        return Sure::Certain;
    }
    // `iostat -c` and `iostat -tc` have nothing but these.
    let cpu = |line: &str| line.split_ascii_whitespace().eq(["us", "sy", "wt", "id"]);
    let both = |line: &str| line.split_ascii_whitespace().eq(["tin", "tout", "us", "sy", "wt", "id"]);
    Sure::Likely.when(head.any(|line| cpu(line) || both(line)))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    iostat::read(&DIALECT, input, out);
}

/// `c0t0d0` and `sd3` are disks, `c0t0d0s2`, `c0t0d0p1` and `sd3,c` parts of them.
fn class(name: &str) -> Option<&'static str> {
    let (bare, part) = match name.split_once(',') {
        Some((bare, _)) => (bare, true),
        None => (name, false),
    };
    let kind = |part: bool| Some(if part { "partition" } else { "disk" });
    let driver = bare.trim_end_matches(|c: char| c.is_ascii_digit());
    if driver.len() < bare.len() && ["sd", "ssd", "cmdk", "dad", "vdc", "blkdev", "vdisk", "xdf"].contains(&driver) {
        return kind(part);
    }
    // cN, perhaps tX with a number or a WWN, dN, perhaps sN or pN.
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = bare.strip_prefix('c').filter(|r| digits(r) > 0)?;
    let rest = rest.get(digits(rest)..)?;
    let rest = match rest.strip_prefix('t') {
        Some(target) => target.trim_start_matches(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase()),
        None => rest,
    };
    let rest = rest.strip_prefix('d').filter(|r| digits(r) > 0)?;
    let rest = rest.get(digits(rest)..)?;
    match rest.as_bytes() {
        [] => kind(part),
        [b's' | b'p', number @ ..] if !number.is_empty() && number.iter().all(u8::is_ascii_digit) => kind(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_told_from_their_parts() {
        for (name, want) in [
            ("c0t0d0", Some("disk")),
            ("c2d0", Some("disk")),
            ("c0t600A0B8000499C84d0", Some("disk")),
            ("c0t0d0s7", Some("partition")),
            ("c1t1d0p0", Some("partition")),
            ("sd3", Some("disk")),
            ("ssd12", Some("disk")),
            ("sd3,c", Some("partition")),
            ("zones", None),
            ("c1", None),
            ("nfs1", None),
            ("host:/export/home", None),
            ("md/d10", None),
            ("", None),
        ] {
            assert_eq!(class(name), want, "{name}");
        }
    }
}
