//! `fenxi show`.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use fenxi_compare::Diagnosis;
use fenxi_model::{RunId, Unit};
use fenxi_query::{Engine, Options, Scope};
use fenxi_store::{Manifest, RunEntry, Store};
use serde_json::json;

use crate::{
    answer,
    options::{Global, JsonArgs, RangeArgs},
    print,
    progress::plural,
    stores,
};

/// Width of text where there is no terminal.
const WIDTH: usize = 100;

/// `fenxi show`
#[derive(Debug, Args)]
#[command(after_help = "\
A range of time is what a recording with --roll has of it, as one run; times
are UTC.

Examples:
  fenxi show                           the latest run
  fenxi show 03:10..03:25              the last time it was so late
  fenxi show yesterdayT03:10..03:25
  fenxi show -2h..
  fenxi show --from 03:10 --to 03:25   the same, as sar's -s and -e
  fenxi show db1/2026-11-24            a day of one of several recordings")]
pub struct ShowArgs {
    /// Run to show, or a range of time: 03:10..03:25, yesterday [default: @1]
    #[arg(value_name = "RUN[/FROM..TO]")]
    pub run: Option<String>,
    /// When
    #[command(flatten)]
    pub range: RangeArgs,
    /// Leave out the results and findings, which need the query engine
    #[arg(long)]
    pub no_answer: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Shows one run: what it is, its results and what was found, then its tables and what recording it cost.
pub fn run(global: &Global, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let given: Vec<String> = args.run.iter().cloned().collect();
    let wanted = args.range.of(&given, &["@1"]);
    let entry = store.run(&latest(&store, wanted.first().map_or("@1", String::as_str))?)?;
    let text = if args.form.is_json() {
        serde_json::to_string_pretty(&json!({ "manifest": entry.manifest, "labels": entry.labels }))? + "\n"
    } else {
        let found = if args.no_answer { Ok(String::new()) } else { found(&store, &entry) };
        let found = found.unwrap_or_else(|error| {
            print::message(&format!("no results and findings are shown: {error:#}"));
            String::new()
        });
        describe(&entry, &found)
    };
    print::paged(print::Form::json_if(args.form.is_json()), &text)?;
    Ok(ExitCode::SUCCESS)
}

/// The latest of the runs that a selector names; with a note where there are several.
fn latest(store: &Store, selector: &str) -> anyhow::Result<RunId> {
    let mut found = store.select(selector)?;
    let several = found.len();
    let run = found.drain(..).next().with_context(|| format!("no run matches `{selector}`"))?;
    if several > 1 {
        print::message(&format!(
            "the latest of {several} runs that `{selector}` names; `fenxi runs {selector}` lists them"
        ));
    }
    Ok(run)
}

/// The main results, the bottleneck, and what else was found.
fn found(store: &Store, entry: &RunEntry) -> anyhow::Result<String> {
    let engine = Engine::on_demand(store, &Options::default())?;
    let scope = Scope::of([entry.manifest.id.clone()]);
    let diagnosis = Diagnosis::of(&engine, &scope)?;
    let width = print::width(&std::io::stdout()).unwrap_or(WIDTH).clamp(40, WIDTH);
    Ok(answer::first_screen(&engine, &scope, &diagnosis, None, (width, false))?)
}

fn describe(entry: &RunEntry, found: &str) -> String {
    let mut out = facts(entry);
    if !found.is_empty() {
        out.push('\n');
        out.push_str(found);
    }
    out.push_str("\nTables\n");
    out.push_str(&tables(&entry.manifest));
    if !entry.manifest.inputs.is_empty() {
        out.push_str("\nInputs\n");
        out.push_str(&inputs(&entry.manifest));
    }
    if !entry.manifest.costs.is_empty() {
        out.push_str("\nRecording overhead\n");
        out.push_str(&costs(&entry.manifest));
    }
    out
}

fn facts(entry: &RunEntry) -> String {
    let manifest = &entry.manifest;
    let mut lines = vec![
        ("run", manifest.id.to_string()),
        ("name", entry.labels.name.clone().unwrap_or_default()),
        ("kind", manifest.kind.clone()),
        ("host", manifest.hosts.join(", ")),
        ("start", format!("{} UTC", manifest.start.to_the_second())),
        ("duration", Unit::Seconds.human(manifest.seconds()).to_string()),
    ];
    if let Some(interval) = manifest.interval_s {
        lines.push(("interval", Unit::Seconds.human(interval).to_string()));
    }
    if !manifest.command.is_empty() {
        lines.push(("command", print::cut(&manifest.command.join(" "), 200).into_owned()));
    }
    if let Some(status) = manifest.exit_status {
        let signal = manifest.signal.map(|s| format!(" (killed by signal {s})")).unwrap_or_default();
        lines.push(("exit status", format!("{status}{signal}")));
    }
    // An import has no ticks.
    if let Some(ticks) = manifest.ticks.filter(|ticks| *ticks > 0) {
        lines.push(("ticks", format!("{ticks}, {} missed", manifest.missed_ticks.unwrap_or(0))));
    }
    if manifest.recovered {
        lines.push(("recovered", "its recorder died; at most the last tick is missing".to_owned()));
    }
    for window in entry.windows() {
        lines.push(("window", format!("{}: {}", window.name, fenxi_compare::windows::words(entry, &window))));
    }
    let tags: Vec<_> = entry.labels.tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
    if !tags.is_empty() {
        lines.push(("tags", tags.join(" ")));
    }
    for remark in &entry.labels.remarks {
        lines.push(("remark", remark.clone()));
    }
    let size = Unit::Bytes.human(manifest.bytes() as f64);
    lines.push(("size", format!("{size} in {}", plural(manifest.files.len() as u64, "file"))));
    lines.iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| format!("{k:<12} {}\n", print::visible(v))).collect()
}

fn tables(manifest: &Manifest) -> String {
    let row = |f: &fenxi_store::FileEntry| {
        let per_row = f.bytes as f64 / (f.rows.max(1)) as f64;
        vec![
            f.table.clone().unwrap_or_default(),
            f.rows.to_string(),
            Unit::Bytes.human(f.bytes as f64).to_string(),
            format!("{per_row:.1}"),
        ]
    };
    let rows: Vec<_> = manifest.files.iter().filter(|f| f.table.is_some()).map(row).collect();
    print::listing(&["table", "rows", "size", "B/row"], &[1, 2, 3], &[], &rows)
}

fn inputs(manifest: &Manifest) -> String {
    let row = |i: &fenxi_store::InputEntry| {
        vec![
            i.name.clone(),
            i.format.clone().unwrap_or_else(|| "not recognised".to_owned()),
            i.tables.values().sum::<u64>().to_string(),
            Unit::Bytes.human(i.bytes as f64).to_string(),
            Unit::Bytes.human(i.raw.bytes as f64).to_string(),
            i.notes.to_string(),
        ]
    };
    let rows: Vec<_> = manifest.inputs.iter().map(row).collect();
    print::listing(&["file", "format", "rows", "size", "kept in", "notes"], &[2, 3, 4, 5], &[4], &rows)
}

fn costs(manifest: &Manifest) -> String {
    let seconds = manifest.seconds();
    let row = |c: &fenxi_store::SourceCost| {
        let per_sample = if c.samples == 0 { f64::NAN } else { c.cpu_s / c.samples as f64 };
        let share = if seconds > 0.0 { format!("{:.3}", 100.0 * c.cpu_s / seconds) } else { "-".to_owned() };
        vec![
            c.source.clone(),
            c.samples.to_string(),
            Unit::Seconds.human(c.cpu_s).to_string(),
            Unit::Seconds.human(per_sample).to_string(),
            if c.max_s > 0.0 { Unit::Seconds.human(c.max_s).to_string() } else { "-".to_owned() },
            share,
            if c.rows > 0 { c.rows.to_string() } else { "-".to_owned() },
            c.failures.to_string(),
        ]
    };
    let rows: Vec<_> = manifest.costs.iter().map(row).collect();
    let header = ["source", "samples", "CPU time", "per sample", "longest", "% of a CPU", "rows", "failures"];
    print::listing(&header, &[1, 2, 3, 4, 5, 6, 7], &[6, 1], &rows)
}
