//! Processes that did something in the interval: used CPU time, faulted, or did I/O.
//!
//! The cheap path. A process with one thread cannot change anything without running, so for such a
//! process only `/proc/PID/schedstat` is read (through a kept descriptor where the limit on open
//! files allows), and nothing else unless it changed. Of the others `stat` is read, and the rest
//! only if `stat` changed; CPU time below the resolution of `stat` (two clock ticks at most) thus
//! shows a little later, but is never lost.
//!
//! CPU time is exact where the kernel keeps it in nanoseconds, see [`cpu`]. `usr` and `sys` divide
//! it as the clock ticks of `stat` do. Processes that ended in the interval are known through their
//! parents' child times only, see [`exited`]: one row `(exited)` holds what no other row does.
//! Context switches of threads that ended within the interval are not seen.

mod cpu;
mod details;
mod exited;
pub(crate) mod reader;
pub(crate) mod stat;

use std::os::fd::OwnedFd;

use details::{Details, Users};
use exited::{Exited, Totals};
use fenxi_model::{
    Rows,
    catalog::process::{self, TABLE},
};
use reader::Reader;
use rustc_hash::FxHashMap;
use stat::Stat;

use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

pub struct Process;

/// The source.
pub static SOURCE: Process = Process;

static SPEC: Spec = Spec {
    name: "process",
    summary: "processes that did something: CPU, memory, faults, I/O, switches (/proc/PID)",
    tables: &[&TABLE],
    take: Take::EveryTick,
    default: true,
};

impl Source for Process {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        // Since 5.14 delay accounting is off unless asked for; before, there was no such switch.
        let delays = root.read_text("/proc/sys/kernel/task_delayacct").is_none_or(|t| t != "0");
        Ok(Box::new(Processes {
            reader: Reader::open(root)?,
            users: Users::read(root),
            known: FxHashMap::default(),
            pids: Vec::new(),
            active: Vec::new(),
            exited: Exited::default(),
            round: 0,
            n_kept: 0,
            max_kept: descriptors_to_keep(),
            delays,
        }))
    }
}

/// How many descriptors may stay open: a quarter of what the process may have.
fn descriptors_to_keep() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(4096, |n| (n / 4).min(16_384) as usize)
}

struct Processes {
    reader: Reader,
    users: Users,
    known: FxHashMap<u32, Known>,
    pids: Vec<u32>,
    active: Vec<Active>,
    exited: Exited,
    round: u64,
    n_kept: usize,
    max_kept: usize,
    delays: bool,
}

/// A process as it was when it last changed.
struct Known {
    /// The last sample in which it was listed.
    seen: u64,
    comm: Box<str>,
    stat: Stat,
    details: Details,
    /// Its `schedstat`, kept open while it has one thread.
    file: Option<OwnedFd>,
}

/// What a process did in the interval.
struct Active {
    pid: u32,
    /// The process as it was before; zeroes when it began in the interval.
    before: Stat,
    work: details::Work,
    /// Growth of its ended children's times.
    children: Totals,
}

impl Collector for Processes {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.round += 1;
        self.active.clear();
        let mut pids = std::mem::take(&mut self.pids);
        self.reader.pids(&mut pids)?;
        for pid in &pids {
            self.visit(*pid, tick);
        }
        self.pids = pids;
        self.forget_gone();
        if let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) {
            self.emit(tick, dt, rows);
        }
        Ok(())
    }
}

impl Processes {
    fn visit(&mut self, pid: u32, tick: Tick) {
        let Some(known) = self.known.get_mut(&pid) else { return self.meet(pid, tick) };
        let single = known.stat.threads == 1;
        if single && known.details.trusted() {
            // Only what runs can change, fork or end.
            match self.reader.schedstat(pid, known.file.as_ref()) {
                Some(now) if known.details.same_run(now) => {
                    known.seen = self.round;
                    return;
                }
                _ => {}
            }
        }
        let Some((stat, comm)) = self.reader.stat(pid) else { return };
        if stat.start != known.stat.start {
            // Another process got the number: the old one is gone, this one is new.
            let old = self.known.remove(&pid);
            self.bury(pid, old);
            return self.meet(pid, tick);
        }
        known.seen = self.round;
        if !single && stat.same_work(&known.stat) {
            known.stat = stat;
            return;
        }
        if *comm != *known.comm {
            known.comm = comm.into();
        }
        let before = std::mem::replace(&mut known.stat, stat);
        let work = known.details.advance(&mut self.reader, pid, &before, &stat);
        let children = stat.children() - before.children();
        if known.file.is_some() && stat.threads != 1 {
            known.file = None;
            self.n_kept -= 1;
        }
        if tick.dt.is_some() {
            self.active.push(Active { pid, before, work, children });
        }
    }

    /// Takes up a process that was not there at the sample before.
    fn meet(&mut self, pid: u32, tick: Tick) {
        let Some((stat, comm)) = self.reader.stat(pid) else { return };
        let comm = comm.into();
        let before = Stat { start: stat.start, ..Stat::default() };
        let mut details = Details::default();
        let work = details.advance(&mut self.reader, pid, &before, &stat);
        let mut file = None;
        if stat.threads == 1 && details.trusted() && self.n_kept < self.max_kept {
            file = self.reader.open_schedstat(pid);
            self.n_kept += usize::from(file.is_some());
        }
        self.known.insert(pid, Known { seen: self.round, comm, stat, details, file });
        if tick.dt.is_some() {
            self.active.push(Active { pid, before, work, children: stat.children() });
        }
    }

    /// Remembers what a process that is gone had used when it was last seen.
    fn bury(&mut self, pid: u32, known: Option<Known>) {
        let Some(known) = known else { return };
        self.n_kept -= usize::from(known.file.is_some());
        let own = known.stat.own(known.details.lifetime_ns(&known.stat));
        self.exited.gone(pid, known.stat.ppid, own + known.stat.children());
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

    fn emit(&mut self, tick: Tick, dt: f64, rows: &mut Rows) {
        let parents = self.active.iter().filter(|a| a.children.ns > 0).map(|a| (a.pid, a.children));
        let rest = self.exited.settle(parents);
        let cpu_pct = |ns: u64| ns as f64 / 1e7 / dt;
        for active in &self.active {
            // A process that began and ended, or was replaced, within this very sample.
            let Some(known) = self.known.get(&active.pid).filter(|k| k.stat.start == active.before.start) else { continue };
            let children_ns = self.exited.of_parent(active.pid);
            let (stat, before, work) = (&known.stat, &active.before, &active.work);
            let minor = stat.minor_faults.saturating_sub(before.minor_faults);
            let major = stat.major_faults.saturating_sub(before.major_faults);
            let did_io = work.io.is_some_and(|io| io.iter().any(|n| *n > 0));
            if work.cpu_ns + minor + major + children_ns == 0 && !did_io {
                continue;
            }
            let per_s = |n: u64| n as f64 / dt;
            let (usr_ns, sys_ns) = stat.split(before, work.cpu_ns);
            let mut row = rows.row(&TABLE, tick.t, dt);
            row.i64(process::pid, i64::from(active.pid))
                .str(process::comm, &*known.comm)
                .str(process::user, known.details.uid.map(|uid| self.users.name(uid)))
                .i64(process::ppid, i64::from(stat.ppid))
                .f64(process::usr, cpu_pct(usr_ns))
                .f64(process::sys, cpu_pct(sys_ns))
                .f64(process::cpu, cpu_pct(work.cpu_ns))
                .f64(process::run_queue_wait, work.wait_ns.map(cpu_pct))
                .f64(process::children_cpu, cpu_pct(children_ns))
                .f64(process::rss_bytes, stat.rss_bytes as f64)
                .f64(process::vsz_bytes, stat.vsz_bytes as f64)
                .f64(process::minor_faults_per_s, per_s(minor))
                .f64(process::major_faults_per_s, per_s(major))
                .f64(process::threads, stat.threads as f64)
                .i64(process::last_cpu, stat.last_cpu.map(i64::from))
                .str(process::state, state_name(stat.state))
                .f64(process::priority, stat.priority as f64);
            if let (true, Some(now), Some(then)) = (self.delays, stat.io_wait_ticks, before.io_wait_ticks.or(Some(0))) {
                row.f64(process::io_wait, cpu_pct(now.saturating_sub(then) * stat::tick_ns()));
            }
            if let Some([read, write, read_call, write_call]) = work.io {
                row.f64(process::read_bytes_per_s, per_s(read))
                    .f64(process::write_bytes_per_s, per_s(write))
                    .f64(process::read_call_bytes_per_s, per_s(read_call))
                    .f64(process::write_call_bytes_per_s, per_s(write_call));
            }
            if let Some((voluntary, involuntary)) = work.switches {
                row.f64(process::voluntary_switches_per_s, per_s(voluntary))
                    .f64(process::involuntary_switches_per_s, per_s(involuntary));
            }
        }
        if rest.ns + rest.minor_faults + rest.major_faults > 0 {
            let (usr_ns, sys_ns) = rest.split();
            rows.row(&TABLE, tick.t, dt)
                .str(process::comm, "(exited)")
                .f64(process::usr, cpu_pct(usr_ns))
                .f64(process::sys, cpu_pct(sys_ns))
                .f64(process::cpu, cpu_pct(rest.ns))
                .f64(process::minor_faults_per_s, rest.minor_faults as f64 / dt)
                .f64(process::major_faults_per_s, rest.major_faults as f64 / dt);
        }
        self.exited.clear();
    }
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
