//! The files of a command line: which are meant, and what is printed about each.

use std::{
    cell::OnceCell,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use fenxi_model::Unit;
use fenxi_tamp::{Decompress, Listing, files::is_compressed_name, list};

use super::{TampArgs, one};
use crate::{
    options::Global,
    print,
    progress::{Transfer, plural},
    stop::Stop,
};

/// Context needed for each file.
pub(super) struct Job<'a> {
    pub global: &'a Global,
    pub args: &'a TampArgs,
    stop: OnceCell<Stop>,
    pub decompress: Decompress,
}

/// Does what is asked for with all of them; one that fails does not keep the others from being done.
pub(super) fn run(global: &Global, args: &TampArgs) -> anyhow::Result<ExitCode> {
    refuse_terminals(args)?;
    let decompress = Decompress { threads: args.threads(), memory: args.means.memory, range: args.mode.range.clone() };
    let work = Job { global, args, stop: OnceCell::new(), decompress };
    let mut failed = false;
    let mut listed = Vec::new();
    let standard = [PathBuf::from("-")];
    let named = if args.files.is_empty() { &standard[..] } else { &args.files[..] };
    let (found, unreadable) = all(named, args);
    for error in unreadable {
        failed = true;
        print::error(&error);
    }
    for path in found {
        let done = if args.mode.list {
            work.list(&path).map(|l| listed.push((path.clone(), l)))
        } else {
            one::file(&work, &path)
        };
        if let Err(error) = done {
            // The rest of a pipe is no longer wanted.
            if print::has_failed() || work.stop.get().is_some_and(Stop::asked) {
                return Err(error);
            }
            failed = true;
            print::error(&error);
        }
    }
    if args.mode.list {
        print::text(&table(&listed))?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Compressed data is not for terminals, and does not come from them.
fn refuse_terminals(args: &TampArgs) -> anyhow::Result<()> {
    let standard_in = args.files.is_empty() || args.files.iter().any(|file| file == Path::new("-"));
    if args.place.force || args.mode.list {
        return Ok(());
    }
    if standard_in && args.reads_compressed() && io::stdin().is_terminal() {
        bail!("standard input is a terminal, not compressed data; name a file, or force it with `-f`");
    }
    let standard_out = args.place.stdout || (standard_in && args.place.output.is_none());
    if standard_out && !args.reads_compressed() && io::stdout().is_terminal() {
        bail!("compressed data is not written to a terminal; use `-o FILE`, or force it with `-f`");
    }
    Ok(())
}

/// The files named, with those in directories if that is asked for, and what could not be looked into.
fn all(named: &[PathBuf], args: &TampArgs) -> (Vec<PathBuf>, Vec<anyhow::Error>) {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    for path in named {
        if args.place.recursive && path.is_dir() {
            below(path, args, &mut found, &mut unreadable);
        } else {
            found.push(path.clone());
        }
    }
    (found, unreadable)
}

/// Regular files below a directory, in the order of their names: compressed ones or the others.
fn below(directory: &Path, args: &TampArgs, found: &mut Vec<PathBuf>, unreadable: &mut Vec<anyhow::Error>) {
    let entries = fs_err::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return unreadable.push(error.into()),
    };
    entries.sort_by_key(fs_err::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => below(&path, args, found, unreadable),
            Ok(kind) if kind.is_file() && is_compressed_name(&path) == args.reads_compressed() => found.push(path),
            Ok(_) => {}
            Err(error) => unreadable.push(error.into()),
        }
    }
}

impl Job<'_> {
    /// Asked for only when there is something to be left whole: until then, as while a named pipe has no writer, a
    /// signal ends the process as usual.
    pub(super) fn stop(&self) -> &Stop {
        self.stop.get_or_init(Stop::on_interrupt)
    }

    fn list(&self, path: &Path) -> anyhow::Result<Listing> {
        let file = fs_err::File::open(path)?;
        let line = Transfer::new(self.global.quiet, file.metadata().ok().map(|facts| facts.len()));
        let listing = list(file, &self.decompress, &mut |totals| line.show(totals, self.stop()));
        line.clear();
        listing.with_context(|| path.display().to_string())
    }
}

/// A line for each file, and one for all.
fn table(listed: &[(PathBuf, Listing)]) -> String {
    let header = ["compressed", "contents", "saved", "format", "frames", "file"];
    let row = |listing: &Listing, name: String| {
        vec![
            listing.compressed.to_string(),
            listing.content.to_string(),
            saved(listing.compressed, listing.content),
            listing.format.map_or("", |format| format.suffix()).to_owned(),
            listing.frames.to_string(),
            name,
        ]
    };
    let mut rows: Vec<Vec<String>> =
        listed.iter().map(|(path, listing)| row(listing, path.display().to_string())).collect();
    if listed.len() > 1 {
        let sum = |of: fn(&Listing) -> u64| listed.iter().map(|(_, listing)| of(listing)).sum();
        let all = Listing {
            format: None,
            frames: sum(|l| l.frames),
            compressed: sum(|l| l.compressed),
            content: sum(|l| l.content),
            decoded: false,
        };
        rows.push(row(&all, format!("({})", plural(listed.len() as u64, "file"))));
    }
    print::columns(&header, &[0, 1, 2, 4], &rows)
}

/// `63.2%`: how much smaller; nothing for what has no contents.
pub(super) fn saved(compressed: u64, content: u64) -> String {
    if content == 0 {
        return String::new();
    }
    format!("{:.1}%", 100.0 * (1.0 - compressed as f64 / content as f64))
}

/// `1.2 GiB → 456 MiB (63.2% saved), 812 MiB/s`.
pub(super) fn described(from: u64, to: u64, compressed: u64, content: u64, seconds: f64) -> String {
    let bytes = |n: u64| Unit::Bytes.human(n as f64);
    let rate = Unit::BytesPerS.human(content as f64 / seconds.max(1e-6));
    format!("{} → {} ({} saved), {rate}", bytes(from), bytes(to), saved(compressed, content))
}
