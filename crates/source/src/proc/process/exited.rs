//! Processes that exited in the interval, as far as the child times of their parents show.
//!
//! When a parent waits for a child that ended, the kernel adds all that the child and its own ended
//! children ever used to the parent's child times. Some of that was shown before, in the rows of
//! those that lived at the sample before; it is taken off, so that nothing counts twice. What
//! no parent waits for (a parent that ignores SIGCHLD) is in no parent's times and remains unknown.

use std::ops::{Add, Sub};

use fenxi_procfs::{
    TICK_NS,
    stat::{Stat, split_as},
};
use rustc_hash::FxHashMap;

use super::io::Io;

/// Totals of one process or several: CPU time, page faults and I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// CPU time.
    pub ns: u64,
    /// The part of it in user code, in ticks: for the proportion only.
    pub utime: u64,
    /// The part of it in the kernel, in ticks.
    pub stime: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    /// Bytes and calls; a stat has none of them.
    pub io: Io,
}

impl Totals {
    /// Totals of a process without its children, with `ns` of CPU time.
    pub fn from_stat(stat: &Stat, ns: u64) -> Totals {
        Totals {
            ns,
            utime: stat.utime,
            stime: stat.stime,
            minor_faults: stat.minor_faults,
            major_faults: stat.major_faults,
            io: Io::NONE,
        }
    }

    /// Totals of its ended and awaited children.
    pub fn of_children(stat: &Stat) -> Totals {
        Totals {
            ns: (stat.child_utime + stat.child_stime) * TICK_NS,
            utime: stat.child_utime,
            stime: stat.child_stime,
            minor_faults: stat.child_minor_faults,
            major_faults: stat.child_major_faults,
            io: Io::NONE,
        }
    }

    /// CPU time in user code and in the kernel, in nanoseconds.
    pub fn split(&self) -> (u64, u64) {
        split_as(self.ns, self.utime, self.stime)
    }
}

impl Add for Totals {
    type Output = Totals;

    fn add(self, other: Totals) -> Totals {
        Totals {
            ns: self.ns + other.ns,
            utime: self.utime + other.utime,
            stime: self.stime + other.stime,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            io: self.io + other.io,
        }
    }
}

/// Never below zero: both sides are cut to ticks.
impl Sub for Totals {
    type Output = Totals;

    fn sub(self, other: Totals) -> Totals {
        Totals {
            ns: self.ns.saturating_sub(other.ns),
            utime: self.utime.saturating_sub(other.utime),
            stime: self.stime.saturating_sub(other.stime),
            minor_faults: self.minor_faults.saturating_sub(other.minor_faults),
            major_faults: self.major_faults.saturating_sub(other.major_faults),
            io: self.io - other.io,
        }
    }
}

/// The balance of one interval.
#[derive(Debug, Default)]
pub struct Exited {
    gone: FxHashMap<u32, Gone>,
    /// Growth of the child times of each process that is still there, less what was shown before.
    parents: FxHashMap<u32, Totals>,
}

#[derive(Clone, Copy, Debug)]
struct Gone {
    parent: u32,
    /// Totals of it and its ended children at the sample before.
    shown: Totals,
}

impl Exited {
    /// A process that was there at the sample before is gone.
    pub fn gone(&mut self, pid: u32, parent: u32, shown: Totals) {
        self.gone.insert(pid, Gone { parent, shown });
    }

    /// Balances the growth of the child times of those that are there against what was shown
    /// before, and gives what is left over all parents.
    pub fn settle(&mut self, parents: impl Iterator<Item = (u32, Totals)>) -> Totals {
        self.parents.clear();
        self.parents.extend(parents);
        let mut strays = Vec::new();
        for gone in self.gone.values() {
            let heir = self.heir(gone.parent);
            if !subtract(self.parents.get_mut(&heir), gone.shown) {
                strays.push(gone.shown);
            }
        }
        // An orphan is waited for by init or a subreaper; whose times did not grow enough did not.
        for shown in strays {
            let richest = self.parents.values_mut().filter(|t| t.io.may_hold(shown.io)).max_by_key(|t| t.ns);
            subtract(richest, shown);
        }
        self.parents.values().fold(Totals::default(), |sum, t| sum + *t)
    }

    /// CPU time of ended children of `pid` that was not reported before, in nanoseconds.
    pub fn of_parent(&self, pid: u32) -> u64 {
        self.parents.get(&pid).map_or(0, |t| t.ns)
    }

    /// Forgets the interval.
    pub fn clear(&mut self) {
        self.gone.clear();
        self.parents.clear();
    }

    /// The nearest ancestor that is still there.
    fn heir(&self, mut pid: u32) -> u32 {
        // A chain of ended processes cannot be longer than their number; reused numbers could make a ring.
        for _ in 0..=self.gone.len() {
            match self.gone.get(&pid) {
                Some(gone) => pid = gone.parent,
                None => break,
            }
        }
        pid
    }
}

/// Takes `shown` off `account` if it is in there, but for the ticks that were cut off.
fn subtract(account: Option<&mut Totals>, shown: Totals) -> bool {
    match account {
        Some(account) if account.ns + 2 * TICK_NS >= shown.ns => {
            *account = *account - shown;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Exited, Totals};

    fn ticks(n: u64) -> Totals {
        Totals { ns: n * 10_000_000, utime: n, ..Totals::default() }
    }

    fn settle(exited: &mut Exited, parents: &[(u32, u64)]) -> u64 {
        exited.settle(parents.iter().map(|(pid, n)| (*pid, ticks(*n)))).ns / 10_000_000
    }

    #[test]
    fn what_was_shown_before_does_not_count_again() {
        let mut exited = Exited::default();
        // 20 was seen with 900 ticks, then ended with 950; its parent 10 waited for it.
        exited.gone(20, 10, ticks(900));
        assert_eq!(settle(&mut exited, &[(10, 950)]), 50);
        assert_eq!(exited.of_parent(10), 500_000_000);
    }

    #[test]
    fn a_chain_that_ended_is_one_growth_of_the_survivor() {
        let mut exited = Exited::default();
        // 30 was waited for by 20, and 20 by 10: 10 grew by both lives.
        exited.gone(30, 20, ticks(100));
        exited.gone(20, 10, ticks(40));
        assert_eq!(settle(&mut exited, &[(10, 160)]), 20);
    }

    #[test]
    fn orphans_are_settled_with_who_waited_for_them() {
        let mut exited = Exited::default();
        // 20 ended first, so its child 30 went to init.
        exited.gone(20, 10, ticks(5));
        exited.gone(30, 20, ticks(500));
        assert_eq!(settle(&mut exited, &[(1, 507), (10, 8)]), 10);
    }

    #[test]
    fn what_nobody_waited_for_is_not_taken_off_others() {
        let mut exited = Exited::default();
        exited.gone(20, 10, ticks(100_000));
        assert_eq!(settle(&mut exited, &[(11, 30)]), 30);
    }
}
