//! Report of a load: a line per interval, the summary, rows and results of a run. Everything here returns what it
//! makes; nothing prints.

use std::fmt::Write as _;

use fenxi_model::{
    Micros, Rows,
    catalog::{histogram, load, result},
    visible,
};
use serde::Serialize;

use crate::{
    engine::{Interval, Outcome},
    server::Usage,
    tally::{Latencies, Tally},
};

/// The name of this generator in tables.
pub const GENERATOR: &str = "fenxi";

/// Percentiles that are reported.
const PERCENTILES: &[(f64, &str)] =
    &[(0.50, "p50"), (0.90, "p90"), (0.95, "p95"), (0.99, "p99"), (0.999, "p999"), (0.9999, "p9999")];

/// Latencies in milliseconds; None where nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean_ms: Option<f64>,
    /// Standard deviation.
    pub sd_ms: Option<f64>,
    /// Shortest.
    pub min_ms: Option<f64>,
    /// Percentiles.
    pub p50_ms: Option<f64>,
    /// As `p50_ms`.
    pub p90_ms: Option<f64>,
    /// As `p50_ms`.
    pub p95_ms: Option<f64>,
    /// As `p50_ms`.
    pub p99_ms: Option<f64>,
    /// As `p50_ms`.
    pub p999_ms: Option<f64>,
    /// As `p50_ms`.
    pub p9999_ms: Option<f64>,
    /// Longest.
    pub max_ms: Option<f64>,
}

impl Spread {
    /// Of a histogram.
    pub fn from_latencies(latencies: &Latencies) -> Spread {
        if latencies.is_empty() {
            return Spread::default();
        }
        let ms = |ns: f64| Some(ns / 1e6);
        let at = |quantile| ms(latencies.value_at_quantile(quantile) as f64);
        let [p50_ms, p90_ms, p95_ms, p99_ms, p999_ms, p9999_ms] = [0, 1, 2, 3, 4, 5].map(|i| at(PERCENTILES[i].0));
        Spread {
            mean_ms: ms(latencies.mean()),
            sd_ms: ms(latencies.stdev()),
            min_ms: ms(latencies.min() as f64),
            p50_ms,
            p90_ms,
            p95_ms,
            p99_ms,
            p999_ms,
            p9999_ms,
            max_ms: ms(latencies.max() as f64),
        }
    }

    /// The values with their names, as they are in results.
    pub(crate) fn named(&self) -> [(&'static str, Option<f64>); 10] {
        [
            ("mean", self.mean_ms),
            ("sd", self.sd_ms),
            ("min", self.min_ms),
            ("p50", self.p50_ms),
            ("p90", self.p90_ms),
            ("p95", self.p95_ms),
            ("p99", self.p99_ms),
            ("p999", self.p999_ms),
            ("p9999", self.p9999_ms),
            ("max", self.max_ms),
        ]
    }
}

/// An interval in numbers: small, however long a run is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Seconds after the beginning.
    pub begin_s: f64,
    /// As `begin_s`.
    pub end_s: f64,
    /// True if it is not part of the total.
    pub warmup: bool,
    /// Connections that were logged in at its end.
    pub connected: u64,
    /// The rate asked for.
    pub offered_per_s: Option<f64>,
    /// Transactions completed.
    pub transactions_per_s: f64,
    /// Statements.
    pub statements_per_s: f64,
    /// Of those, reads.
    pub reads_per_s: f64,
    /// Of those, writes.
    pub writes_per_s: f64,
    /// Of those, others.
    pub others_per_s: f64,
    /// Rows that came.
    pub rows_per_s: f64,
    /// Errors of all kinds.
    pub errors_per_s: f64,
    /// Transactions abandoned.
    pub failed_per_s: f64,
    /// Further attempts.
    pub retries_per_s: f64,
    /// Reconnects.
    pub reconnects_per_s: f64,
    /// Transactions that are due and have no connection, at its end.
    pub waiting: u64,
    /// From the intended start.
    pub latency: Spread,
    /// From the real start.
    pub service: Spread,
    /// How late the driver was.
    pub lag: Spread,
    /// Microseconds of the driver's CPU time for a transaction.
    pub client_cpu_us: Option<f64>,
}

impl Summary {
    /// Of an interval.
    pub fn from_interval(interval: &Interval) -> Summary {
        let tally = &interval.tally;
        let per_s = |count: u64| interval.per_s(count);
        Summary {
            begin_s: interval.begin_s,
            end_s: interval.end_s,
            warmup: interval.warmup,
            connected: tally.connected,
            offered_per_s: interval.offered_per_s,
            transactions_per_s: per_s(tally.transactions),
            statements_per_s: per_s(tally.statements()),
            reads_per_s: per_s(tally.reads),
            writes_per_s: per_s(tally.writes),
            others_per_s: per_s(tally.others),
            rows_per_s: per_s(tally.rows),
            errors_per_s: per_s(tally.error_count()),
            failed_per_s: per_s(tally.failed),
            retries_per_s: per_s(tally.retries),
            reconnects_per_s: per_s(tally.reconnects),
            waiting: tally.waiting,
            latency: Spread::from_latencies(&tally.latency),
            service: Spread::from_latencies(&tally.service),
            lag: Spread::from_latencies(&tally.lag),
            client_cpu_us: client_cpu_us(tally),
        }
    }

    /// A line for a person who watches.
    pub fn line(&self) -> String {
        let ms = |value: Option<f64>| value.map_or("-".to_owned(), |ms| format!("{ms:.2}"));
        let mut line = format!(
            "[ {:.0}s ] conn: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms): mean {} p50 {} p95 {} p99 {} max {} lag {} err/s: {:.2} reconn/s: {:.2}",
            self.end_s,
            self.connected,
            self.transactions_per_s,
            self.statements_per_s,
            self.reads_per_s,
            self.writes_per_s,
            self.others_per_s,
            ms(self.latency.mean_ms),
            ms(self.latency.p50_ms),
            ms(self.latency.p95_ms),
            ms(self.latency.p99_ms),
            ms(self.latency.max_ms),
            ms(self.lag.mean_ms),
            self.errors_per_s,
            self.reconnects_per_s,
        );
        if let Some(offered) = self.offered_per_s {
            // Writing to a string cannot fail.
            let _ = write!(line, " offered: {offered:.2} waiting: {}", self.waiting);
        }
        if self.warmup {
            line.push_str(" warm-up");
        }
        line
    }

    /// A row of the table `load`.
    pub fn row(&self, rows: &mut Rows, t: Micros) {
        let mut row = rows.row(&load::TABLE, t, self.end_s - self.begin_s);
        row.str(load::generator, GENERATOR);
        for (place, value) in [
            (load::clients, Some(self.connected as f64)),
            (load::offered_per_s, self.offered_per_s),
            (load::transactions_per_s, Some(self.transactions_per_s)),
            (load::requests_per_s, Some(self.statements_per_s)),
            (load::reads_per_s, Some(self.reads_per_s)),
            (load::writes_per_s, Some(self.writes_per_s)),
            (load::others_per_s, Some(self.others_per_s)),
            (load::errors_per_s, Some(self.errors_per_s)),
            (load::retries_per_s, Some(self.retries_per_s)),
            (load::reconnects_per_s, Some(self.reconnects_per_s)),
            (load::latency_mean_ms, self.latency.mean_ms),
            (load::latency_sd_ms, self.latency.sd_ms),
            (load::latency_min_ms, self.latency.min_ms),
            (load::latency_p50_ms, self.latency.p50_ms),
            (load::latency_p90_ms, self.latency.p90_ms),
            (load::latency_p95_ms, self.latency.p95_ms),
            (load::latency_p99_ms, self.latency.p99_ms),
            (load::latency_p999_ms, self.latency.p999_ms),
            (load::latency_max_ms, self.latency.max_ms),
            (load::lag_ms, self.lag.mean_ms),
            (load::queue_length, self.offered_per_s.map(|_| self.waiting as f64)),
        ] {
            row.f64(place, value);
        }
    }
}

fn client_cpu_us(tally: &Tally) -> Option<f64> {
    (tally.transactions > 0).then(|| tally.cpu_ns as f64 / 1e3 / tally.transactions as f64)
}

/// A result of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its name; the same as that of other generators' results.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Which direction is good: `higher`, `lower` or `neither`.
    pub better: &'static str,
}

/// The results of a run.
pub fn figures(outcome: &Outcome) -> Vec<Figure> {
    let tally = &outcome.total.tally;
    let mut figures = Vec::new();
    let mut add = |name: &str, value: Option<f64>, unit, better| {
        figures.extend(value.map(|value| Figure { name: name.to_owned(), value, unit, better }));
    };
    let per_s = |count: u64| Some(outcome.total.per_s(count));
    let count = |count: u64| Some(count as f64);
    add("throughput", per_s(tally.transactions), "/s", "higher");
    add("requests_per_s", per_s(tally.statements()), "/s", "higher");
    add("offered_per_s", outcome.total.offered_per_s, "/s", "neither");
    add("elapsed", Some(outcome.total.end_s - outcome.total.begin_s), "s", "neither");
    add("clients", count(tally.connected), "", "neither");
    add("transactions", count(tally.transactions), "", "neither");
    add("requests", count(tally.statements()), "", "neither");
    add("reads", count(tally.reads), "", "neither");
    add("writes", count(tally.writes), "", "neither");
    add("others", count(tally.others), "", "neither");
    add("errors", count(tally.failed), "", "lower");
    add("retries", count(tally.retries), "", "lower");
    add("reconnects", count(tally.reconnects), "", "lower");
    add("skipped", outcome.total.offered_per_s.map(|_| outcome.unstarted as f64), "", "lower");
    for (prefix, spread) in
        [("latency", Spread::from_latencies(&tally.latency)), ("service", Spread::from_latencies(&tally.service))]
    {
        for (name, value) in spread.named() {
            add(&format!("{prefix}_{name}"), value, "ms", "lower");
        }
    }
    let lag = Spread::from_latencies(&tally.lag);
    add("lag_mean", lag.mean_ms, "ms", "lower");
    add("lag_p99", lag.p99_ms, "ms", "lower");
    add("lag_max", lag.max_ms, "ms", "lower");
    add("client_cpu_per_transaction", client_cpu_us(tally).map(|us| us / 1e6), "s", "lower");
    let queued =
        tally.queued_ns.filter(|_| tally.transactions > 0).map(|ns| ns as f64 / 1e9 / tally.transactions as f64);
    add("client_wait_per_transaction", queued, "s", "lower");
    add("client_delay_per_transaction", tally.late_ns().map(|ns| ns / 1e9), "s", "lower");
    let of = |sum: u64, n: u64| (n > 0).then(|| sum as f64 / n as f64);
    let think_ns = of(tally.think_ns, tally.transactions).filter(|ns| *ns > 0.0);
    add("think_time_per_transaction", think_ns.map(|ns| ns / 1e9), "s", "neither");
    add("round_trips_per_transaction", of(tally.round_trips, tally.transactions), "", "neither");
    add("request_bytes", of(tally.message_bytes.0, tally.round_trips), "B", "neither");
    add("reply_bytes", of(tally.message_bytes.1, tally.round_trips), "B", "neither");
    let server = outcome.server.as_ref();
    let each = |amount: fn(&Usage) -> Option<f64>| server.and_then(|used| used.per_transaction(amount(used)?));
    add("server_cpu_per_transaction", each(|used| Some(used.cpu_s)), "s", "lower");
    add("server_wait_per_transaction", each(|used| used.wait_s), "s", "lower");
    add("server_switches_per_transaction", each(|used| Some(used.switches? as f64)), "", "lower");
    add("server_growth_per_transaction", each(|used| Some(used.grown_bytes? as f64)), "B", "lower");
    add("server_memory", server.and_then(|used| Some(used.memory_bytes? as f64)), "B", "lower");
    figures
}

/// Adds a result to rows.
pub fn figure(figure: &Figure, rows: &mut Rows) {
    let mut row = rows.row(&result::TABLE, None, None);
    row.str(result::name, figure.name.as_str()).f64(result::value, figure.value);
    row.str(result::unit, Some(figure.unit).filter(|unit| !unit.is_empty()));
    row.str(result::better, figure.better).str(result::source, GENERATOR);
}

/// Adds results and histograms of a run to its rows; what casts doubt on them becomes a note.
pub fn rows(outcome: &Outcome, rows: &mut Rows) {
    figures(outcome).iter().for_each(|one| figure(one, rows));
    let tally = &outcome.total.tally;
    for (name, latencies) in [("latency_ms", &tally.latency), ("service_ms", &tally.service), ("lag_ms", &tally.lag)] {
        for value in latencies.iter_recorded() {
            let highest = value.value_iterated_to();
            let (lo, hi) = (latencies.lowest_equivalent(highest), latencies.next_non_equivalent(highest));
            let mut row = rows.row(&histogram::TABLE, None, None);
            row.str(histogram::name, name).f64(histogram::lo, lo as f64 / 1e6).f64(histogram::hi, hi as f64 / 1e6);
            row.str(histogram::unit, "ms").f64(histogram::count, value.count_at_value() as f64);
        }
    }
    for doubt in outcome.doubts() {
        rows.note("load", None, &doubt);
    }
    for (failure, (count, example)) in &tally.errors {
        rows.note("load", None, &format!("error {failure}, {count} times: {example}"));
    }
}

/// The summary at the end, in sysbench's form.
pub fn text(outcome: &Outcome) -> String {
    let tally = &outcome.total.tally;
    let per_s = |count: u64| outcome.total.per_s(count);
    let ms = |value: Option<f64>| value.map_or("-".to_owned(), |ms| format!("{ms:.3}"));
    let mut out = String::from("\nSQL statistics:\n    queries performed:\n");
    for (name, count) in
        [("read", tally.reads), ("write", tally.writes), ("other", tally.others), ("total", tally.statements())]
    {
        let _ = writeln!(out, "        {:<33}{count}", format!("{name}:"));
    }
    for (name, count) in [
        ("transactions", tally.transactions),
        ("queries", tally.statements()),
        ("failed transactions", tally.failed),
        ("retries", tally.retries),
        ("reconnects", tally.reconnects),
    ] {
        let _ = writeln!(out, "    {:<37}{count:<6} ({:.2} per sec.)", format!("{name}:"), per_s(count));
    }
    if !tally.errors.is_empty() {
        out.push_str("\nErrors:\n");
        for (failure, (count, example)) in &tally.errors {
            let _ = writeln!(out, "    {:<37}{count:<6} {}", format!("{failure}:"), visible(example));
        }
    }
    out.push_str("\nThroughput:\n");
    if let Some(offered) = outcome.total.offered_per_s {
        let _ = writeln!(out, "    {:<37}{offered:.4}", "offered (transactions/s):");
    }
    let _ = writeln!(out, "    {:<37}{:.4}", "transactions/s:", per_s(tally.transactions));
    let _ = writeln!(out, "    {:<37}{:.4}s", "time elapsed:", outcome.total.end_s - outcome.total.begin_s);
    let _ = writeln!(out, "    {:<37}{}", "total number of events:", tally.transactions);
    let _ = writeln!(out, "\n{:<41}{:>12}{:>12}{:>12}", "Latency (ms):", "latency", "service", "lag");
    let spreads = [&tally.latency, &tally.service, &tally.lag].map(|l| Spread::from_latencies(l).named());
    for ((latency, service), lag) in spreads[0].iter().zip(&spreads[1]).zip(&spreads[2]) {
        let _ = writeln!(
            out,
            "    {:<37}{:>12}{:>12}{:>12}",
            format!("{}:", latency.0),
            ms(latency.1),
            ms(service.1),
            ms(lag.1)
        );
    }
    out.push_str("\nDriver:\n");
    if let Some(us) = client_cpu_us(tally) {
        let _ = writeln!(out, "    {:<37}{us:.2} µs", "CPU time per transaction:");
    }
    if let Some(ns) = tally.late_ns() {
        let _ = writeln!(out, "    {:<37}{:.2} µs", "answers waited per transaction:", ns / 1e3);
    }
    let _ = writeln!(out, "    {:<37}{:.0} %", "busiest thread:", 100.0 * tally.busiest);
    if let Some(used) = &outcome.server {
        server_text(used, &mut out);
    }
    out
}

fn server_text(used: &Usage, out: &mut String) {
    let _ = writeln!(out, "\nServer ({}), per transaction:", used.name);
    let us = |amount: Option<f64>| amount.and_then(|s| used.per_transaction(s * 1e6)).map(|us| format!("{us:.2} µs"));
    let mib = |bytes: f64| format!("{:.1} MiB", bytes / 1_048_576.0);
    let switches = used.switches.and_then(|n| used.per_transaction(n as f64)).map(|n| format!("{n:.2}"));
    let grown = used.grown_bytes.and_then(|n| used.per_transaction(n as f64)).map(|n| format!("{n:.1} B"));
    for (name, value) in [
        ("CPU time:", us(Some(used.cpu_s))),
        ("run-queue wait:", us(used.wait_s)),
        ("context switches:", switches),
        ("memory growth:", grown),
        ("memory at the end, not per transaction:", used.memory_bytes.map(|n| mib(n as f64))),
    ] {
        let _ = writeln!(out, "    {name:<41}{}", value.unwrap_or_else(|| "-".to_owned()));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::policy::Failure;

    /// Two seconds, with an error.
    pub fn interval() -> Interval {
        let mut tally =
            Tally { transactions: 200, reads: 200, others: 400, cpu_ns: 2_000_000, connected: 8, ..Tally::default() };
        for ms in 1..=100 {
            tally.latency.saturating_record(ms * 1_000_000);
        }
        tally.fail(Failure::Lost, || "gone".to_owned());
        Interval { begin_s: 2.0, end_s: 4.0, warmup: false, offered_per_s: Some(100.0), tally }
    }

    fn outcome() -> Outcome {
        Outcome {
            total: interval(),
            drained: Tally::default(),
            unfinished: 0,
            unstarted: 0,
            stopped: None,
            lost: Vec::new(),
            server: Some(Usage {
                name: "postgres".to_owned(),
                transactions: 200,
                cpu_s: 0.04,
                wait_s: Some(0.01),
                switches: None,
                memory_bytes: Some(1 << 20),
                grown_bytes: Some(-400),
            }),
        }
    }

    #[test]
    fn a_summary_has_rates_and_percentiles_and_nothing_where_nothing_was() {
        let summary = Summary::from_interval(&interval());
        assert_eq!((summary.transactions_per_s, summary.statements_per_s), (100.0, 300.0));
        assert!((summary.latency.p95_ms.unwrap() - 95.0).abs() < 0.1 && summary.service == Spread::default());
        assert_eq!(summary.client_cpu_us, Some(10.0));
        assert!(
            summary
                .line()
                .starts_with("[ 4s ] conn: 8 tps: 100.00 qps: 300.00 (r/w/o: 100.00/0.00/200.00) lat (ms): mean 50.5")
        );
    }

    #[test]
    fn a_run_gets_a_row_results_histograms_and_notes() {
        let mut all = Rows::new("host");
        Summary::from_interval(&interval()).row(&mut all, Micros(0));
        rows(&outcome(), &mut all);
        let counts: Vec<_> = all.tables().map(|t| (t.table().name, t.n_rows())).collect();
        let count = |name: &str| counts.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!((count("load"), count("histogram"), count("note")), (1, 100, 1));
        let figures = figures(&outcome());
        assert_eq!((count("result"), figures[0].name.as_str(), figures[0].value), (figures.len(), "throughput", 100.0));
    }

    #[test]
    fn the_text_says_what_was_asked_for_and_what_went_wrong() {
        let text = text(&outcome());
        for message in [
            "transactions:",
            "(100.00 per sec.)",
            "lost:",
            "gone",
            "offered (transactions/s)",
            "CPU time per transaction:",
            "200.00 µs",
            "-2.0 B",
        ] {
            assert!(text.contains(message), "{message}\n{text}");
        }
    }
}
