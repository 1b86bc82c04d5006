//! Distributions as text, the way DTrace draws them.

use std::{collections::BTreeMap, fmt::Write};

/// How wide buckets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buckets {
    /// One for each power of two.
    Log2,
    /// As they were gathered.
    Fine,
}

/// Counts by the lower bounds of their buckets.
#[derive(Clone, Debug, Default)]
pub struct Distribution(BTreeMap<u64, (f64, f64)>);

impl Distribution {
    /// Adds `count` values that are at least `low`.
    pub fn add(&mut self, low: f64, count: f64) {
        // Of two lower bounds that are not negative, the greater one has the greater bits.
        self.0.entry(low.to_bits()).or_insert((low, 0.0)).1 += count;
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Distribution) {
        other.0.values().for_each(|(low, count)| self.add(*low, *count));
    }

    /// How many values there are.
    pub fn count(&self) -> f64 {
        self.0.values().map(|(_, count)| count).sum()
    }

    /// The lower bound of the bucket in which the value stands that `share` of all are below of; None of nothing.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = self.count() * share;
        let mut seen = 0.0;
        let reached = self.0.values().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        reached.map(|(low, _)| *low)
    }

    /// Draws it: lower bounds, bars of 40 `@` for all values together, counts.
    pub fn draw(&self, buckets: Buckets, out: &mut String) {
        let total = self.count();
        let mut lines: Vec<(f64, f64)> = Vec::new();
        for (low, count) in self.0.values() {
            let low = match buckets {
                Buckets::Fine => *low,
                Buckets::Log2 if *low < 1.0 => 0.0,
                Buckets::Log2 => 2f64.powi(low.log2().floor() as i32),
            };
            match lines.last_mut().filter(|(last, _)| *last == low) {
                Some((_, sum)) => *sum += count,
                None => lines.push((low, *count)),
            }
        }
        out.push_str("           value  ------------- Distribution ------------- count\n");
        for (low, count) in lines {
            let bar = "@".repeat((40.0 * count / total).round() as usize);
            let low = if low.fract() == 0.0 { format!("{low:.0}") } else { format!("{low:.1}") };
            let _ = writeln!(out, "{low:>16} |{bar:<40} {count:.0}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_a_power_of_two_are_one_line() {
        let mut of = Distribution::default();
        for (low, count) in [(64.0, 10.0), (72.0, 20.0), (128.0, 10.0), (0.5, 1.0)] {
            of.add(low, count);
        }
        of.add(72.0, 39.0);
        let mut text = String::new();
        of.draw(Buckets::Log2, &mut text);
        let counts: Vec<_> = text.lines().skip(1).map(|l| l.split_whitespace().collect::<Vec<_>>()).collect();
        assert_eq!((counts[0][0], counts[1][0], counts[2][0]), ("0", "64", "128"));
        assert_eq!((*counts[1].last().unwrap(), counts[1][1].len()), ("69", 36));
        assert_eq!((of.count(), of.quantile(0.5), of.quantile(0.99)), (80.0, Some(72.0), Some(128.0)));
    }
}
