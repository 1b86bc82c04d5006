//! `cpu`: how each processor spent its time, from /proc/stat.
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
//! * The row for all CPUs adds up the CPUs that were online at both ends of the interval. (The
//!   kernel's own sum jumps when a CPU goes offline.)

use fenxi_model::{Row, Rows, catalog::cpu};

use super::{
    keyed::Resets,
    scan::{lines, number, words},
};
use crate::{Collector, Counter, ProcFile, Root, Source, SourceError, Spec, Step, Take, Tick, Width};

/// The `cpu` source.
pub static SOURCE: Cpu = Cpu;

static SPEC: Spec = Spec {
    name: "cpu",
    summary: "how each CPU spent its time (user, system, iowait, idle …)",
    tables: &[&cpu::TABLE],
    take: Take::EveryTick,
    default: true,
};

/// Collects the `cpu` table.
pub struct Cpu;

impl Source for Cpu {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let stat = root.open("/proc/stat")?;
        Ok(Box::new(Cpus { stat, all: State::default(), cpus: Vec::new(), noted: false, begun: false }))
    }
}

/// Ticks per second in /proc/stat (`USER_HZ`): 100 on every architecture that is still in use.
const TICKS_PER_S: f64 = 100.0;
/// A step back by at most so many ticks is the kernel's imprecision, not a reset.
const SMALL_STEP: u64 = 1000;
/// No counter that wraps goes on by so many ticks (1000 s) between two samples.
const LONG_STEP: u64 = 100_000;
/// In an interval with room for so many ticks a CPU that ran would have counted one.
const ROOM_FOR_TICKS: f64 = 5.0;
/// CPU numbers from here on are taken for damage; no kernel has so many.
const MAX_CPUS: usize = 1 << 16;

/// States in the order of /proc/stat.
const N_STATES: usize = 10;
const USER: usize = 0;
const NICE: usize = 1;
const IDLE: usize = 3;
const IOWAIT: usize = 4;
const STEAL: usize = 7;
const GUEST: usize = 8;
const GUEST_NICE: usize = 9;
/// The column of each state.
const COLUMNS: [usize; N_STATES] = [
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

/// Ticks per state: since boot, or in an interval. Only the first `n` states exist on this kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ticks {
    n: usize,
    of: [u64; N_STATES],
}

/// What a CPU did in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spent {
    /// Nothing to compare with.
    First,
    /// Its counters went back.
    Reset,
    /// So many ticks in each state.
    Ticks(Ticks),
}

/// The words of a `cpu` line after its name; None when it has fewer than four numbers.
fn parse(line: &[u8]) -> Option<Ticks> {
    let mut ticks = Ticks::default();
    for word in words(line).skip(1).take(N_STATES) {
        ticks.of[ticks.n] = number(word)?;
        ticks.n += 1;
    }
    (ticks.n > IDLE).then_some(ticks)
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
    fn step(&mut self, now: Ticks) -> Spent {
        let mut spent = Spent::Ticks(now);
        for i in 0..now.n {
            let was = std::mem::replace(&mut self.last[i], now.of[i]);
            let step = self.counters[i].step(now.of[i], Width::Bits32);
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

impl Ticks {
    fn total(&self) -> u64 {
        // Guests are in `user` and `nice` already.
        self.of[..GUEST].iter().sum()
    }

    fn add(&mut self, other: &Ticks) {
        self.n = self.n.max(other.n);
        self.of.iter_mut().zip(other.of).for_each(|(sum, n)| *sum += n);
    }

    /// The ticks with guests taken out of the states that contain them.
    fn without_guests(mut self) -> Ticks {
        for (guest, host) in [(GUEST, USER), (GUEST_NICE, NICE)] {
            self.of[guest] = self.of[guest].min(self.of[host]);
            self.of[host] -= self.of[guest];
        }
        self
    }

    fn fill(self, row: &mut Row<'_>) {
        let total = self.total() as f64;
        if total > 0.0 {
            let shares = self.without_guests();
            for (column, n) in COLUMNS.iter().zip(shares.of).take(self.n) {
                row.f64(*column, n as f64 * 100.0 / total);
            }
        }
    }
}

struct Cpus {
    stat: ProcFile,
    all: State,
    cpus: Vec<State>,
    noted: bool,
    begun: bool,
}

impl Collector for Cpus {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let Cpus { stat, all, cpus, noted, begun } = self;
        cpus.iter_mut().for_each(|c| c.seen = false);
        all.spent = None;
        // The lines of CPUs come first.
        for (i, line) in lines(stat.read()?).enumerate().take_while(|(_, line)| line.starts_with(b"cpu")) {
            let place = parse_cpu(line);
            let (Some(ticks), true) = (parse(line), place.is_none_or(|n| n < MAX_CPUS)) else {
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
            state.spent = Some(state.step(ticks));
        }
        *begun = true;
        self.told_changes(tick, rows);
        if let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) {
            self.add_rows(tick, dt, rows);
        }
        Ok(())
    }
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
    /// Tells which CPUs went offline and whose counters went back.
    fn told_changes(&mut self, tick: Tick, rows: &mut Rows) {
        let mut resets = Resets::default();
        for cpu in &mut self.cpus {
            if cpu.online && !cpu.seen {
                rows.event(tick.t, "gone", &cpu.name, "the CPU went offline");
                *cpu = State { name: std::mem::take(&mut cpu.name), ..State::default() };
            } else if cpu.spent == Some(Spent::Reset) {
                resets.add(&cpu.name);
            }
        }
        resets.tell("cpu", tick, rows);
    }

    fn add_rows(&self, tick: Tick, dt: f64, rows: &mut Rows) {
        let mut all = Ticks::default();
        let room = dt * TICKS_PER_S;
        for state in self.cpus.iter().filter(|c| c.online) {
            let mut row = rows.row(&cpu::TABLE, tick.t, dt);
            row.str(cpu::cpu, &state.name["cpu".len()..]);
            if let Some(Spent::Ticks(mut ticks)) = state.spent {
                if ticks.total() == 0 && room >= ROOM_FOR_TICKS {
                    ticks.of[IDLE] = room as u64;
                }
                ticks.fill(&mut row);
                all.add(&ticks);
            }
        }
        // Without a line for each CPU (very old kernels with one) there is only the kernel's sum.
        if let (0, Some(Spent::Ticks(ticks))) = (all.n, self.all.spent) {
            all = ticks;
        }
        all.fill(&mut rows.row(&cpu::TABLE, tick.t, dt));
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use crate::testing::{Machine, Observed, Session, near, observe};

    const STATES: [&str; 10] =
        ["usr", "nice", "sys", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

    fn sum(seen: &Observed, cpu: &str) -> f64 {
        STATES.iter().filter_map(|s| seen.value("cpu", s, &[cpu])).sum()
    }

    fn machine(stat: &str) -> Session {
        let machine = Machine::new();
        machine.put("/proc/stat", stat);
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session
    }

    fn next(session: &mut Session, stat: &str, dt: f64) -> Observed {
        session.machine.put("/proc/stat", stat);
        session.tick(dt)
    }

    #[test]
    fn two_captured_moments_give_shares_of_each_cpu_s_own_ticks() {
        let seen = observe(&SOURCE, "cpu", 1.6);
        assert_eq!(seen.keys("cpu"), [["0"], ["1"], [""]]);
        // cpu1: user +147, system +13, idle +3, iowait +1, softirq +1.
        let total = 147.0 + 13.0 + 3.0 + 1.0 + 1.0;
        near(seen.value("cpu", "usr", &["1"]), 147.0 * 100.0 / total);
        near(seen.value("cpu", "sys", &["1"]), 13.0 * 100.0 / total);
        near(seen.value("cpu", "iowait", &["1"]), 100.0 / total);
        near(seen.value("cpu", "softirq", &["1"]), 100.0 / total);
        // cpu0: user +1, system +3, idle +159; both together: user 148 of 328.
        near(seen.value("cpu", "idle", &["0"]), 159.0 * 100.0 / 163.0);
        near(seen.value("cpu", "usr", &[""]), 148.0 * 100.0 / (163.0 + total));
        near(Some(sum(&seen, "0")), 100.0);
        near(Some(sum(&seen, "")), 100.0);
        assert!(seen.notes().is_empty() && seen.events().is_empty());
    }

    #[test]
    fn a_guest_is_not_counted_twice() {
        let mut session = machine("cpu0 100 100 0 100 0 0 0 0 50 50\n");
        let seen = next(&mut session, "cpu0 140 120 0 140 0 0 0 0 80 60\n", 1.0);
        let all: Vec<_> = STATES.iter().map(|s| seen.value("cpu", s, &["0"]).unwrap()).collect();
        assert_eq!(all, [10.0, 10.0, 0.0, 40.0, 0.0, 0.0, 0.0, 0.0, 30.0, 10.0]);
    }

    #[test]
    fn idle_and_iowait_may_step_back_a_little_but_not_far() {
        let mut session = machine("cpu0 0 0 0 1000 500 0 0 0 0 0\ncpu1 0 0 0 9000 0 0 0 0 0 0\n");
        let seen = next(&mut session, "cpu0 50 0 0 1050 498 0 0 0 0 0\ncpu1 10 0 0 10 0 0 0 0 0 0\n", 1.0);
        assert_eq!(seen.value("cpu", "usr", &["0"]), Some(50.0));
        assert_eq!(seen.value("cpu", "iowait", &["0"]), Some(0.0));
        assert_eq!(seen.value("cpu", "usr", &["1"]), None);
        assert_eq!(seen.value("cpu", "usr", &[""]), Some(50.0), "only what is known is added up");
        assert_eq!(seen.events(), ["counter reset cpu: counter went back: cpu1"]);
        let seen = next(&mut session, "cpu0 50 0 0 1150 498 0 0 0 0 0\ncpu1 60 0 0 60 0 0 0 0 0 0\n", 1.0);
        assert_eq!(seen.value("cpu", "usr", &["1"]), Some(50.0));
        assert!(seen.events().is_empty());
    }

    #[test]
    fn ticks_of_32_bits_wrap() {
        let mut session = machine("cpu0 4294967270 0 0 0\n");
        let seen = next(&mut session, "cpu0 4 0 0 70\n", 1.0);
        assert_eq!(seen.value("cpu", "usr", &["0"]), Some(30.0));
        assert_eq!(seen.value("cpu", "iowait", &["0"]), None, "a kernel with four states");
    }

    #[test]
    fn a_cpu_that_was_off_and_on_between_two_samples_is_no_wrap() {
        let mut session = machine("cpu0 5 0 0 3000000000\n");
        let seen = next(&mut session, "cpu0 6 0 0 12\n", 1.0);
        assert_eq!(seen.value("cpu", "idle", &["0"]), None);
        assert_eq!(seen.events(), ["counter reset cpu: counter went back: cpu0"]);
    }

    #[test]
    fn a_cpu_that_goes_offline_and_returns_gives_events_and_no_bogus_shares() {
        let both = |a, b| format!("cpu {a} 0 0 0\ncpu0 {a} 0 0 {a}\ncpu1 {b} 0 0 0\nintr 5\n");
        let mut session = machine(&both(100, 100));
        let seen = next(&mut session, "cpu 0 0 0 0\ncpu0 150 0 0 150\nintr 5\n", 1.0);
        assert_eq!(seen.keys("cpu"), [["0"], [""]]);
        assert_eq!(seen.value("cpu", "usr", &[""]), Some(50.0), "the kernel's own sum went back");
        assert_eq!(seen.events(), ["gone cpu1: the CPU went offline"]);
        let seen = next(&mut session, &both(200, 7), 1.0);
        assert_eq!(seen.value("cpu", "usr", &["1"]), None);
        assert_eq!(seen.value("cpu", "usr", &[""]), Some(50.0));
        assert_eq!(seen.events(), ["appeared cpu1: the CPU went online"]);
        let seen = next(&mut session, &both(200, 107), 1.0);
        assert_eq!(seen.value("cpu", "usr", &["1"]), Some(100.0));
        assert!(seen.events().is_empty());
    }

    #[test]
    fn a_cpu_without_ticks_slept_when_there_was_room_for_some() {
        let mut session = machine("cpu0 100 0 0 100\ncpu1 100 0 0 100\n");
        let seen = next(&mut session, "cpu0 200 0 0 100\ncpu1 100 0 0 100\n", 1.0);
        assert_eq!((seen.value("cpu", "idle", &["1"]), seen.value("cpu", "usr", &["1"])), (Some(100.0), Some(0.0)));
        assert_eq!(seen.value("cpu", "idle", &[""]), Some(50.0));
        let seen = next(&mut session, "cpu0 201 0 0 100\ncpu1 100 0 0 100\n", 0.01);
        assert_eq!(seen.value("cpu", "idle", &["1"]), None);
        assert_eq!(seen.value("cpu", "usr", &[""]), Some(100.0));
    }

    #[test]
    fn a_machine_of_1024_cpus_is_read_whole() {
        let stat = |n: u64| {
            let line = |i: u64| format!("cpu{i} {} 0 {} {} 0 0 0 0 0 0\n", n * i, n * (1024 - i), n * 1024);
            let mut text = "cpu  0 0 0 0 0 0 0 0 0 0\n".to_owned();
            text.extend((0..1024).map(line));
            text + "intr 99 0 0\n"
        };
        let mut session = machine(&stat(1));
        let seen = next(&mut session, &stat(3), 1.0);
        assert_eq!(seen.count("cpu"), 1025);
        near(seen.value("cpu", "usr", &["512"]), 25.0);
        near(seen.value("cpu", "sys", &["0"]), 50.0);
        near(seen.value("cpu", "idle", &[""]), 50.0);
        near(seen.value("cpu", "usr", &[""]), 100.0 * (1023.0 / 2.0) / 2048.0);
    }

    #[test]
    fn a_damaged_line_is_noted_once() {
        let mut session = machine("cpu0 1 2 3 4\ncpu1 1 x 3 4\n");
        let seen = next(&mut session, "cpu0 2 2 3 4\ncpu1 1 x 3 4\n", 1.0);
        assert_eq!(seen.keys("cpu"), [["0"], [""]]);
        assert!(seen.notes().is_empty(), "told at the first sample");
    }
}
