//! A line of `--progress`.

use fenxi_model::{Micros, catalog::load};

use crate::{Out, number};

/// `progress: 1.0 s, 7.0 tps, lat 4.3 ms stddev 1.2, 0 failed, lag 0.5 ms, 0 skipped, 7 retried, 9 retries`
#[derive(Debug)]
pub struct Progress<'a> {
    /// Since the run's begin, or since 1970.
    pub seconds: f64,
    rest: &'a str,
}

impl<'a> Progress<'a> {
    /// Reads a line; None when it is no progress of pgbench.
    pub fn read(line: &'a str) -> Option<Progress<'a>> {
        let (seconds, rest) = line.strip_prefix("progress: ")?.split_once(" s, ")?;
        rest.contains(" tps").then_some(())?;
        Some(Progress { seconds: number(seconds).filter(|s| (0.0..1e11).contains(s))?, rest })
    }

    /// Writes the row. Counts of the interval become rates; what is not known goes to notes.
    pub fn write(&self, t: Micros, dt: Option<f64>, out: &mut Out<'_>) {
        let mut skipped = None;
        let mut unknown = None;
        let mut row = out.row(&load::TABLE, t, dt);
        row.str(load::generator, "pgbench");
        for part in self.rest.split(", ") {
            let mut words = part.split_ascii_whitespace();
            let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            let rate = |count: &str| number(count).zip(dt).map(|(count, dt)| count / dt);
            match (first, second) {
                (_, "tps") => {
                    row.f64(load::transactions_per_s, number(first));
                }
                ("lat", mean) => {
                    row.f64(load::latency_mean_ms, number(mean));
                    let sd = words.skip_while(|w| *w != "stddev").nth(1).and_then(number);
                    row.f64(load::latency_sd_ms, sd);
                }
                ("lag", mean) => {
                    row.f64(load::lag_ms, number(mean));
                }
                (count, "failed") => {
                    row.f64(load::errors_per_s, rate(count));
                }
                (count, "retries") => {
                    row.f64(load::retries_per_s, rate(count));
                }
                (count, "skipped") => skipped = rate(count),
                // Retried transactions, each counted once however often it was tried.
                (_, "retried") => {}
                _ => unknown = Some(part),
            }
        }
        if let Some(part) = unknown {
            out.note(None, &format!("a part of a progress line is not known: {part}"));
        }
        if skipped.is_some() {
            out.metric(t, dt, "pgbench.skipped_per_s", "", skipped, "/s");
        }
    }
}
