//! `fenxi net`: what a load sends, and how much of it the network could carry.

mod mix;
mod peak;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Subcommand};
use fenxi_remote::Target;

use crate::options::{EngineArgs, Global, JsonArgs, RunLabels, seconds};

/// `fenxi net`
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  fenxi net mix @1                         packets and messages of a run
  fenxi net peak --mix @1 --on db1         what the network can do with them"
)]
pub struct NetArgs {
    /// What is asked
    #[command(subcommand)]
    pub command: NetCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum NetCommand {
    /// Show the packet and message mix of a run, or of this host now
    Mix(Box<MixArgs>),
    /// Exchange the messages of a mix without the database, up to the peak
    Peak(Box<PeakArgs>),
    /// The other end, for `net peak --on`
    #[command(hide = true)]
    Receiver,
}

/// `fenxi net mix`
#[derive(Debug, Args)]
#[command(after_help = "\
Means of both directions: packets of interfaces, segments of TCP, and messages
of a load by `fenxi load run --record`, whose requests go out and replies come
in. Where the run has a load, only its time counts. What no one counted is `-`.
Without RUN this host is recorded first, and kept as a run.

Examples:
  fenxi net mix @1                         packets and messages of a run
  fenxi net mix @1 -o mix.toml             keep them as a file for `net peak`
  fenxi net mix --for 30s                  of this host, now")]
pub struct MixArgs {
    /// Run, or a file of `-o` [default: this host, now]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Recording time of this host
    #[arg(long = "for", default_value = "10s", value_name = "TIME", value_parser = seconds, conflicts_with = "run")]
    pub duration: f64,
    /// Keep the mix in this file (TOML)
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// `fenxi net peak`
#[derive(Debug, Args)]
#[command(after_help = "\
Connections exchange requests and replies of the mix's mean sizes: first one,
then twice as many at each step, until throughput no longer rises. Shows for
each step messages, bits and packets per second, the share of the link, latency
and what both ends used; and what limited the peak: the link, CPUs of an end, or
the threads of the receiver. It is kept as a run.

The receiver is in this process, at 127.0.0.1, or at another host, where --on
starts it and ends it. It listens at --listen, and answers only connections that
show the key that it got through --on. Nothing is encrypted.

Share of the link: of --link, or of the speed that a driver reports. Packets are
those that the interface counts, which cards may split (TSO).

Examples:
  fenxi net peak --mix @1                  over loopback, in this process
  fenxi net peak --mix @1 --on db1         with a receiver at db1
  fenxi net peak --mix mix.toml --on 'blue=ip netns exec blue' \\
      --listen 10.9.0.2 --link 1000
  fenxi net peak --mix 60:8192 --udp --on db1 --server-threads 4")]
#[command(mut_arg("name", |arg| arg.help("Name of the run [default: net-peak]").help_heading("Recording")))]
#[command(mut_arg("tag", |arg| arg.help_heading("Recording")))]
pub struct PeakArgs {
    /// Messages: a run, a file of `fenxi net mix`, or bytes REQUEST:REPLY
    #[arg(long, value_name = "MIX")]
    pub mix: String,
    /// Receiver at this host: HOST by ssh, or NAME=COMMAND that reaches it
    #[arg(long, value_name = "HOST", value_parser = Target::parse, help_heading = "The other end")]
    pub on: Option<Target>,
    /// Address, and first port, of the receiver [default: 127.0.0.1, or that of --on]
    #[arg(long, value_name = "ADDRESS", value_parser = address, help_heading = "The other end")]
    pub listen: Option<SocketAddr>,
    /// Threads of the receiver [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "The other end")]
    pub server_threads: Option<u16>,
    /// Time for which each request holds a thread of the receiver up, as the work of a server
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "The other end")]
    pub service: Option<f64>,
    /// Speed of the link in Mbit/s [default: as its driver reports]
    #[arg(long, value_name = "MBPS", value_parser = clap::value_parser!(u32).range(1..))]
    pub link: Option<u32>,
    /// Datagrams instead of TCP connections
    #[arg(long)]
    pub udp: bool,
    /// Maximum number of connections
    #[arg(long, short, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub connections: u16,
    /// Threads that send [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Measurement duration of each step
    #[arg(long = "for", default_value = "2s", value_name = "TIME", value_parser = seconds)]
    pub duration: f64,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
    /// Name and tags
    #[command(flatten)]
    pub labels: RunLabels,
    /// Sources to record; `+NAME` adds one to the defaults, `-NAME` removes one
    #[arg(long, value_name = "SOURCES", value_delimiter = ',', allow_hyphen_values = true, help_heading = "Recording")]
    pub source: Vec<String>,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// An address, with or without a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    let alone = || text.parse::<IpAddr>().map(|address| SocketAddr::new(address, 0));
    text.parse().or_else(|_| alone()).map_err(|_| "expected an IP address, or ADDRESS:PORT".to_owned())
}

/// Runs a subcommand.
pub fn run(global: &Global, args: &NetArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        NetCommand::Mix(args) => mix::run(global, args),
        NetCommand::Peak(args) => peak::run(global, args),
        NetCommand::Receiver => {
            fenxi_load::net::serve_pipe(io::stdin(), io::stdout())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
