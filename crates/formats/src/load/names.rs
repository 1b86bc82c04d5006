//! One naming of results over all load generators, so that runs of different tools compare.
//!
//! A result of one of several operations is called `name[operation]`, one of a later report in the
//! same input `name#2`, one of a checkpoint `name@30s`.

use fenxi_model::{Place, catalog::load, place::F64};

use crate::Out;

/// A result that load generators report: what it is called, its unit, which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    name: &'static str,
    unit: &'static str,
    better: &'static str,
}

impl Name {
    /// In which unit it is.
    pub(crate) fn unit(self) -> &'static str {
        self.unit
    }

    /// Which direction is good: `higher`, `lower` or `neither`.
    pub(crate) fn better(self) -> &'static str {
        self.better
    }

    /// Whether it is a time that something took.
    pub(super) fn is_time(self) -> bool {
        matches!(self.unit, "ms" | "s")
    }
}

pub(super) const fn higher(name: &'static str, unit: &'static str) -> Name {
    Name { name, unit, better: "higher" }
}

pub(super) const fn lower(name: &'static str, unit: &'static str) -> Name {
    Name { name, unit, better: "lower" }
}

pub(super) const fn neither(name: &'static str, unit: &'static str) -> Name {
    Name { name, unit, better: "neither" }
}

/// Transactions per second: of a database its transactions, of a web server its requests, of a
/// disk its operations.
pub const THROUGHPUT: Name = higher("throughput", "/s");
/// New orders per minute, of TPC-C and its kin.
pub const NEW_ORDERS: Name = higher("new_orders_per_min", "/min");
/// All of a database's transactions per minute.
pub const TPM: Name = higher("transactions_per_min", "/min");
/// Statements or requests per second, where a transaction has several.
pub const REQUESTS_PER_S: Name = higher("requests_per_s", "/s");
/// Transactions completed.
pub const TRANSACTIONS: Name = neither("transactions", "");
/// Statements or requests completed, where a transaction has several.
pub const REQUESTS: Name = neither("requests", "");
/// Reads completed.
pub const READS: Name = neither("reads", "");
/// Writes completed.
pub const WRITES: Name = neither("writes", "");
/// Other operations completed.
pub const OTHERS: Name = neither("others", "");
/// Reads per second.
pub const READS_PER_S: Name = higher("reads_per_s", "/s");
/// Writes per second.
pub const WRITES_PER_S: Name = higher("writes_per_s", "/s");
/// Syncs to disk per second.
pub const SYNCS_PER_S: Name = higher("syncs_per_s", "/s");
/// Bytes moved.
pub const TRANSFER_BYTES: Name = neither("transfer_bytes", "B");
/// Bytes moved per second.
pub const TRANSFER_BYTES_PER_S: Name = higher("transfer_bytes_per_s", "B/s");
/// Bytes read per second.
pub const READ_BYTES_PER_S: Name = higher("read_bytes_per_s", "B/s");
/// Bytes written per second.
pub const WRITE_BYTES_PER_S: Name = higher("write_bytes_per_s", "B/s");
/// Length of the run.
pub const ELAPSED: Name = neither("elapsed", "s");
/// Shortest of several runs.
pub const ELAPSED_MIN: Name = neither("elapsed_min", "s");
/// Longest of several runs.
pub const ELAPSED_MAX: Name = neither("elapsed_max", "s");
/// Connections, threads or users.
pub const CLIENTS: Name = neither("clients", "");
/// Mean number of transactions under way.
pub const CONCURRENCY: Name = neither("concurrency", "");
/// Threads of the generator that serve the clients.
pub const THREADS: Name = neither("threads", "");
/// Transactions per second that were asked for.
pub const OFFERED_PER_S: Name = neither("offered_per_s", "/s");
/// Transactions that failed.
pub const ERRORS: Name = lower("errors", "");
/// Transactions per second that failed.
pub const ERRORS_PER_S: Name = lower("errors_per_s", "/s");
/// Share of transactions that failed.
pub const ERROR_SHARE: Name = lower("error_share", "%");
/// Transactions or statements that were tried again.
pub const RETRIES: Name = lower("retries", "");
/// Transactions left out because they were too late to begin.
pub const SKIPPED: Name = lower("skipped", "");
/// Transactions slower than the limit that was set.
pub const OVER_LIMIT: Name = lower("over_limit", "");
/// Connections that had to be made anew.
pub const RECONNECTS: Name = lower("reconnects", "");
/// Connections per second that had to be made anew.
pub const RECONNECTS_PER_S: Name = lower("reconnects_per_s", "/s");
/// Mean latency.
pub const LATENCY_MEAN: Name = lower("latency_mean", "ms");
/// Standard deviation of the latency.
pub const LATENCY_SD: Name = lower("latency_sd", "ms");
/// Shortest latency.
pub const LATENCY_MIN: Name = lower("latency_min", "ms");
/// Longest latency.
pub const LATENCY_MAX: Name = lower("latency_max", "ms");
/// Time until all clients were connected.
pub const CONNECT_TIME: Name = lower("connect_time", "ms");
/// Mean time to connect.
pub const CONNECT_MEAN: Name = lower("connect_mean", "ms");
/// Mean time by which transactions began later than planned.
pub const LAG_MEAN: Name = lower("lag_mean", "ms");
/// Longest time by which a transaction began later than planned.
pub const LAG_MAX: Name = lower("lag_max", "ms");
/// Time within transactions, all clients together.
pub const BUSY: Name = neither("busy", "s");
/// Mean number of transactions of one client.
pub const CLIENT_TRANSACTIONS_MEAN: Name = neither("client_transactions_mean", "");
/// Standard deviation of the numbers of transactions of the clients: how unfair the server was.
pub const CLIENT_TRANSACTIONS_SD: Name = lower("client_transactions_sd", "");
/// Mean time within transactions of one client.
pub const CLIENT_BUSY_MEAN: Name = neither("client_busy_mean", "s");
/// Standard deviation of the times within transactions of the clients.
pub const CLIENT_BUSY_SD: Name = lower("client_busy_sd", "s");

/// Mean length of several runs.
pub const ELAPSED_MEAN: Name = lower("elapsed_mean", "s");
/// Median length of several runs.
pub const ELAPSED_MEDIAN: Name = lower("elapsed_median", "s");
/// Standard deviation of the lengths of several runs.
pub const ELAPSED_SD: Name = lower("elapsed_sd", "s");
/// Mean CPU time in user code of one run.
pub const USER_MEAN: Name = lower("user_mean", "s");
/// Mean CPU time in the kernel of one run.
pub const SYSTEM_MEAN: Name = lower("system_mean", "s");
/// Number of runs, or of calls of what is measured.
pub const ITERATIONS: Name = neither("iterations", "");
/// Elapsed time of one operation in a microbenchmark.
pub const TIME_PER_OP: Name = lower("time_per_op", "s");
/// CPU time of one operation in a microbenchmark.
pub const CPU_TIME_PER_OP: Name = lower("cpu_time_per_op", "s");
/// Bytes allocated by one operation.
pub const ALLOC_BYTES_PER_OP: Name = lower("alloc_bytes_per_op", "B");
/// Allocations of one operation.
pub const ALLOCS_PER_OP: Name = lower("allocs_per_op", "");
/// TCP segments sent again.
pub const RETRANSMITS: Name = lower("retransmits", "");
/// Share of datagrams that did not arrive.
pub const LOST_SHARE: Name = lower("lost_share", "%");
/// Mean variation of the delay of datagrams.
pub const JITTER: Name = lower("jitter", "ms");
/// CPU used by this side, of all its CPUs.
pub const CPU_LOCAL: Name = lower("cpu_local", "%");
/// CPU used by the other side, of all its CPUs.
pub const CPU_REMOTE: Name = lower("cpu_remote", "%");

/// All of them, for descriptions, which name them.
const ALL: &[Name] = &[
    THROUGHPUT,
    NEW_ORDERS,
    TPM,
    REQUESTS_PER_S,
    TRANSACTIONS,
    REQUESTS,
    READS,
    WRITES,
    OTHERS,
    READS_PER_S,
    WRITES_PER_S,
    SYNCS_PER_S,
    TRANSFER_BYTES,
    TRANSFER_BYTES_PER_S,
    READ_BYTES_PER_S,
    WRITE_BYTES_PER_S,
    ELAPSED,
    ELAPSED_MIN,
    ELAPSED_MAX,
    CLIENTS,
    CONCURRENCY,
    THREADS,
    OFFERED_PER_S,
    ERRORS,
    ERRORS_PER_S,
    ERROR_SHARE,
    RETRIES,
    SKIPPED,
    OVER_LIMIT,
    RECONNECTS,
    RECONNECTS_PER_S,
    LATENCY_MEAN,
    LATENCY_SD,
    LATENCY_MIN,
    LATENCY_MAX,
    CONNECT_TIME,
    CONNECT_MEAN,
    LAG_MEAN,
    LAG_MAX,
    BUSY,
    CLIENT_TRANSACTIONS_MEAN,
    CLIENT_TRANSACTIONS_SD,
    CLIENT_BUSY_MEAN,
    CLIENT_BUSY_SD,
    ELAPSED_MEAN,
    ELAPSED_MEDIAN,
    ELAPSED_SD,
    USER_MEAN,
    SYSTEM_MEAN,
    ITERATIONS,
    TIME_PER_OP,
    CPU_TIME_PER_OP,
    ALLOC_BYTES_PER_OP,
    ALLOCS_PER_OP,
    RETRANSMITS,
    LOST_SHARE,
    JITTER,
    CPU_LOCAL,
    CPU_REMOTE,
];

/// The result that is called `name`.
pub(crate) fn named(name: &str) -> Option<Name> {
    ALL.iter().copied().find(|known| known.name == name)
}

/// Names of the results.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|known| known.name)
}

/// The name under which distributions of latency are kept.
pub const LATENCY_BUCKETS: &str = "latency_ms";

/// Writes the results of one report.
#[derive(Clone, Debug, Default)]
pub struct Results {
    suffix: String,
    name: String,
}

impl Results {
    /// Results of the report numbered `number` from 1.
    pub fn nth(number: u32) -> Results {
        Results::with(if number > 1 { format!("#{number}") } else { String::new() })
    }

    /// Results whose names end in `suffix`.
    pub fn with(suffix: String) -> Results {
        Results { suffix, name: String::new() }
    }

    /// Writes one result, if there is a value.
    pub fn set(&mut self, out: &mut Out<'_>, what: Name, value: impl Into<Option<f64>>) {
        self.of(out, what, "", value);
    }

    /// Writes one result of `operation`, empty for all together.
    pub fn of(&mut self, out: &mut Out<'_>, what: Name, operation: &str, value: impl Into<Option<f64>>) {
        self.named(out, what.name, operation, value.into(), what.unit, what.better);
    }

    /// Writes a percentile of the latency in milliseconds; `percent` 100 is the maximum, 0 the minimum.
    pub fn percentile(&mut self, out: &mut Out<'_>, percent: f64, operation: &str, ms: impl Into<Option<f64>>) {
        let name = format!("latency_{}", percentile_name(percent));
        self.named(out, &name, operation, ms.into(), "ms", "lower");
    }

    /// Writes a result that only one tool knows.
    pub fn other(&mut self, out: &mut Out<'_>, name: &str, value: impl Into<Option<f64>>, unit: &str) {
        self.named(out, name, "", value.into(), unit, "neither");
    }

    /// Writes a figure of `operation` that is derived from `what`: its mean, its standard deviation.
    pub fn derived(&mut self, out: &mut Out<'_>, what: Name, of: &str, operation: &str, value: impl Into<Option<f64>>) {
        let end = if of == "stddev" { "sd" } else { of };
        let name = if of.is_empty() { what.name.to_owned() } else { format!("{}_{end}", what.name) };
        let unit = if of == "cv" { "%" } else { what.unit };
        // Of anything, less spread is better.
        let better = if matches!(end, "sd" | "cv" | "mad") { "lower" } else { what.better };
        self.named(out, &name, operation, value.into(), unit, better);
    }

    /// Writes a result of `operation` that only one tool knows; `better` is `higher`, `lower` or `neither`.
    pub fn named(
        &mut self,
        out: &mut Out<'_>,
        name: &str,
        operation: &str,
        value: Option<f64>,
        unit: &str,
        better: &str,
    ) {
        let Some(value) = value else { return };
        self.name.clear();
        self.name.push_str(name);
        if !operation.is_empty() {
            self.name.push('[');
            self.name.push_str(operation);
            self.name.push(']');
        }
        self.name.push_str(&self.suffix);
        out.result(&self.name, value, unit, better);
    }
}

/// `p50`, `p95`, `p999`; `max` for 100 and `min` for 0.
pub fn percentile_name(percent: f64) -> String {
    if percent >= 100.0 {
        "max".to_owned()
    } else if percent <= 0.0 {
        "min".to_owned()
    } else {
        // Shortest digits that give the same number: 99.9, 99.99.
        let digits = percent.to_string();
        format!("p{}", digits.replace('.', ""))
    }
}

/// The column of `load` for a percentile of the latency, if there is one.
pub fn percentile_column(percent: f64) -> Option<Place<load::Schema, F64>> {
    let columns = [
        (0.0, load::latency_min_ms),
        (50.0, load::latency_p50_ms),
        (90.0, load::latency_p90_ms),
        (95.0, load::latency_p95_ms),
        (99.0, load::latency_p99_ms),
        (99.9, load::latency_p999_ms),
        (100.0, load::latency_max_ms),
    ];
    columns.iter().find(|(p, _)| (p - percent).abs() < 1e-6).map(|(_, column)| *column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_one_name_each() {
        let names: Vec<_> = [0.0, 50.0, 99.0, 99.9, 99.99, 100.0].map(percentile_name).into_iter().collect();
        assert_eq!(names, ["min", "p50", "p99", "p999", "p9999", "max"]);
        assert_eq!(percentile_column(99.9), Some(load::latency_p999_ms));
        assert_eq!(percentile_column(75.0), None);
    }
}
