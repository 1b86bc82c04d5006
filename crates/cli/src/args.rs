//! The command line: what can be typed, and nothing else. No work is done here.

use std::{collections::BTreeSet, ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use fenxi_model::{parse_cpus, parse_seconds};

use crate::commands::{
    average, compare, export, fence, findings, licenses, load, manual, memstat, mpstat, nicstat, pstime,
    representative, serve, study, tamp, trace, trend, util, window,
};

/// Record, query, compare and visualise the performance of Linux systems
#[derive(Debug, Parser)]
#[command(name = "fenxi", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "\
Select runs by id (or a unique prefix), name, `@N` (`@1` is the latest) or
`tag=value`. `fenxi help COMMAND` describes a command.

Examples:
  fenxi record -- make -j8            record this machine while a command runs
  fenxi record --for 30s --name idle  record it for 30 seconds
  fenxi import mpstat.txt sar.txt     import the output of other tools as a run
  fenxi runs                          list runs
  fenxi ask hottest-cpu               answer a question about the latest run
  fenxi findings                      flag problems in the latest run
  fenxi report @1 -o report.html      write it as a self-contained HTML page")]
pub struct Cli {
    /// Directory of the run store [default: $XDG_DATA_HOME/fenxi]
    #[arg(long, global = true, env = "FENXI_STORE", hide_env_values = true, value_name = "DIR")]
    pub store: Option<PathBuf>,

    /// Suppress progress and informational messages
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// Print the licences of Fenxi and its dependencies; with `--json`, list the dependencies
    // Without a command: `lib.rs` makes it the hidden one of that name.
    #[arg(long)]
    pub licenses: bool,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Record this machine, optionally while a command runs
    Record(RecordArgs),
    /// Import output of other tools as a run, or archived runs
    Import(ImportArgs),
    /// Export runs to one archive file
    Export(export::ExportArgs),
    /// List the formats that can be imported, or describe one
    Formats(FormatsArgs),
    /// Run a planned experiment: factors, levels, repeats; resumable
    Study(study::StudyArgs),
    /// List runs, latest first
    Runs(RunsArgs),
    /// Show a run: facts, results, tables, recording overhead
    Show(ShowArgs),
    /// Change the name, tags or remarks of runs
    Tag(TagArgs),
    /// Remove runs
    Rm(RmArgs),
    /// Verify runs against their checksums
    Verify(VerifyArgs),
    /// Query runs in SQL
    Sql(SqlArgs),
    /// Answer a predefined question, or list all of them
    Ask(AskArgs),
    /// Flag problems in a run, with evidence and advice
    Findings(findings::FindingsArgs),
    /// Write runs as one self-contained HTML page
    Report(ReportArgs),
    /// Serve the store as web pages and a JSON API
    Serve(serve::ServeArgs),
    /// Compare groups of runs: effect sizes, confidence intervals
    Compare(compare::CompareArgs),
    /// Find the most typical run of a group, and its outliers
    Representative(representative::RepresentativeArgs),
    /// Average runs into a new run, with standard deviations
    Average(average::AverageArgs),
    /// Follow a metric over runs and detect change points
    Trend(trend::TrendArgs),
    /// Define time windows in runs, such as the steady state
    Window(window::WindowArgs),
    /// Generate database load, open-loop or closed-loop
    Load(load::LoadArgs),
    /// List the tables that can be recorded, or describe one
    Tables(TablesArgs),
    /// Show throughput, utilisation and errors of network interfaces
    Nicstat(nicstat::NicstatArgs),
    /// Show utilisation and interrupts of every CPU
    Mpstat(mpstat::MpstatArgs),
    /// Show CPU time of processes, exact to the nanosecond
    Pstime(pstime::PstimeArgs),
    /// Show CPU utilisation, sampled and measured side by side
    Util(util::UtilArgs),
    /// Show memory use, and page cache residency of files
    Memstat(memstat::MemstatArgs),
    /// Trace system calls, queries, locks, I/O and stacks with eBPF
    Trace(Box<trace::TraceArgs>),
    /// Isolate a process on CPUs of its own (cpuset), reversibly
    Fence(fence::FenceArgs),
    /// Compress and decompress on all cores, in standard formats
    Tamp(Box<tamp::TampArgs>),
    /// Show the manual page of a command
    Man(manual::ManArgs),
    /// Print a shell's completion script
    Completions(manual::CompletionsArgs),
    /// What `--licenses` is
    #[command(hide = true)]
    Licenses(licenses::LicensesArgs),
}

/// Commands by purpose, as the first page of help shows them; each that is not hidden is in one group.
pub const GROUPS: [(&str, &[&str]); 7] = [
    ("Record and import", &["record", "import", "formats", "tables"]),
    ("Look at runs", &["runs", "show", "ask", "sql", "findings", "report", "serve"]),
    ("Compare runs", &["compare", "trend", "representative", "average", "window"]),
    ("Run experiments", &["study", "load", "fence"]),
    ("Observe live", &["mpstat", "nicstat", "pstime", "util", "memstat", "trace"]),
    ("Keep and share", &["tag", "rm", "verify", "export"]),
    ("Other", &["tamp", "man", "completions"]),
];

/// `fenxi record`
#[derive(Debug, Args)]
#[command(after_help = "\
The command keeps its standard streams; fenxi exits with the command's status.
Without a command, Ctrl-C ends the recording and keeps the run.

Examples:
  fenxi record --name baseline --tag kernel=6.18 -- ./bench.sh
  fenxi record --interval 100ms --for 10s
  fenxi record --source cpu,disk,net --for 1m
  fenxi record --source +iopattern:pid=42 --for 1m")]
pub struct RecordArgs {
    /// Name of the run [default: name of the command or host]
    #[arg(long, short)]
    pub name: Option<String>,
    /// Tag of the run (repeatable)
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = key_value)]
    pub tag: Vec<(String, String)>,
    /// Sampling interval, at least 10ms
    #[arg(long, short, default_value = "1s", value_parser = interval)]
    pub interval: f64,
    /// Duration; a command still running then gets SIGTERM
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    pub duration: Option<f64>,
    /// Sources to record; `+NAME` adds one to the defaults, `-NAME` removes one,
    /// `NAME:OPTION=VALUE` sets options of observers
    #[arg(long, short, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    pub source: Vec<String>,
    /// Read a saved copy of /proc and /sys below this directory, not the live ones
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Command to run and record
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `fenxi import`
#[derive(Debug, Args)]
#[command(after_help = "\
A directory becomes one run of all its files. Files may be compressed (gz, zst,
bz2, xz); formats are detected from contents. The run keeps its inputs,
compressed. Averages since boot, which many tools print first, go to separate
tables: `boot.cpu`, `boot.disk` … An archive written by `fenxi export` is
detected too: its runs are imported unchanged.

Examples:
  fenxi import mpstat.log iostat.log --name baseline
  vmstat 1 60 | fenxi import -
  fenxi import results/ --tag kernel=6.18
  fenxi import vmstat.txt --start '2026-11-21 14:00' --interval 10
  fenxi import --again baseline  read its inputs again with current importers
  fenxi import oltp.tar.zst      import the runs of an archive")]
pub struct ImportArgs {
    /// Files or directories; `-` is standard input
    #[arg(required_unless_present = "again", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Name of the run [default: name of the first path]
    #[arg(long, short)]
    pub name: Option<String>,
    /// Tag of the run (repeatable)
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = key_value)]
    pub tag: Vec<(String, String)>,
    /// Host name for all rows, overriding the files
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Start time, for files without dates or times
    #[arg(long, value_name = "TIME")]
    pub start: Option<String>,
    /// Sampling interval, for files that do not state it
    #[arg(long, short, value_name = "TIME", value_parser = seconds)]
    pub interval: Option<f64>,
    /// Time zone of times without one, such as `Europe/Berlin` or `UTC` [default: local]
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Format of all files (see `fenxi formats`), instead of detecting it
    #[arg(long, short, value_name = "NAME")]
    pub format: Option<String>,
    /// TOML file that maps columns of CSV, TSV or JSON Lines
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// Make a run of each file instead of one of all
    #[arg(long)]
    pub each: bool,
    /// Fail and keep nothing if anything cannot be read or has to be assumed
    #[arg(long)]
    pub strict: bool,
    /// Import even if an earlier run has the same inputs
    #[arg(long)]
    pub force: bool,
    /// Import the kept inputs of this run again, into a new run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["paths", "each"])]
    pub again: Option<String>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}

/// `fenxi formats`
#[derive(Debug, Args)]
pub struct FormatsArgs {
    /// Format to describe
    pub format: Option<String>,
    /// Print JSON Lines, one object per format
    #[arg(long)]
    pub json: bool,
}

/// `fenxi runs`
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Runs to list [default: all]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Maximum number of runs
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Print JSON Lines, one object per run
    #[arg(long)]
    pub json: bool,
}

/// `fenxi show`
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Run to show
    #[arg(default_value = "@1")]
    pub run: String,
    /// Print the manifest and labels as JSON
    #[arg(long)]
    pub json: bool,
}

/// `fenxi tag`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  fenxi tag @1 kernel=6.18 good=yes\n  fenxi tag @1 good=    (removes the tag)")]
pub struct TagArgs {
    /// Run to change
    pub run: String,
    /// Tags to set; KEY= removes one
    #[arg(value_name = "KEY=VALUE", value_parser = key_value)]
    pub tags: Vec<(String, String)>,
    /// Rename the run
    #[arg(long)]
    pub name: Option<String>,
    /// Add a remark
    #[arg(long = "remark", value_name = "TEXT")]
    pub remarks: Option<String>,
}

/// `fenxi rm`
#[derive(Debug, Args)]
pub struct RmArgs {
    /// Runs to remove
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Remove all runs that a selector such as `tag=value` matches
    #[arg(long, short)]
    pub force: bool,
}

/// `fenxi verify`
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Runs to verify [default: the whole store]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Print JSON Lines, one object per problem or remark
    #[arg(long)]
    pub json: bool,
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned text
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object per line
    Json,
    /// A Parquet file (binary; redirect it)
    Parquet,
    /// Markdown table
    Markdown,
}

/// What `sql` and `ask` share.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Restrict the query to these runs (repeatable), which also speeds it up
    #[arg(long, short, value_name = "RUN")]
    pub run: Vec<String>,
    /// Output format
    #[arg(long, short = 'o', value_enum, default_value = "table")]
    pub format: Format,
    /// Memory limit of the SQL engine in MiB; beyond it, the engine spills to disk
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    pub memory: u64,
    /// Threads of the SQL engine [default: one per CPU]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

/// `fenxi sql`
#[derive(Debug, Args)]
#[command(after_help = "\
Every table of `fenxi tables` covers all runs and has a column `run`. The table
`runs` has names, hosts, times and tags of runs, `cost` the recording overhead.
`-` reads the statement from standard input.

Examples:
  fenxi sql \"select run, avg(usr) from cpu where cpu is null group by run\"
  fenxi sql --run @1 -o csv \"select * from disk\"")]
pub struct SqlArgs {
    /// SQL statement
    pub statement: String,
    /// Output format, runs and limits
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// `fenxi ask`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi ask                              list the questions
  fenxi ask hottest-cpu                  answer one for the latest run
  fenxi ask top-processes -r @1 -r @2    for two runs
  fenxi ask hot-disks --sql              print its SQL")]
pub struct AskArgs {
    /// Question to answer
    pub question: Option<String>,
    /// Parameter of the question (repeatable)
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = key_value)]
    pub param: Vec<(String, String)>,
    /// Print the SQL of the question instead of its answer
    #[arg(long)]
    pub sql: bool,
    /// Output format, runs [default: @1] and limits
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// `fenxi report`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi report @1 -o report.html                the latest run
  fenxi report before after -o both.html        two runs, overlaid
  fenxi report '/run?run=before&from=10&to=20'  a page, by its URL under
                                                `fenxi serve`")]
pub struct ReportArgs {
    /// Runs to plot (several are overlaid, aligned at their start), or the URL of a page
    #[arg(default_value = "@1", value_name = "RUN")]
    pub runs: Vec<String>,
    /// File to write; `-` is standard output
    #[arg(long, short, default_value = "report.html", value_name = "FILE")]
    pub output: PathBuf,
    /// Omit custom questions that imported runs carry
    #[arg(long)]
    pub no_carried: bool,
}

/// `fenxi tables`
#[derive(Debug, Args)]
pub struct TablesArgs {
    /// Table to describe
    pub table: Option<String>,
    /// Print JSON Lines, one object per table or column
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
