//! `pressure`: pressure stall information (PSI) from /proc/pressure.
//!
//! Shares come from the kernel's running totals of stalled microseconds, so they are exact for the
//! interval, unlike the kernel's own averages over 10, 60 and 300 seconds. What a kernel does not
//! offer (the `irq` file before 6.1, `full` of the CPU before 5.13) has no row or is NULL.

use fenxi_model::{Rows, catalog::pressure};

use super::{
    keyed::Resets,
    scan::{lines, number, words},
};
use crate::{Collector, Counter, ProcFile, Root, Source, SourceError, Spec, Step, Take, Tick, Width};

/// The `pressure` source.
pub static SOURCE: Pressure = Pressure;

static SPEC: Spec = Spec {
    name: "pressure",
    summary: "share of time in which tasks stalled for want of CPU, memory or I/O (PSI)",
    tables: &[&pressure::TABLE],
    take: Take::EveryTick,
    default: true,
    live: true,
};

/// Collects the `pressure` table.
pub struct Pressure;

impl Source for Pressure {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let resources = ["cpu", "memory", "io", "irq"];
        let open = |resource| {
            let mut file = root.open(&format!("/proc/pressure/{resource}")).ok()?;
            // With psi=0 on the kernel's command line the files exist but cannot be read.
            file.read().ok()?;
            Some(Resource { name: resource, file, some: Counter::default(), full: Counter::default() })
        };
        let resources: Vec<_> = resources.into_iter().filter_map(open).collect();
        if resources.is_empty() {
            let why = "the kernel is older than 4.20, built without CONFIG_PSI, or needs psi=1 on its command line";
            return Err(SourceError::Unavailable { what: "/proc/pressure", why: why.to_owned() });
        }
        Ok(Box::new(Stalls { resources }))
    }
}

struct Stalls {
    resources: Vec<Resource>,
}

struct Resource {
    name: &'static str,
    file: ProcFile,
    some: Counter,
    full: Counter,
}

/// Microseconds stalled since boot: some tasks, all tasks.
fn parse(text: &[u8]) -> (Option<u64>, Option<u64>) {
    let (mut some, mut full) = (None, None);
    for line in lines(text) {
        let mut words = words(line);
        let kind = words.next();
        let total = words.find_map(|w| number(w.strip_prefix(b"total=")?));
        match kind {
            Some(b"some") => some = total,
            Some(b"full") => full = total,
            _ => {}
        }
    }
    (some, full)
}

/// The share of the interval, in percent, in which the counter of microseconds ran.
fn share(counter: &mut Counter, now: Option<u64>, tick: Tick, name: &str, resets: &mut Resets) -> Option<f64> {
    let Some(now) = now else {
        *counter = Counter::default();
        return None;
    };
    match counter.step(now, Width::Bits64) {
        // The kernel's total and the recorder's clock are not read at exactly the same moment.
        Step::By(us) => tick.dt.map(|dt| (us as f64 / 1e4 / dt).min(100.0)),
        Step::First => None,
        Step::Reset => {
            resets.add(name);
            None
        }
    }
}

impl Collector for Stalls {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        for resource in &mut self.resources {
            let mut resets = Resets::default();
            let (some, full) = parse(resource.file.read()?);
            let some = share(&mut resource.some, some, tick, "some", &mut resets);
            let full = share(&mut resource.full, full, tick, "full", &mut resets);
            resets.report(resource.name, tick, rows);
            if let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) {
                rows.row(&pressure::TABLE, tick.t, dt)
                    .str(pressure::resource, resource.name)
                    .f64(pressure::some, some)
                    .f64(pressure::full, full);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use crate::{
        SourceError,
        testing::{Machine, near, observe},
    };

    #[test]
    fn shares_come_from_the_totals_of_two_captured_moments() {
        let seen = observe(&SOURCE, "pressure", 1.6);
        assert_eq!(seen.keys("pressure"), [["cpu"], ["memory"], ["io"]]);
        near(seen.value("pressure", "some", &["cpu"]), (85_551_946 - 85_549_385) as f64 / 1.6e6 * 100.0);
        near(seen.value("pressure", "some", &["io"]), (8_069_508 - 8_063_208) as f64 / 1.6e6 * 100.0);
        near(seen.value("pressure", "full", &["io"]), (6_696_594 - 6_690_393) as f64 / 1.6e6 * 100.0);
        near(seen.value("pressure", "some", &["memory"]), 0.0);
    }

    #[test]
    fn irq_has_only_full_and_a_share_is_never_above_100() {
        let machine = Machine::new();
        machine.put("/proc/pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=1002000\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.value("pressure", "full", &["irq"]), Some(100.0));
        assert_eq!(seen.value("pressure", "some", &["irq"]), None);
        session.machine.put("/proc/pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.value("pressure", "full", &["irq"]), None);
        assert_eq!(seen.events(), ["counter reset irq: counter went back: full"]);
    }

    #[test]
    fn a_kernel_without_psi_says_how_to_get_it() {
        let error = Machine::new().try_start(&SOURCE).err().unwrap();
        assert!(matches!(error, SourceError::Unavailable { .. }));
        assert!(error.to_string().contains("psi=1"), "{error}");
    }
}
