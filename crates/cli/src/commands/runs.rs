//! `fenxi runs`.

use std::process::ExitCode;

use fenxi_model::Unit;
use fenxi_store::{Store, Summary};
use serde_json::json;

use crate::{
    args::{Cli, RunsArgs},
    print, stores,
};

/// Lists runs, the latest first.
pub fn run(cli: &Cli, args: &RunsArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let mut entries = listed(&store, &args.runs)?;
    entries.truncate(args.limit.unwrap_or(usize::MAX));
    if args.json {
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
        print::text(&print::columns(&header, &[4, 5, 6], &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The runs to list: those that `selectors` name, or all, the latest first.
fn listed(store: &Store, selectors: &[String]) -> anyhow::Result<Vec<Summary>> {
    let mut summaries = store.summaries()?;
    if !selectors.is_empty() {
        let ids = store.select_all(selectors)?;
        summaries.retain(|s| ids.contains(&s.id));
    }
    Ok(summaries)
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
        shorten(&run.command.join(" "), 40),
        tags.join(" "),
    ]
}

/// `text`, or its first `width - 1` characters and an ellipsis.
pub fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}
