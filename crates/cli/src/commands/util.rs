//! `fenxi util`.

mod demo;

use std::{ffi::OsString, io, process::ExitCode};

use clap::Args;
use demo::Hiding;
use fenxi_live::{Util, UtilOptions};
use fenxi_model::catalog::cpu_time;

use super::live::{self, LiveArgs, Tool};
use crate::{args::Cli, print};

/// `fenxi util`
#[derive(Debug, Args)]
#[command(after_help = "\
Most kernels charge CPU time by sampling: whoever runs when the timer ticks has
used a whole tick. Work that begins after a tick and ends before the next is
not seen: it hides from the clock. The scheduler measures as well. All figures
are CPU seconds per second: 1.000 is one CPU busy all the time.

  USR SYS IRQ  user code, kernel, interrupts, as /proc/stat counts them
  STEAL IDLE   stolen by the hypervisor; nothing to run
  TICKS        USR + SYS + IRQ: what vmstat, mpstat, sar and top's header call
               busy
  RUN          what tasks ran, as the scheduler measures it
  AWAKE        elapsed time less IDLE and STEAL: RUN, and interrupts of idle
               CPUs, and switching
  HIDDEN       RUN - TICKS: what the clock tick missed; below zero it charged
               too much

With a COMMAND, the exact sums from its beginning to its end are printed, and a
verdict. Without INTERVAL and COMMAND, the means since boot.

Examples:
  fenxi util 1                  every second, until Ctrl-C
  fenxi util --each-cpu 1 10    each CPU too, ten times
  fenxi util -- make -j8        CPU seconds of the whole machine while make ran
  fenxi util --demo 1 5         with a thread that hides from the clock
  fenxi util 1 60 --save idle   also keep it
  fenxi util --run idle         and show it again")]
pub struct UtilArgs {
    /// When, what, and during what
    #[command(flatten)]
    pub accounts: Accounts,
}

/// Options of whatever shows accounts of CPU time, flattened last: it has the last argument.
#[derive(Clone, Debug, Args)]
pub struct Accounts {
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
    /// A line for each CPU too
    #[arg(long)]
    pub each_cpu: bool,
    /// After the last interval, the sums over all of them
    #[arg(long)]
    pub totals: bool,
    /// Run a thread that works between clock ticks and sleeps across them
    #[arg(long, conflicts_with_all = ["run", "root"])]
    pub demo: bool,
    /// Command to run; the machine's sums while it ran are printed at its end
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["run", "root", "count"])]
    pub command: Vec<OsString>,
}

impl Accounts {
    /// What is shown of them.
    pub fn options(&self) -> UtilOptions {
        let with_command = !self.command.is_empty();
        UtilOptions {
            lines: !with_command || self.live.interval.is_some(),
            totals: with_command || self.totals || self.demo,
            each_cpu: self.each_cpu,
            width: print::width(&io::stdout()),
            // What the kernel of a run or of a saved root ticked like is not known.
            tick_s: if self.live.run.is_none() && self.live.root.is_none() { demo::tick_s() } else { None },
        }
    }

    /// Does `show`, beside a thread that hides from the clock if one is wanted; at the end it says what it used.
    pub fn beside_demo(&self, show: impl FnOnce() -> anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
        let hiding = if self.demo { Some(Hiding::start()?) } else { None };
        let code = show();
        if let Some(hiding) = hiding {
            print::message(&hiding.stop()?.to_string());
        }
        code
    }
}

/// Shows it until the count is reached, a signal comes, or the command ends.
pub fn run(cli: &Cli, args: &UtilArgs) -> anyhow::Result<ExitCode> {
    let Accounts { live, command, demo, .. } = &args.accounts;
    let with_command = !command.is_empty();
    let tool = Tool {
        name: "util",
        sources: live::sources(&["cpu_time"]),
        tables: vec![&cpu_time::TABLE],
        view: Box::new(Util::new(args.accounts.options())),
        since_boot: live.interval.is_none() && live.run.is_none() && !with_command && !demo,
        command: with_command.then(|| command.clone()),
    };
    args.accounts.beside_demo(|| live::run(cli, live, tool))
}
