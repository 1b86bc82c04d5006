//! The best measure of CPU time that the system offers, and of idleness.

use std::sync::Arc;

use fenxi_model::{Rows, catalog::process};
use fenxi_procfs::{
    cgroup::version1,
    mountinfo::Mount,
    scan::{lines, next_number, number, words},
};

use super::cpu_run::{CpuRun, Measure};
use crate::{Collector, ProcFile, Root, Source, SourceError, Tick, proc::process::CpuTimes};

/// At most so many files of idle states are read: they cost a system call each.
const MAX_IDLE_FILES: usize = 512;
/// No processor has so many idle states.
const MAX_IDLE_STATES: usize = 16;

/// Measured time, nanoseconds since boot.
pub struct Measured {
    root: Root,
    /// A measure from another source; there is then none of the others.
    given: Option<Box<dyn Measure>>,
    given_cpus: Vec<Option<CpuRun>>,
    /// `cpuacct.usage_percpu` of the root control group.
    cpuacct: Option<ProcFile>,
    schedstat: Option<ProcFile>,
    /// Where neither of all tasks is known otherwise: the processes, and what they used.
    processes: Option<Processes>,
    cpus: Vec<Option<u64>>,
    idle: Vec<Vec<ProcFile>>,
    n_idle_files: usize,
    idle_states: Vec<Option<u64>>,
}

struct Processes {
    collector: Box<dyn Collector>,
    rows: Rows,
    /// CPU seconds per second in the interval.
    rate: Option<f64>,
}

impl Measured {
    /// Finds out what `root` offers.
    pub fn find(root: &Root) -> Measured {
        let cpuacct = open_cpuacct(root);
        let processes = if cpuacct.is_none() { Processes::start(root) } else { None };
        let schedstat = if cpuacct.is_none() { root.open("/proc/schedstat").ok() } else { None };
        Measured { cpuacct, schedstat, processes, ..Measured::nothing(root) }
    }

    /// Has `measure` say what ran.
    pub fn given(root: &Root, measure: Box<dyn Measure>) -> Measured {
        Measured { given: Some(measure), ..Measured::nothing(root) }
    }

    fn nothing(root: &Root) -> Measured {
        Measured {
            root: root.clone(),
            given: None,
            given_cpus: Vec::new(),
            cpuacct: None,
            schedstat: None,
            processes: None,
            cpus: Vec::new(),
            idle: Vec::new(),
            n_idle_files: 0,
            idle_states: Vec::new(),
        }
    }

    /// Begins to read the idle states of CPU `cpu`.
    pub fn watch_idle_states(&mut self, cpu: usize) {
        if self.idle.len() <= cpu {
            self.idle.resize_with(cpu + 1, Vec::new);
        }
        if !self.idle[cpu].is_empty() {
            return;
        }
        let files = (0..MAX_IDLE_STATES)
            .map_while(|n| self.root.open(&format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{n}/time")).ok());
        let files: Vec<_> = files.collect();
        if self.n_idle_files + files.len() <= MAX_IDLE_FILES {
            self.n_idle_files += files.len();
            self.idle[cpu] = files;
        }
    }

    /// Reads what tasks ran. What cannot be read is None.
    ///
    /// # Errors
    /// When a measure that was given fails.
    pub fn read(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.cpus.fill(None);
        if let Some(given) = &mut self.given {
            self.given_cpus.clear();
            given.read(tick, rows, &mut self.given_cpus)?;
            self.cpus.clear();
            self.cpus.extend(self.given_cpus.iter().map(|cpu| cpu.map(|given| given.run_ns)));
        }
        let cpus = &mut self.cpus;
        let mut set = |cpu: usize, ns: u64| {
            if cpu >= cpus.len() {
                cpus.resize(cpu + 1, None);
            }
            cpus[cpu] = Some(ns);
        };
        if let Some(Ok(text)) = self.cpuacct.as_mut().map(ProcFile::read) {
            let mut rest = text.trim_ascii_end();
            for cpu in 0.. {
                let Some((ns, after)) = next_number(rest) else { break };
                set(cpu, ns);
                rest = after;
            }
        }
        if let Some(Ok(text)) = self.schedstat.as_mut().map(ProcFile::read) {
            for (cpu, ns) in lines(text).filter_map(parse_run).take_while(|(cpu, _)| *cpu < super::MAX_CPUS) {
                set(cpu, ns);
            }
        }
        if let Some(processes) = &mut self.processes {
            processes.read(tick, rows);
        }
        Ok(())
    }

    /// Reads how long CPUs were in idle states.
    pub fn read_idle_states(&mut self) {
        self.idle_states.clear();
        for files in &mut self.idle {
            let micros = files
                .iter_mut()
                .try_fold(0_u64, |sum, file| Some(sum.saturating_add(number(file.read().ok()?.trim_ascii())?)));
            let some = !files.is_empty();
            self.idle_states.push(micros.filter(|_| some).map(|us| us.saturating_mul(1000)));
        }
    }

    /// CPU time of tasks on CPU `cpu`, in nanoseconds.
    pub fn of_cpu(&self, cpu: usize) -> Option<u64> {
        self.cpus.get(cpu).copied().flatten()
    }

    /// Ticks that found a task on CPU `cpu`, as nanoseconds.
    pub fn ticks_of_cpu(&self, cpu: usize) -> Option<u64> {
        self.given_cpus.get(cpu).copied().flatten()?.tick_ns
    }

    /// Time of CPU `cpu` in idle states, in nanoseconds.
    pub fn idle_states(&self, cpu: usize) -> Option<u64> {
        self.idle_states.get(cpu).copied().flatten()
    }

    /// Where the measure for each CPU comes from.
    pub fn by_cpu(&self) -> Option<&'static str> {
        if let Some(given) = &self.given {
            return Some(given.name());
        }
        match (&self.cpuacct, &self.schedstat) {
            (Some(_), _) => Some("cpuacct"),
            (None, Some(_)) => Some("schedstat"),
            (None, None) => None,
        }
    }

    /// Where the measure for all CPUs comes from, and the growth in the interval, of which `sum` is the
    /// part that CPUs have.
    pub fn of_all(&self, sum: Option<u64>, dt: f64) -> (Option<&'static str>, Option<u64>) {
        if let Some(given) = &self.given {
            return (Some(given.name()), sum);
        }
        match (&self.cpuacct, &self.processes) {
            (Some(_), _) => (Some("cpuacct"), sum),
            (None, Some(processes)) => (Some("processes"), processes.rate.map(|rate| (rate * dt * 1e9) as u64)),
            (None, None) => (None, None),
        }
    }
}

impl Processes {
    fn start(root: &Root) -> Option<Processes> {
        let collector = CpuTimes { selection: Arc::default(), threads: false }.start(root).ok()?;
        Some(Processes { collector, rows: Rows::new(""), rate: None })
    }

    fn read(&mut self, tick: Tick, rows: &mut Rows) {
        self.rate = None;
        // The use of processes since boot is not known: most of them have ended long ago.
        let tick = if tick.since_boot { Tick::new(tick.t, None) } else { tick };
        match self.collector.sample(tick, &mut self.rows) {
            Ok(()) if tick.dt.is_some() => self.rate = Some(total(&self.rows)),
            Ok(()) => {}
            Err(error) => rows.note("/proc", None, &error.to_string()),
        }
        self.rows.clear();
    }
}

/// CPU seconds per second of all processes, ended ones included.
fn total(rows: &Rows) -> f64 {
    let table = rows.of(&process::TABLE).into_iter();
    // Percent of one CPU.
    table.flat_map(|t| (0..t.n_rows()).filter_map(move |row| t.f64(row, process::cpu))).sum::<f64>() / 100.0
}

/// Opens the file of the group that holds all others: otherwise, as in a container, it covers a part.
fn open_cpuacct(root: &Root) -> Option<ProcFile> {
    let mountinfo = root.read("/proc/self/mountinfo").ok()?;
    version1(&mountinfo, "cpuacct").find_map(|Mount { point: folder, .. }| {
        // Only the root of a hierarchy has this file.
        root.exists(&format!("{folder}/release_agent")).then_some(())?;
        root.open(&format!("{folder}/cpuacct.usage_percpu")).ok()
    })
}

/// The CPU and the nanoseconds that tasks ran on it, from a `cpuN` line of /proc/schedstat.
fn parse_run(line: &[u8]) -> Option<(usize, u64)> {
    let mut words = words(line);
    let cpu = number(words.next()?.strip_prefix(b"cpu")?)?;
    Some((cpu as usize, number(words.nth(6)?)?))
}
