//! `fenxi trace`: observers in the kernel, each in a file of its own below `trace/`.

mod check;
mod iopattern;
mod pin;
mod plockstat;
mod procsystime;
mod profile;
mod querystat;
mod util;

use std::{ffi::OsString, process::ExitCode};

use clap::{Args, Subcommand};
use fenxi_ebpf::Tracked;
use fenxi_live::trace::When;

use super::live::LiveArgs;
use crate::args::Cli;

/// `fenxi trace`
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Observers need root, or CAP_BPF and CAP_PERFMON, and a kernel that describes its types (BTF). What they see can also be
recorded: `fenxi record --source +procsystime`.

Examples:
  fenxi trace check                       what works on this kernel, and what does not
  fenxi trace procsystime -c -- ls -l     system calls of one command
  fenxi trace procsystime -p 1234 1       of a process, every second
  fenxi trace profile -- make             functions in which CPU time goes
  fenxi trace util 5                      how busy, by events and by samples
  fenxi trace pin --by process 5          which interrupts hold up which processes
  fenxi trace querystat --slower 5ms      queries inside database servers"
)]
pub struct TraceArgs {
    /// What to observe
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// The observers.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Say what works on this kernel, what does not, and what is lost by it
    Check(check::CheckArgs),
    /// Files: read and written in sequence or at random, through mappings, past the page cache; their names
    Iopattern(Box<iopattern::IopatternArgs>),
    /// Locks: who waits for which, where, how long; how long they are held
    Plockstat(Box<plockstat::PlockstatArgs>),
    /// System calls: how many, how long, how much of it on a CPU, how many failed
    Procsystime(Box<procsystime::ProcsystimeArgs>),
    /// Stacks: the functions in which time goes, on the CPUs and waiting
    Profile(Box<profile::ProfileArgs>),
    /// Interrupts that hold up threads: by driver, by process, by CPU
    Pin(Box<pin::PinArgs>),
    /// Utilisation by events against utilisation by samples, on one line
    Util(Box<util::UtilArgs>),
    /// Queries inside PostgreSQL, MariaDB and MySQL: latency, where it went, who pushed their threads off the CPU
    Querystat(Box<querystat::QuerystatArgs>),
}

/// Observes.
pub fn run(cli: &Cli, args: &TraceArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        TraceCommand::Check(args) => check::run(args),
        TraceCommand::Iopattern(args) => iopattern::run(cli, args),
        TraceCommand::Plockstat(args) => plockstat::run(cli, args),
        TraceCommand::Procsystime(args) => procsystime::run(cli, args),
        TraceCommand::Profile(args) => profile::run(cli, args),
        TraceCommand::Pin(args) => pin::run(cli, args),
        TraceCommand::Util(args) => util::run(cli, args),
        TraceCommand::Querystat(args) => querystat::run(cli, args),
    }
}

/// Whom an observer observes.
#[derive(Clone, Debug, Args)]
pub struct Who {
    /// These processes and the children they will have [default: all]
    #[arg(short, long = "pid", value_name = "PID", value_delimiter = ',', conflicts_with_all = ["run", "command"])]
    pub pid: Vec<u32>,
    /// Run this command and observe it and its children; they end the observation
    #[arg(value_name = "COMMAND", last = true, conflicts_with = "run")]
    pub command: Vec<OsString>,
}

impl Who {
    /// As observers want it.
    fn tracked(&self) -> Tracked {
        match (self.pid.is_empty(), self.command.is_empty()) {
            (true, true) => Tracked::All,
            (false, _) => Tracked::Processes(self.pid.clone()),
            (true, false) => Tracked::Children,
        }
    }

    fn command(&self) -> Option<Vec<OsString>> {
        (!self.command.is_empty()).then(|| self.command.clone())
    }
}

/// Sums at the end, unless an interval is given.
fn when(live: &LiveArgs) -> When {
    if live.interval.is_some() || live.run.is_some() && live.count.is_some() {
        When::EachInterval
    } else {
        When::AtTheEnd
    }
}
