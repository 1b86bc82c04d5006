//! `fenxi trace util`.

use std::{ffi::OsString, io, process::ExitCode};

use clap::Args;
use fenxi_live::{
    Util, UtilOptions, View,
    trace::{OldNew, WithCost},
};
use fenxi_model::catalog::cpu_time;

use crate::{
    args::Cli,
    commands::{
        live::{self, LiveArgs, Tool},
        util::demo::{self, Hiding},
    },
    print,
};

/// `fenxi trace util`
#[derive(Debug, Args)]
#[command(after_help = "\
Utilisation in thousandths of all CPUs, accounted in three ways over the same interval:

  sw-tk/1000  ticks of the timer that came between the switch to a task and the switch from it
  tk/1000     what the clock tick saw busy: usr, sys and irq of /proc/stat
  ns/1000     nanoseconds from the switch to a task to the switch from it: event-driven
  HIDDEN      ns - tk: what the clock tick missed; below zero it charged too much

A switch is seen as it happens, and what runs at the end of an interval is counted up to then. `fenxi util`
shows the same accounts without tracing, with the measure that the kernel keeps.

Examples:
  fenxi trace util 5                every five seconds, until Ctrl-C
  fenxi trace util --each-cpu 1 10  each CPU too, ten times
  fenxi trace util --accounts 1     in the columns of fenxi util
  fenxi trace util --demo 1 5       with a thread that hides from the clock
  fenxi trace util -- make -j8      CPU seconds of the whole machine while make ran")]
pub struct UtilArgs {
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
    /// A line for each CPU too
    #[arg(long)]
    pub each_cpu: bool,
    /// CPU seconds per second by account, as fenxi util shows them, instead of thousandths
    #[arg(long)]
    pub accounts: bool,
    /// After the last interval, the sums over all of them
    #[arg(long)]
    pub totals: bool,
    /// Run a thread that works between clock ticks and sleeps across them
    #[arg(long, conflicts_with = "run")]
    pub demo: bool,
    /// Command to run; the machine's sums while it ran are printed at its end
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["run", "count"])]
    pub command: Vec<OsString>,
}

/// Shows it until the count is reached, a signal comes, or the command ends.
pub fn run(cli: &Cli, args: &UtilArgs) -> anyhow::Result<ExitCode> {
    let with_command = !args.command.is_empty();
    let options = UtilOptions {
        lines: !with_command || args.live.interval.is_some(),
        totals: with_command || args.totals || args.demo,
        each_cpu: args.each_cpu,
        width: print::width(&io::stdout()),
        tick_s: if args.live.run.is_none() { demo::tick_s() } else { None },
    };
    let view: Box<dyn View> = if args.accounts {
        Box::new(WithCost::new(Util::new(options)))
    } else {
        Box::new(WithCost::new(OldNew::new(options)))
    };
    let hiding = if args.demo { Some(Hiding::start()?) } else { None };
    let code = live::run(
        cli,
        &args.live,
        Tool {
            name: "trace util",
            sources: vec![&fenxi_ebpf::Util],
            tables: vec![&cpu_time::TABLE],
            view,
            since_boot: false,
            command: with_command.then(|| args.command.clone()),
        },
    );
    if let Some(hiding) = hiding {
        print::message(&hiding.stop()?.to_string());
    }
    code
}
