//! `fenxi watch mpstat`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use fenxi_live::mpstat::{Chosen, Interrupts, Mpstat, Options};
use fenxi_model::{
    Table,
    catalog::{cpu, event, irq, process, sched, softirq, thread},
};
use jiff::tz::TimeZone;

use crate::{
    live::{
        self, Tool,
        saved::{self, Saved},
    },
    options::{Global, LiveArgs},
    print, sources,
};

/// `fenxi watch mpstat`
#[derive(Debug, Args)]
#[command(after_help = "\
Without INTERVAL: averages since boot, or the saved output on standard input.
With INTERVAL: averages since boot first (-y omits them), then a report per
interval, and finally the averages of all intervals. CPUs that go offline or
come back are reported as <<processors removed: 3>>.

Columns, in percent of the CPU's time (of all CPUs in the line `all`):
  %usr %nice        user code, at normal and lowered priority; excludes guests
  %sys              the kernel, on behalf of tasks
  %iowait           idle while a task that last ran here waits for a disk
  %irq %soft        hardware interrupts and softirqs
  %steal            runnable, but the hypervisor ran something else
  %guest %gnice     virtual machines of this host, at normal and lowered
                    priority
  %idle             idle, without such a wait
  intr/s, 24/s …    interrupts per second
Saved Solaris output keeps its columns; rates in its line for all CPUs are per
CPU. --solaris shows this machine, or a run of it, in these columns, per second:
  minf mjf          minor and major page faults (*)
  xcal              interrupts that other CPUs sent
  intr ithr         interrupts; those handled by threads are unknown: -
  csw icsw migr     context switches (*), involuntary ones, threads that came
                    from another CPU (*)
  smtx srw syscl    unknown without observers in the kernel: -
  usr sys wt idl    percent; usr has %nice and guests, sys has %irq and %soft;
                    st is there when time was stolen
(*) counted for root, with CAP_PERFMON, or if sysctl kernel.perf_event_paranoid
is 0 or less; - otherwise.

Examples:
  fenxi watch mpstat 1                        each CPU and all of them
  fenxi watch mpstat --busy 2                 busy CPUs; warn of saturated ones
  fenxi watch mpstat -P 0,2-5 1 10            these CPUs, ten times
  fenxi watch mpstat -a -P 0-7 1              one line for eight CPUs together
  fenxi watch mpstat -I SUM -y 1              interrupts per CPU
  fenxi watch mpstat --solaris -y 1           faults and switches per CPU
  fenxi watch mpstat -a < mpstat.solaris.txt  one line per saved block,
                                              in floating point
  fenxi watch mpstat -y 1 --save before       also save it as a run
  fenxi watch mpstat --run before             replay that run")]
pub struct MpstatArgs {
    /// Interval, count and output
    #[command(flatten)]
    pub live: LiveArgs,
    /// Show one aggregate line for all CPUs, or for those of -P
    #[arg(short, long)]
    pub aggregate: bool,
    /// CPUs to show: 0,2-5, 12-, `all` for the aggregate line, ALL for everything [default: ALL]
    #[arg(short = 'P', long = "cpus", value_name = "LIST", value_parser = Chosen::parse)]
    pub cpus: Option<Chosen>,
    /// Show interrupts instead: total (SUM), hardware interrupts (CPU), softirqs (SCPU)
    #[arg(short = 'I', long, value_name = "KIND", ignore_case = true)]
    pub interrupts: Option<Kind>,
    /// Show utilisation in addition to -I
    #[arg(short, long)]
    pub utilization: bool,
    /// Show everything: -u -I ALL -P ALL
    #[arg(short = 'A', long = "everything")]
    pub everything: bool,
    /// Omit idle CPUs; warn if a CPU or thread is saturated while the machine looks idle
    #[arg(short, long)]
    pub busy: bool,
    /// Show the columns of Solaris: minf mjf xcal intr ithr csw icsw migr smtx srw syscl usr sys wt idl
    #[arg(long, conflicts_with_all = ["interrupts", "everything", "utilization"])]
    pub solaris: bool,
    /// Omit averages since boot
    #[arg(short = 'y', long, requires = "interval")]
    pub skip_boot: bool,
    /// Show saved output of mpstat (or sar, vmstat … of any system); `-` is standard input
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["run", "root", "save"])]
    pub file: Option<PathBuf>,
}

/// Which interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
pub enum Kind {
    /// Total interrupts of each CPU
    Sum,
    /// Each hardware interrupt
    Cpu,
    /// Each softirq
    Scpu,
    /// All three
    All,
}

/// Shows it until the count is reached or a signal comes.
pub fn run(global: &Global, args: &MpstatArgs) -> anyhow::Result<ExitCode> {
    let options = options(args);
    let (name, tables) = ("watch mpstat", tables(&options));
    if let Some(path) = file(args)? {
        let system = ("Fenxi mpstat".to_owned(), None);
        let view = Box::new(Mpstat::new(Options { system, ..options }));
        return saved::run(&args.live, &path, Saved { name, tables, view });
    }
    if let Some(message) = no_such_cpu(args) {
        print::message(&message);
        return Ok(ExitCode::from(2));
    }
    let mut sources = vec!["cpu"];
    for (source, wanted) in [
        ("sched", options.interrupts.sum),
        ("irq", options.interrupts.sum || options.interrupts.hard),
        ("softirq", options.interrupts.soft),
        ("thread", options.busy),
    ] {
        sources.extend(wanted.then_some(source));
    }
    let sources = sources::named(&sources);
    // The averages since boot show which interrupts there are, also when they are not shown.
    let since_boot = !args.skip_boot || options.interrupts.hard || options.interrupts.soft;
    let view = Box::new(Mpstat::new(options));
    live::run(global, &args.live, Tool { name, sources, tables, view, since_boot, command: None })
}

/// Error when -P asks for a CPU that the machine cannot have. A run or a saved output may be of another one.
fn no_such_cpu(args: &MpstatArgs) -> Option<String> {
    if args.live.run.is_some() {
        return None;
    }
    let possible = args.live.machine.open().ok()?.read_text("/sys/devices/system/cpu/possible")?;
    let last = possible.trim().rsplit([',', '-']).next()?.parse().ok()?;
    let number = args.cpus.as_ref()?.beyond(last)?;
    Some(format!("there is no CPU {number}: this machine has {}", possible.trim()))
}

/// The saved output to show, if that is wanted.
fn file(args: &MpstatArgs) -> anyhow::Result<Option<PathBuf>> {
    if args.file.is_some() {
        return Ok(args.file.clone());
    }
    let live = &args.live;
    if live.interval.is_some() || live.run.is_some() || !live.machine.is_live() || live.save.is_some() {
        return Ok(None);
    }
    let hint = "waiting for saved mpstat output on standard input (`< /dev/null` for this machine's averages)";
    Ok(saved::on_standard_input(hint)?.then(|| Path::new("-").to_owned()))
}

fn options(args: &MpstatArgs) -> Options {
    let kind = if args.everything { Some(Kind::All) } else { args.interrupts };
    let wants = |one: Kind| kind.is_some_and(|kind| kind == one || kind == Kind::All);
    let cpus = args.cpus.clone().filter(|_| !args.everything);
    let uname = rustix::system::uname();
    let known = args.live.run.is_none() && args.live.machine.is_live();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let system = if known {
        (format!("{} {}", word(uname.sysname()), word(uname.release())), Some(word(uname.machine())))
    } else {
        ("Fenxi mpstat".to_owned(), None)
    };
    Options {
        cpus: cpus.unwrap_or_else(|| if args.aggregate { Chosen::only_all() } else { Chosen::default() }),
        aggregate: args.aggregate,
        shares: args.utilization || args.everything || kind.is_none(),
        interrupts: Interrupts { sum: wants(Kind::Sum), hard: wants(Kind::Cpu), soft: wants(Kind::Scpu) },
        busy: args.busy,
        solaris: args.solaris,
        skip_boot: args.skip_boot,
        system,
        zone: TimeZone::system(),
    }
}

/// The tables that are shown, the one that matters most first.
fn tables(options: &Options) -> Vec<&'static Table> {
    let interrupts = options.interrupts;
    let wanted: [(bool, &'static Table); 7] = [
        (true, &cpu::TABLE),
        (interrupts.sum || options.aggregate, &sched::TABLE),
        (interrupts.hard || interrupts.sum, &irq::TABLE),
        (interrupts.soft, &softirq::TABLE),
        (options.busy, &thread::TABLE),
        (options.busy, &process::TABLE),
        (true, &event::TABLE),
    ];
    let mut tables: Vec<_> = wanted.into_iter().filter_map(|(is_wanted, table)| is_wanted.then_some(table)).collect();
    if !options.shares {
        let first = if interrupts.hard {
            irq::TABLE.id
        } else if interrupts.soft {
            softirq::TABLE.id
        } else {
            cpu::TABLE.id
        };
        tables.sort_by_key(|table| table.id != first);
    }
    tables
}
