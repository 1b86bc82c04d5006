//! `fenxi trace profile`.

use std::process::ExitCode;

use clap::Args;
use fenxi_live::trace::profile::{Profile, ProfileOptions};

use super::Observation;
use crate::args::Cli;

/// `fenxi trace profile`
#[derive(Debug, Args)]
#[command(after_help = "\
Functions are listed by the samples in which they ran themselves, until they
make up 95 % of all. %WITH CALLEES also has those in which something they had
called ran. Frames of the kernel end with _[k].

Stacks of programs are whole where these were compiled with frame pointers, and
end early where not. Languages with a run-time compiler name their functions
when told to: node --perf-basic-prof, java with perf-map-agent,
python3.12 -X perf.

Examples:
  fenxi trace profile -- make                  where does make's CPU time go?
  fenxi trace profile -p 1234 --off-cpu 10 1   what a process does and waits for
  fenxi trace profile --folded 10 1 > out.txt  stacks for flame graph tools
  fenxi trace profile --save p 1 30            keep it; fenxi report p draws it")]
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
    /// When, how often, where to, and whom
    #[command(flatten)]
    pub observation: Observation,
}

/// Shows it until the count is reached, a signal comes or the command has ended.
pub fn run(cli: &Cli, args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    let (tracked, frequency, off_cpu) = (args.observation.tracked(), args.frequency, args.off_cpu);
    let source = fenxi_ebpf::profile::Profile { tracked, frequency, off_cpu };
    let options = ProfileOptions { until_pct: args.until, stacks: args.stacks, folded: args.folded };
    args.observation.show(cli, source, Profile::new(options))
}
