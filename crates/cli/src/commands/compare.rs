//! `fenxi compare`.

mod page;

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, ValueEnum};
use fenxi_analyze::{
    Comparison, Part, Reason, RunSummary, Settings, Split, Verdict, compare_groups, explain, gate, per_transaction,
};
use serde_json::json;

use crate::{
    args::Cli,
    print,
    stores::{self, group},
    summaries::{Chosen, summary},
};
use page::Page;

/// `fenxi compare`
#[derive(Debug, Args)]
#[command(after_help = "\
A group is one selector or several with commas between: `@2`, `before1,before2`, `kernel=6.18`. The run is
what is counted: four runs in each group are the least from which chance can be ruled out at all.

Columns: the mean of each group; the change with the interval in which it is with 95 % probability; effect
from -1 (every run of B below every run of A) to 1; p is the chance of so great a difference between equal
groups, adjusted for all metrics compared; and the verdict.

Exit status: 1 when the groups may not be compared, or with --fail-on when that verdict was given.

Examples:
  fenxi compare before after
  fenxi compare kernel=6.17 kernel=6.18 --margin 1%
  fenxi compare a1,a2,a3,a4 b1,b2,b3,b4 --fail-on worse
  fenxi compare @2 @1 --per result.transactions
  fenxi compare @2 @1 --by cpu --all --window 60s..540s")]
pub struct CompareArgs {
    /// The first group, with which the others are compared
    #[arg(value_name = "A")]
    pub first: String,
    /// Another group; several are each compared with the first
    #[arg(value_name = "B", required = true)]
    pub others: Vec<String>,
    /// Every metric, not only those that differ, and every fact
    #[arg(long)]
    pub all: bool,
    /// Changes below this are of no interest
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = share)]
    pub margin: f64,
    /// What one transaction takes: divide by this rate or number, `result.NAME` or `load.transactions_per_s`
    #[arg(long, value_name = "NAME")]
    pub per: Option<String>,
    /// Also one by one the series that have this label, as `cpu` or `process`; can be repeated
    #[arg(long, value_name = "LABEL")]
    pub by: Vec<String>,
    /// Part of the runs: `all`, a window's name, FROM..TO, or `auto`: the steady part
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub window: String,
    /// Compare although something forbids it
    #[arg(long, short)]
    pub force: bool,
    /// Exit with status 1 when a result has this verdict
    #[arg(long, value_name = "VERDICT")]
    pub fail_on: Option<FailOn>,
    /// One JSON object per line
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Tables for a Markdown document
    #[arg(long)]
    pub markdown: bool,
}

/// What makes a comparison fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A result got worse
    Worse,
    /// A result changed in either direction
    Different,
}

fn share(text: &str) -> Result<f64, String> {
    let (number, factor) = text.strip_suffix('%').map_or((text, 1.0), |n| (n, 0.01));
    match number.trim().parse::<f64>() {
        Ok(value) if (0.0..1.0).contains(&(value * factor)) => Ok(value * factor),
        _ => Err("expected a share such as 2% or 0.02".to_owned()),
    }
}

/// Compares each other group with the first.
pub fn run(cli: &Cli, args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let chosen = Chosen { by: &args.by, window: &args.window };
    let read = |selectors: &String| -> anyhow::Result<Vec<RunSummary>> {
        let runs = group(&store, selectors)?;
        runs.iter().map(|run| summary(&store, run, chosen)).collect()
    };
    let first = read(&args.first)?;
    let mut failed = false;
    for other in &args.others {
        let second = read(other)?;
        if second.iter().all(|s| first.iter().any(|f| f == s)) {
            bail!("`{}` and `{other}` are the same runs", args.first);
        }
        let found = Found::new(args, &first, &second)?;
        let text = if args.json { found.json(args, other) } else { found.text(args, &first, &second) };
        print::data(text.as_bytes())?;
        if found.comparison.is_none() {
            print::message("these groups may not be compared; --force does it all the same");
        }
        failed |= found.comparison.as_ref().is_none_or(|c| fails(c, args.fail_on));
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What there is to say about two groups.
struct Found {
    reasons: Vec<Reason>,
    /// None when the groups may not be compared.
    comparison: Option<Comparison>,
    split: Option<Split>,
}

impl Found {
    fn new(args: &CompareArgs, a: &[RunSummary], b: &[RunSummary]) -> anyhow::Result<Found> {
        let reasons = gate(a, b);
        if reasons.iter().any(|r| r.refuses) && !args.force {
            return Ok(Found { reasons, comparison: None, split: None });
        }
        let split = explain(a, b);
        let settings = Settings { margin: args.margin, per_transaction: args.per.is_some(), ..Settings::default() };
        let comparison = match &args.per {
            None => compare_groups(a, b, &settings),
            Some(name) => compare_groups(&costs(a, name)?, &costs(b, name)?, &settings),
        };
        Ok(Found { reasons, comparison: Some(comparison), split })
    }

    fn text(&self, args: &CompareArgs, a: &[RunSummary], b: &[RunSummary]) -> String {
        let mut page = Page { markdown: args.markdown, all: args.all, per: args.per.clone(), out: String::new() };
        page.head(a, b, &self.reasons);
        if let Some(comparison) = &self.comparison {
            page.body(comparison, self.split.as_ref());
        }
        page.out
    }
}

/// The runs with what a transaction takes in place of their metrics.
fn costs(runs: &[RunSummary], name: &str) -> anyhow::Result<Vec<RunSummary>> {
    let cost = |run: &RunSummary| match per_transaction(run, name) {
        Some(metrics) => Ok(RunSummary { metrics, ..run.clone() }),
        None => {
            let has: Vec<String> = run.results.keys().map(|name| format!("result.{name}")).collect();
            bail!("run {} has no rate or number `{name}` above 0; it has {}", run.name, has.join(", "))
        }
    };
    runs.iter().map(cost).collect()
}

fn fails(comparison: &Comparison, on: Option<FailOn>) -> bool {
    let is = |verdicts: &[Verdict]| comparison.results.iter().any(|line| verdicts.contains(&line.verdict));
    match on {
        None => false,
        Some(FailOn::Worse) => is(&[Verdict::Worse]),
        Some(FailOn::Different) => is(&[Verdict::Worse, Verdict::Better, Verdict::Different]),
    }
}

impl Found {
    fn json(&self, args: &CompareArgs, other: &str) -> String {
        let mut lines = Vec::new();
        let comparison = self.comparison.as_ref();
        for reason in &self.reasons {
            lines.push(
            json!({ "kind": "reason", "a": args.first, "b": other, "refuses": reason.refuses, "text": reason.text }),
        );
        }
        let found = comparison.iter().flat_map(|c| c.results.iter().chain(&c.metrics));
        for line in found {
            let compared = &line.compared;
            let interval = compared.change.interval.map(|i| [i.low, i.high]);
            lines.push(json!({
                "kind": "metric", "a": args.first, "b": other,
                "table": line.metric.table, "key": line.metric.key, "column": line.metric.column,
                "unit": if line.word.is_empty() { line.unit.symbol() } else { &line.word },
                "better": line.better.to_string(),
                "runs": [compared.n.0, compared.n.1], "means": [compared.means.0, compared.means.1],
                "change": compared.change.value, "relative": compared.is_relative, "interval": interval,
                "effect": compared.effect, "p": Some(line.p).filter(|p| p.is_finite()), "verdict": line.verdict.words(),
            }));
        }
        if let Some(split) = &self.split {
            let part = |part: &Part| json!({ "name": part.name, "means": [part.means.0, part.means.1] });
            lines.push(json!({
                "kind": "split", "a": args.first, "b": other, "what": split.what, "unit": split.unit.symbol(),
                "means": [split.means.0, split.means.1], "parts": split.parts.iter().map(part).collect::<Vec<_>>(),
            }));
        }
        for fact in comparison.iter().flat_map(|c| &c.facts) {
            lines.push(json!({
                "kind": "fact", "a": args.first, "b": other,
                "topic": fact.topic, "name": fact.name, "values": [fact.values.0, fact.values.1],
            }));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_read() {
        assert_eq!((share("2%"), share("0.05")), (Ok(0.02), Ok(0.05)));
        assert!(share("200%").is_err() && share("x").is_err() && share("-1%").is_err());
    }
}
