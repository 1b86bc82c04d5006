//! Made-up runs whose samples depend on each other.

use fenxi_analyze::Random;

/// Samples of each run.
const SAMPLES: usize = 60;

/// The mean of a run of samples that depend on each other (coefficient 0.7), about `level`.
///
/// Beside the samples' own noise, each run lies a little off, as runs do.
pub fn run(random: &mut Random, level: f64, kind: usize) -> f64 {
    let mut noise = || (0..4).map(|_| random.unit()).sum::<f64>() - 2.0;
    // Some metrics now and then jump, and are far from normal.
    let jump = if kind % 4 == 3 && noise() > 1.0 { 0.05 } else { 0.0 };
    let own = 1.0 + jump + 0.01 * noise();
    let mut last = 0.0;
    let mut sum = 0.0;
    for _ in 0..SAMPLES {
        last = 0.7 * last + noise();
        sum += 1.0 + 0.02 * last;
    }
    level * own * sum / SAMPLES as f64
}
