//! The recorded command: start, signals, exit status, resource usage.

use std::{
    ffi::OsString,
    io,
    os::fd::OwnedFd,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

use fenxi_model::{Better, Micros, Rows, Unit, catalog::result};
use fenxi_source::CommandFile;
use fenxi_sys::signal::{Signal, Signals};
use libc::{rusage, timeval};
use rustix::process::{Pid, kill_process, kill_process_group, set_parent_process_death_signal};

use crate::clock;

/// How long a command may take to end after SIGTERM before it is killed.
pub(crate) const GRACE_S: f64 = 5.0;

/// How a command is kept apart from this process: it has its own process group, which is ended whole, it
/// reads nothing, and what it prints goes into files.
#[derive(Debug)]
pub struct Contained {
    /// Variables added to its environment.
    pub env: Vec<(String, String)>,
    /// The directory it runs in; None: this process's own.
    pub directory: Option<PathBuf>,
    /// Receives its standard output.
    pub output: OwnedFd,
    /// Receives its standard error.
    pub errors: OwnedFd,
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    process: Pid,
    name: String,
    started: f64,
    is_group: bool,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    name: String,
    status: ExitStatus,
    elapsed_s: f64,
    usage: rusage,
}

impl Running {
    /// Starts `argv`; unless it is contained, its input and output are this process's own, but for `output` in place of
    /// standard output.
    ///
    /// # Errors
    /// When the command cannot be started.
    pub fn start(argv: &[OsString], contained: Option<&Contained>, output: Option<OwnedFd>) -> io::Result<Running> {
        let (program, args) =
            argv.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command"))?;
        let started = clock::monotonic();
        let mut command = Command::new(program);
        command.args(args);
        if let Some(contained) = contained {
            command.envs(contained.env.iter().map(|(key, value)| (key, value))).process_group(0);
            command.stdin(Stdio::null()).stdout(contained.output.try_clone()?).stderr(contained.errors.try_clone()?);
            if let Some(directory) = &contained.directory {
                command.current_dir(directory);
            }
        }
        if let Some(output) = output {
            command.stdout(output);
        }
        before_exec(&mut command, contained.is_some());
        // Reaped below, with what it used.
        let process = Pid::from_child(&command.spawn()?);
        Ok(Running { process, name: program.to_string_lossy().into_owned(), started, is_group: contained.is_some() })
    }

    /// Passes a signal on; to all processes of its group when it is contained.
    pub fn signal(&self, signal: Signal) {
        // The child is not yet reaped, so its number cannot belong to another process.
        let send = if self.is_group { kill_process_group } else { kill_process };
        let _ = send(self.process, signal);
    }

    /// The command's end, if it has come.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        let now = clock::monotonic();
        let Some((status, usage)) = wait4(self.process)? else { return Ok(None) };
        Ok(Some(Ended { name: std::mem::take(&mut self.name), status, elapsed_s: now - self.started, usage }))
    }

    /// Kills what is left of the command's group after its own end; nothing when it is not contained.
    pub fn kill_rest(&self) {
        if self.is_group {
            // The number is taken for as long as any process is in the group.
            let _ = kill_process_group(self.process, Signal::KILL);
        }
    }
}

/// The file that a command runs, found as the kernel will find it, and what its loader will go by; None where there is none.
pub(crate) fn file(argv: &[OsString], contained: Option<&Contained>) -> Option<CommandFile> {
    let own = |name: &str| {
        let given = contained.and_then(|contained| contained.env.iter().rev().find(|(key, _)| key == name));
        given.map_or_else(|| std::env::var(name).unwrap_or_default(), |(_, value)| value.clone())
    };
    let here = contained.and_then(|contained| contained.directory.clone()).or_else(|| std::env::current_dir().ok())?;
    let program = Path::new(argv.first()?);
    let path = if program.components().count() > 1 || program.is_absolute() {
        here.join(program)
    } else {
        let folders = own("PATH");
        std::env::split_paths(&folders).map(|dir| here.join(dir).join(program)).find(|path| path.is_file())?
    };
    let path = path.canonicalize().ok()?.to_string_lossy().into_owned();
    Some(CommandFile { path, library_path: own("LD_LIBRARY_PATH"), preload: own("LD_PRELOAD") })
}

/// The status of the child `process` and what it and its descendants used; None while it runs.
#[allow(unsafe_code, reason = "the standard library reports the usage of all children together, not of one")]
fn wait4(process: Pid) -> io::Result<Option<(ExitStatus, rusage)>> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<rusage>::zeroed();
    // SAFETY: both pointers are to variables of the right types that outlive the call; a `rusage` of zeros
    // is valid, so that it may be read even if the kernel did not write it.
    let (found, usage) = unsafe {
        let found = libc::wait4(process.as_raw_pid(), &raw mut status, libc::WNOHANG, usage.as_mut_ptr());
        (found, usage.assume_init())
    };
    if found < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((found != 0).then(|| (ExitStatus::from_raw(status), usage)))
}

/// Lets a child of a thread that holds signals back receive them; it dies with that thread.
pub fn let_signals_through(command: &mut Command) {
    before_exec(command, true);
}

/// Lets the child receive the signals that the recorder holds back for itself; a contained one dies with it.
#[allow(unsafe_code, reason = "only between fork and exec can the child's mask be set without a gap in the parent")]
pub(crate) fn before_exec(command: &mut Command, contained: bool) {
    let prepare = move || {
        if contained {
            set_parent_process_death_signal(Some(Signal::KILL))?;
        }
        Signals::all().unblock().map(drop)
    };
    // SAFETY: the closure makes two system calls, which are safe to make between fork and exec, and
    // neither allocates nor touches anything that another thread of the parent may hold locked.
    unsafe { command.pre_exec(prepare) };
}

impl Ended {
    /// The status a shell would give: the exit code, or 128 plus the signal's number.
    pub fn exit_code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// The signal that killed it, if one did.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Seconds from its start to its end.
    pub fn elapsed_s(&self) -> f64 {
        self.elapsed_s
    }

    /// Adds the command's results, one row each, as wait4(2) of its process tree counts them.
    pub fn results(&self, t: Micros, rows: &mut Rows) {
        let usage = &self.usage;
        let seconds = |time: timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let results = [
            ("elapsed", self.elapsed_s, Unit::Seconds, Better::Lower),
            ("user_time", seconds(usage.ru_utime), Unit::Seconds, Better::Lower),
            ("system_time", seconds(usage.ru_stime), Unit::Seconds, Better::Lower),
            // The kernel gives the largest resident set of any one process of the tree, in KiB.
            ("max_rss", usage.ru_maxrss as f64 * 1024.0, Unit::Bytes, Better::Lower),
            ("minor_faults", usage.ru_minflt as f64, Unit::Count, Better::Lower),
            ("major_faults", usage.ru_majflt as f64, Unit::Count, Better::Lower),
            ("voluntary_switches", usage.ru_nvcsw as f64, Unit::Count, Better::Lower),
            ("involuntary_switches", usage.ru_nivcsw as f64, Unit::Count, Better::Lower),
            // It counts blocks of 512 bytes.
            ("block_input", usage.ru_inblock as f64 * 512.0, Unit::Bytes, Better::Lower),
            ("block_output", usage.ru_oublock as f64 * 512.0, Unit::Bytes, Better::Lower),
            ("exit_status", f64::from(self.exit_code()), Unit::None, Better::Neither),
        ];
        for (name, value, unit, better) in results {
            rows.row(&result::TABLE, t, self.elapsed_s)
                .str(result::name, name)
                .f64(result::value, value)
                .str(result::unit, unit.symbol())
                .str(result::better, better.to_string().as_str())
                .str(result::source, self.name.as_str());
        }
    }
}
