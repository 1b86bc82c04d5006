//! `plockstat`: user-space lock contention: waiters, locks, call sites, wait times; optionally hold times.

mod holds;
mod judge;
mod view;

use std::collections::BTreeMap;

use fenxi_model::{
    Rows,
    catalog::{histogram, lock as c},
};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes, Tick};

use self::judge::{Judged, Kind, judge};
use crate::{
    Loaded, Loader, Meanwhile, Observer, Tracked, Way,
    bpf::{Compiled, compiled},
    buckets,
    bytes::Bytes,
    drain::Drain,
    observer::{PID, option, source, spec, top},
    observing::Observing,
    sums::Added,
    symbols::{Frame, Symbols, Watched},
    unwind,
};

static OBJECT: Compiled = compiled!("plockstat");
static SPEC: Spec = spec(
    "plockstat",
    "locks of programs: who waits for which, where and how long (eBPF)",
    &[&c::TABLE, &histogram::TABLE],
);

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Plockstat::ALL,
    formerly: None,
    about: "Show user-space lock contention: waiters, call sites, wait and hold times",
    question: "Which locks do threads wait for, and who holds them?",
    help: "\
Observes all locks that block in the kernel (futex): those of glibc, Rust, C++.
Uncontended acquisitions have no overhead. With --holds every acquisition is
observed and takes about a microsecond longer. Without an INTERVAL, totals are
shown at the end (Ctrl-C, or exit of COMMAND).

Examples:
  fenxi trace plockstat -p 1234 10 1       contended locks of a server
  fenxi trace plockstat -- ./program       of a program, from start to exit
  fenxi trace plockstat --holds -p 1234 10 1
                                           with hold times and holders
  fenxi trace plockstat --save locks 1     all processes, saved as a run",
    command: Meanwhile::ObservesIt,
    interval_s: None,
    needs: &[(Way::Tracepoint, "plockstat's waits"), (Way::Probe, "plockstat's holds")],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    option("holds", Takes::Nothing, "Observe every acquisition, and measure hold times"),
    option("all-waits", Takes::Nothing, "Include futex waits other than locks: condition variables, joins, semaphores"),
    option("distributions", Takes::Nothing, "Add histograms of wait and hold times").of_view(),
    top(20, "Maximum number of locks to show, per kind"),
    PID,
];

/// Observes locks.
#[derive(Clone, Debug)]
pub struct Plockstat {
    /// The processes observed.
    pub tracked: Tracked,
    /// True if all acquisitions are observed, and how long locks are held: it costs the observed programs time at each.
    pub holds: bool,
    /// True if waits that are for no lock (conditions, joins, semaphores) are shown, too.
    pub all_waits: bool,
}

impl Plockstat {
    /// Contention in every process.
    pub const ALL: Plockstat = Plockstat { tracked: Tracked::All, holds: false, all_waits: false };
}

source!(Plockstat, |options| {
    let (holds, all_waits) = (options.is_given("holds"), options.is_given("all-waits"));
    Plockstat { tracked: Tracked::by(options), holds, all_waits }
});

impl Plockstat {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let mut notes = Vec::new();
        let mut attach = |loaded: &mut Loaded| {
            loaded.attach()?;
            if self.holds {
                notes = holds::attach(loaded, &self.tracked)?;
            }
            Ok(())
        };
        let begin = |with_tables: bool| {
            let set = |loader: &mut Loader| unwind::set(loader, with_tables);
            Observing::begin(SPEC.name, OBJECT, &self.tracked, set, &mut attach)
        };
        let (observing, unwinder, refused) = unwind::begin(begin)?;
        notes.extend(refused);
        let locks = Drain::new("locks", observing.map("locks")?)?;
        let watched = Watched::new(observing.map("met")?, unwinder)?;
        Ok(Box::new(Observed { locks, watched, observing, notes, all_waits: self.all_waits, advised: false }))
    }
}

/// Powers of two of nanoseconds that are distinguished (`POWERS` in `plockstat.bpf.c`).
const POWERS: usize = 40;
/// Addresses of a stack that are kept: where the thread was, then its callers.
const FRAMES: usize = 8;
/// Locks whose distributions become rows at each tick: those with the most time.
const DISTRIBUTIONS: usize = 20;

struct Observed {
    /// `struct sums`: events, nanoseconds, events by power of two; then the program's name.
    locks: Drain<{ 2 + POWERS }>,
    watched: Watched,
    observing: Observing,
    notes: Vec<String>,
    all_waits: bool,
    /// Whether the remedy against contention of malloc was reported.
    advised: bool,
}

/// Key of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    comm: String,
    pid: u32,
    event: &'static str,
    lock: String,
    caller: String,
}

#[derive(Clone, Debug)]
struct Value {
    events: u64,
    ns: u64,
    powers: [u64; POWERS],
}

/// The rest of `struct key` and its value.
struct Entry {
    comm: String,
    pid: u32,
    lock: u64,
    judged: Judged,
    frames: Vec<Frame>,
}

impl Entry {
    fn read(added: &Added<'_, { 2 + POWERS }>, symbols: &mut Symbols) -> Entry {
        let mut at = Bytes(added.key);
        let (lock, pid, kind) = (at.u64(), at.u32(), Kind::of(at.u32()));
        let addresses = (0..FRAMES).map(|_| at.u64()).take_while(|address| *address != 0);
        let frames: Vec<Frame> = addresses.map(|address| caller(symbols, pid, address)).collect();
        let judged = judge(kind, &frames);
        Entry { comm: Bytes(added.rest).text(16), pid, lock, judged, frames }
    }

    fn key(self, symbols: &mut Symbols) -> Key {
        let at = symbols.variable(self.pid, self.lock);
        let name = at.map_or_else(|| format!("{:#x}", self.lock), |at| object_and_name(&at));
        let lock = if self.judged.malloc { format!("malloc's {name}") } else { name };
        let caller = self.judged.caller.and_then(|place| self.frames.get(place)).or(self.frames.last());
        let caller = caller.map_or_else(|| "?".to_owned(), object_and_name);
        Key { comm: self.comm, pid: self.pid, event: self.judged.event, lock, caller }
    }
}

/// As plockstat writes it: the file, a backquote, the function and how far into it.
fn object_and_name(frame: &Frame) -> String {
    let Frame { function, file, offset } = frame;
    match (function.starts_with('['), file.is_empty(), *offset) {
        (true, true, address) => format!("{address:#x}"),
        (true, false, offset) => format!("{file}+{offset:#x}"),
        (false, _, 0) => format!("{file}`{function}"),
        (false, _, offset) => format!("{file}`{function}+{offset:#x}"),
    }
}

/// The function of an address after a call: the call may be the function's last instruction.
fn caller(symbols: &mut Symbols, pid: u32, address: u64) -> Frame {
    let frame = symbols.resolve(pid, address.saturating_sub(1));
    Frame { offset: frame.offset + 1, ..frame }
}

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        for note in self.notes.drain(..) {
            rows.note(SPEC.name, None, &note);
        }
        let mut symbols = self.watched.symbols();
        symbols.turn();
        let mut lines: BTreeMap<Key, Value> = BTreeMap::new();
        let (all_waits, mut of_malloc) = (self.all_waits, None);
        self.locks.added(|added| {
            let entry = Entry::read(&added, &mut symbols);
            if !entry.judged.is_lock && !all_waits {
                return;
            }
            if entry.judged.malloc {
                of_malloc = Some((entry.comm.clone(), entry.pid));
            }
            let value = lines.entry(entry.key(&mut symbols));
            let value = value.or_insert(Value { events: 0, ns: 0, powers: [0; POWERS] });
            value.events += added.sums[0];
            value.ns += added.sums[1];
            value.powers.iter_mut().zip(&added.sums[2..]).for_each(|(power, more)| *power += more);
        })?;
        drop(symbols);
        if tick.dt.is_some() {
            if let Some((comm, pid)) = of_malloc.filter(|_| !self.advised) {
                self.advised = true;
                rows.note(SPEC.name, None, &advice(&comm, pid));
            }
            put(&lines, tick, rows);
        }
        self.watched.report(SPEC.name, tick, rows)?;
        Ok(self.observing.report(tick, rows)?)
    }
}

fn advice(comm: &str, pid: u32) -> String {
    format!(
        "threads of {comm} ({pid}) wait for each other in malloc: try an allocator made for threads, for example \
         LD_PRELOAD=libjemalloc.so.2 or libtcmalloc_minimal.so.4, and compare"
    )
}

fn put(lines: &BTreeMap<Key, Value>, tick: Tick, rows: &mut Rows) {
    let mut of_event: BTreeMap<&str, u64> = BTreeMap::new();
    lines.iter().for_each(|(key, value)| *of_event.entry(key.event).or_default() += value.events);
    for (key, value) in lines {
        let events = value.events as f64;
        let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
        row.str(c::comm, key.comm.as_str()).i64(c::pid, i64::from(key.pid)).str(c::event, key.event);
        row.str(c::lock, key.lock.as_str()).str(c::caller, key.caller.as_str());
        row.f64(c::events, events).f64(c::total_s, value.ns as f64 / 1e9);
        row.f64(c::mean_us, (events > 0.0).then(|| value.ns as f64 / 1e3 / events));
        let of = of_event.get(key.event).copied().unwrap_or(0) as f64;
        row.f64(c::share, (of > 0.0).then(|| 100.0 * events / of));
    }
    let mut longest: Vec<_> = lines.iter().collect();
    longest.sort_by_key(|(_, value)| std::cmp::Reverse(value.ns));
    for (key, value) in longest.into_iter().take(DISTRIBUTIONS) {
        // Labels are separated by commas.
        let of = |text: &str| text.replace(',', ";");
        let labels = format!("event={},lock={},caller={}", key.event, of(&key.lock), of(&key.caller));
        let of = buckets::Of { name: "lock_us", labels: &labels, unit: "us", scale: 1e-3 };
        buckets::powers(of, &value.powers, tick, rows);
    }
}
