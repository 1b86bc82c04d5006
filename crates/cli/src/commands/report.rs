//! `fenxi report`: runs, or any page, as one file.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use fenxi_api::Context;
use fenxi_model::Unit;
use fenxi_query::{Engine, Options};
use fenxi_store::Store;
use fs_err as fs;

use crate::{
    options::{EngineArgs, Global, RangeArgs},
    print,
    progress::plural,
    stores, whole,
};

/// `fenxi report`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi report @1 -o report.html                the latest run
  fenxi report before after -o both.html        two runs, overlaid
  fenxi report yesterdayT03:10..03:25           of a recording with --roll
  fenxi report '/run?run=before&from=10&to=20'  a page, by its URL under
                                                `fenxi serve`")]
pub struct ReportArgs {
    /// Runs or ranges of time to plot (several are overlaid, aligned at their
    /// start), or the URL of a page [default: @1]
    #[arg(value_name = "RUN[/FROM..TO]")]
    pub runs: Vec<String>,
    /// When
    #[command(flatten)]
    pub range: RangeArgs,
    /// File to write; `-` is standard output
    #[arg(long, short, default_value = "report.html", value_name = "FILE")]
    pub output: PathBuf,
    /// Replace a file that is no earlier one of this command
    #[arg(long)]
    pub force: bool,
    /// Omit custom questions that imported runs carry
    #[arg(long)]
    pub no_carried: bool,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Draws runs, or the page of an address, into one HTML file.
pub fn run(global: &Global, args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let (address, what) = page(&store, &args.range.of(&args.runs, &["@1"]))?;
    let engine = Engine::open(&store, &Options { carried: !args.no_carried, ..args.engine.options() })?;
    let context = Context { store: &store, engine: &engine, read_only: true };
    let html = fenxi_api::page_file(&context, &address)?;
    if args.output == Path::new("-") {
        print::data(&html)?;
        return Ok(ExitCode::SUCCESS);
    }
    let output = if args.force { whole::Output::Anything } else { whole::Output::Report };
    whole::write(&args.output, output, |file| Ok(file.write_all(&html)?))?;
    if !global.quiet {
        let path = fs::canonicalize(&args.output)?;
        let size = Unit::Bytes.human(html.len() as f64);
        print::message(&format!("{size} of {what}: {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The address of the page that is meant, and what it is in words.
fn page(store: &Store, words: &[String]) -> anyhow::Result<(String, String)> {
    let is_address = |word: &String| word.starts_with('/') || word.contains("://");
    match words {
        [address] if is_address(address) => Ok((address.clone(), "the page".to_owned())),
        _ if words.iter().any(is_address) => bail!("one page makes one file: name runs, or the URL of one page"),
        _ => {
            let runs = store.select_all(words)?;
            Ok((fenxi_api::page_of_runs(&runs), plural(runs.len() as u64, "run")))
        }
    }
}
