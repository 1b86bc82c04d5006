//! `sched`: run queue, load averages, context switches, forks and interrupts of the whole host, from
//! /proc/stat, /proc/loadavg and, where the kernel keeps it, /proc/schedstat.
//!
//! `runnable` does not count the reader itself, which always runs while it reads; vmstat and sar
//! take it off too.

use fenxi_model::{Rows, catalog::sched};

use super::{
    keyed::Resets,
    scan::{decimal, lines, number, words},
};
use crate::{Collector, Counter, ProcFile, Root, Source, SourceError, Spec, Step, Take, Tick, Width};

/// The `sched` source.
pub static SOURCE: Sched = Sched;

static SPEC: Spec = Spec {
    name: "sched",
    summary: "run queue, load averages, context switches, forks, interrupts",
    tables: &[&sched::TABLE],
    take: Take::EveryTick,
    default: true,
    live: true,
};

/// Collects the `sched` table.
pub struct Sched;

impl Source for Sched {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Scheduler {
            stat: root.open("/proc/stat")?,
            loadavg: root.open("/proc/loadavg").ok(),
            // Many kernels are built without it.
            schedstat: root.open("/proc/schedstat").ok(),
            switches: Counter::default(),
            forks: Counter::default(),
            interrupts: Counter::default(),
            waits: Vec::new(),
        }))
    }
}

struct Scheduler {
    stat: ProcFile,
    loadavg: Option<ProcFile>,
    schedstat: Option<ProcFile>,
    switches: Counter,
    forks: Counter,
    interrupts: Counter,
    /// Nanoseconds that tasks waited, by CPU, and whether the CPU was in the last sample.
    waits: Vec<(Counter, bool)>,
}

/// The fields of /proc/stat besides the CPUs' times.
#[derive(Debug, Default, PartialEq)]
struct Stat {
    cpus: u64,
    switches: Option<u64>,
    forks: Option<u64>,
    interrupts: Option<u64>,
    running: Option<u64>,
    blocked: Option<u64>,
}

fn parse_stat(text: &[u8]) -> Stat {
    let mut stat = Stat::default();
    for line in lines(text) {
        if line.starts_with(b"cpu") {
            stat.cpus += u64::from(line.get(3).is_some_and(u8::is_ascii_digit));
            continue;
        }
        let mut words = words(line);
        let field = match words.next() {
            Some(b"intr") => &mut stat.interrupts,
            Some(b"ctxt") => &mut stat.switches,
            Some(b"processes") => &mut stat.forks,
            Some(b"procs_running") => &mut stat.running,
            Some(b"procs_blocked") => &mut stat.blocked,
            _ => continue,
        };
        *field = words.next().and_then(number);
    }
    stat
}

/// The content of /proc/loadavg: `0.82 1.38 0.83 1/90 20743`.
#[derive(Debug, Default, PartialEq)]
struct Load {
    averages: [Option<f64>; 3],
    tasks: Option<u64>,
}

fn parse_loadavg(text: &[u8]) -> Load {
    let mut words = lines(text).next().into_iter().flat_map(words);
    let averages = std::array::from_fn(|_| words.next().and_then(decimal));
    let tasks = words.next().and_then(|w| number(w.split(|b| *b == b'/').nth(1)?));
    Load { averages, tasks }
}

/// The CPU and the nanoseconds that tasks waited for it, from a `cpuN` line of /proc/schedstat.
fn parse_wait(line: &[u8]) -> Option<(usize, u64)> {
    let mut words = words(line);
    let cpu = number(words.next()?.strip_prefix(b"cpu")?)?;
    Some((cpu as usize, number(words.nth(7)?)?))
}

impl Scheduler {
    /// Nanoseconds waited on all CPUs since the sample before; None when it is unknown.
    fn waited(&mut self, tick: Tick, resets: &mut Resets) -> Option<u64> {
        let text = self.schedstat.as_mut()?.read().ok()?;
        self.waits.iter_mut().for_each(|(_, seen)| *seen = false);
        let mut sum = None;
        for (cpu, wait) in lines(text).filter_map(parse_wait).take_while(|(cpu, _)| *cpu < 1 << 16) {
            if cpu >= self.waits.len() {
                self.waits.resize(cpu + 1, Default::default());
            }
            let (counter, seen) = &mut self.waits[cpu];
            *seen = true;
            match tick.step(counter, wait, Width::Bits64) {
                Step::By(n) => sum = Some(sum.unwrap_or(0_u64).saturating_add(n)),
                Step::Reset => resets.add(format_args!("run_delay of cpu{cpu}")),
                Step::First => {}
            }
        }
        // A CPU that comes back must not count the time it was away.
        self.waits.iter_mut().filter(|(_, seen)| !seen).for_each(|(counter, _)| *counter = Counter::default());
        sum
    }
}

/// Growth per second; a step back is added to `resets`.
fn rate(
    counter: &mut Counter,
    now: Option<u64>,
    width: Width,
    tick: Tick,
    name: &str,
    resets: &mut Resets,
) -> Option<f64> {
    let Some(now) = now else {
        *counter = Counter::default();
        return None;
    };
    match tick.step(counter, now, width) {
        Step::By(n) => tick.dt.map(|dt| n as f64 / dt),
        Step::First => None,
        Step::Reset => {
            resets.add(name);
            None
        }
    }
}

impl Collector for Scheduler {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let mut resets = Resets::default();
        let waited = self.waited(tick, &mut resets);
        let stat = parse_stat(self.stat.read()?);
        let load = match &mut self.loadavg {
            Some(file) => parse_loadavg(file.read()?),
            None => Load::default(),
        };
        let switches = rate(&mut self.switches, stat.switches, Width::Bits64, tick, "ctxt", &mut resets);
        // An unsigned long: 32 bits on 32-bit kernels.
        let forks = rate(&mut self.forks, stat.forks, Width::Bits32, tick, "processes", &mut resets);
        let interrupts = rate(&mut self.interrupts, stat.interrupts, Width::Bits64, tick, "intr", &mut resets);
        resets.report("sched", tick, rows);
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return Ok(()) };
        let count = |n: Option<u64>| n.map(|n| n as f64);
        rows.row(&sched::TABLE, tick.t, dt)
            .f64(sched::runnable, count(stat.running.map(|n| n.saturating_sub(1))))
            .f64(sched::blocked, count(stat.blocked))
            .f64(sched::tasks, count(load.tasks))
            .f64(sched::load1, load.averages[0])
            .f64(sched::load5, load.averages[1])
            .f64(sched::load15, load.averages[2])
            .f64(sched::context_switches_per_s, switches)
            .f64(sched::forks_per_s, forks)
            .f64(sched::intr_per_s, interrupts)
            .f64(sched::run_queue_wait, waited.map(|ns| ns as f64 / 1e9 / dt))
            .f64(sched::cpus_online, count((stat.cpus > 0).then_some(stat.cpus)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{SOURCE, parse_wait};
    use crate::testing::{Machine, near, observe};

    #[test]
    fn two_captured_moments_give_rates_and_gauges() {
        let seen = observe(&SOURCE, "sched", 2.0);
        let value = |column| seen.value("sched", column, &[]);
        near(value("context_switches_per_s"), (895_087 - 894_492) as f64 / 2.0);
        near(value("forks_per_s"), (20_800 - 20_743) as f64 / 2.0);
        near(value("intr_per_s"), (698_799 - 698_027) as f64 / 2.0);
        assert_eq!((value("runnable"), value("blocked"), value("tasks")), (Some(1.0), Some(0.0), Some(90.0)));
        assert_eq!((value("load1"), value("load5"), value("load15")), (Some(0.82), Some(1.38), Some(0.83)));
        assert_eq!(value("cpus_online"), Some(2.0));
        assert_eq!(value("run_queue_wait"), None, "this kernel keeps no schedstat");
    }

    #[test]
    fn waiting_for_a_cpu_is_the_eighth_number_of_schedstat_added_over_cpus() {
        let line = b"cpu0 0 0 9 8 7 6 5000 1200000000 44";
        assert_eq!(parse_wait(line), Some((0, 1_200_000_000)));
        let machine = Machine::new();
        machine.put("/proc/stat", "ctxt 5\n");
        machine.put(
            "/proc/schedstat",
            "version 15\ncpu0 0 0 0 0 0 0 5 1000000000 1\ndomain0 3 1 2\ncpu1 0 0 0 0 0 0 5 0 1\n",
        );
        let mut session = machine.start(&SOURCE);
        assert_eq!(session.tick(None).count("sched"), 0);
        session.machine.put("/proc/schedstat", "cpu0 0 0 0 0 0 0 5 2500000000 1\ncpu1 0 0 0 0 0 0 5 500000000 1\n");
        near(session.tick(4.0).value("sched", "run_queue_wait", &[]), 0.5);
        session.machine.put("/proc/schedstat", "cpu0 0 0 0 0 0 0 5 2500000000 1\n");
        near(session.tick(4.0).value("sched", "run_queue_wait", &[]), 0.0);
        session.machine.put("/proc/schedstat", "cpu0 0 0 0 0 0 0 5 2500000000 1\ncpu1 0 0 0 0 0 0 5 900000000000 1\n");
        near(session.tick(4.0).value("sched", "run_queue_wait", &[]), 0.0);
    }

    #[test]
    fn what_the_kernel_does_not_say_is_null_and_a_reset_is_an_event() {
        let machine = Machine::new();
        machine.put("/proc/stat", "ctxt 500\nprocesses 4294967290\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/stat", "ctxt 400\nprocesses 4\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.value("sched", "context_switches_per_s", &[]), None);
        near(seen.value("sched", "forks_per_s", &[]), 10.0);
        for column in ["runnable", "blocked", "tasks", "load1", "intr_per_s", "cpus_online"] {
            assert_eq!(seen.value("sched", column, &[]), None, "{column}");
        }
        assert_eq!(seen.events(), ["counter reset sched: counter went back: ctxt"]);
    }
}
