//! `irq`: hard interrupts by line and CPU, from /proc/interrupts.
//!
//! A pair of interrupt and CPU has a row only when it fired in this interval or in the one before:
//! a fall to zero is seen, and the many pairs that never fire cost nothing. No row means zero.

use fenxi_model::{Rows, catalog::irq};
use fenxi_procfs::SharedFile;

use super::grid::Grid;
use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

/// The `irq` source.
pub static SOURCE: Irq = Irq;

static SPEC: Spec = Spec {
    name: "irq",
    summary: "hard interrupts by line and CPU",
    tables: &[&irq::TABLE],
    take: Take::EveryTick,
    default: true,
    live: false,
};

/// Collects the `irq` table.
pub struct Irq;

impl Source for Irq {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        // `cpu` adds up what is read here line by line.
        let file = root.open_shared("/proc/interrupts")?;
        Ok(Box::new(Interrupts { file, grid: Grid::new("/proc/interrupts", "irq") }))
    }
}

struct Interrupts {
    file: SharedFile,
    grid: Grid,
}

impl Collector for Interrupts {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let Interrupts { file, grid } = self;
        file.read_at(tick.t.0, |content| {
            grid.sample(content, tick, rows, |rows, pair| {
                let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) else { return };
                rows.row(&irq::TABLE, tick.t, dt)
                    .str(irq::irq, pair.label)
                    .str(irq::cpu, pair.cpu)
                    .str(irq::name, (!pair.about.is_empty()).then_some(pair.about))
                    .f64(irq::intr_per_s, pair.grown.map(|n| n as f64 / dt));
            });
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use crate::testing::{Machine, near, observe};

    #[test]
    fn two_captured_moments_give_rows_for_what_fired() {
        let seen = observe(&SOURCE, "irq", 2.0);
        let value = |irq: &str, cpu: &str| seen.value("irq", "intr_per_s", &[irq, cpu]);
        near(value("31", "1"), 0.5);
        near(value("36", "1"), (114_004 - 113_951) as f64 / 2.0);
        near(value("LOC", "0"), (186_707 - 186_635) as f64 / 2.0);
        near(value("LOC", "1"), (180_791 - 180_379) as f64 / 2.0);
        near(value("TLB", "1"), (38_015 - 38_001) as f64 / 2.0);
        assert_eq!(seen.count("irq"), 3 + 4 * 2);
        assert_eq!(seen.text("irq", "name", &["36", "1"]).unwrap(), "virtio1-req.0");
        assert_eq!(seen.text("irq", "name", &["RES", "0"]).unwrap(), "Rescheduling interrupts");
        assert!(seen.notes().is_empty() && seen.events().is_empty());
    }

    #[test]
    fn a_fall_to_zero_is_seen_once_and_silence_costs_nothing() {
        let machine = Machine::new();
        let file = |a, b| format!("      CPU0  CPU1\n 24: {a} {b}  PCI-MSI 5-edge      eth0, eth1\nERR: 3\n");
        machine.put("/proc/interrupts", file(10, 0));
        let mut session = machine.start(&SOURCE);
        let mut keys = |a, b| {
            session.machine.put("/proc/interrupts", file(a, b));
            session.tick(2.0).keys("irq")
        };
        assert!(keys(10, 0).is_empty());
        assert_eq!(keys(16, 0), [["24", "0"]]);
        assert_eq!(keys(16, 0), [["24", "0"]]);
        assert!(keys(16, 0).is_empty());
        assert_eq!(keys(16, 1), [["24", "1"]]);
    }

    #[test]
    fn a_sum_has_no_cpu_a_32_bit_counter_wraps_and_a_reset_is_null() {
        let machine = Machine::new();
        machine.put("/proc/interrupts", "  CPU0 CPU1\nLOC: 4294967290 9 Local timer interrupts\nERR: 3\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/interrupts", "  CPU0 CPU1\nLOC: 14 2 Local timer interrupts\nERR: 5\n");
        let seen = session.tick(2.0);
        near(seen.value("irq", "intr_per_s", &["LOC", "0"]), 10.0);
        near(seen.value("irq", "intr_per_s", &["ERR", ""]), 1.0);
        assert_eq!(seen.value("irq", "intr_per_s", &["LOC", "1"]), None);
        assert_eq!(seen.events(), ["counter reset irq: counter went back: LOC of CPU 1"]);
        assert_eq!(seen.text("irq", "name", &["LOC", "0"]).unwrap(), "Local timer interrupts");
        assert_eq!(seen.text("irq", "name", &["ERR", ""]), None);
    }

    #[test]
    fn columns_may_be_any_of_the_cpus_and_change() {
        let machine = Machine::new();
        machine.put("/proc/interrupts", "  CPU0 CPU2 CPU5\n1: 1 1 1 GICv3  23 Level     arch_timer\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/interrupts", "  CPU0 CPU5\n1: 2 3 GICv3  23 Level     arch_timer\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.keys("irq"), [["1", "0"], ["1", "5"]]);
        near(seen.value("irq", "intr_per_s", &["1", "5"]), 2.0);
        assert_eq!(seen.text("irq", "name", &["1", "0"]).unwrap(), "arch_timer");
        session.machine.put("/proc/interrupts", "  CPU0 CPU2 CPU5\n1: 3 900 3 GICv3  23 Level     arch_timer\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.keys("irq"), [["1", "0"], ["1", "5"]], "CPU 2 begins anew");
    }

    #[test]
    fn interrupts_that_come_and_go_do_not_disturb_their_neighbours() {
        let machine = Machine::new();
        machine.put("/proc/interrupts", "  CPU0\n1: 1 x  a\n2: 1 x  b\n3: 1 x  c\n");
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.put("/proc/interrupts", "  CPU0\n1: 2 x  a\n3: 3 x  c\n4: 7 x  d\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.keys("irq"), [["1", "0"], ["3", "0"]]);
        session.machine.put("/proc/interrupts", "  CPU0\n1: 2 x  a\n2: 9 x  e\n3: 3 x  c\n4: 8 x  d\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.keys("irq"), [["1", "0"], ["3", "0"], ["4", "0"]]);
        near(seen.value("irq", "intr_per_s", &["4", "0"]), 1.0);
        session.machine.put("/proc/interrupts", "  CPU0\n2: 10 x  e\n");
        let seen = session.tick(1.0);
        assert_eq!(seen.text("irq", "name", &["2", "0"]).unwrap(), "e");
    }
}
