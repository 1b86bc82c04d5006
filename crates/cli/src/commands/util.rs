//! `fenxi watch util`.

use std::{ffi::OsString, io, process::ExitCode};

use clap::Args;
use fenxi_live::{Util, UtilOptions};
use fenxi_model::catalog::cpu_time;

use crate::{
    demo,
    live::{self, Tool},
    options::{Global, LiveArgs},
    print, sources,
};

/// `fenxi watch util`
#[derive(Debug, Args)]
#[command(after_help = "\
Most kernels account CPU time by sampling: whatever runs at a timer tick is
charged the whole tick, and work between two ticks stays hidden. The scheduler
also measures it exactly. All figures are CPU seconds per second: 1.000 is one
CPU always busy.

  USR SYS IRQ  user code, kernel, interrupts, as /proc/stat counts them
  STEAL IDLE   stolen by the hypervisor; idle
  TICKS        USR + SYS + IRQ: what vmstat, mpstat, sar and top's header call
               busy
  RUN          run time of tasks, as the scheduler measures it
  AWAKE        elapsed time minus IDLE and STEAL: RUN, interrupts of idle CPUs,
               and context switching
  HIDDEN       RUN - TICKS: CPU time missed by tick sampling; negative if ticks
               overcharged

With a COMMAND: exact totals over its lifetime, and a verdict. Without INTERVAL
and COMMAND: averages since boot.

Examples:
  fenxi watch util 1                 every second, until Ctrl-C
  fenxi watch util --each-cpu 1 10   with a line per CPU, ten times
  fenxi watch util -- make -j8       of the whole machine while make ran
  fenxi watch util --demo 1 5        with a thread that hides from ticks
  fenxi watch util 1 60 --save idle  also save it as a run
  fenxi watch util --run idle        replay that run")]
pub struct UtilArgs {
    /// Interval, count, output and command
    #[command(flatten)]
    pub accounts: Accounts,
}

/// What of the accounts is shown.
#[derive(Clone, Debug, Args)]
pub struct Accounts {
    /// Interval, count and output
    #[command(flatten)]
    pub live: LiveArgs,
    /// Add a line per CPU
    #[arg(long)]
    pub each_cpu: bool,
    /// Print totals after the last interval
    #[arg(long)]
    pub totals: bool,
    /// Run a demonstration thread that works between clock ticks and sleeps across them
    #[arg(long, conflicts_with_all = ["run", "root"])]
    pub demo: bool,
    /// Command to run; totals of the machine are printed when it exits
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["run", "root", "count"])]
    pub command: Vec<OsString>,
}

impl Accounts {
    /// Options of the view.
    pub fn options(&self) -> UtilOptions {
        let with_command = !self.command.is_empty();
        UtilOptions {
            lines: !with_command || self.live.interval.is_some(),
            totals: with_command || self.totals || self.demo,
            each_cpu: self.each_cpu,
            width: print::width(&io::stdout()),
            tick_s: live::tick_s(&self.live),
        }
    }
}

/// Shows it until the count is reached, a signal comes, or the command ends.
pub fn run(global: &Global, args: &UtilArgs) -> anyhow::Result<ExitCode> {
    let Accounts { live, command, demo: wanted, .. } = &args.accounts;
    let with_command = !command.is_empty();
    let tool = Tool {
        name: "watch util",
        sources: sources::named(&["cpu_time"]),
        tables: vec![&cpu_time::TABLE],
        view: Box::new(Util::new(args.accounts.options())),
        since_boot: live.interval.is_none() && live.run.is_none() && !with_command && !wanted,
        command: with_command.then(|| command.clone()),
    };
    demo::beside(*wanted, || live::run(global, live, tool))
}
