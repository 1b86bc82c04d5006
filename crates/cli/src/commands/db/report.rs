//! `fenxi db report`.

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use clap::Args;
use fenxi_api::db_report::{Asked, DbReport, Period, groups, periods};
use fenxi_model::RunId;
use fenxi_query::{Engine, Scope};
use fenxi_store::Store;

use super::snapshots;
use crate::{
    options::{EngineArgs, Global, PageArgs, RunLabels},
    print, stores,
};

/// `fenxi db report`
#[derive(Debug, Args)]
#[command(after_help = "\
What stands where:
  one run or range of time  one period
  two snapshots             the interval between them, one period
  two runs or ranges        two periods side by side, sorted by difference
  several runs in a group   means, and what differs with intervals and verdicts

The ending of the file named by -o chooses the form: .txt, .md, .html, .json.

Sections: instance and settings first, Load Profile (per second, per
transaction, per second of DB time), efficiency, where DB time went, top waits,
statements by time, calls, rows, buffers, temporary files and WAL, databases,
tables, indexes, checkpoints and log. Each is a question: `fenxi ask` answers it
alone.

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
    /// What the form may hold of hidden characters.
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
    let named = args.server.as_deref();
    let is_group = |asked: &Asked| asked.period.runs.len() > 1;
    let report = match &asked[..] {
        [a, b] if is_group(a) || is_group(b) => groups(&engine, &[a.clone(), b.clone()], named)?,
        all => periods(&engine, all, named)?,
    };
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
fn asked(store: &Store, words: &[String]) -> anyhow::Result<Vec<Asked>> {
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
            Ok(vec![period(store, String::new(), &selector, vec![made.run])?])
        }
        all if all.iter().any(is_snapshot) => {
            bail!("a snapshot is no period: name two of one server, or make runs of them by `fenxi db diff`")
        }
        _ => {
            let labels = ["A", "B"].map(str::to_owned);
            let label = |place: usize| if chosen.len() > 1 { labels[place].clone() } else { String::new() };
            let each = words.iter().zip(&chosen).enumerate();
            each.map(|(place, (word, runs))| period(store, label(place), word, runs.clone())).collect()
        }
    }
}

fn period(store: &Store, label: String, selector: &str, runs: Vec<RunId>) -> anyhow::Result<Asked> {
    let entries: Vec<_> = runs.iter().map(|run| store.run(run)).collect::<Result<_, _>>()?;
    let start = entries.iter().map(|entry| entry.manifest.start).min().map_or_else(String::new, |start| start.iso());
    let seconds = entries.iter().map(|entry| entry.manifest.seconds()).sum();
    let names = runs.iter().map(ToString::to_string).collect();
    let period = Period { label, selector: selector.to_owned(), runs: names, start, seconds };
    Ok(Asked { period, scope: Scope::of(runs) })
}
