//! `thread_wait`: what the threads that work are at, by the function of the kernel in which each waits (/proc/PID/task/TID/wchan).
//!
//! One sample per interval shows little about one interval and much about a run: in the mean it is the number of threads that wait for
//! something, as active sessions of a database are. The cheap path: a process is looked at only when its CPU clock, or `stat`,
//! shows that it ran, and of it only the threads whose `schedstat` changed. A thread that runs, or waits for a CPU, has no function.
//! Of what the recorder started all threads are looked at: one that is held up for long (by a peer that does not read, say) does
//! not run. One that polls waits for its peer where that is certain. Its main thread counts however it waits, unless others of its process are
//! at something: then it waits for those; or its parent goes on without it: then no other waits for it.
//! Processes that the recorder started are also looked at between two ticks of the recording. Who works and who idles
//! then shows since the tick before the last one: a moment is too short for that. CPU time and names of their threads
//! are known then, so they are rows of `thread`, without the source of that name.

mod polled;

use fenxi_model::{
    Rows,
    catalog::{
        thread,
        thread_wait::{self, TABLE},
    },
};
use fenxi_procfs::{
    stat::Stat,
    wait::{Wait, mutex, system_call},
};
use rustc_hash::FxHashMap;

use self::polled::Polled;
use super::process::{
    clock,
    reader::{Reader, Run},
};
use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

/// The `thread_wait` source.
pub static SOURCE: ThreadWait = ThreadWait { threads: true };

/// The same beside the source `thread`, which has all threads.
pub static BESIDE_THREADS: ThreadWait = ThreadWait { threads: false };

static SPEC: Spec = Spec {
    name: "thread_wait",
    summary: "what working threads wait for (/proc/PID/task/TID/wchan)",
    tables: &[&TABLE, &thread::TABLE],
    take: Take::EveryTick,
    default: true,
    live: false,
};

/// Threads that are looked at in an interval, at most: enough for exact shares.
const MOST: usize = 512;
/// Processes with more threads than this are looked at only where they ran.
const FEW: u64 = 64;
/// Threads that ran so often in a second work, and so do those that used such a share of a CPU.
const WAKES_PER_S: f64 = 20.0;
/// As above.
const MIN_RUN: f64 = 0.01;
/// A thread that waits for a lock and ran for less than this share of what threads of its process ran for on average is one that helps
/// another now and then, such as the collectors of a runtime: who takes turns on a lock runs as long as the others.
const MIN_OF_MEAN: f64 = 0.2;
/// The process whose children are threads of the kernel.
const KTHREADD: u32 = 2;

/// Collects the `thread_wait` table.
pub struct ThreadWait {
    /// Whether threads of what the recorder started are rows of `thread`.
    threads: bool,
}

impl Source for ThreadWait {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Waits::start(root, root.is_live().then(std::process::id), self.threads)?))
    }
}

struct Waits {
    reader: Reader,
    /// Whether processes' clocks can be read.
    clocks: bool,
    /// This very process, whose looking is no work.
    own: Option<u32>,
    /// Whether threads of what the recorder started are rows of `thread`.
    threads: bool,
    /// The processes listed at the last look, in their order; and room for the next list.
    pids: Vec<u32>,
    listed: Vec<u32>,
    known: FxHashMap<u32, KnownProcess>,
    /// Threads of the process at hand by what they wait for.
    counts: Vec<Count>,
    /// Addresses of the mutexes for which its threads may wait, and whether all of its threads at a lock could be asked.
    mutexes: Vec<u64>,
    knows_mutexes: bool,
    /// Room for the name of a function.
    name: String,
    polled: Polled,
    round: u64,
    /// Threads looked at in this interval.
    looked: usize,
    /// Seconds from the first look to this one, to the last one, and to the last tick.
    now_s: f64,
    last_s: f64,
    tick_s: f64,
}

/// A process as it was at the look before.
struct KnownProcess {
    seen: u64,
    stat: Stat,
    comm: Box<str>,
    clock_ns: Option<u64>,
    /// Whether the recorder, or what it started, started it.
    ours: bool,
    /// Whether its main thread, when last looked at, may have waited for another process of ours.
    follows: bool,
    /// Scheduler statistics of each thread at the last tick, and at the one before.
    ran: Ran,
    before: Ran,
}

/// Scheduler statistics of each thread of a process at a moment: at none where it is not known.
#[derive(Default)]
struct Ran {
    at_s: f64,
    of: FxHashMap<u32, Run>,
}

/// Threads that are at one thing.
struct Count {
    wait: Wait,
    function: String,
    threads: u32,
    progress: f64,
}

impl Collector for Waits {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.round += 1;
        self.looked = 0;
        self.now_s += tick.dt.filter(|_| !tick.since_boot).unwrap_or(0.0);
        self.polled.begin();
        let mut pids = std::mem::take(&mut self.listed);
        self.reader.pids(&mut pids)?;
        let own = self.own;
        for pid in pids.iter().filter(|pid| Some(**pid) != own) {
            // Between two ticks others are left alone, and so are threads of the kernel, which are listed and not known.
            let is_other = || self.known.get(pid).map_or(self.pids.binary_search(pid).is_ok(), |known| !known.ours);
            if !tick.is_between || !is_other() {
                self.visit(*pid, tick, rows);
            }
        }
        self.listed = std::mem::replace(&mut self.pids, pids);
        let round = self.round;
        self.known.retain(|_, known| known.seen == round || tick.is_between && !known.ours);
        self.last_s = self.now_s;
        if !tick.is_between {
            self.tick_s = self.now_s;
        }
        Ok(())
    }

    fn looks_between(&self) -> bool {
        self.own.is_some()
    }
}

impl Waits {
    fn start(root: &Root, own: Option<u32>, threads: bool) -> Result<Waits, SourceError> {
        let mut waits = Waits {
            reader: Reader::open(root)?,
            clocks: clock::usable(root),
            own,
            threads,
            pids: Vec::new(),
            listed: Vec::new(),
            known: FxHashMap::default(),
            counts: Vec::new(),
            mutexes: Vec::new(),
            knows_mutexes: true,
            name: String::new(),
            polled: Polled::default(),
            round: 0,
            looked: 0,
            now_s: 0.0,
            last_s: 0.0,
            tick_s: 0.0,
        };
        if !waits.are_told()? {
            let why = "the kernel does not show where threads wait (/proc/PID/wchan): it needs root or CAP_SYS_PTRACE";
            return Err(SourceError::Refused(why.to_owned()));
        }
        Ok(waits)
    }

    /// Whether the kernel shows for any process where it waits; some always wait.
    fn are_told(&mut self) -> Result<bool, SourceError> {
        let mut pids = std::mem::take(&mut self.pids);
        self.reader.pids(&mut pids)?;
        let reported = pids.iter().any(|pid| self.reader.file(*pid, None, "wchan").is_some_and(|text| text != b"0"));
        self.pids = pids;
        Ok(reported)
    }

    fn visit(&mut self, pid: u32, tick: Tick, rows: &mut Rows) {
        let clock_ns = if self.clocks { clock::cpu_ns(pid) } else { None };
        let idle = self.known.get_mut(&pid).is_some_and(|known| {
            known.seen = self.round;
            !known.ours && clock_ns.is_some() && known.clock_ns == clock_ns
        });
        if idle {
            return;
        }
        if !self.meet(pid, clock_ns) {
            return;
        }
        let Some(known) = self.known.get_mut(&pid) else { return };
        let ours = known.ours;
        if tick.is_between && !ours {
            // It is looked at when the tick comes.
            known.clock_ns = None;
            return;
        }
        let dt = tick.dt.filter(|dt| *dt > 0.0 && !tick.since_boot);
        self.look(pid, tick.is_between, dt.is_some());
        // Of others the last look was at the last tick.
        let since_tick = self.now_s - self.tick_s;
        if let Some(dt) = dt.map(|dt| if ours { dt } else { since_tick }) {
            self.report(pid, tick, dt, rows);
            if ours && self.threads && !tick.is_between {
                self.report_threads(pid, tick, since_tick, rows);
            }
        }
    }

    /// Updates a process from its `stat`; false when it has ended, or is a thread of the kernel.
    fn meet(&mut self, pid: u32, clock_ns: Option<u64>) -> bool {
        let Waits { reader, known, own, round, last_s, .. } = self;
        let Some((stat, comm)) = reader.stat(pid) else { return false };
        if pid == KTHREADD || stat.ppid == KTHREADD {
            return false;
        }
        let ours = *own == Some(stat.ppid) || known.get(&stat.ppid).is_some_and(|parent| parent.ours);
        match known.get_mut(&pid).filter(|known| known.stat.start == stat.start) {
            Some(known) => {
                // A process that ours started stays ours when its parent has ended.
                (known.clock_ns, known.stat, known.ours) = (clock_ns, stat, known.ours || ours);
                if *known.comm != *comm {
                    known.comm = comm.into();
                }
            }
            // New, or another process that got the number.
            None => {
                let comm = comm.into();
                let [ran, before] = [(); 2].map(|()| Ran { at_s: *last_s, of: FxHashMap::default() });
                known
                    .insert(pid, KnownProcess { seen: *round, stat, comm, clock_ns, ours, follows: true, ran, before });
            }
        }
        true
    }

    /// Whether no process observed waits for what this one does: its parent is at something else.
    fn is_bystander(&self, pid: u32) -> bool {
        let Some(known) = self.known.get(&pid).filter(|known| Some(known.stat.ppid) != self.own) else { return false };
        self.known.get(&known.stat.ppid).is_none_or(|parent| !parent.ours || !parent.follows)
    }

    /// Counts the threads of a process that worked by what they wait for. A tick is remembered; the first one only learns.
    fn look(&mut self, pid: u32, is_between: bool, is_told: bool) {
        let is_bystander = self.is_bystander(pid);
        let Waits { reader, known, counts, mutexes, knows_mutexes, looked, name, polled, now_s, .. } = self;
        counts.clear();
        mutexes.clear();
        *knows_mutexes = true;
        let Some(known) = known.get_mut(&pid) else { return };
        let mut tids = std::mem::take(&mut reader.tids);
        if known.stat.threads <= 1 || !reader.list_tids(pid, &mut tids) {
            tids.clear();
            tids.push(pid);
        }
        tids.truncate(MOST.saturating_sub(*looked));
        let runs = tids.iter().filter_map(|tid| Some((*tid, reader.thread_schedstat(pid, *tid)?)));
        let now = Ran { at_s: *now_s, of: runs.collect() };
        let since = if is_between { &known.before } else { &known.ran };
        let dt = if is_told { *now_s - since.at_s } else { f64::INFINITY };
        let then = |tid: &u32| since.of.get(tid).copied().unwrap_or_default();
        let grown = |(tid, run): (&u32, &Run)| ran_s(then(tid), *run);
        let smallest = MIN_OF_MEAN * mean(now.of.iter().map(grown));
        let most = now.of.iter().map(grown).fold(0.0, f64::max);
        let looks_at_all = known.ours && known.stat.threads <= FEW;
        let mut of_main = None;
        for tid in &tids {
            let Some(run) = now.of.get(tid).copied() else { continue };
            let then = then(tid);
            let is_main = known.ours && *tid == pid;
            if !is_main && run.slices == then.slices && !looks_at_all {
                continue;
            }
            *looked += 1;
            let Some((mut wait, function)) = waits_for(reader, pid, *tid, name) else { continue };
            if wait == Wait::Poll && known.ours {
                wait = polled.waits_for(reader, pid, *tid).unwrap_or(wait);
            }
            if *tid == pid {
                known.follows = wait.may_follow();
            }
            let is_helper = wait == Wait::Lock && ran_s(then, run) < smallest;
            if wait.may_be_idle() && (is_helper || !has_worked(then, run, dt)) {
                of_main = of_main.or_else(|| (is_main && !is_bystander).then(|| (wait, function.to_owned())));
                continue;
            }
            let progress = if most > 0.0 { ran_s(then, run) / most } else { 1.0 };
            count(counts, wait, function, progress);
            if wait == Wait::Lock {
                let call = reader.file(pid, Some(*tid), "syscall");
                *knows_mutexes &= call.is_some();
                mutexes.extend(call.and_then(mutex));
            }
        }
        if counts.is_empty()
            && let Some((wait, function)) = of_main
        {
            count(counts, wait, &function, 0.0);
        }
        if !is_between {
            known.before = std::mem::replace(&mut known.ran, now);
        }
        reader.tids = tids;
    }

    /// Rows of the threads of a process of ours that used CPU time since the tick before.
    fn report_threads(&mut self, pid: u32, tick: Tick, dt: f64, rows: &mut Rows) {
        let Waits { reader, known, .. } = self;
        let Some(known) = known.get(&pid).filter(|_| dt > 0.0) else { return };
        for (tid, run) in &known.ran.of {
            let ns = run.run_ns.saturating_sub(known.before.of.get(tid).map_or(0, |before| before.run_ns));
            if ns as f64 / 1e9 >= MIN_RUN * dt {
                super::thread::report(reader, (pid, *tid), ns, (tick, dt), rows);
            }
        }
    }

    fn report(&mut self, pid: u32, tick: Tick, dt: f64, rows: &mut Rows) {
        let Some(known) = self.known.get(&pid) else { return };
        let mut mutex = at_one_of(&mut self.mutexes);
        for Count { wait, function, threads, progress } in &self.counts {
            let of_count = if *wait == Wait::Lock { mutex.min(*threads) } else { 0 };
            mutex -= of_count;
            rows.row(&TABLE, tick.t, dt)
                .i64(thread_wait::pid, i64::from(pid))
                .str(thread_wait::comm, &*known.comm)
                .str(thread_wait::wait, wait.word())
                .str(thread_wait::function, (*wait != Wait::Run).then_some(function.as_str()))
                .f64(thread_wait::threads, f64::from(*threads))
                .f64(thread_wait::progress, *progress)
                .f64(thread_wait::mutex, (*wait == Wait::Lock && self.knows_mutexes).then_some(f64::from(of_count)))
                .str(thread_wait::role, known.ours.then_some("command"));
        }
    }
}

/// Counts a thread that waits for something.
fn count(counts: &mut Vec<Count>, wait: Wait, function: &str, progress: f64) {
    match counts.iter_mut().find(|count| count.wait == wait && count.function == function) {
        Some(count) => {
            count.threads += 1;
            count.progress += progress;
        }
        None => counts.push(Count { wait, function: function.to_owned(), threads: 1, progress }),
    }
}

/// How many wait at an address at which another one waits as well: those surely wait for a mutex.
fn at_one_of(addresses: &mut [u64]) -> u32 {
    addresses.sort_unstable();
    let together = addresses.chunk_by(|a, b| a == b).map(<[u64]>::len).filter(|n| *n > 1);
    u32::try_from(together.sum::<usize>()).unwrap_or(u32::MAX)
}

/// Whether a thread did more than look after something now and then: threads without work wake up, too.
fn has_worked(then: Run, now: Run, dt: f64) -> bool {
    let slices = now.slices.saturating_sub(then.slices) as f64;
    slices >= WAKES_PER_S * dt || ran_s(then, now) >= MIN_RUN * dt
}

/// How long a thread ran, in seconds.
fn ran_s(then: Run, now: Run) -> f64 {
    now.run_ns.saturating_sub(then.run_ns) as f64 / 1e9
}

/// The mean of what is not zero.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (n, sum) = values.filter(|value| *value > 0.0).fold((0u32, 0.0), |(n, sum), value| (n + 1, sum + value));
    if n == 0 { 0.0 } else { sum / f64::from(n) }
}

/// Whether a thread of this `stat` is on a CPU or in its queue.
fn runs(stat: &[u8]) -> bool {
    stat.rsplit(|byte| *byte == b')').next().is_some_and(|rest| rest.trim_ascii_start().starts_with(b"R"))
}

/// The wait of a thread, and the function, put into `name`; None when it has ended.
fn waits_for<'a>(reader: &mut Reader, pid: u32, tid: u32, name: &'a mut String) -> Option<(Wait, &'a str)> {
    let function = std::str::from_utf8(reader.file(pid, Some(tid), "wchan")?.trim_ascii()).unwrap_or_default();
    // The compiler's copies of a function are the function.
    function.split('.').next().unwrap_or_default().clone_into(name);
    // Of a process that we may not trace, the kernel prints `0` whatever its threads do.
    if name == "0" && !runs(reader.file(pid, Some(tid), "stat")?) {
        return None;
    }
    let call = || system_call(reader.file(pid, Some(tid), "syscall")?);
    Some((Wait::of_thread(name, call), name))
}

#[cfg(test)]
mod tests;
