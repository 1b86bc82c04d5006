//! `fenxi trace pin`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use fenxi_ebpf::pin::Detail;
use fenxi_live::trace::pin::{Group, Pin, PinOptions};

use super::Observation;
use crate::args::Cli;

/// `fenxi trace pin`
#[derive(Debug, Args)]
#[command(after_help = "\
An interrupt takes the CPU from whatever runs there: it pins the thread. Its
time is charged to the thread, and nobody else's accounts show it.

  CLASS   hard; soft, which follows a hard one; self: a soft interrupt that the
          thread caused itself (loopback)
  PINS    interrupts that held a thread up
  TIME    their own time: what interrupted them is not in it
  %CPU    of one CPU
  WAITED  on a run queue, when the interrupt had woken another
  IDLE    interrupts that held up nobody
  RAN     what the process ran on that CPU, interrupts taken out

Interrupts are named as in /proc/interrupts and /proc/softirqs: by driver, LOC
(timer), RES (reschedule), CAL (function call), IWI. Without an INTERVAL, sums
are shown at the end (Ctrl-C, COMMAND's end). `fenxi fence` keeps interrupts
away from a process.

Examples:
  fenxi trace pin 5                 by driver, every five seconds
  fenxi trace pin --by process 5    which drivers pin which processes
  fenxi trace pin --by cpu -p 1234  what it ran, what pinned it, its waits
  fenxi trace pin --flow -- ping h  what handles an interrupt, and what follows
  fenxi trace pin --light 5         by driver, at the least cost")]
pub struct PinArgs {
    /// What a line stands for
    #[arg(long, value_enum, default_value_t = By::Driver, conflicts_with = "flow")]
    pub by: By,
    /// The functions that handle interrupts, and which interrupt a soft one followed
    #[arg(long, conflicts_with = "light")]
    pub flow: bool,
    /// Sums by driver only, of devices' and soft interrupts: nothing is told of processes, waits and `self`
    #[arg(long, conflicts_with_all = ["by", "pid", "command"])]
    pub light: bool,
    /// Lines to show at most
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub top: usize,
    /// When, how often, where to, and whom
    #[command(flatten)]
    pub observation: Observation,
}

/// What a line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A driver, whomever it held up
    Driver,
    /// A driver and a process
    Process,
    /// A driver, a process and a CPU
    Cpu,
}

/// Shows it until the count is reached, a signal comes or the command has ended.
pub fn run(cli: &Cli, args: &PinArgs) -> anyhow::Result<ExitCode> {
    let detail = match (args.light, args.flow) {
        (true, _) => Detail::Light,
        (_, true) => Detail::Flow,
        _ => Detail::Processes,
    };
    let group = match args.by {
        _ if args.flow => Group::Flow,
        By::Driver => Group::Driver,
        By::Process => Group::Process,
        By::Cpu => Group::Cpu,
    };
    let source = fenxi_ebpf::pin::Pin { tracked: args.observation.tracked(), detail };
    args.observation.show(cli, source, Pin::new(PinOptions { group, top: args.top }))
}
