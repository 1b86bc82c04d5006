//! Data of each CPU besides how it spent its time: switches, migrations, faults, interrupts, frequency.
//!
//! It comes from three places, each of which a system may lack; what is missing is NULL. Rates of all CPUs together are
//! the sum of those of the CPUs that are online, and NULL when one of them is.

use fenxi_model::{Place, Row, Rows, catalog::cpu, place::F64};

use super::{
    counted::Counted,
    frequency::Frequencies,
    interrupts::Interrupts,
    values::{FREQUENCY, N, Values},
};
use crate::{Root, Tick};

/// The column of each.
const COLUMNS: [Place<cpu::Schema, F64>; N] = [
    cpu::minor_faults_per_s,
    cpu::major_faults_per_s,
    cpu::context_switches_per_s,
    cpu::migrations_per_s,
    cpu::intr_per_s,
    cpu::cross_calls_per_s,
    cpu::freq_hz,
];

/// Reads them at each sample.
#[derive(Debug)]
pub struct Beside {
    counted: Option<Counted>,
    interrupts: Option<Interrupts>,
    frequencies: Frequencies,
    /// By number of the CPU.
    values: Vec<Values>,
}

impl Beside {
    /// Reads at `root` what it offers.
    pub fn new(root: &Root) -> Beside {
        Beside {
            counted: root.is_live().then(|| Counted::new(root)),
            interrupts: Interrupts::new(root),
            frequencies: Frequencies::new(root),
            values: Vec::new(),
        }
    }

    /// Reads them for the interval that ends now; `online` are the numbers of the CPUs that are there.
    pub fn sample(&mut self, online: impl Iterator<Item = usize> + Clone, tick: Tick, rows: &mut Rows) {
        let n = online.clone().max().map_or(0, |last| last + 1);
        self.values.clear();
        self.values.resize(n, Values::default());
        if let Some(counted) = &mut self.counted {
            counted.sample(online.clone(), tick, rows, &mut self.values);
        }
        if let Some(interrupts) = &mut self.interrupts {
            interrupts.sample(tick, &mut self.values);
        }
        self.frequencies.sample(online, tick, &mut self.values);
    }

    /// Sets the columns of the row of CPU `n`.
    pub fn fill(&self, n: usize, row: &mut Row<'_, cpu::Schema>) {
        if let Some(values) = self.values.get(n) {
            set(values, row);
        }
    }

    /// Sets the columns of the row of all CPUs together.
    pub fn fill_all(&self, online: impl Iterator<Item = usize>, row: &mut Row<'_, cpu::Schema>) {
        let (mut sums, mut n) = ([Some(0.0); N], 0_u32);
        for values in online.filter_map(|cpu| self.values.get(cpu)) {
            n += 1;
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.zip(*value).map(|(a, b)| a + b));
        }
        if n == 0 {
            return;
        }
        sums[FREQUENCY] = sums[FREQUENCY].map(|sum| sum / f64::from(n));
        set(&sums, row);
    }
}

fn set(values: &Values, row: &mut Row<'_, cpu::Schema>) {
    for (column, value) in COLUMNS.iter().zip(values).filter(|(_, value)| value.is_some()) {
        row.f64(*column, *value);
    }
}
