//! Who uses the GPUs of AMD and Intel: descriptors of /dev/dri and their `fdinfo`.
//!
//! All descriptors of all processes are looked through every ten seconds, and those that were found at each sample: who opens a GPU
//! is seen ten seconds later at most.

use fenxi_model::{Micros, Rows, catalog::gpu_process};
use fenxi_procfs::Processes;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    drm::Card,
    engines::{Client, Engine, Work},
};
use crate::{Counter, Root, Step, Tick, Width};

/// How long what was found is good, less what a tick may come early.
const LOOK_AGAIN_US: i64 = 9_990_000;

pub(super) struct Users {
    root: Root,
    processes: Processes,
    /// Descriptors of GPUs: process and number.
    open: Vec<(u32, u32)>,
    looked: Option<Micros>,
    /// Whether all processes could be looked into.
    is_whole: bool,
    /// Counters of engines, by GPU, client and name.
    counters: FxHashMap<(String, u64, String), [Counter; 2]>,
}

/// Use of one GPU by one process in the interval.
#[derive(Default)]
struct Use {
    memory_bytes: Option<f64>,
    /// Shares of engines in percent, by name.
    engines: FxHashMap<String, (Work, f64)>,
}

impl Users {
    pub(super) fn new(root: &Root) -> Users {
        let (processes, counters) = (Processes::of(root), FxHashMap::default());
        Users { root: root.clone(), processes, open: Vec::new(), looked: None, is_whole: false, counters }
    }

    /// Adds a row for each process and GPU. Gives for each card how much of the time its engine for computing or graphics that was
    /// used most was in use, in percent; None where that is not known.
    pub(super) fn sample(&mut self, tick: Tick, cards: &[Card], rows: &mut Rows) -> Vec<Option<f64>> {
        if cards.is_empty() {
            return Vec::new();
        }
        if self.looked.is_none_or(|looked| !(0..LOOK_AGAIN_US).contains(&(tick.t.0 - looked.0))) {
            self.looked = Some(tick.t);
            self.look();
        }
        let seen = self.read(tick);
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0 && !tick.since_boot) else { return vec![None; cards.len()] };
        let mut totals: Vec<FxHashMap<&str, f64>> = cards.iter().map(|_| FxHashMap::default()).collect();
        for ((pid, pci), used) in &seen {
            let Some(place) = cards.iter().position(|card| card.pci.as_ref() == Some(pci)) else { continue };
            let share = |wanted: Work| {
                let of = used.engines.values().filter(|(work, _)| *work == wanted);
                of.map(|(_, share)| share.min(100.0)).reduce(f64::max)
            };
            for (name, (_, share)) in used.engines.iter().filter(|(_, (work, _))| *work == Work::Compute) {
                *totals[place].entry(name.as_str()).or_default() += share;
            }
            let comm = self.processes.comm(*pid);
            let mut row = rows.row(&gpu_process::TABLE, tick.t, dt);
            row.str(gpu_process::gpu, &*cards[place].name).i64(gpu_process::pid, i64::from(*pid));
            row.str(gpu_process::comm, comm.as_deref()).f64(gpu_process::memory_bytes, used.memory_bytes);
            row.f64(gpu_process::util, share(Work::Compute)).f64(gpu_process::copy_util, share(Work::Copy));
            row.f64(gpu_process::video_util, share(Work::Video));
        }
        let known = self.is_whole;
        let most = |engines: FxHashMap<&str, f64>| engines.into_values().fold(0.0, f64::max).min(100.0);
        totals.into_iter().map(|engines| known.then(|| most(engines))).collect()
    }

    /// Finds descriptors of GPUs.
    fn look(&mut self) {
        self.open.clear();
        self.is_whole = true;
        for pid in self.processes.pids() {
            let Ok(descriptors) = self.root.list(&format!("/proc/{pid}/fd")) else {
                // One that ended meanwhile is no matter.
                self.is_whole &= !self.processes.has(pid);
                continue;
            };
            for fd in descriptors.iter().filter_map(|(name, _)| name.to_str()?.parse::<u32>().ok()) {
                let target = self.root.read_link(&format!("/proc/{pid}/fd/{fd}"));
                if target.is_some_and(|target| target.starts_with("/dev/dri")) {
                    self.open.push((pid, fd));
                }
            }
        }
        self.open.sort_unstable();
    }

    /// Use of each GPU by each process since the last call, in the order of processes.
    fn read(&mut self, tick: Tick) -> Vec<((u32, String), Use)> {
        let mut clients = FxHashSet::default();
        let mut seen: Vec<((u32, String), Use)> = Vec::new();
        let mut alive = FxHashSet::default();
        for (pid, fd) in std::mem::take(&mut self.open) {
            let Some(text) = self.root.read_text(&format!("/proc/{pid}/fdinfo/{fd}")) else { continue };
            let Some(client) = Client::parse(&text) else { continue };
            self.open.push((pid, fd));
            // Several descriptors, also of several processes, can be of one client.
            if !clients.insert((client.pci.clone(), client.id)) {
                continue;
            }
            let key = (pid, client.pci.clone());
            let place = seen.iter().rposition(|(other, _)| *other == key).unwrap_or_else(|| {
                seen.push((key, Use::default()));
                seen.len() - 1
            });
            let used = &mut seen[place].1;
            if let Some(bytes) = client.memory_bytes {
                used.memory_bytes = Some(used.memory_bytes.unwrap_or(0.0) + bytes);
            }
            for engine in &client.engines {
                let key = (client.pci.clone(), client.id, engine.name.clone());
                let share = share(self.counters.entry(key.clone()).or_default(), engine, tick);
                alive.insert(key);
                if let Some(share) = share {
                    used.engines.entry(engine.name.clone()).or_insert((engine.work, 0.0)).1 += share;
                }
            }
        }
        self.counters.retain(|key, _| alive.contains(key));
        seen
    }
}

/// How much of the interval an engine was in use, in percent.
fn share(counters: &mut [Counter; 2], engine: &Engine, tick: Tick) -> Option<f64> {
    let [used, of] = counters;
    let used = tick.step(used, engine.used, Width::Bits64);
    let passed = match engine.of {
        Some(now) => match tick.step(of, now, Width::Bits64) {
            Step::By(cycles) => cycles as f64,
            Step::First | Step::Reset => return None,
        },
        None => tick.dt? * 1e9,
    };
    match used {
        Step::By(used) if passed > 0.0 => Some(100.0 * used as f64 / (passed * engine.capacity)),
        _ => None,
    }
}
