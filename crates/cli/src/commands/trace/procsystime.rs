//! `fenxi trace procsystime`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use fenxi_live::trace::procsystime::{Group, Procsystime, ProcsystimeOptions};

use super::Observation;
use crate::args::Cli;

/// `fenxi trace procsystime`
#[derive(Debug, Args)]
#[command(after_help = "\
Without an INTERVAL, sums are shown at the end (Ctrl-C, COMMAND's end). ELAPSED
is time in the call, CPU what of it was spent on a CPU: the rest is waiting. A
call that has not returned is not counted.

Examples:
  fenxi trace procsystime -- make         where make's time goes in system calls
  fenxi trace procsystime -c -- ls -l     as truss -c and strace -c, but cheaper
  fenxi trace procsystime -p 1234 1 10    of a process, every second, ten times
  fenxi trace procsystime --by process 5  each process by itself, every 5 s
  fenxi trace procsystime --save calls 1  and keep it as a run")]
pub struct ProcsystimeArgs {
    /// Seconds, calls and errors only, as truss -c
    #[arg(short = 'c', long)]
    pub counts: bool,
    /// What a line stands for, besides the call
    #[arg(long, value_enum, default_value_t = By::Call)]
    pub by: By,
    /// Lines to show at most
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub top: usize,
    /// When, how often, where to, and whom
    #[command(flatten)]
    pub observation: Observation,
}

/// What a line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// All processes together
    Call,
    /// Programs of one name together
    Command,
    /// Each process
    Process,
    /// Each thread, under its own number
    Thread,
}

/// Shows it until the count is reached, a signal comes or the command has ended.
pub fn run(cli: &Cli, args: &ProcsystimeArgs) -> anyhow::Result<ExitCode> {
    let group = match args.by {
        By::Call => Group::Call,
        By::Command => Group::Command,
        By::Process | By::Thread => Group::Process,
    };
    let (tracked, by_thread) = (args.observation.tracked(), args.by == By::Thread);
    let source = fenxi_ebpf::procsystime::Procsystime { tracked, by_thread };
    let options = ProcsystimeOptions { group, top: args.top, counts: args.counts };
    args.observation.show(cli, source, Procsystime::new(options))
}
