//! Runs a program over an input, in the thread that parses it: one loop feeds it, takes what it prints, and ends it with all that it started.

use std::{
    io::{self, Read, Write},
    os::fd::{AsFd, BorrowedFd},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use fenxi_procfs::Root;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::ioctl_fionbio,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};

use super::{confine::confine, refused::LandlockScope, usage};

/// Resource limits of a program.
#[derive(Clone, Debug)]
pub struct Limits {
    /// From its start to its end.
    pub wall: Duration,
    /// Without taking input or printing anything.
    pub silent: Duration,
    /// CPU time of all its processes.
    pub cpu: Duration,
    /// Resident memory of all its processes.
    pub memory_bytes: u64,
    /// Address space of one process.
    pub address_bytes: u64,
    /// Limit of its output, in bytes, for any input.
    pub output_bytes: u64,
    /// Additional bytes of output for each byte of input.
    pub output_per_input: u64,
    /// Processes at a time.
    pub processes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            wall: Duration::from_secs(3600),
            silent: Duration::from_secs(60),
            cpu: Duration::from_secs(1800),
            memory_bytes: 1 << 30,
            address_bytes: 8 << 30,
            output_bytes: 64 << 20,
            output_per_input: 64,
            processes: 64,
        }
    }
}

/// How a program ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Why it was ended, or could not be begun; else it ended by itself.
    pub(super) why: Option<String>,
    pub(super) status: Option<ExitStatus>,
    /// The beginning of what it wrote to standard error.
    pub(super) stderr: String,
    /// Whether it took all of its input.
    pub(super) took_all: bool,
}

/// Whether to go on after a piece of output; if not, why.
pub(super) type OnOutput<'a> = dyn FnMut(&[u8]) -> Result<(), String> + 'a;

const PIECE: usize = 64 << 10;
/// Bytes that are kept of its standard error.
const MOST_STDERR: usize = 2048;
/// How often it is looked whether to go on.
const LOOK: Duration = Duration::from_millis(50);
/// How often what it uses is added up.
const ADD_UP: Duration = Duration::from_millis(200);
/// How long what it left behind may still print.
const AFTER: Duration = Duration::from_millis(200);

/// Runs `path` with `arguments` over `input`.
pub(super) fn run(
    path: &Path,
    arguments: &[&str],
    limits: &Limits,
    stopped: &dyn Fn() -> bool,
    input: &mut dyn Read,
    on_output: &mut OnOutput<'_>,
) -> Ended {
    let mut running = match Running::begin(path, arguments, limits) {
        Ok(running) => running,
        Err(error) => {
            let why = Some(format!("cannot be run: {error}"));
            return Ended { why, status: None, stderr: String::new(), took_all: false };
        }
    };
    let why = running.attend(limits, stopped, input, on_output).err();
    running.end(why)
}

struct Running {
    child: Child,
    begun: Instant,
    /// When it last took or gave anything.
    active: Instant,
    added_up: Instant,
    /// Input that it has not taken yet: `piece[at..]`.
    piece: Vec<u8>,
    at: usize,
    taken: u64,
    took_all: bool,
    printed: u64,
    stderr: Vec<u8>,
    exited: Option<Instant>,
}

/// How long a program may be busy: somebody still has it open who has just written it.
const BUSY: Duration = Duration::from_secs(2);

/// Starts a program, as soon as no process has it open for writing any more.
fn spawned(command: &mut Command) -> io::Result<Child> {
    let begun = Instant::now();
    loop {
        match command.spawn() {
            Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy && begun.elapsed() < BUSY => {
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other,
        }
    }
}

impl Running {
    fn begin(path: &Path, arguments: &[&str], limits: &Limits) -> io::Result<Running> {
        let mut command = Command::new(path);
        command.args(arguments).env_clear().current_dir("/");
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LANG", "C.UTF-8").env("TZ", "UTC");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        confine(&mut command, limits, LandlockScope::here())?;
        let child = spawned(&mut command)?;
        let now = Instant::now();
        let running = Running {
            child,
            begun: now,
            active: now,
            added_up: now,
            piece: Vec::new(),
            at: 0,
            taken: 0,
            took_all: false,
            printed: 0,
            stderr: Vec::new(),
            exited: None,
        };
        let child = &running.child;
        let pipes: [Option<BorrowedFd<'_>>; 3] = [
            child.stdin.as_ref().map(AsFd::as_fd),
            child.stdout.as_ref().map(AsFd::as_fd),
            child.stderr.as_ref().map(AsFd::as_fd),
        ];
        for pipe in pipes.into_iter().flatten() {
            ioctl_fionbio(pipe, true)?;
        }
        Ok(running)
    }

    /// Feeds it and takes what it prints until it ends; an error is why it must be ended.
    fn attend(
        &mut self,
        limits: &Limits,
        stopped: &dyn Fn() -> bool,
        input: &mut dyn Read,
        on_output: &mut OnOutput<'_>,
    ) -> Result<(), String> {
        loop {
            self.feed(input);
            self.wait_for_any();
            let mut printed = self.read_output(limits, on_output)?;
            printed |= self.listen();
            if printed {
                self.active = Instant::now();
            }
            self.look_whether_it_ended();
            let open = self.child.stdout.is_some() || self.child.stderr.is_some();
            match self.exited {
                // Processes that it left behind may hold the pipes open for ever.
                Some(at) if !open || (!printed && at.elapsed() > AFTER) => return Ok(()),
                _ => {}
            }
            self.check(limits, stopped)?;
        }
    }

    /// Reads more input when all is taken, and closes what it reads from at the end.
    fn feed(&mut self, input: &mut dyn Read) {
        let Some(pipe) = &mut self.child.stdin else { return };
        if self.at == self.piece.len() {
            self.piece.resize(PIECE, 0);
            self.at = 0;
            // An error of the input ends it; its opener reports it.
            let n = input.read(&mut self.piece).unwrap_or(0);
            self.piece.truncate(n);
            if n == 0 {
                self.took_all = true;
                self.child.stdin = None;
                return;
            }
        }
        match pipe.write(&self.piece[self.at..]) {
            Ok(n) => {
                self.at += n;
                self.taken += n as u64;
                self.active = Instant::now();
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            // It reads no more.
            Err(_) => self.child.stdin = None,
        }
    }

    /// Waits until it takes or gives something, for a moment at most.
    fn wait_for_any(&self) {
        let child = &self.child;
        let mut ends: Vec<PollFd<'_>> = Vec::with_capacity(3);
        ends.extend(child.stdin.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        ends.extend(child.stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        ends.extend(child.stderr.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
        // A signal ends the wait earlier, which does no harm.
        let _ = poll(&mut ends, Some(&timeout));
    }

    /// Takes what it printed; whether there was anything.
    fn read_output(&mut self, limits: &Limits, on_output: &mut OnOutput<'_>) -> Result<bool, String> {
        let Some(pipe) = &mut self.child.stdout else { return Ok(false) };
        let mut piece = [0; PIECE];
        match pipe.read(&mut piece) {
            Ok(0) => self.child.stdout = None,
            Ok(n) => {
                self.printed += n as u64;
                let most = limits.output_bytes.saturating_add(limits.output_per_input.saturating_mul(self.taken));
                if self.printed > most {
                    return Err(format!("printed more than {most} bytes"));
                }
                on_output(&piece[..n])?;
                return Ok(true);
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.child.stdout = None,
        }
        Ok(false)
    }

    /// Takes what it wrote to standard error, and keeps its beginning.
    fn listen(&mut self) -> bool {
        let Some(pipe) = &mut self.child.stderr else { return false };
        let mut piece = [0; PIECE];
        match pipe.read(&mut piece) {
            Ok(0) => self.child.stderr = None,
            Ok(n) => {
                let room = MOST_STDERR.saturating_sub(self.stderr.len());
                self.stderr.extend_from_slice(&piece[..n.min(room)]);
                return true;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.child.stderr = None,
        }
        false
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    /// Notices its end without forgetting it: as long as it is not waited for, no other process gets its number.
    fn look_whether_it_ended(&mut self) {
        if self.exited.is_none()
            && let Some(pid) = self.pid()
            && let Ok(Some(_)) =
                waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
        {
            self.exited = Some(Instant::now());
            self.child.stdin = None;
        }
    }

    fn check(&mut self, limits: &Limits, stopped: &dyn Fn() -> bool) -> Result<(), String> {
        if stopped() {
            return Err("was stopped".to_owned());
        }
        if self.begun.elapsed() > limits.wall {
            return Err(format!("took more than {} s", limits.wall.as_secs_f64()));
        }
        if self.active.elapsed() > limits.silent {
            return Err(format!("neither read nor printed anything for {} s", limits.silent.as_secs_f64()));
        }
        if self.added_up.elapsed() < ADD_UP {
            return Ok(());
        }
        self.added_up = Instant::now();
        let used = usage::of_session(&Root::live(), self.child.id());
        if used.cpu_s > limits.cpu.as_secs_f64() {
            return Err(format!("used more than {} s of CPU time", limits.cpu.as_secs_f64()));
        }
        if used.resident_bytes > limits.memory_bytes {
            return Err(format!("used more than {} bytes of memory", limits.memory_bytes));
        }
        if used.processes > limits.processes {
            return Err(format!("had more than {} processes", limits.processes));
        }
        Ok(())
    }

    /// Ends it with all that it started.
    fn end(mut self, why: Option<String>) -> Ended {
        if let Some(pid) = self.pid() {
            // It leads a group which nothing in it can leave; it is still there, be it as one that ended.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        drop((self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take()));
        let status = self.child.wait().ok();
        let stderr = String::from_utf8_lossy(&self.stderr).trim().replace('\n', "; ");
        Ended { why, status, stderr, took_all: self.took_all }
    }
}
