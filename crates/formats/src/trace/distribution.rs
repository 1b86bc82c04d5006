//! Common parts of the formats of distributions: names, units, and reports that repeat.

use std::hash::BuildHasher;

use fenxi_model::Micros;
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::report::Reports;
use crate::Out;

/// Distributions of one report that are distinguished; beyond, the report ends.
const MAX_SEEN: usize = 1 << 16;

/// The time of each distribution: when one comes again, another report has begun.
#[derive(Debug, Default)]
pub(super) struct Moments {
    reports: Reports,
    /// Hashes of their names, which may be long.
    seen: FxHashSet<u64>,
    now: Option<Micros>,
    dt: Option<f64>,
    begun: bool,
}

impl Moments {
    /// Sets the time of the report that begins now, from the content.
    pub(super) fn stamp(&mut self, t: Micros, dt: Option<f64>) {
        self.seen.clear();
        self.now = self.reports.ended(t);
        self.dt = dt;
        self.begun = true;
    }

    /// The time of the distribution that is called `key`.
    pub(super) fn of(&mut self, key: &str, out: &mut Out<'_>) -> (Option<Micros>, Option<f64>) {
        let key = FxBuildHasher.hash_one(key);
        let again = self.seen.contains(&key);
        if again || !self.begun || self.seen.len() >= MAX_SEEN {
            let interval = if again { out.hints().interval_s } else { None };
            self.now = self.reports.next(out, interval);
            self.dt = interval;
            self.begun = true;
            self.seen.clear();
        }
        self.seen.insert(key);
        (self.now, self.dt)
    }
}

/// The unit that a name ends with or is: `usecs`, `read_latency_ns`, `bytes`.
pub(super) fn unit(name: &str) -> &'static str {
    match name.rsplit(['_', ' ', '(']).next().unwrap_or("").trim_end_matches(')') {
        "usecs" | "usec" | "us" | "microseconds" => "us",
        "nsecs" | "nsec" | "ns" | "nanoseconds" => "ns",
        "msecs" | "msec" | "ms" | "milliseconds" => "ms",
        "secs" | "sec" | "seconds" => "s",
        "bytes" => "B",
        "kbytes" | "Kbytes" => "KiB",
        _ => "",
    }
}

/// Labels are joined by commas, so values must have none; line ends are not shown.
pub(super) fn label(labels: &mut String, key: &str, value: &str) {
    if !labels.is_empty() {
        labels.push(',');
    }
    labels.push_str(key);
    labels.push('=');
    labels.extend(value.trim().chars().map(|c| if matches!(c, ',' | '\n') { ';' } else { c }));
}
