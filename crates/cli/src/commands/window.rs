//! `fenxi label window`.

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::Args;
use fenxi_analyze::Steady;
use fenxi_compare::windows::{Found, STEADY, detect, range, words};
use fenxi_store::{RunEntry, Store, StoreError, Window};
use serde_json::json;

use crate::{
    options::{Global, JsonArgs},
    print, stores,
};

/// `fenxi label window`
#[derive(Debug, Args)]
#[command(after_help = "\
A window is a named time range of a run that statistics and comparisons can be
restricted to. Comparisons use the window `steady` by default. `auto` detects
the steady state (MSER-5) from the load of the run, or else from its CPUs.
Windows are labels: the data of a run does not change.

Examples:
  fenxi label window @1                   list windows
  fenxi label window @1 steady 60s..540s  from 60 s to 540 s after the start
  fenxi label window @1 steady 60s..      from 60 s to the end
  fenxi label window kernel=6.18 steady auto
  fenxi label window @1 steady --remove")]
pub struct WindowArgs {
    /// Runs
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Name of the window
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Time range from the start of the run; or `auto`
    #[arg(value_name = "FROM..TO")]
    pub range: Option<String>,
    /// Remove the window
    #[arg(long, requires = "name", conflicts_with = "range")]
    pub remove: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Lists, sets or removes windows.
pub fn run(global: &Global, args: &WindowArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let runs = store.select_all([&args.run])?;
    let mut listing = Vec::new();
    for id in &runs {
        let entry = store.run(id)?;
        if let Some(name) = &args.name {
            let said = if args.remove {
                store.change_labels(id, |entry| remove(entry, name))?
            } else {
                // Looked for before: others wait while labels are changed.
                let (window, said) = match args.range.as_deref() {
                    Some("auto") => auto(&store, &entry, name)?,
                    Some(text) => set(&entry, name, text)?,
                    None => bail!("give a time range such as 60s..540s, or auto; or --remove"),
                };
                store.change_labels(id, |entry| {
                    entry.labels.set_window(window);
                    Ok::<_, StoreError>(said)
                })?
            };
            if !global.quiet {
                print::message(&format!("{id}: {said}"));
            }
        } else {
            listing.extend(entry.windows().into_iter().map(|window| (entry.clone(), window)));
        }
    }
    if args.name.is_none() {
        print::put(print::Form::json_if(args.form.is_json()), list(&listing, args.form.is_json()).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn set(entry: &RunEntry, name: &str, text: &str) -> anyhow::Result<(Window, String)> {
    if name == "all" || name == "auto" || name.contains("..") {
        bail!("`{name}` cannot be the name of a window");
    }
    let (from, to) = text
        .split_once("..")
        .ok_or_else(|| anyhow!("`{text}` is not a time range; write FROM..TO, such as 60s..540s"))?;
    let window = range(entry, name, from, to)?;
    let said = format!("`{name}` is {}", words(entry, &window));
    Ok((window, said))
}

fn auto(store: &Store, entry: &RunEntry, name: &str) -> anyhow::Result<(Window, String)> {
    let Some(Found { response, window, steady }) = detect(store, entry)? else {
        bail!("run {} has neither load nor CPU data to detect a steady state in", entry.manifest.id);
    };
    match (steady, window) {
        (Steady::From(_), window) => {
            let all = Window { name: name.to_owned(), start: entry.manifest.start, end: entry.manifest.end };
            let window = window.map_or(all, |w| Window { name: name.to_owned(), ..w });
            let said = format!("`{name}` is {}, by {response}", words(entry, &window));
            Ok((window, said))
        }
        (Steady::Never, _) => bail!("{response} of run {} did not reach a steady state", entry.manifest.id),
        (Steady::TooShort, _) => bail!(
            "run {} has too few samples of {response} to detect a steady state: 40 are needed. Give a time range instead",
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
    Ok(format!("`{name}` is removed"))
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
        return format!("no windows; `fenxi label window RUN {STEADY} 60s..540s` names one\n");
    }
    let rows: Vec<Vec<String>> = windows
        .iter()
        .map(|(entry, window)| vec![entry.manifest.id.to_string(), window.name.clone(), words(entry, window)])
        .collect();
    print::listing(&["run", "window", "from its start"], &[], &[], &rows)
}
