//! `fenxi compare`.

mod junit;
mod openmetrics;
mod page;

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use fenxi_analyze::Verdict;
use fenxi_compare::{Chosen, Counts, Group, Line, Replicates, Request, SideBySide};
use fenxi_query::Engine;

use crate::{
    answers, differs,
    options::{ComparisonArgs, ComparisonForm, EngineArgs, Global, WindowArg},
    print, stores,
};
use page::Page;

/// `fenxi compare`
#[derive(Debug, Args)]
#[command(after_help = "\
A group is one selector or a comma-separated list: `@2`, `before1,before2`,
`kernel=6.18`. The run is the unit of replication: significance needs at least
four runs in each group.

Columns: mean of each group; change with its 95 % confidence interval; effect
size (Cliff's delta) from -1 (every run of B below every run of A) to 1; p-value
of a permutation test, adjusted for all metrics compared (Benjamini-Hochberg);
verdict.

Exit status: 1 when the groups are not comparable, or when a result has the
verdict of --fail-on: any result, or one of those that --result names.

Examples:
  fenxi compare before after
  fenxi compare kernel=6.17 kernel=6.18 --margin 1%
  fenxi compare a1,a2,a3,a4 b1,b2,b3,b4 --fail-on worse
  fenxi compare v=1 v=2 --fail-on worse --result elapsed=5%
  fenxi compare branch=main @1 --batch job -f junit -o junit.xml
  fenxi compare yesterday today
  fenxi compare @2 @1 --per result.transactions
  fenxi compare @2 @1 --by cpu --all --window 60s..540s")]
pub struct CompareArgs {
    /// Baseline group
    #[arg(value_name = "A")]
    pub first: String,
    /// Group to compare with the baseline (repeatable)
    #[arg(value_name = "B", required = true)]
    pub others: Vec<String>,
    /// Show all metrics and facts, not only those that differ
    #[arg(long)]
    pub all: bool,
    /// Equivalence margin: smaller changes are negligible
    #[arg(long, help_heading = "Verdicts", value_name = "SHARE", default_value = "2%", value_parser = share)]
    pub margin: f64,
    /// Compare cost per transaction: divide by `result.NAME` or `load.transactions_per_s`
    #[arg(long, value_name = "NAME")]
    pub per: Option<String>,
    /// Also compare each series with this key, such as `cpu` or `process` (repeatable)
    #[arg(long, value_name = "LABEL")]
    pub by: Vec<String>,
    /// Which part of the runs
    #[command(flatten)]
    pub part: WindowArg,
    /// Compare even if the validity gate refuses
    #[arg(long, help_heading = "Verdicts")]
    pub force: bool,
    /// Exit with status 1 if a result has this verdict
    #[arg(long, help_heading = "Verdicts", value_name = "VERDICT")]
    pub fail_on: Option<FailOn>,
    /// A result that counts, alone, for --fail-on and the first sentence, perhaps
    /// with a separate margin: `elapsed`, `elapsed=5%` (repeatable)
    #[arg(long, help_heading = "Verdicts", value_name = "NAME", value_parser = Counts::parse)]
    pub result: Vec<Counts>,
    /// Runs with one value of this tag were made together, as in one CI job: judge
    /// changes by the spread between such batches of A, not between runs
    #[arg(long, help_heading = "Verdicts", value_name = "TAG")]
    pub batch: Option<String>,
    /// Form of the output
    #[command(flatten)]
    pub form: ComparisonArgs,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
}

impl CompareArgs {
    /// The replicates: runs, or batches of them.
    fn replicates(&self) -> Replicates {
        if self.batch.is_some() { Replicates::Batches } else { Replicates::Runs }
    }
}

/// What makes a comparison fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A result is worse
    Worse,
    /// A result is better or worse
    Different,
}

fn share(text: &str) -> Result<f64, String> {
    fenxi_compare::share(text).ok_or_else(|| "expected a share such as 2% or 0.02".to_owned())
}

/// Compares each other group with the first.
pub fn run(global: &Global, args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let engine = Engine::on_demand(&store, &args.engine.options())?;
    let chosen = Chosen { by: &args.by, window: &args.part.window };
    let group = |selectors: &str| {
        let wanted: Vec<String> = selectors.split(',').map(str::to_owned).collect();
        let read = |selectors: &[String]| Ok(Group::read(&engine, &selectors.join(","), chosen)?);
        let (group, is_whole) = answers::undamaged(&store, &wanted, read)?;
        anyhow::Ok((Group { title: selectors.to_owned(), ..group }, is_whole))
    };
    let (first, is_whole) = group(&args.first)?;
    let mut failed = !is_whole;
    let others = args.others.iter().map(|other| group(other)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut all = Vec::new();
    for (second, is_whole) in &others {
        failed |= !is_whole;
        let request = Request {
            margin: args.margin,
            per: args.per.as_deref(),
            force: args.force,
            counts: &args.result,
            batch: args.batch.as_deref(),
        };
        let found = SideBySide::of(&first, second, request)?;
        failed |= found.comparison.as_ref().is_none_or(|c| c.results.iter().any(|line| fails(line, args)));
        if found.refused {
            print::message("these groups are not comparable; --force compares them anyway");
        }
        all.push(found);
    }
    let text = match args.form.form() {
        ComparisonForm::Junit => junit::of(&all, args),
        ComparisonForm::Openmetrics => openmetrics::of(&all, args),
        form => {
            let mut pages = String::new();
            for found in all {
                let (text, is_whole) = with_causes(&engine, found, args, form)?;
                failed |= !is_whole;
                pages.push_str(&text);
            }
            pages
        }
    };
    let is_text = matches!(args.form.form(), ComparisonForm::Table | ComparisonForm::Markdown);
    print::paged(print::Form::json_if(!is_text), &text)?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A comparison as text or JSON, with what changed between the groups; and whether that could be read.
fn with_causes(
    engine: &Engine,
    found: SideBySide<'_>,
    args: &CompareArgs,
    form: ComparisonForm,
) -> anyhow::Result<(String, bool)> {
    let of_causes = match form {
        ComparisonForm::Json => differs::Form::Json,
        ComparisonForm::Markdown => differs::Form::Markdown,
        _ => differs::Form::Text,
    };
    let causes = match found.refused {
        true => Ok(String::new()),
        false => differs::between(engine, found.a, found.b, of_causes).map_err(anyhow::Error::from),
    };
    let (causes, is_whole) = match causes {
        Err(error) if answers::damage(&error).is_some() => {
            print::message(&format!("warning: what changed between the groups is not named: {error:#}"));
            (String::new(), false)
        }
        causes => (causes?, true),
    };
    let text = match form {
        ComparisonForm::Json => found.json_lines() + &causes,
        _ => text(args, found, &causes),
    };
    Ok((text, is_whole))
}

fn text(args: &CompareArgs, found: SideBySide<'_>, causes: &str) -> String {
    let width = print::width(&std::io::stdout());
    let mut page = Page {
        markdown: args.form.form() == ComparisonForm::Markdown,
        all: args.all,
        per: args.per.is_some(),
        width,
        ..Page::default()
    };
    page.headline(&found);
    page.out.push_str(causes);
    page.head(&found);
    if let Some(comparison) = found.comparison {
        page.body(comparison, found.split.as_ref());
    }
    page.out
}

/// Whether a result counts: any does unless some are named.
fn counts(line: &Line, args: &CompareArgs) -> bool {
    args.result.is_empty() || args.result.iter().any(|counts| counts.result == line.column)
}

/// Whether a result makes the comparison fail.
fn fails(line: &Line, args: &CompareArgs) -> bool {
    counts(line, args)
        && match args.fail_on {
            None => false,
            Some(FailOn::Worse) => line.verdict == Verdict::Worse,
            Some(FailOn::Different) => line.is_change(),
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
