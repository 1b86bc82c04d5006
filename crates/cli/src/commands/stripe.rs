//! `fenxi stripe`: what each stripe unit or record size would give to what a run does, or to what is stated.

mod measure;
mod mix;

use std::{path::PathBuf, process::ExitCode};

use anyhow::bail;
use clap::{Args, ValueEnum};
use fenxi_analyze::{BestSizes, Choice, Disk, Layout, Limit, Requests, Storage, Unit as Chosen, best_sizes};
use fenxi_model::Unit;
use serde_json::json;

use self::mix::Mix;
use crate::{
    options::{EngineArgs, Global, JsonArgs, seconds},
    print,
};

/// How disks are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Raid {
    /// Striped
    #[value(name = "0")]
    R0,
    /// Mirrored and striped
    #[value(name = "10")]
    R10,
    /// One disk of parity; with --zfs RAID-Z
    #[value(name = "5")]
    R5,
    /// Two disks of parity; with --zfs RAID-Z2
    #[value(name = "6")]
    R6,
}

/// `fenxi stripe`
#[derive(Debug, Args)]
#[command(after_help = "\
A model: each request becomes pieces on disks, each piece takes time of a disk.
A table of sizes shows the throughput of scans and what limits it, the latency
and throughput of random requests, the share of them that touches two units,
the share of writes for which something is read first, and the throughput of
the mix. `*` marks sizes that no other beats in both (the Pareto front).

Requests are those of a run with the source `iopattern`, or are stated with --io
as KIND SIZE SHARE: rand-read, rand-write, seq-read or seq-write.

A disk does one request after the other (--iops, and --mbps for the transfer);
with --latency it does many at once, up to both, as flash and volumes of clouds
do. --measure asks fio about a device or file instead; nothing is written
unless --write is given, which OVERWRITES it.

Examples:
  fenxi stripe --disks 8 --iops 150 --bus 320
  fenxi stripe --io 'rand-read 8k 70%, seq-read 1m 30%' --disks 8 --iops 150 \\
      --mbps 120 --raid 5
  fenxi stripe @1 --mount /data --iops 3000 --mbps 125 --latency 0.8ms
  fenxi stripe --zfs --io 'rand-write 16k' --measure /data/big")]
pub struct StripeArgs {
    /// Run whose I/O requests are used
    #[arg(value_name = "RUN", conflicts_with = "io")]
    pub run: Option<String>,
    /// Only requests of this file system
    #[arg(long, value_name = "MOUNT", requires = "run", help_heading = "Requests")]
    pub mount: Option<String>,
    /// Requests: kind, size and share of each [default: rand-read 8k]
    #[arg(long, value_name = "MIX", help_heading = "Requests")]
    pub io: Option<Mix>,
    /// Queue depth: random requests at a time [default: those of the run, or one for each disk]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536), help_heading = "Requests")]
    pub in_flight: Option<u32>,
    /// Number of disks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10000), help_heading = "Storage")]
    pub disks: u32,
    /// Requests per second of one disk (IOPS)
    #[arg(long, value_name = "N", required_unless_present = "measure", value_parser = positive, help_heading = "Storage")]
    pub iops: Option<f64>,
    /// Throughput of one disk, MiB/s
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Storage")]
    pub mbps: Option<f64>,
    /// Latency of one disk that serves many requests at once
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "Storage")]
    pub latency: Option<f64>,
    /// Throughput of their bus or controller, MiB/s
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Storage")]
    pub bus: Option<f64>,
    /// RAID level
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "0", help_heading = "Storage")]
    pub raid: Raid,
    /// Choose the record size of ZFS, which is read and written whole, instead of a stripe unit
    #[arg(long, help_heading = "Storage")]
    pub zfs: bool,
    /// Measure one disk with fio: a device, or a file on it, read for some seconds
    #[arg(long, value_name = "PATH", conflicts_with_all = ["iops", "mbps", "latency"], help_heading = "Storage")]
    pub measure: Option<PathBuf>,
    /// Measure writes, too, which OVERWRITES the device or file
    #[arg(long, requires = "measure", conflicts_with_all = ["iops", "mbps", "latency"], help_heading = "Storage")]
    pub write: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// From 4 KiB to 1 MiB.
const SIZES: std::ops::RangeInclusive<u32> = 12..=20;
const MIB: f64 = 1_048_576.0;

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

/// Shows what each size gives.
pub fn run(global: &Global, args: &StripeArgs) -> anyhow::Result<ExitCode> {
    let (mix, seen_in_flight) = match &args.run {
        Some(run) => mix::of_run(global, run, args.mount.as_deref(), &args.engine)?,
        None => (args.io.clone().unwrap_or_default(), None),
    };
    let in_flight = args.in_flight.or(seen_in_flight).unwrap_or(args.disks);
    let storage = storage(args, in_flight)?;
    let sizes: Vec<u64> = SIZES.map(|power| 1 << power).collect();
    let choices = storage.choices(&mix.0, &sizes);
    let Some(best) = best_sizes(&choices) else { bail!("there is no size to choose from") };
    if args.form.is_json() {
        print::json(&as_json(&choices, best))?;
    } else {
        print::text(&as_text(&storage, &mix, &choices, best))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn storage(args: &StripeArgs, in_flight: u32) -> anyhow::Result<Storage> {
    let (bytes_per_s, iops) = (args.mbps.map(|rate| rate * MIB), args.iops.unwrap_or_default());
    let disk = match (&args.measure, args.latency) {
        (Some(path), _) => measure::disk(path, args.write, in_flight.div_ceil(args.disks))?,
        (None, Some(latency_s)) => Disk::Limited { latency_s, iops, bytes_per_s },
        (None, None) => Disk::Serial { iops, bytes_per_s },
    };
    let (layout, fewest) = match args.raid {
        Raid::R0 => (Layout::Striped, 1),
        Raid::R10 => (Layout::Mirrored, 2),
        Raid::R5 => (Layout::Parity(1), 3),
        Raid::R6 => (Layout::Parity(2), 4),
    };
    if args.disks < fewest {
        bail!("this RAID level needs {fewest} disks or more; name them with --disks");
    }
    let unit = if args.zfs { Chosen::Record } else { Chosen::Stripe };
    Ok(Storage { disks: args.disks, disk, layout, unit, bus: args.bus.map(|bus| bus * MIB), in_flight })
}

fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Iops => "IOPS",
        Limit::Disks => "disks",
        Limit::Bus => "bus",
    }
}

fn as_json(choices: &[Choice], best: BestSizes) -> String {
    let line = |(place, choice): (usize, &Choice)| {
        let best_for = [("random", best.random), ("scan", Some(best.scan)), ("mix", Some(best.mix))];
        let line = json!({
            "size_bytes": choice.bytes, "scan_bytes_per_s": choice.scan_bytes_per_s, "limit": limit(choice.limit),
            "random_s": choice.random_s, "crossing": choice.crossing, "read_first": choice.read_first,
            "random_per_s": choice.random_per_s, "mix_per_s": choice.mix_per_s, "front": choice.is_front,
            "best_for": best_for.iter().filter(|(_, at)| *at == Some(place)).map(|(name, _)| name).collect::<Vec<_>>(),
        });
        format!("{line}\n")
    };
    choices.iter().enumerate().map(line).collect()
}

fn as_text(storage: &Storage, mix: &Mix, choices: &[Choice], best: BestSizes) -> String {
    let or_none = |value: Option<f64>, show: &dyn Fn(f64) -> String| value.map_or_else(|| "-".to_owned(), show);
    let percent = |share: f64| Unit::Percent.human(100.0 * share).to_string();
    let row = |choice: &Choice| {
        vec![
            size(choice.bytes),
            Unit::BytesPerS.human(choice.scan_bytes_per_s).to_string(),
            limit(choice.limit).to_owned(),
            or_none(choice.random_s, &|s| Unit::Seconds.human(s).to_string()),
            or_none(choice.random_per_s, &|n| Unit::PerS.human(n).to_string()),
            or_none(choice.crossing, &percent),
            or_none(choice.read_first, &percent),
            Unit::PerS.human(choice.mix_per_s).to_string(),
            if choice.is_front { "*" } else { "" }.to_owned(),
        ]
    };
    let header = ["SIZE", "SCAN", "LIMIT", "RANDOM", "RANDOM/S", "CROSSING", "READ FIRST", "MIX", ""];
    let rows: Vec<Vec<String>> = choices.iter().map(row).collect();
    let disks = if storage.disks == 1 { "one disk".to_owned() } else { format!("{} disks", storage.disks) };
    let head = format!("requests: {mix}; {} at a time, {disks}\n\n", storage.in_flight);
    head + &print::table(&header, 0..8, &[], &rows, false) + "\n" + &advice(choices, best)
}

fn size(bytes: u64) -> String {
    Unit::Bytes.human(bytes as f64).to_string()
}

/// Which size is best for what, and what the others lose with it.
fn advice(choices: &[Choice], best: BestSizes) -> String {
    let lost = |value: &dyn Fn(&Choice) -> f64, with: usize| {
        let most = choices.iter().map(value).fold(0.0, f64::max);
        Unit::Percent.human((100.0 * (1.0 - value(&choices[with]) / most)).max(0.0)).to_string()
    };
    let scan = |choice: &Choice| choice.scan_bytes_per_s;
    let random = |choice: &Choice| choice.random_per_s.unwrap_or_default();
    let mix = |choice: &Choice| choice.mix_per_s;
    let of = |place: usize| size(choices[place].bytes);
    let mut text = String::new();
    if let Some(place) = best.random {
        text += &format!("random requests  {}; scans lose {} with it\n", of(place), lost(&scan, place));
        text +=
            &format!("scans            {}; random requests lose {} with it\n", of(best.scan), lost(&random, best.scan));
    } else {
        text += &format!("scans            {}\n", of(best.scan));
    }
    text += &format!("this mix         {}; scans lose {}", of(best.mix), lost(&scan, best.mix));
    if best.random.is_some() {
        text += &format!(", random requests {}", lost(&random, best.mix));
    }
    let worst = lost(&mix, best.scan);
    text + &format!("; it loses {worst} with that for scans\n")
}

/// Requests as one reads them.
fn requests(requests: &Requests) -> String {
    let kind = match (requests.random, requests.write) {
        (true, false) => "rand-read",
        (true, true) => "rand-write",
        (false, false) => "seq-read",
        (false, true) => "seq-write",
    };
    format!("{kind} {} {}", size(requests.bytes), Unit::Percent.human(100.0 * requests.share))
}
