//! `fenxi store export`.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;
use fenxi_model::Unit;
use fs_err as fs;

use crate::{options::Global, print, progress::plural, stores, whole};

/// `fenxi store export`
#[derive(Debug, Args)]
#[command(after_help = "\
An archive is a reproducible tar.zst: the same runs give the same bytes.
`fenxi import` detects it and imports the runs with their ids, names, tags,
remarks and windows.

Examples:
  fenxi store export @1 -o oltp.tar.zst
  fenxi store export study=compression -o compression.tar.zst
  fenxi store export baseline -o - | ssh db2 fenxi import -")]
pub struct ExportArgs {
    /// Runs to export
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// File to write; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace a file that is no earlier one of this command
    #[arg(long)]
    pub force: bool,
}

/// Writes runs as one archive.
pub fn run(global: &Global, args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let runs = store.select_all(&args.runs)?;
    if args.output == Path::new("-") {
        if io::stdout().is_terminal() {
            bail!("an archive is binary; redirect it, or name a file with -o");
        }
        store.export(&runs, print::Stdout::new(print::Form::Data))?;
        return Ok(ExitCode::SUCCESS);
    }
    let output = if args.force { whole::Output::Anything } else { whole::Output::Archive };
    let written = whole::write(&args.output, output, |file| Ok(store.export(&runs, &*file)?));
    let exported = written.with_context(|| format!("cannot export to {}", args.output.display()))?;
    if !global.quiet {
        let packed = Unit::Bytes.human(fs::metadata(&args.output)?.len() as f64);
        let unpacked = Unit::Bytes.human(exported.bytes as f64);
        let (runs, path) = (plural(exported.runs as u64, "run"), args.output.display());
        print::message(&format!("exported {runs} ({unpacked}): {path}, {packed}"));
    }
    Ok(ExitCode::SUCCESS)
}
