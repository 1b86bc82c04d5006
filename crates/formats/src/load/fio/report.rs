//! The content of a report of fio, whichever form it has, and how that becomes results and rows.

use fenxi_model::{
    Micros,
    catalog::{disk, load},
};
use rustc_hash::FxHashMap;

use crate::{
    Out,
    load::names::{self, LATENCY_BUCKETS, Results, percentile_column},
};

/// One direction of one job, or of a group of jobs.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Name of the job.
    pub job: String,
    /// `read`, `write`, `trim` or `sync`.
    pub direction: String,
    /// Operations completed.
    pub ios: Option<f64>,
    /// Operations per second.
    pub iops: Option<f64>,
    /// Bytes moved.
    pub bytes: Option<f64>,
    /// Bytes moved per second.
    pub bytes_per_s: Option<f64>,
    /// How long the job did this.
    pub runtime_s: Option<f64>,
    /// From submission to completion, in milliseconds: mean, deviation, minimum, maximum.
    pub latency: [Option<f64>; 4],
    /// Percentiles of the latency: percent and milliseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// Buckets of the latency: bounds in milliseconds and how many.
    pub bins: Vec<(f64, f64, f64)>,
}

/// All of a report.
#[derive(Debug, Default)]
pub struct Report {
    /// When it was written.
    pub t: Option<Micros>,
    /// Figures of each job and direction that did any I/O.
    pub sides: Vec<Side>,
    /// Jobs that ended with an error.
    pub errors: f64,
}

impl Report {
    /// Writes the figures of the disk called `name` over the whole run: `value` gives those that fio's JSON has by its
    /// names. False when the report does not state how long the run was.
    pub fn write_disk(&self, name: Option<&str>, value: impl Fn(&str) -> Option<f64>, out: &mut Out<'_>) -> bool {
        let length = self.sides.iter().filter_map(|s| s.runtime_s).fold(0.0, f64::max);
        if length <= 0.0 {
            return false;
        }
        let rate = |key: &str| value(key).map(|n| n / length);
        let wait = |ticks: &str, n: &str| value(ticks).zip(value(n).filter(|n| *n > 0.0)).map(|(ms, n)| ms / n);
        let mut row = out.row(&disk::TABLE, self.t, length);
        row.str(disk::device, name);
        row.f64(disk::reads_per_s, rate("read_ios")).f64(disk::writes_per_s, rate("write_ios"));
        row.f64(disk::reads_merged_per_s, rate("read_merges")).f64(disk::writes_merged_per_s, rate("write_merges"));
        row.f64(disk::read_await_ms, wait("read_ticks", "read_ios"));
        row.f64(disk::write_await_ms, wait("write_ticks", "write_ios"));
        row.f64(disk::queue_depth, value("in_queue").map(|ms| ms / 1e3 / length)).f64(disk::util, value("util"));
        true
    }

    /// Identifiers of the sides: direction, job where there are several, and a number where
    /// that still is not enough.
    fn operations(&self) -> Vec<String> {
        let several = self.sides.windows(2).any(|pair| pair[0].job != pair[1].job);
        let mut seen: FxHashMap<String, u32> = FxHashMap::default();
        let name = |side: &Side| {
            let name = if several { format!("{} {}", side.job, side.direction) } else { side.direction.clone() };
            let times = seen.entry(name.clone()).or_default();
            *times += 1;
            if *times > 1 { format!("{name} {times}") } else { name }
        };
        self.sides.iter().map(name).collect()
    }

    /// The sum of `value` over sides of `direction`, or over all but syncs.
    fn sum(&self, direction: &str, value: impl Fn(&Side) -> Option<f64>) -> Option<f64> {
        let wanted = |s: &&Side| if direction.is_empty() { s.direction != "sync" } else { s.direction == direction };
        let values = self.sides.iter().filter(wanted).filter_map(value);
        values.fold(None, |sum, v| Some(sum.unwrap_or(0.0) + v))
    }

    /// Writes the results of all jobs together and of each.
    pub fn write_results(&self, out: &mut Out<'_>, results: &mut Results) {
        let longest = self
            .sides
            .iter()
            .filter_map(|s| s.runtime_s)
            .fold(None, |a: Option<f64>, b| Some(a.map_or(b, |a| a.max(b))));
        results.set(out, names::ELAPSED, longest);
        results.set(out, names::TRANSACTIONS, self.sum("", |s| s.ios));
        results.set(out, names::THROUGHPUT, self.sum("", |s| s.iops));
        results.set(out, names::TRANSFER_BYTES, self.sum("", |s| s.bytes));
        results.set(out, names::TRANSFER_BYTES_PER_S, self.sum("", |s| s.bytes_per_s));
        results.set(out, names::READS_PER_S, self.sum("read", |s| s.iops));
        results.set(out, names::READ_BYTES_PER_S, self.sum("read", |s| s.bytes_per_s));
        results.set(out, names::WRITES_PER_S, self.sum("write", |s| s.iops));
        results.set(out, names::WRITE_BYTES_PER_S, self.sum("write", |s| s.bytes_per_s));
        results.set(out, names::SYNCS_PER_S, self.sum("sync", |s| s.iops));
        results.set(out, names::ERRORS, self.errors);
        for (side, operation) in self.sides.iter().zip(self.operations()) {
            results.of(out, names::TRANSACTIONS, &operation, side.ios);
            results.of(out, names::THROUGHPUT, &operation, side.iops);
            results.of(out, names::TRANSFER_BYTES_PER_S, &operation, side.bytes_per_s);
            latency(side, &operation, out, results);
            let labels = format!("operation={operation}");
            for (lo, hi, count) in &side.bins {
                out.bucket(self.t, side.runtime_s, LATENCY_BUCKETS, &labels, *lo, *hi, "ms", *count);
            }
        }
        let mut moving = self.sides.iter().filter(|s| s.direction != "sync");
        if let (Some(only), None) = (moving.next(), moving.next()) {
            latency(only, "", out, results);
        }
    }

    /// Writes a row for each side: what it did since `before`, or in all.
    pub fn write_rows(&self, before: Option<&Report>, out: &mut Out<'_>) {
        let Some(t) = self.t else { return };
        let others = before.map(|b| b.operations());
        for (side, operation) in self.sides.iter().zip(self.operations()) {
            let earlier = before.zip(others.as_ref()).and_then(|(before, others)| {
                let same = others.iter().position(|other| *other == operation)?;
                Some((before.sides.get(same)?, t.seconds_since(before.t?)))
            });
            let dt = earlier.map(|(_, dt)| dt).or(side.runtime_s).filter(|dt| *dt > 0.0);
            let mut row = out.row(&load::TABLE, t, dt);
            row.str(load::generator, "fio").str(load::operation, operation.as_str());
            if let Some((earlier, dt)) = earlier {
                let rate = |now: Option<f64>, then: Option<f64>| {
                    now.zip(then).map(|(now, then)| (now - then) / dt).filter(|rate| *rate >= 0.0)
                };
                row.f64(load::transactions_per_s, rate(side.ios, earlier.ios));
                row.f64(load::transfer_bytes_per_s, rate(side.bytes, earlier.bytes));
                continue;
            }
            row.f64(load::transactions_per_s, side.iops).f64(load::transfer_bytes_per_s, side.bytes_per_s);
            let columns = [load::latency_mean_ms, load::latency_sd_ms, load::latency_min_ms, load::latency_max_ms];
            for (column, value) in columns.into_iter().zip(side.latency) {
                row.f64(column, value);
            }
            for (percent, ms) in &side.percentiles {
                if let Some(column) = percentile_column(*percent).filter(|c| *c != load::latency_max_ms) {
                    row.f64(column, *ms);
                }
            }
        }
    }
}

fn latency(side: &Side, operation: &str, out: &mut Out<'_>, results: &mut Results) {
    let names = [names::LATENCY_MEAN, names::LATENCY_SD, names::LATENCY_MIN, names::LATENCY_MAX];
    for (name, value) in names.into_iter().zip(side.latency) {
        results.of(out, name, operation, value);
    }
    for (percent, ms) in side.percentiles.iter().filter(|(percent, _)| *percent < 100.0) {
        results.percentile(out, *percent, operation, *ms);
    }
}
