//! `fenxi window`.

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::Args;
use fenxi_analyze::Steady;
use fenxi_compare::windows::{Found, STEADY, detect, range, words};
use fenxi_store::{RunEntry, Store, Window};
use serde_json::json;

use crate::{args::Cli, print, stores};

/// `fenxi window`
#[derive(Debug, Args)]
#[command(after_help = "\
A window is a named part of a run: statistics and comparisons can be limited to
it. The one named `steady` is what comparisons use without being told. `auto`
looks for it in the load that the run shows, or else in its CPUs (MSER-5).
Windows belong to the labels of a run; its rows do not change.

Examples:
  fenxi window @1                     list its windows
  fenxi window @1 steady 60s..540s    from 60 s after its begin until 540 s
  fenxi window @1 steady 60s..        until its end
  fenxi window kernel=6.18 steady auto
  fenxi window @1 steady --remove")]
pub struct WindowArgs {
    /// The runs
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Name of the window
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// From when until when, in time from the run's begin; or `auto`
    #[arg(value_name = "FROM..TO")]
    pub range: Option<String>,
    /// Forget the window
    #[arg(long, requires = "name", conflicts_with = "range")]
    pub remove: bool,
    /// One JSON object per window and line
    #[arg(long)]
    pub json: bool,
}

/// Lists, sets or removes windows.
pub fn run(cli: &Cli, args: &WindowArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let runs = store.select_all([&args.run])?;
    let mut listing = Vec::new();
    for id in &runs {
        let mut entry = store.run(id)?;
        if let Some(name) = &args.name {
            let said = if args.remove {
                remove(&mut entry, name)?
            } else {
                match args.range.as_deref() {
                    Some("auto") => auto(&store, &mut entry, name)?,
                    Some(text) => set(&mut entry, name, text)?,
                    None => bail!("say from when until when, as 60s..540s, or auto; or --remove"),
                }
            };
            store.set_labels(id, &entry.labels)?;
            if !cli.quiet {
                print::message(&format!("{id}: {said}"));
            }
        } else {
            listing.extend(entry.windows().into_iter().map(|window| (entry.clone(), window)));
        }
    }
    if args.name.is_none() {
        print::data(list(&listing, args.json).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn set(entry: &mut RunEntry, name: &str, text: &str) -> anyhow::Result<String> {
    if name == "all" || name == "auto" || name.contains("..") {
        bail!("`{name}` cannot be the name of a window");
    }
    let (from, to) =
        text.split_once("..").ok_or_else(|| anyhow!("`{text}` is no window: write FROM..TO, as 60s..540s"))?;
    let window = range(entry, name, from, to)?;
    let said = format!("`{name}` is {}", words(entry, &window));
    entry.labels.set_window(window);
    Ok(said)
}

fn auto(store: &Store, entry: &mut RunEntry, name: &str) -> anyhow::Result<String> {
    let Some(Found { response, window, steady }) = detect(store, entry)? else {
        bail!("run {} has neither load nor CPUs in which a steady part would show", entry.manifest.id);
    };
    match (steady, window) {
        (Steady::From(_), window) => {
            let all = Window { name: name.to_owned(), start: entry.manifest.start, end: entry.manifest.end };
            let window = window.map_or(all, |w| Window { name: name.to_owned(), ..w });
            let said = format!("`{name}` is {}, by {response}", words(entry, &window));
            entry.labels.set_window(window);
            Ok(said)
        }
        (Steady::Never, _) => bail!("{response} of run {} did not become steady", entry.manifest.id),
        (Steady::TooShort, _) => bail!(
            "run {} has too few samples of {response} to tell; 40 are the least. Say from when until when instead",
            entry.manifest.id
        ),
    }
}

fn remove(entry: &mut RunEntry, name: &str) -> anyhow::Result<String> {
    if !entry.labels.remove_window(name) {
        let made = entry.manifest.windows.iter().any(|w| w.name == name);
        let why = if made { ": the run was made with it" } else { "" };
        bail!("`{name}` cannot be removed from run {}{why}", entry.manifest.id);
    }
    Ok(format!("`{name}` is forgotten"))
}

fn list(windows: &[(RunEntry, Window)], as_json: bool) -> String {
    if as_json {
        let line = |(entry, window): &(RunEntry, Window)| {
            let seconds = |t: fenxi_model::Micros| t.seconds_since(entry.manifest.start);
            let line = json!({
                "run": entry.manifest.id, "window": window.name, "start": window.start.iso(), "end": window.end.iso(),
                "from_s": seconds(window.start), "to_s": seconds(window.end),
            });
            format!("{line}\n")
        };
        return windows.iter().map(line).collect();
    }
    if windows.is_empty() {
        return format!("no windows; `fenxi window RUN {STEADY} 60s..540s` names one\n");
    }
    let rows: Vec<Vec<String>> = windows
        .iter()
        .map(|(entry, window)| vec![entry.manifest.id.to_string(), window.name.clone(), words(entry, window)])
        .collect();
    print::columns(&["run", "window", "from its begin"], &[], &rows)
}
