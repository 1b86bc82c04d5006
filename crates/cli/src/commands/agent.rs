//! `fenxi agent`: the other end of `--on`, started by a script at the other host and hidden from help.

use std::{
    ffi::OsString,
    io::{self, Read},
    os::unix::process::CommandExt,
    process::{Command, ExitCode, Stdio},
};

use anyhow::Context;
use clap::Args;
use fenxi_remote::agent::{self, AgentError};
use fenxi_source::Root;
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process};

use crate::{ending::exit_code, options::Global, print};

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
    /// Be this command instead, with the same standard input and output
    #[arg(long)]
    pub exec: bool,
    /// Run this command, until it ends or standard input does
    #[arg(long, conflicts_with = "exec")]
    pub tool: bool,
    /// The command's words
    #[arg(last = true, value_name = "WORD")]
    pub words: Vec<OsString>,
}

/// This program, also where its file was removed.
const OWN: &str = "/proc/self/exe";

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
    let mut output = fs::File::from_parts(output.into(), "standard output");
    if args.exec {
        agent::hello(&mut output)?;
        return Err(Command::new(OWN).arg0("fenxi").args(&args.words).exec().into());
    }
    if args.tool {
        agent::hello(&mut output)?;
        return tool(&args.words);
    }
    match agent::run(io::stdin(), output, &Root::live()) {
        // The recorder knows, or is no more.
        Ok(()) | Err(AgentError::Refused(_)) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error.into()),
    }
}

/// Runs a command of this program; the end of standard input ends it as Ctrl-C would.
fn tool(words: &[OsString]) -> anyhow::Result<ExitCode> {
    let mut child = Command::new(OWN).arg0("fenxi").args(words).stdin(Stdio::null()).spawn()?;
    let process = Pid::from_child(&child);
    std::thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        // It is reaped by the end of this process only, so that its number is no other's.
        let _ = kill_process(process, Signal::INT);
    });
    let status = child.wait()?;
    Ok(exit_code(status.code().unwrap_or(1)))
}
