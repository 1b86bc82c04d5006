//! `fenxi watch pstime`.

use std::{ffi::OsString, process::ExitCode, sync::Arc};

use clap::{Args, ValueEnum, error::ErrorKind};
use fenxi_live::{Chooses, Order, Pstime, PstimeOptions, Scale};
use fenxi_model::{
    Table,
    catalog::{cpu, process, thread},
};
use fenxi_source::{CpuTimes, Matches, Selection, Source};
use regex::Regex;

use crate::{
    live::{self, Tool},
    options::{Global, LiveArgs},
    print, sources,
};

const EXAMPLES: &str = "\
Columns:
  %USR %SYS  CPU time in user code and in the kernel: the sum is measured, the
             split is sampled
  %CPU       total CPU time, in nanoseconds of the scheduler
  %WAIT      run-queue latency: runnable, but without a CPU
  %CHLD      CPU time of exited children that were waited for, in steps of 10 ms
  marks      + started in the interval, - exited in it, ~ from clock ticks only
  (exited)   CPU time of exited processes that no other line includes

Examples:
  fenxi watch pstime 10 1 --top 5          the five busiest in ten seconds
  fenxi watch pstime 1 -n 'postgres|java'  these every second, idle or not
  fenxi watch pstime -S -- make -j4        CPU seconds of make and all below
  fenxi watch pstime 1 -p 4711 -t          each thread of one process";

/// `fenxi watch pstime`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PstimeArgs {
    /// Interval, count and output
    #[command(flatten)]
    pub live: LiveArgs,
    /// Show only these processes
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub pids: Vec<u32>,
    /// Show only these processes (comma-separated); needs no COUNT, unlike PID
    #[arg(short, long = "pid", value_name = "PID", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Vec<u32>,
    /// Show only processes whose name or command line matches
    #[arg(short, long, value_name = "REGEX", value_parser = regex)]
    pub name: Option<Regex>,
    /// Show only processes of this user (name or uid)
    #[arg(short, long, value_name = "USER")]
    pub user: Option<String>,
    /// Show only processes in this cgroup or below it (path as in /proc/PID/cgroup)
    #[arg(short, long, value_name = "CGROUP", conflicts_with = "run")]
    pub cgroup: Option<String>,
    /// Show threads
    #[arg(short, long)]
    pub threads: bool,
    /// Show percent of one CPU instead of the whole machine
    #[arg(short = '1', long, conflicts_with = "seconds")]
    pub one_cpu: bool,
    /// Show CPU seconds instead of percent
    #[arg(short = 'S', long)]
    pub seconds: bool,
    /// Sort key
    #[arg(short, long, value_enum, default_value_t, value_name = "KEY")]
    pub sort: Sort,
    /// Maximum number of lines to show; the total includes all
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Command to run and account for, with its descendants; without INTERVAL, report when it exits
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["run", "root", "pids", "pid", "name", "user", "cgroup"])]
    pub command: Vec<OsString>,
}

/// What lines are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// User and system time
    #[default]
    Cpu,
    /// User time
    Usr,
    /// System time
    Sys,
    /// Run-queue latency: time waited for a CPU
    Wait,
    /// CPU time of exited children
    Chld,
    /// Process ID
    Pid,
}

impl From<Sort> for Order {
    fn from(sort: Sort) -> Order {
        match sort {
            Sort::Cpu => Order::Cpu,
            Sort::Usr => Order::Usr,
            Sort::Sys => Order::Sys,
            Sort::Wait => Order::Wait,
            Sort::Chld => Order::Children,
            Sort::Pid => Order::Pid,
        }
    }
}

fn regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|e| e.to_string())
}

/// Shows it until the count is reached, a signal comes or the command has ended.
pub fn run(global: &Global, args: &PstimeArgs) -> anyhow::Result<ExitCode> {
    count_or_pid(args).unwrap_or_else(|error| error.exit());
    let pids = [&args.pids[..], &args.pid].concat();
    let uid = match (&args.user, &args.live.run) {
        (Some(user), None) => Some(uid(user, args).unwrap_or_else(|error| error.exit())),
        _ => None,
    };
    let selection = Selection {
        pids: pids.clone(),
        name: args.name.clone().map(|regex| -> Matches { Box::new(move |text| regex.is_match(text)) }),
        uid,
        cgroup: args.cgroup.clone(),
        descendants: !args.command.is_empty(),
    };
    let times = CpuTimes { selection: Arc::new(selection), threads: args.threads };
    let mut sources: Vec<Arc<dyn Source>> = vec![Arc::new(times)];
    sources.extend(sources::named(&["cpu"]));
    let mut tables: Vec<&'static Table> = vec![&process::TABLE];
    if args.threads {
        tables.insert(0, &thread::TABLE);
    }
    if !args.live.is_json() && !args.live.is_csv() {
        tables.push(&cpu::TABLE);
    }
    let command = (!args.command.is_empty()).then(|| args.command.clone());
    let options = PstimeOptions {
        scale: scale(args),
        order: args.sort.into(),
        top: args.top,
        threads: args.threads,
        summary: command.is_some() && args.live.interval.is_none(),
        width: print::width(&std::io::stdout()),
        chooses: args.live.run.is_some().then(|| chooses(args, pids)),
        n_cpus: None,
    };
    let view = Box::new(Pstime::new(options));
    live::run(global, &args.live, Tool { name: "watch pstime", sources, tables, view, since_boot: false, command })
}

fn scale(args: &PstimeArgs) -> Scale {
    match (args.seconds, args.one_cpu) {
        (true, _) => Scale::Seconds,
        (_, true) => Scale::OneCpu,
        _ => Scale::Machine,
    }
}

/// Filter for the processes of a run: it has names of users, not their numbers.
fn chooses(args: &PstimeArgs, pids: Vec<u32>) -> Chooses {
    let (user, name) = (args.user.clone(), args.name.clone());
    Box::new(move |pid, of_user, comm, command| {
        (pids.is_empty() || pid.is_some_and(|pid| pids.iter().any(|p| i64::from(*p) == pid)))
            && user.as_deref().is_none_or(|user| of_user == Some(user))
            && name.as_ref().is_none_or(|name| name.is_match(comm) || name.is_match(command))
    })
}

/// The number of a user of the system that is looked at.
/// An error when COUNT is surely meant as a process: `pstime 10 4711 4712`, with a process 4711 here.
fn count_or_pid(args: &PstimeArgs) -> Result<(), clap::Error> {
    let here = |count: &u64| {
        *count >= 1000 && args.live.run.is_none() && std::path::Path::new(&format!("/proc/{count}")).exists()
    };
    let Some(count) = args.live.count.filter(here).filter(|_| !args.pids.is_empty()) else { return Ok(()) };
    let all: Vec<String> = args.pids.iter().map(u32::to_string).collect();
    let text = format!(
        "{count} is COUNT, the number of samples, and a process has this ID; processes without COUNT are -p {count},{}\n",
        all.join(",")
    );
    Err(clap::Error::raw(ErrorKind::ArgumentConflict, text))
}

fn uid(user: &str, args: &PstimeArgs) -> Result<u32, clap::Error> {
    if let Ok(uid) = user.parse() {
        return Ok(uid);
    }
    let root = args.live.machine.open().map_err(|e| clap::Error::raw(ErrorKind::Io, format!("{e:#}\n")))?;
    let passwd = root.read_text("/etc/passwd").unwrap_or_default();
    let listed = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(user)).then(|| fields.nth(1)?.parse().ok()).flatten()
    });
    let known = || if root.is_live() { fenxi_sys::user::uid(user) } else { None };
    listed.or_else(known).ok_or_else(|| {
        let text = format!("no user is called {user}; give a name that `getent passwd` knows, or a number\n");
        clap::Error::raw(ErrorKind::ValueValidation, text)
    })
}
