//! Counts of the programs, and the rows made of them.

use std::collections::BTreeMap;

use fenxi_model::{Rows, catalog::io_pattern as c};
use fenxi_source::Tick;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::{
    calls::Op,
    mounts::{self, Mounts},
};
use crate::{
    buckets::{self, BUCKETS},
    bytes::Bytes,
    sums::Added,
};

/// Names of operations, in the order of `enum op` (`iopattern.h`).
const OPS: [&str; 8] = ["read", "write", "lookup", "create", "remove", "attr", "readdir", "sync"];
/// Names of patterns, in the order of `enum pattern`; what has none is beyond.
const PATTERNS: [&str; 5] = ["sequential", "random", "page", "direct sequential", "direct random"];
/// The place of `page` in it.
const PAGE: u32 = 2;

/// Rows of files at each tick; what is beyond is added up by file system.
const FILES: usize = 500;

/// `struct cell_key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// 0: no file.
    inode: u64,
    device: u32,
    /// 0: processes are added up.
    pid: u32,
    op: u32,
    pattern: u32,
}

/// One cell's additions.
#[derive(Clone, Debug)]
pub(super) struct Line {
    key: Key,
    /// Operations, bytes, operations whose time is known, that time in nanoseconds.
    sums: [u64; 4],
    comm: String,
}

impl Line {
    pub(super) fn read(added: &Added<'_, 4>) -> Line {
        let mut at = Bytes(added.key);
        let key = Key { inode: at.u64(), device: at.u32(), pid: at.u32(), op: at.u32(), pattern: at.u32() };
        Line { key, sums: added.sums, comm: Bytes(added.rest).text(16) }
    }

    /// Whether it is of page faults.
    pub(super) fn is_page(&self) -> bool {
        self.key.pattern == PAGE
    }

    /// Its row. What is on no mounted file system (pipes, sockets) has none, unless it was read or written.
    pub(super) fn row(&self, mounts: &mut Mounts, paths: &MapHandle, tick: Tick, dt: f64, rows: &mut Rows) {
        let Key { inode, device, pid, op, pattern } = self.key;
        let mount = mounts.of(device, pid);
        if mount.is_none() && op > Op::Write as u32 {
            return;
        }
        let point = mount.map_or_else(|| mounts::device_name(device), |mount| mount.point.clone());
        let within = (inode != 0).then(|| path(paths, inode, device)).flatten();
        let unnamed = (inode != 0).then(|| format!("inode {inode}"));
        let file = within.map(|path| mount.map_or(path.clone(), |mount| mount.path(&path))).or(unnamed);
        let [ops, bytes, timed, ns] = self.sums.map(|sum| sum as f64);
        let per = |sum: f64, of: f64| (of > 0.0).then(|| sum / of);
        let transfers = op <= Op::Write as u32;
        let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
        row.str(c::mount, point.as_str()).str(c::file, file.as_deref());
        if pid != 0 {
            row.str(c::comm, self.comm.as_str()).i64(c::pid, i64::from(pid));
        }
        row.str(c::op, name(&OPS, op)).str(c::pattern, name(&PATTERNS, pattern));
        row.f64(c::ops_per_s, ops / dt);
        row.f64(c::transfer_bytes_per_s, transfers.then_some(bytes / dt));
        row.f64(c::mean_us, per(ns / 1e3, timed));
        row.f64(c::size_bytes, per(bytes, ops).filter(|_| transfers));
    }
}

fn name(of: &[&'static str], place: u32) -> Option<&'static str> {
    of.get(usize::try_from(place).ok()?).copied()
}

/// A file's path within its file system, without a slash at its begin.
fn path(paths: &MapHandle, inode: u64, device: u32) -> Option<String> {
    let mut key = inode.to_ne_bytes().to_vec();
    key.extend(u64::from(device).to_ne_bytes());
    let value = paths.lookup(&key, MapFlags::ANY).ok()??;
    let mut at = Bytes(&value);
    let (size, whole) = (at.u32(), at.u32() != 0);
    let names = at.0.get(..usize::try_from(size).ok()?)?;
    let names: Vec<_> = names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
    let names: Vec<_> = names.iter().rev().map(|name| String::from_utf8_lossy(name)).collect();
    (!names.is_empty()).then(|| format!("{}{}", if whole { "" } else { "…/" }, names.join("/")))
}

/// The lines with the most operations, the others added up by file system, operation and pattern.
pub(super) fn fewer(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_by_key(|line| std::cmp::Reverse(line.sums[0]));
    let mut sums: BTreeMap<Key, [u64; 4]> = BTreeMap::new();
    for line in lines.drain(FILES.min(lines.len())..) {
        let of = sums.entry(Key { inode: 0, pid: 0, ..line.key }).or_default();
        of.iter_mut().zip(line.sums).for_each(|(sum, more)| *sum += more);
    }
    lines.extend(sums.into_iter().map(|(key, sums)| Line { key, sums, comm: String::new() }));
    lines
}

/// Sizes and times of one file system's operations of a kind.
#[derive(Debug)]
pub(super) struct Spread {
    device: u32,
    op: u32,
    pattern: u32,
    /// By bucket: sizes, then times.
    counts: Vec<u64>,
}

impl Spread {
    pub(super) fn read(added: &Added<'_, { 2 * BUCKETS }>) -> Spread {
        let mut at = Bytes(added.key);
        Spread { device: at.u32(), op: at.u32(), pattern: at.u32(), counts: added.sums.to_vec() }
    }

    /// A row for each bucket that has any.
    pub(super) fn rows(&self, mounts: &mut Mounts, tick: Tick, rows: &mut Rows) {
        let mount = mounts.of(self.device, 0);
        let mount = mount.map_or_else(|| mounts::device_name(self.device), |mount| mount.point.clone());
        let (op, pattern) = (name(&OPS, self.op).unwrap_or("?"), name(&PATTERNS, self.pattern).unwrap_or("?"));
        let labels = format!("mount={mount},op={op},pattern={pattern}");
        let (sizes, times) = self.counts.split_at(BUCKETS);
        for (counts, name, unit, scale) in [(sizes, "io_size_bytes", "B", 1.0), (times, "io_latency_us", "us", 1e-3)] {
            buckets::rows(buckets::Of { name, labels: &labels, unit, scale }, counts, tick, rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_is_added_up_and_not_lost() {
        let key = |inode| Key { inode, device: 3, pid: 9, op: 0, pattern: 1 };
        let line = |inode: u64| Line { key: key(inode), sums: [inode, 10 * inode, inode, 5], comm: "x".to_owned() };
        let all: Vec<Line> = (1..=600).map(line).collect();
        let sum = |lines: &[Line]| lines.iter().map(|line| line.sums[1]).sum::<u64>();
        let total = sum(&all);
        let kept = fewer(all);
        assert_eq!((kept.len(), sum(&kept)), (501, total));
        let last = kept.last().unwrap();
        assert_eq!((last.key.inode, last.key.pid, last.comm.as_str()), (0, 0, ""));
        // Those with the fewest operations: 1 to 100.
        assert_eq!(last.sums[0], 5050);
    }
}
