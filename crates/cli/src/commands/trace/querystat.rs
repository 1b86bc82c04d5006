//! `fenxi trace querystat`.

use std::process::ExitCode;

use clap::Args;
use fenxi_ebpf::querystat::Servers;
use fenxi_live::trace::{
    Buckets, WithCost,
    querystat::{Querystat, QuerystatOptions},
};

use super::observe;
use crate::{
    args::{Cli, seconds},
    commands::live::LiveArgs,
};

/// `fenxi trace querystat`
#[derive(Debug, Args)]
#[command(after_help = "\
A query lasts from the moment its request was read to that when its response
was written. Servers are found by themselves; those that begin later too. Texts
that differ in their values only are one statement. Throughput is shown after
each interval [default: 3 seconds], the rest at the end.

Examples:
  fenxi trace querystat                         all servers
  fenxi trace querystat -p 1234 1 10            of one, every second, ten times
  fenxi trace querystat --server postgres:5432  of that one
  fenxi trace querystat --slower 5ms            and each query of 5 ms or longer
  fenxi trace querystat --save mine 1           and keep it as a run")]
pub struct QuerystatArgs {
    /// Servers of these processes; of a PostgreSQL session's process that session only
    #[arg(short, long = "pid", value_name = "PID", value_delimiter = ',', conflicts_with_all = ["run", "server"])]
    pub pid: Vec<u32>,
    /// Servers of a kind, port or URL: postgres, mariadb, mysql:3307, postgres://localhost:5433/ [default: all]
    #[arg(long, value_name = "SERVER", value_parser = Servers::parse, conflicts_with = "run")]
    pub server: Option<Servers>,
    /// Tell each query that takes this long or longer: 5ms, 1s
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub slower: Option<f64>,
    /// Observe MariaDB's query cache too (a probe more for each query)
    #[arg(long)]
    pub cache: bool,
    /// Show everything after each interval, not only throughput
    #[arg(short = 'e', long)]
    pub each: bool,
    /// Draw distributions in eighths of powers of two
    #[arg(long)]
    pub fine: bool,
    /// Statements and programs to show at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
}

/// Seconds between two lines where nothing else is asked for, as the original had it.
const INTERVAL_S: f64 = 3.0;

/// Shows it until the count is reached or a signal comes.
pub fn run(cli: &Cli, args: &QuerystatArgs) -> anyhow::Result<ExitCode> {
    let servers = match &args.server {
        Some(servers) => servers.clone(),
        None if args.pid.is_empty() => Servers::All,
        None => Servers::Processes(args.pid.clone()),
    };
    let slower_ns = args.slower.map(|seconds| (seconds * 1e9) as u64);
    let source = fenxi_ebpf::querystat::Querystat { servers, slower_ns, cache: args.cache };
    let buckets = if args.fine { Buckets::Fine } else { Buckets::Log2 };
    let options = QuerystatOptions { each_interval: args.each, buckets, top: args.top };
    let mut live = args.live.clone();
    live.interval.get_or_insert(INTERVAL_S);
    observe(cli, &live, source, Box::new(WithCost::new(Querystat::new(options))), &[])
}
