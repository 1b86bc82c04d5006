//! The command whose run is recorded: started, watched, passed its signals, and accounted for.

use std::{
    ffi::OsString,
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitStatus},
};

use fenxi_model::{Better, Micros, Rows, Unit, catalog::result};
use nix::{
    sys::{
        resource::{Usage, UsageWho, getrusage},
        signal::{SigSet, Signal, kill},
        time::TimeValLike,
    },
    unistd::Pid,
};

use crate::clock;

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    child: Child,
    name: String,
    started: f64,
    usage_before: Usage,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    name: String,
    status: ExitStatus,
    elapsed_s: f64,
    before: Usage,
    after: Usage,
}

impl Running {
    /// Starts `argv`; its input and output are this process's own.
    ///
    /// # Errors
    /// When the command cannot be started.
    pub fn start(argv: &[OsString]) -> io::Result<Running> {
        let (program, args) =
            argv.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command"))?;
        let usage_before = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let started = clock::monotonic();
        let mut command = Command::new(program);
        command.args(args);
        unblock_signals(&mut command);
        let child = command.spawn()?;
        Ok(Running { child, name: program.to_string_lossy().into_owned(), started, usage_before })
    }

    /// Passes a signal on.
    pub fn signal(&self, signal: Signal) {
        // The child is not yet reaped, so its number cannot belong to another process.
        let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
    }

    /// The command's end, if it has come.
    ///
    /// # Errors
    /// When the kernel refuses to tell.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        let now = clock::monotonic();
        let Some(status) = self.child.try_wait()? else { return Ok(None) };
        Ok(Some(Ended {
            name: std::mem::take(&mut self.name),
            status,
            elapsed_s: now - self.started,
            before: self.usage_before,
            after: getrusage(UsageWho::RUSAGE_CHILDREN)?,
        }))
    }
}

/// Lets the child receive the signals that the recorder holds back for itself.
#[allow(unsafe_code, reason = "only between fork and exec can the child's mask be set without a gap in the parent")]
fn unblock_signals(command: &mut Command) {
    let unblock = || Ok(SigSet::all().thread_unblock()?);
    // SAFETY: the closure makes one system call, which is safe to make between fork and exec, and
    // neither allocates nor touches anything that another thread of the parent may hold locked.
    unsafe { command.pre_exec(unblock) };
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

    /// Adds the command's results, one row each, as getrusage(2) of its process tree counts them.
    pub fn results(&self, t: Micros, rows: &mut Rows) {
        let (before, after) = (&self.before, &self.after);
        let seconds = |time: fn(&Usage) -> f64| time(after) - time(before);
        let count = |field: fn(&Usage) -> i64| (field(after) - field(before)) as f64;
        let results = [
            ("elapsed", self.elapsed_s, Unit::Seconds, Better::Lower),
            ("user_time", seconds(|u| u.user_time().num_microseconds() as f64 / 1e6), Unit::Seconds, Better::Lower),
            ("system_time", seconds(|u| u.system_time().num_microseconds() as f64 / 1e6), Unit::Seconds, Better::Lower),
            // The kernel gives the largest resident set of any one process of the tree, in KiB.
            ("max_rss", after.max_rss() as f64 * 1024.0, Unit::Bytes, Better::Lower),
            ("minor_faults", count(|u| u.minor_page_faults()), Unit::Count, Better::Lower),
            ("major_faults", count(|u| u.major_page_faults()), Unit::Count, Better::Lower),
            ("voluntary_switches", count(|u| u.voluntary_context_switches()), Unit::Count, Better::Lower),
            ("involuntary_switches", count(|u| u.involuntary_context_switches()), Unit::Count, Better::Lower),
            // getrusage counts blocks of 512 bytes.
            ("block_input", count(|u| u.block_reads()) * 512.0, Unit::Bytes, Better::Lower),
            ("block_output", count(|u| u.block_writes()) * 512.0, Unit::Bytes, Better::Lower),
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
