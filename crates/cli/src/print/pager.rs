//! Text that is longer than the screen goes through a pager, as in git: `FENXI_PAGER`, or else `PAGER`, or else `less`. It is started only
//! where standard output is a terminal and the text is longer than that; `--no-pager`, an empty variable or `cat` mean none.

use std::{
    io::{self, IsTerminal, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};

use fenxi_sys::signal::{self, Signal};
use rustix::termios::tcgetwinsize;

use super::stdout::{Filter, Form, Stdout, remember};

/// The default pager; `-F` ends it by itself when all fits, `-R` keeps colours, `-X` leaves the text on the screen.
const LESS: &str = "less";
const LESS_OPTIONS: &str = "FRX";

/// Whether the command line forbids a pager.
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// No pager from here on.
pub fn forbid_pager() {
    FORBIDDEN.store(true, Ordering::Relaxed);
}

/// Standard output for text that may be long.
#[derive(Debug)]
pub struct Paged {
    to: To,
}

#[derive(Debug)]
enum To {
    /// Nothing is known of its length yet: what came so far, and how many lines more fit.
    Waiting { form: Form, text: Vec<u8>, room: usize },
    /// It fits, or nothing shall page it.
    Direct(Stdout),
    /// A pager reads it.
    Pager(Box<Pager>),
}

#[derive(Debug)]
struct Pager {
    child: Child,
    /// None once the pager has left, or all was written.
    to: Option<ChildStdin>,
    filter: Filter,
}

impl Paged {
    /// Begins; it must be flushed.
    pub fn new(form: Form) -> Paged {
        let to = match room() {
            Some(room) if form != Form::Data => To::Waiting { form, text: Vec::new(), room },
            _ => To::Direct(Stdout::new(form)),
        };
        Paged { to }
    }

    /// Starts the pager, or writes directly where there is none.
    fn decide(&mut self, is_long: bool) -> io::Result<()> {
        let To::Waiting { form, text, .. } = &mut self.to else { return Ok(()) };
        let (form, text) = (*form, std::mem::take(text));
        let pager = if is_long { Pager::start(form) } else { None };
        self.to = pager.map_or_else(|| To::Direct(Stdout::new(form)), |pager| To::Pager(Box::new(pager)));
        self.write_all(&text)
    }

    /// Ends: what is waiting is written, and who reads it in a pager may read on.
    fn end(&mut self) -> io::Result<()> {
        self.decide(false)?;
        match &mut self.to {
            To::Waiting { .. } => Ok(()),
            To::Direct(out) => out.flush(),
            To::Pager(pager) => pager.wait(),
        }
    }
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Direct(out) => out.write(bytes),
            To::Pager(pager) => pager.write(bytes),
            To::Waiting { text, room, .. } => {
                text.extend_from_slice(bytes);
                let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
                match room.checked_sub(lines) {
                    Some(left) => *room = left,
                    None => self.decide(true)?,
                }
                Ok(bytes.len())
            }
        }
    }

    /// Only a whole text is known to fit: what waits goes on waiting.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Waiting { .. } => Ok(()),
            To::Direct(out) => out.flush(),
            To::Pager(pager) => pager.to.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}

impl Drop for Paged {
    fn drop(&mut self) {
        // Its user learns by `failure` how that went.
        let _ = self.end();
    }
}

impl Pager {
    fn start(form: Form) -> Option<Pager> {
        let variable = |name| std::env::var(name).ok();
        let words = chosen(variable("FENXI_PAGER"), variable("PAGER"))?;
        let mut command = Command::new("sh");
        command.args(["-c", &words]).stdin(Stdio::piped());
        if variable("LESS").is_none() {
            command.env("LESS", LESS_OPTIONS);
        }
        let mut child = command.spawn().ok()?;
        let to = child.stdin.take();
        // Ctrl-C is for the pager as long as there is one: who ended before it would leave it without the terminal.
        signal::ignore(Signal::INT);
        Some(Pager { child, to, filter: Filter::of(form) })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let shown = self.filter.pass(bytes);
        // Who has read enough is a reader that has left.
        let Some(to) = &mut self.to else { return remember(Err(io::ErrorKind::BrokenPipe.into())) };
        if let Err(error) = to.write_all(shown.as_bytes()) {
            self.to = None;
            return remember(Err(error));
        }
        Ok(bytes.len())
    }

    fn wait(&mut self) -> io::Result<()> {
        if let (Some(to), Some(rest)) = (&mut self.to, self.filter.end()) {
            remember(to.write_all(rest.as_bytes()))?;
        }
        self.to = None;
        self.child.wait().map(drop)
    }
}

/// The command of the pager; None where none is wanted.
fn chosen(own: Option<String>, usual: Option<String>) -> Option<String> {
    let words = own.or(usual).unwrap_or_else(|| LESS.to_owned());
    let words = words.trim();
    if words == LESS && !has_less() {
        return None;
    }
    (!words.is_empty() && words != "cat").then(|| words.to_owned())
}

/// Whether `less` is installed: a shell would only report that it is not, and show nothing.
fn has_less() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(LESS).is_file())
}

/// Lines that fit the terminal; None where nothing shall be paged.
fn room() -> Option<usize> {
    let out = io::stdout();
    let may = out.is_terminal() && !super::is_dumb() && !FORBIDDEN.load(Ordering::Relaxed);
    let size = if may { tcgetwinsize(&out).ok() } else { None };
    // The last line is for the prompt.
    size.map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 2).map(|rows| rows - 1)
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn a_pager_is_chosen_by_the_environment() {
        let of = |own: Option<&str>, usual: Option<&str>| chosen(own.map(str::to_owned), usual.map(str::to_owned));
        assert_eq!(of(None, Some("more -x")), Some("more -x".to_owned()));
        assert_eq!(of(Some("most"), Some("more")), Some("most".to_owned()));
        for none in [of(Some(""), Some("more")), of(None, Some("cat")), of(None, Some(" "))] {
            assert_eq!(none, None);
        }
    }
}
