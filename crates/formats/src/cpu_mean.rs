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
///
/// Where lines may have been left out (`mpstat 3 | grep -v ' 100$'`), the CPUs are given with their numbers:
/// [`CpuMean::write_whole`] makes the row only of all of them.
#[derive(Clone, Debug)]
pub struct CpuMean {
    cpus: u32,
    /// The largest number of a CPU in this block.
    highest: Option<u32>,
    /// So many CPUs there are at least, as blocks before showed.
    known: u32,
    columns: [(f64, u32); PLACES],
}

impl Default for CpuMean {
    fn default() -> CpuMean {
        CpuMean { cpus: 0, highest: None, known: 0, columns: [(0.0, 0); PLACES] }
    }
}

impl CpuMean {
    /// The values to come are those of another CPU.
    pub fn next_cpu(&mut self) {
        self.cpus = self.cpus.saturating_add(1);
    }

    /// The values to come are those of the CPU called `name`, its number.
    pub fn cpu(&mut self, name: &str) {
        self.next_cpu();
        let number = name.parse::<u32>().unwrap_or(u32::MAX - 1);
        self.highest = self.highest.max(Some(number));
        self.expect(number.saturating_add(1));
    }

    /// There are at least so many CPUs.
    pub fn expect(&mut self, cpus: u32) {
        self.known = self.known.max(cpus);
    }

    /// However many CPUs there were, they are others now.
    pub fn forget(&mut self) {
        self.known = 0;
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

    /// Number of CPUs added since the last row.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// As [`CpuMean::write`], if the CPUs were those from 0 on without a gap and no others are known; what is missing is
    /// noted once.
    pub fn write_whole(&mut self, out: &mut Out<'_>, t: Micros, dt: Option<f64>) {
        let highest = self.highest.take();
        let whole = highest.is_some_and(|highest| highest.checked_add(1) == Some(self.cpus)) && self.cpus >= self.known;
        if whole {
            return self.write(out, t, dt);
        }
        if self.cpus > 0 {
            out.assume(
                "no row of all CPUs where some are not printed: they may be offline, or lines may have been left out",
            );
        }
        self.columns = [(0.0, 0); PLACES];
        self.cpus = 0;
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

    #[test]
    fn a_part_of_the_cpus_is_not_all_of_them() {
        let mut out = Out::new("test", Hints::none("x"), |_, _| {});
        let mut mean = CpuMean::default();
        let mut block = |cpus: &[&str]| {
            for cpu in cpus {
                mean.cpu(cpu);
                mean.add(cpu::usr, 50.0);
            }
            mean.write_whole(&mut out, Micros(0), None);
        };
        // Of these only the first and the one after it are whole.
        for cpus in
            [&["0", "1", "2", "3"][..], &["2", "3", "0", "1"], &["0", "1"], &["1", "2", "3"], &["0", "1", "7"], &["x"]]
        {
            block(cpus);
        }
        block(&["0", "1", "2", "3"]);
        mean.forget();
        mean.cpu("0");
        mean.add(cpu::usr, 1.0);
        mean.write_whole(&mut out, Micros(1), None);
        let tally = out.finish();
        assert_eq!((tally.rows(), tally.assumptions), (3, 1));
    }
}
