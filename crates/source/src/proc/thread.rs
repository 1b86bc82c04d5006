//! `thread`: threads that used CPU time in the interval. Which one keeps a CPU busy is only seen
//! here: a process of many threads can use much CPU with none of them saturated, or little with one.
//!
//! The cheap path. Of a process with one thread `schedstat` is read, which stays open, of others `stat`, and the
//! threads are looked at only when that changed; `stat` counts ticks of 10 ms, so what a thread of many
//! did below that shows a little later, but is never lost. Where the kernel keeps no nanoseconds,
//! ticks it is. A thread that began and ended within the interval is not seen.

use std::os::fd::OwnedFd;

use fenxi_model::{
    Rows,
    catalog::thread::{self, TABLE},
};
use fenxi_procfs::{
    TICK_NS,
    stat::{self, Stat},
};
use rustc_hash::FxHashMap;

use super::process::{
    descriptors_to_keep,
    reader::{Reader, Run},
};
use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

/// The `thread` source.
pub static SOURCE: Thread = Thread;

static SPEC: Spec = Spec {
    name: "thread",
    summary: "threads that used CPU time (/proc/PID/task)",
    tables: &[&TABLE],
    take: Take::EveryTick,
    default: false,
    live: false,
};

/// Collects the `thread` table.
pub struct Thread;

impl Source for Thread {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let reader = Reader::open(root)?;
        let left = descriptors_to_keep();
        Ok(Box::new(Threads { reader, pids: Vec::new(), known: FxHashMap::default(), round: 0, left }))
    }
}

struct Threads {
    reader: Reader,
    pids: Vec<u32>,
    known: FxHashMap<u32, KnownProcess>,
    round: u64,
    /// How many files more may stay open.
    left: usize,
}

/// A process as it was when its threads were last looked at.
struct KnownProcess {
    /// The last sample in which it was listed.
    seen: u64,
    stat: Stat,
    /// Scheduler statistics of its only thread, when it has one and the kernel keeps nanoseconds.
    single: Option<Run>,
    /// Its `schedstat`, kept open while it has one thread.
    file: Option<OwnedFd>,
    /// CPU time so far of each thread in nanoseconds, ordered by thread id.
    threads: Vec<(u32, u64)>,
}

impl Collector for Threads {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.round += 1;
        let mut pids = std::mem::take(&mut self.pids);
        self.reader.pids(&mut pids)?;
        for pid in &pids {
            self.visit(*pid, tick, rows);
        }
        self.pids = pids;
        if self.known.len() > self.pids.len() {
            let Threads { known, round, left, .. } = self;
            known.retain(|_, known| {
                let seen = known.seen == *round;
                *left += usize::from(!seen && known.file.is_some());
                seen
            });
        }
        Ok(())
    }
}

impl Threads {
    fn visit(&mut self, pid: u32, tick: Tick, rows: &mut Rows) {
        let Threads { reader, known, round, left, .. } = self;
        if let Some(known) = known.get_mut(&pid)
            && let Some(run) = known.single
            && reader.schedstat(pid, known.file.as_ref()) == Some(run)
        {
            // Its only thread did not run, so nothing can have changed.
            known.seen = *round;
            return;
        }
        let Some((stat, _)) = reader.stat(pid) else { return };
        let known = known.entry(pid).or_insert_with(|| KnownProcess::new(stat));
        known.seen = *round;
        let fresh = known.threads.is_empty();
        if known.stat.start != stat.start {
            // Another process got the number.
            *left += usize::from(known.file.is_some());
            *known = KnownProcess { seen: *round, ..KnownProcess::new(stat) };
        } else if !fresh && known.single.is_none() && stat.same_work(&known.stat) {
            return;
        }
        known.stat = stat;
        known.keep_open(reader, pid, left);
        // The first sample only learns what there is.
        let dt = tick.dt.filter(|dt| *dt > 0.0 && !tick.since_boot);
        known.look(reader, pid, |reader, tid, grown| {
            if let Some(dt) = dt {
                report(reader, (pid, tid), grown, (tick, dt), rows);
            }
        });
    }
}

impl KnownProcess {
    fn new(stat: Stat) -> KnownProcess {
        KnownProcess { seen: 0, stat, single: None, file: None, threads: Vec::new() }
    }

    /// Opens `schedstat` of a process with one thread to be kept, as far as descriptors are `left`.
    fn keep_open(&mut self, reader: &mut Reader, pid: u32, left: &mut usize) {
        if self.stat.threads > 1 {
            *left += usize::from(self.file.take().is_some());
        } else if self.file.is_none() && *left > 0 {
            self.file = reader.open_schedstat(pid);
            *left -= usize::from(self.file.is_some());
        }
    }

    /// Looks at each thread and gives `report` the nanoseconds of those that ran since the time before.
    fn look(&mut self, reader: &mut Reader, pid: u32, mut report: impl FnMut(&mut Reader, u32, u64)) {
        let mut tids = std::mem::take(&mut reader.tids);
        if self.stat.threads <= 1 || !reader.list_tids(pid, &mut tids) {
            tids.clear();
            tids.push(pid);
        }
        tids.sort_unstable();
        self.single = None;
        let n_old = self.threads.len();
        for tid in &tids {
            // The only thread's file is the process's.
            let run = if tids.len() == 1 {
                reader.schedstat(pid, self.file.as_ref())
            } else {
                reader.thread_schedstat(pid, *tid)
            };
            let run = run.filter(|run| run.slices > 0);
            if tids.len() == 1 {
                self.single = run;
            }
            let ticks = || {
                let (stat, _) = if tids.len() == 1 { reader.stat(pid)? } else { task(reader, pid, *tid)? };
                Some(stat.ticks_since(&Stat::default()) * TICK_NS)
            };
            let Some(ns) = run.map(|run| run.run_ns).or_else(ticks) else { continue };
            let before = self.threads[..n_old].binary_search_by_key(tid, |(tid, _)| *tid);
            let grown = ns.saturating_sub(before.map_or(0, |at| self.threads[at].1));
            if grown > 0 {
                report(reader, *tid, grown);
            }
            self.threads.push((*tid, ns));
        }
        self.threads.drain(..n_old);
        reader.tids = tids;
    }
}

/// `stat` of one thread and its name.
fn task(reader: &mut Reader, pid: u32, tid: u32) -> Option<(Stat, std::borrow::Cow<'_, str>)> {
    stat::parse(reader.file(pid, Some(tid), "stat")?)
}

/// A row of a thread that used `ns` nanoseconds of CPU time in the interval.
pub(super) fn report(reader: &mut Reader, (pid, tid): (u32, u32), ns: u64, (tick, dt): (Tick, f64), rows: &mut Rows) {
    let mut row = rows.row(&TABLE, tick.t, dt);
    row.i64(thread::pid, i64::from(pid)).i64(thread::tid, i64::from(tid)).f64(thread::cpu, ns as f64 / 1e7 / dt);
    // The process's own file replaces that of the main thread, where a saved copy has no more.
    let found = task(reader, pid, tid).map(|(stat, comm)| (stat, comm.into_owned()));
    let found = found.or_else(|| reader.stat(pid).map(|(stat, comm)| (stat, comm.into_owned())).filter(|_| tid == pid));
    if let Some((stat, comm)) = found {
        row.str(thread::comm, &*comm)
            .i64(thread::last_cpu, stat.last_cpu.map(i64::from))
            .str(thread::state, super::process::state_name(stat.state));
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use crate::testing::{Machine, near};

    fn stat(id: u32, comm: &str, ticks: u64, threads: u32, cpu: u32) -> String {
        format!(
            "{id} ({comm}) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 {threads} 0 77 1 1 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0 0\n"
        )
    }

    #[test]
    fn the_thread_that_ran_is_named_and_the_others_have_no_row() {
        let machine = Machine::new();
        machine.put("/proc/7/stat", stat(7, "java", 500, 3, 0)).put("/proc/8/stat", stat(8, "sh", 3, 1, 1));
        machine.put("/proc/8/schedstat", "30000000 5 9\n");
        for (tid, ns) in [(7, 1_000_000_000_u64), (71, 4_000_000_000), (72, 0)] {
            machine.put(&format!("/proc/7/task/{tid}/schedstat"), format!("{ns} 0 {}\n", ns.min(9)));
            machine.put(&format!("/proc/7/task/{tid}/stat"), stat(tid, &format!("GC {tid}"), 0, 3, 5));
        }
        let mut session = machine.start(&SOURCE);
        assert_eq!(session.tick(None).count("thread"), 0);
        assert_eq!(session.tick(2.0).count("thread"), 0);
        session.machine.put("/proc/7/stat", stat(7, "java", 699, 3, 0));
        session.machine.put("/proc/7/task/71/schedstat", "5990000000 0 99\n");
        let seen = session.tick(2.0);
        assert_eq!(seen.keys("thread"), [["7", "71", "GC 71", ""]]);
        near(seen.value("thread", "cpu", &["7", "71", "GC 71", ""]), 99.5);
        near(seen.value("thread", "last_cpu", &["7", "71", "GC 71", ""]), 5.0);
        session.machine.put("/proc/8/schedstat", "31000000 5 10\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.keys("thread"), [["8", "8", "sh", ""]]);
        near(seen.value("thread", "cpu", &["8", "8", "sh", ""]), 0.1);
    }

    #[test]
    fn without_nanoseconds_ticks_are_taken_and_a_new_process_begins_at_nothing() {
        let machine = Machine::new();
        machine.put("/proc/8/stat", stat(8, "sh", 3, 1, 1)).put("/proc/8/schedstat", "0 0 0\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/8/stat", stat(8, "sh", 103, 1, 1));
        session.machine.put("/proc/9/stat", stat(9, "new", 50, 1, 1)).put("/proc/9/schedstat", "500000000 0 1\n");
        let seen = session.tick(1.0);
        near(seen.value("thread", "cpu", &["8", "8", "sh", ""]), 100.0);
        near(seen.value("thread", "cpu", &["9", "9", "new", ""]), 50.0);
        session.machine.remove("/proc/9");
        assert_eq!(session.tick(1.0).count("thread"), 0);
    }
}
