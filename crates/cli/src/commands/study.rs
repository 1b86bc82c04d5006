//! `fenxi study`.

mod page;
mod plot;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use fenxi_model::Unit;
use fenxi_source::Root;
use fenxi_store::Store;
use fenxi_study::{
    Asks, Beginning, Design, Estimate, Means, Outcome, Record, StudyError, StudyPlan, check, conduct, finished, made,
    parse,
};
use fs_err as fs;
use serde_json::json;

use crate::{
    machine::hostname,
    options::{DbArgs, Global, HostsArgs, JsonArgs, PageArgs},
    print,
    progress::{StudyLine, plural},
    sources, stores,
};
use page::Style;

/// `fenxi study`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Run the same command again to resume an interrupted study: finished runs are
kept.

A plan is a TOML file:
  name = \"compression\"               # the study, unique in the store
  repeats = 5                        # each is a block: all cells once, shuffled
  command = \"{tool} {threads} <in >/dev/null\"  # for the shell; or an array
  timeout = \"60s\"                    # also: duration, seed, order, setup,
                                     # teardown, cooldown, env, directory,
                                     # on_failure, retries, cells, exclude
  [factors]
  threads = [1, 2, 4]
  tool = [\"gzip\", { name = \"zstd\", env = { A = \"b\" } }]  # also: setup, teardown
  [run]                              # also: setup, teardown
  ready = { tcp = \"127.0.0.1:5432\", timeout = \"30s\" }   # or { command = \"…\" }
  warmup = \"5s\"                      # or a command
  [record]
  interval = \"1s\"
  sources = [\"+thread\"]
  [[response]]                       # from the output, a result of the run,
                                     # work per second, or the answer to a
                                     # question about the run (question, sql)
  name = \"rate\"
  pattern = 'rate: ([0-9.]+)'
  unit = \"/s\"
  better = \"higher\"

Examples:
  fenxi study plan.toml --dry-run
  fenxi study plan.toml
  fenxi runs study=compression
  fenxi study report compression -f markdown -o report.md")]
pub struct StudyArgs {
    /// Subcommand
    #[command(subcommand)]
    pub command: Option<StudyCommand>,
    /// Plan of the study (TOML)
    #[arg(value_name = "PLAN.toml", required = true)]
    pub plan: Option<PathBuf>,
    /// Print the planned runs, their order and estimated duration; run nothing
    #[arg(long, short_alias = 'n')]
    pub dry_run: bool,
    /// Continue although levels, repeats or responses in the plan have changed
    #[arg(long)]
    pub extend: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// What can be done with a study that is there.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// Report results: each response by factor, the best cell, scaling laws
    Report(StudyReportArgs),
}

/// `fenxi study report`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi study report compression
  fenxi study report compression -f markdown -o report.md")]
pub struct StudyReportArgs {
    /// Name of the study, or path of its plan
    #[arg(value_name = "NAME|PLAN.toml")]
    pub study: String,
    /// Form of the output
    #[command(flatten)]
    pub form: PageArgs,
}

/// Makes the runs of a plan that are not there yet.
pub fn run(global: &Global, args: &StudyArgs) -> anyhow::Result<ExitCode> {
    if let Some(StudyCommand::Report(args)) = &args.command {
        return report_on(global, args);
    }
    let Some(path) = &args.plan else { bail!("no plan is given") };
    let text = fs::read_to_string(path)?;
    let plan = match parse(path, &text) {
        Ok(plan) => plan,
        Err(error) => return refuse(error.into()),
    };
    if !plan.directory.is_dir() {
        bail!("{}: `directory` is {}, which is no directory", path.display(), plan.directory.display());
    }
    let root = Root::live();
    let host = hostname(&root);
    let hosts = HostsArgs::of(&plan.record.hosts, &plan.record.roles)?;
    let own = hosts.own(&plan.record.sources, &host);
    let mut sources = sources::choose(&own).with_context(|| path.display().to_string())?;
    let db = DbArgs::of(plan.record.databases.clone());
    sources.extend(db.source(Vec::new(), plan.record.interval_s).with_context(|| path.display().to_string())?);
    let store = stores::create(global)?;
    let how = Beginning { extends: args.extend, random: stores::random(), now: stores::now() };
    let record = match Record::plan(&store, &plan, &text, how) {
        Ok(record) => record,
        Err(error) => return refuse(error),
    };
    let asks = plan.asks().then(|| fenxi_api::study_asks(&store));
    let asks = asks.as_deref();
    if let Err(error) = check(&plan, asks) {
        return refuse(error);
    }
    if args.dry_run {
        return dry_run(&store, &plan, &record, args.form.is_json());
    }
    sources.extend(hosts.connect(&plan.record.sources, plan.record.interval_s, None, &host, global.quiet)?);
    let means = Means {
        store: &store,
        host: &host,
        root: &root,
        sources: &sources,
        random: &stores::random,
        now: &stores::now,
        asks,
    };
    let line = StudyLine::new(global.quiet);
    let result = conduct(&plan, &record, means, &mut |event| line.show(&plan.name, record.seed, &event));
    line.clear();
    let go_on = || format!("finished runs are kept; `fenxi study {}` resumes", path.display());
    match result {
        Ok(outcome) => {
            end(global, args, &Study { store: &store, plan: &plan, record: &record, asks }, &outcome, &go_on())
        }
        Err(error) => Err(anyhow::Error::from(error).context(go_on())),
    }
}

/// Outcome of a plan that is wrong or has changed: exit code 2.
fn refuse(error: StudyError) -> anyhow::Result<ExitCode> {
    match error {
        StudyError::Plan(_) | StudyError::Changed { .. } => {
            print::error(&error.into());
            Ok(ExitCode::from(2))
        }
        error => Err(error.into()),
    }
}

/// A study and where its runs are.
struct Study<'a> {
    store: &'a Store,
    plan: &'a StudyPlan,
    record: &'a Record,
    asks: Option<&'a dyn Asks>,
}

/// Prints how the study ended and its result; gives the exit code.
fn end(
    global: &Global,
    args: &StudyArgs,
    study: &Study<'_>,
    outcome: &Outcome,
    go_on: &str,
) -> anyhow::Result<ExitCode> {
    let plan = study.plan;
    if outcome.interrupted.is_none() && outcome.finished > 0 && (!global.quiet || args.form.is_json()) {
        let style = if args.form.is_json() { None } else { Some(Style::Text) };
        print_report(&fenxi_study::report(study.store, plan, study.record, study.asks)?, style)?;
    }
    if let Some(signal) = outcome.interrupted {
        print::message(&format!("interrupted after {} of {} runs: {go_on}", outcome.finished, outcome.planned));
        return Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)));
    }
    let missing = outcome.planned - outcome.finished;
    if missing > 0 {
        let text = format!("{} of {} failed: {go_on}", plural(missing as u64, "run"), outcome.planned);
        print::message(&text);
        return Ok(ExitCode::FAILURE);
    }
    if !global.quiet {
        let text = match outcome.new {
            0 => format!("the study {} is already complete: all {} runs exist", plan.name, outcome.planned),
            new => format!(
                "the study {} is complete: {}, {new} of them new",
                plan.name,
                plural(outcome.planned as u64, "run")
            ),
        };
        print::message(&text);
        print::message(&format!("next: fenxi runs study={0}, fenxi study report {0} -f markdown", plan.name));
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the runs in the order in which they would be made.
fn dry_run(store: &Store, plan: &StudyPlan, record: &Record, as_json: bool) -> anyhow::Result<ExitCode> {
    let design = Design::new(plan, record.seed)?;
    let earlier = made(store, record)?;
    let done = finished(&earlier);
    let mut estimate = Estimate::new(plan);
    let is_done = |slot: &fenxi_study::Slot| done.get(&(slot.block, design.cells[slot.cell].label.as_str()));
    for slot in &design.order {
        if let Some(made) = is_done(slot) {
            estimate.add(slot.cell, made.seconds);
        }
    }
    if as_json {
        let line = |slot: &fenxi_study::Slot| {
            let run = is_done(slot).map(|made| made.run.as_str());
            let cell = &design.cells[slot.cell];
            let levels: serde_json::Map<_, _> =
                cell.levels(plan).map(|(factor, level)| (factor.to_owned(), json!(level.name))).collect();
            let seconds = estimate.one(slot.cell);
            json!({ "block": slot.block, "cell": cell.label, "factors": levels, "run": run, "estimate_s": seconds })
                .to_string()
                + "\n"
        };
        print::json(&design.order.iter().map(line).collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let human = |seconds: Option<f64>| seconds.map_or("-".to_owned(), |s| Unit::Seconds.human(s).to_string());
    let row = |(n, slot): (usize, &fenxi_study::Slot)| {
        let state = is_done(slot).map_or("", |_| "finished").to_owned();
        let cell = &design.cells[slot.cell];
        vec![(n + 1).to_string(), slot.block.to_string(), cell.label.clone(), human(estimate.one(slot.cell)), state]
    };
    let rows: Vec<_> = design.order.iter().enumerate().map(row).collect();
    let mut text = print::listing(&["run", "block", "cell", "estimate", ""], &[0, 1, 3], &[], &rows);
    let left: Vec<_> = design.order.iter().filter(|slot| is_done(slot).is_none()).copied().collect();
    let time = match (left.len(), estimate.rest(left.iter().copied())) {
        (0, _) => "nothing left to do".to_owned(),
        (n, Some(seconds)) => format!("{} to make, about {}", plural(n as u64, "run"), Unit::Seconds.human(seconds)),
        (n, None) => format!("{} to make; duration unknown until the first is finished", plural(n as u64, "run")),
    };
    let drawn = plan.seed.is_none() && earlier.is_empty();
    let drawn = if drawn { " (drawn: the order stays this one only with `seed` in the plan)" } else { "" };
    text.push_str(&format!(
        "\n{} in {}: {time}; seed {}{drawn}\n",
        plural(design.cells.len() as u64, "cell"),
        plural(u64::from(plan.repeats), "block"),
        record.seed
    ));
    print::text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what a study came to; without a style, as JSON.
fn print_report(report: &fenxi_study::Report, style: Option<Style>) -> anyhow::Result<()> {
    let text = match style {
        Some(style) => page::render(report, style),
        None => serde_json::to_string(report)? + "\n",
    };
    print::put(print::Form::json_if(style.is_none()), text.as_bytes())
}

/// `fenxi study report`: of a plan, by its file, or of a study that the store knows, by name.
fn report_on(global: &Global, args: &StudyReportArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let path = Path::new(&args.study);
    let (plan, record) = match path.is_file() {
        true => {
            let plan = parse(path, &fs::read_to_string(path)?)?;
            let record = Record::named(&store, &plan.name)?;
            (plan, record)
        }
        false => {
            let record = Record::named(&store, &args.study)?;
            (parse(&record.path, &record.text)?, record)
        }
    };
    let asks = plan.asks().then(|| fenxi_api::study_asks(&store));
    let report = fenxi_study::report(&store, &plan, &record, asks.as_deref())?;
    if report.finished == 0 {
        bail!("no run of the study `{}` is finished yet", plan.name);
    }
    let style = if args.form.is_markdown() { Style::Markdown } else { Style::Text };
    print_report(&report, (!args.form.is_json()).then_some(style))?;
    Ok(ExitCode::SUCCESS)
}
