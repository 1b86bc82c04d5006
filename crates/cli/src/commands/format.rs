//! `fenxi format`: for who writes a format: try a description on a file, draft one, check it.

mod check;
mod new;
mod shown;
pub mod trial;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context;
use clap::{Args, Subcommand};
use fenxi_formats::TextFormat;

use crate::options::Global;

/// `fenxi format`
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
A description is a file in TOML: where in a text which value is. In the
directory `formats` of the store, `fenxi import` reads by it.

Examples:
  fenxi format new --from pool.log -o pool.toml         draft a description
  fenxi format try pool.log --description pool.toml     see what it reads
  fenxi format check pool.toml --text pool.log          do what our tests do"
)]
pub struct FormatArgs {
    /// What to do
    #[command(subcommand)]
    pub command: FormatCommand,
}

/// What can be done for a format.
#[derive(Debug, Subcommand)]
pub enum FormatCommand {
    /// Show which description reads which lines of a file, and the rows they give
    Try(trial::TryArgs),
    /// Draft a description from what a file shows
    New(new::NewArgs),
    /// Check descriptions as the tests of shipped ones do
    Check(check::CheckArgs),
}

/// Does it.
pub fn run(global: &Global, args: &FormatArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        FormatCommand::Try(args) => trial::run(global, args),
        FormatCommand::New(args) => new::run(args),
        FormatCommand::Check(args) => check::run(args),
    }
}

/// The description in a file, called as the file is.
fn described(path: &Path) -> anyhow::Result<Arc<TextFormat>> {
    let text = fs_err::read_to_string(path)?;
    let name = name_of(path);
    Ok(Arc::new(TextFormat::tried(&name, &path.display().to_string(), &text)?))
}

/// Name of a format in a file.
fn name_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The bytes of a file, which may be packed; of a folder or an archive, those of its first text.
fn bytes_of(path: &Path) -> anyhow::Result<Vec<u8>> {
    use std::io::Read;
    let cannot = || format!("cannot read {}", path.display());
    let file = fenxi_ingest::Content::File(PathBuf::from(path));
    let mut bytes = Vec::new();
    file.unpacked().with_context(cannot)?.take(MOST_BYTES + 1).read_to_end(&mut bytes).with_context(cannot)?;
    anyhow::ensure!(bytes.len() as u64 <= MOST_BYTES, "{} is longer than 64 MiB; try its beginning", path.display());
    Ok(bytes)
}

/// The longest text that is tried: it is held in memory, with its rows.
const MOST_BYTES: u64 = 64 << 20;
