//! The `fenxi` command: arguments in, printing and exit codes out; the work is done by the crates below.
//!
//! Statements are answered by a second program, `fenxi-engine`, of which there are as many processes as statements:
//! this one is not linked with the SQL engine, and a machine that only records need not have it.

mod answer;
mod answers;
mod args;
mod argv;
mod commands;
mod demo;
mod differs;
mod distances;
mod elsewhere;
mod ending;
mod facts;
mod formats;
mod live;
mod machine;
mod memory;
mod netns;
mod options;
mod overview;
mod parts;
mod passed;
mod print;
mod progress;
mod renamed;
mod sources;
mod stop;
mod stores;
mod unmet;
mod whole;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

use args::Cli;
use overview::Parsed;

/// The program `fenxi`.
pub fn fenxi() -> ExitCode {
    finish(|cli| cli.command.run(&cli.global))
}

/// Tools that this program is when it is called by their names, through links.
const TOOLS: [&str; 9] = ["mpstat", "nicstat", "pstime", "util", "memstat", "dbstat", "tamp", "lsync", "Lsync"];

/// The command line as it is now called, and a hint at what changed of it; called as `nicstat` it is that of `fenxi watch nicstat`.
fn arguments() -> (Vec<OsString>, Option<String>) {
    let mut words = argv::words().to_vec();
    let called = words.first().and_then(|word| Path::new(word).file_name()).map(OsString::from);
    let name = called.filter(|name| TOOLS.iter().any(|tool| name == tool));
    let is_tool = name.is_some();
    words.splice(1..1, name);
    commands::licenses::as_command(&mut words);
    for word in words.iter_mut().skip(1).take_while(|word| *word != "--") {
        // A range that begins before now would pass for options: `-2h..`.
        let text = word.to_string_lossy();
        if text.starts_with('-') && fenxi_model::TimeRange::parse(&text).is_some() {
            *word = format!("now{text}").into();
        }
    }
    // Nothing was typed: that prints the first page of help, not an error.
    if words.len() == 1 {
        words.push("--help".into());
    }
    let hint = renamed::change(&mut words).filter(|_| !is_tool);
    (words, hint)
}

/// Reads the command line, does `work`, and turns its outcome into messages and an exit code.
fn finish(work: impl FnOnce(&Cli) -> anyhow::Result<ExitCode>) -> ExitCode {
    let (words, hint) = arguments();
    let read = options::with_config(&words);
    let all = match read {
        Ok(all) => all,
        Err(error) => return ending::of(Err(error)),
    };
    match overview::parse(&all) {
        Ok(Parsed { cli, output }) => {
            if cli.global.no_pager {
                print::forbid_pager();
            }
            if let Some(hint) = hint.filter(|_| !cli.global.quiet) {
                renamed::tell(&hint);
            }
            ending::of(match cli.command.elsewhere() {
                Some(target) => elsewhere::run(target, &words),
                None => into(output, || work(&cli)),
            })
        }
        Err(error) => ending::of_words(&words, &error),
    }
}

/// Does `work` with its standard output in a file, if one is named: there whole or not at all.
fn into(output: Option<PathBuf>, work: impl FnOnce() -> anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    let Some(path) = output else { return work() };
    let own = rustix::stdio::stdout().try_clone_to_owned()?;
    let written = whole::write(&path, whole::Output::Anything, |file| {
        rustix::stdio::dup2_stdout(&*file)?;
        let code = work()?;
        if print::has_failed() {
            anyhow::bail!("{} cannot be written", path.display());
        }
        Ok(code)
    });
    rustix::stdio::dup2_stdout(&own)?;
    written
}
