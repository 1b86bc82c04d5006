//! How the program ends: what is printed about its outcome, and the exit code.

use std::{ffi::OsString, io, process::ExitCode};

use clap::error::ErrorKind;
use fenxi_sys::signal::{self, Signal};

use crate::{overview, print};

/// Ends with the outcome of a command. Output that could not be written is an error whatever the command made of it.
pub fn of(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    let unwritten = print::failure();
    let left = unwritten.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    match (outcome, unwritten) {
        (Ok(code), None) => code,
        (Ok(_), Some(_)) if left => of_broken_pipe(),
        (Err(error), Some(_)) if left && says_broken_pipe(&error) => of_broken_pipe(),
        (outcome, unwritten) => {
            let unwritten = unwritten.filter(|_| !left);
            if let Some(why) = &unwritten {
                print::message(&format!("error: cannot write standard output: {why}"));
            }
            // A command's own error about that is not printed again.
            if let Err(error) = outcome
                && !unwritten.is_some_and(|why| format!("{error:#}").contains(&why.to_string()))
            {
                print::error(&error);
            }
            ExitCode::FAILURE
        }
    }
}

/// The exit code for the status of an observed command.
pub fn exit_code(status: i32) -> ExitCode {
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

/// Whether an error is one of a pipe without a reader; the engine keeps no more than the text.
fn says_broken_pipe(error: &anyhow::Error) -> bool {
    format!("{error:#}").to_lowercase().contains("broken pipe")
}

/// Ends as programs do whose reader has gone, as `head` when it has enough: by SIGPIPE, which a shell reports as 141, and
/// without a word. The signal was ignored until now, so that everything could be put in order first.
fn of_broken_pipe() -> ExitCode {
    signal::end_by(Signal::PIPE);
    ExitCode::from(128 + Signal::PIPE.as_raw() as u8)
}

/// Commands of other programs, and what does the same here.
const ELSEWHERE: [(&str, &str); 14] = [
    ("diff", "fenxi compare A B"),
    ("ls", "fenxi runs"),
    ("ps", "fenxi runs"),
    ("log", "fenxi runs"),
    ("history", "fenxi runs"),
    ("top", "fenxi watch pstime 1"),
    ("stat", "fenxi record -- COMMAND"),
    ("run", "fenxi record -- COMMAND"),
    ("profile", "fenxi record -s +profile"),
    ("query", "fenxi sql STATEMENT"),
    ("delete", "fenxi store rm RUN"),
    ("remove", "fenxi store rm RUN"),
    ("benchmark", "fenxi study PLAN.toml"),
    ("view", "fenxi show RUN"),
];

/// Ends with the message about a command line that is not obeyed: one that asks for help, or a wrong one. It may name
/// what others wrote (files that a shell has found), so that only its visible words are printed.
pub fn of_words(words: &[OsString], error: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    let shown = words.iter().map(|word| print::visible(&word.to_string_lossy()).into_owned());
    let again = overview::parse(shown).err().filter(|again| again.kind() == error.kind());
    let page = again.as_ref().unwrap_or(error).render();
    if error.use_stderr() {
        print::usage(&page);
        let command = || ELSEWHERE.iter().find(|(name, _)| words.get(1).is_some_and(|word| word == name));
        if error.kind() == ErrorKind::InvalidSubcommand
            && let Some((name, ours)) = command()
        {
            print::message(&format!("`{name}` of other programs is `{ours}` here"));
        }
        return code;
    }
    of(print::help(&page).map(|()| code))
}
