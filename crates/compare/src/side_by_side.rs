//! Side-by-side comparison of two groups of runs: validity, differences, decomposition of latency.

use fenxi_analyze::{RunSummary, Settings, Verdict, compare_groups, explain, gate, judge, per_transaction};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Changed, CompareError, FactDiff, Group, Headline, Line, Reason, Replicates, Split, batches::judge_by_batch, plans,
    settings::changed,
};

/// Options of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// A change of less than this share is of no interest.
    pub margin: f64,
    /// Transaction rate by which metrics are divided, for costs per transaction: `result.NAME` or `TABLE.COLUMN`.
    pub per: Option<&'a str>,
    /// Compare although something forbids it.
    pub force: bool,
    /// The results that count, the first of which the first sentence is about; none for those that matter most anyway.
    pub counts: &'a [Counts],
    /// The tag that names the batch of a run, where changes are judged by the spread between batches.
    pub batch: Option<&'a str>,
}

impl Request<'_> {
    /// Unit of replication: runs, or batches of them.
    pub fn replicates(&self) -> Replicates {
        if self.batch.is_some() { Replicates::Batches } else { Replicates::Runs }
    }
}

/// A result that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// Its name.
    pub result: String,
    /// A change of less than this share of it is of no interest; None for the margin of all.
    pub margin: Option<f64>,
}

impl Counts {
    /// Reads `NAME` or `NAME=SHARE`, such as `elapsed=5%`.
    ///
    /// # Errors
    /// In words, when the share is none.
    pub fn parse(text: &str) -> Result<Counts, String> {
        let (name, margin) = match text.rsplit_once('=') {
            None => (text, None),
            Some((name, margin)) => {
                let wrong = || format!("`{margin}` is no share; expected NAME or NAME=SHARE, such as elapsed=5%");
                (name, Some(share(margin).ok_or_else(wrong)?))
            }
        };
        let name = name.strip_prefix("result.").unwrap_or(name);
        Ok(Counts { result: name.to_owned(), margin })
    }
}

impl Default for Request<'_> {
    fn default() -> Self {
        Request { margin: Settings::default().margin, per: None, force: false, counts: &[], batch: None }
    }
}

/// A share as people write it, `2%` or `0.02`; None for anything else, also for 100 % and more.
pub fn share(text: &str) -> Option<f64> {
    let (number, factor) = text.strip_suffix('%').map_or((text, 1.0), |n| (n, 0.01));
    let share = number.trim().parse::<f64>().ok()? * factor;
    (0.0..1.0).contains(&share).then_some(share)
}

/// By how much two groups differ.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Comparison {
    /// The runs' own results, what matters most first.
    pub results: Vec<Line>,
    /// Metrics that both groups have, by resource and table, and in each what matters most first.
    pub metrics: Vec<Line>,
    /// Facts that differ.
    pub facts: Vec<FactDiff>,
    /// Adds a remark where the runs are too few to distinguish any difference from chance.
    pub insufficient: Option<String>,
}

impl Comparison {
    /// Without the results that were 0 throughout and the metrics that do not surely differ; where the runs
    /// are too few to be sure, those stay that differ in every run.
    #[must_use]
    pub fn only_news(mut self) -> Comparison {
        let few = self.insufficient.is_some();
        self.results.retain(|line| line.means != [0.0, 0.0]);
        self.metrics.retain(|line| line.is_change() || (few && line.seems_changed()));
        self
    }
}

/// Two groups side by side.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SideBySide<'g> {
    /// The first group.
    pub a: &'g Group,
    /// The second one.
    pub b: &'g Group,
    /// Settings that differ: labels, parameters, the command, plans of statements.
    pub changed: Vec<Changed>,
    /// Reasons against comparing them, the worst first.
    pub reasons: Vec<Reason>,
    /// True if they were not compared because of a reason.
    pub refused: bool,
    /// Headline; None when refused, and where no result has a good direction.
    pub headline: Option<Headline>,
    /// By how much they differ; None when refused.
    pub comparison: Option<Comparison>,
    /// Where the time went; None when refused, and where that is unknown.
    pub split: Option<Split>,
}

impl<'g> SideBySide<'g> {
    /// Compares two groups.
    ///
    /// # Errors
    /// When they are the same runs, or a run has no transactions by which its metrics could be divided.
    pub fn of(a: &'g Group, b: &'g Group, request: Request<'_>) -> Result<SideBySide<'g>, CompareError> {
        if b.runs.iter().all(|run| a.runs.iter().any(|other| other.id == run.id)) {
            return Err(CompareError::Same(a.title.clone(), b.title.clone()));
        }
        let (of_a, of_b) = (&a.summaries, &b.summaries);
        let mut changed = changed(&a.settings, &b.settings);
        changed.extend(plans::changed(&a.plans, &b.plans));
        let reasons = gate(of_a, of_b).into_iter().map(|r| Reason { refuses: r.refuses, text: r.text });
        let mut reasons: Vec<Reason> = reasons.chain([a, b].into_iter().filter_map(Group::as_observations)).collect();
        reasons.sort_by_key(|reason| !reason.refuses);
        if reasons.iter().any(|r| r.refuses) && !request.force {
            return Ok(SideBySide {
                a,
                b,
                changed,
                reasons,
                refused: true,
                headline: None,
                comparison: None,
                split: None,
            });
        }
        let split = explain(&[("A", of_a), ("B", of_b)]).map(Split::of);
        let split = split.and_then(|split| split.unless_idle(of_a.iter().chain(of_b)));
        let per_transaction = request.per.is_some();
        let settings = Settings { margin: request.margin, per_transaction, ..Settings::default() };
        let per = |runs| request.per.map(|name| costs(runs, name)).transpose();
        let (costs_a, costs_b) = (per(of_a)?, per(of_b)?);
        let (of_a, of_b) = (costs_a.as_ref().unwrap_or(of_a), costs_b.as_ref().unwrap_or(of_b));
        let mut found = compare_groups(of_a, of_b, &settings);
        for counts in request.counts {
            let known = || found.results.iter().map(|line| line.metric.column.clone()).collect();
            let Some(place) = found.results.iter().position(|line| line.metric.column == counts.result) else {
                return Err(CompareError::NoResult { wanted: counts.result.clone(), known: known() });
            };
            let line = &mut found.results[place];
            if let Some(margin) = counts.margin {
                line.verdict = judge(&line.compared, line.p, line.better, &Settings { margin, ..settings });
            }
        }
        if let Some(tag) = request.batch {
            let margin = |name: &str| {
                let counts = request.counts.iter().find(|counts| counts.result == name);
                counts.and_then(|counts| counts.margin).unwrap_or(request.margin)
            };
            reasons.extend(judge_by_batch(&mut found, (a, of_a), (b, of_b), tag, &settings, margin)?);
        }
        let lines = |lines: Vec<fenxi_analyze::Line>| lines.into_iter().map(Line::of).collect::<Vec<_>>();
        let (results, mut metrics) = (lines(found.results), lines(found.metrics));
        metrics.sort_by(|x, y| {
            x.place().cmp(&y.place()).then_with(|| x.table.cmp(&y.table)).then(y.weight().total_cmp(&x.weight()))
        });
        let facts = found.facts.into_iter().map(FactDiff::of).collect();
        // Too few batches are reported as a reason.
        let n_too_few = || insufficient(results.iter().chain(&metrics), settings.alpha);
        let insufficient = if request.batch.is_none() { n_too_few() } else { None };
        let wanted = request.counts.first().map(|counts| counts.result.as_str());
        let headline = Headline::of(&results, wanted, request.replicates());
        let comparison = Some(Comparison { results, metrics, facts, insufficient });
        Ok(SideBySide { a, b, changed, reasons, refused: false, headline, comparison, split })
    }
}

/// One thing of a comparison, with what it is and which groups it is about.
#[derive(Serialize)]
struct Tagged<'a, T: Serialize> {
    kind: &'a str,
    a: &'a str,
    b: &'a str,
    #[serde(flatten)]
    what: &'a T,
}

impl SideBySide<'_> {
    /// A line of JSON for the `headline`, and for every `changed`, `reason`, `metric`, `split` and `fact`, each with its kind and the groups.
    pub fn json_lines(&self) -> String {
        let comparison = self.comparison.as_ref();
        [
            self.lines("headline", &self.headline),
            self.lines("changed", &self.changed),
            self.lines("reason", &self.reasons),
            self.lines("metric", comparison.iter().flat_map(|c| c.results.iter().chain(&c.metrics))),
            self.lines("split", &self.split),
            self.lines("fact", comparison.iter().flat_map(|c| &c.facts)),
        ]
        .concat()
    }

    fn lines<'t, T: Serialize + 't>(&self, kind: &str, all: impl IntoIterator<Item = &'t T>) -> String {
        let (a, b) = (self.a.title.as_str(), self.b.title.as_str());
        all.into_iter().map(|what| format!("{}\n", serde_json::json!(Tagged { kind, a, b, what }))).collect()
    }
}

/// The runs with what a transaction takes in place of their metrics.
fn costs(runs: &[RunSummary], name: &str) -> Result<Vec<RunSummary>, CompareError> {
    let cost = |run: &RunSummary| match per_transaction(run, name) {
        Some(metrics) => Ok(RunSummary { metrics, ..run.clone() }),
        None => {
            let known = run.results.keys().map(|name| format!("result.{name}")).collect();
            Err(CompareError::NoRate { run: run.name.clone(), wanted: name.to_owned(), known })
        }
    };
    runs.iter().map(cost).collect()
}

/// Adds a remark that none of the lines could have distinguished a difference from chance, if that is so.
fn insufficient<'l>(mut lines: impl Iterator<Item = &'l Line> + Clone, alpha: f64) -> Option<String> {
    let first = lines.clone().max_by_key(|line| line.runs[0] + line.runs[1])?;
    let [a, b] = first.runs;
    lines
        .all(|line| line.verdict == Verdict::Insufficient)
        .then(|| format!("insufficient runs (n={a} v {b} cannot reach p<{alpha})"))
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn results_that_count_are_read_with_their_margins() {
        let of = |text: &str| Counts::parse(text).map(|counts| (counts.result, counts.margin));
        assert_eq!(of("elapsed"), Ok(("elapsed".to_owned(), None)));
        assert_eq!(of("result.elapsed=5%"), Ok(("elapsed".to_owned(), Some(0.05))));
        assert!(of("elapsed=much").is_err());
    }
}
