//! The reading at each tick, and the rows made of it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use fenxi_model::{
    Micros, Rows, Unit,
    catalog::{preemption, query as c},
    statement::{Quotes, digest, hidden_of},
};
use fenxi_source::{Collector, SourceError, Tick};
use libbpf_rs::{MapCore, MapFlags, MapHandle, RingBuffer, RingBufferBuilder};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Querystat,
    servers::{Found, Places, Servers, find},
};
use crate::{
    EbpfError,
    buckets::{self, BUCKETS},
    bytes::Bytes,
    kernel::now_ns,
    observing::Observing,
    sums::Sums,
};

/// Of `enum wait` in C.
const WAITS: usize = 5;
/// Of `TEXT` in C.
const TEXT: usize = 512;
/// Bytes of `struct sums` in C.
const SUMS: usize = 8 * (2 + WAITS + 4);
/// Ticks between two looks for servers that have begun.
const LOOK_EVERY: u64 = 5;
/// Forms that are remembered at most.
const FORMS: usize = 65_536;
/// The name for statements beyond those that are distinguished.
const REST: &str = "(other statements: too many different ones, or their texts were not seen)";

/// Of `enum distribution` in C: name and label of each.
const DISTRIBUTIONS: [(&str, &str); 4] = [
    ("query latency", "preempted=no"),
    ("query latency", "preempted=yes"),
    ("query latency by query cache", "result=miss"),
    ("query latency by query cache", "result=hit"),
];

/// A statement's form and its digest.
#[derive(Clone)]
struct Statement {
    digest: String,
    text: String,
}

/// Sums of queries of one kind.
#[derive(Clone, Copy, Default)]
struct Total {
    queries: u64,
    elapsed_ns: u64,
    waited_ns: [u64; WAITS],
    longest_ns: u64,
}

impl Total {
    fn add(&mut self, more: &Total) {
        self.queries += more.queries;
        self.elapsed_ns += more.elapsed_ns;
        self.waited_ns.iter_mut().zip(more.waited_ns).for_each(|(sum, more)| *sum += more);
        self.longest_ns = self.longest_ns.max(more.longest_ns);
    }
}

pub(super) struct Observed {
    what: Querystat,
    observing: Observing,
    servers: Vec<Found>,
    /// How each of them writes texts, by its place.
    quotes: FxHashMap<u32, Quotes>,
    /// Processes that were tried already, whether or not they could be observed.
    tried: FxHashSet<u32>,
    /// Programs that are probed for all their processes: device and inode.
    probed: FxHashSet<(u64, u64)>,
    statements: FxHashMap<u64, Statement>,
    sums: Sums<{ 2 + WAITS }>,
    latencies: Sums<BUCKETS>,
    preemptors: Sums<2>,
    slow: RingBuffer<'static>,
    reported: Arc<Mutex<Vec<Vec<u8>>>>,
    maps: Maps,
    turn: u64,
    looked: u64,
    notes: Vec<String>,
}

struct Maps {
    servers: MapHandle,
    queries: MapHandle,
    latencies: MapHandle,
    forms: MapHandle,
    turn: MapHandle,
}

impl Observed {
    /// Attaches to the servers that run.
    ///
    /// # Errors
    /// When one that was asked for is not there or cannot be observed.
    pub fn begin(what: Querystat, observing: Observing) -> Result<Observed, EbpfError> {
        let map = |name: &str| observing.map(name);
        let (sums, latencies, preemptors) = (map("queries")?, map("latencies")?, map("preemptors")?);
        let maps = Maps {
            servers: map("servers")?,
            queries: map("queries")?,
            latencies: map("latencies")?,
            forms: map("forms")?,
            turn: map("turn")?,
        };
        let reported = Arc::new(Mutex::new(Vec::new()));
        let (slow, into) = (map("slow")?, Arc::clone(&reported));
        let failed = |source| EbpfError::Map { map: "slow".to_owned(), source };
        let mut builder = RingBufferBuilder::new();
        let keep = move |bytes: &[u8]| {
            into.lock().unwrap_or_else(PoisonError::into_inner).push(bytes.to_vec());
            0
        };
        builder.add(&slow, keep).map_err(failed)?;
        let slow = builder.build().map_err(failed)?;
        let mut observed = Observed {
            what,
            observing,
            servers: Vec::new(),
            quotes: FxHashMap::default(),
            tried: FxHashSet::default(),
            probed: FxHashSet::default(),
            statements: FxHashMap::default(),
            sums: Sums::new("queries", sums),
            latencies: Sums::new("latencies", latencies),
            preemptors: Sums::new("preemptors", preemptors),
            slow,
            reported,
            maps,
            turn: 0,
            looked: 0,
            notes: Vec::new(),
        };
        observed.begin_turn()?;
        observed.look()?;
        if observed.servers.is_empty() {
            match &observed.what.servers {
                Servers::Those { .. } => {
                    return Err(EbpfError::Target(
                        "no such database server runs here; -p names its process".to_owned(),
                    ));
                }
                _ => observed.notes.push("no database server runs here; one that begins will be observed".to_owned()),
            }
        }
        Ok(observed)
    }

    /// Looks for servers that are wanted and not observed yet.
    fn look(&mut self) -> Result<(), EbpfError> {
        let asked_for = matches!(self.what.servers, Servers::Processes(_));
        for server in find(&self.what.servers)? {
            if !self.tried.insert(server.pid) {
                continue;
            }
            match self.observe(&server) {
                Ok(notes) => {
                    self.notes.extend(notes.into_iter().map(|note| format!("{}: {note}", server.name)));
                    self.servers.push(server);
                }
                Err(error) if asked_for => return Err(error),
                Err(error) => self.notes.push(format!("{} is not observed: {error}", server.name)),
            }
        }
        self.make_room()
    }

    fn observe(&mut self, server: &Found) -> Result<Vec<String>, EbpfError> {
        let places = Places::find(&server.program)?;
        let target = |error: rustix::io::Errno| EbpfError::Target(format!("{}: {error}", server.program.display()));
        let stat = rustix::fs::stat(&server.program).map_err(target)?;
        let file = (stat.st_dev, stat.st_ino);
        let place = u32::try_from(self.servers.len()).unwrap_or(u32::MAX);
        self.quotes.insert(place, if places.for_all() { Quotes::Standard } else { Quotes::Backslash });
        let mut value = place.to_ne_bytes().to_vec();
        value.extend(u32::from(places.for_all()).to_ne_bytes());
        self.maps
            .servers
            .update(&server.pid.to_ne_bytes(), &value, MapFlags::ANY)
            .map_err(|source| EbpfError::Map { map: "servers".to_owned(), source })?;
        if places.for_all() && !self.probed.insert(file) {
            return Ok(Vec::new());
        }
        places.attach(self.observing.loaded(), &server.program, server.pid, self.what.cache)
    }

    /// Ensures that statements without their own place are counted: under the form 0, and in the distributions.
    fn make_room(&self) -> Result<(), EbpfError> {
        let zeros = |map: &MapHandle, size: usize| {
            let cpus = if map.map_type().is_percpu() { libbpf_rs::num_possible_cpus().unwrap_or(1) } else { 1 };
            vec![vec![0; size]; cpus]
        };
        let (sums, buckets) = (zeros(&self.maps.queries, SUMS), zeros(&self.maps.latencies, BUCKETS * 8));
        for server in 0..u32::try_from(self.servers.len()).unwrap_or(u32::MAX) {
            for preempted in 0..2u32 {
                let mut key = 0u64.to_ne_bytes().to_vec();
                key.extend(server.to_ne_bytes());
                key.extend(preempted.to_ne_bytes());
                add("queries", &self.maps.queries, &key, &sums)?;
            }
            for distribution in 0..DISTRIBUTIONS.len() as u32 {
                let mut key = server.to_ne_bytes().to_vec();
                key.extend(distribution.to_ne_bytes());
                add("latencies", &self.maps.latencies, &key, &buckets)?;
            }
        }
        Ok(())
    }

    /// Begins the next interval; returns the number of the one that has ended.
    fn begin_turn(&mut self) -> Result<u64, EbpfError> {
        self.turn += 1;
        self.maps
            .turn
            .update(&0u32.to_ne_bytes(), &self.turn.to_ne_bytes(), MapFlags::ANY)
            .map_err(|source| EbpfError::Map { map: "turn".to_owned(), source })?;
        Ok(self.turn - 1)
    }

    fn server(&self, place: u32) -> &str {
        self.servers.get(place as usize).map_or("?", |server| &server.name)
    }

    fn quotes(&self, place: u32) -> Quotes {
        self.quotes.get(&place).copied().unwrap_or(Quotes::Standard)
    }

    fn queries(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), EbpfError> {
        let turn = self.begin_turn()?;
        let mut found: Vec<(u64, u32, bool, Total)> = Vec::new();
        self.sums.added(|added| {
            let mut key = Bytes(added.key);
            let (form, server, preempted) = (key.u64(), key.u32(), key.u32() != 0);
            let [queries, elapsed_ns, waited_ns @ ..] = added.sums;
            let longest_ns = added.rest.iter().map(|rest| longest(rest, turn)).max().unwrap_or(0);
            found.push((form, server, preempted, Total { queries, elapsed_ns, waited_ns, longest_ns }));
        })?;
        if tick.dt.is_none() {
            return Ok(());
        }
        // By server and digest; without a digest all of the server.
        let mut totals: BTreeMap<(u32, Option<String>), (String, [Total; 2])> = BTreeMap::new();
        if self.statements.len() > FORMS {
            self.statements.clear();
        }
        for (form, server, preempted, total) in found {
            let statement = self.statement(form, server)?;
            let place = usize::from(preempted);
            let (text, of_digest) = totals.entry((server, Some(statement.digest))).or_default();
            *text = statement.text;
            of_digest[place].add(&total);
            totals.entry((server, None)).or_default().1[place].add(&total);
        }
        for ((server, digest), (text, [no, yes])) in totals {
            let mut all = no;
            all.add(&yes);
            for (preempted, total) in [(None, all), (Some("no"), no), (Some("yes"), yes)] {
                if total.queries > 0 {
                    let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
                    row.str(c::server, self.server(server));
                    row.str(c::digest, digest.as_deref());
                    row.str(c::preempted, preempted);
                    row.str(c::statement, digest.as_ref().map(|_| text.as_str()));
                    means(&mut row, &total);
                }
            }
        }
        Ok(())
    }

    fn statement(&mut self, number: u64, server: u32) -> Result<Statement, EbpfError> {
        if let Some(known) = self.statements.get(&number) {
            return Ok(known.clone());
        }
        let failed = |source| EbpfError::Map { map: "forms".to_owned(), source };
        let value = self.maps.forms.lookup(&number.to_ne_bytes(), MapFlags::ANY).map_err(failed)?;
        let text = value.map_or_else(
            || REST.to_owned(),
            |value| {
                let mut value = Bytes(&value);
                let (_, cut) = (value.u32(), value.u32() != 0);
                hidden_of(&value.text(TEXT), self.quotes(server), cut)
            },
        );
        let statement = Statement { digest: digest(&text), text };
        self.statements.insert(number, statement.clone());
        Ok(statement)
    }

    fn distributions(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), EbpfError> {
        let servers = &self.servers;
        self.latencies.added(|added| {
            if tick.dt.is_none() {
                return;
            }
            let mut key = Bytes(added.key);
            let (server, distribution) = (key.u32() as usize, key.u32() as usize);
            let Some((name, label)) = DISTRIBUTIONS.get(distribution) else { return };
            let labels = format!("server={},{label}", servers.get(server).map_or("?", |server| &server.name));
            let of = buckets::Of { name, labels: &labels, unit: "us", scale: 1e-3 };
            buckets::rows(of, &added.sums, tick, rows);
        })
    }

    fn preemptions(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), EbpfError> {
        let servers = &self.servers;
        self.preemptors.added(|added| {
            if tick.dt.is_none() {
                return;
            }
            let mut key = Bytes(added.key);
            let (server, pid, comm) = (key.u32() as usize, key.u32(), key.text(16));
            let [times, ns] = added.sums;
            let mut row = rows.row(&preemption::TABLE, tick.t, tick.dt);
            row.str(preemption::server, servers.get(server).map_or("?", |server| &server.name));
            row.str(preemption::by_comm, comm.as_str());
            row.i64(preemption::by_pid, i64::from(pid));
            row.f64(preemption::preemptions, times as f64);
            row.f64(preemption::waited_s, ns as f64 / 1e9);
        })
    }

    /// Each slow query is an event at the moment of its end.
    fn slow(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), EbpfError> {
        self.slow.consume().map_err(|source| EbpfError::Map { map: "slow".to_owned(), source })?;
        let reported = std::mem::take(&mut *self.reported.lock().unwrap_or_else(PoisonError::into_inner));
        let now_ns = now_ns().cast_signed();
        for value in reported {
            let mut value = Bytes(&value);
            let (begun, elapsed) = (value.u64(), value.u64());
            let waited: [u64; WAITS] = std::array::from_fn(|_| value.u64());
            let (server, thread, preemptions, length) = (value.u32(), value.u32(), value.u32(), value.u32());
            let is_cut = length as usize >= TEXT - 1;
            let text = hidden_of(&value.text(TEXT.min(length as usize)), self.quotes(server), is_cut);
            let ago_us = (now_ns - i64::try_from(begun + elapsed).unwrap_or(now_ns)) / 1000;
            let message = sentence(elapsed, &waited, thread, preemptions, &text);
            rows.event(Micros(tick.t.0 - ago_us.max(0)), "slow query", self.server(server), &message);
        }
        Ok(())
    }
}

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        for note in self.notes.drain(..) {
            rows.note("querystat", None, &note);
        }
        self.queries(tick, rows)?;
        self.distributions(tick, rows)?;
        self.preemptions(tick, rows)?;
        self.slow(tick, rows)?;
        self.looked += 1;
        let later = !matches!(self.what.servers, Servers::Processes(_));
        if later && self.looked.is_multiple_of(LOOK_EVERY) {
            self.look()?;
        } else {
            self.make_room()?;
        }
        Ok(self.observing.report(tick, rows)?)
    }
}

/// Adds a key that is not there.
fn add(name: &str, map: &MapHandle, key: &[u8], values: &[Vec<u8>]) -> Result<(), EbpfError> {
    match map.update_percpu(key, values, MapFlags::NO_EXIST) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == libbpf_rs::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(EbpfError::Map { map: name.to_owned(), source }),
    }
}

/// The longest of an interval as it follows the sums; 0 when a CPU had none in it.
fn longest(rest: &[u8], turn: u64) -> u64 {
    let mut rest = Bytes(rest);
    let (longest, of_turn) = ([rest.u64(), rest.u64()], [rest.u64(), rest.u64()]);
    let half = usize::from(turn % 2 == 1);
    if of_turn[half] == turn { longest[half] } else { 0 }
}

fn means(row: &mut fenxi_model::Row<'_, c::Schema>, total: &Total) {
    let us = |ns: u64| ns as f64 / 1e3 / total.queries as f64;
    let waited: u64 = total.waited_ns.iter().sum();
    let [run_queue, block_io, lock, network, other] = total.waited_ns;
    row.f64(c::queries, total.queries as f64);
    row.f64(c::mean_us, us(total.elapsed_ns));
    row.f64(c::max_us, (total.longest_ns > 0).then_some(total.longest_ns as f64 / 1e3));
    row.f64(c::cpu_us, us(total.elapsed_ns.saturating_sub(waited)));
    row.f64(c::run_queue_us, us(run_queue));
    row.f64(c::block_io_us, us(block_io));
    row.f64(c::lock_us, us(lock));
    row.f64(c::network_us, us(network));
    row.f64(c::other_us, us(other));
}

/// A slow query in words.
fn sentence(elapsed: u64, waited: &[u64; WAITS], thread: u32, preemptions: u32, text: &str) -> String {
    const NAMES: [&str; WAITS] = ["run queue", "block I/O", "lock", "network", "other wait"];
    let human = |ns: u64| Unit::Seconds.human(ns as f64 / 1e9).to_string();
    let on_cpu = elapsed.saturating_sub(waited.iter().sum());
    let mut parts = vec![format!("on CPU {}", human(on_cpu))];
    parts
        .extend(NAMES.iter().zip(waited).filter(|(_, ns)| **ns > 0).map(|(name, ns)| format!("{name} {}", human(*ns))));
    if preemptions > 0 {
        parts.push(format!("pre-empted {preemptions} times"));
    }
    format!("{} in thread {thread} ({}): {text}", human(elapsed), parts.join(", "))
}
