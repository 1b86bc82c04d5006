//! Cost per transaction: metrics of a run divided by its transaction rate.

use std::collections::BTreeMap;

use fenxi_model::{Kind, Unit, table};

use crate::group::{Metric, RunSummary};

/// Turns the metrics of a run into what one transaction takes of each: rates are divided by the rate of
/// transactions, shares of all CPUs become CPU seconds. Metrics that are neither are left out.
///
/// `name` defines what a transaction is: `result.NAME`, a number of them or a rate of the run's own
/// results, or `TABLE.COLUMN`, a rate that was recorded. None when the run has no such rate above 0.
pub fn per_transaction(run: &RunSummary, name: &str) -> Option<BTreeMap<Metric, f64>> {
    let rate = rate(run, name).filter(|rate| *rate > 0.0)?;
    let cpus = run.value("sched", "cpus_online");
    let cost = |metric: &Metric, value: f64| match unit_of_cost(metric)? {
        Unit::Seconds if metric.table == "cpu" => {
            // A row of one CPU is a share of that one.
            let of = if metric.key.contains("cpu=") { Some(1.0) } else { cpus };
            Some(value / 100.0 * of? / rate)
        }
        _ => Some(value / rate),
    };
    Some(run.metrics.iter().filter_map(|(metric, value)| Some((metric.clone(), cost(metric, *value)?))).collect())
}

/// The unit of a metric per transaction; None for one that has no such cost.
pub(crate) fn unit_of_cost(metric: &Metric) -> Option<Unit> {
    let table = table(&metric.table)?;
    let column = &table.columns[table.index_of(&metric.column)?];
    match (column.kind, column.unit) {
        (Kind::Rate, Unit::BytesPerS) => Some(Unit::Bytes),
        (Kind::Rate, Unit::CpuSecondsPerS | Unit::SecondsPerS) => Some(Unit::Seconds),
        (Kind::Rate, _) => Some(Unit::Count),
        (Kind::Percent, Unit::Percent) if metric.table == "cpu" => Some(Unit::Seconds),
        _ => None,
    }
}

/// Transactions per second.
fn rate(run: &RunSummary, name: &str) -> Option<f64> {
    let (table, column) = name.split_once('.').unwrap_or(("result", name));
    if table != "result" {
        return run.value(table, column);
    }
    let outcome = run.results.get(column)?;
    if outcome.unit.ends_with("/s") {
        return Some(outcome.value);
    }
    // Seconds and bytes are no transactions.
    if Unit::from_symbol(&outcome.unit) != Unit::None {
        return None;
    }
    // A number of transactions is that of the whole command.
    let seconds = run.results.get("elapsed").filter(|o| o.unit == "s").map_or(run.seconds, |o| o.value);
    Some(outcome.value / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Outcome;
    use fenxi_model::Better;

    #[test]
    fn costs_are_as_calculated_by_hand() {
        let metric = |table: &str, column: &str| Metric {
            table: table.to_owned(),
            key: String::new(),
            column: column.to_owned(),
        };
        let outcome = |value: f64, unit: &str| Outcome { value, unit: unit.to_owned(), better: Better::Higher };
        let run = RunSummary {
            seconds: 99.0,
            metrics: [
                (metric("cpu", "usr"), 50.0),
                (metric("sched", "cpus_online"), 4.0),
                (metric("sched", "context_switches_per_s"), 3000.0),
                (metric("mem", "free_bytes"), 1e9),
            ]
            .into(),
            results: [
                ("transactions".to_owned(), outcome(60_000.0, "")),
                ("elapsed".to_owned(), outcome(60.0, "s")),
                ("throughput".to_owned(), outcome(500.0, "/s")),
            ]
            .into(),
            ..RunSummary::default()
        };
        // 60,000 in 60 s: 1,000 a second; two of four CPUs busy: 2 CPU seconds for 1,000.
        let costs = per_transaction(&run, "result.transactions").unwrap();
        assert_eq!(costs.get(&metric("cpu", "usr")), Some(&0.002));
        assert_eq!(costs.get(&metric("sched", "context_switches_per_s")), Some(&3.0));
        assert_eq!(costs.len(), 2);
        let costs = per_transaction(&run, "throughput").unwrap();
        assert_eq!(costs.get(&metric("cpu", "usr")), Some(&0.004));
        assert_eq!(per_transaction(&run, "load.transactions_per_s"), None);
        assert_eq!(per_transaction(&run, "elapsed"), None);
    }
}
