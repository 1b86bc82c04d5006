//! `fenxi trace pin`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use fenxi_ebpf::Detail;
use fenxi_live::trace::{Pin, PinGroup, PinOptions, WithCost};
use fenxi_model::catalog::pin;

use super::{Who, when};
use crate::{
    args::Cli,
    commands::live::{self, LiveArgs, Tool},
};

/// `fenxi trace pin`
#[derive(Debug, Args)]
#[command(after_help = "\
An interrupt takes the CPU from whatever runs there: it pins the thread. Its time is charged to the thread, and
nobody else's accounts show it.

  CLASS   hard; soft, which follows a hard one; self: a soft interrupt that the thread caused itself (loopback)
  PINS    interrupts that held a thread up       TIME    their own time: what interrupted them is not in it
  %CPU    of one CPU                             WAITED  on a run queue, when the interrupt had woken another
  IDLE    interrupts that held up nobody         RAN     what the process ran on that CPU, interrupts taken out

Interrupts are named as in /proc/interrupts and /proc/softirqs: by driver, LOC (timer), RES (reschedule), CAL
(function call), IWI. Without an INTERVAL, sums are shown at the end (Ctrl-C, COMMAND's end). `fenxi fence` keeps
interrupts away from a process.

Examples:
  fenxi trace pin 5                     by driver, every five seconds
  fenxi trace pin --by process 5        which drivers pin which processes
  fenxi trace pin --by cpu -p 1234      one process: what it ran, what pinned it, how long it waited
  fenxi trace pin --flow -- ping -c 9 h which functions handle which interrupt, and what follows it
  fenxi trace pin --light 5             by driver, at the least cost")]
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
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
    /// Whom; it has the last argument
    #[command(flatten)]
    pub who: Who,
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
        _ if args.flow => PinGroup::Flow,
        By::Driver => PinGroup::Driver,
        By::Process => PinGroup::Process,
        By::Cpu => PinGroup::Cpu,
    };
    let source = fenxi_ebpf::Pin { tracked: args.who.tracked(), detail };
    live::run(
        cli,
        &args.live,
        Tool {
            name: "trace pin",
            // One of these lives as long as the program, as all sources do.
            sources: vec![Box::leak(Box::new(source))],
            tables: vec![&pin::TABLE],
            view: Box::new(WithCost::new(Pin::new(PinOptions { when: when(&args.live), group, top: args.top }))),
            since_boot: false,
            command: args.who.command(),
        },
    )
}
