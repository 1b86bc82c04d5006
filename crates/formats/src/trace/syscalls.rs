//! Figures of system calls, gathered: tools print them in several sections, or a name several times.

use fenxi_model::{Micros, catalog::syscall};
use rustc_hash::FxHashMap;

use crate::Out;

/// Lines that belong to nothing and are kept, and characters of one.
const MOST_KEPT: usize = 500;
const LONGEST_KEPT: usize = 400;
/// More names than any kernel has calls; what is beyond is written early.
const MAX_NAMES: usize = 1 << 16;

/// Figures of one call of one program; None is not known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub(super) calls: Option<f64>,
    pub(super) errors: Option<f64>,
    pub(super) elapsed_s: Option<f64>,
    pub(super) cpu_s: Option<f64>,
}

/// Adds up figures of equal names.
#[derive(Debug, Default)]
pub(super) struct Syscalls {
    names: FxHashMap<Box<str>, usize>,
    figures: Vec<(Box<str>, Figures)>,
    comm: Option<String>,
    pid: Option<i64>,
}

impl Syscalls {
    pub(super) fn is_empty(&self) -> bool {
        self.figures.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.figures.len() >= MAX_NAMES
    }

    /// Whose calls these are.
    pub(super) fn set_owner(&mut self, comm: Option<&str>, pid: Option<i64>) {
        self.comm = comm.map(str::to_owned);
        self.pid = pid;
    }

    pub(super) fn add(&mut self, name: &str, more: Figures) {
        let next = self.figures.len();
        let at = match self.names.get(name) {
            Some(at) => *at,
            None => {
                self.names.insert(name.into(), next);
                self.figures.push((name.into(), Figures::default()));
                next
            }
        };
        let Some((_, sum)) = self.figures.get_mut(at) else { return };
        for (sum, more) in [
            (&mut sum.calls, more.calls),
            (&mut sum.errors, more.errors),
            (&mut sum.elapsed_s, more.elapsed_s),
            (&mut sum.cpu_s, more.cpu_s),
        ] {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0.0) + more);
            }
        }
    }

    /// Writes all names in the order in which they first came.
    pub(super) fn flush(&mut self, out: &mut Out<'_>, t: Option<Micros>, dt: Option<f64>) {
        self.names.clear();
        for (name, sum) in self.figures.drain(..) {
            let mut row = out.row(&syscall::TABLE, t, dt);
            row.str(syscall::comm, self.comm.as_deref()).i64(syscall::pid, self.pid).str(syscall::syscall, &*name);
            row.f64(syscall::calls, sum.calls).f64(syscall::errors, sum.errors);
            row.f64(syscall::elapsed_s, sum.elapsed_s).f64(syscall::cpu_s, sum.cpu_s);
        }
    }
}

/// Lines that belong to nothing, of which there may be very many: the traced program's own output.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// The first of them: another format may know them.
    kept: Vec<(u64, String)>,
    count: u64,
}

impl Others {
    pub(super) fn add(&mut self, at: u64, line: &str) {
        self.count += 1;
        if self.kept.len() < MOST_KEPT {
            self.kept.push((at, line.chars().take(LONGEST_KEPT).collect()));
        }
    }

    /// One note for all of them.
    pub(super) fn tell(&mut self, out: &mut Out<'_>) {
        let mut kept = std::mem::take(&mut self.kept).into_iter();
        if let Some((at, line)) = kept.next() {
            out.unknown(at, &line, &format!("{} lines are no part of a summary, the first", self.count));
        }
        kept.for_each(|(at, line)| out.unread(at, &line));
    }
}
