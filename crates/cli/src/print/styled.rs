//! Help and errors of the parser of the command line, in its own colours.

use std::io::{self, IsTerminal, Write};

use clap::builder::StyledStr;
use fenxi_model::{visible, visible_lines};

use super::{may_colour, remember};

/// Begins a sequence that a terminal obeys.
const BEGIN: &str = "\x1b[";

/// Writes help to stdout.
///
/// # Errors
/// When stdout cannot be written.
pub fn help(page: &StyledStr) -> anyhow::Result<()> {
    let text = shown(page, io::stdout().is_terminal());
    let mut out = io::stdout();
    remember(out.write_all(text.as_bytes()).and_then(|()| out.flush()))?;
    Ok(())
}

/// Writes what is wrong with a command line to stderr.
pub fn usage(page: &StyledStr) {
    // Nothing can be done about a stderr that is gone.
    let _ = io::stderr().write_all(shown(page, io::stderr().is_terminal()).as_bytes());
}

fn shown(page: &StyledStr, terminal: bool) -> String {
    if terminal && may_colour() {
        only_styles(&page.ansi().to_string())
    } else {
        visible_lines(&page.to_string()).into_owned()
    }
}

/// `text` in which nothing but colours and weights is left of what a terminal obeys.
fn only_styles(text: &str) -> String {
    let mut pieces = text.split(BEGIN);
    let mut out = visible_lines(pieces.next().unwrap_or_default()).into_owned();
    for piece in pieces {
        let style = piece.find(|c: char| !c.is_ascii_digit() && c != ';').filter(|end| piece[*end..].starts_with('m'));
        out.push_str(&style.map_or_else(|| visible(BEGIN), |_| BEGIN.into()));
        out.push_str(&visible_lines(piece));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::only_styles;

    #[test]
    fn colours_are_all_that_a_terminal_is_told() {
        assert_eq!(only_styles("\x1b[1;31merror:\x1b[0m a"), "\x1b[1;31merror:\x1b[0m a");
        assert_eq!(only_styles("a\x1b[2Jb\x1b]0;c\x07\x1b["), "a?[2Jb?]0;c??[");
    }
}
