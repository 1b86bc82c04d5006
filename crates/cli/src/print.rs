//! The only place that prints: data to stdout, messages to stderr.

use std::{
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};

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

/// A table of texts: columns two blanks apart, those in `right` aligned to the right.
pub fn columns(header: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    let width = |i: usize| {
        rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count()).chain([header[i].chars().count()]).max()
    };
    let widths: Vec<usize> = (0..header.len()).map(|i| width(i).unwrap_or(0)).collect();
    let mut out = String::new();
    let header: Vec<String> = header.iter().map(|h| (*h).to_owned()).collect();
    for row in std::iter::once(&header).chain(rows) {
        let mut line = String::new();
        for (i, cell) in row.iter().enumerate() {
            if i > 0 {
                line.push_str("  ");
            }
            let pad = " ".repeat(widths[i].saturating_sub(cell.chars().count()));
            if right.contains(&i) {
                line.push_str(&pad);
                line.push_str(cell);
            } else {
                line.push_str(cell);
                line.push_str(&pad);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_aligned() {
        let rows = vec![vec!["a".to_owned(), "1".to_owned()], vec!["böse".to_owned(), "10".to_owned()]];
        assert_eq!(columns(&["name", "n"], &[1], &rows), "name   n\na      1\nböse  10\n");
    }
}
