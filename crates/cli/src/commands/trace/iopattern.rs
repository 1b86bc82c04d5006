//! `fenxi trace iopattern`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use fenxi_live::trace::iopattern::{self as view, Iopattern, IopatternOptions};

use super::Observation;
use crate::args::Cli;

/// `fenxi trace iopattern`
#[derive(Debug, Args)]
#[command(after_help = "\
An operation is sequential when it begins where the last one of the same kind,
file and process ended. `page` is page faults on mappings, `direct` goes past
the page cache (O_DIRECT). Without an INTERVAL, means are shown at the end
(Ctrl-C, COMMAND's end).

Examples:
  fenxi trace iopattern 1                  each file system, every second
  fenxi trace iopattern --by file -- make  which files make read and wrote, how
  fenxi trace iopattern -p 1234 --distributions 10 1
                                           sizes and times, of 10 seconds
  fenxi trace iopattern --save io 1        and keep it as a run")]
pub struct IopatternArgs {
    /// What is told apart
    #[arg(long, value_enum, default_value_t = By::Mount)]
    pub by: By,
    /// Distributions of sizes and times, too
    #[arg(long)]
    pub distributions: bool,
    /// Lines to show at most
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub top: usize,
    /// When, how often, where to, and whom
    #[command(flatten)]
    pub observation: Observation,
}

/// What is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// File systems
    Mount,
    /// Files
    File,
    /// Processes
    Process,
}

/// Shows it until the count is reached, a signal comes or the command has ended.
pub fn run(cli: &Cli, args: &IopatternArgs) -> anyhow::Result<ExitCode> {
    let by = match args.by {
        By::Mount => view::By::Mount,
        By::File => view::By::File,
        By::Process => view::By::Process,
    };
    let source = fenxi_ebpf::iopattern::Iopattern { tracked: args.observation.tracked() };
    let options = IopatternOptions { by, top: args.top, distributions: args.distributions };
    args.observation.show(cli, source, Iopattern::new(options))
}
