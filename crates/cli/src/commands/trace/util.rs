//! `fenxi trace util`.

use std::process::ExitCode;

use clap::Args;
use fenxi_live::{
    Util, View,
    trace::{WithCost, util::OldNew},
};

use super::observe;
use crate::{args::Cli, commands::util::Accounts};

/// `fenxi trace util`
#[derive(Debug, Args)]
#[command(after_help = "\
Utilisation in thousandths of all CPUs, accounted in three ways over the same
interval:

  sw-tk/1000  ticks of the timer that came between the switch to a task and the
              switch from it
  tk/1000     what the clock tick saw busy: usr, sys and irq of /proc/stat
  ns/1000     nanoseconds from the switch to a task to the switch from it:
              event-driven
  HIDDEN      ns - tk: what the clock tick missed; below zero it charged too
              much

A switch is seen as it happens, and what runs at the end of an interval is
counted up to then. `fenxi util` shows the same accounts without tracing, with
the measure that the kernel keeps.

Examples:
  fenxi trace util 5                every five seconds, until Ctrl-C
  fenxi trace util --each-cpu 1 10  each CPU too, ten times
  fenxi trace util --accounts 1     in the columns of fenxi util
  fenxi trace util --demo 1 5       with a thread that hides from the clock
  fenxi trace util -- make -j8      CPU seconds of the machine while make ran")]
pub struct UtilArgs {
    /// CPU seconds per second by account, as fenxi util shows them, instead of thousandths
    #[arg(long = "accounts")]
    pub by_account: bool,
    /// When, what, and during what
    #[command(flatten)]
    pub accounts: Accounts,
}

/// Shows it until the count is reached, a signal comes, or the command ends.
pub fn run(cli: &Cli, args: &UtilArgs) -> anyhow::Result<ExitCode> {
    let Accounts { live, command, .. } = &args.accounts;
    let options = args.accounts.options();
    let view: Box<dyn View> = if args.by_account {
        Box::new(WithCost::new(Util::new(options)))
    } else {
        Box::new(WithCost::new(OldNew::new(options)))
    };
    args.accounts.beside_demo(|| observe(cli, live, fenxi_ebpf::util::Util, view, command))
}
