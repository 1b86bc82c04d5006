//! `cpu`: utilisation of each CPU, from /proc/stat.
//!
//! The kernel counts in ticks of 1/100 s. Percentages are shares of the ticks that the CPU itself
//! counted in the interval, so that a row adds up to 100 however late the sample came. At intervals
//! of some 10 ms a CPU has one tick or none, and a share is 0 or 100: average such rows over time.
//!
//! * The kernel counts a guest's time in `user` as well; here `usr` and `guest` exclude each other.
//! * `idle`, `iowait` and `steal` of some kernels step back a little; such a step counts as 0. Any
//!   other step back is a reset: the CPU's row is NULL for this interval, with an event.
//! * A CPU without any tick in an interval that had room for several slept all the time with its tick
//!   stopped: it is 100 % idle. In a shorter interval nothing is known and the row is NULL.
//! * Switches, migrations, faults, interrupts and the frequency come from other places, see `beside`.
//! * The row for all CPUs adds up the CPUs that were online at both ends of the interval. (The
//!   kernel's own sum jumps when a CPU goes offline.)

use fenxi_model::{Place, Row, Rows, catalog::cpu, place::F64};
use fenxi_procfs::{
    USER_HZ,
    cpu_ticks::{CpuTicks, GUEST, GUEST_NICE, IDLE, IOWAIT, N_STATES, NICE, STEAL, USER},
};

mod beside;
mod counted;
mod frequency;
mod interrupts;
mod values;

use self::beside::Beside;
use super::{
    keyed::Resets,
    scan::{lines, number, words},
};
use crate::{Collector, Counter, ProcFile, Root, Source, SourceError, Spec, Step, Take, Tick, Width};

/// The `cpu` source.
pub static SOURCE: Cpu = Cpu;

static SPEC: Spec = Spec {
    name: "cpu",
    summary: "how each CPU spent its time (user, system, iowait, idle …), switches, migrations, faults, interrupts",
    tables: &[&cpu::TABLE],
    take: Take::EveryTick,
    default: true,
    live: true,
};

/// Collects the `cpu` table.
pub struct Cpu;

impl Source for Cpu {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let stat = root.open("/proc/stat")?;
        let (all, beside) = (State::default(), Beside::new(root));
        Ok(Box::new(Cpus { stat, all, cpus: Vec::new(), beside, noted: false, begun: false }))
    }
}

/// A step back by at most so many ticks is the kernel's imprecision, not a reset.
const SMALL_STEP: u64 = 1000;
/// No counter that wraps goes on by so many ticks (1000 s) between two samples.
const LONG_STEP: u64 = 100_000;
/// In an interval with room for so many ticks a CPU that ran would have counted one.
const ROOM_FOR_TICKS: f64 = 5.0;
/// CPU numbers from here on are taken for damage; no kernel has so many.
const MAX_CPUS: usize = 1 << 16;

/// The column of each state.
const COLUMNS: [Place<cpu::Schema, F64>; N_STATES] = [
    cpu::usr,
    cpu::nice,
    cpu::sys,
    cpu::idle,
    cpu::iowait,
    cpu::irq,
    cpu::softirq,
    cpu::steal,
    cpu::guest,
    cpu::guest_nice,
];

/// A CPU's time by state in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spent {
    /// Nothing to compare with.
    First,
    /// Its counters went back.
    Reset,
    /// So many ticks in each state.
    Ticks(CpuTicks),
}

/// The number in the name of a `cpuN` line; None in the line for all CPUs.
fn parse_cpu(line: &[u8]) -> Option<usize> {
    words(line).next()?.strip_prefix(b"cpu").and_then(number).map(|n| n as usize)
}

/// One CPU from sample to sample.
#[derive(Debug, Default)]
struct State {
    name: Box<str>,
    online: bool,
    seen: bool,
    counters: [Counter; N_STATES],
    last: [u64; N_STATES],
    spent: Option<Spent>,
}

impl State {
    fn step(&mut self, now: CpuTicks, tick: Tick) -> Spent {
        let mut spent = Spent::Ticks(now);
        for i in 0..now.n {
            let was = std::mem::replace(&mut self.last[i], now.of[i]);
            let step = tick.step(&mut self.counters[i], now.of[i], Width::Bits32);
            let small = matches!(i, IDLE | IOWAIT | STEAL) && was.saturating_sub(now.of[i]) <= SMALL_STEP;
            // A wrap takes the counter on by little; anything else that went back is a reset.
            let step = if now.of[i] < was && matches!(step, Step::By(LONG_STEP..)) { Step::Reset } else { step };
            match (&mut spent, step) {
                (Spent::Ticks(ticks), Step::By(n)) => ticks.of[i] = n,
                (Spent::Ticks(ticks), Step::Reset) if small => ticks.of[i] = 0,
                (Spent::Ticks(_), Step::Reset) => spent = Spent::Reset,
                (Spent::Ticks(_), Step::First) => spent = Spent::First,
                _ => {}
            }
        }
        spent
    }
}

/// `sum` and what a CPU did.
fn add(sum: &mut CpuTicks, other: &CpuTicks) {
    sum.n = sum.n.max(other.n);
    sum.of.iter_mut().zip(other.of).for_each(|(sum, n)| *sum = sum.saturating_add(n));
}

/// The ticks with guests taken out of the states that contain them.
fn without_guests(mut ticks: CpuTicks) -> CpuTicks {
    for (guest, host) in [(GUEST, USER), (GUEST_NICE, NICE)] {
        ticks.of[guest] = ticks.of[guest].min(ticks.of[host]);
        ticks.of[host] -= ticks.of[guest];
    }
    ticks
}

fn fill(ticks: CpuTicks, row: &mut Row<'_, cpu::Schema>) {
    let total = ticks.total() as f64;
    if total > 0.0 {
        let shares = without_guests(ticks);
        for (column, n) in COLUMNS.iter().zip(shares.of).take(ticks.n) {
            row.f64(*column, n as f64 * 100.0 / total);
        }
    }
}

struct Cpus {
    stat: ProcFile,
    all: State,
    cpus: Vec<State>,
    beside: Beside,
    noted: bool,
    begun: bool,
}

impl Collector for Cpus {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let Cpus { stat, all, cpus, noted, begun, .. } = self;
        cpus.iter_mut().for_each(|c| c.seen = false);
        all.spent = None;
        // The lines of CPUs come first.
        for (i, line) in lines(stat.read()?).enumerate().take_while(|(_, line)| line.starts_with(b"cpu")) {
            let place = parse_cpu(line);
            let (Some(ticks), true) = (CpuTicks::parse(line), place.is_none_or(|n| n < MAX_CPUS)) else {
                if !std::mem::replace(noted, true) {
                    rows.note("/proc/stat", i as u64 + 1, "the line of a CPU has no numbers of ticks");
                }
                continue;
            };
            let state = match place {
                None => &mut *all,
                Some(place) => slot(cpus, place),
            };
            state.seen = true;
            if place.is_some() && !state.online {
                state.online = true;
                if *begun {
                    rows.event(tick.t, "appeared", &state.name, "the CPU went online");
                }
            }
            state.spent = Some(state.step(ticks, tick));
        }
        *begun = true;
        self.report_changes(tick, rows);
        self.beside.sample(online(&self.cpus), tick, rows);
        if let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) {
            self.add_rows(tick, dt, rows);
        }
        Ok(())
    }
}

/// The numbers of the CPUs that are online.
fn online(cpus: &[State]) -> impl Iterator<Item = usize> + Clone {
    cpus.iter().enumerate().filter(|(_, cpu)| cpu.online).map(|(n, _)| n)
}

/// The state of CPU `n`, made when it is seen for the first time.
fn slot(cpus: &mut Vec<State>, n: usize) -> &mut State {
    while cpus.len() <= n {
        let name = format!("cpu{}", cpus.len()).into();
        cpus.push(State { name, ..State::default() });
    }
    &mut cpus[n]
}

impl Cpus {
    /// Reports which CPUs went offline and whose counters went back.
    fn report_changes(&mut self, tick: Tick, rows: &mut Rows) {
        let mut resets = Resets::default();
        for cpu in &mut self.cpus {
            if cpu.online && !cpu.seen {
                rows.event(tick.t, "gone", &cpu.name, "the CPU went offline");
                *cpu = State { name: std::mem::take(&mut cpu.name), ..State::default() };
            } else if cpu.spent == Some(Spent::Reset) {
                resets.add(&cpu.name);
            }
        }
        resets.report("cpu", tick, rows);
    }

    fn add_rows(&self, tick: Tick, dt: f64, rows: &mut Rows) {
        let mut all = CpuTicks::default();
        let room = dt * USER_HZ as f64;
        for (n, state) in self.cpus.iter().enumerate().filter(|(_, c)| c.online) {
            let mut row = rows.row(&cpu::TABLE, tick.t, dt);
            row.str(cpu::cpu, &state.name["cpu".len()..]);
            self.beside.fill(n, &mut row);
            if let Some(Spent::Ticks(mut ticks)) = state.spent {
                if ticks.total() == 0 && room >= ROOM_FOR_TICKS {
                    ticks.of[IDLE] = room as u64;
                }
                fill(ticks, &mut row);
                add(&mut all, &ticks);
            }
        }
        // Without a line for each CPU (very old kernels with one) there is only the kernel's sum.
        if let (0, Some(Spent::Ticks(ticks))) = (all.n, self.all.spent) {
            all = ticks;
        }
        let mut row = rows.row(&cpu::TABLE, tick.t, dt);
        fill(all, &mut row);
        self.beside.fill_all(online(&self.cpus), &mut row);
    }
}

#[cfg(test)]
mod tests;
