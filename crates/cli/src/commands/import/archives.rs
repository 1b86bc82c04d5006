//! Archives of runs among what is to be imported.

use std::{
    io::{self, Cursor, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use fenxi_model::Unit;
use fenxi_store::{ArchiveLimits, Store, is_archive};
use fs_err as fs;
use serde_json::json;

use super::ImportArgs;
use crate::{options::Global, print};

/// An archive of runs among what is to be imported.
pub struct Archived {
    /// Its path, or `-`.
    path: PathBuf,
    /// Bytes read of standard input to detect that it is one.
    begun: Vec<u8>,
}

/// Takes the archives of runs out of `paths`; gives them, and what was read of standard input if that is none.
///
/// # Errors
/// When standard input cannot be read. What cannot be opened is left to who imports it.
pub fn find(paths: &mut Vec<PathBuf>) -> anyhow::Result<(Vec<Archived>, Vec<u8>)> {
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

/// Imports the runs of an archive, and prints which.
///
/// # Errors
/// When options are given that an archive has no use for, or [`Store::take_in`] fails.
pub fn take_in(global: &Global, args: &ImportArgs, store: &Store, archived: &Archived) -> anyhow::Result<()> {
    let given = [
        ("--name", args.labels.name.is_some()),
        ("--tag", !args.labels.tag.is_empty()),
        ("--host", args.host.is_some()),
        ("--start", args.start.is_some()),
        ("--interval", args.interval.is_some()),
        ("--zone", args.zone.is_some()),
        ("--as", args.known_as.is_some()),
        ("--map", args.map.is_some()),
        ("--force", args.force),
    ];
    let path = archived.path.display();
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        bail!(
            "{path} is an archive, whose runs are imported unchanged: omit {option}; `fenxi label tag` renames and tags"
        );
    }
    let reader: Box<dyn Read> = match archived.path == Path::new("-") {
        true => Box::new(Cursor::new(archived.begun.clone()).chain(io::stdin())),
        false => Box::new(fs::File::open(&archived.path)?),
    };
    let taken =
        store.import_archive(reader, &ArchiveLimits::default()).with_context(|| format!("cannot import {path}"))?;
    for run in &taken {
        if args.form.is_json() {
            let line = json!({ "run": run.id, "is_new": run.is_new, "bytes": run.bytes, "archive": archived.path });
            print::json(&format!("{line}\n"))?;
        } else if !global.quiet {
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
