//! Random numbers: an 8-byte generator for each transaction, seeded by the transaction's number, so that a retried
//! transaction is the same one and a seed gives the same load with any number of threads.

use std::f64::consts::TAU;

/// A generator of a load's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(fenxi_model::Random);

impl Random {
    /// The generator of one of many streams of a seed.
    pub fn new(seed: u64, stream: u64) -> Random {
        // Two rounds, so that neighbouring streams have nothing in common.
        let first = |seed: u64| fenxi_model::Random::new(seed).bits();
        let mixed = first(first(seed) ^ stream.wrapping_mul(0xd605_bbb5_8c8a_bc03));
        Random(fenxi_model::Random::new(mixed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// At least 0 and below 1.
    pub fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// Below `bound`; 0 when that is 0. The bias (Lemire's multiplication without rejection) is below 2⁻³² for ranges
    /// of 2^32.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Exponentially distributed with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

/// Distribution of random numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// All alike.
    Uniform,
    /// The mean of twelve uniform ones, as sysbench does it: a bell over the whole range.
    Gaussian,
    /// sysbench's default: three of four fall uniformly into the one percent in the middle, the others as `Gaussian`.
    Special,
    /// The smallest `share` of the range gets 1 − `share` of the draws, and so on within it.
    Pareto {
        /// Above 0 and below 1; sysbench's default is 0.2.
        share: f64,
    },
    /// The n-th smallest with a probability of n^−exponent.
    Zipfian {
        /// At least 0; sysbench's default is 0.8.
        exponent: f64,
    },
    /// One after the other, by the number of the transaction.
    Sequential,
}

impl Distribution {
    /// Names for messages.
    pub const NAMES: &str = "uniform, gaussian, special, pareto[:SHARE], zipfian[:EXPONENT], sequential";

    /// Reads a word like `zipfian:0.99`; None when it is none of [`Distribution::NAMES`].
    pub fn parse(text: &str) -> Option<Distribution> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number.parse::<f64>().ok().filter(|n| n.is_finite())?)),
            None => (text, None),
        };
        Some(match (name, number) {
            ("uniform", None) => Distribution::Uniform,
            ("gaussian", None) => Distribution::Gaussian,
            ("special", None) => Distribution::Special,
            ("sequential", None) => Distribution::Sequential,
            ("pareto", share) => {
                Distribution::Pareto { share: Some(share.unwrap_or(0.2)).filter(|s| *s > 0.0 && *s < 1.0)? }
            }
            ("zipfian", exponent) => {
                Distribution::Zipfian { exponent: Some(exponent.unwrap_or(0.8)).filter(|s| (0.0..=20.0).contains(s))? }
            }
            _ => return None,
        })
    }

    /// A number from `low` to `high`, both included; `low` when the range is empty. `turn` is what `Sequential` counts.
    pub fn draw(&self, random: &mut Random, low: i64, high: i64, turn: u64) -> i64 {
        let size =
            if high < low { 1 } else { high.wrapping_sub(low) as u64 + u64::from(high != i64::MAX || low != i64::MIN) };
        let place = match self {
            Distribution::Uniform => random.below(size),
            Distribution::Gaussian => bell(random, size),
            Distribution::Special => {
                if random.below(4) == 0 {
                    bell(random, size)
                } else {
                    let few = (size / 100).max(1);
                    (size - few) / 2 + random.below(few)
                }
            }
            Distribution::Pareto { share } => {
                let power = share.ln() / (1.0 - share).ln();
                (size as f64 * random.unit().powf(power)) as u64
            }
            Distribution::Zipfian { exponent } => zipf(random, size, *exponent) - 1,
            Distribution::Sequential => turn % size.max(1),
        };
        low.wrapping_add(place.min(size.saturating_sub(1)) as i64)
    }
}

fn bell(random: &mut Random, size: u64) -> u64 {
    let sum: f64 = (0..12).map(|_| random.unit()).sum();
    (size as f64 * sum / 12.0) as u64
}

/// From 1 to `size`, by rejection-inversion (Hörmann and Derflinger 1996): no table, a constant time for any size.
fn zipf(random: &mut Random, size: u64, s: f64) -> u64 {
    let n = size.max(1) as f64;
    // The integral of x^−s, and its inverse; near s = 1 it is the logarithm.
    let integral = |x: f64| if (s - 1.0).abs() < 1e-9 { x.ln() } else { (x.powf(1.0 - s) - 1.0) / (1.0 - s) };
    let inverse = |y: f64| {
        if (s - 1.0).abs() < 1e-9 { y.exp() } else { (1.0 + y * (1.0 - s)).max(0.0).powf(1.0 / (1.0 - s)) }
    };
    let (first, last) = (integral(1.5) - 1.0, integral(n + 0.5));
    let certain = 2.0 - inverse(integral(2.5) - 2.0_f64.powf(-s));
    loop {
        let u = last + random.unit() * (first - last);
        let x = inverse(u);
        let k = x.round().clamp(1.0, n);
        if k - x <= certain || u >= integral(k + 0.5) - k.powf(-s) {
            return k as u64;
        }
    }
}

/// A normally distributed number with mean 0 and deviation 1 (Box and Muller).
pub fn normal(random: &mut Random) -> f64 {
    (2.0 * random.exponential()).sqrt() * (TAU * random.unit()).cos()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shares(distribution: &Distribution, size: i64, draws: u64) -> Vec<f64> {
        let mut counts = vec![0.0; size as usize];
        let mut random = Random::new(7, 7);
        for turn in 0..draws {
            counts[(distribution.draw(&mut random, 1, size, turn) - 1) as usize] += 1.0 / draws as f64;
        }
        counts
    }

    #[test]
    fn the_generator_is_the_published_one() {
        // The first values of the reference implementation with seed 1234567.
        let mut random = Random(fenxi_model::Random::new(1_234_567));
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn zipfian_draws_have_the_probabilities_of_their_formula() {
        for exponent in [0.0, 0.8, 1.0, 1.5] {
            let found = shares(&Distribution::Zipfian { exponent }, 50, 400_000);
            let sum: f64 = (1..=50).map(|k| f64::from(k).powf(-exponent)).sum();
            for (k, share) in (1..=50).zip(found) {
                let expected = f64::from(k).powf(-exponent) / sum;
                assert!((share - expected).abs() < 0.003, "{exponent} {k}: {share} {expected}");
            }
        }
    }

    #[test]
    fn pareto_and_special_put_their_draws_where_they_say() {
        let pareto: f64 = shares(&Distribution::Pareto { share: 0.2 }, 1000, 200_000)[..200].iter().sum();
        assert!((pareto - 0.8).abs() < 0.005, "{pareto}");
        let special: f64 = shares(&Distribution::Special, 1000, 200_000)[495..505].iter().sum();
        assert!((special - 0.76).abs() < 0.01, "{special}");
        let gaussian = shares(&Distribution::Gaussian, 1000, 200_000);
        let (mean, square) =
            gaussian.iter().enumerate().fold((0.0, 0.0), |(m, s), (k, p)| (m + k as f64 * p, s + (k * k) as f64 * p));
        // Twelve uniform ones: a deviation of a twelfth of the range.
        assert!(((square - mean * mean).sqrt() - 1000.0 / 12.0).abs() < 1.0);
        assert_eq!(shares(&Distribution::Sequential, 4, 8), [0.25; 4]);
    }

    #[test]
    fn words_are_read_and_wrong_ones_refused() {
        assert_eq!(Distribution::parse("zipfian:0.99"), Some(Distribution::Zipfian { exponent: 0.99 }));
        assert_eq!(Distribution::parse("pareto"), Some(Distribution::Pareto { share: 0.2 }));
        for wrong in ["pareto:1", "uniform:1", "zipfian:-1", "zipfian:nan", "other", ""] {
            assert_eq!(Distribution::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn draws_stay_in_their_range(low: i64, high: i64, seed: u64, which in 0_usize..6) {
            let all = [
                Distribution::Uniform, Distribution::Gaussian, Distribution::Special, Distribution::Pareto { share: 0.2 },
                Distribution::Zipfian { exponent: 0.8 }, Distribution::Sequential,
            ];
            let drawn = all[which].draw(&mut Random::new(seed, 1), low, high, seed);
            prop_assert!(drawn == low || (low..=high).contains(&drawn));
        }

        #[test]
        fn streams_of_a_seed_repeat_and_differ(seed: u64, stream: u64) {
            prop_assert_eq!(Random::new(seed, stream).bits(), Random::new(seed, stream).bits());
            prop_assert_ne!(Random::new(seed, stream).bits(), Random::new(seed, stream.wrapping_add(1)).bits());
        }
    }
}
