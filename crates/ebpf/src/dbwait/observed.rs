//! The reading at each tick, and the rows made of it.

use std::{cmp::Reverse, collections::BTreeMap};

use fenxi_db::{
    activity,
    postgres_activity::{self, Doing},
    postgres_memory::layout::WORKER,
};
use fenxi_model::{
    Rows,
    catalog::{db_statement_wait as s, db_wait as c},
};
use fenxi_source::{Collector, SourceError, Tick};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    COUNT_OPEN, Dbwait,
    found::{BACKEND, Found, HAS_LEADER, KEY, OFF_CPU, SINCE, wanted},
    stacks::Stacks,
};
use crate::{EbpfError, buckets, bytes::Bytes, drain::Drain, kernel::now_ns, observing::Observing, unwind::Unwinder};

/// Of `POWERS` in C.
const POWERS: usize = 40;
/// `struct sums`: waits, their time, lengths of those that ended, these by power of two.
const SUMS: usize = 3 + POWERS;
/// `RUN_QUEUE` of the program.
const RUN_QUEUE: u32 = 1;
/// `UNREAD` of the program.
const UNREAD: u32 = u32::MAX;
/// Ticks between two looks for servers that have begun.
const LOOK_EVERY: u64 = 5;
/// Statements of an interval that have rows: those with the most time.
const STATEMENTS: usize = 500;
/// Events whose distributions become rows at each tick: those with the most time.
const DISTRIBUTIONS: usize = 40;

/// Key of a sum of time: `struct key` of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    server: u32,
    what: u32,
    word: u32,
    kind: u32,
    state: u32,
    pid: u32,
    stack: u64,
    user_stack: u64,
    query_id: i64,
}

impl Key {
    fn read(bytes: &[u8]) -> Key {
        let mut at = Bytes(bytes);
        let [server, what, word, kind, state, pid] = std::array::from_fn(|_| at.u32());
        let (stack, user_stack) = (at.u64(), at.u64());
        Key { server, what, word, kind, state, pid, stack, user_stack, query_id: at.u64().cast_signed() }
    }
}

/// Sums of one key in an interval.
#[derive(Clone, Copy, Debug)]
struct Spent {
    waits: u64,
    ns: u64,
    ended_ns: u64,
    powers: [u64; POWERS],
}

impl Default for Spent {
    fn default() -> Spent {
        Spent { waits: 0, ns: 0, ended_ns: 0, powers: [0; POWERS] }
    }
}

impl Spent {
    fn add(&mut self, more: &Spent) {
        self.waits += more.waits;
        self.ns += more.ns;
        self.ended_ns += more.ended_ns;
        self.powers.iter_mut().zip(more.powers).for_each(|(sum, more)| *sum += more);
    }

    fn mean_ms(&self) -> Option<f64> {
        (self.waits > 0).then(|| self.ended_ns as f64 / 1e6 / self.waits as f64)
    }
}

/// Key of a row of `db_wait`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    server: u32,
    is_client: bool,
    activity: &'static str,
    class: String,
    event: String,
}

/// The observer at work.
pub(super) struct Observed {
    what: Dbwait,
    observing: Observing,
    waited: Drain<SUMS>,
    backends: MapHandle,
    servers: Vec<Found>,
    tried: FxHashSet<u32>,
    /// Time of waits that go on which earlier intervals have already.
    ahead: FxHashMap<Key, u64>,
    stacks: Option<Stacks>,
    pub notes: Vec<String>,
    looked: u64,
}

impl Observed {
    /// Begins with the servers that run.
    ///
    /// # Errors
    /// When one that was asked for is not there or cannot be observed.
    pub fn begin(what: Dbwait, observing: Observing, unwinder: Option<Unwinder>) -> Result<Observed, EbpfError> {
        let waited = Drain::new("waited", observing.map("waited")?)?;
        let backends = observing.map("backends")?;
        let stacks = if what.stacks { Some(Stacks::new(&observing, unwinder)?) } else { None };
        let mut observed = Observed {
            what,
            observing,
            waited,
            backends,
            servers: Vec::new(),
            tried: FxHashSet::default(),
            ahead: FxHashMap::default(),
            stacks,
            notes: Vec::new(),
            looked: 0,
        };
        observed.look()?;
        if observed.servers.is_empty() && observed.notes.is_empty() {
            observed.notes.push("no PostgreSQL server runs here; one that begins will be observed".to_owned());
        }
        Ok(observed)
    }

    /// Looks for servers that are wanted and not observed yet.
    fn look(&mut self) -> Result<(), EbpfError> {
        let asked_for = !self.what.pids.is_empty();
        for (first, pids) in wanted(&self.what)? {
            if !self.tried.insert(first) {
                continue;
            }
            let place = u32::try_from(self.servers.len()).unwrap_or(u32::MAX);
            match Found::new(first, place) {
                Ok(found) => {
                    found.observe(&self.backends, &pids)?;
                    // Sessions that began while the first process was not observed yet.
                    let later = wanted(&self.what)?.into_iter().find(|(pid, _)| *pid == first);
                    found.observe(&self.backends, &later.map(|(_, pids)| pids).unwrap_or_default())?;
                    self.servers.push(found);
                }
                Err(error) if asked_for => return Err(error),
                Err(error) => self.notes.push(format!("not observed: {error}")),
            }
        }
        Ok(())
    }

    /// Time spent since the last reading, waits that go on included.
    fn spent(&mut self) -> Result<FxHashMap<Key, Spent>, EbpfError> {
        self.observing.run_on_each_cpu(COUNT_OPEN)?;
        let mut spent: FxHashMap<Key, Spent> = FxHashMap::default();
        self.waited.added(|added| {
            let mut powers = [0; POWERS];
            powers.copy_from_slice(&added.sums[3..]);
            let [waits, ns, ended_ns, ..] = added.sums;
            spent.entry(Key::read(added.key)).or_default().add(&Spent { waits, ns, ended_ns, powers });
        })?;
        let mut ahead: FxHashMap<Key, u64> = FxHashMap::default();
        for (key, ns) in self.open()? {
            spent.entry(key).or_default().ns += ns;
            *ahead.entry(key).or_default() += ns;
        }
        for (key, before) in std::mem::replace(&mut self.ahead, ahead) {
            let of = spent.entry(key).or_default();
            // One that ended between the two readings is in the next sums only.
            if let Some(early) = before.checked_sub(of.ns).filter(|early| *early > 0) {
                *self.ahead.entry(key).or_default() += early;
            }
            of.ns = of.ns.saturating_sub(before);
        }
        spent.retain(|_, of| of.ns > 0 || of.waits > 0);
        Ok(spent)
    }

    /// Waits of processes at this moment, with the nanoseconds that each has lasted.
    fn open(&self) -> Result<Vec<(Key, u64)>, EbpfError> {
        let mut open = Vec::new();
        for pid in self.backends.keys() {
            let failed = |source| EbpfError::Map { map: "backends".to_owned(), source };
            let Some(value) = self.backends.lookup(&pid, MapFlags::ANY).map_err(failed)? else { continue };
            let Some(value) = value.get(SINCE..BACKEND) else { continue };
            let since = Bytes(value).u64();
            let mut key = Key::read(&value[8..8 + KEY]);
            if key.what != OFF_CPU && key.what != RUN_QUEUE || since == 0 {
                continue;
            }
            if key.what == RUN_QUEUE {
                (key.word, key.stack, key.user_stack, key.pid) = (0, 0, 0, 0);
            }
            open.push((key, now_ns().saturating_sub(since)));
        }
        Ok(open)
    }

    /// In words: what a key is.
    fn wait(&self, key: &Key) -> Option<Wait> {
        let server = self.servers.get(key.server as usize)?;
        let number = key.kind & !HAS_LEADER;
        let has_leader = key.kind & HAS_LEADER != 0;
        let kind = match server.layout.kind(number) {
            WORKER if has_leader => "parallel worker",
            kind => kind,
        };
        let is_client = postgres_activity::is_client(kind, has_leader);
        let state = server.layout.state(key.state);
        let (activity, class, event) = match (key.what, key.word) {
            // The first process waits for clients, and reports that nowhere.
            (OFF_CPU, 0) if kind.is_empty() => (activity::IDLE, "", "off CPU without an event".to_owned()),
            (OFF_CPU, 0 | UNREAD) => {
                let doing = Doing { kind, state, wait_type: "", event: "" };
                let activity = match postgres_activity::of(doing) {
                    activity::CPU => activity::OTHER,
                    activity => activity,
                };
                let event = if key.word == 0 { "off CPU without an event" } else { "event not readable" };
                (activity, "", event.to_owned())
            }
            (OFF_CPU, word) => {
                let (class, event) = server.events.name(word);
                let event = event.map_or_else(|| format!("event {}", word & 0x00ff_ffff), str::to_owned);
                (postgres_activity::of(Doing { kind, state, wait_type: class, event: &event }), class, event)
            }
            (RUN_QUEUE, _) => (activity::RUN_QUEUE, "CPU", activity::RUN_QUEUE.to_owned()),
            _ => (activity::CPU, "CPU", activity::CPU.to_owned()),
        };
        Some(Wait { server: key.server, is_client, activity, class: class.to_owned(), event })
    }

    fn name(&self, server: u32) -> String {
        self.servers.get(server as usize).map_or_else(|| "?".to_owned(), Found::name)
    }

    fn put(&self, waits: &BTreeMap<Wait, Spent>, tick: Tick, rows: &mut Rows) {
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return };
        for (wait, spent) in waits {
            rows.row(&c::TABLE, tick.t, dt)
                .str(c::server, self.name(wait.server).as_str())
                .str(c::wait_class, some(&wait.class))
                .str(c::wait_event, wait.event.as_str())
                .str(c::kind, kind(wait.is_client))
                .str(c::measured, "exact")
                .str(c::activity, wait.activity)
                .f64(c::waits_per_s, spent.waits as f64 / dt)
                .f64(c::time, spent.ns as f64 / 1e9 / dt)
                .f64(c::mean_ms, spent.mean_ms());
        }
        let mut longest: Vec<_> = waits.iter().filter(|(wait, _)| wait.activity != activity::IDLE).collect();
        longest.sort_by_key(|(_, spent)| Reverse(spent.ns));
        for (wait, spent) in longest.into_iter().take(DISTRIBUTIONS) {
            let server = self.name(wait.server);
            let labels = format!("server={server},kind={},wait={}:{}", kind(wait.is_client), wait.class, wait.event);
            let of = buckets::Of { name: "db_wait_us", labels: &labels, unit: "us", scale: 1e-3 };
            buckets::powers(of, &spent.powers, tick, rows);
        }
    }

    fn put_statements(&self, spent: &FxHashMap<Key, Spent>, tick: Tick, rows: &mut Rows) {
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return };
        let mut all: BTreeMap<(i64, Wait), Spent> = BTreeMap::new();
        for (key, spent) in spent.iter().filter(|(key, _)| key.query_id != 0) {
            let Some(wait) = self.wait(key).filter(|wait| activity::is_work(wait.activity)) else { continue };
            all.entry((key.query_id, wait)).or_default().add(spent);
        }
        let mut longest: Vec<_> = all.into_iter().collect();
        longest.sort_by_key(|(_, spent)| Reverse(spent.ns));
        for ((query_id, wait), spent) in longest.into_iter().take(STATEMENTS) {
            rows.row(&s::TABLE, tick.t, dt)
                .str(s::server, self.name(wait.server).as_str())
                .str(s::query_id, query_id.to_string().as_str())
                .str(s::wait_class, some(&wait.class))
                .str(s::wait_event, wait.event.as_str())
                .str(s::activity, wait.activity)
                .f64(s::waits_per_s, spent.waits as f64 / dt)
                .f64(s::time, spent.ns as f64 / 1e9 / dt)
                .f64(s::mean_ms, spent.mean_ms());
        }
    }
}

fn kind(is_client: bool) -> &'static str {
    if is_client { "client" } else { "background" }
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        for note in self.notes.drain(..) {
            rows.note("dbwait", None, &note);
        }
        let spent = self.spent()?;
        let mut waits: BTreeMap<Wait, Spent> = BTreeMap::new();
        for (key, spent) in &spent {
            if let Some(wait) = self.wait(key) {
                waits.entry(wait).or_default().add(spent);
            }
        }
        self.put(&waits, tick, rows);
        self.put_statements(&spent, tick, rows);
        if let Some(mut stacks) = self.stacks.take() {
            stacks.turn(tick, rows)?;
            for (key, spent) in spent.iter().filter(|(key, _)| key.pid != 0 && tick.dt.is_some()) {
                let Some(wait) = self.wait(key).filter(|wait| wait.activity != activity::IDLE) else { continue };
                let event = format!("{}:{}", wait.class, wait.event);
                stacks.put((key.pid, key.stack, key.user_stack), &event, (spent.waits, spent.ns), tick, rows);
            }
            self.stacks = Some(stacks);
        }
        self.looked += 1;
        if self.what.pids.is_empty() && self.looked.is_multiple_of(LOOK_EVERY) {
            self.look()?;
        }
        Ok(self.observing.report(tick, rows)?)
    }
}
