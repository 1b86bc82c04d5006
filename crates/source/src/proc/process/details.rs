//! Data read of a process only when it did something: threads, switches, I/O, user.

use fenxi_procfs::{
    TICK_NS,
    scan::{lines, number, words},
    stat::Stat,
};
use rustc_hash::FxHashMap;

use super::{
    cpu::exact_ns,
    io,
    reader::{Reader, Run},
};
use crate::Root;

/// A process with more threads than this is measured by ticks alone, and its switches are NULL: it
/// costs two reads a thread, and a process with so many is busy enough for ticks.
const MAX_THREADS: u64 = 64;

/// Method of measuring the CPU time of a process or thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measured {
    /// By clock ticks, in `stat`.
    #[default]
    Ticks,
    /// Nanoseconds of its threads, in their `schedstat`.
    Schedstat,
    /// Nanoseconds on its own CPU clock.
    Clock,
    /// Nanoseconds in the record of its end, and on its clock where that could still be read.
    Record,
    /// Microseconds that getrusage(2) gives the parent.
    Rusage,
}

impl Measured {
    /// The label of `cpu_measured`.
    pub fn name(self) -> &'static str {
        match self {
            Measured::Ticks => "ticks",
            Measured::Schedstat => "schedstat",
            Measured::Clock => "clock",
            Measured::Record => "record",
            Measured::Rusage => "rusage",
        }
    }
}

/// Work of a process since the last sample. None where the kernel does not report it.
#[derive(Debug, Default)]
pub struct ProcessWork {
    pub cpu_ns: u64,
    /// Time runnable without a CPU.
    pub wait_ns: Option<u64>,
    /// How `cpu_ns` is known.
    pub measured: Measured,
    /// Bytes read and written by itself, at storage and by system calls; and the number of these.
    pub io: Option<[u64; io::FIGURES]>,
    /// The same of ended children that it waited for, in all of their lives.
    pub children_io: io::Io,
    /// Voluntary and involuntary context switches.
    pub switches: Option<(u64, u64)>,
}

/// Counters of the last sample.
#[derive(Debug, Default)]
pub struct Details {
    /// Ordered by thread id.
    threads: Vec<Thread>,
    /// Whether all threads are there, with nanoseconds.
    exact: bool,
    io: io::Account,
    /// Whether that was read before.
    has_io: bool,
    /// The effective user.
    pub uid: Option<u32>,
    /// Number of CPUs on which the threads that ran last may run: of the thread that may use most.
    pub cpus_allowed: Option<u32>,
}

#[derive(Debug)]
struct Thread {
    tid: u32,
    run: Run,
    switches: Option<(u64, u64)>,
    listed: bool,
}

impl Details {
    /// Returns true if an unchanged `schedstat` of the main thread means that nothing was done.
    pub fn trusted(&self) -> bool {
        self.exact && self.threads.len() == 1
    }

    /// Returns true if the only thread has not run since.
    pub fn same_run(&self, now: Run) -> bool {
        self.threads.first().is_some_and(|t| t.run == now)
    }

    /// CPU time of its life, ended threads included.
    pub fn lifetime_ns(&self, stat: &Stat) -> u64 {
        let threads_ns = self.exact.then(|| self.threads.iter().map(|t| t.run.run_ns).sum());
        exact_ns(stat.utime + stat.stime, threads_ns, TICK_NS)
    }

    /// I/O of the process and its ended children at the last sample.
    pub fn io(&self) -> io::Io {
        self.io.seen()
    }

    /// Time runnable without a CPU of the threads that are there; None where that is not known.
    pub fn wait_ns(&self) -> Option<u64> {
        self.exact.then(|| self.threads.iter().map(|t| t.run.wait_ns).sum())
    }

    /// Reads everything anew and returns what was done since the time before.
    ///
    /// `before` without threads is a process that had not begun.
    pub fn advance(&mut self, reader: &mut Reader, pid: u32, before: &Stat, now: &Stat) -> ProcessWork {
        let begun = before.threads > 0;
        let was_exact = self.exact || !begun;
        let ticks = now.ticks_since(before);
        let mut work = if now.threads <= MAX_THREADS {
            self.advance_threads(reader, pid, now)
        } else {
            self.threads.clear();
            self.exact = false;
            self.uid = self.uid.or_else(|| reader.uid(pid));
            ProcessWork::default()
        };
        let threads_ns = (was_exact && self.exact).then_some(work.cpu_ns);
        work.cpu_ns = exact_ns(ticks, threads_ns, TICK_NS);
        work.measured = if threads_ns == Some(work.cpu_ns) { Measured::Schedstat } else { Measured::Ticks };
        work.wait_ns = work.wait_ns.filter(|_| was_exact);
        work.switches = work.switches.filter(|_| was_exact || !begun);
        if !reader.cpu_only {
            let is_first = !std::mem::replace(&mut self.has_io, true);
            let grown = self.io.advance(reader, pid, before, now, is_first);
            (work.io, work.children_io) = (grown.own, grown.children);
        }
        work
    }

    fn advance_threads(&mut self, reader: &mut Reader, pid: u32, now: &Stat) -> ProcessWork {
        let mut tids = std::mem::take(&mut reader.tids);
        if now.threads <= 1 || !reader.list_tids(pid, &mut tids) {
            tids.clear();
            tids.push(pid);
        }
        let mut sum = Sum::default();
        let n_old = self.threads.len();
        self.threads.iter_mut().for_each(|t| t.listed = false);
        for tid in &tids {
            self.advance_thread(reader, pid, *tid, n_old, &mut sum);
        }
        reader.tids = tids;
        self.threads.retain(|t| t.listed);
        if self.threads.len() > n_old || !self.threads.is_sorted_by_key(|t| t.tid) {
            self.threads.sort_unstable_by_key(|t| t.tid);
        }
        self.cpus_allowed = sum.cpus_allowed.or(self.cpus_allowed);
        // A kernel that does not keep nanoseconds prints zeroes, also for a thread that has run.
        self.exact = self.threads.iter().any(|t| t.tid == pid && t.run != Run::default());
        ProcessWork {
            cpu_ns: sum.run_ns,
            wait_ns: self.exact.then_some(sum.wait_ns),
            measured: Measured::Ticks,
            io: None,
            children_io: io::Io::NONE,
            switches: (!sum.switches_unknown).then_some(sum.switches),
        }
    }

    fn advance_thread(&mut self, reader: &mut Reader, pid: u32, tid: u32, n_old: usize, sum: &mut Sum) {
        let single = tid == pid;
        let run = if single { reader.schedstat(pid, None) } else { reader.thread_schedstat(pid, tid) };
        // A thread that ended meanwhile has no file; the main thread stays for the process's life.
        let Some(run) = run.or(single.then(Run::default)) else { return };
        let place = self.threads[..n_old].binary_search_by_key(&tid, |t| t.tid);
        let old = place.as_ref().ok().map(|place| (self.threads[*place].run, self.threads[*place].switches));
        let then = old.map_or(Run::default(), |(run, _)| run);
        sum.run_ns += run.run_ns.saturating_sub(then.run_ns);
        sum.wait_ns += run.wait_ns.saturating_sub(then.wait_ns);
        let mut switches = old.and_then(|(_, switches)| switches);
        let ran = run != then || run == Run::default();
        if reader.cpu_only {
            sum.switches_unknown = true;
        } else if ran || switches.is_none() {
            let status = status(reader, pid, Some(tid));
            if single {
                self.uid = status.as_ref().and_then(|s| s.uid).or(self.uid);
            }
            let before = if old.is_some() { switches } else { Some((0, 0)) };
            sum.cpus_allowed = sum.cpus_allowed.max(status.as_ref().and_then(|s| s.cpus_allowed));
            switches = status.and_then(|s| s.switches);
            match (before, switches) {
                (Some(then), Some(now)) => {
                    sum.switches.0 += now.0.saturating_sub(then.0);
                    sum.switches.1 += now.1.saturating_sub(then.1);
                }
                _ => sum.switches_unknown = true,
            }
        }
        let thread = Thread { tid, run, switches, listed: true };
        match place {
            Ok(place) => self.threads[place] = thread,
            Err(_) => self.threads.push(thread),
        }
    }
}

#[derive(Default)]
struct Sum {
    run_ns: u64,
    wait_ns: u64,
    switches: (u64, u64),
    switches_unknown: bool,
    cpus_allowed: Option<u32>,
}

struct Status {
    uid: Option<u32>,
    switches: Option<(u64, u64)>,
    cpus_allowed: Option<u32>,
}

fn status(reader: &mut Reader, pid: u32, tid: Option<u32>) -> Option<Status> {
    let text = reader.file(pid, tid.filter(|tid| *tid != pid), "status")?;
    let (mut uid, mut voluntary, mut involuntary, mut cpus_allowed) = (None, None, None, None);
    for line in lines(text) {
        // Most lines are not wanted: by their first letter.
        match line.first() {
            // real, effective, saved, file system
            Some(b'U') => uid = line.strip_prefix(b"Uid:").and_then(|l| number(words(l).nth(1)?)).or(uid),
            Some(b'C') => cpus_allowed = line.strip_prefix(b"Cpus_allowed:").map(set_bits).or(cpus_allowed),
            Some(b'v') => voluntary = value(line, b"voluntary_ctxt_switches:").or(voluntary),
            Some(b'n') => involuntary = value(line, b"nonvoluntary_ctxt_switches:").or(involuntary),
            _ => {}
        }
    }
    Some(Status {
        uid: uid.and_then(|uid| u32::try_from(uid).ok()),
        switches: voluntary.zip(involuntary),
        cpus_allowed,
    })
}

/// Number of bits that are set in a mask of hexadecimal digits, with commas between groups.
fn set_bits(mask: &[u8]) -> u32 {
    mask.iter().filter_map(|digit| char::from(*digit).to_digit(16)).map(u32::count_ones).sum()
}

fn value(line: &[u8], key: &[u8]) -> Option<u64> {
    number(line.strip_prefix(key)?.trim_ascii())
}

/// Names of users, from `/etc/passwd`; users that are only in a directory service show as numbers.
pub struct Users {
    names: FxHashMap<u32, Box<str>>,
}

impl Users {
    /// Reads the users of `root`.
    pub fn read(root: &Root) -> Users {
        let text = root.read_text("/etc/passwd").unwrap_or_default();
        let mut names = FxHashMap::default();
        for line in text.lines() {
            let mut parts = line.split(':');
            let (Some(name), Some(uid)) = (parts.next(), parts.nth(1)) else { continue };
            if let Ok(uid) = uid.parse() {
                // The first name of several is the usual one.
                names.entry(uid).or_insert_with(|| name.into());
            }
        }
        Users { names }
    }

    /// The name of a user, or the number as text.
    pub fn name(&mut self, uid: u32) -> &str {
        self.names.entry(uid).or_insert_with(|| uid.to_string().into())
    }
}
