//! Comparison of two groups of runs over all of their metrics and facts.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_model::{Better, Unit, table};

use crate::{
    Compared, Settings, Transactions, Verdict, adjust::benjamini_hochberg, compare, diff::same_text, judge,
    per::unit_of_cost, permutation::pooled_test,
};

/// A series that runs have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metric {
    /// The table of the catalogue.
    pub table: String,
    /// The keys as `key=value,…`, with the host where a run has several; empty for none.
    pub key: String,
    /// The column.
    pub column: String,
}

/// One result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Its value.
    pub value: f64,
    /// Its unit, in words.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
}

/// Finding of a run that a comparison has to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caveat {
    /// The finding's name.
    pub finding: String,
    /// Title of the finding, as a statement.
    pub title: String,
    /// True if a comparison has no meaning because of it.
    pub refuses: bool,
    /// Message of the worst occurrence.
    pub message: String,
}

/// Summary of one run for a comparison: results, means of metrics, facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSummary {
    /// How the run is called.
    pub name: String,
    /// `record`, `import` …
    pub kind: String,
    /// The part of it that is summarised, in words; None for all of it.
    pub window: Option<String>,
    /// Seconds of that part.
    pub seconds: f64,
    /// Seconds between two samples, where that is fixed.
    pub interval_s: Option<f64>,
    /// Settings of the experiment.
    pub params: BTreeMap<String, String>,
    /// Its own results.
    pub results: BTreeMap<String, Outcome>,
    /// The mean of each series.
    pub metrics: BTreeMap<Metric, f64>,
    /// Findings that matter to a comparison.
    pub caveats: Vec<Caveat>,
    /// Facts in words, by topic and name.
    pub facts: BTreeMap<(String, String), String>,
    /// Its transactions and where their time went; None where it shows none.
    pub transactions: Option<Transactions>,
    /// Seconds that its command waited, by what for (`sleep`, `receive` …), of looks at it; `run queue` as the kernel counts it.
    pub waits: BTreeMap<String, f64>,
    /// Activity of its database servers' sessions: the mean number of sessions in each kind of [`crate::KINDS`], and
    /// how that was measured. Empty where nothing was sampled.
    pub sessions: BTreeMap<&'static str, (f64, String)>,
}

impl RunSummary {
    /// The value of a column of the series without key; where every series has a key, the sum over those
    /// that are no part of another (a generator's operations are parts of the generator).
    pub fn value(&self, table: &str, column: &str) -> Option<f64> {
        let of = |key: &str| Metric { table: table.to_owned(), key: key.to_owned(), column: column.to_owned() };
        if let Some(value) = self.metrics.get(&of("")) {
            return Some(*value);
        }
        let mine = self.metrics.iter().filter(|(m, _)| m.table == table && m.column == column);
        let whole: Vec<f64> = mine.filter(|(m, _)| !m.key.contains(',')).map(|(_, v)| *v).collect();
        (!whole.is_empty()).then(|| whole.iter().sum())
    }
}

/// One line of a comparison: a result or a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The metric; of a result the table is `result` and the column its name.
    pub metric: Metric,
    /// Its unit; of a result that has another than the catalogue knows, see [`Line::word`].
    pub unit: Unit,
    /// The unit of a result, in words.
    pub word: String,
    /// Which direction is good.
    pub better: Better,
    /// The numbers.
    pub compared: Compared,
    /// The p value, adjusted for all that was compared beside it.
    pub p: f64,
    /// Verdict.
    pub verdict: Verdict,
}

/// A fact that is one thing in all runs of a group and another in those of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactDifference {
    /// Group of facts.
    pub topic: String,
    /// Name of the fact.
    pub name: String,
    /// Value in each group; None where no run has it.
    pub values: (Option<String>, Option<String>),
}

/// Result of comparing two groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The runs' own results.
    pub results: Vec<Line>,
    /// Every metric that both groups have.
    pub metrics: Vec<Line>,
    /// Facts that differ.
    pub facts: Vec<FactDifference>,
}

/// Compares the runs `a` with the runs `b`.
///
/// All are tested against chance as it shows in all of them together. Results are few and what the runs were made
/// for: they are adjusted for each other only, metrics for all metrics.
pub fn compare_groups(a: &[RunSummary], b: &[RunSummary], settings: &Settings) -> Comparison {
    let metrics = pairs(a, b, |run| &run.metrics, |value| *value);
    let column = |metric: &Metric| table(&metric.table).and_then(|t| Some(&t.columns[t.index_of(&metric.column)?]));
    let of_catalogue = |metric: &Metric| {
        let found = column(metric);
        let unit = |own: Unit| if settings.per_transaction { unit_of_cost(metric).unwrap_or(own) } else { own };
        found.map_or((Unit::None, String::new(), Better::Neither), |c| (unit(c.unit), String::new(), c.better))
    };
    let results = pairs(a, b, |run| &run.results, |outcome| outcome.value);
    let results = results.into_iter().map(|(name, values)| {
        (Metric { table: "result".to_owned(), key: String::new(), column: name.clone() }, values)
    });
    let metrics = metrics.into_iter().map(|(metric, values)| (metric.clone(), values));
    let n_results = results.len();
    let (names, values): (Vec<Metric>, Vec<Values>) = results.chain(metrics).unzip();
    let p = pooled_test(&values);
    let all: Vec<_> = names.into_iter().zip(values).zip(p).collect();
    let (results, metrics) = all.split_at(n_results);
    let of_result = |metric: &Metric| {
        let outcome = a.iter().chain(b).find_map(|run| run.results.get(&metric.column));
        outcome.map_or((Unit::None, String::new(), Better::Neither), |o| {
            (Unit::from_symbol(&o.unit), o.unit.clone(), o.better)
        })
    };
    let mut results = lines(results, settings, of_result);
    results.sort_by_key(rank);
    let metrics = lines(metrics, settings, of_catalogue);
    // Who has no facts at all does not differ in any.
    let knows = |group: &[RunSummary]| group.iter().any(|run| !run.facts.is_empty());
    let facts = if knows(a) && knows(b) { fact_differences(a, b) } else { Vec::new() };
    Comparison { results, metrics, facts }
}

/// The order in which results matter: what was achieved, how long it took, the rest.
fn rank(line: &Line) -> u8 {
    let name = line.metric.column.as_str();
    match line.better {
        Better::Higher => 0,
        Better::Lower if name.contains("latency") || name.contains("response") => 1,
        Better::Lower if name == "elapsed" => 2,
        Better::Lower if line.unit != Unit::Count && line.unit != Unit::None => 3,
        _ => 4,
    }
}

type Values = (Vec<f64>, Vec<f64>);

/// The values of each name that runs of both groups have.
fn pairs<'r, K: Ord, V: 'r>(
    a: &'r [RunSummary],
    b: &'r [RunSummary],
    of: impl Fn(&'r RunSummary) -> &'r BTreeMap<K, V>,
    number: impl Fn(&'r V) -> f64,
) -> Vec<(&'r K, Values)> {
    let mut found: BTreeMap<&K, Values> = BTreeMap::new();
    for (second, group) in [(false, a), (true, b)] {
        for (name, value) in group.iter().flat_map(&of) {
            let value = number(value);
            if value.is_finite() {
                let values = found.entry(name).or_default();
                if second { values.1.push(value) } else { values.0.push(value) }
            }
        }
    }
    found.into_iter().filter(|(_, (a, b))| !a.is_empty() && !b.is_empty()).collect()
}

/// One line for each of what was tested; p values are adjusted for these.
fn lines(
    tested: &[((Metric, Values), f64)],
    settings: &Settings,
    describe: impl Fn(&Metric) -> (Unit, String, Better),
) -> Vec<Line> {
    let mut p: Vec<f64> = tested.iter().map(|(_, p)| *p).collect();
    // A metric that never varies is no test that could have found anything.
    let constant: Vec<bool> = tested.iter().map(|((_, (a, b)), _)| a.iter().chain(b).all(|v| *v == a[0])).collect();
    let mark = |p: &mut [f64], value: f64| {
        for (p, _) in p.iter_mut().zip(&constant).filter(|(p, constant)| **constant && (p.is_nan() || **p >= 1.0)) {
            *p = value;
        }
    };
    mark(&mut p, f64::NAN);
    let mut adjusted = benjamini_hochberg(&p);
    mark(&mut adjusted, 1.0);
    let line = |(((metric, (a, b)), _), p): (&((Metric, Values), f64), f64)| {
        let (unit, word, better) = describe(metric);
        let compared = compare(a, b, settings.level)?;
        Some(Line {
            metric: metric.clone(),
            unit,
            word,
            better,
            verdict: judge(&compared, p, better, settings),
            compared,
            p,
        })
    };
    tested.iter().zip(adjusted).filter_map(line).collect()
}

/// Facts that are the same in all runs of a group, and differ between the groups.
pub(crate) fn fact_differences(a: &[RunSummary], b: &[RunSummary]) -> Vec<FactDifference> {
    let names: BTreeSet<&(String, String)> = a.iter().chain(b).flat_map(|run| run.facts.keys()).collect();
    let value = |group: &[RunSummary], name: &(String, String)| -> Option<Option<String>> {
        let values: BTreeSet<Option<&String>> = group.iter().map(|run| run.facts.get(name)).collect();
        // A fact that varies within a group is not what makes the groups differ.
        (values.len() == 1).then(|| values.into_iter().next().flatten().cloned())
    };
    let mut found = Vec::new();
    for name in names {
        if let (Some(of_a), Some(of_b)) = (value(a, name), value(b, name))
            && !same_text(of_a.as_deref(), of_b.as_deref())
        {
            found.push(FactDifference { topic: name.0.clone(), name: name.1.clone(), values: (of_a, of_b) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(usr: f64, throughput: f64, fact: &str) -> RunSummary {
        let metric = |column: &str| Metric { table: "cpu".to_owned(), key: String::new(), column: column.to_owned() };
        RunSummary {
            metrics: [(metric("usr"), usr), (metric("idle"), 100.0 - usr)].into(),
            results: [(
                "throughput".to_owned(),
                Outcome { value: throughput, unit: "/s".to_owned(), better: Better::Higher },
            )]
            .into(),
            facts: [(("sysctl".to_owned(), "vm.swappiness".to_owned()), fact.to_owned())].into(),
            ..RunSummary::default()
        }
    }

    #[test]
    fn results_metrics_and_facts_are_compared() {
        let a: Vec<_> = [50.0, 50.5, 49.5, 50.2, 49.8].iter().map(|u| run(*u, 20.0 * u, "60")).collect();
        let b: Vec<_> = [60.0, 60.5, 59.5, 60.2, 59.8].iter().map(|u| run(*u, 20.0 * u, "10")).collect();
        let comparison = compare_groups(&a, &b, &Settings::default());
        let throughput = &comparison.results[0];
        assert_eq!((throughput.verdict, throughput.word.as_str()), (Verdict::Better, "/s"));
        assert!((throughput.compared.change.value - 0.2).abs() < 0.01);
        let verdicts: Vec<_> = comparison.metrics.iter().map(|l| (l.metric.column.as_str(), l.verdict)).collect();
        assert_eq!(verdicts, [("idle", Verdict::Different), ("usr", Verdict::Different)]);
        assert_eq!(comparison.metrics[0].unit, Unit::Percent);
        let expected = (Some("60".to_owned()), Some("10".to_owned()));
        assert_eq!(comparison.facts.iter().map(|f| &f.values).collect::<Vec<_>>(), [&expected]);
    }

    #[test]
    fn what_varies_within_a_group_or_only_in_its_order_is_no_difference() {
        let of = |facts: &[&str]| facts.iter().map(|f| run(1.0, 1.0, f)).collect::<Vec<_>>();
        assert!(fact_differences(&of(&["1", "2"]), &of(&["3", "3"])).is_empty());
        assert!(fact_differences(&of(&["a = 1\nb = 2\n"]), &of(&["b = 2\n\na = 1"])).is_empty());
        assert_eq!(fact_differences(&of(&["a = 1"]), &of(&["a = 2"])).len(), 1);
    }
}
