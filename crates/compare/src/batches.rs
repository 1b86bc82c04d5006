//! Runs that were made in batches, such as those of one CI job: changes are judged by the spread between batches.

use std::collections::BTreeMap;

use fenxi_analyze::{
    Centre, Comparison, FEWEST_BATCHES, Line, RunSummary, Settings, benjamini_hochberg, between_batches, judge,
};

use crate::{CompareError, Group, Reason};

/// The level of significance: batches are compared again and again, at each change of a program.
const ALPHA: f64 = 0.01;

/// The batch of each run of a group: the values of `tag`; runs without it are one batch.
fn batches(group: &Group, tag: &str) -> Vec<String> {
    group.tags.iter().map(|tags| tags.get(tag).cloned().unwrap_or_default()).collect()
}

/// Judges each line of `found` again by the means of the batches of `a` and `b`, whose runs `of_a` and `of_b` are.
///
/// # Errors
/// When no run of `a` has the tag.
pub(crate) fn judge_by_batch(
    found: &mut Comparison,
    (a, of_a): (&Group, &[RunSummary]),
    (b, of_b): (&Group, &[RunSummary]),
    tag: &str,
    settings: &Settings,
    margin: impl Fn(&str) -> f64,
) -> Result<Option<Reason>, CompareError> {
    if !a.tags.iter().any(|tags| tags.contains_key(tag)) {
        return Err(CompareError::NoBatch { group: a.title.clone(), tag: tag.to_owned() });
    }
    let (batches_a, batches_b) = (batches(a, tag), batches(b, tag));
    for lines in [&mut found.results, &mut found.metrics] {
        let changes: Vec<_> = lines
            .iter()
            .map(|line| {
                let (a, b) = (means(line, of_a, &batches_a), means(line, of_b, &batches_b));
                between_batches(&a, &b, line.compared.is_relative, settings.level)
            })
            .collect();
        let p: Vec<f64> = changes.iter().map(|found| found.map_or(f64::NAN, |(_, p)| p)).collect();
        for ((line, change), p) in lines.iter_mut().zip(changes).zip(benjamini_hochberg(&p)) {
            line.p = p;
            line.compared.centre = Centre::Mean;
            match change {
                Some((change, _)) => (line.compared.change, line.compared.least_p) = (change, 0.0),
                None => (line.compared.change.interval, line.compared.least_p) = (None, 1.0),
            }
            let margin = margin(&line.metric.column);
            line.verdict = judge(&line.compared, p, line.better, &Settings { alpha: ALPHA, margin, ..*settings });
        }
    }
    let n = batches_a.iter().collect::<std::collections::BTreeSet<_>>().len();
    let few =
        || format!("A has {n} batches by `{tag}`; changes are judged by the spread between {FEWEST_BATCHES} or more");
    Ok((n < FEWEST_BATCHES).then(|| Reason { refuses: false, text: few() }))
}

/// The mean of each batch that has the metric.
fn means(line: &Line, runs: &[RunSummary], batches: &[String]) -> Vec<f64> {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (run, batch) in runs.iter().zip(batches) {
        let value = match line.metric.table.as_str() {
            "result" => run.results.get(&line.metric.column).map(|outcome| outcome.value),
            _ => run.metrics.get(&line.metric).copied(),
        };
        if let Some(value) = value.filter(|value| value.is_finite()) {
            let (sum, n) = sums.entry(batch).or_default();
            *sum += value;
            *n += 1.0;
        }
    }
    sums.into_values().map(|(sum, n)| sum / n).collect()
}
