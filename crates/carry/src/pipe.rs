//! A store at the other end of a pipe: requests and answers are lines of JSON, archives are pieces with their length before them.
//!
//! [`attend`] is the other end. The shell there gets a script first, so that no word has to survive the quoting of ssh and of a
//! login shell; nothing is sent behind the script before it has answered, as a shell may read ahead.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread::JoinHandle,
};

use fenxi_model::RunId;
use fenxi_store::{ArchiveLimits, LabelConflict, Store};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    CarryError,
    peer::{ManyLabels, Offer, Peer, merge},
};

/// First line of the other end; the number changes with the protocol that follows it.
const HELLO: &str = "fenxi-attends 1";
/// Bytes of greetings of login shells before it.
const GREETING: u64 = 64 << 10;
/// Bytes of one line: a few hundred for each run.
const LINE: u64 = 256 << 20;
/// Bytes of a piece of an archive.
const PIECE: usize = 64 << 10;
/// In place of the length of a piece: the archive has no end, and a line says why.
const BROKEN: u32 = u32::MAX;
/// Bytes of the messages of ssh that are kept.
const MESSAGES: u64 = 8 << 10;
/// Without a terminal, never asking for a password; a dead line ends within a minute.
const SSH: [&str; 9] =
    ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4", "--"];
/// Where fenxi may lie besides the folders that a login without a terminal has.
const FOLDERS: &str = "$HOME/.local/bin:$HOME/.cargo/bin:/usr/local/bin:/opt/fenxi/bin";

#[derive(Serialize, Deserialize)]
enum Ask {
    Offer,
    Take,
    Give(Vec<RunId>),
    Merge(ManyLabels),
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Offer(Option<Offer>),
    Taken,
    Gives,
    Merged(Vec<LabelConflict>),
    Failed(String),
}

/// A store behind a command's standard input and output.
pub(crate) struct Pipe {
    name: String,
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    messages: Option<JoinHandle<String>>,
}

impl Pipe {
    /// The store at `path` of an ssh destination; that of its user without a path.
    pub(crate) fn ssh(name: &str, destination: &str, path: Option<&str>) -> Result<Pipe, CarryError> {
        let failed = |why: String| CarryError::Storage { what: name.to_owned(), why };
        let mut command = Command::new(SSH[0]);
        command.args(&SSH[1..]).args([destination, "sh"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| failed(format!("cannot run `ssh`: {e}")))?;
        let (Some(to), Some(from), Some(messages)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed("ssh has no pipes".to_owned()));
        };
        let messages = std::thread::spawn(move || {
            let mut text = Vec::new();
            // The rest is read and not kept: ssh must not wait for us.
            let mut messages = messages;
            let _ = (&mut messages).take(MESSAGES).read_to_end(&mut text);
            let _ = io::copy(&mut messages, &mut io::sink());
            String::from_utf8_lossy(&text).into_owned()
        });
        let name = name.to_owned();
        let mut pipe = Pipe { name, child, to: Some(to), from: BufReader::new(from), messages: Some(messages) };
        pipe.greet(path)?;
        Ok(pipe)
    }

    fn greet(&mut self, path: Option<&str>) -> Result<(), CarryError> {
        let store = path.map(|path| format!(" --store {}", quoted(path))).unwrap_or_default();
        let script = format!("{{ PATH=\"$PATH:{FOLDERS}\"; export PATH; exec fenxi --quiet{store} store attend; }}\n");
        self.write(script.as_bytes())?;
        let (mut line, mut greeting) = (Vec::new(), (&mut self.from).take(GREETING));
        loop {
            line.clear();
            match greeting.read_until(b'\n', &mut line) {
                Ok(n) if n > 0 => {}
                _ => return Err(self.ended()),
            }
            if String::from_utf8_lossy(&line).trim_end() == HELLO {
                return Ok(());
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), CarryError> {
        let written = self.to.as_mut().map(|to| to.write_all(bytes).and_then(|()| to.flush()));
        match written {
            Some(Ok(())) => Ok(()),
            _ => Err(self.ended()),
        }
    }

    /// The error for a pipe that has ended: what ssh or the other end printed last.
    fn ended(&mut self) -> CarryError {
        drop(self.to.take());
        let _ = self.child.kill();
        let status = self.child.wait().ok().and_then(|status| status.code());
        let messages = self.messages.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let last = messages.lines().map(str::trim).rfind(|line| !line.is_empty());
        let why = match (status, last) {
            (Some(127), _) => {
                let there = format!("there is no `fenxi` on PATH nor in {FOLDERS} of that host: install it there");
                format!("{there}, or `fenxi store export - | ssh …` a file to where it is")
            }
            (Some(2), Some(last)) if last.contains("attend") || last.contains("subcommand") => {
                format!("the fenxi of that host is another version: {last}")
            }
            (_, Some(last)) => last.to_owned(),
            (_, None) => "the connection ended; what was transferred stays, and the same command goes on".to_owned(),
        };
        CarryError::Storage { what: self.name.clone(), why }
    }

    fn ask(&mut self, ask: &Ask) -> Result<(), CarryError> {
        let line = line_of(ask).map_err(CarryError::Io)?;
        self.write(&line)
    }

    fn answer(&mut self) -> Result<Answer, CarryError> {
        match read_line(&mut self.from) {
            Ok(Some(Answer::Failed(why))) => Err(CarryError::Storage { what: self.name.clone(), why }),
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(self.ended()),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => Err(self.odd(&e.to_string())),
            Err(_) => Err(self.ended()),
        }
    }

    fn odd(&self, why: &str) -> CarryError {
        let why = format!("it answers what was not asked: {why}");
        CarryError::Storage { what: self.name.clone(), why }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.to.take());
        let _ = self.child.wait();
    }
}

impl Peer for Pipe {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn offer(&mut self) -> Result<Option<Offer>, CarryError> {
        self.ask(&Ask::Offer)?;
        match self.answer()? {
            Answer::Offer(offer) => Ok(offer),
            _ => Err(self.odd("no offer")),
        }
    }

    fn take(&mut self, archive: &mut dyn Read) -> Result<(), CarryError> {
        self.ask(&Ask::Take)?;
        let sent = self.to.as_mut().map(|to| send(archive, to));
        match sent {
            Some(Ok(())) => {}
            Some(Err(Sending::Read(error))) => return Err(error.into()),
            _ => return Err(self.ended()),
        }
        match self.answer()? {
            Answer::Taken => Ok(()),
            _ => Err(self.odd("no receipt")),
        }
    }

    fn give<'p>(&'p mut self, runs: &[RunId]) -> Result<Box<dyn Read + 'p>, CarryError> {
        self.ask(&Ask::Give(runs.to_vec()))?;
        match self.answer()? {
            Answer::Gives => Ok(Box::new(Pieces::new(&mut self.from))),
            _ => Err(self.odd("no archive")),
        }
    }

    fn merge(&mut self, labels: &ManyLabels) -> Result<Vec<LabelConflict>, CarryError> {
        self.ask(&Ask::Merge(labels.clone()))?;
        match self.answer()? {
            Answer::Merged(conflicts) => Ok(conflicts),
            _ => Err(self.odd("no conflicts")),
        }
    }
}

/// Serves a store over a pipe until it ends. `store` opens it, and makes it where its argument is true and there is none.
///
/// # Errors
/// When the pipe cannot be written, or brings what is no request.
pub fn attend(
    store: &dyn Fn(bool) -> Result<Option<Store>, String>,
    from: &mut dyn BufRead,
    to: &mut dyn Write,
) -> io::Result<()> {
    writeln!(to, "{HELLO}")?;
    to.flush()?;
    while let Some(ask) = read_line(from)? {
        let answer = match ask {
            Ask::Offer => store(false).and_then(|store| {
                let offer = store.map(|store| Offer::of(&store)).transpose();
                offer.map(Answer::Offer).map_err(|e| e.to_string())
            }),
            Ask::Take => {
                let mut pieces = Pieces::new(&mut *from);
                let taken = existing(store, true).and_then(|store| {
                    let taken = store.import_archive(&mut pieces, &ArchiveLimits::default());
                    taken.map(|_| Answer::Taken).map_err(|e| e.to_string())
                });
                // To the end, whatever was wrong with it: the next request comes behind.
                pieces.rest()?;
                taken
            }
            Ask::Give(runs) => match existing(store, false) {
                Err(why) => Err(why),
                Ok(store) => {
                    to.write_all(&line_of(&Answer::Gives)?)?;
                    give(&store, &runs, to)?;
                    to.flush()?;
                    continue;
                }
            },
            Ask::Merge(labels) => existing(store, false)
                .and_then(|store| merge(&store, &labels).map(Answer::Merged).map_err(|e| e.to_string())),
        };
        to.write_all(&line_of(&answer.unwrap_or_else(Answer::Failed))?)?;
        to.flush()?;
    }
    Ok(())
}

fn existing(store: &dyn Fn(bool) -> Result<Option<Store>, String>, make: bool) -> Result<Store, String> {
    store(make)?.ok_or_else(|| "there is no store".to_owned())
}

fn give(store: &Store, runs: &[RunId], to: &mut dyn Write) -> io::Result<()> {
    let mut pieces = PieceWriter { to, piece: Vec::with_capacity(PIECE) };
    match store.export(runs, &mut pieces) {
        Ok(_) => {
            pieces.flush()?;
            to.write_all(&0u32.to_be_bytes())
        }
        Err(error) => {
            to.write_all(&BROKEN.to_be_bytes())?;
            to.write_all(&line_of(&error.to_string())?)
        }
    }
}

enum Sending {
    Read(io::Error),
    Write,
}

fn send(archive: &mut dyn Read, to: &mut dyn Write) -> Result<(), Sending> {
    let mut piece = vec![0; PIECE];
    loop {
        let n = match archive.read(&mut piece) {
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(Sending::Read(e)),
        };
        let head = (n as u32).to_be_bytes();
        to.write_all(&head).and_then(|()| to.write_all(&piece[..n])).map_err(|_| Sending::Write)?;
        if n == 0 {
            return to.flush().map_err(|_| Sending::Write);
        }
    }
}

/// Writes pieces with their lengths.
struct PieceWriter<'a> {
    to: &'a mut dyn Write,
    piece: Vec<u8>,
}

impl Write for PieceWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..n]);
        if self.piece.len() == PIECE {
            self.flush()?;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            self.to.write_all(&(self.piece.len() as u32).to_be_bytes())?;
            self.to.write_all(&self.piece)?;
            self.piece.clear();
        }
        Ok(())
    }
}

/// Reads pieces until the one without bytes.
struct Pieces<'a, R: BufRead + ?Sized> {
    from: &'a mut R,
    left: usize,
    is_over: bool,
}

impl<'a, R: BufRead + ?Sized> Pieces<'a, R> {
    fn new(from: &'a mut R) -> Pieces<'a, R> {
        Pieces { from, left: 0, is_over: false }
    }

    fn rest(&mut self) -> io::Result<()> {
        io::copy(self, &mut io::sink()).map(drop)
    }
}

impl<R: BufRead + ?Sized> Read for Pieces<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.is_over || into.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            let mut head = [0; 4];
            self.from.read_exact(&mut head)?;
            match u32::from_be_bytes(head) {
                0 => {
                    self.is_over = true;
                    return Ok(0);
                }
                BROKEN => {
                    self.is_over = true;
                    let why: Option<String> = read_line(self.from)?;
                    return Err(io::Error::other(why.unwrap_or_default()));
                }
                n if n as usize > PIECE => return Err(io::Error::other(format!("a piece has {n} bytes"))),
                n => self.left = n as usize,
            }
        }
        let most = into.len().min(self.left);
        let n = self.from.read(&mut into[..most])?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= n;
        Ok(n)
    }
}

fn line_of<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// The next line; None at the end.
fn read_line<T: DeserializeOwned, R: BufRead + ?Sized>(from: &mut R) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.take(LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(&line).map(Some).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))
}

/// A word of a POSIX shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
