//! `fenxi trace`: observers in the kernel, each in a file of its own below `trace/`.

use std::{ffi::OsString, process::ExitCode};

use clap::{Args, Subcommand};
use fenxi_ebpf::Tracked;
use fenxi_live::{
    View,
    trace::{Observed, Summed, When},
};
use fenxi_source::Source;

use super::live::{self, LiveArgs, Tool};
use crate::args::Cli;

/// `fenxi trace`
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Observers need root, or CAP_BPF and CAP_PERFMON, and a kernel that describes
its types (BTF). What they see can also be recorded:
`fenxi record --source +procsystime`.

Examples:
  fenxi trace check                    what works on this kernel, what does not
  fenxi trace procsystime -c -- ls -l  system calls of one command
  fenxi trace procsystime -p 1234 1    of a process, every second
  fenxi trace profile -- make          functions in which CPU time goes
  fenxi trace util 5                   how busy, by events and by samples
  fenxi trace pin --by process 5       which interrupts hold up which processes
  fenxi trace querystat --slower 5ms   queries inside database servers"
)]
pub struct TraceArgs {
    /// What to observe
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// The commands: what each is about, and the arguments in its file, where `run` is as well.
macro_rules! commands {
    ($($(#[$about:meta])* $name:ident($file:ident::$args:ident),)*) => {
        $(mod $file;)*

        /// The observers.
        #[derive(Debug, Subcommand)]
        pub enum TraceCommand {
            $($(#[$about])* $name(Box<$file::$args>),)*
        }

        /// Observes.
        pub fn run(cli: &Cli, args: &TraceArgs) -> anyhow::Result<ExitCode> {
            match &args.command {
                $(TraceCommand::$name(args) => $file::run(cli, args),)*
            }
        }
    };
}

commands! {
    /// Say what works on this kernel, what does not, and what is lost by it
    Check(check::CheckArgs),
    /// Files: read and written in sequence or at random, through mappings, past the page cache; their names
    Iopattern(iopattern::IopatternArgs),
    /// Locks: who waits for which, where, how long; how long they are held
    Plockstat(plockstat::PlockstatArgs),
    /// System calls: how many, how long, how much of it on a CPU, how many failed
    Procsystime(procsystime::ProcsystimeArgs),
    /// Stacks: the functions in which time goes, on the CPUs and waiting
    Profile(profile::ProfileArgs),
    /// Interrupts that hold up threads: by driver, by process, by CPU
    Pin(pin::PinArgs),
    /// Utilisation by events against utilisation by samples, on one line
    Util(util::UtilArgs),
    /// Queries inside PostgreSQL, MariaDB and MySQL: latency, where it went, who pushed their threads off the CPU
    Querystat(querystat::QuerystatArgs),
}

/// Options of what observes processes, flattened last: it has the last argument.
#[derive(Clone, Debug, Args)]
pub struct Observation {
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
    /// These processes and the children they will have [default: all]
    #[arg(short, long = "pid", value_name = "PID", value_delimiter = ',', conflicts_with_all = ["run", "command"])]
    pub pid: Vec<u32>,
    /// Run this command and observe it and its children; they end the observation
    #[arg(value_name = "COMMAND", last = true, conflicts_with = "run")]
    pub command: Vec<OsString>,
}

impl Observation {
    /// Whom, as observers want it.
    fn tracked(&self) -> Tracked {
        match (self.pid.is_empty(), self.command.is_empty()) {
            (true, true) => Tracked::All,
            (false, _) => Tracked::Processes(self.pid.clone()),
            (true, false) => Tracked::Children,
        }
    }

    /// Sums at the end, unless an interval is given.
    fn when(&self) -> When {
        if self.live.interval.is_some() || self.live.run.is_some() && self.live.count.is_some() {
            When::EachInterval
        } else {
            When::AtTheEnd
        }
    }

    /// Shows what `source` sees, as `sums` add it up.
    fn show(
        &self,
        cli: &Cli,
        source: impl Source + 'static,
        sums: impl Observed + 'static,
    ) -> anyhow::Result<ExitCode> {
        observe(cli, &self.live, source, Box::new(Summed::new(sums, self.when())), &self.command)
    }
}

/// Shows what `source` sees until the count is reached, a signal comes or the command has ended.
fn observe(
    cli: &Cli,
    live: &LiveArgs,
    source: impl Source + 'static,
    view: Box<dyn View>,
    command: &[OsString],
) -> anyhow::Result<ExitCode> {
    // It lives as long as the program, as all sources do.
    let source: &'static dyn Source = Box::leak(Box::new(source));
    let tool = Tool {
        name: &format!("trace {}", source.spec().name),
        sources: vec![source],
        tables: source.spec().tables.to_vec(),
        view,
        since_boot: false,
        command: (!command.is_empty()).then(|| command.to_vec()),
    };
    live::run(cli, live, tool)
}
