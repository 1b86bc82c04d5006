//! `fenxi trace procsystime`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use fenxi_live::trace::{Group, Procsystime, ProcsystimeOptions, WithCost};
use fenxi_model::catalog::syscall;

use super::{Who, when};
use crate::{
    args::Cli,
    commands::live::{self, LiveArgs, Tool},
};

/// `fenxi trace procsystime`
#[derive(Debug, Args)]
#[command(after_help = "\
Without an INTERVAL, sums are shown at the end (Ctrl-C, COMMAND's end). ELAPSED is time in the call, CPU what of it was
spent on a CPU: the rest is waiting. A call that has not returned is not counted.

Examples:
  fenxi trace procsystime -- make          where does make's time go in system calls?
  fenxi trace procsystime -c -- ls -l      as truss -c and strace -c, without their cost
  fenxi trace procsystime -p 1234 1 10     of a process, ten times a second
  fenxi trace procsystime --by process 5   of all processes, each by itself, every 5 seconds
  fenxi trace procsystime --save calls 1   and keep it as a run")]
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
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
    /// Whom; it has the last argument
    #[command(flatten)]
    pub who: Who,
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
    let source = fenxi_ebpf::Procsystime { tracked: args.who.tracked(), by_thread: args.by == By::Thread };
    let group = match args.by {
        By::Call => Group::Call,
        By::Command => Group::Command,
        By::Process | By::Thread => Group::Process,
    };
    let options = ProcsystimeOptions { when: when(&args.live), group, top: args.top, counts: args.counts };
    live::run(
        cli,
        &args.live,
        Tool {
            name: "trace procsystime",
            // One of these lives as long as the program, as all sources do.
            sources: vec![Box::leak(Box::new(source))],
            tables: vec![&syscall::TABLE],
            view: Box::new(WithCost::new(Procsystime::new(options))),
            since_boot: false,
            command: args.who.command(),
        },
    )
}
