//! `fenxi compare`.

mod page;

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use fenxi_analyze::Verdict;
use fenxi_compare::{Chosen, Comparison, Counts, Group, Request, SideBySide};
use fenxi_query::Engine;

use crate::{
    answers, differs,
    options::{EngineArgs, Global, PageArgs, WindowArg},
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
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = share)]
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
    #[arg(long)]
    pub force: bool,
    /// Exit with status 1 if a result has this verdict
    #[arg(long, value_name = "VERDICT")]
    pub fail_on: Option<FailOn>,
    /// A result that counts, alone, for --fail-on and the first sentence, perhaps
    /// with a separate margin: `elapsed`, `elapsed=5%` (repeatable)
    #[arg(long, value_name = "NAME", value_parser = Counts::parse)]
    pub result: Vec<Counts>,
    /// Form of the output
    #[command(flatten)]
    pub form: PageArgs,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
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
    for other in &args.others {
        let (second, is_whole) = group(other)?;
        failed |= !is_whole;
        let request =
            Request { margin: args.margin, per: args.per.as_deref(), force: args.force, counts: &args.result };
        let found = SideBySide::of(&first, &second, request)?;
        failed |= found.comparison.as_ref().is_none_or(|c| fails(c, args));
        let refused = found.refused;
        let form = match (args.form.is_json(), args.form.is_markdown()) {
            (true, _) => differs::Form::Json,
            (_, true) => differs::Form::Markdown,
            _ => differs::Form::Text,
        };
        let causes = match refused {
            true => Ok(String::new()),
            false => differs::between(&engine, &first, &second, form).map_err(anyhow::Error::from),
        };
        let causes = match causes {
            Err(error) if answers::damage(&error).is_some() => {
                print::message(&format!("warning: what changed between the groups is not named: {error:#}"));
                failed = true;
                String::new()
            }
            causes => causes?,
        };
        let text = if args.form.is_json() { found.json_lines() + &causes } else { text(args, found, &causes) };
        print::paged(print::Form::json_if(args.form.is_json()), &text)?;
        if refused {
            print::message("these groups are not comparable; --force compares them anyway");
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn text(args: &CompareArgs, found: SideBySide<'_>, causes: &str) -> String {
    let width = print::width(&std::io::stdout());
    let mut page =
        Page { markdown: args.form.is_markdown(), all: args.all, per: args.per.is_some(), width, ..Page::default() };
    page.headline(&found);
    page.out.push_str(causes);
    page.head(&found);
    if let Some(comparison) = found.comparison {
        page.body(comparison, found.split.as_ref());
    }
    page.out
}

fn fails(comparison: &Comparison, args: &CompareArgs) -> bool {
    let counts = |name: &str| args.result.is_empty() || args.result.iter().any(|counts| counts.result == name);
    comparison.results.iter().filter(|line| counts(&line.column)).any(|line| match args.fail_on {
        None => false,
        Some(FailOn::Worse) => line.verdict == Verdict::Worse,
        Some(FailOn::Different) => line.is_change(),
    })
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
