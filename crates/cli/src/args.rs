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
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// Lines of what stands behind the options that terminals of 80 columns would break, of all commands below.
    fn too_long(command: &clap::Command) -> Vec<String> {
        let texts = [command.get_after_help(), command.get_after_long_help(), command.get_before_help()];
        let texts: Vec<_> = texts.into_iter().flatten().map(ToString::to_string).collect();
        let own = texts.iter().flat_map(|text| text.lines()).filter(|line| line.chars().count() > 80);
        let own = own.map(|line| format!("{}: {line}", command.get_name()));
        own.chain(command.get_subcommands().flat_map(too_long)).collect()
    }

    #[test]
    fn notes_and_examples_fit_a_terminal() {
        assert_eq!(too_long(&Cli::command()), Vec::<String>::new());
    }
}
