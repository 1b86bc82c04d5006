//! The `fenxi` command: arguments in, printing and exit codes out; the work is done by the crates below.
//!
//! It is two programs. Mapping the SQL engine's library takes several times as long as all of
//! `fenxi runs`, and a machine that only records need not have it at all. So `fenxi` is linked
//! without it and hands `sql`, `ask`, `findings`, `report` and `serve` over to `fenxi-engine`, which stands beside it
//! or in `../libexec`.

mod args;
mod commands;
mod handover;
mod netns;
mod print;
mod progress;
mod stop;
mod stores;

use std::{ffi::OsString, path::Path, process::ExitCode};

use clap::Parser;

use args::{Cli, Command};

/// The program `fenxi`: does what needs no SQL engine, and hands the rest over.
pub fn fenxi() -> ExitCode {
    finish(|cli| match &cli.command {
        Command::Record(args) => commands::record::run(cli, args),
        Command::Import(args) => commands::import::run(cli, args),
        Command::Export(args) => commands::export::run(cli, args),
        Command::Formats(args) => commands::formats::run(cli, args),
        Command::Study(args) => commands::study::run(cli, args, None),
        Command::Runs(args) => commands::runs::run(cli, args),
        Command::Show(args) => commands::show::run(cli, args),
        Command::Tag(args) => commands::tag::run(cli, args),
        Command::Rm(args) => commands::rm::run(cli, args),
        Command::Verify(args) => commands::verify::run(cli, args),
        Command::Compare(args) => commands::compare::run(cli, args),
        Command::Representative(args) => commands::representative::run(cli, args),
        Command::Average(args) => commands::average::run(cli, args),
        Command::Trend(args) => commands::trend::run(cli, args),
        Command::Window(args) => commands::window::run(cli, args),
        Command::Man(args) => commands::manual::man(args),
        Command::Completions(args) => commands::manual::completions(args),
        Command::Load(args) => commands::load::run(cli, args),
        Command::Tables(args) => commands::tables::run(cli, args),
        Command::Nicstat(args) => commands::nicstat::run(cli, args),
        Command::Mpstat(args) => commands::mpstat::run(cli, args),
        Command::Pstime(args) => commands::pstime::run(cli, args),
        Command::Fence(args) => commands::fence::run(args),
        Command::Util(args) => commands::util::run(cli, args),
        Command::Memstat(args) => commands::memstat::run(cli, args),
        Command::Trace(args) => commands::trace::run(cli, args),
        Command::Tamp(args) => commands::tamp::run(cli, args),
        Command::Sql(_) | Command::Ask(_) | Command::Findings(_) | Command::Report(_) | Command::Serve(_) => {
            Err(handover::to_engine())
        }
    })
}

/// The program `fenxi-engine`: does what needs the SQL engine.
pub fn engine() -> ExitCode {
    finish(|cli| match &cli.command {
        Command::Sql(args) => commands::sql::run(cli, args),
        Command::Ask(args) => commands::ask::run(cli, args),
        Command::Findings(args) => commands::findings::run(cli, args),
        Command::Report(args) => commands::report::run(cli, args),
        Command::Study(args) => commands::study::run(cli, args, Some(fenxi_report::study_asks)),
        Command::Serve(args) => commands::serve::run(cli, args),
        _ => anyhow::bail!("`fenxi-engine` only answers for `fenxi`; run `fenxi` instead"),
    })
}

/// Tools that this program is when it is called by their names, through a link.
const CALLED_BY_NAME: [&str; 6] = ["nicstat", "mpstat", "pstime", "util", "memstat", "tamp"];

/// The command line; called as `nicstat` it is that of `fenxi nicstat`.
fn arguments() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let called = words.first().and_then(|word| Path::new(word).file_name()).map(OsString::from);
    if let Some(name) = called.filter(|name| CALLED_BY_NAME.iter().any(|tool| name == tool)) {
        words.insert(1, name);
    }
    words
}

/// Reads the command line, does `work`, and turns its outcome into messages and an exit code.
fn finish(work: impl FnOnce(&Cli) -> anyhow::Result<ExitCode>) -> ExitCode {
    match work(&Cli::parse_from(arguments())) {
        Ok(code) => code,
        Err(error) if print::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            print::error(&error);
            ExitCode::FAILURE
        }
    }
}
