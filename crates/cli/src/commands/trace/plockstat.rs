//! `fenxi trace plockstat`.

use std::process::ExitCode;

use clap::Args;
use fenxi_live::trace::{Plockstat, PlockstatOptions, WithCost};
use fenxi_model::catalog::{histogram, lock};

use super::{Who, when};
use crate::{
    args::Cli,
    commands::live::{self, LiveArgs, Tool},
};

/// `fenxi trace plockstat`
#[derive(Debug, Args)]
#[command(after_help = "\
Waits are seen of all kinds of locks that wait in the kernel (futex): glibc's, Rust's, C++'s. Who takes a lock that is
free pays nothing. With --holds each acquisition is seen, and takes about a microsecond longer. Without an INTERVAL, sums are
shown at the end (Ctrl-C, COMMAND's end).

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
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
    /// Whom; it has the last argument
    #[command(flatten)]
    pub who: Who,
}

/// Shows it until the count is reached, a signal comes or the command has ended.
pub fn run(cli: &Cli, args: &PlockstatArgs) -> anyhow::Result<ExitCode> {
    let source = fenxi_ebpf::Plockstat { tracked: args.who.tracked(), holds: args.holds, all_waits: args.all_waits };
    let options = PlockstatOptions { when: when(&args.live), top: args.top, distributions: args.distributions };
    live::run(
        cli,
        &args.live,
        Tool {
            name: "trace plockstat",
            // One of these lives as long as the program, as all sources do.
            sources: vec![Box::leak(Box::new(source))],
            tables: vec![&lock::TABLE, &histogram::TABLE],
            view: Box::new(WithCost::new(Plockstat::new(options))),
            since_boot: false,
            command: args.who.command(),
        },
    )
}
