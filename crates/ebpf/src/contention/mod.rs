//! `contention`: locks of the kernel: who waits for them, from where, how long, and who holds them meanwhile.

mod names;
mod view;

use std::{cmp::Reverse, collections::BTreeMap};

use fenxi_model::{Rows, catalog::lock as c};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes, Tick};

use self::names::Names;
pub(crate) use self::view::KERNEL;
use crate::{
    EbpfError, Loaded, Loader, Meanwhile, Observer, Tracked,
    bpf::{Compiled, compiled},
    bytes::Bytes,
    drain::Drain,
    kernel,
    observer::{PID, option, source, spec, top},
    observing::Observing,
    sums::Added,
    symbols::Symbols,
};

static OBJECT: Compiled = compiled!("contention");
static SPEC: Spec = spec(
    "contention",
    "locks of the kernel: who waits for them, where and how long, who holds them (eBPF)",
    &[&c::TABLE],
);

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Contention::ALL,
    formerly: None,
    about: "Show kernel lock contention: waiters, call sites, holders, wait times",
    question: "Which locks of the kernel do threads wait for, where, and who holds them?",
    help: "\
Waits for contended locks of the kernel: spinlocks, mutexes, semaphores, read-
write locks. Uncontended acquisitions have no overhead. User-space locks are
shown by plockstat. Needs Linux 5.19. Without an INTERVAL, totals are shown at
the end (Ctrl-C, or exit of COMMAND).

  TYPE    kind of lock, and whether to read or to write
  LOCK    mmap_lock, siglock or the kernel's variable; - for all others
  CALLER  function that wanted the lock
  HOLDER  program that held it when the wait began; mutexes and writers only

Examples:
  fenxi trace contention 5                by lock and caller, every 5 s
  fenxi trace contention --by process 5   by process
  fenxi trace contention --stacks 10 1    with the functions that led there
  fenxi trace contention --addresses -p 1234 10 1
                                          each lock apart, by its address
  fenxi trace contention -- make -j8      of make and its children",
    command: Meanwhile::ObservesIt,
    interval_s: None,
    needs: &[],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    option(
        "by",
        Takes::Word(&[
            ("caller", "Type, lock, caller and process"),
            ("lock", "Type, lock and caller, all processes together"),
            ("process", "Process and type"),
        ]),
        "Group by",
    )
    .of_view(),
    option("stacks", Takes::Nothing, "Show the functions that led to the caller, innermost first").of_view(),
    option("addresses", Takes::Nothing, "Distinguish locks without a name by their addresses"),
    top(20, "Maximum number of lines to show"),
    PID,
];

/// Times waits for locks of the kernel.
#[derive(Clone, Debug)]
pub struct Contention {
    /// The processes observed.
    pub tracked: Tracked,
    /// Whether locks without a name are distinguished by address.
    pub addresses: bool,
}

impl Contention {
    /// Of every process.
    pub const ALL: Contention = Contention { tracked: Tracked::All, addresses: false };
}

source!(Contention, |options| Contention { tracked: Tracked::by(options), addresses: options.is_given("addresses") });

/// The tracepoints that it needs.
const TRACEPOINTS: [&str; 2] = ["contention_begin", "contention_end"];

impl Contention {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        if let [first, ..] = kernel::missing_tracepoints(&TRACEPOINTS)?[..] {
            let why = "it has no such tracepoint, which Linux 5.19 brought".to_owned();
            return Err(EbpfError::Refused { what: format!("`tp_btf/{first}`"), why }.into());
        }
        let names = Names::read();
        let set = |loader: &mut Loader| {
            let (begin, end) = names.image();
            loader.set("image_begin", begin)?;
            loader.set("image_end", end)?;
            loader.set("by_address", u32::from(self.addresses))
        };
        let observing = Observing::begin(SPEC.name, OBJECT, &self.tracked, set, Loaded::attach)?;
        let locks = Drain::new("locks", observing.map("locks")?)?;
        Ok(Box::new(Observed { observing, locks, names, symbols: Symbols::new() }))
    }
}

/// Addresses of a stack that are kept (`FRAMES` in `contention.bpf.c`).
const FRAMES: usize = 20;
/// Rows at each tick: those with the most time; the others are added up by type.
const LINES: usize = 500;

struct Observed {
    observing: Observing,
    /// `struct sums`: waits, nanoseconds; then the longest one, the program's name, the holder's.
    locks: Drain<2>,
    names: Names,
    symbols: Symbols,
}

/// Key of a row. None: others, added up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    event: String,
    of: Option<Of>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Of {
    comm: String,
    pid: u32,
    lock: Option<String>,
    caller: String,
    stack: String,
    holder: Option<(String, u32)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Value {
    waits: u64,
    ns: u64,
    longest_ns: u64,
}

impl Value {
    fn add(&mut self, more: Value) {
        self.waits += more.waits;
        self.ns += more.ns;
        self.longest_ns = self.longest_ns.max(more.longest_ns);
    }
}

impl Observed {
    /// Reads `struct key` and its value.
    fn read(added: &Added<'_, 2>, names: &Names, symbols: &mut Symbols) -> (Key, Value) {
        let (mut key, mut rest) = (Bytes(added.key), Bytes(added.rest));
        let (address, pid, flags, name, holder) = (key.u64(), key.u32(), key.u32(), key.u32(), key.u32());
        let (caller, stack) = names.caller(std::array::from_fn(|_| key.u64()), symbols);
        let longest_ns = rest.u64();
        let (comm, holder_comm) = (rest.text(16), rest.text(16));
        let lock = match name {
            1 => Some(names.variable(address)),
            2 => Some("mmap_lock".to_owned()),
            3 => Some("siglock".to_owned()),
            _ => None,
        };
        let holder = (holder > 0).then_some((holder_comm, holder));
        let of = Of { comm, pid, lock, caller, stack, holder };
        let value = Value { waits: added.sums[0], ns: added.sums[1], longest_ns };
        (Key { event: event(flags), of: Some(of) }, value)
    }
}

/// The kind of a lock, by the flags of its tracepoint.
fn event(flags: u32) -> String {
    let has = |flag: u32| flags & flag != 0;
    let rw = if has(READ) { " read" } else { " write" };
    let kind = match flags & !(READ | WRITE) {
        SPIN if has(READ | WRITE) => "rwlock",
        SPIN => return "kernel spinlock".to_owned(),
        PERCPU => "percpu-rwsem",
        0 if has(READ | WRITE) => "rwsem",
        0 => return "kernel semaphore".to_owned(),
        flags if flags & MUTEX != 0 => return "kernel mutex".to_owned(),
        flags if flags & RT != 0 && has(READ | WRITE) => "rt rwlock",
        flags if flags & RT != 0 => return "kernel rt mutex".to_owned(),
        _ => return "kernel lock".to_owned(),
    };
    format!("kernel {kind}{rw}")
}

/// Flags of the tracepoint.
const SPIN: u32 = 1;
const READ: u32 = 2;
const WRITE: u32 = 4;
const RT: u32 = 8;
const PERCPU: u32 = 16;
const MUTEX: u32 = 32;

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let mut lines: BTreeMap<Key, Value> = BTreeMap::new();
        let (names, symbols) = (&self.names, &mut self.symbols);
        self.locks.added(|added| {
            // Events of the first reading are from before the recording.
            if tick.dt.is_some() {
                let (key, value) = Observed::read(&added, names, symbols);
                lines.entry(key).or_default().add(value);
            }
        })?;
        put(fewer(lines), tick, rows);
        Ok(self.observing.report(tick, rows)?)
    }
}

/// The lines with the most time, the others added up by type.
fn fewer(lines: BTreeMap<Key, Value>) -> Vec<(Key, Value)> {
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_key(|(_, value)| Reverse(value.ns));
    let mut others: BTreeMap<String, Value> = BTreeMap::new();
    for (key, value) in lines.drain(LINES.min(lines.len())..) {
        others.entry(key.event).or_default().add(value);
    }
    lines.extend(others.into_iter().map(|(event, value)| (Key { event, of: None }, value)));
    lines
}

fn put(lines: Vec<(Key, Value)>, tick: Tick, rows: &mut Rows) {
    let mut of_event: BTreeMap<String, u64> = BTreeMap::new();
    for (key, value) in &lines {
        *of_event.entry(key.event.clone()).or_default() += value.waits;
    }
    for (key, value) in lines {
        let (waits, ns) = (value.waits as f64, value.ns as f64);
        let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
        row.str(c::event, key.event.as_str());
        if let Some(of) = &key.of {
            row.str(c::comm, of.comm.as_str()).i64(c::pid, i64::from(of.pid)).str(c::lock, of.lock.as_deref());
            row.str(c::caller, of.caller.as_str()).str(c::stack, of.stack.as_str());
            if let Some((comm, pid)) = &of.holder {
                row.str(c::holder, comm.as_str()).i64(c::holder_pid, i64::from(*pid));
            }
        }
        row.f64(c::events, waits).f64(c::total_s, ns / 1e9).f64(c::max_us, value.longest_ns as f64 / 1e3);
        row.f64(c::mean_us, (waits > 0.0).then(|| ns / 1e3 / waits));
        let of = of_event.get(&key.event).copied().unwrap_or(0) as f64;
        row.f64(c::share, (of > 0.0).then(|| 100.0 * waits / of));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_by_their_flags() {
        let named = [
            (SPIN, "kernel spinlock"),
            (SPIN | READ, "kernel rwlock read"),
            (SPIN | WRITE, "kernel rwlock write"),
            (READ, "kernel rwsem read"),
            (WRITE, "kernel rwsem write"),
            (MUTEX, "kernel mutex"),
            (PERCPU | READ, "kernel percpu-rwsem read"),
            (RT, "kernel rt mutex"),
            (RT | WRITE, "kernel rt rwlock write"),
            (0, "kernel semaphore"),
            (1 << 20, "kernel lock"),
        ];
        named.iter().for_each(|(flags, name)| assert_eq!(event(*flags), *name));
    }

    #[test]
    fn what_is_beyond_the_limit_is_added_up_by_type_and_not_lost() {
        let line = |pid: u32| {
            let of = Of {
                comm: "app".to_owned(),
                pid,
                lock: None,
                caller: "f".to_owned(),
                stack: "g;f".to_owned(),
                holder: None,
            };
            let key = Key { event: event(if pid.is_multiple_of(2) { SPIN } else { MUTEX }), of: Some(of) };
            (key, Value { waits: 1, ns: u64::from(pid), longest_ns: u64::from(pid) })
        };
        let kept = fewer((1..=600).map(line).collect());
        assert_eq!(kept.len(), 502);
        assert_eq!(kept.iter().map(|(_, value)| value.ns).sum::<u64>(), 600 * 601 / 2);
        let others: Vec<_> = kept.iter().filter(|(key, _)| key.of.is_none()).collect();
        // Those that waited the shortest, 1 to 100.
        assert_eq!((others[0].1.waits, others[0].1.ns, others[0].1.longest_ns), (50, 2500, 99));
        assert_eq!((others[1].1.waits, others[1].1.ns, others[1].1.longest_ns), (50, 2550, 100));
    }
}
