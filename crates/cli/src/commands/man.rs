//! `fenxi man`.

use std::{
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    process::{Command as Process, ExitCode, Stdio},
};

use anyhow::{Context, bail};
use clap::{Args, Command};
use clap_mangen::Man;
use fenxi_model::near;
use fs_err as fs;

use crate::{options::Global, overview, print, renamed};

/// `fenxi man`
#[derive(Debug, Args)]
#[command(after_help = "\
On a terminal `man` shows the page; otherwise it is written as roff.
`make install` installs all pages, so that `man fenxi-watch-nicstat` works.

Examples:
  fenxi man compare
  fenxi man watch nicstat
  fenxi man --all /usr/local/share/man/man1")]
pub struct ManArgs {
    /// Command to describe [default: fenxi itself]
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Write the pages of all commands to this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub all: Option<PathBuf>,
}

/// Shows or writes manual pages.
pub fn run(_: &Global, args: &ManArgs) -> anyhow::Result<ExitCode> {
    let root = overview::built();
    if let Some(dir) = &args.all {
        fs::create_dir_all(dir)?;
        write_pages(&root, dir)?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = roff(&page(&root, &args.command)?)?;
    if std::io::stdout().is_terminal() {
        return show(&text);
    }
    print::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The command that the words name. A tool is found by its own name too, and a command by the name that it had before.
fn page(root: &Command, words: &[String]) -> anyhow::Result<Command> {
    let mut found = root;
    let mut words = words.to_vec();
    if let Some(now) = words.first().and_then(|first| renamed::name(first)) {
        words.splice(..1, now.split(' ').filter(|word| !word.starts_with('-')).map(str::to_owned));
    }
    for name in &words {
        let Some(below) = listed(found).find(|c| c.get_name() == name) else {
            let all = listed(root).flat_map(|c| std::iter::once(c).chain(listed(c))).map(Command::get_name);
            let hint = near(name, all).first().map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            bail!("fenxi has no command `{name}`{hint}");
        };
        found = below;
    }
    Ok(found.clone())
}

fn listed(root: &Command) -> impl Iterator<Item = &Command> {
    root.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help")
}

fn roff(command: &Command) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    Man::new(command.clone())
        .source(format!("fenxi {}", env!("CARGO_PKG_VERSION")))
        .manual("Fenxi")
        .render(&mut text)?;
    // The sections that clap calls extra are a command's notes and examples.
    let text = String::from_utf8(text)?.replace(".SH EXTRA", ".SH NOTES");
    Ok(escaped(&text).into_bytes())
}

/// Roff that is ASCII: troff itself takes any other byte for a character of Latin-1.
fn escaped(roff: &str) -> String {
    let mut out = String::with_capacity(roff.len());
    for c in roff.chars() {
        if c.is_ascii() { out.push(c) } else { out.push_str(&format!("\\[u{:04X}]", u32::from(c))) }
    }
    out
}

/// Writes the page of a command and those of the commands below it.
fn write_pages(command: &Command, dir: &Path) -> anyhow::Result<()> {
    // Built, a command is displayed as `fenxi-nicstat`.
    let name = command.get_display_name().unwrap_or(command.get_name());
    fs::write(dir.join(format!("{name}.1")), roff(command)?)?;
    listed(command).try_for_each(|below| write_pages(below, dir))
}

/// Hands a page to `man`, which knows the terminal and its pager.
fn show(text: &[u8]) -> anyhow::Result<ExitCode> {
    let mut child = Process::new("man")
        .args(["-l", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .context("`man` cannot be started; `fenxi man ... | cat` shows the page's source")?;
    if let Some(mut stdin) = child.stdin.take() {
        // A pager that is left early closes its end.
        let _ = stdin.write_all(text);
    }
    Ok(if child.wait()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
