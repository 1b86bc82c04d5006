//! Text histograms in the style of DTrace.

use std::{collections::BTreeMap, fmt::Write};

use fenxi_model::{RowsOf, catalog::histogram as c};

/// Width of buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buckets {
    /// One for each power of two, empty ones between others too.
    Log2,
    /// As they were gathered.
    Fine,
}

/// Counts by the lower bounds of their buckets.
#[derive(Clone, Debug, Default)]
pub struct Distribution(BTreeMap<u64, (f64, f64)>);

/// Characters of the bar of all values together.
const BAR: usize = 40;

impl Distribution {
    /// Adds `count` values that are at least `low`, which is not negative.
    pub fn add(&mut self, low: f64, count: f64) {
        // Of two lower bounds that are not negative, the greater one has the greater bits.
        self.0.entry(low.to_bits()).or_insert((low, 0.0)).1 += count;
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Distribution) {
        other.0.values().for_each(|(low, count)| self.add(*low, *count));
    }

    /// Number of values.
    pub fn count(&self) -> f64 {
        self.0.values().map(|(_, count)| count).sum()
    }

    /// The lower bound of the bucket of the value that `share` of all are below of; None of nothing.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = self.count() * share;
        let mut seen = 0.0;
        let reached = self.0.values().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        reached.map(|(low, _)| *low)
    }

    /// The same in buckets of powers of two.
    fn by_power(&self) -> Distribution {
        let mut coarse = Distribution::default();
        let power_of = |low: f64| low.log2().floor() as i32;
        let mut powers = self.0.values().filter(|(low, _)| *low > 0.0).map(|(low, _)| power_of(*low));
        if let Some(first) = powers.next() {
            let last = powers.next_back().unwrap_or(first);
            (first..=last).for_each(|power| coarse.add(2f64.powi(power), 0.0));
        }
        for (low, count) in self.0.values() {
            coarse.add(if *low > 0.0 { 2f64.powi(power_of(*low)) } else { 0.0 }, *count);
        }
        coarse
    }

    /// Draws it: lower bounds, bars of 40 `@` for all values together, counts.
    pub fn draw(&self, buckets: Buckets, out: &mut String) {
        let coarse;
        let of = match buckets {
            Buckets::Fine => self,
            Buckets::Log2 => {
                coarse = self.by_power();
                &coarse
            }
        };
        let total = self.count();
        out.push_str("           value  ------------- Distribution ------------- count\n");
        for (low, count) in of.0.values() {
            let share = if total > 0.0 { count / total } else { 0.0 };
            let bar = "@".repeat((BAR as f64 * share).round() as usize);
            let decimals = match *low {
                low if low.fract() == 0.0 => 0,
                low if low > 1.0 => 1,
                _ => 3,
            };
            let _ = writeln!(out, "{low:>16.decimals$} |{bar:<BAR$} {count:.0}");
        }
    }
}

/// Histograms by name, labels and unit, added up.
#[derive(Debug, Default)]
pub struct Distributions(BTreeMap<String, Distribution>);

impl Distributions {
    /// Takes the rows of the table `histogram` whose name begins with `prefix`.
    pub fn take(&mut self, rows: RowsOf<'_, c::Schema>, prefix: &str) {
        self.take_labelled(rows, prefix, "");
    }

    /// The same of those only whose labels begin with `labels`.
    pub fn take_labelled(&mut self, rows: RowsOf<'_, c::Schema>, prefix: &str, labels: &str) {
        for row in 0..rows.n_rows() {
            let text = |place| rows.str(row, place).unwrap_or("");
            if text(c::name).starts_with(prefix) && text(c::labels).starts_with(labels) {
                let what = format!("{} {} ({})", text(c::name), text(c::labels), text(c::unit));
                let low = rows.f64(row, c::lo).unwrap_or(0.0).max(0.0);
                self.0.entry(what).or_default().add(low, rows.f64(row, c::count).unwrap_or(0.0));
            }
        }
    }

    /// Shows and forgets them.
    pub fn show(&mut self, out: &mut String) {
        for (what, distribution) in std::mem::take(&mut self.0) {
            let _ = writeln!(out, "{what}");
            distribution.draw(Buckets::Log2, out);
            out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::{Micros, Rows};

    use super::*;

    /// Lower bound, bar's length and count of each line of a drawing.
    fn lines(of: &Distribution, buckets: Buckets) -> Vec<(String, usize, String)> {
        let mut text = String::new();
        of.draw(buckets, &mut text);
        let line = |line: &str| {
            let (low, rest) = line.split_once(" |").unwrap();
            let (bar, count) = rest.split_at(BAR);
            (low.trim().to_owned(), bar.trim().len(), count.trim().to_owned())
        };
        text.lines().skip(1).map(line).collect()
    }

    fn line(low: &str, bar: usize, count: &str) -> (String, usize, String) {
        (low.to_owned(), bar, count.to_owned())
    }

    #[test]
    fn buckets_of_a_power_of_two_are_one_line_and_empty_ones_are_shown() {
        let mut of = Distribution::default();
        for (low, count) in [(64.0, 10.0), (72.0, 20.0), (256.0, 10.0), (0.0, 1.0), (72.0, 39.0)] {
            of.add(low, count);
        }
        let coarse = [line("0", 1, "1"), line("64", 35, "69"), line("128", 0, "0"), line("256", 5, "10")];
        assert_eq!(lines(&of, Buckets::Log2), coarse);
        let fine = [line("0", 1, "1"), line("64", 5, "10"), line("72", 30, "59"), line("256", 5, "10")];
        assert_eq!(lines(&of, Buckets::Fine), fine);
        assert_eq!((of.count(), of.quantile(0.5), of.quantile(0.99)), (80.0, Some(72.0), Some(256.0)));
    }

    #[test]
    fn what_is_smaller_than_one_is_told_apart() {
        let mut of = Distribution::default();
        for (low, count) in [(0.256, 1.0), (0.512, 2.0), (1.024, 1.0)] {
            of.add(low, count);
        }
        assert_eq!(lines(&of, Buckets::Log2), [line("0.250", 10, "1"), line("0.500", 20, "2"), line("1", 10, "1")]);
    }

    #[test]
    fn histograms_are_added_up_by_name_and_labels() {
        let mut rows = Rows::new("h");
        for (name, lo) in [("io_size_bytes", 4096.0), ("io_size_bytes", 4608.0), ("lock_us", 1.0)] {
            let mut row = rows.row(&c::TABLE, Micros(1), 1.0);
            row.str(c::name, name).str(c::labels, "op=read").str(c::unit, "bytes").f64(c::lo, lo).f64(c::count, 2.0);
        }
        let mut distributions = Distributions::default();
        distributions.take(rows.of(&c::TABLE).unwrap(), "io_");
        let mut out = String::new();
        distributions.show(&mut out);
        let bar = "@".repeat(BAR);
        let header = "           value  ------------- Distribution ------------- count";
        assert_eq!(out, format!("io_size_bytes op=read (bytes)\n{header}\n{:>16} |{bar} 4\n\n", 4096));
    }
}
