//! The only place that prints: data to stdout, messages to stderr.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
    sync::atomic::{AtomicBool, Ordering},
};

pub use fenxi_live::columns;
use rustix::termios::tcgetwinsize;

/// Whether the reader of our output has gone; libraries between us and stdout may forget why they failed.
static PIPE_BROKEN: AtomicBool = AtomicBool::new(false);

/// Stdout for data, buffered, which remembers that its reader has gone.
#[derive(Debug)]
pub struct Stdout(io::BufWriter<io::Stdout>);

impl Stdout {
    /// A buffer of its own; it must be flushed.
    pub fn new() -> Stdout {
        Stdout(io::BufWriter::new(io::stdout()))
    }
}

fn remember<T>(result: io::Result<T>) -> io::Result<T> {
    if result.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
        PIPE_BROKEN.store(true, Ordering::Relaxed);
    }
    result
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        remember(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        remember(self.0.flush())
    }
}

/// Writes data to stdout, whole.
///
/// # Errors
/// When stdout cannot be written; a broken pipe is told apart by [`is_broken_pipe`].
pub fn data(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = Stdout::new();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// Writes one line of a message to stderr.
pub fn message(text: &str) {
    // Nothing can be done about a stderr that is gone.
    let _ = writeln!(io::stderr(), "{text}");
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
    let (open, close) = if colour() { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    message(&format!("{open}error:{close} {text}"));
}

/// Whether messages may be coloured: a terminal, and NO_COLOR unset or empty.
pub fn colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Whether `error` only says that the reader of our output has gone.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let says_so = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    };
    PIPE_BROKEN.load(Ordering::Relaxed) || error.chain().any(says_so)
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

/// Cuts cells of `rows` so that [`columns`] takes at most `width` characters; of the widest columns
/// first.
pub fn fit(header: &[&str], rows: &mut [Vec<String>], width: usize) {
    let length = |cell: &str| cell.chars().count();
    let widest = |i: usize| rows.iter().filter_map(|r| r.get(i)).map(|c| length(c)).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..header.len()).map(|i| widest(i).max(length(header[i]))).collect();
    let room = width.saturating_sub(2 * header.len().saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        // A column stays as wide as its header.
        let cuttable = (0..header.len()).filter(|i| widths[*i] > length(header[*i]));
        let Some(i) = cuttable.max_by_key(|i| widths[*i]) else { break };
        widths[i] -= 1;
    }
    for row in rows {
        for (cell, width) in row.iter_mut().zip(&widths) {
            *cell = cut(cell, *width).into_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{columns, fit};

    #[test]
    fn the_widest_columns_are_cut_to_fit() {
        let mut rows = vec![vec!["a".to_owned(), "böse Übel".to_owned(), "123456".to_owned()]];
        fit(&["n", "x", "y"], &mut rows, 15);
        assert_eq!(columns(&["n", "x", "y"], &[], &rows), "n  x      y\na  böse…  1234…\n");
        let before = rows.clone();
        fit(&["n", "x", "y"], &mut rows, 80);
        assert_eq!(rows, before);
    }
}
