//! Facts that a fence needs: interrupts and where they may go, a process and where it may run, groups of CPUs.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use fenxi_model::{Micros, Rows, catalog::irq, parse_cpus};
use fenxi_procfs::{Processes, Root, USER_HZ, cgroup, stat, status};
use fenxi_source::{SOURCES, SourceError, Tick};
use fs_err as fs;

use crate::Error;

/// CPUs by number.
pub type Cpus = BTreeSet<usize>;

/// A device's interrupt.
#[derive(Clone, Debug)]
pub struct Irq {
    /// Its number, as /proc/irq has it.
    pub number: u32,
    /// Who handles it; several share it when there is a comma.
    pub driver: String,
    /// Where it may go.
    pub allowed: Cpus,
    /// Where it goes; None when the system does not show it.
    pub effective: Option<Cpus>,
    /// Interrupts per second by CPU; None when that was not measured.
    pub per_s: Option<BTreeMap<usize, f64>>,
}

impl Irq {
    /// Where it goes, as far as is known.
    pub fn goes_to(&self) -> &Cpus {
        self.effective.as_ref().filter(|cpus| !cpus.is_empty()).unwrap_or(&self.allowed)
    }

    /// Interrupts per second on all CPUs.
    pub fn rate(&self) -> Option<f64> {
        Some(self.per_s.as_ref()?.values().fold(0.0, |sum, rate| sum + rate))
    }

    /// Interrupts per second on `cpus`.
    pub fn rate_on(&self, cpus: &Cpus) -> Option<f64> {
        Some(self.per_s.as_ref()?.iter().filter(|(cpu, _)| cpus.contains(cpu)).fold(0.0, |sum, (_, rate)| sum + rate))
    }
}

/// Every interrupt that a driver handles, without rates.
pub(crate) fn irqs(root: &Root) -> Result<Vec<Irq>, Error> {
    let mut irqs = Vec::new();
    for (name, _) in root.list("/proc/irq")? {
        let Some(number) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let list = |file: &str| parse_cpus(&root.read_text(&format!("/proc/irq/{number}/{file}"))?);
        // Each driver has a folder in that of its interrupt; without one it has no handler.
        let inner = root.list(&format!("/proc/irq/{number}"))?;
        let mut drivers: Vec<String> =
            inner.into_iter().filter_map(|(name, is_folder)| is_folder.then_some(name)?.into_string().ok()).collect();
        drivers.sort();
        if let (Some(allowed), false) = (list("smp_affinity_list"), drivers.is_empty()) {
            let effective = list("effective_affinity_list");
            irqs.push(Irq { number, driver: drivers.join(", "), allowed, effective, per_s: None });
        }
    }
    irqs.sort_by_key(|irq| irq.number);
    Ok(irqs)
}

/// A process that exists.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began, in ticks since boot: distinguishes it from a later one with the same number.
    pub began: u64,
    /// Its short name.
    pub command: String,
    /// Its threads, the first one first.
    pub threads: Vec<Thread>,
    /// CPUs that it kept busy while it was watched; None when it was not.
    pub busy: Option<f64>,
}

/// A thread of a process.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// CPUs where it may run.
    pub allowed: Cpus,
    /// The CPU it ran on last.
    pub ran_on: Option<usize>,
}

impl Process {
    /// Reads it.
    ///
    /// # Errors
    /// When there is none, or it ends meanwhile.
    pub(crate) fn find(root: &Root, pid: u32) -> Result<Process, Error> {
        let (stat, command) = stat::of_process(root, pid).ok_or(Error::NoProcess(pid))?;
        let tids = Processes::of(root).tids(pid);
        let mut threads: Vec<Thread> = tids.into_iter().filter_map(|tid| thread_of(root, pid, tid)).collect();
        threads.sort_by_key(|thread| (thread.tid != pid, thread.tid));
        if threads.is_empty() {
            return Err(Error::Ended(pid));
        }
        Ok(Process { pid, began: stat.start, command, threads, busy: None })
    }

    /// Where its threads may run, all of them together.
    pub fn allowed(&self) -> Cpus {
        self.threads.iter().flat_map(|thread| &thread.allowed).copied().collect()
    }

    /// Where its threads ran last.
    pub fn ran_on(&self) -> Cpus {
        self.threads.iter().filter_map(|thread| thread.ran_on).collect()
    }
}

fn thread_of(root: &Root, pid: u32, tid: u32) -> Option<Thread> {
    let folder = format!("/proc/{pid}/task/{tid}");
    let status = root.read_text(&format!("{folder}/status"))?;
    let list = status::value(&status, "Cpus_allowed_list")?;
    let ran_on = stat::of_thread(root, pid, tid).and_then(|(stat, _)| stat.last_cpu);
    Some(Thread { tid, allowed: parse_cpus(list)?, ran_on: ran_on.and_then(|cpu| usize::try_from(cpu).ok()) })
}

/// Watches the machine for `seconds`: rates of interrupts, and how busy the process is.
pub(crate) fn watch(root: &Root, seconds: f64, irqs: &mut [Irq], process: Option<&mut Process>) -> Result<(), Error> {
    let source = SOURCES.iter().find(|source| source.spec().name == "irq");
    let source = source.ok_or_else(|| SourceError::Refused("no source counts interrupts".to_owned()))?;
    let mut collector = source.start(root)?;
    let mut rows = Rows::new("");
    let pid = process.as_ref().map(|process| process.pid);
    let ticks = || stat::of_process(root, pid?).map(|(stat, _)| stat.ticks());
    let before = ticks();
    collector.sample(Tick::new(Micros(0), None), &mut rows)?;
    thread::sleep(Duration::from_secs_f64(seconds));
    collector.sample(Tick::new(Micros(1), Some(seconds)), &mut rows)?;
    if let (Some(process), Some(before), Some(after)) = (process, before, ticks()) {
        process.busy = Some(after.saturating_sub(before) as f64 / USER_HZ as f64 / seconds);
    }
    let mut rates: BTreeMap<(u32, usize), f64> = BTreeMap::new();
    if let Some(rows) = rows.of(&irq::TABLE) {
        for row in 0..rows.n_rows() {
            let number = |place| rows.str(row, place)?.parse().ok();
            let (Some(irq), Some(cpu)) = (number(irq::irq), number(irq::cpu)) else { continue };
            rates.insert((irq as u32, cpu), rows.f64(row, irq::intr_per_s).unwrap_or(0.0));
        }
    }
    for irq in irqs {
        let own = rates.range((irq.number, 0)..=(irq.number, usize::MAX));
        irq.per_s = Some(own.map(|((_, cpu), rate)| (*cpu, *rate)).collect());
    }
    Ok(())
}

/// Mechanism that keeps a process on some CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// A new group below its own in the `cpuset` hierarchy of version 1.
    Version1 {
        /// The folder of its group.
        own: PathBuf,
        /// The folder of the new one, within it.
        new: PathBuf,
    },
    /// Its own group of version 2, in which no other process is.
    Version2 {
        /// The folder of the group.
        own: PathBuf,
    },
    /// The affinity of its threads; why nothing better.
    Affinity {
        /// Why no cpuset can be used.
        why: String,
    },
}

impl Means {
    /// Finds the best that there is for `pid`.
    pub(crate) fn find(root: &Root, pid: u32) -> Means {
        let why = match (cgroup::folder_of(root, pid, "cpuset"), cgroup::folder_of(root, pid, "")) {
            (Some(own), _) if own.join("cpuset.cpus").exists() => {
                let new = own.join(format!("fenxi-fence-{pid}"));
                return Means::Version1 { own, new };
            }
            (_, Some(own)) if !own.join("cpuset.cpus").exists() => {
                "its cgroup has no cpuset controller (cgroup.subtree_control of the parent lacks it)"
            }
            (_, Some(own)) if members(&own) != [pid] => "its cgroup has other processes, which it would isolate too",
            (_, Some(own)) => return Means::Version2 { own },
            _ => "this system has no cpusets",
        };
        Means::Affinity { why: why.to_owned() }
    }
}

/// Processes in a control group.
pub(crate) fn members(group: &Path) -> Vec<u32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}
