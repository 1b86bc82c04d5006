//! The columns of mpstat in all its versions.

use fenxi_model::{Place, catalog::cpu, place::F64};

use crate::{Field, col};

/// Columns of the CPU report. The topology of `-T` is the same in every report.
pub(in super::super) const CPU: &[Field] = &[
    col("%usr", &cpu::TABLE, cpu::usr),
    col("%user", &cpu::TABLE, cpu::usr),
    col("%nice", &cpu::TABLE, cpu::nice),
    col("%sys", &cpu::TABLE, cpu::sys),
    col("%system", &cpu::TABLE, cpu::sys),
    col("%iowait", &cpu::TABLE, cpu::iowait),
    col("%irq", &cpu::TABLE, cpu::irq),
    col("%soft", &cpu::TABLE, cpu::softirq),
    col("%steal", &cpu::TABLE, cpu::steal),
    col("%guest", &cpu::TABLE, cpu::guest),
    col("%gnice", &cpu::TABLE, cpu::guest_nice),
    col("%idle", &cpu::TABLE, cpu::idle),
    col("intr/s", &cpu::TABLE, cpu::intr_per_s),
    Field::skip("CORE"),
    Field::skip("SOCK"),
    Field::skip("NODE"),
    // The same in JSON.
    Field::skip("core"),
    Field::skip("socket"),
    Field::skip("node"),
];

/// Columns of a CPU that come from two sections of a block with `-I SUM`.
pub(in super::super) const JOINED: &[Place<cpu::Schema, F64>] = &[
    cpu::usr,
    cpu::nice,
    cpu::sys,
    cpu::iowait,
    cpu::irq,
    cpu::softirq,
    cpu::steal,
    cpu::guest,
    cpu::guest_nice,
    cpu::idle,
    cpu::intr_per_s,
];
