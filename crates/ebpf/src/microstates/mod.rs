//! `microstates`: how each thread spends its time: user code, system calls, page faults, locks, sleep, waiting for a CPU.

mod view;

use fenxi_model::{Rows, catalog::thread as c};
use fenxi_procfs::stat::{self, Stat};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes, Tick};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustc_hash::FxHashMap;

use crate::{
    EbpfError, Loaded, Loader, Meanwhile, Observer, Tracked,
    bpf::{Compiled, compiled},
    bytes::Bytes,
    kernel::now_ns,
    observer::{PID, option, source, spec, top},
    observing::Observing,
};

static OBJECT: Compiled = compiled!("microstates");
static SPEC: Spec = spec("microstates", "microstates of threads, by each change (eBPF)", &[&c::TABLE]);

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Microstates::ALL,
    formerly: None,
    about: "Show microstates: how each thread spends its time, like prstat -m",
    question: "How does each thread spend its time: running, in faults, at locks, asleep, waiting for a CPU?",
    help: "\
Time of each thread by state, measured at each change, in percent of the
interval. The columns of a thread add up to 100 (less if it lived for a part).

  USR  user code, with page faults that do not wait
  SYS  system calls, on a CPU
  DFL  blocked in a page fault
  LCK  blocked in futex: locks, condition variables, joins
  SLP  blocked in any other call: sleep, I/O, pipes, sockets
  LAT  runnable without a CPU (run queue latency)
  VCX  ICX  voluntary and involuntary context switches per second
  SCL  system calls per second

Without -p or COMMAND, threads that slept throughout have no line. Without an
INTERVAL, totals are shown at the end (Ctrl-C, or exit of COMMAND).

Examples:
  fenxi trace microstates 5                busiest threads, every five seconds
  fenxi trace microstates -p 1234 1        threads of a process
  fenxi trace microstates --by process 5   threads of each process added up
  fenxi trace microstates -- ./program     of a command",
    command: Meanwhile::ObservesIt,
    interval_s: None,
    needs: &[],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    option(
        "by",
        Takes::Word(&[
            ("thread", "Thread"),
            ("process", "Process: percent of one thread's time, so that four busy threads are 400"),
            ("command", "Thread name"),
        ]),
        "Group by",
    )
    .of_view(),
    top(30, "Maximum number of lines to show"),
    PID,
];

/// Measures the states of threads.
#[derive(Clone, Debug)]
pub struct Microstates {
    /// The processes observed.
    pub tracked: Tracked,
}

impl Microstates {
    /// Of every process.
    pub const ALL: Microstates = Microstates { tracked: Tracked::All };
}

source!(Microstates, |options| Microstates { tracked: Tracked::by(options) });

impl Microstates {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let began_ns = now_ns();
        let set = |loader: &mut Loader| loader.set("began_ns", began_ns);
        let attach = |loaded: &mut Loaded| {
            // A thread that another event meets before switches are seen would seem to run while it sleeps.
            loaded.attach_where(|program| program == SWITCHES)?;
            loaded.attach_where(|program| ![SWITCHES, THERE_ALREADY].contains(&program))?;
            loaded.iterate(THERE_ALREADY)
        };
        let observing = Observing::begin(SPEC.name, OBJECT, &self.tracked, set, attach)?;
        let threads = observing.map("threads")?;
        Ok(Box::new(Observed {
            observing,
            threads,
            all: !matches!(self.tracked, Tracked::All),
            before: FxHashMap::default(),
            last_ns: began_ns,
            turn: 0,
            is_blind: false,
        }))
    }
}

/// The program that sees threads leave their CPUs and come to them.
const SWITCHES: &str = "switched";
/// The program that meets the threads that there are.
const THERE_ALREADY: &str = "there_already";

/// States that have a sum (`enum state` in `microstates.bpf.c`); what is beyond them has ended.
const STATES: usize = 6;
const SLEEP: usize = 4;
/// The last one of those in which a thread has a CPU.
const RUNNING: usize = 1;
/// A thread that runs for longer without an event is looked at.
const LONG_NS: u64 = 20_000_000;
/// Sums of a thread: nanoseconds by state, then voluntary and involuntary switches and calls.
const SUMS: usize = STATES + 3;
/// How often a thread is read again that changes meanwhile.
const TRIES: usize = 8;
/// Threads that are read at a time.
const BATCH: u32 = 1024;

struct Observed {
    observing: Observing,
    /// `struct thread` by its number.
    threads: MapHandle,
    /// Whether threads that sleep throughout have rows, too.
    all: bool,
    before: FxHashMap<u32, Before>,
    /// When the interval began.
    last_ns: u64,
    turn: u64,
    /// Whether threads were left out whose events the kernel hides.
    is_blind: bool,
}

/// A thread as it was at the end of the last interval.
struct Before {
    first_since: u64,
    sums: [u64; SUMS],
    seen: u64,
}

/// A thread as it was at a moment.
struct Thread {
    sums: [u64; SUMS],
    state: usize,
    since: u64,
    /// Whether its own events were seen to be missing.
    hidden: bool,
    /// The state that it was in before its first event, and since when.
    first: usize,
    first_since: u64,
    tgid: u32,
    comm: String,
}

impl Thread {
    /// Reads `struct thread`, the current state up to `now`; None: it was changed meanwhile.
    fn read(value: &[u8], now: u64) -> Option<Thread> {
        let mut at = Bytes(value);
        let (done, since) = (at.u64(), at.u64());
        let mut sums: [u64; SUMS] = std::array::from_fn(|_| at.u64());
        let (state, _call, first, tgid) = (at.u32() as usize, at.u32(), at.u32() as usize, at.u32());
        let (hidden, first_since) = (at.u64() != 0, at.u64());
        let comm = at.text(16);
        if at.u64() != done {
            return None;
        }
        if let Some(sum) = sums.get_mut(state).filter(|_| state < STATES) {
            *sum += now.saturating_sub(since);
        }
        Some(Thread { sums, state, since, hidden, first, first_since, tgid, comm })
    }

    /// Growth since `before`, or since the interval began at `last_ns`.
    fn added(&self, before: Option<&Before>, last_ns: u64) -> [u64; SUMS] {
        let mut earlier = [0; SUMS];
        match before.filter(|before| before.first_since == self.first_since) {
            Some(before) => earlier = before.sums,
            // It was in its first state before the interval, too.
            None if self.first < STATES => earlier[self.first] = last_ns.saturating_sub(self.first_since),
            None => {}
        }
        std::array::from_fn(|place| self.sums[place].saturating_sub(earlier[place]))
    }
}

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.turn += 1;
        let now = now_ns();
        let failed = |source| EbpfError::Map { map: "threads".to_owned(), source };
        let (mut ended, mut hidden) = (Vec::new(), None);
        for (key, value) in self.threads.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY).map_err(failed)? {
            let Some(thread) = self.whole(&key, &value, now)? else { continue };
            let tid = Bytes(&key).u32();
            let added = thread.added(self.before.get(&tid), self.last_ns);
            if thread.state >= STATES {
                ended.push(key.clone());
            }
            let interval_ns = now.saturating_sub(self.last_ns);
            if self.is_hidden(&thread, &key, tid, now)? {
                hidden.get_or_insert_with(|| format!("{} (of process {})", thread.comm, thread.tgid));
            } else if tick.dt.is_some() && interval_ns > 0 && (self.all || !has_only_slept(&added, thread.state)) {
                put(&thread, tid, &added, interval_ns as f64, tick, rows);
            }
            let (first_since, sums, seen) = (thread.first_since, thread.sums, self.turn);
            self.before.insert(tid, Before { first_since, sums, seen });
        }
        if let Some(who) = hidden.filter(|_| !std::mem::replace(&mut self.is_blind, true)) {
            let why = "this kernel does not report when they leave their CPUs";
            rows.note(SPEC.name, None, &format!("threads like {who} have no rows: {why}"));
        }
        for key in ended {
            let _ = self.threads.delete(&key);
            self.before.remove(&Bytes(&key).u32());
        }
        let turn = self.turn;
        self.before.retain(|_, before| before.seen == turn);
        self.last_ns = now;
        Ok(self.observing.report(tick, rows)?)
    }
}

impl Observed {
    /// Whether a thread left its CPU unseen: it sleeps, and was last seen to run. Sandboxes hide events of their agents.
    fn is_hidden(&self, thread: &Thread, key: &[u8], tid: u32, now: u64) -> Result<bool, EbpfError> {
        if thread.hidden {
            return Ok(true);
        }
        if thread.state > RUNNING || now.saturating_sub(thread.since) < LONG_NS {
            return Ok(false);
        }
        let sleeps = |stat: &Stat| !matches!(stat.state, b'R' | b'X' | b'Z');
        if !stat::of_thread(&Root::live(), thread.tgid, tid).is_some_and(|(stat, _)| sleeps(&stat)) {
            return Ok(false);
        }
        // It may have left just now.
        let value = self.lookup(key)?;
        Ok(value.and_then(|value| Thread::read(&value, now)).is_some_and(|again| again.since == thread.since))
    }

    fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>, EbpfError> {
        let value = self.threads.lookup(key, MapFlags::ANY);
        value.map_err(|source| EbpfError::Map { map: "threads".to_owned(), source })
    }

    /// A thread as it was at one moment; None: it has gone, or never stands still, and is read at the next tick.
    fn whole(&self, key: &[u8], value: &[u8], now: u64) -> Result<Option<Thread>, EbpfError> {
        let mut thread = Thread::read(value, now);
        for _ in 0..TRIES {
            if thread.is_some() {
                break;
            }
            let Some(value) = self.lookup(key)? else { break };
            thread = Thread::read(&value, now);
        }
        Ok(thread)
    }
}

fn has_only_slept(added: &[u64; SUMS], state: usize) -> bool {
    state == SLEEP && added.iter().enumerate().all(|(place, sum)| place == SLEEP || *sum == 0)
}

fn put(thread: &Thread, tid: u32, added: &[u64; SUMS], interval_ns: f64, tick: Tick, rows: &mut Rows) {
    let [usr, sys, fault, lock, sleep, latency, ..] = added.map(|ns| 100.0 * ns as f64 / interval_ns);
    let [voluntary, involuntary, calls] =
        [STATES, STATES + 1, STATES + 2].map(|at| added[at] as f64 / interval_ns * 1e9);
    let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
    row.i64(c::pid, i64::from(thread.tgid)).i64(c::tid, i64::from(tid)).str(c::comm, thread.comm.as_str());
    row.f64(c::usr, usr).f64(c::sys, sys).f64(c::cpu, usr + sys).f64(c::run_queue_wait, latency);
    row.f64(c::data_fault, fault).f64(c::lock_wait, lock).f64(c::sleep, sleep);
    row.f64(c::voluntary_switches_per_s, voluntary).f64(c::involuntary_switches_per_s, involuntary);
    row.f64(c::syscalls_per_s, calls);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct thread` with these sums, asleep since `since`.
    fn value(done: u64, begun: u64, since: u64, first_since: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [done, since, 10, 20, 30, 40, 50, 60, 7, 8, 9] {
            bytes.extend(number.to_ne_bytes());
        }
        for number in [SLEEP as u32, 1, 4, 1234] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend(0u64.to_ne_bytes());
        bytes.extend(first_since.to_ne_bytes());
        bytes.extend(b"worker\0\0\0\0\0\0\0\0\0\0");
        bytes.extend(begun.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_state_that_goes_on_counts_until_now() {
        let thread = Thread::read(&value(3, 3, 1000, 0), 1500).unwrap();
        assert_eq!(thread.sums, [10, 20, 30, 40, 550, 60, 7, 8, 9]);
        assert_eq!((thread.tgid, thread.comm.as_str()), (1234, "worker"));
        assert!(Thread::read(&value(3, 4, 1000, 0), 1500).is_none(), "it changes");
        assert!(Thread::read(&[], 1500).is_some_and(|thread| thread.sums == [1500, 0, 0, 0, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn what_was_before_the_interval_is_not_counted() {
        let thread = Thread::read(&value(1, 1, 1000, 900), 1500).unwrap();
        // It slept before its first event, of that 100 ns before the interval.
        assert_eq!(thread.added(None, 1000)[SLEEP], 450);
        let before = Before { first_since: 900, sums: [10, 20, 30, 40, 50, 60, 7, 8, 9], seen: 1 };
        assert_eq!(thread.added(Some(&before), 1000), [0, 0, 0, 0, 500, 0, 0, 0, 0]);
        let other = Before { first_since: 1, ..before };
        assert_eq!(thread.added(Some(&other), 0)[0], 10, "another thread had the number");
    }

    #[test]
    fn only_sleep_throughout_is_idle() {
        assert!(has_only_slept(&[0, 0, 0, 0, 500, 0, 0, 0, 0], SLEEP));
        assert!(!has_only_slept(&[1, 0, 0, 0, 500, 0, 0, 0, 0], SLEEP));
        assert!(!has_only_slept(&[0, 0, 0, 500, 0, 0, 0, 0, 0], 3), "at a lock");
    }
}
