//! `fenxi watch nicstat`.

use std::{
    io::{IsTerminal, stdout},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use fenxi_live::nicstat::{Columns, Nicstat, Options, Speed, Throughput};
use fenxi_model::{
    Table,
    catalog::{net, net_driver, softnet, tcp, udp},
};
use fenxi_source::Root;
use jiff::tz::TimeZone;

use crate::{
    live::{self, Tool},
    netns,
    options::{Global, LiveArgs},
    print, sources,
};

/// `fenxi watch nicstat`
#[derive(Debug, Args)]
#[command(after_help = "\
The first report shows averages since boot and counts towards COUNT; -y omits
it. Without an INTERVAL it is the only one. `-`: not reported by the kernel or
driver.

Columns:
  rKB/s wKB/s      kilobytes (1024 bytes) received and sent per second; with -M
                   megabits (10^6 bits)
  rPk/s wPk/s      packets per second; rAvs wAvs: their mean size in bytes
  %Util            utilisation of the link's speed: the busier direction on full
                   duplex, the sum of both on half; `-` if the speed is unknown
                   (set it with -S). %rUtil and %wUtil: each direction
  Sat              saturation events per second: receive errors and drops, send
                   drops and overruns, collisions, carrier losses. Above 0, the
                   link or its buffers were full or faulty
  IErr OErr Coll   receive errors, send errors, collisions; NoCP and Defer:
                   Linux does not count them
  InKB OutKB       TCP payload, summed over all sockets; unknown since boot
  Reset AttF       connections reset (by either side), failed attempts
  %ReTX            retransmitted segments, of all segments sent
  InConn OutCon    passive opens (accepted) and active opens of connections
  Drops            connections dropped by listening sockets, including full
                   accept queues

On a terminal, virtual interfaces (bond, bridge, VLAN, veth, tun …) are marked
after their line: their packets also count on the interfaces below them.

Examples:
  fenxi watch nicstat 1                      each interface, every second
  fenxi watch nicstat -t -n -i eth0 5 12     eth0 and TCP, every 5 s
  fenxi watch nicstat -xz -S eth0:25000fd 1  with errors; speed set by hand
  fenxi watch nicstat --netns blue -p 1      another namespace, parseable
  fenxi watch nicstat --save rush -a 1       also save it as a run")]
pub struct NicstatArgs {
    /// Interfaces to show, by name
    #[arg(short, long = "interface", value_name = "INT[,INT]", value_delimiter = ',')]
    pub interface: Vec<String>,
    /// Show throughput only
    #[arg(short, long)]
    pub summary: bool,
    /// Speed of interfaces, overriding the drivers
    #[arg(short = 'S', long, value_name = "INT:MBPS[fd|hd]", value_delimiter = ',', help_heading = "Units")]
    pub speed: Vec<Speed>,
    /// Omit interfaces without packets in the interval
    #[arg(short = 'z', long)]
    pub skip_zero: bool,
    /// Omit loopback
    #[arg(short, long)]
    pub nonlocal: bool,
    /// Print parseable output: colon-separated fields, times in seconds since 1970
    #[arg(short, long, help_heading = "As nicstat 1.95")]
    pub parseable: bool,
    /// List interfaces with speed, duplex and state
    #[arg(short, long)]
    pub list: bool,
    /// Add errors and collisions
    #[arg(short = 'x', long)]
    pub extended: bool,
    /// Show TCP; omit interfaces unless -x, -s or -a
    #[arg(short, long)]
    pub tcp: bool,
    /// Show UDP; omit interfaces unless -x, -s or -a
    #[arg(short, long)]
    pub udp: bool,
    /// Show all: -x -t -u
    #[arg(short, long)]
    pub all: bool,
    /// Show throughput in megabits of 1,000,000 bits (not with -p)
    #[arg(short = 'M', long, help_heading = "Units")]
    pub megabits: bool,
    /// Like -M with 1,048,576 bits per megabit, as in nicstat 1.95
    #[arg(long, help_heading = "Units")]
    pub mebibits: bool,
    /// Show utilisation of each direction
    #[arg(short = 'U', long, help_heading = "Units")]
    pub utils: bool,
    /// Print the version of nicstat, and continue
    #[arg(short = 'v', long = "show-version", help_heading = "As nicstat 1.95")]
    pub show_version: bool,
    /// Omit averages since boot
    #[arg(short = 'y', long = "no-boot")]
    pub no_boot: bool,
    /// Mark virtual interfaces even if the output is not a terminal
    #[arg(long, help_heading = "Linux")]
    pub kinds: bool,
    /// Show driver counters that changed (`ethtool -S`): per queue, drops marked with `!`
    #[arg(long, conflicts_with = "root", help_heading = "Linux")]
    pub ethtool: bool,
    /// Show packets that each CPU processed, dropped or deferred (time squeezes)
    #[arg(long, help_heading = "Linux")]
    pub softnet: bool,
    /// Observe another network namespace; requires root
    #[arg(long, value_name = "NAME|PATH", conflicts_with_all = ["root", "run"], help_heading = "Linux")]
    pub netns: Option<String>,
    /// Interval, count and output
    #[command(flatten)]
    pub live: LiveArgs,
}

/// Shows it until the count is reached or a signal comes.
pub fn run(global: &Global, args: &NicstatArgs) -> anyhow::Result<ExitCode> {
    if args.show_version {
        let text = format!("nicstat version 1.95, as fenxi {} has it\n", env!("CARGO_PKG_VERSION"));
        print::text(&text)?;
    }
    if let Some(name) = &args.netns {
        netns::enter(name)?;
    }
    if args.live.run.is_none() {
        known(&args.live.machine.open()?, &args.interface)?;
    }
    let options = options(args);
    let mut sources = vec!["net"];
    let mut tables: Vec<&'static Table> = vec![&net::TABLE];
    let more: [(bool, _, &'static Table); 4] = [
        // The sockets are only asked where their bytes are shown.
        (options.tcp, "tcp_bytes", &tcp::TABLE),
        (options.udp, "udp", &udp::TABLE),
        (options.softnet, "softnet", &softnet::TABLE),
        (options.drivers, "net_driver", &net_driver::TABLE),
    ];
    for (wanted, source, table) in more {
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
    let sources = sources::named(&sources);
    live::run(global, &live, Tool { name: "watch nicstat", sources, tables, view, since_boot, command: None })
}

/// Combined meaning of the letters.
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
    !args.no_boot && !args.live.is_csv()
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
    let text = root.read("/proc/net/dev")?;
    let text = String::from_utf8_lossy(&text);
    let names: Vec<_> = text.lines().filter_map(|line| Some(line.rsplit_once(':')?.0.trim())).collect();
    if !wanted.is_empty() && !wanted.iter().any(|name| names.contains(&name.as_str())) {
        bail!("no interface {}; there are {}", wanted.join(" or "), names.join(", "));
    }
    Ok(())
}
