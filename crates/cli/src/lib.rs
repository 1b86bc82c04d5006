//! The `fenxi` command: arguments in, printing and exit codes out; the work is done by the crates below.
//!
//! Statements are answered by a second program, `fenxi-engine`, of which there are as many processes as statements:
//! this one is not linked with the SQL engine, and a machine that only records need not have it.

mod args;
mod commands;
mod ending;
mod netns;
mod overview;
mod print;
mod progress;
mod stop;
mod stores;
mod whole;

use std::{ffi::OsString, path::Path, process::ExitCode};

use args::{Cli, Command};

/// The program `fenxi`.
pub fn fenxi() -> ExitCode {
    finish(|cli| match &cli.command {
        Command::Record(args) => commands::record::run(cli, args),
        Command::Import(args) => commands::import::run(cli, args),
        Command::Export(args) => commands::export::run(cli, args),
        Command::Formats(args) => commands::formats::run(cli, args),
        Command::Study(args) => commands::study::run(cli, args),
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
        Command::Licenses(args) => commands::licenses::run(args),
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
        Command::Sql(args) => commands::sql::run(cli, args),
        Command::Ask(args) => commands::ask::run(cli, args),
        Command::Findings(args) => commands::findings::run(cli, args),
        Command::Report(args) => commands::report::run(cli, args),
        Command::Serve(args) => commands::serve::run(cli, args),
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
    commands::licenses::as_command(&mut words);
    // Nothing was typed: whoever looks what this is gets the first page of help, not an error.
    if words.len() == 1 {
        words.push("--help".into());
    }
    words
}

/// Reads the command line, does `work`, and turns its outcome into messages and an exit code.
fn finish(work: impl FnOnce(&Cli) -> anyhow::Result<ExitCode>) -> ExitCode {
    let words = arguments();
    match overview::parse(&words) {
        Ok(cli) => ending::of(work(&cli)),
        Err(error) => ending::of_words(&words, &error),
    }
}
