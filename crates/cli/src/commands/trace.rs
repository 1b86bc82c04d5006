//! `fenxi trace`: observers in the kernel. Their commands are made of what each declares of itself
//! ([`fenxi_ebpf::OBSERVERS`]).

mod arguments;
mod check;

use std::{ffi::OsString, io, process::ExitCode};

use clap::Args;
use fenxi_ebpf::{Observer, Setting, util::HIDING};
use fenxi_live::trace::When;
use fenxi_remote::Target;
use fenxi_source::Options;

use crate::{
    demo,
    live::{self, Tool},
    options::{Global, LiveArgs},
    print,
};

/// `fenxi trace`
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Observers are eBPF programs: they need root, or CAP_BPF and CAP_PERFMON, and a
kernel with BTF type information. They can also be recorded:
`fenxi record --source '+procsystime:pid=1234'`.

Examples:
  fenxi trace check                    which observers work on this kernel
  fenxi trace procsystime -c -- ls -l  system calls of a command
  fenxi trace procsystime -p 1234 1    of a process, every second
  fenxi trace profile -- make          CPU profile of a command
  fenxi trace util 5                   utilisation, measured and sampled
  fenxi trace biolatency 5             block I/O latency by device
  fenxi trace runqlat --by cpu 5       run queue latency by CPU
  fenxi trace irqsteal --by process 5  interrupts that steal CPU, by process
  fenxi trace querystat --slower 5ms   queries of database servers"
)]
pub struct TraceArgs {
    /// Observer
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// The commands.
#[derive(Debug)]
pub enum TraceCommand {
    /// Say what works here.
    Check(Box<check::CheckArgs>),
    /// Observe.
    Observe(Box<ObserverArgs>),
}

/// Arguments of an observer.
#[derive(Debug)]
pub struct ObserverArgs {
    observer: &'static Observer,
    options: Options,
    live: LiveArgs,
    command: Vec<OsString>,
}

impl TraceArgs {
    /// The other host at which it is to run.
    pub fn on(&self) -> Option<&Target> {
        match &self.command {
            TraceCommand::Check(_) => None,
            TraceCommand::Observe(args) => args.live.on.as_ref(),
        }
    }
}

/// Observes.
pub fn run(global: &Global, args: &TraceArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        TraceCommand::Check(args) => check::run(global, args),
        TraceCommand::Observe(args) => args.run(global),
    }
}

impl ObserverArgs {
    /// Shows what is seen until the count is reached, a signal comes or the command has ended.
    fn run(&self, global: &Global) -> anyhow::Result<ExitCode> {
        let mut live = self.live.clone();
        if let Some(interval_s) = self.observer.interval_s {
            live.interval.get_or_insert(interval_s);
        }
        let spec = self.observer.source.spec();
        let tool = Tool {
            name: &format!("trace {}", spec.name),
            sources: vec![self.observer.source.with(&self.options)?],
            tables: spec.tables.to_vec(),
            view: (self.observer.view)(&self.options, &self.setting()),
            since_boot: false,
            command: (!self.command.is_empty()).then(|| self.command.clone()),
        };
        demo::beside(self.options.is_given(HIDING), || live::run(global, &live, tool))
    }

    fn setting(&self) -> Setting {
        let live = &self.live;
        // Sums at the end, unless an interval is given.
        let each = live.interval.is_some() || live.run.is_some() && live.count.is_some();
        Setting {
            when: if each { When::EachInterval } else { When::AtTheEnd },
            has_interval: live.interval.is_some(),
            has_command: !self.command.is_empty(),
            width: print::width(&io::stdout()),
            tick_s: live::tick_s(live),
        }
    }
}
