//! The row of all CPUs, for tools that print only a row for each.

use fenxi_model::{
    Kind, Micros, Place,
    catalog::{N_COMMON, cpu},
    place::F64,
};

use super::Out;

const PLACES: usize = cpu::TABLE.columns.len();

/// Adds up the rows of single CPUs of one block of lines and writes the row of all of them.
///
/// Shares are averaged and rates summed. A column that not every CPU has stays NULL: neither a mean
/// nor a sum over some of them would be that of all.
#[derive(Clone, Debug)]
pub struct CpuMean {
    cpus: u32,
    columns: [(f64, u32); PLACES],
}

impl Default for CpuMean {
    fn default() -> CpuMean {
        CpuMean { cpus: 0, columns: [(0.0, 0); PLACES] }
    }
}

impl CpuMean {
    /// The values to come are those of another CPU.
    pub fn next_cpu(&mut self) {
        self.cpus = self.cpus.saturating_add(1);
    }

    /// Adds one value of the current CPU.
    pub fn add(&mut self, place: Place<cpu::Schema, F64>, value: f64) {
        self.add_to(place.index(), value);
    }

    /// As [`CpuMean::add`], by the number of the column in the `cpu` table.
    pub fn add_to(&mut self, column: usize, value: f64) {
        if let Some((sum, n)) = self.columns.get_mut(column) {
            *sum += value;
            *n = n.saturating_add(1);
        }
    }

    /// How many CPUs were added since the last row was written.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Writes the row of all CPUs, if there was any, and begins anew.
    pub fn write(&mut self, out: &mut Out<'_>, t: Micros, dt: Option<f64>) {
        if self.cpus == 0 {
            return;
        }
        let cpus = self.cpus;
        let mut row = out.row(&cpu::TABLE, t, dt).any();
        for (place, (sum, n)) in self.columns.iter_mut().enumerate().skip(N_COMMON) {
            if *n == cpus {
                let rate = cpu::TABLE.columns[place].kind == Kind::Rate;
                row.f64(place, if rate { *sum } else { *sum / f64::from(cpus) });
            }
            (*sum, *n) = (0.0, 0);
        }
        self.cpus = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hints;

    #[test]
    fn shares_are_averaged_rates_summed_and_gaps_stay_gaps() {
        let mut seen = Vec::new();
        let mut out = Out::new("test", Hints::none("x"), |rows, _| {
            if let Some(table) = rows.of(&cpu::TABLE) {
                let places = [cpu::usr, cpu::intr_per_s, cpu::idle];
                seen.extend((0..table.n_rows()).map(move |row| places.map(|p| table.f64(row, p))));
            }
        });
        let mut mean = CpuMean::default();
        mean.write(&mut out, Micros(0), None);
        for (usr, intr, idle) in [(10.0, 100.0, Some(90.0)), (30.0, 50.0, None)] {
            mean.next_cpu();
            mean.add(cpu::usr, usr);
            mean.add(cpu::intr_per_s, intr);
            if let Some(idle) = idle {
                mean.add(cpu::idle, idle);
            }
        }
        assert_eq!(mean.cpus(), 2);
        mean.write(&mut out, Micros(1), None);
        mean.next_cpu();
        mean.add(cpu::usr, 1.0);
        mean.write(&mut out, Micros(2), None);
        out.finish();
        assert_eq!(seen, [[Some(20.0), Some(150.0), None], [Some(1.0), None, None]]);
    }
}
