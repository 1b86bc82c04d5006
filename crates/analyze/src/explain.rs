//! Decomposition of a change of latency or elapsed time into parts that add up to it.

use fenxi_model::Unit;

use crate::{
    group::{Metric, RunSummary},
    sample::mean,
};

/// A part of a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What the time was spent on.
    pub name: &'static str,
    /// Its mean in each group, in the unit of the whole.
    pub means: (f64, f64),
}

/// A time split into parts that add up to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// What is split: `elapsed`, `latency`.
    pub what: &'static str,
    /// The unit of all its numbers.
    pub unit: Unit,
    /// Its mean in each group.
    pub means: (f64, f64),
    /// The parts; the last one is the residual.
    pub parts: Vec<Part>,
}

/// What no part accounts for.
const RESIDUAL: &str = "other (residual)";

/// Splits the mean latency of a transaction, or else the elapsed time of a command, of both groups. None
/// where some run shows neither, or no part of it.
///
/// Of latency each part is what the whole machine spent on it per second, divided by the transactions of
/// a second (Little's law makes that time per transaction). Of elapsed time the parts are the CPU times
/// of the command. In either the residual is what remains: waiting that no counter shows where it is
/// positive; where it is negative, time that other work or parallel threads spent meanwhile.
pub fn explain(a: &[RunSummary], b: &[RunSummary]) -> Option<Split> {
    split(a, b, "latency", Unit::Milliseconds, latency).or_else(|| split(a, b, "elapsed", Unit::Seconds, elapsed))
}

/// A time and its parts, None where unknown.
type Known = (f64, Vec<(&'static str, Option<f64>)>);

fn split(
    a: &[RunSummary],
    b: &[RunSummary],
    what: &'static str,
    unit: Unit,
    of: impl Fn(&RunSummary) -> Option<Known>,
) -> Option<Split> {
    let read = |group: &[RunSummary]| group.iter().map(&of).collect::<Option<Vec<Known>>>();
    let (a, b) = (read(a)?, read(b)?);
    let first = a.first()?;
    let whole = |group: &[Known]| mean(&group.iter().map(|(whole, _)| *whole).collect::<Vec<_>>());
    let means = (whole(&a), whole(&b));
    let mut parts = Vec::new();
    for (place, (name, _)) in first.1.iter().enumerate() {
        let part = |group: &[Known]| -> Option<f64> {
            let values = group.iter().map(|(_, parts)| parts.get(place)?.1).collect::<Option<Vec<f64>>>()?;
            Some(mean(&values))
        };
        if let (Some(of_a), Some(of_b)) = (part(&a), part(&b)) {
            parts.push(Part { name, means: (of_a, of_b) });
        }
    }
    if parts.is_empty() || !means.0.is_finite() || !means.1.is_finite() {
        return None;
    }
    let sum = |pick: fn(&Part) -> f64| parts.iter().map(pick).sum::<f64>();
    let rest = (means.0 - sum(|p| p.means.0), means.1 - sum(|p| p.means.1));
    parts.push(Part { name: RESIDUAL, means: rest });
    Some(Split { what, unit, means, parts })
}

/// The mean latency of a transaction in milliseconds.
fn latency(run: &RunSummary) -> Option<Known> {
    let whole = run.value("load", "latency_mean_ms")?;
    let rate = run.value("load", "transactions_per_s").filter(|rate| *rate > 0.0)?;
    let per_transaction = |seconds: f64| 1e3 * seconds / rate;
    let cpus = run.value("sched", "cpus_online");
    let busy = |columns: &[&str]| -> Option<f64> {
        let share: f64 = columns.iter().filter_map(|c| run.value("cpu", c)).sum();
        run.value("cpu", "usr")?;
        Some(per_transaction(share / 100.0 * cpus?))
    };
    let locks: Vec<f64> = run.metrics.iter().filter(|(m, _)| is_lock_wait(m)).map(|(_, v)| *v).collect();
    Some((
        whole,
        vec![
            ("on CPU, user", busy(&["usr", "nice"])),
            ("on CPU, system", busy(&["sys", "irq", "softirq"])),
            ("waiting for a CPU", run.value("sched", "run_queue_wait").map(per_transaction)),
            ("disk I/O", disk_seconds(run).map(per_transaction)),
            ("locks", (!locks.is_empty()).then(|| per_transaction(locks.iter().sum()))),
        ],
    ))
}

fn is_lock_wait(metric: &Metric) -> bool {
    let lock = || metric.key.to_ascii_lowercase().contains("lock");
    metric.table == "db_wait" && metric.column == "time" && lock()
}

/// Seconds per second that requests spent at all disks: their number in flight.
fn disk_seconds(run: &RunSummary) -> Option<f64> {
    let mut found = None;
    for (metric, value) in run.metrics.iter().filter(|(m, _)| m.table == "disk") {
        let (await_of, rate_of) = match metric.column.as_str() {
            "reads_per_s" => ("read_await_ms", *value),
            "writes_per_s" => ("write_await_ms", *value),
            _ => continue,
        };
        let wait = run.metrics.get(&Metric { column: await_of.to_owned(), ..metric.clone() });
        *found.get_or_insert(0.0) += rate_of * wait.copied().unwrap_or(0.0) / 1e3;
    }
    found
}

/// The elapsed time of a command in seconds.
fn elapsed(run: &RunSummary) -> Option<Known> {
    let result = |name: &str| run.results.get(name).filter(|o| o.unit == "s").map(|o| o.value);
    let whole = result("elapsed")?;
    Some((whole, vec![("on CPU, user", result("user_time")), ("on CPU, system", result("system_time"))]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Outcome;
    use fenxi_model::Better;

    #[test]
    fn the_parts_of_a_command_add_up_to_its_elapsed_time() {
        let run = |elapsed: f64, user: f64, system: f64| {
            let outcome = |value| Outcome { value, unit: "s".to_owned(), better: Better::Lower };
            let results = [("elapsed", elapsed), ("user_time", user), ("system_time", system)];
            RunSummary {
                results: results.into_iter().map(|(name, v)| (name.to_owned(), outcome(v))).collect(),
                ..RunSummary::default()
            }
        };
        let split = explain(&[run(10.0, 6.0, 1.0), run(12.0, 8.0, 1.0)], &[run(15.0, 7.0, 2.0)]).unwrap();
        assert_eq!((split.what, split.means), ("elapsed", (11.0, 15.0)));
        let parts: Vec<_> = split.parts.iter().map(|p| (p.name, p.means)).collect();
        assert_eq!(
            parts,
            [("on CPU, user", (7.0, 7.0)), ("on CPU, system", (1.0, 2.0)), ("other (residual)", (3.0, 6.0))]
        );
        assert_eq!(explain(&[run(1.0, 1.0, 0.0)], &[RunSummary::default()]), None);
    }

    #[test]
    fn latency_is_split_by_what_the_machine_spent_on_a_transaction() {
        let metric = |table: &str, key: &str, column: &str, value: f64| {
            (Metric { table: table.to_owned(), key: key.to_owned(), column: column.to_owned() }, value)
        };
        let run = RunSummary {
            metrics: [
                metric("load", "generator=sysbench", "latency_mean_ms", 20.0),
                metric("load", "generator=sysbench", "transactions_per_s", 400.0),
                metric("cpu", "", "usr", 60.0),
                metric("cpu", "", "sys", 20.0),
                metric("sched", "", "cpus_online", 4.0),
                metric("disk", "device=sda", "writes_per_s", 800.0),
                metric("disk", "device=sda", "write_await_ms", 2.0),
            ]
            .into(),
            ..RunSummary::default()
        };
        let split = explain(std::slice::from_ref(&run), std::slice::from_ref(&run)).unwrap();
        let parts: Vec<_> = split.parts.iter().map(|p| (p.name, (p.means.0 * 1e6).round() / 1e6)).collect();
        // 2.4 CPUs of user time for 400 a second are 6 ms each; 1.6 requests in flight are 4 ms each.
        let expected = [("on CPU, user", 6.0), ("on CPU, system", 2.0), ("disk I/O", 4.0), ("other (residual)", 8.0)];
        assert_eq!((split.what, parts), ("latency", expected.to_vec()));
    }
}
