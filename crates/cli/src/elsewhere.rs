//! Live tools at another host: `fenxi watch mpstat 1 --on db1` is `fenxi watch mpstat 1` there, and prints here.

use std::{ffi::OsString, io, process::ExitCode};

use anyhow::{Context, anyhow};
use fenxi_remote::{Programs, RemoteCommand, Target};

use crate::{ending::exit_code, print, stop::Stop};

/// Runs the command line `words` of this program at `target`, without what names it.
///
/// # Errors
/// When the host cannot be reached, or the output cannot be written.
pub fn run(target: &Target, words: &[OsString]) -> anyhow::Result<ExitCode> {
    let mut there = vec!["--tool".to_owned(), "--".to_owned()];
    for word in without_target(words) {
        there.push(word.into_string().map_err(|word| anyhow!("{} is no text", word.display()))?);
    }
    let stop = Stop::on_interrupt();
    let tool = RemoteCommand::run(target, &Programs::default(), &there, &print::message).map_err(anyhow::Error::msg)?;
    let status = tool.follow(&mut io::stdout(), &print::message, &|| stop.asked()).context("standard output")?;
    Ok(exit_code(status))
}

/// The words behind the program, without `--on` and its value.
fn without_target(words: &[OsString]) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        if word == "--" {
            kept.push(word.clone());
            kept.extend(rest.cloned());
            break;
        }
        if word == "--on" {
            rest.next();
        } else if !word.as_encoded_bytes().starts_with(b"--on=") {
            kept.push(word.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_no_word_of_the_command_there() {
        let of = |text: &str| {
            let words: Vec<OsString> = text.split(' ').map(OsString::from).collect();
            without_target(&words).iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("fenxi watch mpstat --on db1 1 5"), "watch mpstat 1 5");
        assert_eq!(of("fenxi trace profile --on=db1 -- ls --on x"), "trace profile -- ls --on x");
    }
}
