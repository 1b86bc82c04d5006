//! `fenxi store rm`.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

use crate::{options::Global, print, stores};

/// `fenxi store rm`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi store rm @1
  fenxi store rm study=old --force    all runs of a study")]
pub struct RmArgs {
    /// Runs to remove
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Remove all runs that a selector such as `tag=value` matches
    #[arg(long, short_alias = 'f')]
    pub force: bool,
}

/// Removes runs; a selector that names several needs `--force`.
pub fn run(global: &Global, args: &RmArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    // All are looked up before any is removed: `@1 @2` means two runs as they stand now.
    let ids = store.select_all(&args.runs)?;
    if ids.len() > args.runs.len() && !args.force {
        let names: Vec<_> = ids.iter().map(|id| format!("  {id}")).collect();
        bail!("this would remove {} runs; confirm with --force:\n{}", ids.len(), names.join("\n"));
    }
    for id in ids {
        store.remove(&id)?;
        if !global.quiet {
            print::message(&format!("removed {id}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
