//! `fenxi nicstat`.

use std::{
    io::{IsTerminal, stdout},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use fenxi_live::nicstat::{Columns, Nicstat, Options, Speed, Throughput};
use fenxi_model::catalog::{net, net_driver, softnet, tcp, udp};
use fenxi_source::Root;
use jiff::tz::TimeZone;

use super::{
    live::{self, LiveArgs, Tool},
    record::root,
};
use crate::{args::Cli, netns, print};

/// `fenxi nicstat`
#[derive(Debug, Args)]
#[command(after_help = "\
The first lines are averages since boot, and count as one of COUNT; -y leaves
them out. Without an INTERVAL there is nothing else. `-` is what the kernel or
the driver does not say.

Columns:
  rKB/s wKB/s      kilobytes (1024 bytes) received and sent per second; with -M
                   megabits (10^6 bits)
  rPk/s wPk/s      packets per second; rAvs wAvs: their mean size in bytes
  %Util            of the link's speed: the busier direction on full duplex,
                   both together on half; `-` without a speed: give it with -S.
                   %rUtil and %wUtil: each direction by itself
  Sat              saturation, per second: receive errors and drops, send drops
                   and overruns, collisions, carrier losses. More than 0 means
                   that the link or its buffers had no room, or are faulty
  IErr OErr Coll   errors received and sent, collisions; NoCP and Defer: Linux
                   does not count them
  InKB OutKB       payload of TCP, summed over all its sockets; not known since
                   boot
  Reset AttF       connections reset (by either side), attempts that failed
  %ReTX            segments sent again, of all that were sent
  InConn OutCon    connections accepted and opened
  Drops            connections dropped by listening sockets, full queues
                   included

On a terminal, a bond, bridge, VLAN, veth, tun or other virtual interface is
marked after its line: its packets also count on the interfaces below it.

Examples:
  fenxi nicstat 1                       each interface, every second
  fenxi nicstat -t -n -i eth0 5 12      eth0 and TCP, every 5 s for a minute
  fenxi nicstat -xz -S eth0:25000fd 1   errors too; a speed that no driver knows
  fenxi nicstat --netns blue -p 1       another network namespace, to be parsed
  fenxi nicstat --save rush -a 1        and keep it as a run")]
pub struct NicstatArgs {
    /// Interfaces to show, by their names
    #[arg(short, long = "interface", value_name = "INT[,INT]", value_delimiter = ',')]
    pub interface: Vec<String>,
    /// Throughput only
    #[arg(short, long)]
    pub summary: bool,
    /// Speed of interfaces, whatever drivers say
    #[arg(short = 'S', long, value_name = "INT:MBPS[fd|hd]", value_delimiter = ',')]
    pub speed: Vec<Speed>,
    /// Leave out interfaces without a packet in the interval
    #[arg(short = 'z', long)]
    pub skip_zero: bool,
    /// Leave out loopback
    #[arg(short, long)]
    pub nonlocal: bool,
    /// Fields between colons, times in seconds since 1970
    #[arg(short, long)]
    pub parseable: bool,
    /// List interfaces: speed, duplex, state
    #[arg(short, long)]
    pub list: bool,
    /// Errors and collisions too
    #[arg(short = 'x', long)]
    pub extended: bool,
    /// TCP; without interfaces unless -x, -s or -a
    #[arg(short, long)]
    pub tcp: bool,
    /// UDP; without interfaces unless -x, -s or -a
    #[arg(short, long)]
    pub udp: bool,
    /// All: -x -t -u
    #[arg(short, long)]
    pub all: bool,
    /// Throughput in megabits of 1,000,000 bits (not with -p)
    #[arg(short = 'M', long)]
    pub megabits: bool,
    /// As -M with 1,048,576 bits to the megabit, as nicstat 1.95 counts
    #[arg(long)]
    pub mebibits: bool,
    /// Utilisation of each direction
    #[arg(short = 'U', long)]
    pub utils: bool,
    /// Say which nicstat this is, and go on
    #[arg(short = 'v', long = "show-version")]
    pub show_version: bool,
    /// Leave out the averages since boot
    #[arg(short = 'y', long = "no-boot")]
    pub no_boot: bool,
    /// Mark virtual interfaces also when the output is no terminal
    #[arg(long)]
    pub kinds: bool,
    /// The drivers' own counters that moved, as `ethtool -S` has them: each queue, drops (marked `!`)
    #[arg(long, conflicts_with = "root")]
    pub ethtool: bool,
    /// Packets that each CPU took, dropped or left for later (squeezes)
    #[arg(long)]
    pub softnet: bool,
    /// Look into another network namespace; needs root
    #[arg(long, value_name = "NAME|PATH", conflicts_with_all = ["root", "run"])]
    pub netns: Option<String>,
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
}

/// Shows it until the count is reached or a signal comes.
pub fn run(cli: &Cli, args: &NicstatArgs) -> anyhow::Result<ExitCode> {
    if args.show_version {
        let text = format!("nicstat version 1.95, as fenxi {} has it\n", env!("CARGO_PKG_VERSION"));
        print::data(text.as_bytes())?;
    }
    if let Some(name) = &args.netns {
        netns::enter(name)?;
    }
    if args.live.run.is_none() {
        known(&root(args.live.root.as_deref())?, &args.interface)?;
    }
    let options = options(args);
    let mut sources = vec!["net"];
    let mut tables = vec![&net::TABLE];
    for (wanted, source, table) in [
        // The sockets are only asked where their bytes are shown.
        (options.tcp, "tcp_bytes", &tcp::TABLE),
        (options.udp, "udp", &udp::TABLE),
        (options.softnet, "softnet", &softnet::TABLE),
        (options.drivers, "net_driver", &net_driver::TABLE),
    ] {
        if wanted {
            sources.push(source);
            tables.push(table);
        }
    }
    // Rows as they are begin with what was asked for.
    if options.columns == Columns::None && !options.list {
        tables.rotate_left(1);
    }
    let live = timing(args);
    let view = Box::new(Nicstat::new(options, TimeZone::system()));
    let since_boot = with_boot(args) || args.list;
    let sources = live::sources(&sources);
    live::run(cli, &live, Tool { name: "nicstat", sources, tables, view, since_boot, command: None })
}

/// What the letters mean together.
fn options(args: &NicstatArgs) -> Options {
    let others = args.tcp || args.udp || args.softnet || args.ethtool;
    let columns = if args.extended || (args.all && !args.summary) {
        Columns::Extended
    } else if args.summary && !args.parseable {
        Columns::Summary
    } else if others || args.all {
        Columns::None
    } else {
        Columns::Full
    };
    Options {
        columns,
        parseable: args.parseable,
        by_direction: args.utils,
        throughput: match (args.mebibits, args.megabits) {
            (true, _) => Throughput::Mebibits,
            (false, true) => Throughput::Megabits,
            (false, false) => Throughput::Kilobytes,
        },
        tcp: args.tcp || args.all,
        udp: args.udp || args.all,
        skip_zero: args.skip_zero,
        skip_loopback: args.nonlocal,
        only: args.interface.clone(),
        speeds: args.speed.clone(),
        kinds: args.kinds || (stdout().is_terminal() && !args.parseable),
        list: args.list,
        softnet: args.softnet,
        drivers: args.ethtool,
    }
}

/// Whether averages since boot come first; in a table of values they would spoil every sum.
fn with_boot(args: &NicstatArgs) -> bool {
    !args.no_boot && !args.live.csv
}

/// The averages since boot are one of the count, and a list is made at once.
fn timing(args: &NicstatArgs) -> LiveArgs {
    let mut live = args.live.clone();
    if args.list {
        (live.interval, live.count) = (None, None);
    } else if with_boot(args) && live.run.is_none() {
        match live.count {
            Some(1) => (live.interval, live.count) = (None, None),
            Some(n) => live.count = Some(n - 1),
            None => {}
        }
    }
    live
}

/// Demands that one of the interfaces is there; others may come later.
fn known(root: &Root, wanted: &[String]) -> anyhow::Result<()> {
    let text = fs_err::read_to_string(root.path("/proc/net/dev"))?;
    let names: Vec<_> = text.lines().filter_map(|line| Some(line.rsplit_once(':')?.0.trim())).collect();
    if !wanted.is_empty() && !wanted.iter().any(|name| names.contains(&name.as_str())) {
        bail!("no interface is called {}; there are {}", wanted.join(" or "), names.join(", "));
    }
    Ok(())
}
