//! `iostat` of FreeBSD, macOS, OpenBSD, NetBSD and DragonFly: the default with its disks side by side,
//! and FreeBSD's `-x` with a line for each device.
//!
//! The first sample is since boot. Where reads and writes are not told apart, only their sum is known.

use fenxi_model::catalog::{cpu, disk, sched};

use super::{
    iostat::{self, Cell, Dialect},
    times::Tool,
};
use crate::{Family, Format, Head, Input, Out, Sure};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "bsd-iostat",
    summary: "iostat of FreeBSD, macOS, OpenBSD and NetBSD: the default, -C, -d, -I, and FreeBSD's -x",
    family: Family::Unix,
    tables: &[&disk::TABLE, &cpu::TABLE, &sched::TABLE],
    example: "\
          disk0       cpu    load average
    KB/t  tps  MB/s  us sy id   1m   5m   15m
   44.22    6  0.26   3  2 95  1.74 1.90 2.15
",
    sniff,
    read,
};

const MIB: f64 = 1_048_576.0;

static DIALECT: Dialect = Dialect {
    format: "bsd-iostat",
    tool: Tool {
        name: "iostat",
        takes: "cwntMN",
        every: Some('w'),
        counters: false,
        default_s: 1.0,
        first_since_boot: true,
    },
    words: &[
        ("device", Cell::Device),
        ("r/s", Cell::Disk(disk::reads_per_s, 1.0)),
        ("w/s", Cell::Disk(disk::writes_per_s, 1.0)),
        ("kr/s", Cell::Disk(disk::read_bytes_per_s, 1024.0)),
        ("kw/s", Cell::Disk(disk::write_bytes_per_s, 1024.0)),
        ("r/i", Cell::Count(disk::reads_per_s, 1.0)),
        ("w/i", Cell::Count(disk::writes_per_s, 1.0)),
        ("kr/i", Cell::Count(disk::read_bytes_per_s, 1024.0)),
        ("kw/i", Cell::Count(disk::write_bytes_per_s, 1024.0)),
        ("ms/r", Cell::Disk(disk::read_await_ms, 1.0)),
        ("ms/w", Cell::Disk(disk::write_await_ms, 1.0)),
        ("ms/o", Cell::Other),
        ("ms/t", Cell::Disk(disk::await_ms, 1.0)),
        ("svc_t", Cell::Disk(disk::await_ms, 1.0)),
        ("qlen", Cell::Disk(disk::in_flight, 1.0)),
        ("wait", Cell::Disk(disk::in_flight, 1.0)),
        ("%b", Cell::Disk(disk::util, 1.0)),
        ("tsvc_t/i", Cell::Other),
        ("sb/i", Cell::Other),
        ("KB/t", Cell::Disk(disk::transfer_size_bytes, 1024.0)),
        ("tps", Cell::Disk(disk::transfers_per_s, 1.0)),
        ("t/s", Cell::Disk(disk::transfers_per_s, 1.0)),
        ("MB/s", Cell::Disk(disk::transfer_bytes_per_s, MIB)),
        ("KB/s", Cell::Disk(disk::transfer_bytes_per_s, 1024.0)),
        ("xfrs", Cell::Count(disk::transfers_per_s, 1.0)),
        ("xfr", Cell::Count(disk::transfers_per_s, 1.0)),
        ("MB", Cell::Count(disk::transfer_bytes_per_s, MIB)),
        // Old FreeBSD with -o: sectors of 512 bytes, and the time of a transaction.
        ("sps", Cell::Disk(disk::transfer_bytes_per_s, 512.0)),
        ("blk", Cell::Count(disk::transfer_bytes_per_s, 512.0)),
        ("msps", Cell::Disk(disk::await_ms, 1.0)),
        ("tin", Cell::Whole),
        ("tout", Cell::Whole),
        ("us", Cell::Cpu(cpu::usr)),
        ("ni", Cell::Cpu(cpu::nice)),
        ("sy", Cell::Cpu(cpu::sys)),
        ("sp", Cell::Whole),
        ("in", Cell::Cpu(cpu::irq)),
        ("id", Cell::Cpu(cpu::idle)),
        ("1m", Cell::Sched(sched::load1)),
        ("5m", Cell::Sched(sched::load5)),
        ("15m", Cell::Sched(sched::load15)),
    ],
    header_every: 19,
    class,
};

fn sniff(head: &Head<'_>) -> Sure {
    let words = [
        "KB/t tps MB/s",
        "KB/t t/s MB/s",
        "KB/t xfrs MB",
        "KB/t xfr MB",
        "ms/r ms/w ms/o ms/t qlen",
        "kr/s kw/s qlen svc_t %b",
        "kr/s kw/s wait svc_t %b",
        "kr/i kw/i qlen tsvc_t/i",
        "sps tps msps",
        "blk xfr msps",
    ];
    if words.iter().any(|w| head.has_words(w)) {
        return Sure::Certain;
    }
    let cpu = |line: &str| {
        let line = line.strip_prefix("tin").map_or(line, |l| l.trim_start().trim_start_matches("tout"));
        line.split_ascii_whitespace().eq(["us", "ni", "sy", "in", "id"])
            || line.split_ascii_whitespace().eq(["us", "sy", "id", "1m", "5m", "15m"])
    };
    Sure::Likely.when(head.any(cpu))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    iostat::read(&DIALECT, input, out);
}

fn class(name: &str) -> Option<&'static str> {
    let driver = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match driver {
        _ if driver.len() == name.len() => None,
        "ada" | "ad" | "da" | "nda" | "nvd" | "vtbd" | "xbd" | "mfid" | "mfisyspd" | "aacd" | "amrd" | "mlyd"
        | "twed" | "mmcsd" | "wd" | "sd" | "ld" | "disk" => Some("disk"),
        "dk" => Some("partition"),
        "cd" | "acd" => Some("rom"),
        "md" | "rd" => Some("ram"),
        _ => None,
    }
}
