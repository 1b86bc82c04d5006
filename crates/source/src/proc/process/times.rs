//! The same processes for who wants CPU times alone, of chosen processes, with command lines, threads
//! and those that ended.

use std::sync::Arc;

use fenxi_model::catalog::{process, thread};
use fenxi_sys::usage::{Whose, cpu_times};
use rustc_hash::FxHashSet;

use super::{KnownProcess, Processes, Selection, Wanted, exited::Totals};
use crate::{Collector, Root, Source, SourceError, Spec, Take};

/// CPU times of chosen processes, and of those that ended by their exit records.
#[derive(Debug)]
pub struct CpuTimes {
    /// Which processes.
    pub selection: Arc<Selection>,
    /// True if each thread has a row as well.
    pub threads: bool,
}

static SPEC: Spec = Spec {
    name: "process",
    summary: "CPU times of chosen processes",
    tables: &[&process::TABLE, &thread::TABLE],
    take: Take::EveryTick,
    default: false,
    live: false,
};

impl Source for CpuTimes {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let wanted = Wanted { selection: Arc::clone(&self.selection), names: true, threads: self.threads };
        let mut processes = Processes::start(root, wanted)?;
        processes.reader.cpu_only = true;
        if root.is_live() {
            processes.take_exits(root);
        }
        if self.selection.descendants {
            processes.tree = Tree::of_this_process();
        }
        Ok(Box::new(processes))
    }
}

/// The descendants of this process that ended, and the time of all of them as the kernel sums it up.
#[derive(Debug, Default)]
pub struct Tree {
    members: FxHashSet<u32>,
    /// Child times of this process at the beginning; None when no tree is wanted.
    begin: Option<Children>,
    shown_ns: u64,
}

/// CPU time of ended and awaited children, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Children {
    pub usr_ns: u64,
    pub sys_ns: u64,
}

impl Children {
    fn now() -> Option<Children> {
        let times = cpu_times(Whose::Children).ok()?;
        Some(Children { usr_ns: times.user.as_nanos() as u64, sys_ns: times.system.as_nanos() as u64 })
    }
}

impl Tree {
    /// Descendants from now on.
    fn of_this_process() -> Tree {
        // Who loses its parent stays in sight: it becomes a child of this process. Without, it is lost.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Tree { members: FxHashSet::from_iter([std::process::id()]), begin: Children::now(), shown_ns: 0 }
    }

    /// Returns true if children of `pid` belong to it though it may be gone.
    pub fn holds(&self, pid: u32) -> bool {
        self.members.contains(&pid)
    }

    /// A member is gone.
    pub fn ended(&mut self, pid: u32) {
        if self.begin.is_some() {
            self.members.insert(pid);
        }
    }

    /// Time used by the tree that is in no row: `rows_ns` is in rows of this sample. None when no
    /// tree is wanted.
    pub fn rest<'k>(&mut self, rows_ns: u64, living: impl Iterator<Item = &'k KnownProcess>) -> Option<Children> {
        let (begin, now) = (self.begin?, Children::now()?);
        let usr_ns = now.usr_ns.saturating_sub(begin.usr_ns);
        let sys_ns = now.sys_ns.saturating_sub(begin.sys_ns);
        let living_ns = living.map(|k| k.clock_ns.unwrap_or(0) + Totals::of_children(&k.stat).ns).sum::<u64>();
        let all_ns = usr_ns + sys_ns + living_ns;
        self.shown_ns += rows_ns;
        let rest_ns = all_ns.saturating_sub(self.shown_ns);
        self.shown_ns += rest_ns;
        let (usr_ns, sys_ns) = fenxi_procfs::stat::split_as(rest_ns, usr_ns, sys_ns);
        Some(Children { usr_ns, sys_ns })
    }
}
