//! Bytes read and written by a process itself.
//!
//! `/proc/PID/io` of a process also holds all that its ended and awaited children ever read and wrote: of a server that begins
//! a process for each client it is mostly theirs. `/proc/PID/task/TID/io` is of one thread alone, so of a process with one
//! thread it is the process's own, and what the first file holds beyond is its children's. Of a process with several threads,
//! some of which may have ended, neither file distinguishes the two where children were waited for: then both are unknown.

use std::ops::{Add, Sub};

use fenxi_procfs::{
    scan::{lines, number},
    stat::Stat,
};

use super::reader::Reader;

/// Figures that are read: bytes at storage, bytes by system calls, and the number of these; read and written each.
pub const FIGURES: usize = 6;
const KEYS: [&[u8]; FIGURES] = [b"read_bytes:", b"write_bytes:", b"rchar:", b"wchar:", b"syscr:", b"syscw:"];

/// Figures, or that they are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io(pub Option<[u64; FIGURES]>);

impl Default for Io {
    fn default() -> Io {
        Io::NONE
    }
}

impl Io {
    /// Nothing was read or written.
    pub const NONE: Io = Io(Some([0; FIGURES]));
    /// Unknown.
    pub const UNKNOWN: Io = Io(None);

    /// Returns true if an account may hold another one: each figure is as large, or one of them is not known.
    pub fn may_hold(self, other: Io) -> bool {
        self.0.zip(other.0).is_none_or(|(all, some)| all.iter().zip(&some).all(|(all, some)| all >= some))
    }

    /// Returns true if anything is known to have been read or written.
    pub fn is_any(self) -> bool {
        self.0.is_some_and(|figures| figures.iter().any(|n| *n > 0))
    }

    fn with(self, other: Io, each: impl Fn(u64, u64) -> u64) -> Io {
        let both = self.0.zip(other.0);
        Io(both.map(|(a, b)| std::array::from_fn(|at| each(a[at], b[at]))))
    }
}

impl Add for Io {
    type Output = Io;

    fn add(self, other: Io) -> Io {
        self.with(other, u64::wrapping_add)
    }
}

/// Never below zero.
impl Sub for Io {
    type Output = Io;

    fn sub(self, other: Io) -> Io {
        self.with(other, u64::saturating_sub)
    }
}

/// I/O counters of a process at the last sample.
#[derive(Debug, Default)]
pub struct Account {
    /// Of all of it, ended children included.
    whole: Io,
    /// Amount of `whole` beyond its only thread: of children that were waited for.
    beyond: Io,
    /// Reading another user's I/O is forbidden as a rule; one attempt is enough.
    is_denied: bool,
}

/// I/O since the last sample.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// By the process itself; None where the kernel does not report it.
    pub own: Option<[u64; FIGURES]>,
    /// By children that ended and were waited for, in all of their lives.
    pub children: Io,
}

impl Account {
    /// I/O of the process and its ended children at the last sample.
    pub fn seen(&self) -> Io {
        if self.is_denied { Io::UNKNOWN } else { self.whole }
    }

    /// Reads anew and returns what was done since the time before; the first time that is nothing but a memory of it, unless the
    /// process had not begun: `before` is then without threads.
    pub fn advance(&mut self, reader: &mut Reader, pid: u32, before: &Stat, now: &Stat, is_first: bool) -> Growth {
        let waited = children(now) != children(before);
        if self.is_denied {
            return Growth { own: None, children: if waited { Io::UNKNOWN } else { Io::NONE } };
        }
        let whole = read(reader, pid, None);
        self.is_denied = whole.0.is_none();
        let of_whole = whole - std::mem::replace(&mut self.whole, whole);
        // A thread that ended is in the whole as children are.
        let is_single = now.threads == 1 && before.threads <= 1;
        let beyond_then = self.beyond;
        let is_parent = children(now) != [0; 4];
        if !is_single {
            self.beyond = Io::UNKNOWN;
        } else if waited || (is_first && is_parent) {
            self.beyond = whole - read(reader, pid, Some(pid));
        }
        if is_first && before.threads > 0 {
            return Growth { own: None, children: Io::NONE };
        }
        if !waited {
            return Growth { own: of_whole.0, children: Io::NONE };
        }
        let of_children = self.beyond - beyond_then;
        Growth { own: (of_whole - of_children).0, children: of_children }
    }
}

/// Counters that grow when a child is waited for.
fn children(stat: &Stat) -> [u64; 4] {
    [stat.child_utime, stat.child_stime, stat.child_minor_faults, stat.child_major_faults]
}

fn read(reader: &mut Reader, pid: u32, thread: Option<u32>) -> Io {
    let Some(text) = reader.file(pid, thread, "io") else { return Io::UNKNOWN };
    let get = |key: &[u8]| lines(text).find_map(|line| number(line.strip_prefix(key)?.trim_ascii()));
    let mut figures = [0; FIGURES];
    for (figure, key) in figures.iter_mut().zip(KEYS) {
        let Some(value) = get(key) else { return Io::UNKNOWN };
        *figure = value;
    }
    Io(Some(figures))
}
