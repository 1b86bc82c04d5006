//! `fenxi agent`: the other end of `--on`, started by a script at the other host and hidden from help.

use std::{io, process::ExitCode};

use anyhow::Context;
use clap::Args;
use fenxi_remote::agent::{self, AgentError};
use fenxi_source::Root;
use fs_err as fs;

use crate::{options::Global, print};

/// `fenxi agent`
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Print which recorders it serves, and end
    #[arg(long)]
    pub id: bool,
    /// Print the SHA-256 of this program, and end
    #[arg(long)]
    pub hash: bool,
    /// Remove this program's file and its folder first
    #[arg(long)]
    pub remove: bool,
}

/// Serves the recorder at the other end of standard input and output.
pub fn run(_global: &Global, args: &AgentArgs) -> anyhow::Result<ExitCode> {
    if args.id {
        print::text(&format!("{}\n", fenxi_remote::id()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    if args.hash {
        print::text(&format!("{}\n", fenxi_remote::hash(&fs::read(&own)?)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.remove {
        fs::remove_file(&own)?;
        // It was made for this file alone; what else is in it stays.
        let _ = own.parent().map(fs::remove_dir);
    }
    // Not line by line, as standard output would be.
    let output = rustix::stdio::stdout().try_clone_to_owned().context("standard output")?;
    let output = fs::File::from_parts(output.into(), "standard output");
    match agent::run(io::stdin(), output, &Root::live()) {
        // The recorder knows, or is no more.
        Ok(()) | Err(AgentError::Refused(_)) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error.into()),
    }
}
