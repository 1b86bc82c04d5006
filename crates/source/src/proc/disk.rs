//! Block devices from /proc/diskstats, in every form the kernel has printed since 2.6.
//!
//! 7 words: partitions of old kernels; 14: since 2.6; 18: with discards (4.18); 20: with flushes
//! (5.5). Sectors are 512 bytes whatever the device's own block size is. A device that never did
//! any I/O since boot has no rows, so that empty loop and RAM devices cost nothing.

use fenxi_model::{
    Micros, Rows,
    catalog::disk::{self, TABLE},
};

use super::{
    roster::{Member, Roster},
    scan::{lines, number, words},
};
use crate::{Collector, Counter, ProcFile, Root, Source, SourceError, Spec, Step, Take, Tick, Width};

const FILE: &str = "/proc/diskstats";
const SECTOR_BYTES: f64 = 512.0;

/// How many statistics a line of the newest form has after the device's numbers and name.
const N_FIELDS: usize = 17;

/// Places of the statistics, in the file's order.
const READS: usize = 0;
const READS_MERGED: usize = 1;
const READ_SECTORS: usize = 2;
const READ_MS: usize = 3;
const WRITES: usize = 4;
const WRITES_MERGED: usize = 5;
const WRITE_SECTORS: usize = 6;
const WRITE_MS: usize = 7;
const IN_FLIGHT: usize = 8;
const BUSY_MS: usize = 9;
const WEIGHTED_MS: usize = 10;
const DISCARDS: usize = 11;
const DISCARDS_MERGED: usize = 12;
const DISCARD_SECTORS: usize = 13;
const DISCARD_MS: usize = 14;
const FLUSHES: usize = 15;
const FLUSH_MS: usize = 16;

pub struct Disk;

/// The source.
pub static SOURCE: Disk = Disk;

static SPEC: Spec = Spec {
    name: "disk",
    summary: "block devices: throughput, sizes, waits, queue and utilisation (/proc/diskstats)",
    tables: &[&TABLE],
    take: Take::EveryTick,
    default: true,
    live: true,
};

impl Source for Disk {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Disks { file: root.open(FILE)?, root: root.clone(), roster: Roster::new(), noted: false }))
    }
}

struct Disks {
    file: ProcFile,
    root: Root,
    roster: Roster<Device>,
    /// Whether a malformed line was noted already: one note is enough.
    noted: bool,
}

struct Device {
    class: &'static str,
    counters: [Counter; N_FIELDS],
}

/// One line's statistics; None where the kernel does not print them.
type Fields = [Option<u64>; N_FIELDS];

/// Growth of the statistics over the interval; None where unknown.
type Growth = [Option<f64>; N_FIELDS];

impl Collector for Disks {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let text = self.file.read()?;
        let root = &self.root;
        self.roster.begin();
        for (i, line) in lines(text).enumerate() {
            let Some((name, fields)) = parse(line) else {
                if !self.noted {
                    self.noted = true;
                    rows.note(
                        FILE,
                        i as u64 + 1,
                        "neither 7, 14, 18 nor 20 words of the known form; the line is left out",
                    );
                }
                continue;
            };
            let make = |name: &str| Device { class: class_of(root, name), counters: Default::default() };
            let (member, new) = self.roster.member(name, make);
            if new && tick.dt.is_some() {
                rows.event(tick.t, "appeared", &member.name, "block device");
            }
            emit(member, &fields, tick, rows);
        }
        self.roster.end(|m| rows.event(tick.t, "gone", &m.name, "block device"));
        Ok(())
    }
}

/// Name and statistics of a line.
fn parse(line: &[u8]) -> Option<(&[u8], Fields)> {
    let mut words = words(line);
    number(words.next()?)?;
    number(words.next()?)?;
    let name = words.next()?;
    let mut fields: Fields = [None; N_FIELDS];
    let mut n = 0;
    // Fields that a later kernel may add at the end are not ours.
    for (field, word) in fields.iter_mut().zip(words) {
        *field = Some(number(word)?);
        n += 1;
    }
    match n {
        4 => {
            let [reads, read_sectors, writes, write_sectors, ..] = fields;
            fields = [None; N_FIELDS];
            (fields[READS], fields[READ_SECTORS]) = (reads, read_sectors);
            (fields[WRITES], fields[WRITE_SECTORS]) = (writes, write_sectors);
        }
        11 | 15 | N_FIELDS => {}
        _ => return None,
    }
    Some((name, fields))
}

/// Counts and sectors are as wide as the kernel's `unsigned long`; times are 32 bits everywhere.
fn width(field: usize) -> Width {
    match field {
        READ_MS | WRITE_MS | BUSY_MS | WEIGHTED_MS | DISCARD_MS | FLUSH_MS => Width::Bits32,
        _ if cfg!(target_pointer_width = "32") => Width::Bits32,
        _ => Width::Bits64,
    }
}

fn emit(member: &mut Member<Device>, fields: &Fields, tick: Tick, rows: &mut Rows) {
    let Some(growth) = growth(member, fields, tick.t, rows) else { return };
    let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return };
    let ever = [READS, WRITES, DISCARDS, FLUSHES, IN_FLIGHT];
    if ever.iter().all(|i| fields[*i].unwrap_or(0) == 0) {
        return;
    }
    let rate = |i: usize| growth[i].map(|n| n / dt);
    let bytes = |i: usize| rate(i).map(|n| n * SECTOR_BYTES);
    let mean = |sum: Option<f64>, n: Option<f64>| n.filter(|n| *n > 0.0).and_then(|n| Some(sum? / n));
    let both = |a: usize, b: usize| Some(growth[a]? + growth[b]?);
    let all_ios = both(READS, WRITES).map(|n| n + growth[DISCARDS].unwrap_or(0.0));
    rows.row(&TABLE, tick.t, dt)
        .str(disk::device, &*member.name)
        .str(disk::class, member.value.class)
        .f64(disk::reads_per_s, rate(READS))
        .f64(disk::writes_per_s, rate(WRITES))
        .f64(disk::discards_per_s, rate(DISCARDS))
        .f64(disk::flushes_per_s, rate(FLUSHES))
        .f64(disk::reads_merged_per_s, rate(READS_MERGED))
        .f64(disk::writes_merged_per_s, rate(WRITES_MERGED))
        .f64(disk::discards_merged_per_s, rate(DISCARDS_MERGED))
        .f64(disk::read_bytes_per_s, bytes(READ_SECTORS))
        .f64(disk::write_bytes_per_s, bytes(WRITE_SECTORS))
        .f64(disk::discard_bytes_per_s, bytes(DISCARD_SECTORS))
        .f64(disk::read_await_ms, mean(growth[READ_MS], growth[READS]))
        .f64(disk::write_await_ms, mean(growth[WRITE_MS], growth[WRITES]))
        .f64(disk::discard_await_ms, mean(growth[DISCARD_MS], growth[DISCARDS]))
        .f64(disk::flush_await_ms, mean(growth[FLUSH_MS], growth[FLUSHES]))
        .f64(disk::await_ms, mean(both(READ_MS, WRITE_MS), both(READS, WRITES)))
        .f64(disk::svctm_ms, mean(growth[BUSY_MS], all_ios))
        .f64(disk::queue_depth, rate(WEIGHTED_MS).map(|ms| ms / 1000.0))
        .f64(disk::in_flight, fields[IN_FLIGHT].map(|n| n as f64))
        .f64(disk::read_size_bytes, mean(growth[READ_SECTORS].map(|n| n * SECTOR_BYTES), growth[READS]))
        .f64(disk::write_size_bytes, mean(growth[WRITE_SECTORS].map(|n| n * SECTOR_BYTES), growth[WRITES]))
        // The kernel rounds busy time to its own ticks, so that a full interval can exceed its length.
        .f64(disk::util, rate(BUSY_MS).map(|ms| (ms / 10.0).min(100.0)));
}

/// How far the counters went; None when this is the device's first sample.
///
/// When one counter went back the device was reset, and none of its counters can be trusted.
fn growth(member: &mut Member<Device>, fields: &Fields, t: Micros, rows: &mut Rows) -> Option<Growth> {
    let mut growth: Growth = [None; N_FIELDS];
    let (mut first, mut reset) = (true, false);
    let counters = &mut member.value.counters;
    for (i, (counter, field)) in counters.iter_mut().zip(fields).enumerate() {
        let Some(now) = field.filter(|_| i != IN_FLIGHT) else { continue };
        match counter.step(now, width(i)) {
            Step::First => {}
            Step::By(n) => (first, growth[i]) = (false, Some(n as f64)),
            Step::Reset => (first, reset) = (false, true),
        }
    }
    if reset {
        rows.event(t, "counter reset", &member.name, "a counter of the block device went back; its rates are left out");
        growth = [None; N_FIELDS];
    }
    (!first).then_some(growth)
}

/// The kind of device: by sysfs, else by its name.
fn class_of(root: &Root, name: &str) -> &'static str {
    // In sysfs a slash of the name becomes an exclamation mark (`cciss/c0d0`).
    let folder = format!("/sys/class/block/{}", name.replace('/', "!"));
    if root.is_dir(&folder) {
        for (sign, class) in [("partition", "partition"), ("dm", "dm"), ("md", "md")] {
            if root.exists(&format!("{folder}/{sign}")) {
                return class;
            }
        }
        return class_by_prefix(name);
    }
    if is_partition_name(name) { "partition" } else { class_by_prefix(name) }
}

fn class_by_prefix(name: &str) -> &'static str {
    let prefixes = [
        ("loop", "loop"),
        ("ram", "ram"),
        ("zram", "zram"),
        ("dm-", "dm"),
        ("md", "md"),
        ("sr", "rom"),
        ("scd", "rom"),
    ];
    // The number after the prefix keeps `srv…` and the like apart.
    let matches = |prefix: &str| name.strip_prefix(prefix).is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    prefixes.into_iter().find(|(prefix, _)| matches(prefix)).map_or("disk", |(_, class)| class)
}

/// `sda1`, `xvda1`, `nvme0n1p1`, `mmcblk0p2`, `md0p1`, `cciss/c0d0p1`; not `nvme0n1`, `dm-0`, `sr0`.
fn is_partition_name(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == name.len() {
        return false;
    }
    let lettered = ["sd", "hd", "vd", "xvd"].iter().any(|prefix| {
        stem.strip_prefix(prefix).is_some_and(|r| !r.is_empty() && r.bytes().all(|b| b.is_ascii_lowercase()))
    });
    // Names that end in a digit get a `p` before the partition's number.
    lettered || stem.strip_suffix('p').is_some_and(|disk| disk.ends_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
