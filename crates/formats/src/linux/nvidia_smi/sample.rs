//! How many GPUs a query's rows are of when no column names them.
//!
//! `nvidia-smi` asks the GPUs of one sample one after another, so their times differ by milliseconds and
//! the next sample follows after a longer pause. Rows that are evenly apart are samples of one GPU,
//! however short its interval is (`-lms 50`).

/// Rows of one query without `-l`: asking a GPU takes less.
const ONE_AFTER_ANOTHER_S: f64 = 0.02;
/// The pause between samples is longer than those within them by this factor at least.
const APART: f64 = 4.0;

/// The rows of one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// Length.
    pub(super) rows: usize,
    /// A row that is later than the one before it by more than this is of the next sample.
    pub(super) pause_s: f64,
}

impl Sample {
    /// Every row is a sample.
    const SINGLE: Sample = Sample { rows: 1, pause_s: 0.0 };

    /// Found from the times of the first rows, in seconds.
    pub(super) fn of(times: &[f64]) -> Sample {
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let longest = gaps.iter().copied().fold(0.0, f64::max);
        if longest < ONE_AFTER_ANOTHER_S {
            // One sample of all of them, as no pause is seen.
            return Sample { rows: times.len().max(1), pause_s: ONE_AFTER_ANOTHER_S };
        }
        let pause_s = longest / APART;
        let within = gaps.iter().copied().filter(|gap| *gap < pause_s).fold(0.0, f64::max);
        let between = gaps.iter().copied().filter(|gap| *gap >= pause_s).fold(longest, f64::min);
        // The last sample may be cut by the end of what is looked at.
        let mut sizes = gaps.split(|gap| *gap >= pause_s).map(|inner| inner.len() + 1);
        let (Some(rows), last) = (sizes.next(), sizes.next_back()) else { return Sample::SINGLE };
        let alike = sizes.all(|size| size == rows) && last.is_some_and(|last| last <= rows);
        if alike && rows > 1 && within * APART < between { Sample { rows, pause_s } } else { Sample::SINGLE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of `gpus` GPUs, `step` seconds apart within a sample, samples every `interval`.
    fn rows(gpus: usize, samples: usize, step: f64, interval: f64) -> Vec<f64> {
        (0..samples * gpus).map(|i| (i / gpus) as f64 * interval + (i % gpus) as f64 * step).collect()
    }

    #[test]
    fn rows_evenly_apart_are_of_one_gpu_and_rows_in_bunches_of_several() {
        assert_eq!(Sample::of(&rows(1, 40, 0.0, 0.05)).rows, 1);
        assert_eq!(Sample::of(&rows(1, 2, 0.0, 0.05)).rows, 1);
        assert_eq!(Sample::of(&rows(2, 20, 0.004, 0.05)).rows, 2);
        assert_eq!(Sample::of(&rows(8, 5, 0.01, 1.0)).rows, 8);
        assert_eq!(Sample::of(&rows(4, 1, 0.003, 1.0)).rows, 4);
        assert_eq!(Sample::of(&[]).rows, 1);
    }

    #[test]
    fn a_pause_in_the_samples_of_one_gpu_does_not_make_it_several() {
        let mut times = rows(1, 10, 0.0, 0.05);
        times.extend(rows(1, 25, 0.0, 0.05).iter().map(|t| t + 2.0));
        times.extend(rows(1, 7, 0.0, 0.05).iter().map(|t| t + 9.0));
        assert_eq!(Sample::of(&times), Sample::SINGLE);
    }
}
