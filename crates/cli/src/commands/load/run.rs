//! `fenxi load run`: plan, drive, print. Its arguments become a plan, the plan a load, what that counted is printed and kept.

mod aim;
mod drive;
mod plan;
mod print;

use std::{collections::BTreeSet, net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use clap::{Args, ValueEnum};
use fenxi_load::schedule::MAX_JITTER;

use self::{aim::Offered, drive::drive, plan::plan, print::Printer};
use super::{Where, exporter::Exporter, team::TeamArgs};
use crate::options::{DbArgs, Global, HostsArgs, JsonArgs, RunLabels, TriggerArgs, cpu_list, interval, seconds};

/// How long the first connection may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How transactions come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArrivalArg {
    /// Constant intervals, with optional jitter
    Steady,
    /// Poisson process: exponentially distributed intervals
    Poisson,
}

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProtocolArg {
    /// Simple query protocol (text)
    Simple,
    /// Prepared statements, prepared by each connection on first use
    Prepared,
    /// All statements of a transaction in one pipeline (PostgreSQL)
    Pipelined,
}

/// `fenxi load run`
#[derive(Debug, Args)]
#[command(after_help = "\
With --rate or --trace the load is open-loop: latency is measured from the
intended start of a transaction, so that a stall of the server shows in every
transaction due meanwhile (no coordinated omission). Service time is measured
from the actual start. Otherwise the load is closed-loop: each connection
starts a transaction when its previous one is done.

--rate cpu:50% finds, in half a minute before the warm-up, the constant rate at
which half of this machine's CPU time is used; --rate max:70%, seven tenths of
the highest throughput of these connections. The rate that was found is held.

Error classes: a SQLSTATE (40P01) or its class (40), a MySQL error number
(1213), connect, login, lost, worker, all. By default, deadlocks, serialization
failures and duplicate keys are retried.

Examples:
  fenxi load run postgres://postgres@/test -w tpcb_like -c 16 \\
      --for 60s --warmup 10s
  fenxi load run mysql://root@127.0.0.1/test -w oltp_read_write -c 256 \\
      --rate 500 --jitter 10%
  fenxi load run mysql://root@127.0.0.1/test -w oltp_point_select -c 64 \\
      --rate 1000@30s,1000..20000@2m
  fenxi load run postgres:///test -w tpcb_like -c 16 --rate cpu:50%
  fenxi load run mysql://root@127.0.0.1/test -w oltp_net -c 10000 \\
      --set idle_pct=90 --connect-rate 2000
  fenxi load run mysql://root@db1/test -w oltp_read_only -c 20000 \\
      --workers 127.0.0.1:7071,host2:7071
  fenxi load run mysql://root@db1/test -w oltp_read_only -c 20000 \\
      --worker-on driver2 --worker-on driver3 --record --on db1")]
#[command(mut_arg("name", |arg| arg.help("Name of the run [default: name of the workload]").requires("record").help_heading("Recording")))]
#[command(mut_arg("tag", |arg| arg.requires("record").help_heading("Recording")))]
#[command(mut_arg("on", |arg| arg.requires("record")))]
#[command(mut_arg("when", |arg| arg.requires("record")))]
#[command(mut_arg("mark_on", |arg| arg.requires("record")))]
#[command(mut_arg("before", |arg| arg.hide(true).conflicts_with("record")))]
pub struct RunArgs {
    /// Database and workload
    #[command(flatten)]
    pub place: Where,
    /// Number of connections
    #[arg(long, short, default_value_t = 1, value_name = "N")]
    pub connections: usize,
    /// Threads of each load-generating process [default: one per 8 connections, at most one per CPU]
    #[arg(long, value_name = "N", help_heading = "Load generators")]
    pub threads: Option<usize>,
    /// CPU affinity: bind threads to these CPUs in turn, such as 0-1,3
    #[arg(long, value_name = "LIST", value_parser = cpu_list, help_heading = "Load generators")]
    pub pin: Option<BTreeSet<usize>>,
    /// Load-generating processes and hosts
    #[command(flatten)]
    pub team: TeamArgs,
    /// Measurement duration
    #[arg(long = "for", default_value = "10s", value_name = "TIME", value_parser = seconds)]
    pub duration: f64,
    /// Warm-up, excluded from results
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub warmup: Option<f64>,
    /// Reporting interval
    #[arg(long, short, default_value = "1s", value_name = "TIME", value_parser = interval)]
    pub interval: f64,
    /// Transactions per second: constant 500, steps 100@30s,200@30s,400 or a ramp 100..2000@60s;
    /// cpu:50% or max:70% finds the rate first [default: closed-loop]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Offered>,
    /// Arrival process at that rate
    #[arg(long, value_enum, default_value = "steady", requires = "rate", help_heading = "How transactions are sent")]
    pub arrival: ArrivalArg,
    /// Maximum jitter of each start, in percent of the period: 0% to 50%
    #[arg(long, default_value = "0%", value_name = "PERCENT", value_parser = share, requires = "rate", help_heading = "How transactions are sent")]
    pub jitter: f64,
    /// Replay start times from a trace: a file with a number of seconds per line
    #[arg(long, value_name = "FILE", conflicts_with = "rate", help_heading = "How transactions are sent")]
    pub trace: Option<PathBuf>,
    /// Query protocol
    #[arg(long, value_enum, default_value = "prepared", help_heading = "How transactions are sent")]
    pub protocol: ProtocolArg,
    /// Maximum rate of new connections per second
    #[arg(long, value_name = "N", help_heading = "How transactions are sent")]
    pub connect_rate: Option<f64>,
    /// Time to wait at the end for transactions in flight
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = seconds, help_heading = "How transactions are sent")]
    pub drain: f64,
    /// Error classes after which the same transaction is retried (repeatable)
    #[arg(long, value_name = "CLASS", value_delimiter = ',', help_heading = "Errors")]
    pub retry: Vec<String>,
    /// Error classes after which the transaction is abandoned and counted (repeatable)
    #[arg(long, value_name = "CLASS", value_delimiter = ',', help_heading = "Errors")]
    pub ignore: Vec<String>,
    /// Error classes that abort the run (repeatable)
    #[arg(long, value_name = "CLASS", value_delimiter = ',', help_heading = "Errors")]
    pub stop: Vec<String>,
    /// Maximum number of retries per transaction
    #[arg(long, default_value_t = 100, value_name = "N", help_heading = "Errors")]
    pub max_retries: u32,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
    /// Serve Prometheus metrics at this address, such as 127.0.0.1:9100
    #[arg(long, value_name = "ADDRESS", help_heading = "Recording")]
    pub prometheus: Option<SocketAddr>,
    /// Record this machine meanwhile, and keep recording and results as a run
    #[arg(long, help_heading = "Recording")]
    pub record: bool,
    /// Name and tags
    #[command(flatten)]
    pub labels: RunLabels,
    /// Sources to record; `+NAME` adds one to the defaults, `-NAME` removes one
    #[arg(
        long,
        value_name = "SOURCES",
        value_delimiter = ',',
        allow_hyphen_values = true,
        requires = "record",
        help_heading = "Recording"
    )]
    pub source: Vec<String>,
    /// Other hosts to record
    #[command(flatten)]
    pub hosts: HostsArgs,
    /// Further database servers; the loaded one is observed anyway
    #[command(flatten)]
    pub db: DbArgs,
    /// What to look for meanwhile, and what follows; everything is recorded either way
    #[command(flatten)]
    pub triggers: TriggerArgs,
}

/// A share in percent.
fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok().map(|pct| pct / 100.0);
    let share = number.filter(|share| (0.0..=MAX_JITTER).contains(share));
    share.ok_or_else(|| "expected 0% to 50%: beyond, starts would overtake each other".to_owned())
}

/// Runs a load.
pub fn run(global: &Global, args: &RunArgs) -> anyhow::Result<ExitCode> {
    let planned = plan(args)?;
    let exporter = args.prometheus.map(Exporter::listen).transpose().context("--prometheus")?;
    let printer = Printer { quiet: global.quiet, json: args.form.is_json(), exporter };
    let outcome = drive(global, args, &planned, &printer)?;
    printer.total(&outcome)?;
    let done = outcome.total.tally.transactions > 0;
    // Figures from which a process's share is missing are none to go on with, and a script reads no warnings.
    let whole = outcome.stopped.is_none() && outcome.lost.is_empty();
    Ok(if done && whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
