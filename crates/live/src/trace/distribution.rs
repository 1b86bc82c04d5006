//! Distributions as observers show them: a line for each power of two, with a bar.

use std::{collections::BTreeMap, fmt::Write};

use fenxi_model::{TableRows, catalog::histogram as c};

/// Characters of the longest bar.
const BAR: usize = 40;

/// Histograms by name and labels, added up.
#[derive(Debug, Default)]
pub(super) struct Distributions {
    /// Name with labels and unit; then counts by power of two.
    of: BTreeMap<String, BTreeMap<i32, f64>>,
}

impl Distributions {
    /// Takes the rows of the table `histogram` whose name begins with `prefix`.
    pub(super) fn take(&mut self, rows: &TableRows, prefix: &str) {
        for row in 0..rows.n_rows() {
            let text = |place| rows.str(row, place).unwrap_or("");
            if !text(c::name).starts_with(prefix) {
                continue;
            }
            let what = format!("{} {} ({})", text(c::name), text(c::labels), text(c::unit));
            let power = match rows.f64(row, c::lo) {
                Some(lo) if lo > 0.0 => lo.log2().floor(),
                _ => f64::from(LOWEST),
            };
            // Powers of two that a number can have are few.
            let power = power.clamp(f64::from(LOWEST), 1024.0) as i32;
            *self.of.entry(what).or_default().entry(power).or_default() += rows.f64(row, c::count).unwrap_or(0.0);
        }
    }

    /// Shows and forgets them.
    pub(super) fn show(&mut self, out: &mut String) {
        for (what, counts) in std::mem::take(&mut self.of) {
            let _ = writeln!(out, "{what}");
            let most = counts.values().copied().fold(0.0, f64::max);
            let (Some(first), Some(last)) = (counts.keys().next(), counts.keys().next_back()) else { continue };
            for power in *first..=*last {
                let count = counts.get(&power).copied().unwrap_or(0.0);
                if power == LOWEST && count == 0.0 {
                    continue;
                }
                let bar = "#".repeat((BAR as f64 * count / most.max(1.0)).round() as usize);
                let from = if power == LOWEST { 0.0 } else { 2f64.powi(power) };
                let _ = writeln!(out, "{from:>14} |{bar:<BAR$}| {count:.0}");
            }
            out.push('\n');
        }
    }
}

/// What stands for 0: below all powers that are met (a nanosecond in seconds is 2^-30).
const LOWEST: i32 = -40;

#[cfg(test)]
mod tests {
    use fenxi_model::{Micros, Rows};

    use super::*;

    #[test]
    fn buckets_of_one_power_of_two_are_one_line() {
        let mut rows = Rows::new("h");
        for (lo, count) in [(4096.0, 3.0), (4608.0, 1.0), (16384.0, 2.0)] {
            let mut row = rows.row(&c::TABLE, Micros(1), 1.0);
            row.str(c::name, "io_size_bytes").str(c::labels, "op=read").str(c::unit, "bytes");
            row.f64(c::lo, lo).f64(c::count, count);
        }
        let mut distributions = Distributions::default();
        distributions.take(rows.tables().next().unwrap(), "io_");
        let mut out = String::new();
        distributions.show(&mut out);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[0], "io_size_bytes op=read (bytes)");
        assert_eq!(lines[1], format!("{:>14} |{}| 4", 4096, "#".repeat(40)));
        assert_eq!(lines[2], format!("{:>14} |{}| 0", 8192, " ".repeat(40)));
        assert_eq!(lines[3], format!("{:>14} |{:<40}| 2", 16384, "#".repeat(20)));
    }
}
