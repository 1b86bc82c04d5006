//! `fenxi trace iopattern`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use fenxi_live::trace::{Iopattern, IopatternBy, IopatternOptions, WithCost};
use fenxi_model::catalog::{histogram, io_pattern};

use super::{Who, when};
use crate::{
    args::Cli,
    commands::live::{self, LiveArgs, Tool},
};

/// `fenxi trace iopattern`
#[derive(Debug, Args)]
#[command(after_help = "\
An operation is sequential when it begins where the last one of the same kind, file and process ended. `page` is page
faults on mappings, `direct` goes past the page cache (O_DIRECT). Without an INTERVAL, means are shown at the end (Ctrl-C,
COMMAND's end).

Examples:
  fenxi trace iopattern 1                   each file system, every second
  fenxi trace iopattern --by file -- make   which files did make read and write, and how?
  fenxi trace iopattern -p 1234 --distributions 10 1
                                            sizes and times of a process's operations in 10 seconds
  fenxi trace iopattern --save io 1         and keep it as a run")]
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
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
    /// Whom; it has the last argument
    #[command(flatten)]
    pub who: Who,
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
    let source = fenxi_ebpf::Iopattern { tracked: args.who.tracked() };
    let by = match args.by {
        By::Mount => IopatternBy::Mount,
        By::File => IopatternBy::File,
        By::Process => IopatternBy::Process,
    };
    let options = IopatternOptions { when: when(&args.live), by, top: args.top, distributions: args.distributions };
    live::run(
        cli,
        &args.live,
        Tool {
            name: "trace iopattern",
            // One of these lives as long as the program, as all sources do.
            sources: vec![Box::leak(Box::new(source))],
            tables: vec![&io_pattern::TABLE, &histogram::TABLE],
            view: Box::new(WithCost::new(Iopattern::new(options))),
            since_boot: false,
            command: args.who.command(),
        },
    )
}
