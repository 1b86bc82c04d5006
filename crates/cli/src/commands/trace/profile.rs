//! `fenxi trace profile`.

use std::process::ExitCode;

use clap::Args;
use fenxi_live::trace::{Profile, ProfileOptions, WithCost};
use fenxi_model::catalog::stack;

use super::{Who, when};
use crate::{
    args::Cli,
    commands::live::{self, LiveArgs, Tool},
};

/// `fenxi trace profile`
#[derive(Debug, Args)]
#[command(after_help = "\
Functions are listed by the samples in which they ran themselves, until they make up 95 % of all. %WITH CALLEES also has
those in which something they had called ran. Frames of the kernel end with _[k].

Stacks of programs are whole where these were compiled with frame pointers, and end early where not. Languages with a
run-time compiler name their functions when told to: node --perf-basic-prof, java with perf-map-agent, python3.12 -X perf.

Examples:
  fenxi trace profile -- make                  where does make's CPU time go?
  fenxi trace profile -p 1234 --off-cpu 10 1   ten seconds of a process: what it does, what it waits for
  fenxi trace profile --folded 10 1 > out.txt  stacks for flame graph tools
  fenxi trace profile --save p 1 30            keep it; then: fenxi report p has the flame graph")]
pub struct ProfileArgs {
    /// Samples per second on each CPU
    #[arg(short = 'F', long, value_name = "HZ", default_value_t = 97, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub frequency: u32,
    /// Waits too: stacks of threads that left the CPU, with the time they were away; costs more
    #[arg(long)]
    pub off_cpu: bool,
    /// Show functions until they have this share of the samples
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0)]
    pub until: f64,
    /// Show the N hottest stacks whole, too
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub stacks: usize,
    /// Nothing but stacks, folded: `program;outermost;…;innermost samples`
    #[arg(long, conflicts_with_all = ["json", "csv", "stacks"])]
    pub folded: bool,
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
    /// Whom; it has the last argument
    #[command(flatten)]
    pub who: Who,
}

/// Shows it until the count is reached, a signal comes or the command has ended.
pub fn run(cli: &Cli, args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    let source = fenxi_ebpf::Profile { tracked: args.who.tracked(), frequency: args.frequency, off_cpu: args.off_cpu };
    let options =
        ProfileOptions { when: when(&args.live), until_pct: args.until, stacks: args.stacks, folded: args.folded };
    live::run(
        cli,
        &args.live,
        Tool {
            name: "trace profile",
            // One of these lives as long as the program, as all sources do.
            sources: vec![Box::leak(Box::new(source))],
            tables: vec![&stack::TABLE],
            view: Box::new(WithCost::new(Profile::new(options))),
            since_boot: false,
            command: args.who.command(),
        },
    )
}
