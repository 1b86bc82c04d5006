//! The first page of help: commands in groups, by purpose.
//!
//! clap lists all subcommands in one block, and thirty in a row give no idea where to begin.

use std::{ffi::OsString, fmt::Write, path::PathBuf};

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, builder::StyledStr};

use crate::{args::Cli, commands::GROUPS, options::OUTPUT};

/// A command line that was understood.
#[derive(Debug)]
pub struct Parsed {
    /// It.
    pub cli: Cli,
    /// The file that its output goes to, if one is named with `-o`.
    pub output: Option<PathBuf>,
}

/// Parses a command line; help is that of [`command`].
///
/// # Errors
/// When help was asked for, or the command line is wrong.
pub fn parse(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Parsed, clap::Error> {
    let matches = command().try_get_matches_from(words)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))?;
    let output = output(&matches).filter(|path| path.as_os_str() != "-").cloned();
    Ok(Parsed { cli, output })
}

/// Value of [`OUTPUT`] in the matches of a command or of those below it.
fn output(matches: &ArgMatches) -> Option<&PathBuf> {
    let own = matches.try_get_one::<PathBuf>(OUTPUT).ok().flatten();
    own.or_else(|| output(matches.subcommand()?.1))
}

/// The command line, with grouped commands on its first page of help.
pub fn command() -> Command {
    let command = Cli::command();
    let template = template(&command);
    command.help_template(template)
}

/// The whole command line, with what clap adds only when it parses.
pub fn built() -> Command {
    let mut root = Cli::command();
    root.build();
    root
}

fn template(command: &Command) -> StyledStr {
    let (heading, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut page = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    let width = GROUPS.iter().flat_map(|(_, listed)| listed.iter()).map(|name| name.len()).max().unwrap_or(0);
    // Writing to a string cannot fail.
    for (title, listed) in GROUPS {
        let _ = writeln!(page, "\n{heading}{title}:{heading:#}");
        for found in listed.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "  {literal}{:width$}{literal:#}  {about}", found.get_name());
        }
    }
    let _ = write!(page, "\n{heading}Options:{heading:#}\n{{options}}{{after-help}}");
    page.into()
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, command};

    #[test]
    fn every_command_is_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, listed)| listed.iter().copied()).collect();
        grouped.sort_unstable();
        let root = command();
        let mut declared: Vec<&str> =
            root.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name).collect();
        declared.sort_unstable();
        assert_eq!(grouped, declared);
    }

    #[test]
    fn the_page_shows_every_group_and_fits_a_terminal() {
        let page = command().term_width(80).render_help().to_string();
        let wide: Vec<&str> = page.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(wide, Vec::<&str>::new());
        for (title, listed) in GROUPS {
            let names: Vec<&str> = listed.to_vec();
            let below = page.split_once(&format!("\n{title}:\n")).map(|(_, below)| below);
            let lines = below.unwrap_or_else(|| panic!("no {title} in {page}")).lines().take(names.len());
            let shown: Vec<&str> = lines.filter_map(|line| line.split_whitespace().next()).collect();
            assert_eq!(shown, names, "{title}");
        }
        assert!(page.contains("\nOptions:\n") && page.contains("\nExamples:\n"), "{page}");
    }
}
