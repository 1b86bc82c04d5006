//! `softirq`: soft interrupts by kind and CPU, from /proc/softirqs.
//!
//! A pair of kind and CPU has a row only when it ran in this interval or in the one before: a fall
//! to zero is seen, and the many pairs that never run cost nothing. No row means zero.

use fenxi_model::{Rows, catalog::softirq};

use super::grid::Grid;
use crate::{Collector, ProcFile, Root, Source, SourceError, Spec, Take, Tick};

/// The `softirq` source.
pub static SOURCE: Softirq = Softirq;

static SPEC: Spec = Spec {
    name: "softirq",
    summary: "soft interrupts by kind and CPU (network, timers, block, scheduler, RCU)",
    tables: &[&softirq::TABLE],
    take: Take::EveryTick,
    default: true,
    live: false,
};

/// Collects the `softirq` table.
pub struct Softirq;

impl Source for Softirq {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(SoftInterrupts {
            file: root.open("/proc/softirqs")?,
            grid: Grid::new("/proc/softirqs", "softirq"),
        }))
    }
}

struct SoftInterrupts {
    file: ProcFile,
    grid: Grid,
}

impl Collector for SoftInterrupts {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.grid.sample(self.file.read()?, tick, rows, |rows, pair| {
            let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return };
            rows.row(&softirq::TABLE, tick.t, dt)
                .str(softirq::softirq, pair.label)
                .str(softirq::cpu, pair.cpu)
                .f64(softirq::softirqs_per_s, pair.grown.map(|n| n as f64 / dt));
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use crate::testing::{Machine, near, observe};

    #[test]
    fn two_captured_moments_give_rows_for_what_ran() {
        let seen = observe(&SOURCE, "softirq", 2.0);
        let value = |kind: &str, cpu: &str| seen.value("softirq", "softirqs_per_s", &[kind, cpu]);
        near(value("TIMER", "0"), (40_406 - 40_389) as f64 / 2.0);
        near(value("NET_RX", "1"), (7790 - 7642) as f64 / 2.0);
        near(value("BLOCK", "1"), (114_000 - 113_947) as f64 / 2.0);
        near(value("RCU", "1"), (61_060 - 60_997) as f64 / 2.0);
        assert!(!seen.has("softirq", &["NET_RX", "0"]), "it did not run there");
        assert_eq!(seen.count("softirq"), 2 + 1 + 1 + 2 + 2);
    }

    #[test]
    fn one_cpu_is_a_cpu_and_a_wrap_is_growth() {
        let machine = Machine::new();
        machine.put("/proc/softirqs", "       CPU0\n  HI: 4294967295\nTIMER: 5\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/softirqs", "       CPU0\n  HI: 3\nTIMER: 5\n");
        let seen = session.tick(0.5);
        assert_eq!(seen.keys("softirq"), [["HI", "0"]]);
        near(seen.value("softirq", "softirqs_per_s", &["HI", "0"]), 8.0);
    }
}
