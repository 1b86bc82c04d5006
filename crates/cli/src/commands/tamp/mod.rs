//! `fenxi tamp`, which is also the command `tamp`: compresses and decompresses with every core.

mod bench;
mod files;
mod one;
mod picture;

use std::{ops::Range, path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use fenxi_tamp::{Format, Level};

use crate::{
    options::{Global, size},
    print,
};

/// `fenxi tamp`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Without FILE, or if it is `-`, filter standard input to standard output. A file
is replaced by FILE.zst (or .lz4, .gz) with the same mode, owner and times, and
removed only once the new file is on disk. Decompression detects the format.

Levels   -1     -2    -3    -4    -5    -6    -7    -8    -9    --fast
  zstd    1      2     3     5     7     9    12    15    19    --fast=3
  LZ4     1      1    HC 3  HC 4  HC 5  HC 6  HC 8  HC 9  HC 12 --fast=8
  gzip    1      2     3     4     5     6     8     9    12    1 (libdeflate's)

Examples:
  tamp backup.tar                            replace it by backup.tar.zst
  tamp -d backup.tar.zst                     decompress
  pg_dump -Fc db | tamp --lz4 > db.lz4       minimum CPU time, on all cores
  tamp -dc db.lz4 | pg_restore -d db
  tamp -l *.zst                              list sizes; -t tests integrity
  tamp -d --range 10G:+1M -c disk.img.zst    random access to a byte range
  tamp -d --recover disk.img.zst             salvage undamaged blocks
  tamp bench data.tar                        compare formats and levels")]
pub struct TampArgs {
    /// Files; `-` is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Subcommand
    #[command(subcommand)]
    pub other: Option<Other>,
    /// Mode
    #[command(flatten)]
    pub mode: Mode,
    /// Output
    #[command(flatten)]
    pub place: Place,
    /// Format and level
    #[command(flatten)]
    pub into: Into,
    /// Resources
    #[command(flatten)]
    pub means: Means,
}

/// What to do with the files.
#[derive(Debug, Args)]
#[group(id = "tamp_mode")]
pub struct Mode {
    /// Decompress
    #[arg(short, long, visible_alias = "uncompress")]
    pub decompress: bool,
    /// Test the integrity of files; write nothing
    #[arg(short, long, conflicts_with = "list")]
    pub test: bool,
    /// List sizes; decompress to count what the file does not state
    #[arg(short, long)]
    pub list: bool,
    /// Decompress only a byte range: FROM:TO, FROM:+BYTES or FROM: (sizes such as 10G)
    #[arg(long, value_name = "RANGE", value_parser = range, requires = "decompress")]
    pub range: Option<Range<u64>>,
    /// Salvage undamaged data; fill lost ranges with zeros and report them
    #[arg(long, requires = "decompress", conflicts_with = "range")]
    pub recover: bool,
}

/// Where to.
#[derive(Debug, Args)]
#[group(id = "tamp_place")]
#[command(next_help_heading = "Output")]
pub struct Place {
    /// Write to standard output; keep the input
    #[arg(short = 'c', long, visible_alias = "to-stdout", conflicts_with = "output")]
    pub stdout: bool,
    /// Write to this file; keep the input
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Keep the input files
    #[arg(short, long)]
    pub keep: bool,
    /// Overwrite existing files, follow symbolic links, write to terminals
    #[arg(short, long)]
    pub force: bool,
    /// Process directories recursively
    #[arg(short, long)]
    pub recursive: bool,
    /// Decompress to sparse files
    #[arg(long)]
    pub sparse: bool,
    /// Do not leave the data in the page cache
    #[arg(long)]
    pub nocache: bool,
    /// Report the result of each file
    #[arg(short, long)]
    pub verbose: bool,
}

/// Into what.
#[derive(Debug, Args)]
#[group(id = "tamp_into")]
#[command(next_help_heading = "Format and level")]
pub struct Into {
    /// Use the LZ4 format: the fastest
    #[arg(long, conflicts_with_all = ["gzip", "zstd"])]
    pub lz4: bool,
    /// Use the gzip format: the most portable
    #[arg(long, visible_alias = "gz", conflicts_with = "zstd")]
    pub gzip: bool,
    /// Use the zstd format (default)
    #[arg(long, visible_alias = "zst")]
    pub zstd: bool,
    /// Compress faster than -1, but larger
    #[arg(long)]
    pub fast: bool,
    /// Same as -9
    #[arg(long, conflicts_with = "fast")]
    pub best: bool,
    /// Compression level
    #[command(flatten)]
    pub levels: Levels,
    /// Block size; 64K, 256K, 1M or 4M for LZ4 [default: 2M for zstd, else 1M]
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    pub block: Option<u64>,
    /// Omit the seek table of zstd files (zstd seekable format)
    #[arg(long)]
    pub no_index: bool,
}

macro_rules! levels {
    ($($field:ident $flag:literal $number:literal $doc:literal),*) => {
        /// The level.
        #[derive(Debug, Args)]
        #[group(id = "tamp_level", multiple = false)]
        #[command(next_help_heading = "Format and level")]
        pub struct Levels {
            $(
                #[doc = $doc]
                #[arg(short = $flag, hide = $number != 1 && $number != 9)]
                pub $field: bool,
            )*
        }

        impl Levels {
            fn number(&self) -> Option<u8> {
                [$((self.$field, $number)),*].iter().find(|(given, _)| *given).map(|(_, number)| *number)
            }
        }
    };
}

levels! {
    one '1' 1 "Level, from here (the default) …",
    two '2' 2 "Level 2",
    three '3' 3 "Level 3",
    four '4' 4 "Level 4",
    five '5' 5 "Level 5",
    six '6' 6 "Level 6",
    seven '7' 7 "Level 7",
    eight '8' 8 "Level 8",
    nine '9' 9 "… to here: smaller, and slower"
}

/// With what.
#[derive(Debug, Args)]
#[group(id = "tamp_means")]
#[command(next_help_heading = "Resources")]
pub struct Means {
    /// Number of threads [default: 0, one per available CPU]
    #[arg(
        short = 'p',
        long,
        short_alias = 'T',
        visible_alias = "processes",
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub threads: usize,
    /// Approximate memory limit for blocks
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Expected bytes from standard input, for the progress bar
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub size_hint: Option<u64>,
}

/// What else it can do.
#[derive(Debug, Subcommand)]
pub enum Other {
    /// Benchmark formats and levels on a file: compression ratio and speed
    Bench(bench::BenchArgs),
}

impl TampArgs {
    fn format(&self) -> Format {
        match (self.into.lz4, self.into.gzip) {
            (true, _) => Format::Lz4,
            (_, true) => Format::Gz,
            _ => Format::Zst,
        }
    }

    fn level(&self) -> Level {
        match (self.into.fast, self.into.best) {
            (true, _) => Level::Fast,
            (_, true) => Level::Of(9),
            _ => self.into.levels.number().map_or(Level::default(), Level::Of),
        }
    }

    fn threads(&self) -> usize {
        if self.means.threads == 0 { fenxi_tamp::threads() } else { self.means.threads }
    }

    /// Whether the inputs are compressed.
    fn reads_compressed(&self) -> bool {
        self.mode.decompress || self.mode.test || self.mode.list
    }
}

/// Compresses, decompresses, tests or lists.
pub fn run(global: &Global, args: &TampArgs) -> anyhow::Result<ExitCode> {
    if let Some(Other::Bench(bench)) = &args.other {
        return bench::run(global, bench);
    }
    if let Some(wrong) = wrong(args) {
        print::message(&format!("error: {wrong}"));
        return Ok(ExitCode::from(2));
    }
    files::run(global, args)
}

/// The first fault of the arguments, if any.
fn wrong(args: &TampArgs) -> Option<&'static str> {
    let several = args.files.len() > 1 || args.place.recursive;
    match args {
        _ if several && args.place.output.is_some() => {
            Some("`-o` takes one file; `-c` writes several one after the other")
        }
        _ if args.mode.list && args.files.is_empty() => Some("`-l` needs files"),
        _ if args.place.recursive && args.files.is_empty() => Some("`-r` needs directories"),
        _ if args.mode.recover && several => Some("`--recover` takes one file at a time"),
        _ if args.into.lz4 && args.into.block.is_some_and(|block| block > 4 << 20) => {
            Some("blocks of LZ4 are at most 4M")
        }
        _ if args.into.block.is_some_and(|block| block > 128 << 20) => Some("blocks are at most 128M"),
        _ => None,
    }
}

/// `10G:11G`, `10G:+1M`, `10G:`, `:4K`.
fn range(text: &str) -> Result<Range<u64>, String> {
    let bad = || "expected FROM:TO, FROM:+BYTES or FROM:, as 10G:+1M".to_owned();
    let number = |text: &str| if text == "0" { Ok(0) } else { size(text).map_err(|_| bad()) };
    let (from, to) = text.split_once(':').ok_or_else(bad)?;
    let from = if from.is_empty() { 0 } else { number(from)? };
    let to = match to.strip_prefix('+') {
        Some(len) => from.saturating_add(number(len)?),
        None if to.is_empty() => u64::MAX,
        None => number(to)?,
    };
    if from <= to { Ok(from..to) } else { Err("the range ends before it begins".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        assert_eq!(range("1K:+1M"), Ok(1024..1024 + (1 << 20)));
        assert_eq!(range("0:10"), Ok(0..10));
        assert_eq!(range("5:"), Ok(5..u64::MAX));
        assert_eq!(range(":2G"), Ok(0..2 << 30));
        for bad in ["", "5", "6:5", "x:y", "1:-1"] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }
}
