//! The only place that prints: data to stdout, messages to stderr.
//!
//! Foreign text (names, errors of servers, paths) may be in all of it; no character that a terminal would obey
//! passes. Cells are made visible where rows are laid out, so that none can break a row, and everything once more here.

mod listing;
mod pager;
mod stdout;
mod styled;
mod wrap;

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
    ops::Range,
    os::fd::AsFd,
};

pub use fenxi_live::columns;
pub use fenxi_model::visible;
use fenxi_model::visible_lines;
use rustix::termios::tcgetwinsize;

pub use listing::{fitted, left_out};
pub use pager::{Paged, forbid_pager};
pub use stdout::{Form, Stdout, failure, has_failed, remember};
pub use styled::{help, usage};
pub use wrap::{for_terminal, wrapped};

/// Writes text that was laid out for people.
///
/// # Errors
/// When stdout cannot be written.
pub fn text(text: &str) -> anyhow::Result<()> {
    put(Form::Text, text.as_bytes())
}

/// Writes JSON.
///
/// # Errors
/// As [`text`].
pub fn json(text: &str) -> anyhow::Result<()> {
    put(Form::Json, text.as_bytes())
}

/// Writes data for programs.
///
/// # Errors
/// As [`text`].
pub fn data(bytes: &[u8]) -> anyhow::Result<()> {
    put(Form::Data, bytes)
}

/// Writes something whole.
///
/// # Errors
/// As [`text`].
pub fn put(form: Form, bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = Stdout::new(form);
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// Writes text that was laid out for people and may be longer than their screen.
///
/// # Errors
/// As [`text`].
pub fn paged(form: Form, text: &str) -> anyhow::Result<()> {
    let mut out = Paged::new(form);
    out.write_all(text.as_bytes())?;
    drop(out);
    Ok(())
}

/// Writes a message to stderr. Where it has several lines, those after the first are set in: whatever of others is in
/// it, only the program begins a line.
pub fn message(text: &str) {
    say("", text);
}

/// Writes messages that hold the program's own words only, each of which begins a line.
pub fn messages(lines: &str) {
    lines.lines().for_each(message);
}

fn say(coloured: &str, text: &str) {
    // Nothing can be done about a stderr that is gone.
    let _ = writeln!(io::stderr(), "{coloured}{}", set_in(&visible_lines(text)));
}

/// `text` with its lines after the first set in, all alike, unless they are.
fn set_in(text: &str) -> String {
    let text = text.trim_end_matches('\n');
    let is_in = text.split('\n').skip(1).all(|line| line.is_empty() || line.starts_with([' ', '\t']));
    if is_in { text.to_owned() } else { text.replace('\n', "\n  ") }
}

/// Words of libraries for an operation on a file, and their meaning to who named the file.
const OPERATIONS: [(&str, &str); 6] = [
    ("failed to query resolved metadata of `", "cannot find `"),
    ("failed to query resolved metadata `", "cannot find `"),
    ("failed to query metadata of symlink `", "cannot find `"),
    ("failed to query metadata of file `", "cannot read `"),
    ("failed to open file `", "cannot open `"),
    ("failed to read directory `", "cannot list `"),
];

/// An error in plain words.
fn plain(text: &str) -> String {
    OPERATIONS.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
}

/// Writes an error with everything that led to it to stderr.
pub fn error(error: &anyhow::Error) {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        // A wrapped error often repeats what it wraps.
        if !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    say(if colour() { "\x1b[1;31merror:\x1b[0m " } else { "error: " }, &plain(&text));
}

/// Whether messages may be coloured: a terminal that can, and NO_COLOR unset or empty.
pub fn colour() -> bool {
    io::stderr().is_terminal() && may_colour()
}

/// Whether a terminal may be drawn on in colours.
pub fn may_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && !is_dumb()
}

/// Whether the terminal can do nothing but print lines.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|kind| kind == "dumb")
}

/// Columns of the terminal that `stream` is; None when it is none, so that nothing is cut.
pub fn width(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let size = if stream.is_terminal() { tcgetwinsize(stream).ok() } else { None };
    size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// `text` in at most `width` characters, with `…` for an end that is left out.
pub fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.chars().count() <= width {
        return text.into();
    }
    text.chars().take(width.saturating_sub(1)).chain(std::iter::once('…')).collect::<String>().into()
}

/// A table whose columns `right` hold numbers, in the width of the terminal; `spare` are those to leave out first.
pub fn listing(header: &[&str], right: &[usize], spare: &[usize], rows: &[Vec<String>]) -> String {
    fitted(header, right, spare, rows, width(&io::stdout())).with_note()
}

/// [`listing`], or of Markdown.
pub fn table(header: &[&str], right: Range<usize>, spare: &[usize], rows: &[Vec<String>], markdown: bool) -> String {
    if !markdown {
        return listing(header, &right.collect::<Vec<_>>(), spare, rows);
    }
    markdown_table(header, right, rows)
}

/// A table of Markdown whose columns `right` hold numbers.
pub fn markdown_table(header: &[&str], right: Range<usize>, rows: &[Vec<String>]) -> String {
    let rule = |column: usize| if right.contains(&column) { "---:" } else { "---" };
    let rules = (0..header.len()).map(rule).collect::<Vec<_>>().join("|");
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells: Vec<String> = cells.map(|cell| visible(cell).replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = line(&mut header.iter().copied()) + &format!("|{rules}|\n");
    out.extend(rows.iter().map(|row| line(&mut row.iter().map(String::as_str))));
    out
}

#[cfg(test)]
mod tests {
    use super::{plain, set_in};

    #[test]
    fn no_line_of_a_message_but_the_first_begins_where_lines_begin() {
        assert_eq!(set_in("a\nerror: b\n  c\n"), "a\n  error: b\n    c");
        assert_eq!(set_in("a\n  b\n\n\tc"), "a\n  b\n\n\tc");
    }

    #[test]
    fn what_was_tried_with_a_file_is_said_in_plain_words() {
        let text = "cannot import /x: failed to query resolved metadata `/x`: No such file or directory (os error 2)";
        assert_eq!(plain(text), "cannot import /x: cannot find `/x`: No such file or directory (os error 2)");
        assert_eq!(plain("no run matches `x`"), "no run matches `x`");
    }
}
