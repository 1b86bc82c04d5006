//! `fenxi format new`: a description drafted from a text.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use fenxi_formats::{Formats, Head, Input, draft::draft, foreign, wrong_name};

use super::{bytes_of, name_of};
use crate::print;

/// `fenxi format new`
#[derive(Debug, Args)]
#[command(after_help = "\
What it cannot know (units, directions, what only this tool prints) is marked
with `?` in the draft.

Examples:
  fenxi format new --from pool.log                      print it
  fenxi format new --from pool.log -o pool.toml         write it")]
pub struct NewArgs {
    /// Text to draft it from
    #[arg(long, value_name = "FILE")]
    pub from: PathBuf,
    /// Name of the format [default: that of the output or of the text]
    #[arg(long, short, value_name = "NAME")]
    pub name: Option<String>,
    /// Write to this file, which must not be there; `-` is standard output
    #[arg(long, short, value_name = "X.toml")]
    pub output: Option<PathBuf>,
}

/// Drafts it.
pub fn run(args: &NewArgs) -> anyhow::Result<ExitCode> {
    let bytes = bytes_of(&args.from)?;
    let input = Input::new(&bytes[..]);
    if let Some(foreign) = foreign(input.head_bytes()) {
        anyhow::bail!("{} is {}, no text", args.from.display(), foreign.what);
    }
    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    let name = match (&args.name, output) {
        (Some(name), _) => name.clone(),
        (None, Some(output)) => name_of(output),
        (None, None) => plain(&name_of(&args.from)),
    };
    if let Some(why) = wrong_name(&name) {
        anyhow::bail!("`{name}` cannot be the name of a format: {why}; --name NAME gives another");
    }
    let text = input.head();
    let Some(draft) = draft(&name, &text) else {
        anyhow::bail!(
            "{}: nothing in it has a form that can be drafted: no header above numbers, no keys with values, no lines that come \
             again; docs/own-formats.md shows how patterns are written, or how a program reads it",
            args.from.display()
        );
    };
    match output {
        Some(path) => {
            use std::io::Write;
            // A file that was worked on is not replaced by a draft.
            let mut file = fs_err::OpenOptions::new().write(true).create_new(true).open(path)?;
            file.write_all(draft.toml.as_bytes())?;
        }
        None => print::text(&draft.toml)?,
    }
    let read = draft.lines - draft.unread.min(draft.lines);
    print::message(&format!("drafted by its {}: it reads {read} of {} lines", draft.kind, draft.lines));
    if let Some(other) = Formats::default().detect(&Head { text: &text }) {
        print::message(&format!("`fenxi import` reads such a text already, as {}", other.name()));
    }
    Ok(ExitCode::SUCCESS)
}

/// A name with nothing in it that a format's must not have.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    for c in name.chars().map(|c| c.to_ascii_lowercase()) {
        match c {
            c if c.is_ascii_alphanumeric() => plain.push(c),
            _ if plain.ends_with('-') || plain.is_empty() => {}
            _ => plain.push('-'),
        }
    }
    let plain = plain.trim_end_matches('-');
    // A shipped format may be called as its text's file.
    match plain {
        "" => "mine".to_owned(),
        plain if fenxi_formats::format(plain).is_some() => format!("my-{plain}"),
        plain => plain.to_owned(),
    }
}
