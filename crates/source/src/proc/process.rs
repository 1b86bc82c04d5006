//! `process`: processes active in the interval: CPU time, page faults, I/O.
//!
//! The cheap path. A process cannot change anything without running. On the live system its CPU clock
//! shows by one system call whether it ran, all threads counted, see [`clock`], and nothing else is
//! read unless it did. Without clocks, as of a saved system, a process with one thread is known by its `schedstat`
//! (through a kept descriptor where the limit on open files allows). Of the others `stat` is read, and
//! unless every nanosecond is wanted ([`CpuTimes`]) the rest only if `stat` changed; CPU time below the
//! resolution of `stat` (two clock ticks at most) thus shows a little later, but is never lost.
//!
//! CPU time is exact where the kernel keeps it in nanoseconds, see [`cpu`]. `usr` and `sys` divide
//! it as the clock ticks of `stat` do. Processes that ended in the interval are known by their exit
//! records where these are allowed ([`exits`]), else through their parents' child times
//! only, see [`exited`]: one row `(exited)` holds what no other row does. Those that no sample saw have
//! one row together, by name, user and role: there may be thousands of them.
//! Context switches of threads that ended within the interval are not seen.

pub(crate) mod clock;
mod cpu;
mod details;
mod emit;
mod exited;
mod exits;
mod files;
mod gone;
mod io;
mod netlink;
pub(crate) mod reader;
mod select;
mod threads;
mod times;

use std::{os::fd::OwnedFd, sync::Arc};

use details::{Details, Measured, Users};
use exited::{Exited, Totals};
use exits::{Ended, Exits};
use fenxi_model::{Rows, catalog::process::TABLE};
use fenxi_procfs::{
    containers::{Container, Containers},
    stat::Stat,
};
use files::OpenFiles;
use gone::Gone;
use reader::Reader;
use rustc_hash::{FxHashMap, FxHashSet};
use select::Candidate;
pub use select::{Matches, Selection};
use threads::Threads;
pub use times::CpuTimes;

use crate::{Collector, ProcFile, Root, Source, SourceError, Spec, Take, Tick};

pub struct Process;

/// The source.
pub static SOURCE: Process = Process;

static SPEC: Spec = Spec {
    name: "process",
    summary: "processes that did something: CPU, memory, faults, I/O, switches (/proc/PID)",
    tables: &[&TABLE],
    take: Take::EveryTick,
    default: true,
    live: false,
};

impl Source for Process {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let mut processes = Processes::start(root, Wanted::default())?;
        if processes.clocks {
            processes.take_exits(root);
        }
        Ok(Box::new(processes))
    }
}

/// How many descriptors may stay open: a quarter of what the process may have.
pub(crate) fn descriptors_to_keep() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(4096, |n| (n / 4).min(16_384) as usize)
}

/// Samples after which containers that were not found are looked for again.
const LOOK_AGAIN: u64 = 10;

/// Selected processes, and the data wanted of them.
#[derive(Default)]
struct Wanted {
    selection: Arc<Selection>,
    /// Command lines, and rows also of selected processes that were idle.
    names: bool,
    threads: bool,
}

struct Processes {
    reader: Reader,
    containers: Containers,
    users: Users,
    known: FxHashMap<u32, KnownProcess>,
    pids: Vec<u32>,
    active: Vec<Active>,
    exited: Exited,
    round: u64,
    n_kept: usize,
    max_kept: usize,
    delays: bool,
    /// Whether processes' clocks can be read.
    clocks: bool,
    uptime: Option<ProcFile>,
    wanted: Wanted,
    /// Whether there is no choice among processes.
    all: bool,
    exits: Option<Exits>,
    /// Processes that this one started, with all descendants, whether they live or not; this process itself is in it.
    ours: FxHashSet<u32>,
    /// Records of processes that are still listed, or were never seen.
    records: FxHashMap<u32, Ended>,
    inbox: Vec<Ended>,
    gone: Vec<Gone>,
    /// Of the time of ended processes without a record: what was not yet shown, nanoseconds.
    balance_ns: i64,
    tree: times::Tree,
    /// Notes for the first sample.
    note: Option<String>,
}

/// A process as it was when it last changed.
struct KnownProcess {
    /// The last sample in which it was listed.
    seen: u64,
    comm: Box<str>,
    stat: Stat,
    details: Details,
    files: OpenFiles,
    /// Its `schedstat`, kept open while it has one thread.
    file: Option<OwnedFd>,
    /// CPU time by its clock in nanoseconds; None where it was not read.
    clock_ns: Option<u64>,
    selected: bool,
    command: Option<Box<str>>,
    container: Option<Arc<Container>>,
    /// The name under which its container was looked for: a program that is started in one is begun outside.
    looked_as: Option<Box<str>>,
    threads: Option<Box<Threads>>,
    /// Time runnable without a CPU that was shown since it began; None of one that was there before the first sample.
    shown_wait_ns: Option<u64>,
}

/// Activity of a process in the interval.
struct Active {
    pid: u32,
    /// The process as it was before; zeroes when it began in the interval.
    before: Stat,
    work: details::ProcessWork,
    /// Growth of its ended children's times.
    children: Totals,
}

impl Collector for Processes {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.round += 1;
        if self.round.is_multiple_of(LOOK_AGAIN) {
            self.containers.refresh();
        }
        self.active.clear();
        self.gone.clear();
        if let Some(note) = self.note.take() {
            rows.note("", None, &note);
        }
        let mut pids = std::mem::take(&mut self.pids);
        self.reader.pids(&mut pids)?;
        for pid in &pids {
            self.visit(*pid, tick);
        }
        self.pids = pids;
        self.take_records(rows);
        self.forget_gone();
        self.bury_unseen();
        if let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) {
            self.emit(tick, dt, rows);
        }
        if self.wanted.threads {
            self.emit_threads(tick, rows);
        }
        Ok(())
    }

    fn cpu_of_threads(&self) -> f64 {
        self.exits.as_ref().map_or(0.0, Exits::cpu_s)
    }
}

impl Processes {
    fn start(root: &Root, wanted: Wanted) -> Result<Processes, SourceError> {
        // Since 5.14 delay accounting is off unless asked for; before, there was no such switch.
        let delays = root.read_text("/proc/sys/kernel/task_delayacct").is_none_or(|t| t != "0");
        let reader = Reader::open(root)?;
        Ok(Processes {
            ours: reader.own.into_iter().collect(),
            reader,
            containers: Containers::new(root),
            users: Users::read(root),
            known: FxHashMap::default(),
            pids: Vec::new(),
            active: Vec::new(),
            exited: Exited::default(),
            round: 0,
            n_kept: 0,
            max_kept: descriptors_to_keep(),
            delays,
            clocks: clock::usable(root),
            uptime: root.open("/proc/uptime").ok(),
            all: wanted.selection.is_all(),
            wanted,
            exits: None,
            records: FxHashMap::default(),
            inbox: Vec::new(),
            gone: Vec::new(),
            balance_ns: 0,
            tree: times::Tree::default(),
            note: None,
        })
    }

    /// Asks for the records of processes that end; where there are none, that is noted.
    fn take_exits(&mut self, root: &Root) {
        match Exits::begin(root) {
            Ok(exits) => self.exits = Some(exits),
            Err(error) => {
                self.note = Some(format!(
                    "no exit records ({error}; they need root or CAP_NET_ADMIN, outside of containers): \
                     processes that end are known through their parents' times only"
                ));
            }
        }
    }

    fn visit(&mut self, pid: u32, tick: Tick) {
        let clock_ns = if self.clocks { clock::cpu_ns(pid) } else { None };
        let Some(known) = self.known.get_mut(&pid) else { return self.meet(pid, clock_ns, tick) };
        if !may_have_run(&mut self.reader, pid, known, clock_ns, self.clocks) {
            known.seen = self.round;
            return self.idle(pid, tick);
        }
        let single = known.stat.threads == 1;
        let Some((stat, comm)) = self.reader.stat(pid) else { return };
        if stat.start != known.stat.start {
            // Another process got the number: the old one is gone, this one is new.
            let old = self.known.remove(&pid);
            self.bury(pid, old);
            return self.meet(pid, clock_ns, tick);
        }
        known.seen = self.round;
        // Threads cost two reads each: a recording can wait until there is a tick to be shown.
        let exact = self.clocks && self.wanted.names;
        if !single && !exact && stat.same_work(&known.stat) {
            known.stat = stat;
            return self.idle(pid, tick);
        }
        if *comm != *known.comm {
            known.comm = comm.into();
            known.command = None;
            // Who was in the tree stays in it when its parent has ended.
            let stays = known.selected && self.wanted.selection.descendants;
            if !stays {
                self.choose(pid);
            }
        }
        self.advance(pid, stat, clock_ns, tick);
    }

    /// Takes in what a known process did.
    fn advance(&mut self, pid: u32, stat: Stat, clock_ns: Option<u64>, tick: Tick) {
        let Some(known) = self.known.get_mut(&pid) else { return };
        let before = std::mem::replace(&mut known.stat, stat);
        let clock_before = std::mem::replace(&mut known.clock_ns, clock_ns);
        if !known.selected {
            return;
        }
        let mut work = known.details.advance(&mut self.reader, pid, &before, &stat);
        if let (Some(now), Some(then)) = (clock_ns, clock_before) {
            work.cpu_ns = now.saturating_sub(then);
            work.measured = Measured::Clock;
        }
        if let Some(shown) = &mut known.shown_wait_ns {
            *shown += work.wait_ns.unwrap_or(0);
        }
        let mut children = Totals::of_children(&stat) - Totals::of_children(&before);
        children.io = work.children_io;
        if known.file.is_some() && stat.threads != 1 {
            known.file = None;
            self.n_kept -= 1;
        }
        if tick.dt.is_some() {
            self.active.push(Active { pid, before, work, children });
        }
    }

    /// A process that did nothing is of interest if it was asked for.
    fn idle(&mut self, pid: u32, tick: Tick) {
        if self.all || !self.wanted.names || tick.dt.is_none() {
            return;
        }
        let Some(known) = self.known.get(&pid).filter(|k| k.selected) else { return };
        let measured = match known.clock_ns {
            Some(_) => Measured::Clock,
            None if known.details.trusted() => Measured::Schedstat,
            None => Measured::Ticks,
        };
        let wait_ns = known.details.wait_ns().map(|_| 0);
        let work = details::ProcessWork { measured, wait_ns, ..details::ProcessWork::default() };
        self.active.push(Active { pid, before: known.stat, work, children: Totals::default() });
    }

    /// Takes up a process that was not there at the sample before.
    fn meet(&mut self, pid: u32, clock_ns: Option<u64>, tick: Tick) {
        let Some((stat, comm)) = self.reader.stat(pid) else { return };
        let comm = comm.into();
        let before = Stat { start: stat.start, ..Stat::default() };
        // A number that was one of ours may be another's now.
        if self.ours.contains(&stat.ppid) {
            self.ours.insert(pid);
        } else if self.reader.own != Some(pid) {
            self.ours.remove(&pid);
        }
        let known = KnownProcess {
            seen: self.round,
            comm,
            stat,
            details: Details::default(),
            files: OpenFiles::default(),
            file: None,
            clock_ns,
            selected: true,
            command: None,
            container: None,
            looked_as: None,
            threads: None,
            shown_wait_ns: tick.dt.map(|_| 0),
        };
        self.known.insert(pid, known);
        self.choose(pid);
        let Some(known) = self.known.get_mut(&pid).filter(|k| k.selected) else { return };
        let mut work = known.details.advance(&mut self.reader, pid, &before, &stat);
        if let Some(ns) = clock_ns {
            work.cpu_ns = ns;
            work.measured = Measured::Clock;
        } else if stat.threads == 1 && known.details.trusted() && self.n_kept < self.max_kept {
            known.file = self.reader.open_schedstat(pid);
            self.n_kept += usize::from(known.file.is_some());
        }
        if let Some(shown) = &mut known.shown_wait_ns {
            *shown += work.wait_ns.unwrap_or(0);
        }
        if tick.dt.is_some() {
            let children = Totals { io: work.children_io, ..Totals::of_children(&stat) };
            self.active.push(Active { pid, before, work, children });
        }
    }

    /// Decides anew whether a process is wanted.
    fn choose(&mut self, pid: u32) {
        if self.all {
            return;
        }
        let Some(known) = self.known.get(&pid) else { return };
        let parent = self.is_wanted(known.stat.ppid);
        let candidate = Candidate { pid, comm: &known.comm, parent };
        let selected = self.wanted.selection.wants(&mut self.reader, &candidate);
        if let Some(known) = self.known.get_mut(&pid) {
            known.selected = selected;
        }
    }

    /// Whether `parent` is one whose children are wanted.
    fn is_wanted(&self, parent: u32) -> bool {
        self.tree.holds(parent) || self.known.get(&parent).is_some_and(|k| k.selected)
    }

    /// Fetches the records of what ended, and keeps them until the process is no longer listed.
    fn take_records(&mut self, rows: &mut Rows) {
        let Some(exits) = &mut self.exits else { return };
        if let Some(trouble) = exits.drain(&mut self.inbox) {
            rows.note("", None, &trouble);
        }
        self.records.extend(self.inbox.drain(..).map(|ended| (ended.pid, ended)));
    }

    fn forget_gone(&mut self) {
        let round = self.round;
        if self.known.len() == self.pids.len() && self.known.values().all(|k| k.seen == round) {
            return;
        }
        let gone: Vec<u32> = self.known.iter().filter(|(_, k)| k.seen != round).map(|(pid, _)| *pid).collect();
        for pid in gone {
            let known = self.known.remove(&pid);
            self.bury(pid, known);
        }
    }
}

/// Whether a process may have done something since it was last looked at.
fn may_have_run(reader: &mut Reader, pid: u32, known: &KnownProcess, clock_ns: Option<u64>, clocks: bool) -> bool {
    // Only what runs can change, fork or end.
    if clocks {
        return clock_ns.is_none() || clock_ns != known.clock_ns;
    }
    let single = known.stat.threads == 1 && known.details.trusted();
    !(single && reader.schedstat(pid, known.file.as_ref()).is_some_and(|now| known.details.same_run(now)))
}

/// The kernel's letter as a label.
pub(crate) fn state_name(state: u8) -> &'static str {
    match state {
        b'R' => "R",
        b'S' => "S",
        b'D' => "D",
        b'T' => "T",
        b't' => "t",
        b'Z' => "Z",
        b'X' | b'x' => "X",
        b'I' => "I",
        b'P' => "P",
        b'K' => "K",
        b'W' => "W",
        _ => "?",
    }
}

#[cfg(test)]
mod tests;
