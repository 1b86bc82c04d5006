//! `cpu_time`: CPU time by tick sampling and by the scheduler's own measurement, side by side.
//!
//! Most kernels find out who uses a CPU by looking at each tick of the timer; what begins after a tick
//! and ends before the next is not seen. The scheduler measures as well, each time a task leaves
//! the CPU. Of that measure there are, best first:
//!
//! * `cpuacct.usage_percpu` of the root control group (version 1): nanoseconds of all tasks that ever
//!   ran, at most one tick old. One file, whatever the number of tasks.
//! * the sum over all processes, ended ones included, as [`super::process`] finds it: for all CPUs
//!   together. Exact, but it costs as much as there are processes.
//! * `/proc/schedstat`, for each CPU: a task counts when it leaves the CPU, so one that never does shows
//!   late and all at once. Therefore it is not added up over CPUs.
//!
//! The `cpu.stat` of the root group of version 2 is none: it holds the ticks of /proc/stat again.

mod accounting;
mod cpu_run;
mod measured;

use fenxi_model::{Place, Row, Rows, catalog::cpu_time, place::F64};
use fenxi_procfs::TICK_NS;
use measured::Measured;

pub use accounting::{Accounting, AccountingKind, thread_ticks_ns, timer_tick_ns};
pub use cpu_run::{CpuRun, Measure};

use super::{
    keyed::Resets,
    scan::{lines, number, words},
};
use crate::{Collector, Counter, ProcFile, Root, Source, SourceError, Spec, Step, Take, Tick, Width};

/// The `cpu_time` source.
pub static SOURCE: CpuTime = CpuTime;

static SPEC: Spec = Spec {
    name: "cpu_time",
    summary: "CPU time by the clock tick and as measured by the scheduler",
    tables: &[&cpu_time::TABLE],
    take: Take::EveryTick,
    default: false,
    live: true,
};

/// Collects the `cpu_time` table.
pub struct CpuTime;

impl Source for CpuTime {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Times::new(root, Measured::find(root))?))
    }
}

impl CpuTime {
    /// Collects the table with another measure of what ran than /proc has.
    ///
    /// # Errors
    /// When /proc/stat cannot be read.
    pub fn measured_by(root: &Root, measure: Box<dyn Measure>) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Times::new(root, Measured::given(root, measure))?))
    }
}

/// A step back by at most so much is the kernel's imprecision, not a reset.
const SMALL_STEP_NS: u64 = 1000 * TICK_NS;
/// CPU numbers from here on are taken for damage; no kernel has so many.
const MAX_CPUS: usize = 1 << 16;

/// Accounts of a CPU, in the order of their columns.
const N_ACCOUNTS: usize = 8;
const TICK_ACCOUNTS: usize = 5;
const STEAL: usize = 3;
const IDLE: usize = 4;
const IDLE_STATES: usize = 5;
const RUN: usize = 6;
const TICK_RUN: usize = 7;
const COLUMNS: [Place<cpu_time::Schema, F64>; N_ACCOUNTS] = [
    cpu_time::usr_cpus,
    cpu_time::sys_cpus,
    cpu_time::irq_cpus,
    cpu_time::steal_cpus,
    cpu_time::idle_cpus,
    cpu_time::idle_states_cpus,
    cpu_time::run_cpus,
    cpu_time::tick_cpus,
];
const NAMES: [&str; N_ACCOUNTS] = ["usr", "sys", "irq", "steal", "idle", "idle_states", "run", "ticks"];
/// The account of each state of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
/// Guests are in user and nice already.
const ACCOUNT_OF: [usize; 8] = [0, 0, 1, IDLE, IDLE, 2, 2, STEAL];

/// Nanoseconds by account; None where the system does not report them.
type Amounts = [Option<u64>; N_ACCOUNTS];

/// The number and the ticks of a `cpuN` line of /proc/stat, as nanoseconds by account.
fn parse(line: &[u8]) -> Option<(usize, Amounts)> {
    let mut words = words(line);
    let cpu = number(words.next()?.strip_prefix(b"cpu")?)? as usize;
    let mut amounts = Amounts::default();
    for (account, word) in ACCOUNT_OF.iter().zip(words) {
        let sum = amounts[*account].unwrap_or(0).saturating_add(number(word)?.saturating_mul(TICK_NS));
        amounts[*account] = Some(sum);
    }
    (cpu < MAX_CPUS && amounts[IDLE].is_some()).then_some((cpu, amounts))
}

/// One CPU from sample to sample.
#[derive(Debug, Default)]
struct Cpu {
    name: Box<str>,
    online: bool,
    counters: [Counter; N_ACCOUNTS],
    last: Amounts,
    grown: Amounts,
}

impl Cpu {
    /// Starts from the accounts' current values; gives the one that was reset.
    fn step(&mut self, account: usize, now: Option<u64>, tick: Tick) -> Option<&'static str> {
        let was = std::mem::replace(&mut self.last[account], now);
        let Some(now) = now else {
            self.counters[account] = Counter::default();
            self.grown[account] = None;
            return None;
        };
        let small = matches!(account, STEAL | IDLE) && was.is_some_and(|was| was.saturating_sub(now) <= SMALL_STEP_NS);
        let step = tick.step(&mut self.counters[account], now, Width::Bits64);
        self.grown[account] = match step {
            Step::By(n) => Some(n),
            Step::Reset if small => Some(0),
            Step::Reset | Step::First => None,
        };
        (step == Step::Reset && !small).then_some(NAMES[account])
    }
}

struct Times {
    stat: ProcFile,
    measured: Measured,
    accounting: Accounting,
    cpus: Vec<Cpu>,
}

impl Collector for Times {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let mut resets = Resets::default();
        self.measured.read(tick, rows)?;
        self.take_ticks(tick, &mut resets)?;
        self.measured.read_idle_states();
        for (i, cpu) in self.cpus.iter_mut().enumerate().filter(|(_, cpu)| cpu.online) {
            let measured = [
                (RUN, self.measured.of_cpu(i)),
                (IDLE_STATES, self.measured.idle_states(i)),
                (TICK_RUN, self.measured.ticks_of_cpu(i)),
            ];
            for (account, now) in measured {
                if let Some(name) = cpu.step(account, now, tick) {
                    resets.add(format_args!("{name} of cpu{i}"));
                }
            }
        }
        resets.report("cpu_time", tick, rows);
        if let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) {
            self.add_rows(tick, dt, rows);
        }
        Ok(())
    }
}

impl Times {
    fn new(root: &Root, measured: Measured) -> Result<Times, SourceError> {
        let stat = root.open("/proc/stat")?;
        Ok(Times { stat, measured, accounting: Accounting::observe(root), cpus: Vec::new() })
    }

    /// Reads /proc/stat, whose lines of CPUs come first.
    fn take_ticks(&mut self, tick: Tick, resets: &mut Resets) -> Result<(), SourceError> {
        let Times { stat, measured, cpus, .. } = self;
        let mut next = 0;
        for line in lines(stat.read()?).take_while(|line| line.starts_with(b"cpu")) {
            let Some((place, now)) = parse(line) else { continue };
            while cpus.len() <= place {
                cpus.push(Cpu { name: cpus.len().to_string().into(), ..Cpu::default() });
            }
            forget(&mut cpus[next.min(place)..place]);
            next = place + 1;
            let cpu = &mut cpus[place];
            if !std::mem::replace(&mut cpu.online, true) {
                measured.watch_idle_states(place);
            }
            for (account, now) in now.into_iter().enumerate().take(TICK_ACCOUNTS) {
                if let Some(name) = cpu.step(account, now, tick) {
                    resets.add(format_args!("{name} of cpu{place}"));
                }
            }
        }
        forget(&mut cpus[next..]);
        Ok(())
    }

    fn add_rows(&self, tick: Tick, dt: f64, rows: &mut Rows) {
        let mut all = [Some(0); N_ACCOUNTS];
        for (i, cpu) in self.cpus.iter().enumerate().filter(|(_, cpu)| cpu.online) {
            let mut row = rows.row(&cpu_time::TABLE, tick.t, dt);
            row.str(cpu_time::cpu, &*cpu.name)
                .str(cpu_time::run_by, self.measured.by_cpu().filter(|_| cpu.grown[RUN].is_some()))
                .str(cpu_time::accounting, self.accounting.of_cpu(i).map(AccountingKind::name));
            fill(&cpu.grown, dt, &mut row);
            for (sum, grown) in all.iter_mut().zip(cpu.grown) {
                // A sum that leaves out a CPU would look like idleness.
                *sum = sum.and_then(|sum: u64| Some(sum.saturating_add(grown?)));
            }
        }
        if !self.cpus.iter().any(|cpu| cpu.online) {
            return;
        }
        let (by, run) = self.measured.of_all(all[RUN], dt);
        all[RUN] = run;
        let mut row = rows.row(&cpu_time::TABLE, tick.t, dt);
        row.str(cpu_time::run_by, by.filter(|_| run.is_some()));
        row.str(cpu_time::accounting, self.accounting.of_all(self.cpus.len()).map(AccountingKind::name));
        fill(&all, dt, &mut row);
    }
}

/// Forgets CPUs that are offline, so that they begin anew when they come back.
fn forget(cpus: &mut [Cpu]) {
    for cpu in cpus.iter_mut().filter(|cpu| cpu.online) {
        *cpu = Cpu { name: std::mem::take(&mut cpu.name), ..Cpu::default() };
    }
}

fn fill(grown: &Amounts, dt: f64, row: &mut Row<'_, cpu_time::Schema>) {
    for (column, ns) in COLUMNS.iter().zip(grown) {
        row.f64(*column, ns.map(|ns| ns as f64 / 1e9 / dt));
    }
}

#[cfg(test)]
mod tests;
