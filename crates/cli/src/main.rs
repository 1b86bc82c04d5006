//! The `fenxi` command: arguments in, printing and exit codes out; the work is done by the crates below.

mod args;
mod commands;
mod print;
mod progress;
mod stores;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(code) => code,
        Err(error) if print::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            print::error(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    match &cli.command {
        Command::Record(args) => commands::record::run(cli, args),
        Command::Runs(args) => commands::runs::run(cli, args),
        Command::Show(args) => commands::show::run(cli, args),
        Command::Tag(args) => commands::tag::run(cli, args),
        Command::Rm(args) => commands::rm::run(cli, args),
        Command::Verify(args) => commands::verify::run(cli, args),
        Command::Sql(args) => commands::sql::run(cli, args),
        Command::Ask(args) => commands::ask::run(cli, args),
        Command::Report(args) => commands::report::run(cli, args),
        Command::Tables(args) => commands::tables::run(cli, args),
    }
}
