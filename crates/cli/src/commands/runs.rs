//! `fenxi runs`.

use std::process::ExitCode;

use clap::Args;
use fenxi_model::Unit;
use fenxi_store::{Store, StoreError, Summary};
use serde_json::json;

use crate::{
    options::{Global, JsonArgs},
    print, stores,
};

/// `fenxi runs`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi runs                     all runs, the latest first
  fenxi runs branch=main         those that have this tag
  fenxi runs --limit 5 -f json   the last five, one JSON object per run")]
pub struct RunsArgs {
    /// Runs to list [default: all]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Maximum number of runs
    // `-n` is the name of a run; it was this once.
    #[arg(long, short_alias = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Columns to leave out first where the terminal is narrow: size, host, status, command.
const SPARE: [usize; 4] = [6, 2, 5, 7];

/// Lists runs, the latest first. Exit status 1 where a damaged file of labels was left out.
pub fn run(global: &Global, args: &RunsArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let (mut entries, wrong) = listed(&store, &args.runs)?;
    for error in &wrong {
        print::message(&format!("{error}; its run is listed with the labels that it was made with"));
    }
    entries.truncate(args.limit.unwrap_or(usize::MAX));
    if args.form.is_json() {
        let mut out = String::new();
        for entry in &entries {
            out.push_str(&json_line(entry));
            out.push('\n');
        }
        print::json(&out)?;
    } else if entries.is_empty() {
        print::message(&format!("no runs in {}; `fenxi record -- COMMAND` makes one", store.path().display()));
    } else {
        let rows: Vec<_> = entries.iter().map(row).collect();
        let header = ["run", "name", "host", "start (UTC)", "duration", "status", "size", "command", "tags"];
        print::paged(print::Form::Text, &print::listing(&header, &[4, 5, 6], &SPARE, &rows))?;
    }
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The runs to list: those that `selectors` name, or all, the latest first; and what is wrong with labels.
fn listed(store: &Store, selectors: &[String]) -> anyhow::Result<(Vec<Summary>, Vec<StoreError>)> {
    let (mut summaries, wrong) = store.listing()?;
    if !selectors.is_empty() {
        let ids = store.select_runs(selectors)?;
        summaries.retain(|s| ids.contains(&s.id));
    }
    Ok((summaries, wrong))
}

fn json_line(run: &Summary) -> String {
    json!({
        "run": run.id,
        "name": run.labels.name,
        "kind": run.kind,
        "hosts": run.hosts,
        "start": run.start.iso(),
        "end": run.end.iso(),
        "duration_s": run.end.seconds_since(run.start),
        "command": run.command,
        "exit_status": run.exit_status,
        "recovered": run.recovered,
        "params": run.params,
        "tags": run.labels.tags,
        "baseline": run.labels.baseline,
        "remarks": run.labels.remarks,
        "rows": run.rows,
        "bytes": run.bytes,
    })
    .to_string()
}

fn row(run: &Summary) -> Vec<String> {
    let tags: Vec<_> = run.labels.tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let status = match run.exit_status {
        _ if run.recovered => "recovered".to_owned(),
        Some(status) => status.to_string(),
        None => "-".to_owned(),
    };
    vec![
        run.id.to_string(),
        run.labels.name.clone().unwrap_or_default(),
        run.hosts.join(","),
        run.start.to_the_second(),
        Unit::Seconds.human(run.end.seconds_since(run.start)).to_string(),
        status,
        Unit::Bytes.human(run.bytes as f64).to_string(),
        print::cut(&run.command.join(" "), 40).into_owned(),
        tags.join(" "),
    ]
}
