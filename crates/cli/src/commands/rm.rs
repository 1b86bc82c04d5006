//! `fenxi rm`.

use std::process::ExitCode;

use anyhow::bail;

use crate::{
    args::{Cli, RmArgs},
    print, stores,
};

/// Removes runs; a selector that names several needs `--force`.
pub fn run(cli: &Cli, args: &RmArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    // All are looked up before any is removed: `@1 @2` means two runs as they stand now.
    let ids = store.select_all(&args.runs)?;
    if ids.len() > args.runs.len() && !args.force {
        let names: Vec<_> = ids.iter().map(|id| format!("  {id}")).collect();
        bail!("this would remove {} runs; confirm with --force:\n{}", ids.len(), names.join("\n"));
    }
    for id in ids {
        store.remove(&id)?;
        if !cli.quiet {
            print::message(&format!("removed {id}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
