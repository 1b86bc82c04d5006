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
mod sources;
mod stop;
mod stores;
mod unmet;
mod whole;

use std::{ffi::OsString, path::Path, process::ExitCode};

use args::Cli;
use commands::GROUPS;

/// The program `fenxi`.
pub fn fenxi() -> ExitCode {
    finish(|cli| cli.command.run(&cli.global))
}

/// The command line; called as `nicstat` it is that of `fenxi nicstat`.
fn arguments() -> Vec<OsString> {
    let mut words = argv::words().to_vec();
    let called = words.first().and_then(|word| Path::new(word).file_name()).map(OsString::from);
    let listed = GROUPS.iter().flat_map(|(_, commands)| commands.iter());
    if let Some(name) = called.filter(|name| listed.into_iter().any(|tool| tool.own_name && name == tool.name)) {
        words.insert(1, name);
    }
    commands::licenses::as_command(&mut words);
    for word in words.iter_mut().skip(1).take_while(|word| *word != "--") {
        // A range that begins before now would pass for options: `-2h..`.
        let text = word.to_string_lossy();
        if text.starts_with('-') && fenxi_model::TimeRange::parse(&text).is_some() {
            *word = format!("now{text}").into();
        }
    }
    // Nothing was typed: whoever looks what this is gets the first page of help, not an error.
    if words.len() == 1 {
        words.push("--help".into());
    }
    words
}

/// Reads the command line, does `work`, and turns its outcome into messages and an exit code.
fn finish(work: impl FnOnce(&Cli) -> anyhow::Result<ExitCode>) -> ExitCode {
    let words = arguments();
    let read = options::with_config(&words);
    let all = match read {
        Ok(all) => all,
        Err(error) => return ending::of(Err(error)),
    };
    match overview::parse(&all) {
        Ok(cli) => {
            if cli.global.no_pager {
                print::forbid_pager();
            }
            ending::of(match cli.command.elsewhere() {
                Some(target) => elsewhere::run(target, &words),
                None => work(&cli),
            })
        }
        Err(error) => ending::of_words(&words, &error),
    }
}
