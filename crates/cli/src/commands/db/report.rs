//! `fenxi db report`.

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use clap::Args;
use fenxi_api::db_report::{Asked, DbReport, PeriodScope, report};
use fenxi_model::RunId;
use fenxi_query::Engine;
use fenxi_store::Store;

use super::snapshots;
use crate::{
    options::{EngineArgs, Global, PageArgs, RunLabels},
    print, stores,
};

/// `fenxi db report`
#[derive(Debug, Args)]
#[command(after_help = "\
Contents:
  one run or range of time  one period
  two snapshots             the interval between them, one period
  two runs or ranges        two periods side by side, sorted by difference
  several runs in a group   means, and what differs with intervals and verdicts

The ending of the file named by -o chooses the form: .txt, .md, .html, .json.

Sections: instance and settings first, Load Profile (per second, per
transaction, per second of DB time), efficiency, where DB time went, top waits,
statements by time, calls, rows, buffers, temporary files and WAL, databases,
tables, indexes, roots of blocking, locks, transactions, vacuum, replication,
checkpoints and log. Each is a question: `fenxi ask` answers it alone, and
`--section blocking` reports only it.

Examples:
  fenxi db report before after            two snapshots
  fenxi db report 14:00..15:00 -o 14.html a range of a recording, as one file
  fenxi db report monday tuesday          two periods side by side
  fenxi db report a1,a2,a3,a4 b1,b2,b3,b4 two groups of runs")]
pub struct ReportArgs {
    /// Runs, ranges of time or snapshots: one period, or two [default: @1]
    #[arg(value_name = "RUN", num_args = 0..=2)]
    pub runs: Vec<String>,
    /// The server, where several were observed
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// Only this section (repeatable), as --json names them
    #[arg(long, value_name = "NAME")]
    pub section: Vec<String>,
    /// Form of the output
    #[command(flatten)]
    pub form: PageArgs,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// In which form a report is given.
#[derive(Clone, Copy, Debug)]
enum Form {
    Text,
    Markdown,
    Html,
    Json,
}

impl Form {
    /// Handling of hidden characters in the form.
    fn of_output(self) -> print::Form {
        match self {
            Form::Text | Form::Markdown => print::Form::Text,
            Form::Html => print::Form::Data,
            Form::Json => print::Form::Json,
        }
    }
}

/// Makes the report.
pub fn run(global: &Global, args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let form = form(args)?;
    let store = stores::open(global)?;
    let asked = asked(&store, &args.runs)?;
    let engine = Engine::open(&store, &args.engine.options())?;
    let asked = Asked { periods: &asked, server: args.server.as_deref(), sections: &args.section };
    let report = report(&engine, asked)?;
    print::put(form.of_output(), written(&report, form)?.as_bytes())?;
    if let Some(path) = file(args).filter(|_| !global.quiet) {
        print::message(&format!("report of {}: {}", report.server, std::path::absolute(path)?.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The file that the report goes to: `lib.rs` sends standard output there.
fn file(args: &ReportArgs) -> Option<&Path> {
    args.form.output.file.as_deref().filter(|path| path.as_os_str() != "-")
}

fn form(args: &ReportArgs) -> anyhow::Result<Form> {
    let ending = file(args).map(|path| path.extension().unwrap_or_default().to_string_lossy());
    Ok(match ending.as_deref() {
        _ if args.form.is_json() => Form::Json,
        _ if args.form.is_markdown() => Form::Markdown,
        None | Some("txt") => Form::Text,
        Some("md") => Form::Markdown,
        Some("html" | "htm") => Form::Html,
        Some("json") => Form::Json,
        Some(other) => bail!("`.{other}` is no form of a report: .txt, .md, .html or .json"),
    })
}

fn written(report: &DbReport, form: Form) -> anyhow::Result<String> {
    Ok(match form {
        Form::Text => report.text(),
        Form::Markdown => report.markdown(),
        Form::Html => report.html(),
        Form::Json => serde_json::to_string_pretty(report)? + "\n",
    })
}

/// The periods that are meant; two snapshots are one.
fn asked(store: &Store, words: &[String]) -> anyhow::Result<Vec<PeriodScope>> {
    let latest = ["@1".to_owned()];
    let words = if words.is_empty() { &latest[..] } else { words };
    let chosen: Vec<Vec<RunId>> =
        words.iter().map(|word| store.select_all(word.split(','))).collect::<Result<_, _>>()?;
    let all = store.summaries()?;
    let is_snapshot = |runs: &Vec<RunId>| runs.iter().any(|run| snapshots::is_snapshot(&all, run));
    match &chosen[..] {
        [a, b] if a.len() == 1 && b.len() == 1 && is_snapshot(a) && is_snapshot(b) => {
            let none = RunLabels { name: None, tag: Vec::new() };
            let made = snapshots::interval(store, [&words[0], &words[1]], &none)?;
            made.warnings.iter().for_each(|warning| print::message(&format!("warning: {warning}")));
            let selector = format!("{} … {}", words[0], words[1]);
            Ok(vec![PeriodScope::of(store, "", &selector, vec![made.run], [None; 2])?])
        }
        _ => {
            let labels: &[&str] = if chosen.len() > 1 { &["A", "B"] } else { &[""] };
            let each = labels.iter().zip(words.iter().zip(&chosen));
            each.map(|(label, (word, runs))| Ok(PeriodScope::of(store, label, word, runs.clone(), [None; 2])?))
                .collect()
        }
    }
}
