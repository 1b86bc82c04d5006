//! `fenxi export`, and what `fenxi import` does with an archive of runs.

use std::{
    io::{self, Cursor, IsTerminal, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;
use fenxi_model::Unit;
use fenxi_store::{Store, TakeLimits, is_archive};
use fs_err as fs;
use serde_json::json;

use crate::{
    args::{Cli, ImportArgs},
    print,
    progress::plural,
    stores, whole,
};

/// `fenxi export`
#[derive(Debug, Args)]
#[command(after_help = "\
An archive is a reproducible tar.zst: the same runs give the same bytes.
`fenxi import` detects it and imports the runs with their ids, names, tags,
remarks and windows.

Examples:
  fenxi export @1 -o oltp.tar.zst
  fenxi export study=compression -o compression.tar.zst
  fenxi export baseline -o - | ssh elsewhere fenxi import -")]
pub struct ExportArgs {
    /// Runs to export
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// File to write; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Writes runs as one archive.
pub fn run(cli: &Cli, args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let runs = store.select_all(&args.runs)?;
    if args.output == Path::new("-") {
        if io::stdout().is_terminal() {
            bail!("an archive is binary; redirect it, or name a file with -o");
        }
        store.export(&runs, print::Stdout::new(print::Form::Data))?;
        return Ok(ExitCode::SUCCESS);
    }
    let written = whole::write(&args.output, |file| Ok(store.export(&runs, &*file)?));
    let exported = written.with_context(|| format!("cannot export to {}", args.output.display()))?;
    if !cli.quiet {
        let packed = Unit::Bytes.human(fs::metadata(&args.output)?.len() as f64);
        let unpacked = Unit::Bytes.human(exported.bytes as f64);
        let (runs, path) = (plural(exported.runs as u64, "run"), args.output.display());
        print::message(&format!("exported {runs} ({unpacked}): {path}, {packed}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// An archive of runs among what is to be imported.
pub struct Archived {
    /// Its path, or `-`.
    path: PathBuf,
    /// What was read of standard input to tell that it is one.
    begun: Vec<u8>,
}

/// Takes the archives of runs out of `paths`; gives them, and what was read of standard input if that is none.
///
/// # Errors
/// When standard input cannot be read. What cannot be opened is left to who imports it.
pub fn archives(paths: &mut Vec<PathBuf>) -> anyhow::Result<(Vec<Archived>, Vec<u8>)> {
    let (mut found, mut of_stdin) = (Vec::new(), Vec::new());
    let mut rest = Vec::new();
    for path in paths.drain(..) {
        if path == Path::new("-") {
            let mut begun = Tee { inner: io::stdin(), seen: Vec::new() };
            let archived = is_archive(&mut begun).context("cannot read standard input")?;
            match archived {
                true => found.push(Archived { path, begun: begun.seen }),
                false => {
                    of_stdin = begun.seen;
                    rest.push(path);
                }
            }
        } else if path.is_file() && fs::File::open(&path).is_ok_and(|file| is_archive(file).unwrap_or(false)) {
            found.push(Archived { path, begun: Vec::new() });
        } else {
            rest.push(path);
        }
    }
    *paths = rest;
    Ok((found, of_stdin))
}

/// Takes the runs of an archive in, and says which.
///
/// # Errors
/// When options are given that an archive has no use for, or [`Store::take_in`] fails.
pub fn take_in(cli: &Cli, args: &ImportArgs, store: &Store, archived: &Archived) -> anyhow::Result<()> {
    let given = [
        ("--name", args.name.is_some()),
        ("--tag", !args.tag.is_empty()),
        ("--host", args.host.is_some()),
        ("--start", args.start.is_some()),
        ("--interval", args.interval.is_some()),
        ("--zone", args.zone.is_some()),
        ("--format", args.format.is_some()),
        ("--map", args.map.is_some()),
        ("--force", args.force),
    ];
    let path = archived.path.display();
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        bail!("{path} is an archive, whose runs are imported unchanged: omit {option}; `fenxi tag` renames and tags");
    }
    let reader: Box<dyn Read> = match archived.path == Path::new("-") {
        true => Box::new(Cursor::new(archived.begun.clone()).chain(io::stdin())),
        false => Box::new(fs::File::open(&archived.path)?),
    };
    let taken = store.take_in(reader, &TakeLimits::default()).with_context(|| format!("cannot import {path}"))?;
    for run in &taken {
        if args.json {
            let line = json!({ "run": run.id, "is_new": run.is_new, "bytes": run.bytes, "archive": archived.path });
            print::json(&format!("{line}\n"))?;
        } else if !cli.quiet {
            let said = match run.is_new {
                true => format!("imported {} ({})", run.id, Unit::Bytes.human(run.bytes as f64)),
                false => format!("{} already exists", run.id),
            };
            print::message(&said);
        }
    }
    Ok(())
}

/// A reader that keeps what it gives.
struct Tee<R> {
    inner: R,
    seen: Vec<u8>,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        self.seen.extend_from_slice(&into[..n]);
        Ok(n)
    }
}
