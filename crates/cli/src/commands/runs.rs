//! `fenxi runs`.

use std::process::ExitCode;

use fenxi_model::Unit;
use fenxi_store::RunEntry;

use crate::{
    args::{Cli, RunsArgs},
    print, stores,
};

/// Lists runs, the latest first.
pub fn run(cli: &Cli, args: &RunsArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let mut entries = stores::entries(&store, &args.runs)?;
    entries.truncate(args.limit.unwrap_or(usize::MAX));
    if args.json {
        let mut out = String::new();
        for entry in &entries {
            out.push_str(&serde_json::to_string(entry)?);
            out.push('\n');
        }
        print::data(out.as_bytes())?;
    } else if entries.is_empty() {
        print::message(&format!("no runs in {}; `fenxi record -- COMMAND` makes one", store.path().display()));
    } else {
        let rows: Vec<_> = entries.iter().map(row).collect();
        let header = ["run", "name", "host", "start (UTC)", "duration", "status", "size", "command", "tags"];
        print::data(print::columns(&header, &[4, 5, 6], &rows).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(entry: &RunEntry) -> Vec<String> {
    let manifest = &entry.manifest;
    let bytes: u64 = manifest.files.iter().map(|f| f.bytes).sum();
    let tags: Vec<_> = entry.labels.tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let status = match manifest.exit_status {
        _ if manifest.recovered => "recovered".to_owned(),
        Some(status) => status.to_string(),
        None => "-".to_owned(),
    };
    vec![
        manifest.id.to_string(),
        entry.name().to_owned(),
        manifest.hosts.join(","),
        manifest.start.to_the_second(),
        Unit::Seconds.human(manifest.end.seconds_since(manifest.start)).to_string(),
        status,
        Unit::Bytes.human(bytes as f64).to_string(),
        shorten(&manifest.command.join(" "), 40),
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
