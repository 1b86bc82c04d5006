//! Validity gate: whether two groups of runs are comparable at all.

use std::collections::BTreeSet;

use crate::{
    group::{Metric, RunSummary, fact_differences},
    sample::mean,
};

/// Something to know before believing a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Whether the comparison has no meaning because of it.
    pub refuses: bool,
    /// What it is.
    pub text: String,
}

/// Results and settings that say how much work there was. Groups that differ in one did not do the same.
const SIZES: [&str; 11] = [
    "scale",
    "scale_factor",
    "scaling_factor",
    "table_size",
    "tables",
    "rows",
    "warehouses",
    "data_size",
    "dataset",
    "record_count",
    "recordcount",
];
/// Those that say how much work was asked for.
const OFFERED: [&str; 6] = ["offered", "offered_rate", "offered_per_s", "target_rate", "rate_limit", "rate"];
/// Share of samples missed from which they are a reservation.
const MISSED: f64 = 0.02;
/// Percent of time stolen by the hypervisor from which it is one.
const STEAL: f64 = 1.0;
/// Percent of the one CPU that a load generator can use from which on it is the limit itself.
const BUSY: f64 = 90.0;
/// Share of the offered rate that may lack; random arrivals alone make some percent over a short run.
const SHORT_OF: f64 = 0.05;
/// Milliseconds by which transactions may begin late.
const LATE_MS: f64 = 10.0;
/// Characters of a fact that is told with its values.
const SHORT: usize = 40;
/// Runs that are called by their names.
const NAMED: usize = 3;
/// Factor between the lengths of runs from which it is one.
const LENGTH: f64 = 1.25;

/// All that speaks against comparing the groups, the worst first.
pub fn gate(a: &[RunSummary], b: &[RunSummary]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut add = |refuses: bool, text: String| reasons.push(Reason { refuses, text });
    work(a, b, &mut add);
    params(a, b, &mut add);
    machines(a, b, &mut add);
    conduct(a, b, &mut add);
    reasons.sort_by_key(|r| !r.refuses);
    reasons
}

/// Data sizes and offered rates.
fn work(a: &[RunSummary], b: &[RunSummary], add: &mut impl FnMut(bool, String)) {
    let names: BTreeSet<&String> = a.iter().chain(b).flat_map(|r| r.results.keys()).collect();
    for name in names {
        let Some(kind) = kind_of_work(name) else { continue };
        let of = |group: &[RunSummary]| {
            mean(&group.iter().filter_map(|r| r.results.get(name)).map(|o| o.value).collect::<Vec<_>>())
        };
        compare_work(kind, name, of(a), of(b), add);
    }
    let facts: BTreeSet<&(String, String)> = a.iter().chain(b).flat_map(|r| r.facts.keys()).collect();
    for fact in facts {
        // What a load generator says of itself has its name before it.
        let own = fact.1.split_once(' ').filter(|_| fact.0 == "load").map_or(fact.1.as_str(), |(_, own)| own);
        let Some(kind) = kind_of_work(own) else { continue };
        let of = |group: &[RunSummary]| values(group, |r| r.facts.get(fact).cloned());
        let (of_a, of_b) = (of(a), of(b));
        if !of_a.is_empty() && !of_b.is_empty() && of_a != of_b {
            add(true, format!("different {kind}: `{}` is {} in A and {} in B", fact.1, words(of_a), words(of_b)));
        }
    }
    let offered =
        |group: &[RunSummary]| mean(&group.iter().filter_map(|r| r.value("load", "offered_per_s")).collect::<Vec<_>>());
    compare_work("offered rates", "load.offered_per_s", offered(a), offered(b), add);
}

fn values(group: &[RunSummary], of: impl Fn(&RunSummary) -> Option<String>) -> BTreeSet<String> {
    group.iter().filter_map(of).collect()
}

fn words(values: BTreeSet<String>) -> String {
    values.into_iter().collect::<Vec<_>>().join(", ")
}

fn kind_of_work(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace(['-', ' '], "_");
    if SIZES.contains(&name.as_str()) {
        return Some("data sizes");
    }
    OFFERED.contains(&name.as_str()).then_some("offered rates")
}

fn compare_work(kind: &str, name: &str, a: f64, b: f64, add: &mut impl FnMut(bool, String)) {
    if (a - b).abs() > 0.01 * a.abs().max(b.abs()) {
        add(true, format!("different {kind}: `{name}` is {a} in A and {b} in B"));
    }
}

/// Settings: one that differs is the factor of the experiment, two cannot be told apart.
fn params(a: &[RunSummary], b: &[RunSummary], add: &mut impl FnMut(bool, String)) {
    let names: BTreeSet<&String> = a.iter().chain(b).flat_map(|r| r.params.keys()).collect();
    let mut differing = Vec::new();
    for name in names {
        let of = |group: &[RunSummary]| values(group, |r| Some(r.params.get(name).cloned().unwrap_or_default()));
        let (of_a, of_b) = (of(a), of(b));
        if of_a == of_b {
            continue;
        }
        if let Some(kind) = kind_of_work(name) {
            add(true, format!("different {kind}: `{name}` is {} in A and {} in B", words(of_a), words(of_b)));
        } else {
            differing.push(format!("{name} ({} | {})", words(of_a), words(of_b)));
        }
    }
    if differing.len() > 1 {
        add(false, format!("several settings differ, so that none alone explains a change: {}", differing.join(", ")));
    }
}

/// Facts of the machine that change how fast it is, by topic and name; all of a topic where no name is given.
const MACHINE: [(&str, &str); 12] = [
    ("cpu", "model"),
    ("cpu", "processors"),
    ("cpu", "online"),
    ("cpu", "smt active"),
    ("cpu", "microcode"),
    ("cpufreq", ""),
    ("kernel", "release"),
    ("kernel", "command line"),
    ("kernel", "clock source"),
    ("memory", "MemTotal"),
    ("thp", "enabled"),
    ("vulnerability", ""),
];

/// What differs between the machines besides the settings.
fn machines(a: &[RunSummary], b: &[RunSummary], add: &mut impl FnMut(bool, String)) {
    let matters = |topic: &str, name: &str| MACHINE.iter().any(|(t, n)| *t == topic && (n.is_empty() || *n == name));
    let value = |text: Option<String>| text.filter(|t| t.chars().count() <= SHORT && !t.contains('\n'));
    let words: Vec<String> = fact_differences(a, b)
        .into_iter()
        .filter(|fact| matters(&fact.topic, &fact.name))
        .map(|fact| match (value(fact.values.0), value(fact.values.1)) {
            (Some(a), Some(b)) => format!("{} {} ({a} | {b})", fact.topic, fact.name),
            _ => format!("{} {}", fact.topic, fact.name),
        })
        .collect();
    if !words.is_empty() {
        add(false, format!("the machines differ, which may explain a change: {}", words.join(", ")));
    }
}

/// How the runs went, and how they were made.
fn conduct(a: &[RunSummary], b: &[RunSummary], add: &mut impl FnMut(bool, String)) {
    for (which, group) in [("A", a), ("B", b)] {
        for flaw in FLAWS {
            let found: Vec<(&str, f64)> = group.iter().filter_map(|r| Some((r.name.as_str(), (flaw.of)(r)?))).collect();
            let worst = found.iter().map(|(_, by)| *by).reduce(f64::max);
            if let Some(worst) = worst {
                add(false, format!("{which} ({}): {}", named(&found, group.len()), (flaw.says)(worst)));
            }
        }
    }
    let lengths: Vec<f64> = a.iter().chain(b).map(|r| r.seconds).filter(|s| *s > 0.0).collect();
    let (least, most) = lengths.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), s| (l.min(*s), m.max(*s)));
    if most > least * LENGTH {
        add(false, format!("run durations differ: {least:.1} s to {most:.1} s"));
    }
    let kinds: BTreeSet<&str> = a.iter().chain(b).map(|r| r.kind.as_str()).collect();
    if kinds.len() > 1 {
        let kinds: Vec<_> = kinds.into_iter().collect();
        add(false, format!("runs of different origin: {}", kinds.join(", ")));
    }
}

/// The runs by name; many by their number.
fn named(found: &[(&str, f64)], of: usize) -> String {
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    match names.len() {
        n if n > NAMED && n == of => format!("all {n} runs"),
        n if n > NAMED => format!("{n} of {of} runs"),
        _ => names.join(", "),
    }
}

/// Something about a run that makes its figures less worth.
struct Flaw {
    /// By how much the run has it; None where it has not.
    of: fn(&RunSummary) -> Option<f64>,
    /// What it is; of several runs, in the worst.
    says: fn(f64) -> String,
}

const FLAWS: &[Flaw] = &[
    Flaw {
        of: |run| run.drivers.iter().map(|d| d.busy).filter(|busy| *busy >= BUSY).reduce(f64::max),
        says: |busy| format!("the load generator was saturated: {busy:.0} % of the one CPU that it can use"),
    },
    Flaw {
        of: |run| missed_rate(run).filter(|share| *share > SHORT_OF),
        says: |share| format!("{:.1} % of the offered rate was not achieved", 100.0 * share),
    },
    Flaw {
        of: late,
        says: |lag| format!("transactions started {lag:.0} ms late on average, more than their mean latency"),
    },
    Flaw {
        of: |run| {
            let (taken, missed) = run.ticks;
            Some(missed as f64 / (taken + missed).max(1) as f64).filter(|share| *share > MISSED)
        },
        says: |share| format!("{:.0} % of the samples are missing", 100.0 * share),
    },
    Flaw {
        of: |run| {
            let of_host = |m: &Metric| m.table == "cpu" && m.column == "steal" && !m.key.contains("cpu=");
            let steal = run.metrics.iter().filter(|(m, _)| of_host(m)).map(|(_, percent)| *percent);
            steal.filter(|percent| *percent > STEAL).reduce(f64::max)
        },
        says: |percent| format!("steal: the hypervisor took {percent:.1} % of CPU time"),
    },
    Flaw {
        of: |run| {
            let throttled = run.metrics.iter().filter(|(m, _)| m.table == "cgroup" && m.column == "throttled");
            throttled.map(|(_, percent)| *percent).filter(|percent| *percent > 0.0).reduce(f64::max)
        },
        says: |percent| format!("CPU throttling: a cgroup limit was hit in {percent:.1} % of its periods"),
    },
];

/// The share of the offered rate that was not achieved.
fn missed_rate(run: &RunSummary) -> Option<f64> {
    let result =
        |names: &[&str]| run.results.iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, o)| o.value);
    let offered = run.value("load", "offered_per_s").or_else(|| result(&OFFERED))?;
    let achieved = run.value("load", "transactions_per_s").or_else(|| result(&["throughput"]))?;
    (offered > 0.0).then(|| 1.0 - achieved / offered)
}

/// Milliseconds by which transactions began late, where that is more than one takes.
fn late(run: &RunSummary) -> Option<f64> {
    let of = |column: &str, result: &str| {
        run.value("load", column).or_else(|| run.results.get(result).filter(|o| o.unit == "ms").map(|o| o.value))
    };
    let takes = of("latency_mean_ms", "latency_mean").unwrap_or(0.0);
    of("lag_ms", "lag_mean").filter(|lag| *lag >= LATE_MS && *lag >= takes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::{Driver, Outcome};
    use fenxi_model::Better;

    fn run(params: &[(&str, &str)], results: &[(&str, f64)]) -> RunSummary {
        RunSummary {
            kind: "record".to_owned(),
            seconds: 60.0,
            ticks: (60, 0),
            params: params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            results: results
                .iter()
                .map(|(k, v)| {
                    let outcome = Outcome { value: *v, unit: String::new(), better: Better::Neither };
                    ((*k).to_owned(), outcome)
                })
                .collect(),
            ..RunSummary::default()
        }
    }

    fn texts(a: RunSummary, b: RunSummary) -> Vec<(bool, String)> {
        gate(&[a], &[b]).into_iter().map(|r| (r.refuses, r.text)).collect()
    }

    #[test]
    fn different_work_is_refused_and_one_factor_is_not() {
        assert_eq!(
            texts(run(&[("threads", "1")], &[("throughput", 5.0)]), run(&[("threads", "2")], &[("throughput", 9.0)])),
            []
        );
        let sizes = texts(run(&[("table_size", "1000")], &[]), run(&[("table_size", "5000")], &[]));
        assert_eq!(sizes, [(true, "different data sizes: `table_size` is 1000 in A and 5000 in B".to_owned())]);
        let rates = texts(run(&[], &[("offered", 100.0)]), run(&[], &[("offered", 200.0)]));
        assert_eq!(rates, [(true, "different offered rates: `offered` is 100 in A and 200 in B".to_owned())]);
        let two = texts(run(&[("x", "1"), ("y", "1")], &[]), run(&[("x", "2"), ("y", "2")], &[]));
        assert!(!two[0].0 && two[0].1.contains("x (1 | 2), y (1 | 2)"), "{two:?}");
    }

    #[test]
    fn machines_that_differ_are_a_reservation() {
        let with = |release: &str, modules: &str| {
            let fact = |name: &str, value: &str| (("kernel".to_owned(), name.to_owned()), value.to_owned());
            RunSummary { facts: [fact("release", release), fact("modules", modules)].into(), ..run(&[], &[]) }
        };
        let found = texts(with("6.17", "a b"), with("6.18", "a c"));
        let text = "the machines differ, which may explain a change: kernel release (6.17 | 6.18)";
        assert_eq!(found, [(false, text.to_owned())]);
    }

    #[test]
    fn how_runs_went_is_a_reservation() {
        let mut bad = run(&[], &[]);
        bad.ticks = (50, 10);
        bad.seconds = 600.0;
        let steal = Metric { table: "cpu".to_owned(), key: String::new(), column: "steal".to_owned() };
        bad.metrics.insert(steal, 7.0);
        let found = texts(run(&[], &[]), bad);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|(refuses, _)| !refuses));
    }

    #[test]
    fn a_load_generator_that_cannot_keep_up_is_a_reservation() {
        let load = |column: &str| Metric {
            table: "load".to_owned(),
            key: "generator=wrk2".to_owned(),
            column: column.to_owned(),
        };
        let with = |pairs: &[(&str, f64)], busy: f64| {
            let mut run = RunSummary { name: "b1".to_owned(), ..run(&[], &[]) };
            run.metrics.extend(pairs.iter().map(|(column, value)| (load(column), *value)));
            run.drivers.push(Driver { comm: "wrk2".to_owned(), busy });
            run
        };
        let offered = [("offered_per_s", 1000.0), ("transactions_per_s", 995.0), ("lag_ms", 0.2)];
        let good = with(&offered, 60.0);
        assert_eq!(texts(good.clone(), good.clone()), []);
        let bad = with(&[("offered_per_s", 1000.0), ("transactions_per_s", 700.0), ("lag_ms", 900.0)], 97.0);
        let found: Vec<String> = texts(good.clone(), bad.clone()).into_iter().map(|(_, text)| text).collect();
        assert_eq!(
            found,
            [
                "B (b1): the load generator was saturated: 97 % of the one CPU that it can use",
                "B (b1): 30.0 % of the offered rate was not achieved",
                "B (b1): transactions started 900 ms late on average, more than their mean latency",
            ]
        );
        let many: Vec<RunSummary> = (0..5).map(|_| bad.clone()).collect();
        assert!(gate(&[good], &many)[0].text.starts_with("B (all 5 runs): "));
    }
}
