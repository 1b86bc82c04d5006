//! `fenxi trace plockstat`.

use std::process::ExitCode;

use clap::Args;
use fenxi_live::trace::plockstat::{Plockstat, PlockstatOptions};

use super::Observation;
use crate::args::Cli;

/// `fenxi trace plockstat`
#[derive(Debug, Args)]
#[command(after_help = "\
Waits are seen of all kinds of locks that wait in the kernel (futex): glibc's,
Rust's, C++'s. Who takes a lock that is free pays nothing. With --holds each
acquisition is seen, and takes about a microsecond longer. Without an INTERVAL,
sums are shown at the end (Ctrl-C, COMMAND's end).

Examples:
  fenxi trace plockstat -p 1234 10 1       which locks does a server wait for?
  fenxi trace plockstat -- ./program       from its begin to its end
  fenxi trace plockstat --holds -p 1234 10 1
                                           and how long are they held, by whom?
  fenxi trace plockstat --save locks 1     of all processes, kept as a run")]
pub struct PlockstatArgs {
    /// Observe every acquisition, and how long locks are held
    #[arg(long)]
    pub holds: bool,
    /// Waits for what is no lock, too: conditions, joins, semaphores
    #[arg(long)]
    pub all_waits: bool,
    /// Distributions of times, too
    #[arg(long)]
    pub distributions: bool,
    /// Locks to show at most, of each kind
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// When, how often, where to, and whom
    #[command(flatten)]
    pub observation: Observation,
}

/// Shows it until the count is reached, a signal comes or the command has ended.
pub fn run(cli: &Cli, args: &PlockstatArgs) -> anyhow::Result<ExitCode> {
    let (tracked, holds, all_waits) = (args.observation.tracked(), args.holds, args.all_waits);
    let source = fenxi_ebpf::plockstat::Plockstat { tracked, holds, all_waits };
    let options = PlockstatOptions { top: args.top, distributions: args.distributions };
    args.observation.show(cli, source, Plockstat::new(options))
}
