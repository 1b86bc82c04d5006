//! `fenxi explain`.

use std::process::ExitCode;

use clap::Args;
use fenxi_compare::{Diagnosis, Explained, Group, InRange, Split, run_names};
use fenxi_query::{Engine, Scope};
use serde_json::json;

use crate::{
    answer, answers, differs,
    options::{EngineArgs, Global, PageArgs, RangeArgs, WindowArg},
    parts, print, stores,
};

/// Width of text where there is no terminal.
const WIDTH: usize = 100;

/// `fenxi explain`
#[derive(Debug, Args)]
#[command(after_help = "\
First the main results, the bottleneck in a sentence, and what else was found:
problems before symptoms, what explains most first (`fenxi findings` has all
of it).

Then the mean latency of a transaction as parts that add up to it, by Little's
law from the server's own processes and sessions; of a run without
transactions, the elapsed time of its command; and what the sessions of its
database were at. Other programs on the machine do not count. Several runs are
repeats of one experiment: each part has the 95 % confidence interval of its
mean.

With `--window` of one run the answer is what changed in it against the rest of
the run, and findings are those of the window; of a range of time of a recording
with `--roll` it is what changed against as much time before. What the rest of
the run has as well is no answer, and comes last. Before the first transaction
and after the last there is no rest, and a tenth of the window on either side of
its ends is left out. The series that differ come last: first what fewer
transactions cannot have caused, series of one thing together. The tests see
bursts as well as steps, and allow for samples that depend on their neighbours.

Column `measured`: exact (every context switch), os (the kernel's accounting of
the server's processes and cgroup), server (its own sums), sampled (samples of
its sessions), driver (the load generator). Each part is taken from the best of
them. What is unknown is in the residual; lines below list how to measure it:
`fenxi record --db URL`, `--source +querystat`.

Examples:
  fenxi explain                  the latest run
  fenxi explain kernel=6.18
  fenxi explain @1 --window 120s..150s
  fenxi explain 03:10..03:25
  fenxi explain r1 r2 r3 r4 --window 60s..540s -f json")]
pub struct ExplainArgs {
    /// A run, repeated runs of the same experiment, or a range of time [default: @1]
    #[arg(value_name = "RUN[/FROM..TO]")]
    pub runs: Vec<String>,
    /// When
    #[command(flatten)]
    pub range: RangeArgs,
    /// Which part of the runs
    #[command(flatten)]
    pub part: WindowArg,
    /// Form of the output
    #[command(flatten)]
    pub form: PageArgs,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Names the bottleneck of the runs, and shows where their time went.
pub fn run(global: &Global, args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let engine = Engine::on_demand(&store, &args.engine.options())?;
    let wanted = args.range.of(&args.runs, &["@1"]);
    let (text, is_whole) = answers::undamaged(&store, &wanted, |wanted| explained(&engine, args, wanted))?;
    print::paged(print::Form::json_if(args.form.is_json()), &text)?;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The time before a range is looked at by itself from so many seconds on.
const SHORT_S: f64 = 5.0;

/// Why no time is split.
const NO_SPLIT: &str = "Where the time went is not shown: these runs have neither the latency of transactions nor the elapsed time of a command.";

/// Output for the runs that `wanted` names.
fn explained(engine: &Engine, args: &ExplainArgs, wanted: &[String]) -> anyhow::Result<String> {
    let explained = Explained::of(engine, [wanted.join(",")], &args.part.window)?;
    let ids = explained.groups.iter().flat_map(|group| &group.runs).map(|run| run.id.clone());
    let different = match wanted {
        [run] => differs::of(engine, run, &args.part.window)?,
        _ => None,
    };
    // Of a window only what was found within it is an answer, and not what is found before or after it as well.
    let whole = Scope::of(ids);
    let (scope, rest) = match different.as_ref().filter(|found| found.baseline.is_none()) {
        Some(found) => (whole.clone().between(Some(found.from_s), Some(found.to_s)), rest_of(&whole, found)),
        None => (whole, Vec::new()),
    };
    let diagnosis = Diagnosis::of_part(engine, &scope, &rest)?;
    Ok(if args.form.is_json() {
        let answer = answer::first(&diagnosis, different.as_ref());
        let line = json!({ "kind": "answer", "names": answer.names, "text": answer.text,
            "detail": answer.detail, "finding": answer.finding });
        let asked = engine.asked(&scope)?;
        let missing = asked.missing.iter().map(|m| json!({ "what": m.what, "findings": m.findings }));
        let not_asked = json!({ "kind": "not asked", "findings": asked.not_asked(), "missing": missing.collect::<Vec<_>>(),
            "elsewhere": asked.elsewhere });
        format!(
            "{line}\n{not_asked}\n{}{}",
            explained.json_lines(),
            different.iter().map(differs::json_lines).collect::<String>()
        )
    } else {
        let width = print::width(&std::io::stdout()).unwrap_or(WIDTH).clamp(40, WIDTH);
        let width = if args.form.is_markdown() { usize::MAX } else { width };
        let head =
            answer::first_screen(engine, &scope, &diagnosis, different.as_ref(), (width, args.form.is_markdown()))?;
        let different = different.map_or_else(String::new, |found| differs::text(&found, args.form.is_markdown()));
        let asked = answer::not_asked(engine.asked(&scope)?.sentence(), width);
        let split = text(&explained, args.form.is_markdown());
        let missing = match explained.split {
            Some(_) => String::new(),
            None => print::wrapped(NO_SPLIT, width).join("\n") + "\n",
        };
        let blocks = [head, split, different, missing, asked];
        blocks.into_iter().filter(|block| !block.is_empty()).collect::<Vec<_>>().join("\n")
    })
}

/// The time of a run before and after a range, where it is long enough to be looked at.
fn rest_of(whole: &Scope, range: &InRange) -> Vec<Scope> {
    let before = (range.from_s >= SHORT_S).then(|| whole.clone().between(None, Some(range.from_s)));
    before.into_iter().chain([whole.clone().between(Some(range.to_s), None)]).collect()
}

fn text(found: &Explained, markdown: bool) -> String {
    let [group] = found.groups.as_slice() else { return String::new() };
    found.times().map(|split| text_of(split, group, markdown)).collect::<Vec<_>>().join("\n")
}

fn text_of(split: &Split, group: &Group, markdown: bool) -> String {
    let names: Vec<String> = group
        .runs
        .iter()
        .map(|run| match &run.window {
            Some(window) => format!("{} ({window})", run.name),
            None => run.name.clone(),
        })
        .collect();
    let mark = if markdown { "### " } else { "" };
    let mut out =
        print::visible(&format!("{mark}{}: {}", parts::title(split), run_names(names.iter().map(String::as_str))))
            .into_owned()
            + "\n";
    let table = parts::of_one(split);
    if markdown {
        out.push('\n');
    }
    out += &print::table(&table.header, 1..table.header.len() - 1, parts::SPARE_OF_ONE, &table.rows, markdown);
    for note in &split.notes {
        let bullet = if markdown { "\n* " } else { "\n" };
        out += &format!("{bullet}{}", print::visible(note));
    }
    if !split.notes.is_empty() {
        out.push('\n');
    }
    out
}
