//! A transport at work: the process, and its three pipes, none of which is ever waited for without an end.

use std::{
    io::{self, Read},
    os::{
        fd::OwnedFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use fenxi_sys::signal::{Signal, Signals};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_setfl},
    io::Errno,
    process::{Pid, kill_process_group},
};

/// Bytes that are read at once.
const AT_ONCE: usize = 64 << 10;
/// Reads of its last messages.
const LAST_READS: usize = 64;
/// How long a command at another host may take to end once its output has.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long a transport may take to end after it was asked to.
const ASKED: Duration = Duration::from_millis(100);
/// How long a pipe that is full is waited for before it is looked whether it was closed.
const TURN: Duration = Duration::from_millis(50);
/// The most bytes that wait for a host which takes none.
const MOST_UNTAKEN: usize = 64 << 10;

/// The way to a host; several threads may write to it, and none of them waits for another.
#[derive(Debug, Default)]
pub struct Input(Mutex<Pipe>);

#[derive(Debug, Default)]
struct Pipe {
    fd: Option<Arc<OwnedFd>>,
    /// Bytes written and not taken yet.
    untaken: Vec<u8>,
}

impl Pipe {
    fn fd(&self) -> io::Result<&Arc<OwnedFd>> {
        self.fd.as_ref().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Writes what is taken at once; gives how many bytes.
    fn put(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut put = 0;
        while put < bytes.len() {
            match rustix::io::write(self.fd()?, &bytes[put..]) {
                Ok(n) => put += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(put)
    }
}

impl Input {
    fn lock(&self) -> MutexGuard<'_, Pipe> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues `bytes` behind earlier ones, and writes them as soon as they are taken; waits for nothing.
    ///
    /// # Errors
    /// When the other side has taken nothing for long, or there is none.
    pub fn say(&self, bytes: &[u8]) -> io::Result<()> {
        let mut pipe = self.lock();
        pipe.untaken.extend(bytes);
        let put = pipe.put(&pipe.untaken)?;
        pipe.untaken.drain(..put);
        if pipe.untaken.len() > MOST_UNTAKEN {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not read what it is sent"));
        }
        Ok(())
    }

    /// Writes all of `bytes`; `patience` is how long nothing may be taken.
    ///
    /// # Errors
    /// When the other side takes nothing, or there is none, or it was closed meanwhile.
    pub fn write(&self, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
        let mut taken = Instant::now();
        loop {
            // Closing it need not wait for this.
            let fd = {
                let pipe = self.lock();
                let put = pipe.put(bytes)?;
                bytes = &bytes[put..];
                taken = if put > 0 { Instant::now() } else { taken };
                Arc::clone(pipe.fd()?)
            };
            if bytes.is_empty() {
                return Ok(());
            }
            let left = patience.checked_sub(taken.elapsed()).ok_or(io::ErrorKind::TimedOut)?;
            wait(&mut [PollFd::new(&fd, PollFlags::OUT)], left.min(TURN))?;
        }
    }

    /// Signals the end of input to the other side.
    pub fn close(&self) {
        *self.lock() = Pipe::default();
    }

    /// The pipe itself, whose writer waits again.
    ///
    /// # Errors
    /// When there is none, or the kernel refuses.
    pub fn take_blocking(&self) -> io::Result<ChildStdin> {
        let fd = self.lock().fd.take().and_then(Arc::into_inner).ok_or(io::ErrorKind::BrokenPipe)?;
        fcntl_setfl(&fd, OFlags::empty())?;
        Ok(ChildStdin::from(fd))
    }

    fn open(&self, fd: OwnedFd) {
        *self.lock() = Pipe { fd: Some(Arc::new(fd)), untaken: Vec::new() };
    }
}

/// A process that carries bytes to a host and back.
#[derive(Debug)]
pub struct Transport {
    child: Child,
    output: Option<ChildStdout>,
    errors: Option<ChildStderr>,
    /// The last lines of its standard error.
    partial: String,
    /// Lines of that which were not taken yet.
    lines: Vec<String>,
}

/// Event of a transport.
#[derive(Debug)]
pub enum Came {
    /// These bytes of the other side.
    Bytes(Vec<u8>),
    /// Nothing in that time.
    Nothing,
    /// The other side has ended.
    End,
}

impl Transport {
    /// Starts `words` with `sh` behind; `input` leads to it from then on.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(words: &[String], input: &Input) -> io::Result<Transport> {
        let (program, rest) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        // Signals of a terminal are for the recorder, which ends its agents itself.
        command.args(rest).arg("sh").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        fenxi_record::let_signals_through(&mut command);
        let mut child = command.spawn()?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        if let Some(stdin) = child.stdin.take() {
            let fd = OwnedFd::from(stdin);
            fcntl_setfl(&fd, OFlags::NONBLOCK)?;
            input.open(fd);
        }
        Ok(Transport { child, output, errors, partial: String::new(), lines: Vec::new() })
    }

    /// Waits for bytes of the other side, at most so long.
    ///
    /// # Errors
    /// When the pipe cannot be read.
    pub fn read(&mut self, patience: Duration) -> io::Result<Came> {
        let Some(output) = &mut self.output else { return Ok(Came::End) };
        let (has_output, has_errors) = {
            let mut fds = vec![PollFd::new(output, PollFlags::IN)];
            if let Some(errors) = &self.errors {
                fds.push(PollFd::new(errors, PollFlags::IN));
            }
            wait(&mut fds, patience)?;
            let is_ready = |fd: Option<&PollFd<'_>>| fd.is_some_and(|fd| !fd.revents().is_empty());
            (is_ready(fds.first()), is_ready(fds.get(1)))
        };
        let mut came = Came::Nothing;
        if has_output {
            let mut bytes = vec![0; AT_ONCE];
            let n = output.read(&mut bytes)?;
            bytes.truncate(n);
            came = if n == 0 { Came::End } else { Came::Bytes(bytes) };
        }
        if has_errors {
            self.hear_errors();
        }
        Ok(came)
    }

    fn hear_errors(&mut self) {
        let Some(errors) = &mut self.errors else { return };
        let mut bytes = [0; 4096];
        match errors.read(&mut bytes) {
            Ok(n) if n > 0 => {
                self.partial.push_str(&String::from_utf8_lossy(&bytes[..n]));
                while let Some(end) = self.partial.find('\n') {
                    let line: String = self.partial.drain(..=end).collect();
                    self.lines.push(line.trim().to_owned());
                }
                // A line without an end is no reason to grow.
                if self.partial.len() > 4096 {
                    self.lines.push(std::mem::take(&mut self.partial));
                }
            }
            _ => self.errors = None,
        }
    }

    /// Lines of its standard error since the last call.
    pub fn take_lines(&mut self) -> Vec<String> {
        self.lines.drain(..).filter(|line| !line.is_empty()).collect()
    }

    /// Its output, for a caller that reads that alone; the process is left to end by itself.
    ///
    /// # Errors
    /// When it was closed.
    pub fn into_output(mut self) -> io::Result<ChildStdout> {
        let output = self.output.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut child = self.child;
        // Its standard error is read on, so that it does not block, and it is reaped.
        let errors = self.errors.take();
        std::thread::Builder::new().name("transport".to_owned()).spawn(move || {
            let _ = Signals::all().block();
            let _ = errors.map(|mut errors| io::copy(&mut errors, &mut io::sink()));
            let _ = child.wait();
        })?;
        Ok(output)
    }

    /// Waits for its end after that of its output; gives its exit status, as a shell does, and the last lines of its standard error.
    pub fn wait(mut self, input: &Input) -> (i32, Vec<String>) {
        input.close();
        if !self.has_ended(FAREWELL) {
            self.kill(Signal::TERM);
        }
        let status = self.child.wait().ok();
        let lines = self.last_lines();
        let code = status.map_or(1, |status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
        (code, lines)
    }

    /// Ends it, if it has not ended by itself within `patience`: gently, then not. Gives how it ended.
    pub fn end(mut self, input: &Input, patience: Duration) -> String {
        input.close();
        if !self.has_ended(patience) {
            self.kill(Signal::TERM);
            if !self.has_ended(ASKED) {
                self.kill(Signal::KILL);
            }
        }
        let status = self.child.wait();
        let lines = self.last_lines();
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        if lines.is_empty() { status } else { format!("{status}: {}", lines.join("; ")) }
    }

    /// Lines of its standard error until its end, also one that it did not end.
    fn last_lines(&mut self) -> Vec<String> {
        // Processes that it has left behind may go on for ever.
        for _ in 0..LAST_READS {
            if !matches!(self.read_errors(), Ok(true)) {
                break;
            }
        }
        let mut lines = self.take_lines();
        lines.extend((!self.partial.trim().is_empty()).then(|| self.partial.trim().to_owned()));
        lines
    }

    /// Reads what is there of the standard error; whether that was something.
    fn read_errors(&mut self) -> io::Result<bool> {
        let Some(errors) = &self.errors else { return Ok(false) };
        let mut fds = [PollFd::new(errors, PollFlags::IN)];
        wait(&mut fds, Duration::ZERO)?;
        let is_ready = !fds[0].revents().is_empty();
        if is_ready {
            self.hear_errors();
        }
        Ok(is_ready)
    }

    fn has_ended(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    fn kill(&self, signal: Signal) {
        // It is not reaped yet, so that its number is no other group's.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }
}

fn wait(fds: &mut [PollFd<'_>], patience: Duration) -> io::Result<()> {
    let patience = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
    match poll(fds, Some(&patience)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
