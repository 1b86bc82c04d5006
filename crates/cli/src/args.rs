//! The command line as a whole: its first page of help, options of every command, and the commands.

use clap::Parser;

use crate::{commands::Command, options::Global};

/// Record, query, compare and visualise the performance of Linux systems
#[derive(Debug, Parser)]
#[command(name = "fenxi", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "\
Select runs by id (or a unique prefix), name, `@N` (`@1` is the latest) or
`tag=value`, and recordings with --roll by time: `03:10..03:25`, `yesterday`,
`-2h..`. `fenxi help COMMAND` describes a command.

Examples:
  fenxi record -- make -j8            record this machine while a command runs
  fenxi record --for 30s --name idle  record it for 30 seconds
  fenxi import mpstat.txt sar.txt     import the output of other tools as a run
  fenxi runs                          list runs
  fenxi ask hottest-cpu               answer a question about the latest run
  fenxi findings                      flag problems in the latest run
  fenxi report @1 -o report.html      write it as a self-contained HTML page")]
pub struct Cli {
    /// Options of every command
    #[command(flatten)]
    pub global: Global,

    /// Print the licences of Fenxi and its dependencies; with `--json`, list the dependencies
    // Without a command: `lib.rs` makes it the hidden one of that name.
    #[arg(long)]
    pub licenses: bool,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

#[cfg(test)]
#[path = "args/tests.rs"]
mod tests;
