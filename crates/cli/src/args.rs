//! The command line: what can be typed, and nothing else. No work is done here.

use std::{collections::BTreeSet, ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use fenxi_model::{parse_cpus, parse_seconds};

use crate::commands::{
    average, compare, export, fence, findings, load, manual, memstat, mpstat, nicstat, pstime, representative, serve,
    study, tamp, trace, trend, util, window,
};

/// Record a Linux system, keep the run, ask it, draw it
#[derive(Debug, Parser)]
#[command(name = "fenxi", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "\
Runs are named by id, by a unique beginning of one, by name, by `@1` (the
latest), or by `tag=value`.

Examples:
  fenxi record -- make -j8            record this machine while a command runs
  fenxi record --for 30s --name idle  record it for 30 seconds
  fenxi import mpstat.txt sar.txt     make a run of what other tools printed
  fenxi runs                          list what there is
  fenxi ask hottest-cpu               answer a question about the latest run
  fenxi findings                      or what stands out in it
  fenxi report @1 -o report.html      draw it")]
pub struct Cli {
    /// Directory in which runs are kept [default: $XDG_DATA_HOME/fenxi]
    #[arg(long, global = true, env = "FENXI_STORE", value_name = "DIR")]
    pub store: Option<PathBuf>,

    /// Say only what was asked for, and errors
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Record this machine, alone or while a command runs
    Record(RecordArgs),
    /// Import what other tools printed, as one run; or the runs of an archive
    Import(ImportArgs),
    /// Write runs into one file, to be imported elsewhere
    Export(export::ExportArgs),
    /// List the formats that can be imported, or describe one
    Formats(FormatsArgs),
    /// Make the runs of a planned experiment: factors, levels, repeats, in random order, resumable
    Study(study::StudyArgs),
    /// List runs, the latest first
    Runs(RunsArgs),
    /// Show one run: facts, results, tables, cost of recording
    Show(ShowArgs),
    /// Change the name, tags or remarks of runs
    Tag(TagArgs),
    /// Remove runs
    Rm(RmArgs),
    /// Check that runs are whole and unchanged
    Verify(VerifyArgs),
    /// Ask in SQL
    Sql(SqlArgs),
    /// Answer a ready question; without one, list them
    Ask(AskArgs),
    /// Say what is wrong or notable in a run, with evidence and advice
    Findings(findings::FindingsArgs),
    /// Draw runs into one HTML file that needs no network
    Report(ReportArgs),
    /// Show the store's pages in a browser, and answer programs over HTTP
    Serve(serve::ServeArgs),
    /// Tell whether runs differ, by how much, and whether they may be compared at all
    Compare(compare::CompareArgs),
    /// Tell which of several runs stands best for all of them
    Representative(representative::RepresentativeArgs),
    /// Average runs into a new one that keeps their spread
    Average(average::AverageArgs),
    /// Follow one metric over runs, and tell where it changed
    Trend(trend::TrendArgs),
    /// Name parts of runs, as the steady one
    Window(window::WindowArgs),
    /// Load a database: make tables, run transactions at a steady rate, with honest latencies
    Load(load::LoadArgs),
    /// List what can be recorded, or describe a table
    Tables(TablesArgs),
    /// Network interfaces, live: throughput, utilisation, saturation, errors
    Nicstat(nicstat::NicstatArgs),
    /// Processors, live: each and all, interrupts, who is maxed out
    Mpstat(mpstat::MpstatArgs),
    /// CPU time of processes over exactly the interval, to the nanosecond
    Pstime(pstime::PstimeArgs),
    /// Utilisation of the machine, sampled and measured side by side
    Util(util::UtilArgs),
    /// Where memory went, and what of a database's files is cached
    Memstat(memstat::MemstatArgs),
    /// Observe what counters cannot say: system calls, queries, interrupts, locks, I/O patterns, stacks (eBPF)
    Trace(Box<trace::TraceArgs>),
    /// Keep a process on CPUs of its own, and interrupts away from them; undo it
    Fence(fence::FenceArgs),
    /// Compress and decompress with every core, in standard formats
    Tamp(Box<tamp::TampArgs>),
    /// Show the manual page of a command
    Man(manual::ManArgs),
    /// Print what a shell needs to complete the command line
    Completions(manual::CompletionsArgs),
}

/// `fenxi record`
#[derive(Debug, Args)]
#[command(after_help = "\
The command keeps its input and output; fenxi exits with the command's status.
Ctrl-C without a command ends the recording and keeps the run.

Examples:
  fenxi record --name baseline --tag kernel=6.18 -- ./bench.sh
  fenxi record --interval 100ms --for 10s
  fenxi record --source cpu,disk,net --for 1m")]
pub struct RecordArgs {
    /// Name of the run [default: the command's name, or the host's]
    #[arg(long, short)]
    pub name: Option<String>,
    /// Label of the run, KEY=VALUE; can be repeated
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = key_value)]
    pub tag: Vec<(String, String)>,
    /// Time between two samples, from 10ms
    #[arg(long, short, default_value = "1s", value_parser = interval)]
    pub interval: f64,
    /// Time to record; a command still running then is asked to end (SIGTERM)
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    pub duration: Option<f64>,
    /// Sources to record, by name; `+name` adds to the default ones, `-name` leaves one out
    #[arg(long, short, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    pub source: Vec<String>,
    /// Read a saved copy of /proc and /sys below this directory instead of the live ones
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Command to run and record
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `fenxi import`
#[derive(Debug, Args)]
#[command(after_help = "\
A directory becomes one run with all files in it. Files may be compressed (gz,
zst, bz2, xz); their formats are recognised from their contents. Inputs are
kept in the run, compressed. Averages since boot, with which many tools begin,
are set apart: they are in the tables `boot.cpu`, `boot.disk` … An archive that
`fenxi export` wrote is recognised too: its runs are taken in as they are.

Examples:
  fenxi import mpstat.log iostat.log --name baseline
  vmstat 1 60 | fenxi import -
  fenxi import results/ --tag kernel=6.18
  fenxi import vmstat.txt --start '2026-11-21 14:00' --interval 10
  fenxi import --again baseline  read its inputs again with today's importers
  fenxi import oltp.tar.zst      take in the runs of an archive")]
pub struct ImportArgs {
    /// Files or directories; `-` is standard input
    #[arg(required_unless_present = "again", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Name of the run [default: the first path's]
    #[arg(long, short)]
    pub name: Option<String>,
    /// Label of the run, KEY=VALUE; can be repeated
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = key_value)]
    pub tag: Vec<(String, String)>,
    /// Host of all rows, whatever the files say
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// When the observation began, for files without dates or times
    #[arg(long, value_name = "TIME")]
    pub start: Option<String>,
    /// Time between two samples, for files that do not say
    #[arg(long, short, value_name = "TIME", value_parser = seconds)]
    pub interval: Option<f64>,
    /// Time zone of times that name none, as `Europe/Berlin` or `UTC` [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Format of all files, by its name in `fenxi formats`, instead of recognising it
    #[arg(long, short, value_name = "NAME")]
    pub format: Option<String>,
    /// Mapping file (TOML) that says what the columns of CSV, TSV or JSON lines are
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// A run for each file instead of one for all
    #[arg(long)]
    pub each: bool,
    /// Fail, and keep nothing, when anything could not be read or had to be assumed
    #[arg(long)]
    pub strict: bool,
    /// Import also what an earlier import already has
    #[arg(long)]
    pub force: bool,
    /// Read the kept inputs of this run once more, into a new run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["paths", "each"])]
    pub again: Option<String>,
    /// The summary as JSON
    #[arg(long)]
    pub json: bool,
}

/// `fenxi formats`
#[derive(Debug, Args)]
pub struct FormatsArgs {
    /// Format to describe
    pub format: Option<String>,
    /// One JSON object per format and line
    #[arg(long)]
    pub json: bool,
}

/// `fenxi runs`
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Only these runs
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// One JSON object per run and line
    #[arg(long)]
    pub json: bool,
}

/// `fenxi show`
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Run to show
    #[arg(default_value = "@1")]
    pub run: String,
    /// The manifest and labels as JSON
    #[arg(long)]
    pub json: bool,
}

/// `fenxi tag`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  fenxi tag @1 kernel=6.18 good=yes\n  fenxi tag @1 good=    (removes the tag)")]
pub struct TagArgs {
    /// Run to label
    pub run: String,
    /// Labels to set; KEY= removes one
    #[arg(value_name = "KEY=VALUE", value_parser = key_value)]
    pub tags: Vec<(String, String)>,
    /// Give the run another name
    #[arg(long)]
    pub name: Option<String>,
    /// Add a remark in words
    #[arg(long = "remark", value_name = "TEXT")]
    pub remarks: Option<String>,
}

/// `fenxi rm`
#[derive(Debug, Args)]
pub struct RmArgs {
    /// Runs to remove
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Needed when a selector such as `tag=value` names more than one run
    #[arg(long, short)]
    pub force: bool,
}

/// `fenxi verify`
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Runs to check [default: all]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// One JSON object per problem and line
    #[arg(long)]
    pub json: bool,
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned for reading
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object per line
    Json,
    /// A Parquet file (binary; redirect it)
    Parquet,
    /// A table for a Markdown document
    Markdown,
}

/// What `sql` and `ask` share.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Only these runs; one run of thousands is then as quick as one alone
    #[arg(long, short, value_name = "RUN")]
    pub run: Vec<String>,
    /// How to print the answer
    #[arg(long, short = 'o', value_enum, default_value = "table")]
    pub format: Format,
    /// Memory the engine may use, in MiB; beyond it, it spills to disk
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    pub memory: u64,
    /// Threads the engine may use [default: one per CPU]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

/// `fenxi sql`
#[derive(Debug, Args)]
#[command(after_help = "\
Every table of `fenxi tables` is there for all runs, with the column `run`; the
table `runs` has their names, hosts, times and tags, `cost` what recording
cost. `-` reads the statement from standard input.

Examples:
  fenxi sql \"select run, avg(usr) from cpu where cpu is null group by run\"
  fenxi sql --run @1 -o csv \"select * from disk\"")]
pub struct SqlArgs {
    /// Statement to run
    pub statement: String,
    /// How and over what
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// `fenxi ask`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi ask                              list the questions
  fenxi ask hottest-cpu                  about the latest run
  fenxi ask top-processes -r @1 -r @2    about two runs
  fenxi ask hot-disks --sql              print the question itself")]
pub struct AskArgs {
    /// Question to answer
    pub question: Option<String>,
    /// Parameter of the question
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = key_value)]
    pub param: Vec<(String, String)>,
    /// Print the question's SQL instead of answering it
    #[arg(long)]
    pub sql: bool,
    /// How and over what [default run: @1]
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// `fenxi report`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi report @1 -o report.html                the latest run
  fenxi report before after -o both.html        two runs over each other
  fenxi report '/run?run=before&from=10&to=20'  a page, as its address stands in
                                                the browser (`fenxi serve`)")]
pub struct ReportArgs {
    /// Runs to draw, several are laid over each other on relative time; or the address of a page
    #[arg(default_value = "@1", value_name = "RUN")]
    pub runs: Vec<String>,
    /// File to write; `-` is standard output
    #[arg(long, short, default_value = "report.html", value_name = "FILE")]
    pub output: PathBuf,
}

/// `fenxi tables`
#[derive(Debug, Args)]
pub struct TablesArgs {
    /// Table to describe
    pub table: Option<String>,
    /// One JSON object per table or column and line
    #[arg(long)]
    pub json: bool,
}

/// A label as it is typed, `KEY=VALUE`.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// A length of time as it is typed, `30s`; longer than nothing.
pub fn seconds(text: &str) -> Result<f64, String> {
    parse_seconds(text).filter(|s| *s > 0.0).ok_or_else(|| "expected a time such as 500ms, 30s, 5m or 1h".to_owned())
}

/// CPUs as they are typed, `2-3,7`; at least one.
pub fn cpu_list(text: &str) -> Result<BTreeSet<usize>, String> {
    parse_cpus(text).filter(|cpus| !cpus.is_empty()).ok_or_else(|| "expected a list of CPUs, as 2-3,7".to_owned())
}

/// The time between two samples as it is typed.
pub fn interval(text: &str) -> Result<f64, String> {
    let interval = seconds(text)?;
    if interval < 0.01 { Err("the shortest interval is 10ms".to_owned()) } else { Ok(interval) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// Lines of what stands behind the options that terminals of 80 columns would break, of all commands below.
    fn too_long(command: &clap::Command) -> Vec<String> {
        let texts = [command.get_after_help(), command.get_after_long_help(), command.get_before_help()];
        let texts: Vec<_> = texts.into_iter().flatten().map(ToString::to_string).collect();
        let own = texts.iter().flat_map(|text| text.lines()).filter(|line| line.chars().count() > 80);
        let own = own.map(|line| format!("{}: {line}", command.get_name()));
        own.chain(command.get_subcommands().flat_map(too_long)).collect()
    }

    #[test]
    fn notes_and_examples_fit_a_terminal() {
        assert_eq!(too_long(&Cli::command()), Vec::<String>::new());
    }

    #[test]
    fn times_and_pairs_are_read() {
        assert_eq!(interval("10ms"), Ok(0.01));
        assert!(interval("9ms").is_err());
        assert!(seconds("0s").is_err());
        assert_eq!(key_value("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(key_value("=b").is_err());
    }
}
