//! One file: where it goes, and that it is never lost on the way.

use std::{
    ffi::OsStr,
    fs::Metadata,
    io::{self, IsTerminal, Write},
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, bail};
use fenxi_tamp::{
    Compress, Input, Lost, Meter, Output, Watch,
    files::{Existing, Like, Making, OnDisk, compressed_name, decompressed_name, is_compressed_name, sync_directory},
};
use fs_err::File;

use super::files::{Job, described};
use crate::{print, progress::Transfer};

/// Where the data comes from.
struct From {
    name: String,
    file: File,
    facts: Metadata,
}

/// Where it goes to.
enum To {
    Nowhere,
    Standard,
    /// Something that is there already and is no regular file: a device, a pipe.
    Special(PathBuf),
    File(PathBuf),
}

/// Does what is asked for with the file at `path`.
pub(super) fn file(work: &Job<'_>, path: &Path) -> anyhow::Result<()> {
    let standard = path.as_os_str() == OsStr::new("-");
    let from = if standard { standard_input()? } else { open(work, path)? };
    let to = target(work, path, standard)?;
    let name = from.name.clone();
    convert(work, path, from, to).with_context(|| name)
}

fn standard_input() -> anyhow::Result<From> {
    let file = File::from_parts(io::stdin().as_fd().try_clone_to_owned()?.into(), "standard input");
    let facts = file.metadata()?;
    Ok(From { name: "standard input".to_owned(), file, facts })
}

/// Opens a file, unless it is one that should stay as it is.
fn open(work: &Job<'_>, path: &Path) -> anyhow::Result<From> {
    let place = &work.args.place;
    // Where the file goes somewhere else and stays, it matters little what it is.
    let stays = place.stdout || place.output.is_some() || work.args.mode.test;
    let itself = fs_err::symlink_metadata(path)?;
    let shown = path.display();
    if itself.is_symlink() && !stays && !place.force {
        bail!("`{shown}` is a symbolic link; `-f` follows it, `-c` reads it");
    }
    let file_type = fs_err::metadata(path)?.file_type();
    if file_type.is_dir() {
        bail!("`{shown}` is a directory; `-r` takes the files in it");
    }
    if !file_type.is_file() && !stays {
        bail!("`{shown}` is not a regular file; `-c` reads it");
    }
    let file = File::open(path)?;
    let facts = file.metadata()?;
    if facts.nlink() > 1 && !stays && !place.keep && !place.force {
        bail!(
            "`{shown}` has {} names, and would keep the others; `-k` keeps it, `-f` takes this name away",
            facts.nlink()
        );
    }
    Ok(From { name: shown.to_string(), file, facts })
}

/// Where the data goes; nothing is opened yet.
fn target(work: &Job<'_>, path: &Path, standard: bool) -> anyhow::Result<To> {
    let args = work.args;
    if args.mode.test {
        return Ok(To::Nowhere);
    }
    let target = match &args.place.output {
        Some(output) if output.as_os_str() == OsStr::new("-") => return Ok(To::Standard),
        Some(output) => output.clone(),
        None if args.place.stdout || standard => return Ok(To::Standard),
        None if args.mode.decompress => match decompressed_name(path) {
            Some(name) => name,
            None => {
                bail!("`{}` has no known suffix (.zst, .lz4, .gz …); use `-o FILE` or `-c`", path.display())
            }
        },
        None if is_compressed_name(path) && !args.place.force => {
            bail!("`{}` already has the suffix of a compressed file; `-f` compresses it again", path.display())
        }
        None => compressed_name(path, args.format()),
    };
    match fs_err::metadata(&target) {
        Ok(facts) if facts.is_dir() => bail!("`{}` is a directory", target.display()),
        Ok(facts) if !facts.is_file() => Ok(To::Special(target)),
        Ok(_) if !args.place.force => bail!("`{}` exists already; `-f` replaces it", target.display()),
        _ => Ok(To::File(target)),
    }
}

/// Compresses, decompresses or tests, and then gives the new file its name and takes away the old.
fn convert(work: &Job<'_>, path: &Path, from: From, to: To) -> anyhow::Result<()> {
    let (args, stop) = (work.args, work.stop());
    let mut making = None;
    let output = match &to {
        To::Nowhere => Output::nowhere(),
        To::Standard => standard_output(work)?,
        To::Special(special) => Output::stream(fs_err::OpenOptions::new().write(true).open(special)?),
        To::File(target) => {
            let (begun, file) = Making::begin(target, if from.facts.is_file() { 0o600 } else { 0o666 })?;
            making = Some(begun);
            Output::file(file).sparse(args.place.sparse && args.mode.decompress).nocache(args.place.nocache)
        }
    };
    let before = (from.facts.len(), from.facts.mtime(), from.facts.mtime_nsec());
    let to_terminal = matches!(to, To::Standard) && io::stdout().is_terminal();
    let total = from.facts.is_file().then_some(from.facts.len()).or(args.means.size_hint);
    let line = Transfer::new(work.global.quiet || to_terminal, total);
    let moved = transfer(work, &from, output, &mut |totals| line.show(totals, stop));
    line.clear();
    let (moved, lost) = moved?;
    // The file's own facts, as it may have got another name meanwhile.
    let after = from.file.metadata()?;
    let changed = from.facts.is_file() && before != (after.len(), after.mtime(), after.mtime_nsec());
    if let Some(making) = making {
        let like = from.facts.is_file().then_some(Like { file: &from.file, facts: &from.facts });
        let existing = if args.place.force { Existing::Replaced } else { Existing::Stays };
        let partly = args.mode.range.is_some() || !lost.is_empty();
        let takes_away = !args.place.keep && args.place.output.is_none() && !partly;
        // Waiting for the disk takes longer than the rest: only where a file is given up for the new one.
        let gives_up = takes_away || existing == Existing::Replaced;
        let not_kept = making.keep(like, existing, if gives_up { OnDisk::Now } else { OnDisk::Later })?;
        if !not_kept.is_empty() {
            let names = not_kept.join(", ");
            print::message(&format!("warning: {}: extended attributes could not be kept: {names}", from.name));
        }
        if takes_away && !changed {
            fs_err::remove_file(path)?;
            sync_directory(path)?;
        }
    }
    if args.place.verbose {
        print::message(&format!("{}: {}", from.name, moved));
    }
    report(&lost)?;
    if changed {
        bail!("the file changed while it was read, and was kept");
    }
    Ok(())
}

/// Standard output that is no regular file, whose failures are those of the whole command.
struct Stream(File);

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        print::remember(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        print::remember(self.0.flush())
    }
}

/// Standard output: with holes only where it is a regular file that is not appended to. A terminal gets what was in the
/// archive made visible; only who forces compressed data upon it gets that as it is.
fn standard_output(work: &Job<'_>) -> anyhow::Result<Output> {
    if io::stdout().is_terminal() && work.args.mode.decompress {
        return Ok(Output::stream(print::Stdout::new(print::Form::Data)));
    }
    let file = File::from_parts(io::stdout().as_fd().try_clone_to_owned()?.into(), "standard output");
    let appends = rustix::fs::fcntl_getfl(&file)?.contains(rustix::fs::OFlags::APPEND);
    let whole = file.metadata()?.is_file() && !appends;
    if !whole {
        return Ok(Output::stream(Stream(file)));
    }
    let sparse = work.args.place.sparse && work.args.mode.decompress;
    Ok(Output::file(file).sparse(sparse).nocache(work.args.place.nocache))
}

/// Moves the data; what was moved in words, and what is lost.
fn transfer(work: &Job<'_>, from: &From, output: Output, watch: Watch<'_>) -> anyhow::Result<(String, Vec<Lost>)> {
    let args = work.args;
    let meter = Meter::default();
    let input = Input::file(from.file.try_clone()?)?.nocache(args.place.nocache);
    let begun = Instant::now();
    let mut lost = Vec::new();
    let done = if args.mode.recover {
        if !from.facts.is_file() {
            bail!("`--recover` needs a seekable file");
        }
        fenxi_tamp::recover(from.file.try_clone()?, output, &work.decompress, &meter, watch)
            .map(|recovered| lost = recovered.lost)
    } else if args.mode.decompress || args.mode.test {
        fenxi_tamp::decompress(input, output, &work.decompress, &meter, watch).map(|_| ())
    } else {
        let block = args.into.block.and_then(|block| usize::try_from(block).ok());
        let options = Compress {
            format: args.format(),
            level: args.level(),
            threads: args.threads(),
            block,
            memory: args.means.memory,
            index: !args.into.no_index,
        };
        fenxi_tamp::compress(input, output, &options, &meter, watch).map(|_| ())
    };
    done?;
    let totals = meter.totals();
    let (compressed, content) =
        if work.args.reads_compressed() { (totals.read, totals.written) } else { (totals.written, totals.read) };
    let moved = described(totals.read, totals.written, compressed, content, begun.elapsed().as_secs_f64());
    Ok((moved, lost))
}

/// Prints what is lost; it is an error if anything is.
fn report(lost: &[Lost]) -> anyhow::Result<()> {
    for part in lost {
        let begin = part.content_at;
        print::message(&match part.content {
            Some(len) => format!(
                "lost: bytes {begin} to {} of the contents, now zeros (bytes {} to {} of the file)",
                begin + len,
                part.from,
                part.to
            ),
            None => format!(
                "lost: contents of unknown length at byte {begin} (bytes {} to {} of the file)",
                part.from, part.to
            ),
        });
    }
    if !lost.is_empty() {
        bail!("not everything could be recovered; the damaged file stays");
    }
    Ok(())
}
