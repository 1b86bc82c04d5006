//! `cpu_idle`: how long CPUs were in each of their idle states (C-states), and how often they entered it, from cpuidle in /sys.
//!
//! A deep state saves energy and takes long to leave: on a machine that has little to do each request pays for that. States of all
//! CPUs are added up, as a machine of 128 CPUs has some 500 of them; files are opened at each sample, not to hold as many.

use fenxi_model::{Rows, catalog::cpu_idle};
use fenxi_procfs::online_cpus;

use crate::{Collector, Counter, Root, Source, SourceError, Spec, Step, Take, Tick, Width};

/// The `cpu_idle` source.
pub static SOURCE: CpuIdle = CpuIdle;

static SPEC: Spec = Spec {
    name: "cpu_idle",
    summary: "idle states of CPUs (C-states): residency, entries, exit latency (cpuidle)",
    tables: &[&cpu_idle::TABLE],
    take: Take::EveryTick,
    default: false,
    live: true,
};

/// Collects the `cpu_idle` table.
pub struct CpuIdle;

const CPUS: &str = "/sys/devices/system/cpu";
/// No driver has more states.
const MAX_STATES: usize = 16;
/// Counters of a state: microseconds in it, entries, entries that ended too early for it, and that could have been of a deeper one.
const FILES: [&str; 4] = ["time", "usage", "above", "below"];

impl Source for CpuIdle {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let cpus: Vec<usize> = online_cpus(root).unwrap_or_default().into_iter().collect();
        let states: Vec<State> =
            (0..MAX_STATES).map_while(|n| State::of(root, *cpus.first()?, n, cpus.len())).collect();
        if states.is_empty() {
            let why = "the kernel lists none of these CPUs (in a virtual machine the host has them)".to_owned();
            return Err(SourceError::Unavailable { what: "a list of idle states", why });
        }
        Ok(Box::new(Idle { root: root.clone(), cpus, states }))
    }
}

struct State {
    name: String,
    /// Microseconds that leaving it takes, at most.
    exit_us: Option<f64>,
    /// Of each CPU, in the order of [`FILES`].
    counters: Vec<[Counter; FILES.len()]>,
}

impl State {
    fn of(root: &Root, cpu: usize, n: usize, cpus: usize) -> Option<State> {
        let folder = format!("{CPUS}/cpu{cpu}/cpuidle/state{n}");
        let name = root.read_text(&format!("{folder}/name"))?;
        let exit_us = root.read_text(&format!("{folder}/latency")).and_then(|text| text.parse().ok());
        let counters = std::iter::repeat_with(Default::default).take(cpus).collect();
        Some(State { name, exit_us, counters })
    }
}

struct Idle {
    root: Root,
    cpus: Vec<usize>,
    states: Vec<State>,
}

impl Collector for Idle {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        for (n, state) in self.states.iter_mut().enumerate() {
            // Those of the CPUs that were there at both ends.
            let (mut sums, mut seen) = ([0.0; FILES.len()], 0_usize);
            for (cpu, counters) in self.cpus.iter().zip(&mut state.counters) {
                let mut steps = [None; FILES.len()];
                for ((file, counter), step) in FILES.iter().zip(counters).zip(&mut steps) {
                    let path = format!("{CPUS}/cpu{cpu}/cpuidle/state{n}/{file}");
                    let now = self.root.read_text(&path).and_then(|text| text.parse().ok());
                    if let Some(Step::By(by)) = now.map(|now| tick.step(counter, now, Width::Bits64)) {
                        *step = Some(by as f64);
                    }
                }
                if let [Some(time), Some(usage), above, below] = steps {
                    seen += 1;
                    let steps = [time, usage, above.unwrap_or(f64::NAN), below.unwrap_or(f64::NAN)];
                    sums.iter_mut().zip(steps).for_each(|(sum, step)| *sum += step);
                }
            }
            let Some(dt) = tick.dt.filter(|dt| *dt > 0.0 && seen > 0) else { continue };
            let [time_us, entries, above, below] = sums;
            let share = |part: f64| (entries > 0.0 && part.is_finite()).then(|| 100.0 * part / entries);
            let mut row = rows.row(&cpu_idle::TABLE, tick.t, dt);
            // A stay that began before the interval counts in the one in which it ends.
            let residency = (100.0 * time_us / (1e6 * dt * seen as f64)).min(100.0);
            row.str(cpu_idle::state, state.name.as_str()).f64(cpu_idle::residency, residency);
            row.f64(cpu_idle::entries_per_s, entries / dt).f64(cpu_idle::exit_latency_us, state.exit_us);
            row.f64(cpu_idle::mean_us, (entries > 0.0).then(|| time_us / entries));
            row.f64(cpu_idle::too_deep, share(above)).f64(cpu_idle::too_shallow, share(below));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use crate::testing::{Machine, near};

    fn put(machine: &Machine, cpu: u32, n: u32, name: &str, numbers: [u64; 4]) {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{n}");
        machine.put(&format!("{folder}/name"), name).put(&format!("{folder}/latency"), format!("{}\n", 133 * n));
        for (file, number) in ["time", "usage", "above", "below"].iter().zip(numbers) {
            machine.put(&format!("{folder}/{file}"), format!("{number}\n"));
        }
    }

    #[test]
    fn residency_is_the_share_of_the_time_of_all_cpus() {
        let machine = Machine::new();
        machine.put("/sys/devices/system/cpu/online", "0-1\n");
        for cpu in [0, 1] {
            put(&machine, cpu, 0, "POLL", [0, 0, 0, 0]);
            put(&machine, cpu, 1, "C6", [5_000_000, 1000, 10, 0]);
        }
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        put(&session.machine, 0, 1, "C6", [6_000_000, 1400, 110, 0]);
        put(&session.machine, 1, 1, "C6", [5_500_000, 1100, 10, 0]);
        let seen = session.tick(Some(2.0));
        // 1.5 s of 2 × 2 s; 500 entries in 2 s, of which 100 were too short.
        let value = |column: &str| seen.value("cpu_idle", column, &["C6"]);
        near(value("residency"), 37.5);
        near(value("entries_per_s"), 250.0);
        near(value("mean_us"), 3000.0);
        near(value("exit_latency_us"), 133.0);
        near(value("too_deep"), 20.0);
        near(value("too_shallow"), 0.0);
        near(seen.value("cpu_idle", "residency", &["POLL"]), 0.0);
        assert_eq!(seen.value("cpu_idle", "mean_us", &["POLL"]), None);
    }

    #[test]
    fn a_machine_without_idle_states_says_so() {
        let machine = Machine::new();
        machine.put("/sys/devices/system/cpu/online", "0\n");
        let refused = crate::Source::start(&SOURCE, &machine.root()).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|why| why.contains("idle states")));
    }
}
