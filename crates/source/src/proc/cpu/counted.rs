//! Context switches, migrations and page faults of each CPU, by software counters of perf: one read per CPU and sample.
//!
//! A counter is a file descriptor. Where there is room for few of them only migrations are counted, which no other file
//! has; the host's switches and faults are in `sched` and `vm` all the same.

use std::io;

use fenxi_model::Rows;
use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};

use super::{
    frequency::{self, Actual},
    values::{FREQUENCY, MAJOR_FAULTS, MIGRATIONS, MINOR_FAULTS, SWITCHES, Values},
};
use crate::{
    Counter, Root, Step, Tick, Width,
    perf::{self, Event, Group},
};

/// Events that are counted on each CPU, the most important first, and their columns.
const EVENTS: [(Event, usize); 4] = [
    (perf::MIGRATIONS, MIGRATIONS),
    (perf::CONTEXT_SWITCHES, SWITCHES),
    (perf::MINOR_FAULTS, MINOR_FAULTS),
    (perf::MAJOR_FAULTS, MAJOR_FAULTS),
];

/// The counters of all CPUs.
#[derive(Debug)]
pub struct Counted {
    /// Events counted on each CPU: of [`EVENTS`] as many as there is room for, then the clocks.
    events: Vec<Event>,
    /// How many of [`EVENTS`] these are.
    n: usize,
    /// Whether the clocks follow.
    clocks: bool,
    /// By number of the CPU.
    cpus: Vec<Option<OfCpu>>,
    /// How many descriptors may be used; None: not known yet.
    planned: bool,
    /// Whether the kernel refused: it is not asked again.
    refused: bool,
    paranoid: Option<String>,
}

#[derive(Debug)]
struct OfCpu {
    group: Group,
    counters: [Counter; perf::MOST],
    seen: bool,
}

impl Counted {
    /// Nothing is counted before the first sample.
    pub fn new(root: &Root) -> Counted {
        let clocks = frequency::events(root);
        let events = EVENTS.iter().map(|(event, _)| *event).chain(clocks.into_iter().flatten()).collect();
        Counted {
            events,
            n: EVENTS.len(),
            clocks: clocks.is_some(),
            cpus: Vec::new(),
            planned: false,
            refused: false,
            paranoid: root.read_text("/proc/sys/kernel/perf_event_paranoid"),
        }
    }

    /// Sets the columns of all CPUs that are `online`.
    pub fn sample(
        &mut self,
        online: impl Iterator<Item = usize> + Clone,
        tick: Tick,
        rows: &mut Rows,
        values: &mut [Values],
    ) {
        if self.refused {
            return;
        }
        if !std::mem::replace(&mut self.planned, true) {
            self.plan(online.clone().count(), room(), rows);
        }
        self.cpus.iter_mut().flatten().for_each(|cpu| cpu.seen = false);
        for n in online {
            if self.cpus.len() <= n {
                self.cpus.resize_with(n + 1, || None);
            }
            if self.cpus[n].is_none() {
                match Group::on_cpu(n, &self.events) {
                    Ok(group) => self.cpus[n] = Some(OfCpu { group, counters: Default::default(), seen: true }),
                    // It went offline since /proc/stat was read.
                    Err(e) if e.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => continue,
                    Err(e) => return self.refuse(&e, rows),
                }
            }
            if let (Some(cpu), Some(values)) = (&mut self.cpus[n], values.get_mut(n)) {
                cpu.seen = true;
                cpu.fill(self.n, self.clocks, tick, values);
            }
        }
        // The kernel stops to count on a CPU that goes offline, also when it returns.
        self.cpus.iter_mut().filter(|cpu| cpu.as_ref().is_some_and(|cpu| !cpu.seen)).for_each(|cpu| *cpu = None);
    }

    /// Chooses what to count on so many CPUs with room for so many descriptors.
    fn plan(&mut self, n_cpus: usize, room: usize, rows: &mut Rows) {
        if n_cpus * self.events.len() <= room {
            return;
        }
        self.events.truncate(1);
        (self.n, self.clocks) = (1, false);
        let text = format!(
            "switches and faults are not counted by CPU: that takes {} open files; `ulimit -n {}` allows them",
            n_cpus * EVENTS.len(),
            (n_cpus * 16).next_power_of_two(),
        );
        rows.note("perf_event_open", None, &text);
    }

    fn refuse(&mut self, error: &io::Error, rows: &mut Rows) {
        // Descriptors that others need are given back.
        self.cpus.clear();
        self.refused = true;
        let may_not = [Errno::ACCESS, Errno::PERM].iter().any(|e| error.raw_os_error() == Some(e.raw_os_error()));
        let why = match &self.paranoid {
            Some(level) if may_not => format!(
                "perf_event_paranoid is {level}: root and CAP_PERFMON may, or everybody with `sysctl kernel.perf_event_paranoid=0`"
            ),
            _ => error.to_string(),
        };
        rows.note("perf_event_open", None, &format!("migrations, switches and faults are not counted by CPU: {why}"));
    }
}

/// How many descriptors may be used: half of those that this process may have.
fn room() -> usize {
    let soft = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(soft / 2).unwrap_or(usize::MAX)
}

impl OfCpu {
    fn fill(&mut self, n: usize, clocks: bool, tick: Tick, values: &mut Values) {
        let Ok(now) = self.group.read() else { return };
        let mut grown = [None; perf::MOST];
        for ((grown, counter), now) in grown.iter_mut().zip(&mut self.counters).zip(now) {
            // They count from when they were opened, never from the system's boot.
            if let Step::By(n) = counter.step(now, Width::Bits64) {
                *grown = Some(n);
            }
        }
        let Some(dt) = tick.dt.filter(|dt| *dt > 0.0 && !tick.since_boot) else { return };
        for ((_, place), grown) in EVENTS.iter().zip(grown).take(n) {
            values[*place] = grown.map(|n| n as f64 / dt);
        }
        if clocks && let [Some(actual), Some(maximum), Some(tsc)] = grown[n..n + 3] {
            values[FREQUENCY] = Actual { actual, maximum, tsc }.hz(dt);
        }
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::{Micros, Rows, catalog::note};

    use super::*;

    fn notes(rows: &Rows) -> Vec<String> {
        let Some(notes) = rows.of(&note::TABLE) else { return Vec::new() };
        (0..notes.n_rows()).filter_map(|row| notes.str(row, note::message).map(str::to_owned)).collect()
    }

    #[test]
    fn with_room_for_few_descriptors_only_migrations_are_counted_and_that_is_said() {
        let mut rows = Rows::new("test");
        let mut counted = Counted::new(&Root::live());
        counted.plan(100, 512, &mut rows);
        assert_eq!(notes(&rows), [] as [&str; 0]);
        counted.plan(256, 512, &mut rows);
        assert_eq!((counted.events.as_slice(), counted.n, counted.clocks), (&[perf::MIGRATIONS][..], 1, false));
        assert_eq!(
            notes(&rows),
            ["switches and faults are not counted by CPU: that takes 1024 open files; `ulimit -n 4096` allows them"]
        );
    }

    #[test]
    fn a_refusal_is_noted_once_and_leaves_nulls() {
        let mut rows = Rows::new("test");
        let mut counted = Counted { paranoid: Some("2".to_owned()), ..Counted::new(&Root::live()) };
        counted.refuse(&Errno::ACCESS.into(), &mut rows);
        let mut values = [Values::default(); 2];
        for t in [0, 1] {
            counted.sample(0..2, Tick::new(Micros(t), (t > 0).then_some(1.0)), &mut rows, &mut values);
        }
        assert_eq!(values, [Values::default(); 2]);
        let [note] = notes(&rows).try_into().unwrap();
        assert!(
            note.starts_with("migrations, switches and faults are not counted by CPU: perf_event_paranoid is 2: "),
            "{note}"
        );
    }
}
